"""Inputs from files of images and sounds: a folder, or a CSV that names them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidArgument
from surefoot.inputs.arrays import from_arrays
from surefoot.inputs.class_names import ClassNames
from surefoot.inputs.images import Shape, Size, image_files, stack_images
from surefoot.inputs.labels import Labels, read_labels
from surefoot.inputs.media_files import (
    NO_LABELS,
    file_labels,
    folder_labels,
    is_sound,
    label_source,
    media_files,
    refuse_irregular,
)
from surefoot.inputs.sounds import stack_sounds
from surefoot.inputs.text_rows import refuse_other_separators
from surefoot.subject.inputs import Inputs


@dataclass(frozen=True)
class MediaOptions:
    """How files of images and sounds are read.

    `size` (height, width) and `shape` of one input of the model: see `stack_images`. `length` of
    sounds in seconds. `labels` and `label_pattern`: see `label_source`. `targets`: the true
    outputs of a model without classes; True: the column label of a CSV holds them.
    """

    class_names: ClassNames
    scale: float | None = None
    size: Size = None
    shape: Shape = None
    length: float | None = None
    labels: Any = None
    label_pattern: str | None = None
    targets: Any = None

    @property
    def true_outputs(self) -> Any:  # noqa: ANN401  one an input
        """The targets where they are known."""
        return None if self.targets is True else self.targets


def from_folder(path: Path, options: MediaOptions) -> Inputs:
    """Images or sounds below a folder; ids are the files' paths in it.

    One folder a class, its name the class or its number; or loose files, which have no label
    unless a pattern or a function gives them one.
    """
    label_of = label_source(path, options.labels, options.label_pattern)
    files = media_files(path)
    labels = None
    if options.targets is None:
        labels = folder_labels(path, files, options.class_names, label_of)
    ids = [file.relative_to(path).as_posix() for file in files]
    return _media(path, files, labels, ids, options)


def from_csv(path: Path, options: MediaOptions) -> Inputs:
    """A CSV with the column file and, where labels are known, label; files relative to it."""
    header, rows = _csv_rows(path)
    at = header.index("file")
    of = header.index("label") if "label" in header else None
    for number, row in enumerate(rows, 1):
        if len(row) > len(header):
            raise InvalidArgument(
                f"{path}: row {number} has {len(row)} cells below {len(header)} columns: put a "
                "cell that holds a comma in quotation marks"
            )
        if len(row) <= max(at, of or 0) or not all(row[i].strip() for i in (at, of or at)):
            raise InvalidArgument(
                f"{path}: row {number} lacks a file or a label: fill it in, or leave the row out"
            )
    names = [row[at] for row in rows]
    files = [path.parent / name for name in names]
    missing = next((file for file in files if not file.is_file()), None)
    if missing is not None:
        raise InvalidArgument(
            f"{path} names {missing}, which does not exist"
            ": correct the path, which begins beside the CSV"
        )
    again = next((i for i, name in enumerate(names) if name in set(names[:i])), None)
    if again is not None:
        raise InvalidArgument(
            f"{path}: row {again + 1} names {names[again]} again: inputs need different ids; "
            "leave out one of the rows"
        )
    refuse_irregular(files)
    label_of = label_source(path, options.labels, options.label_pattern)
    labels: Labels | None = None
    if label_of is not None and label_of != NO_LABELS and of is not None:
        raise InvalidArgument(
            f"{path} has labels of its own: leave out --labels (labels=) and --label-pattern"
        )
    if options.targets is True and of is not None and label_of is None:
        options = replace(options, targets=target_numbers([row[of] for row in rows], str(path)))
    elif label_of is not None and not isinstance(label_of, str):
        labels = file_labels(path, files, options.class_names, label_of)
    elif label_of is None and of is not None and options.targets is None:
        labels = read_labels(
            [row[of] for row in rows], str(path), options.class_names, lambda i: f"row {i + 1}"
        )
    return _media(path, files, labels, names, options)


def target_numbers(texts: Sequence[str], source: str) -> list[float]:
    """The cells of a column as numbers, for a model without classes."""
    values = []
    for row, text in enumerate(texts, 1):
        try:
            values.append(float(text))
        except ValueError:
            raise InvalidArgument(
                f"{source}: row {row} has the label {text!r}, and a model without classes needs a "
                "number there: write one"
            ) from None
    return values


def _csv_rows(path: Path) -> tuple[list[str], list[list[str]]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            header = [name.strip() for name in next(reader, [])]
            rows = [row for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidArgument(
            f"{path} cannot be read as CSV ({error}): save it as UTF-8 text"
        ) from error
    refuse_other_separators(header, str(path))
    if "label" in header and "file" not in header:
        raise InvalidArgument(
            f"{path} has a column label and no column file: for a list of images add file; if it "
            "is a table of values, say --labels label (labels=)"
        )
    if not rows or header.count("file") != 1 or header.count("label") > 1:
        raise InvalidArgument(
            f"{path} must have the columns file and label (or file alone, without labels), and at "
            "least one row: add what is missing"
        )
    return header, rows


def _media(
    path: Path,
    files: Sequence[Path],
    labels: Labels | None,
    ids: list[str],
    options: MediaOptions,
) -> Inputs:
    if is_sound(files[0]):
        return _of_sounds(path, files, labels, ids, options)
    if options.length is not None:
        raise InvalidArgument(
            f"{path} holds images: --length (length=) is for sounds; leave it out"
        )
    pixels = stack_images(image_files(files), str(path), options.size, options.shape)
    inputs = from_arrays(
        pixels.values,
        labels,
        ids=ids,
        class_names=options.class_names,
        source=str(path),
        scale=options.scale,
        targets=options.true_outputs,
    )
    return with_reading(inputs, pixels.reading)


def _of_sounds(
    path: Path,
    files: Sequence[Path],
    labels: Labels | None,
    ids: list[str],
    options: MediaOptions,
) -> Inputs:
    for name, value in (("size", options.size), ("scale", options.scale)):
        if value is not None:
            raise InvalidArgument(
                f"{path} holds sounds, read as -1 to 1: leave out --{name} ({name}=)"
            )
    sounds = stack_sounds(files, str(path), options.length)
    inputs = from_arrays(
        sounds.values,
        labels,
        ids=ids,
        class_names=options.class_names,
        source=str(path),
        targets=options.true_outputs,
    )
    words = [sounds.reading, *inputs.reading.split("; ")[1:]]
    return replace(inputs, frame=(), reading="; ".join(words))


def with_reading(inputs: Inputs, more: str) -> Inputs:
    """What was done to the images, after how their values were scaled."""
    scaled, *others = inputs.reading.split("; ")
    return replace(inputs, reading="; ".join(filter(None, [scaled, more, *others])))
