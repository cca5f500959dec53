"""Outcomes of a test that was run elsewhere, from a file of any format that is known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from surefoot.errors import InvalidArgument
from surefoot.inputs.outcomes.inspect import read_inspect_archive, read_inspect_json
from surefoot.inputs.outcomes.junit import read_junit
from surefoot.inputs.outcomes.rows import ColumnNames, OutcomeFile
from surefoot.inputs.outcomes.tables import read_csv, read_json_lines

READERS: dict[str, Callable[[Path, ColumnNames], OutcomeFile]] = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".jsonl": read_json_lines,
    ".json": read_inspect_json,
    ".eval": read_inspect_archive,
    ".xml": read_junit,
}
"""By the end of the file's name."""


def read_outcomes(path: Path | str, wanted: ColumnNames) -> OutcomeFile:
    """The cases and outcomes of a file."""
    file = Path(path)
    reader = READERS.get(file.suffix.lower())
    if reader is None:
        raise InvalidArgument(
            f"{path}: tally reads .csv, .tsv, .jsonl (lm-evaluation-harness), .json and .eval "
            "(Inspect) and .xml (JUnit); name the file by what it is"
        )
    return reader(file, wanted)
