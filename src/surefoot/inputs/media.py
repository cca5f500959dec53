"""Inputs from files of images and sounds: a folder, or a CSV that names them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidArgument
from surefoot.inputs.arrays import ReadOptions, from_arrays
from surefoot.inputs.bounded_pattern import BoundedPattern
from surefoot.inputs.images import image_files, stack_images
from surefoot.inputs.items import csv_rows, folder_classes, refuse_cells, refuse_other_separators
from surefoot.inputs.labels import Labels, read_labels
from surefoot.inputs.sounds import stack_sounds
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Item
from surefoot.system.text import first_again
from surefoot.system.user_code import INTERRUPTS, raised_words

_EXAMPLE = r'write one such as "(?P<label>[a-z]+)_\d+"'


@dataclass(frozen=True)
class LabelPattern:
    """A pattern that the whole name of a file, with or without its suffix, must match.

    The group `label`, or the only group, is the label.
    """

    text: str

    def __post_init__(self) -> None:
        compiled = self._pattern.compiled
        if "label" not in compiled.groupindex and compiled.groups != 1:
            raise InvalidArgument(
                f"label pattern {self.text!r} has no group called label: {_EXAMPLE}"
            )

    def label(self, file: Path) -> str:
        """The label of a file."""
        pattern = self._pattern
        match = pattern.fullmatch(file.stem) or pattern.fullmatch(file.name)
        if match is None:
            raise InvalidArgument(
                f"{file}: the name does not match the label pattern {self.text!r}, which must fit "
                "the whole name without its suffix: change the pattern, or leave the file out"
            )
        label = match["label"] if "label" in pattern.compiled.groupindex else match[1]
        return label or ""

    @cached_property
    def _pattern(self) -> BoundedPattern:
        return BoundedPattern(self.text, "label pattern", _EXAMPLE)


IMAGE_SUFFIXES = {
    ".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm",
}  # fmt: skip
SOUND_SUFFIXES = {".wav", ".wave"}
NO_LABELS = "none"
"""As `labels`: leave out the labels that folders or a column give."""
_MOST_FILES = 2_000_000
"""In one folder: more than any set of images has, so that a wrong path ends soon."""
LabelOf = Callable[[Path], Any]


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
    path: Path,
    files: Sequence[Path],
    options: ReadOptions,
    label_of: LabelOf | LabelPattern | str | None,
) -> Labels | None:
    """The labels of files below `path`; None where they have none.

    By default the top folder that a file is in is its class, and files in no folder have no label.
    A function gets the path of a file; a pattern is held against its name.
    """
    if label_of == NO_LABELS:
        return None
    if callable(label_of) or isinstance(label_of, LabelPattern):
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
    classes = folder_classes(path, folders, options)
    return replace(classes, numbers=classes.numbers[[folders.index(top[0]) for top in tops]])


def file_labels(
    path: Path, files: Sequence[Path], options: ReadOptions, label_of: LabelOf | LabelPattern
) -> Labels:
    """One label a file, from a function or a pattern."""
    labels = [_label(file, label_of) for file in files]
    return read_labels(labels, str(path), options.class_names, lambda i: str(files[i]))


def _label(file: Path, label_of: LabelOf | LabelPattern) -> Item:
    if isinstance(label_of, LabelPattern):
        return label_of.label(file)
    try:
        return label_of(file)
    except INTERRUPTS:
        raise
    except BaseException as error:
        raise InvalidArgument(
            f"{file}: the function of labels {raised_words(error)}: let it "
            "return a class number or name"
        ) from error


def label_source(path: Path, options: ReadOptions) -> LabelOf | LabelPattern | str | None:
    """What gives labels to files: a function, a pattern, "none", or (None) what the data say."""
    labels = options.labels
    if options.label_pattern is not None:
        if labels is not None:
            raise InvalidArgument(
                "labels and label_pattern (--labels, --label-pattern) both give labels: leave out "
                "one of them"
            )
        return LabelPattern(options.label_pattern)
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
    first, rows = csv_rows(path)
    header = [name.strip() for name in first]
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
    at = header.index("file")
    of = header.index("label") if "label" in header else None
    for number, row in enumerate(rows, 1):
        if len(row) > len(header):
            refuse_cells(path, number, row, header)
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
    if label_of is not None and label_of != NO_LABELS and of is not None:
        raise InvalidArgument(
            f"{path} has labels of its own: leave out --labels (labels=) and --label-pattern"
        )
    if options.targets is True and of is not None and label_of is None:
        options = replace(options, targets=target_numbers([row[of] for row in rows], str(path)))
    elif label_of is not None and not isinstance(label_of, str):
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
