"""Inputs from files of images and sounds: a folder, or a CSV that names them."""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument, refusing
from surefoot.inputs import items
from surefoot.inputs.arrays import ReadOptions, from_arrays
from surefoot.inputs.bounded_pattern import BoundedPattern
from surefoot.inputs.images import MOST_BYTES, Stacked, image_files, stack_images
from surefoot.inputs.labels import Labels, read_labels
from surefoot.subject.inputs import Inputs
from surefoot.system.memory_limits import refuse_too_large
from surefoot.system.text import first_again
from surefoot.system.user_code import named_errors

_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_MOST_CHANNELS = 64
_WAY_OUT = "give a part of it, or a shorter --length (length=)"
_NOT_KNOWN = 0xFFFFFFFF
"""The size of samples that a program wrote without knowing it: they go on to the end."""
_MOST_CHUNKS = 1000
"""Parts of a file before its samples: a crafted file cannot keep us reading."""
READING = "samples read as -1 to 1"
"""How the reading of sounds begins."""


@dataclass(frozen=True)
class SoundFormat:
    """How the samples of a file are stored."""

    kind: int
    channels: int
    rate: int
    bits: int


def stack_sounds(files: Sequence[Path], source: str, length: float | None) -> Stacked:
    """All sounds as one array (n, channels, samples).

    `length` in seconds cuts at the end or adds silence there.
    """
    if length is not None and not 0 < length < math.inf:
        raise InvalidArgument(f"length must be a number of seconds above 0, got {length}")
    sounds: list[NDArray[np.float32]] = []
    whole, cut, first = 0, 0, None
    for file in files:
        form, values = read_sound(file)
        first = first or form
        for what, mine, other, wanted in (
            ("samples a second", form.rate, first.rate, "rate, which must be the model's"),
            ("channels", form.channels, first.channels, "number of channels"),
        ):
            if mine != other:
                raise InvalidArgument(
                    f"{file} has {mine} {what} and {files[0]} {other}: convert them to one {wanted}"
                )
        samples = None if length is None else max(1, round(length * form.rate))
        whole += form.channels * (samples or values.shape[1]) * 4
        if whole > MOST_BYTES:
            raise InvalidArgument(
                f"{source} unpacks to more than {MOST_BYTES // 2**30} GiB: {_WAY_OUT}"
            )
        if not sounds:  # all have one length
            refuse_too_large(source, whole * len(files), _WAY_OUT)
        cut += samples is not None and samples < values.shape[1]
        sounds.append(values if samples is None else values[:, :samples].copy())
    if first is None:
        raise InvalidArgument(f"{source} holds no sounds: give .wav files")
    lengths = [sound.shape[1] for sound in sounds]
    if length is None and len(set(lengths)) > 1:
        odd = next(i for i, n in enumerate(lengths) if n != lengths[0])
        raise InvalidArgument(
            f"{files[odd]} is {lengths[odd] / first.rate:.4g} s long and {files[0]} "
            f"{lengths[0] / first.rate:.4g} s: all sounds need one length: pass --length SECONDS "
            "(length=) to cut them at the end or to add silence there"
        )
    samples = lengths[0] if length is None else max(1, round(length * first.rate))
    rows = np.zeros((len(files), first.channels, samples), dtype=np.float32)
    for row, sound in zip(rows, sounds, strict=True):
        row[:, : sound.shape[1]] = sound
    words = [READING, f"{first.rate} Hz", f"{samples / first.rate:.6g} s"]
    if length is not None:
        padded = sum(n < samples for n in lengths)
        words.append(f"{cut} of {len(files)} cut at the end, {padded} filled up with silence")
    return Stacked(rows, ", ".join(words))


def read_sound(file: Path) -> tuple[SoundFormat, NDArray[np.float32]]:
    """The format of a .wav file and its samples (channels, samples).

    Whole numbers are divided so that they fill -1 to 1; floats stay as they are.
    """
    what, way_out = f"{file} cannot be read as a .wav file", "save it as PCM or float WAV"
    with refusing(what, way_out, OSError, ValueError, struct.error):
        if file.stat().st_size > MOST_BYTES:
            raise ValueError(f"it is larger than {MOST_BYTES // 2**30} GiB")
        with file.open("rb") as opened:
            form, content = _parts(opened)
    return form, np.ascontiguousarray(_samples(form, content).reshape(-1, form.channels).T)


