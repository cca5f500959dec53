"""Inputs from files: .npz, a pair of .npy, an image folder, a CSV beside images."""

from __future__ import annotations

import csv
import math
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.input_set import Inputs
from surefoot.inputs.arrays import from_arrays
from surefoot.inputs.labels import Labels, read_labels

_POINTS = ("x", "x_test", "images", "data", "inputs", "features")
_LABELS = ("y", "y_test", "labels", "label", "targets", "target")
_IMAGE_SUFFIXES = {
    ".png",
    ".jpg",
    ".jpeg",
    ".bmp",
    ".gif",
    ".webp",
    ".tif",
    ".tiff",
    ".ppm",
    ".pgm",
}
_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF", "PPM")  # none that starts a program
_MOST_BYTES = 16 * 2**30
"""Bytes of all inputs: more would not fit into the memory of most machines."""
Size = tuple[int, int] | None


def from_npz(
    path: Path,
    scale: float | None,
    labels: Any = None,  # noqa: ANN401
    class_names: Sequence[str] = (),
    targets: Any = None,  # noqa: ANN401
) -> Inputs:
    """The arrays x and y of an .npz file (or another of their usual names).

    `labels` and `class_names`, where given, go before those in the file. `targets` are the true
    outputs or the name of the array that holds them; then y holds no labels.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            whole = sum(member.file_size for member in archive.infolist())
        _refuse_huge(path, whole)
        with np.load(path, allow_pickle=False) as stored:
            keys = {key.lower(): key for key in stored.files}
            points = next((keys[k] for k in _POINTS if k in keys), None)
            beside = next((keys[k] for k in _LABELS if k in keys), None)
            if points is None:
                raise InvalidArgument(
                    f"{path} holds {', '.join(stored.files) or 'nothing'}: name the inputs x "
                    "and the labels y"
                )
            if isinstance(targets, str):
                targets = _named_array(path, stored, targets)
            if labels is None and targets is None and beside is not None:
                labels = stored[beside]
            if not class_names and "class_names" in keys:
                class_names = stored[keys["class_names"]].tolist()
            return from_arrays(
                stored[points],
                labels,
                ids=stored[keys["ids"]].tolist() if "ids" in keys else None,
                class_names=class_names,
                source=str(path),
                scale=scale,
                targets=targets,
            )
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, MemoryError) as error:
        raise InvalidArgument(f"{path} cannot be read as .npz ({error})") from error
    except ValueError as error:
        if isinstance(error, InvalidArgument):
            raise
        raise InvalidArgument(
            f"{path} holds arrays of Python objects or is damaged ({error}): save plain numbers"
        ) from error


def from_npy(
    path: Path,
    scale: float | None,
    labels: Any = None,  # noqa: ANN401
    class_names: Sequence[str] = (),
    targets: Any = None,  # noqa: ANN401
) -> Inputs:
    """An .npy file of inputs; `targets` are true outputs, or the path of a file with them."""
    if isinstance(targets, str | Path):
        targets = read_npy(Path(targets))
    return from_arrays(
        read_npy(path),
        labels,
        class_names=class_names,
        source=str(path),
        scale=scale,
        targets=targets,
    )


def truth_name(path: Path) -> str | None:
    """The name of the array of an .npz file that holds what is true of the inputs, if one does."""
    try:
        with zipfile.ZipFile(path) as archive:
            stored = {Path(name).stem.lower(): Path(name).stem for name in archive.namelist()}
    except (zipfile.BadZipFile, OSError) as error:
        raise InvalidArgument(f"{path} cannot be read as .npz ({error})") from error
    return next((stored[name] for name in _LABELS if name in stored), None)


def _named_array(path: Path, stored: Any, name: str) -> NDArray[Any]:  # noqa: ANN401
    if name not in stored.files:
        raise InvalidArgument(
            f"{path} has no array {name!r} for the targets: it holds {', '.join(stored.files)}"
        )
    array: NDArray[Any] = stored[name]
    return array


def read_npy(path: Path) -> NDArray[Any]:
    """The array in an .npy file."""
    try:
        _refuse_huge(path, path.stat().st_size)
        with path.open("rb") as file:
            loaded: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    except (OSError, EOFError, ValueError, MemoryError) as error:
        if isinstance(error, InvalidArgument):
            raise
        raise InvalidArgument(f"{path} cannot be read as .npy ({error})") from error
    return loaded


def _refuse_huge(path: Path, size: int) -> None:
    if size > _MOST_BYTES:
        raise InvalidArgument(
            f"{path} unpacks to {size / 2**30:.0f} GiB, more than {_MOST_BYTES // 2**30}: "
            "store a part of it"
        )


def from_folder(
    path: Path, size: Size, scale: float | None, class_names: Sequence[str] = ()
) -> Inputs:
    """One folder a class, its name the class or its number; ids are the files' paths in it."""
    folders = sorted(p.name for p in path.iterdir() if p.is_dir() and not p.name.startswith("."))
    files = [
        (folder, file)
        for folder, name in enumerate(folders)
        for file in sorted((path / name).iterdir())
        if file.suffix.lower() in _IMAGE_SUFFIXES
    ]
    if not files:
        raise InvalidArgument(
            f"{path} holds no images: put them in one folder a class, or give a CSV of file,label"
        )
    classes = read_labels(folders, str(path), class_names, lambda i: f"folder {folders[i]}")
    labels = replace(classes, numbers=classes.numbers[[folder for folder, _ in files]])
    ids = [file.relative_to(path).as_posix() for _, file in files]
    return _images(path, [file for _, file in files], labels, ids, size, scale)


