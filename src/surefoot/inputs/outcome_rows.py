"""Outcomes of a test that was run elsewhere: what a file of them holds, whatever its format."""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from surefoot.errors import InvalidArgument
from surefoot.population.copies import copies, copies_note

MOST_CASES = 200_000
"""Cases of one file: `--json` lists every one of them, in some 100 megabytes."""
MOST_BYTES = 256 * 2**20
"""Of a file, and of what is unpacked from it at once: its text is held in memory."""
PART_OF_CONTENT = "…"
"""Ends a content that names the beginning of a case alone."""
_LISTED = 4
"""Different values that a remark lists."""


@dataclass(frozen=True)
class Cut:
    """Numbers from `at` on mean `above`, pass or fail; those below it the other."""

    at: float
    above: str

    @property
    def number(self) -> str:
        """The number in full: 0.5, 3."""
        return str(self.at).removesuffix(".0")

    @property
    def option(self) -> str:
        """The option that said it."""
        verb = {"pass": "passes", "fail": "fails"}[self.above]
        return f"{verb}_at (--{verb}-at)"


@dataclass(frozen=True)
class Meaning:
    """What the user says of values whose meaning is not known, each None or empty where nothing.

    `one`: what a 1 or true is, pass or fail. `words`: by word, pass, fail or skip. `cut`: what
    other numbers are.
    """

    one: str | None = None
    words: Mapping[str, str] = field(default_factory=dict)
    cut: Cut | None = None


@dataclass(frozen=True)
class ColumnNames:
    """The columns that the user named; None where they are to be guessed.

    `by` is the class of each case, `group` the group that was sampled as a whole.
    """

    case: str | None = None
    outcome: str | None = None
    group: str | None = None
    by: str | None = None
    meaning: Meaning = Meaning()


@dataclass(frozen=True)
class Outcome:
    """Trials of one case in one row; none where the row says that the case was skipped.

    `place` names the row in a refusal. `content` names the contents of the case, where the file
    does: the same name with other contents is another case. `value` is what the row says; empty
    where it counts.
    """

    place: str
    case: str
    failed: int
    trials: int = 1
    group: str = ""
    class_name: str = ""
    content: str = ""
    value: str = ""


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
    names the test, where the file does. `classes` are those of all its rows, skipped ones too.
    """

    path: Path
    cases: tuple[Case, ...]
    remarks: tuple[Remark, ...]
    names_cases: bool = True
    task: str = ""
    classes: tuple[str, ...] = ()


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
        raise InvalidArgument(
            f"{path} has no outcomes: a tally needs at least one; give another file"
        )
    cases = _gathered(row for row in every if row.trials)
    skipped = sum(not row.trials for row in every)
    if not cases:
        raise InvalidArgument(
            f"{path}: every case was skipped; a tally needs at least one outcome: run some"
        )
    if len(cases) > MOST_CASES:
        raise InvalidArgument(
            f"{path} has {len(cases):,} cases, more than {MOST_CASES:,}: take a random choice of "
            "them"
        )
    notes = [*remarks, *_values(every), Remark("rows", _extent(every, cases))]
    if skipped:
        were = "1 row was skipped and is" if skipped == 1 else f"{skipped:,} rows were skipped, and"
        left = f"{were}{'' if skipped == 1 else ' are'} left out: nothing is said of such cases"
        notes.append(Remark("skipped", left, is_warning=True))
    notes += _copies(cases)
    classes = tuple(sorted({row.class_name for row in every if row.class_name}))
    return OutcomeFile(path, cases, tuple(notes), names_cases, task, classes)


def _copies(cases: Sequence[Case]) -> list[Remark]:
    """Cases that the file itself calls the same."""
    whole = [c for c in cases if c.content and not c.content.endswith(PART_OF_CONTENT)]
    found = copies([case.content for case in whole], [case.group for case in whole])
    return [Remark("copies", copies_note(found, "case"), True)] if found.narrows else []


def _values(rows: Sequence[Outcome]) -> list[Remark]:
    """Which values counted as failed and which as passed, with the number of rows of each."""
    counts = {
        name: Counter(row.value for row in rows if row.trials and row.failed == failed)
        for name, failed in (("failed", 1), ("passed", 0))
    }
    return [
        Remark(name, f"where it is {_listed(values)}" if values else "no row")
        for name, values in counts.items()
        if all(row.value for row in rows)
    ]


def _listed(values: Counter[str]) -> str:
    """The most frequent values first."""
    most = [f"{value} ({count:,} {_rows(count)})" for value, count in values.most_common(_LISTED)]
    return ", ".join([*most, "…"] if len(values) > _LISTED else most)


def _extent(rows: Sequence[Outcome], cases: Sequence[Case]) -> str:
    """How many rows were read, of how many cases, and how often each case was tried."""
    trials = sorted(case.trials for case in cases)
    each = f"{trials[0]:,}" if trials[0] == trials[-1] else f"{trials[0]:,} to {trials[-1]:,}"
    of_each = f"{each} {'trial' if each == '1' else 'trials'} of each"
    noun = "case" if len(cases) == 1 else "cases"
    return f"{len(rows):,} {_rows(len(rows))}, {len(cases):,} {noun}, {of_each}"


def _rows(count: int) -> str:
    return "row" if count == 1 else "rows"


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


def check_size(path: Path) -> None:
    """Refuse a file that does not exist, is no plain file, or too large to be read at once."""
    try:
        status = path.stat()
    except (OSError, ValueError):  # or a name too long, or with a null character
        raise InvalidArgument(f"there is no file {path}: check the path") from None
    if not stat.S_ISREG(status.st_mode):
        raise InvalidArgument(
            f"{path} is no plain file, but a folder, a pipe or a device: name a file of outcomes"
        )
    size = status.st_size
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
