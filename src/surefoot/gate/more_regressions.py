"""Comparisons with earlier models, those of the file and those that are stated beside it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidArgument

REGRESSION = ("not_worse_than", "previous_model", "margin")
"""What a study says of such a comparison."""
COMPARABLE = ("estimate", "certify", "tail", "curve", "critical")
"""Commands whose results are compared with those of an earlier model."""
_ENDING = ".evidence.json"


@dataclass(frozen=True)
class MoreRegressions:
    """Comparisons with earlier models that are stated beside the file.

    Each text is a path, for the study that it fits, or NAME=PATH for the study of that name; a
    folder of evidence has a file for each study.
    """

    not_worse_than: Sequence[str] = ()
    previous_model: Sequence[str] = ()
    margin: float | str | None = None


def with_more(
    folder: Path,
    tables: Mapping[str, Mapping[str, Any]],
    more: MoreRegressions,
    defaults: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """The studies of a file, by name, with what is stated beside it; its paths are made theirs."""
    studies = {name: dict(table) for name, table in tables.items()}
    able = [name for name, table in studies.items() if table.get("command") in COMPARABLE]
    for text in more.not_worse_than:
        name, path = _named(text, able)
        for study, file in _evidence_of(path, [name] if name else able).items():
            _set(studies[study], study, "not_worse_than", os.path.relpath(file, folder))
    for text in more.previous_model:
        name, path = _named(text, able)
        chosen = [name] if name else able
        if not chosen:
            raise InvalidArgument(
                f"previous_model (--previous-model) {text}: no study of the file is compared with "
                f"an earlier model, only {', '.join(COMPARABLE)} are; leave it out"
            )
        place = os.path.relpath(path, folder) if Path(path).exists() else path
        for study in chosen:
            _set(studies[study], study, "previous_model", place)
    if more.margin is not None:
        compared = [
            study
            for name, study in studies.items()
            if "not_worse_than" in study
            or "previous_model" in study
            or (name in able and "previous_model" in defaults)
        ]
        if not compared:
            raise InvalidArgument(
                f"margin (--margin) {more.margin} is for a comparison with an earlier model: add "
                "--previous-model or --not-worse-than"
            )
        for one in compared:
            one["margin"] = more.margin
    return list(studies.values())


def _set(table: dict[str, Any], study: str, key: str, value: str) -> None:
    if key in table:
        raise InvalidArgument(
            f"study {study} has {key.replace('_', '-')} = {table[key]!r} already, and is given "
            f"{value}: state one of them"
        )
    table[key] = value


def _named(text: str, names: Sequence[str]) -> tuple[str, str]:
    """The study and the path of NAME=PATH; no study where none of that name can be compared."""
    name, equal, path = text.partition("=")
    return (name, path) if equal and name in names else ("", text)


def _evidence_of(path: str, names: Sequence[str]) -> dict[str, str]:
    """The file of each study that this path is for: of a folder of evidence, of every one."""
    place, shown = Path(path), f"not_worse_than (--not-worse-than) {path}"
    if os.path.isdir(path):
        files = {name: place / f"{name}{_ENDING}" for name in names}
        missing = [name for name, file in files.items() if not file.exists()]
        if missing or not files:
            raise InvalidArgument(
                f"{shown} has no evidence of {' and '.join(missing) or 'a study'}: name the files "
                f"of the studies that are compared ({place / 'NAME'}{_ENDING})"
            )
        return {name: str(file) for name, file in files.items()}
    known = ", ".join(names) or "there are none"
    if not os.path.exists(path):
        raise InvalidArgument(
            f"{shown}: there is no such file: correct its name; NAME=FILE is for the study NAME "
            f"({known})"
        )
    stem = place.name.removesuffix(_ENDING)
    if stem in names or len(names) == 1:
        return {stem if stem in names else names[0]: path}
    raise InvalidArgument(
        f"{shown} names none of the studies that can be compared ({known}): write NAME={path}"
    )