def target_numbers(texts: Sequence[str], source: str) -> list[float]:
    """The cells of a column as numbers, for a model without classes."""
    values = []
    for row, text in enumerate(texts, 1):
        try:
            values.append(float(text))
        except ValueError:
            raise InvalidArgument(
                f"{source}: row {row} has the label {text!r}, and a model without classes needs a "
                "number there"
            ) from None
    return values


def from_csv(
    path: Path,
    size: Size,
    scale: float | None,
    class_names: Sequence[str] = (),
    read_truth: Callable[[Sequence[str], str], list[float]] | None = None,
) -> Inputs:
    """A CSV with the columns file and label; files are taken relative to it.

    `read_truth` reads labels as true outputs, for a model without classes.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            header = [name.strip() for name in next(reader, [])]
            rows = [row for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidArgument(f"{path} cannot be read as CSV ({error})") from error
    if not rows or not (header.count("file") == header.count("label") == 1):
        raise InvalidArgument(f"{path} must have the columns file and label, and at least one row")
    at, of = header.index("file"), header.index("label")
    for number, row in enumerate(rows, 1):
        if len(row) > len(header):
            raise InvalidArgument(
                f"{path}: row {number} has {len(row)} cells below {len(header)} columns: put a "
                "cell that holds a comma in quotation marks"
            )
        if len(row) <= max(at, of) or not (row[at].strip() and row[of].strip()):
            raise InvalidArgument(f"{path}: row {number} lacks a file or a label")
    written = [row[of] for row in rows]
    targets = None if read_truth is None else read_truth(written, str(path))
    labels = None
    if targets is None:
        labels = read_labels(written, str(path), class_names, lambda i: f"row {i + 1}")
    files = [path.parent / row[at] for row in rows]
    missing = next((file for file in files if not file.is_file()), None)
    if missing is not None:
        raise InvalidArgument(f"{path} names {missing}, which does not exist")
    return _images(path, files, labels, [row[at] for row in rows], size, scale, targets)


def _images(
    path: Path,
    files: Sequence[Path],
    labels: Labels | None,
    ids: list[str],
    size: Size,
    scale: float | None,
    targets: Sequence[Any] | None = None,
) -> Inputs:
    from PIL import Image

    if size is not None and min(size) < 1:
        raise InvalidArgument(f"size must be (height, width) in pixels, both ≥ 1, got {size}")
    arrays: list[NDArray[np.uint8]] = []
    for file in files:
        try:
            with Image.open(file, formats=_FORMATS) as image:
                _refuse_deep(file, image.mode)
                plain = image.convert("L" if image.mode in ("1", "L") else "RGB")
                if size is not None:
                    plain = plain.resize((size[1], size[0]), Image.Resampling.BILINEAR)
                arrays.append(np.asarray(plain, dtype=np.uint8))
        except InvalidArgument:
            raise
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            raise InvalidArgument(f"{file} cannot be read as an image ({error})") from error
        first = arrays[0].shape
        if arrays[-1].shape[:2] != first[:2]:
            raise InvalidArgument(
                f"{file} is {arrays[-1].shape[:2]} but {files[0]} is {first[:2]}: all images "
                "need one size: pass --size HEIGHTxWIDTH (size=(height, width))"
            )
    if len({a.ndim for a in arrays}) > 1:
        arrays = [a if a.ndim == 3 else np.repeat(a[:, :, None], 3, axis=2) for a in arrays]
    _refuse_huge(path, len(arrays) * math.prod(arrays[0].shape) * 4)
    return from_arrays(
        np.stack(arrays),
        labels,
        ids=ids,
        source=str(path),
        scale=scale,
        targets=targets,
    )


def _refuse_deep(file: Path, mode: str) -> None:
    if mode.startswith(("I", "F")):
        raise InvalidArgument(
            f"{file} has more than 8 bits a pixel ({mode}), which would be cut off: save it with 8 "
            "bits, or give the values as .npz"
        )
