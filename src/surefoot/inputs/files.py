"""Inputs from files of arrays: .npz, and a pair of .npy."""

from __future__ import annotations

import math
import struct
import zipfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO

import numpy as np

from surefoot.errors import InvalidArgument, refusing
from surefoot.inputs.arrays import ReadOptions, from_arrays
from surefoot.inputs.images import MOST_BYTES
from surefoot.inputs.labels import read_class_names
from surefoot.subject.inputs import Inputs
from surefoot.subject.pixels import LEAST_BYTES, LazyRows, bytes_held
from surefoot.subject.protocols import HostArray
from surefoot.system.memory_limits import refuse_too_large
from surefoot.system.user_code import error_text

_POINTS = ("x", "x_test", "images", "data", "inputs", "features")
_WAY_OUT = "store a part of it"
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_LABELS = ("y", "y_test", "labels", "label", "targets", "target")


def from_npz(path: Path, options: ReadOptions) -> Inputs:
    """The arrays x and y of an .npz file (or another of their usual names).

    Labels and class names, where given, go before those in the file. Targets are the true outputs
    or the name of the array that holds them; then y holds no labels. True: y holds them.
    """
    objects = f"{path} holds arrays of Python objects or is damaged"
    with (  # damaged, encrypted, or written by another program: errors of many kinds
        refusing(
            f"{path} cannot be read as .npz",
            "save it again with numpy.savez",
            Exception,
            words=error_text,
        ),
        refusing(objects, "save plain numbers", ValueError),
    ):
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
            member = f"{points}.npy" if f"{points}.npy" in stored.zip.namelist() else points
            with stored.zip.open(member) as file:
                refuse_too_large(str(path), _stated_bytes(file), _WAY_OUT)
            targets = options.targets
            if isinstance(targets, str):
                if targets not in stored.files:
                    raise InvalidArgument(
                        f"{path} has no array {targets!r} for the targets: it holds "
                        f"{', '.join(stored.files)}; name one of them"
                    )
                options = replace(options, targets=stored[targets])
            elif options.labels is None and (targets is None or targets is True) and beside:
                options = replace(options, labels=stored[beside])
            if not options.class_names.names and "class_names" in keys:
                listed = read_class_names(stored[keys["class_names"]].tolist())
                options = replace(options, class_names=listed)
            ids = stored[keys["ids"]].tolist() if "ids" in keys else None
            options = replace(options, ids=ids).with_true_outputs()
            images = _images_of(path, stored.zip, member)
            return from_arrays(images or stored[points], str(path), options)


def from_npy(path: Path, options: ReadOptions) -> Inputs:
    """An .npy file of inputs; targets are true outputs, or the path of a file with them."""
    options = options.with_true_outputs()
    if isinstance(options.targets, str | Path):
        options = replace(options, targets=read_npy(Path(options.targets)))
    return from_arrays(read_npy(path), str(path), options)


def _images_of(path: Path, archive: zipfile.ZipFile, name: str) -> LazyRows | None:
    """Images that are not compressed, to be read row by row; None for other arrays, and few.

    Their checksum is compared once, in which they take no memory.
    """
    member = archive.getinfo(name)
    if member.compress_type != zipfile.ZIP_STORED:
        return None
    with archive.open(member) as file:
        read_header = _HEADERS.get(np.lib.format.read_magic(file))
        if read_header is None:
            return None
        shape, columns_first, dtype = read_header(file)
        few = 4 * math.prod(shape) <= LEAST_BYTES
        if few or columns_first or dtype != np.uint8 or len(shape) < 3:
            return None
        start = file.tell()
        while file.read(2**20):
            pass
    with path.open("rb") as whole:
        whole.seek(member.header_offset + 26)
        lengths = struct.unpack("<HH", whole.read(4))
    start += member.header_offset + 30 + sum(lengths)
    return LazyRows(shape, lambda rows: np.memmap(path, np.uint8, "r", start, shape)[rows])


def read_npy(path: Path) -> HostArray:
    """The array in an .npy file."""
    if path.exists() and not path.is_file():  # opening a pipe would wait for ever
        raise InvalidArgument(f"{path} is no plain file: save the array in one")
    what, way_out = f"{path} cannot be read as .npy", "save it again with numpy.save"
    with refusing(what, way_out, Exception, words=error_text):  # damaged, or no array
        _refuse_huge(path, path.stat().st_size)
        with path.open("rb") as file:
            refuse_too_large(str(path), _stated_bytes(file), _WAY_OUT)
            file.seek(0)
            loaded: HostArray = np.lib.format.read_array(file, allow_pickle=False)
            return loaded


def _refuse_huge(path: Path, size: int) -> None:
    if size > MOST_BYTES:
        raise InvalidArgument(
            f"{path} unpacks to {size / 2**30:.0f} GiB, more than {MOST_BYTES // 2**30}: {_WAY_OUT}"
        )


def _stated_bytes(file: IO[bytes]) -> int:
    """Bytes of an array in single precision as its header states them; 0 where it is damaged."""
    with suppress(ValueError, KeyError):
        read = _HEADERS[np.lib.format.read_magic(file)]
        shape, _, dtype = read(file)
        size = math.prod(shape)
        return bytes_held(size) if dtype == np.uint8 and len(shape) > 2 else 4 * size
    return 0
