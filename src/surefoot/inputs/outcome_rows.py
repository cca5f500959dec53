"""Outcomes of a test that was run elsewhere: what a file of them holds, whatever its format."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidArgument

MOST_CASES = 200_000
"""Cases of one file: `--json` lists every one of them, in some 100 megabytes."""
MOST_BYTES = 256 * 2**20
"""Of a file, and of what is unpacked from it at once: its text is held in memory."""
_SHOWN = 60
"""Characters of a value that a refusal repeats."""
_YES = ("1", "1.0", "true", "yes")
_NO = ("0", "0.0", "false", "no")
_PASSED = ("pass", "passed", "ok", "correct", "success", "c")
_FAILED = ("fail", "failed", "failure", "error", "incorrect", "wrong", "i")
_SKIPPED = ("skip", "skipped")
FAILURE_NAMES = ("failed", "fail", "failure", "failures", "error", "errors")
"""Columns in which 1 and true mean that the case failed."""
_UNCLEAR_NAMES = ("status", "exit_code", "exit_status", "returncode")
"""Columns in which 0 often means that all went well: numbers there say nothing."""


@dataclass(frozen=True)
class ColumnNames:
    """The columns that the user named; None where they are to be guessed.

    `by` is the class of each case, `group` the group that was sampled as a whole.
    """

    case: str | None = None
    outcome: str | None = None
    group: str | None = None
    by: str | None = None


@dataclass(frozen=True)
class Outcome:
    """Trials of one case in one row; none where the row says that the case was skipped.

    `place` names the row in a refusal. `content` names the contents of the case, where the file
    does: the same name with other contents is another case.
    """

    place: str
    case: str
    failed: int
    trials: int = 1
    group: str = ""
    class_name: str = ""
    content: str = ""


@dataclass(frozen=True)
class Case:
    """All trials of one case."""

    name: str
    failed: int
    trials: int
    group: str = ""
    class_name: str = ""
    content: str = ""


@dataclass(frozen=True)
class Remark:
    """What was read, or guessed, or left out; a warning stands beside the result."""

    name: str
    text: str
    is_warning: bool = False


@dataclass(frozen=True)
class OutcomeFile:
    """The cases of one file, in the order of their first rows.

    `names_cases`: the file says which case a row is of, so that two files can be matched. `task`
    names the test, where the file does.
    """

    path: Path
    cases: tuple[Case, ...]
    remarks: tuple[Remark, ...]
    names_cases: bool = True
    task: str = ""


def outcome_file(
    path: Path,
    rows: Iterable[Outcome],
    remarks: Iterable[Remark],
    *,
    names_cases: bool = True,
    task: str = "",
) -> OutcomeFile:
    """The rows gathered by case; skipped ones are left out and counted in a remark."""
    every = list(rows)
    if not every:
        raise InvalidArgument(f"{path} has no outcomes: a tally needs at least one")
    cases = _gathered(row for row in every if row.trials)
    skipped = sum(not row.trials for row in every)
    if not cases:
        raise InvalidArgument(f"{path}: every case was skipped; a tally needs at least one outcome")
    if len(cases) > MOST_CASES:
        raise InvalidArgument(
            f"{path} has {len(cases):,} cases, more than {MOST_CASES:,}: take a random choice of "
            "them"
        )
    notes = list(remarks)
    if skipped:
        were = "1 row was skipped and is" if skipped == 1 else f"{skipped:,} rows were skipped, and"
        left = f"{were}{'' if skipped == 1 else ' are'} left out: nothing is said of such cases"
        notes.append(Remark("skipped", left, is_warning=True))
    return OutcomeFile(path, cases, tuple(notes), names_cases, task)


def _gathered(rows: Iterable[Outcome]) -> tuple[Case, ...]:
    cases: dict[str, Case] = {}
    for row in rows:
        known = cases.get(row.case)
        if known is None:
            cases[row.case] = Case(
                row.case, row.failed, row.trials, row.group, row.class_name, row.content
            )
            continue
        for what, mine, other in (
            ("group", row.group, known.group),
            ("class", row.class_name, known.class_name),
            ("content", row.content, known.content),
        ):
            if mine != other:
                raise InvalidArgument(
                    f"{row.place}: case {row.case} has the {what} {mine!r}, and {other!r} in a row "
                    "above: name the column in which every case has a name of its own (--case)"
                )
        cases[row.case] = replace(
            known, failed=known.failed + row.failed, trials=known.trials + row.trials
        )
    return tuple(cases.values())


def read_outcome(place: str, column: str, value: Any) -> bool | None:  # noqa: ANN401  of JSON
    """Whether it failed; None where it was skipped. Anything else is refused.

    In a column such as `failed` 1 and true are failures; words mean the same everywhere.
    """
    if isinstance(value, bool | int | float):
        word = "1" if value == 1 else "0" if value == 0 else repr(value)
    else:
        word = value.strip().lower() if isinstance(value, str) else ""
    if word in _SKIPPED:
        return None
    if word in _PASSED or word in _FAILED:
        return word in _FAILED
    if word in (*_YES, *_NO):
        plain = column.strip().lower()
        if plain in _UNCLEAR_NAMES:
            raise InvalidArgument(
                f"{place}: {column} is {word}, which may mean either: name the column passed or "
                "failed, or write pass and fail"
            )
        return (word in _YES) == (plain in FAILURE_NAMES)
    raise InvalidArgument(
        f"{place}: {column} is {shown(value)}; an outcome is pass or fail, 1 or 0, true or false, "
        "or skipped"
    )


def shown(value: object) -> str:
    """A value in a refusal, not longer than a line."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def check_size(path: Path) -> None:
    """Refuse a file that does not exist or is too large to be read at once."""
    try:
        size = path.stat().st_size if path.is_file() else None
    except (OSError, ValueError):  # a name too long, or with a null character
        size = None
    if size is None:
        raise InvalidArgument(f"there is no file {path}: check the path")
    if size > MOST_BYTES:
        raise InvalidArgument(
            f"{path} has {size / 2**20:,.0f} MiB, more than {MOST_BYTES / 2**20:,.0f}: write its "
            "cases and outcomes to a CSV file"
        )


def read_text(path: Path) -> str:
    """The text of a file of bounded size."""
    check_size(path)
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"{path} cannot be read ({error}): save it as UTF-8 text") from error
