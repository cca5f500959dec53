"""Outcomes that were counted elsewhere, reported as our own are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from surefoot.conclude.tally import tally_record
from surefoot.conclude.tally_comparison import compare_tallies, matched
from surefoot.errors import InvalidArgument
from surefoot.inputs.outcome_files import read_outcomes
from surefoot.inputs.outcome_rows import ColumnNames, OutcomeFile
from surefoot.study.result import Result


def tally_files(paths: Sequence[Path | str], columns: ColumnNames, error: float) -> Result:
    """The claims of one file; of several, their differences on the cases that all of them have."""
    if not 0 < error < 1:
        raise InvalidArgument(
            f"confidence (--confidence) must lie between 0 and 1, got {1 - error:g}: try 0.95"
        )
    names = _names([Path(path) for path in paths])
    files = {name: read_outcomes(path, columns) for name, path in zip(names, paths, strict=True)}
    if len(files) == 1:
        return Result(tally_record(next(iter(files.values())), error))
    kept, findings = matched({name: _without_classes(file) for name, file in files.items()})
    records = {name: tally_record(file, error) for name, file in kept.items()}
    whole = compare_tallies(records, findings, error)
    return Result(whole, {name: Result(record) for name, record in records.items()})


def _names(paths: Sequence[Path]) -> list[str]:
    """The name of each file; with its folders where two are called the same."""
    uses = Counter(path.name for path in paths)
    names = [path.name if uses[path.name] == 1 else str(path) for path in paths]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidArgument(f"{twice} is given twice: compare different files")
    return names


def _without_classes(file: OutcomeFile) -> OutcomeFile:
    """Classes that were guessed have no part in a comparison."""
    remarks = tuple(remark for remark in file.remarks if remark.name != "class")
    cases = tuple(replace(case, class_name="") for case in file.cases)
    return replace(file, cases=cases, remarks=remarks)