def _parts(opened: BinaryIO) -> tuple[SoundFormat, bytes]:
    head = opened.read(12)
    if head[:4] != b"RIFF" or head[8:12] != b"WAVE":
        raise ValueError("it does not begin as a RIFF WAVE file")
    form: SoundFormat | None = None
    for _ in range(_MOST_CHUNKS):
        head = opened.read(8)
        if len(head) < 8:
            break
        name, size = struct.unpack("<4sI", head)
        if name == b"fmt ":
            form = _format(opened.read(min(size, 64)))
            opened.seek(size - min(size, 64) + size % 2, 1)
        elif name == b"data":
            if form is None:
                raise ValueError("its samples come before their format")
            rest = os.fstat(opened.fileno()).st_size - opened.tell()
            if size == _NOT_KNOWN:
                size = rest
            content = opened.read(min(size, rest))
            frame = form.channels * form.bits // 8
            if len(content) < size or not content or len(content) % frame:
                raise ValueError(f"it holds {len(content)} bytes of samples where it says {size}")
            return form, content
        else:
            opened.seek(size + size % 2, 1)
    raise ValueError("it holds no samples")


def _format(content: bytes) -> SoundFormat:
    kind, channels, rate, _, frame, bits = struct.unpack("<HHIIHH", content[:16])
    if kind == _EXTENSIBLE:
        kind = struct.unpack("<H", content[24:26])[0]
    known = (kind == _PCM and bits in (8, 16, 24, 32)) or (kind == _FLOAT and bits in (32, 64))
    if not known:
        raise ValueError(f"it is of format {kind} with {bits} bits a sample")
    if not 1 <= channels <= _MOST_CHANNELS or rate < 1 or frame != channels * bits // 8:
        raise ValueError(f"it says {channels} channels, {rate} Hz and {frame} bytes a frame")
    return SoundFormat(kind, channels, rate, bits)


def _samples(form: SoundFormat, content: bytes) -> NDArray[np.float32]:
    if form.kind == _FLOAT:
        return np.frombuffer(content, dtype=f"<f{form.bits // 8}").astype(np.float32)
    if form.bits == 8:  # the only one without a sign
        return (np.frombuffer(content, dtype=np.uint8).astype(np.float32) - 128) / np.float32(128)
    bits = form.bits
    if bits == 24:
        bytes_ = np.frombuffer(content, dtype=np.uint8).reshape(-1, 3)
        wide = np.zeros((len(bytes_), 4), dtype=np.uint8)
        wide[:, 1:] = bytes_
        content, bits = wide.tobytes(), 32
    whole = np.frombuffer(content, dtype=f"<i{bits // 8}").astype(np.float64)
    scaled: NDArray[np.float32] = (whole / 2.0 ** (bits - 1)).astype(np.float32)
    return scaled


_EXAMPLE = r'write one such as "(?P<label>[a-z]+)_\d+"'
LabelOf = Callable[[Path], Any]
"""What gives the label of a file."""


def label_pattern(text: str) -> LabelOf:
    """Labels by a pattern that the whole name of a file, with or without suffix, must match.

    The group `label`, or the only group, is the label.
    """
    pattern = BoundedPattern(text, "label pattern", _EXAMPLE)
    is_named = "label" in pattern.compiled.groupindex
    if not is_named and pattern.compiled.groups != 1:
        raise InvalidArgument(f"label pattern {text!r} has no group called label: {_EXAMPLE}")

    def label(file: Path) -> str:
        match = pattern.fullmatch(file.stem) or pattern.fullmatch(file.name)
        if match is None:
            raise InvalidArgument(
                f"{file}: the name does not match the label pattern {text!r}, which must fit "
                "the whole name without its suffix: change the pattern, or leave the file out"
            )
        return match["label" if is_named else 1] or ""

    return label


