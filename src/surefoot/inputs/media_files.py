"""The image and sound files below a folder, and the label that each of them has."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidArgument
from surefoot.inputs.class_names import ClassNames
from surefoot.inputs.label_pattern import LabelPattern
from surefoot.inputs.labels import Labels, read_labels
from surefoot.system.user_code import INTERRUPTS, raised_words

IMAGE_SUFFIXES = {
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
    class_names: ClassNames,
    label_of: LabelOf | LabelPattern | str | None,
) -> Labels | None:
    """The labels of files below `path`; None where they have none.

    By default the top folder that a file is in is its class, and files in no folder have no label.
    A function gets the path of a file; a pattern is held against its name.
    """
    if label_of == NO_LABELS:
        return None
    if callable(label_of) or isinstance(label_of, LabelPattern):
        return file_labels(path, files, class_names, label_of)
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
    classes = read_labels(folders, str(path), class_names, lambda i: f"folder {folders[i]}")
    return replace(classes, numbers=classes.numbers[[folders.index(top[0]) for top in tops]])


def file_labels(
    path: Path, files: Sequence[Path], class_names: ClassNames, label_of: LabelOf | LabelPattern
) -> Labels:
    """One label a file, from a function or a pattern."""
    labels = [_label(file, label_of) for file in files]
    return read_labels(labels, str(path), class_names, lambda i: str(files[i]))


def _label(file: Path, label_of: LabelOf | LabelPattern) -> Any:  # noqa: ANN401  a label of any kind
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


def label_source(
    path: Path,
    labels: Any,  # noqa: ANN401  labels in any form
    pattern: str | None,
) -> LabelOf | LabelPattern | str | None:
    """What gives labels to files: a function, a pattern, "none", or (None) what the data say."""
    if pattern is not None:
        if labels is not None:
            raise InvalidArgument(
                "labels and label_pattern (--labels, --label-pattern) both give labels: leave out "
                "one of them"
            )
        return LabelPattern(pattern)
    if labels is None or callable(labels):
        function: LabelOf | None = labels
        return function
    if isinstance(labels, str) and labels == NO_LABELS:
        return NO_LABELS
    raise InvalidArgument(
        f"{path} has labels of its own, or takes them by file: leave out --labels (labels=), or "
        "give a CSV with the columns file and label, --label-pattern, or a function of a path"
    )