IMAGE_SUFFIXES = {
    ".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm",
}  # fmt: skip
SOUND_SUFFIXES = {".wav", ".wave"}
NO_LABELS = "none"
"""As `labels`: leave out the labels that folders or a column give."""
_MOST_FILES = 2_000_000
"""In one folder: more than any set of images has, so that a wrong path ends soon."""


def media_files(path: Path) -> list[Path]:
    """The image or sound files below a folder, in the order of their names.

    Hidden files and files of other kinds are left out; a folder that is a link is not followed.
    """
    files: list[Path] = []
    for folder, below, names in os.walk(path):
        below[:] = [name for name in below if not name.startswith(".")]
        files += [
            Path(folder, name)
            for name in names
            if not name.startswith(".")
            and os.path.splitext(name)[1].lower() in IMAGE_SUFFIXES | SOUND_SUFFIXES
        ]
        if len(files) > _MOST_FILES:
            raise InvalidArgument(f"{path} holds more than {_MOST_FILES:,} files: give a part")
    if not files:
        raise InvalidArgument(
            f"{path} holds no images and no .wav files: put them in it, or in one folder a class, "
            "or give a CSV with the columns file and label; other files are read with --read-as "
            "bytes or text (read_as=)"
        )
    ordered = sorted(files, key=lambda file: file.relative_to(path).parts)
    refuse_irregular(ordered)
    return ordered


def refuse_irregular(files: Sequence[Path]) -> None:
    """Refuse files of two kinds, and what is no plain file: opening a pipe would wait for ever."""
    for file in files:
        if not file.is_file():
            raise InvalidArgument(
                f"{file} is no plain file, or leads nowhere: remove it from the data"
            )
    sounds = [is_sound(file) for file in files]
    if len(set(sounds)) > 1:
        raise InvalidArgument(
            f"{files[sounds.index(True)]} is a sound and {files[sounds.index(False)]} an image: "
            "give inputs of one kind"
        )


def is_sound(file: Path) -> bool:
    """Whether the name says that it is a sound."""
    return file.suffix.lower() in SOUND_SUFFIXES


def folder_labels(
    path: Path, files: Sequence[Path], options: ReadOptions, label_of: LabelOf | str | None
) -> Labels | None:
    """The labels of files below `path`; None where they have none.

    By default the top folder that a file is in is its class, and files in no folder have no label.
    A function gets the path of a file; a pattern is held against its name.
    """
    if label_of == NO_LABELS:
        return None
    if callable(label_of):
        return file_labels(path, files, options, label_of)
    tops = [file.relative_to(path).parts[:-1] for file in files]
    loose = [file for file, top in zip(files, tops, strict=True) if not top]
    if len(loose) == len(files):
        return None
    if loose:
        raise InvalidArgument(
            f"{path} holds {len(loose)} files beside its class folders, the first is "
            f"{loose[0].name}: put each file in a class folder, or pass --labels none "
            '(labels="none") to study all of them without labels'
        )
    folders = sorted(p.name for p in path.iterdir() if p.is_dir() and not p.name.startswith("."))
    classes = items.folder_classes(path, folders, options)
    return replace(classes, numbers=classes.numbers[[folders.index(top[0]) for top in tops]])


def file_labels(
    path: Path, files: Sequence[Path], options: ReadOptions, label_of: LabelOf
) -> Labels:
    """One label a file, from a function or a pattern."""
    labels, way_out = [], "let it return a class number or name"
    for file in files:
        with named_errors(f"{file}: the function of labels", way_out):
            labels.append(label_of(file))
    return read_labels(labels, str(path), options.class_names, lambda i: str(files[i]))


def label_source(path: Path, options: ReadOptions) -> LabelOf | str | None:
    """What gives labels to files: a function, a pattern, "none", or (None) what the data say."""
    labels = options.labels
    if options.label_pattern is not None:
        if labels is not None:
            raise InvalidArgument(
                "labels and label_pattern (--labels, --label-pattern) both give labels: leave out "
                "one of them"
            )
        return label_pattern(options.label_pattern)
    if labels is None or callable(labels):
        function: LabelOf | None = labels
        return function
    if isinstance(labels, str) and labels == NO_LABELS:
        return NO_LABELS
    raise InvalidArgument(
        f"{path} has labels of its own, or takes them by file: leave out --labels (labels=), or "
        "give a CSV with the columns file and label, --label-pattern, or a function of a path"
    )


def from_folder(path: Path, options: ReadOptions) -> Inputs:
    """Images or sounds below a folder; ids are the files' paths in it.

    One folder a class, its name the class or its number; or loose files, which have no label
    unless a pattern or a function gives them one.
    """
    label_of = label_source(path, options)
    files = media_files(path)
    labels = folder_labels(path, files, options, label_of) if options.targets is None else None
    ids = [file.relative_to(path).as_posix() for file in files]
    return _media(path, files, replace(options, labels=labels, ids=ids))


def from_csv(path: Path, options: ReadOptions) -> Inputs:
    """A CSV with the column file and, where labels are known, label; files relative to it."""
    first, rows = items.csv_rows(path)
    header = [name.strip() for name in first]
    items.refuse_other_separators(header, str(path))
    if "label" in header and "file" not in header:
        others = [
            cell for row in rows for name, cell in zip(header, row, strict=False) if name != "label"
        ]
        if others and all(map(items.REAL.fullmatch, others)):
            raise InvalidArgument(f"{path} is a table with a column label: say --labels label")
        raise InvalidArgument(
            f"{path} has a column label and no column file: for a list of images add file; if it "
            "is a table of values, say --labels label (labels=)"
        )
    if not rows or header.count("file") != 1 or header.count("label") > 1:
        raise InvalidArgument(
            f"{path} must have the columns file and label (or file alone, without labels), and at "
            "least one row: add what is missing"
        )
    at = header.index("file")
    of = header.index("label") if "label" in header else None
    for number, row in enumerate(rows, 1):
        if len(row) > len(header):
            items.refuse_cells(path, number, row, header)
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
    again = first_again(names)
    if again is not None:
        raise InvalidArgument(
            f"{path}: row {again + 1} names {names[again]} again: inputs need different ids; "
            "leave out one of the rows"
        )
    refuse_irregular(files)
    label_of = label_source(path, options)
    labels: Labels | None = None
    if callable(label_of) and of is not None:
        raise InvalidArgument(
            f"{path} has labels of its own: leave out --labels (labels=) and --label-pattern"
        )
    if options.targets is True and of is not None and label_of is None:
        options = replace(options, targets=target_numbers([row[of] for row in rows], str(path)))
    elif callable(label_of):
        labels = file_labels(path, files, options, label_of)
    elif label_of is None and of is not None and options.targets is None:
        labels = read_labels(
            [row[of] for row in rows], str(path), options.class_names, lambda i: f"row {i + 1}"
        )
    return _media(path, files, replace(options, labels=labels, ids=names))


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


def _media(path: Path, files: Sequence[Path], options: ReadOptions) -> Inputs:
    if options.targets is True:  # and no column holds them
        options = replace(options, targets=None)
    if is_sound(files[0]):
        for name, value in (("size", options.size), ("scale", options.scale)):
            if value is not None:
                raise InvalidArgument(
                    f"{path} holds sounds, read as -1 to 1: leave out --{name} ({name}=)"
                )
        sounds = stack_sounds(files, str(path), options.length)
        inputs = from_arrays(sounds.values, str(path), options)
        words = [sounds.reading, *inputs.reading.split("; ")[1:]]
        return replace(inputs, frame=(), reading="; ".join(words))
    if options.length is not None:
        raise InvalidArgument(
            f"{path} holds images: --length (length=) is for sounds; leave it out"
        )
    pixels = stack_images(image_files(files), str(path), options.size, options.shape)
    return with_reading(from_arrays(pixels.values, str(path), options), pixels.reading)


def with_reading(inputs: Inputs, more: str) -> Inputs:
    """What was done to the images, after how their values were scaled."""
    scaled, *others = inputs.reading.split("; ")
    return replace(inputs, reading="; ".join(filter(None, [scaled, more, *others])))
