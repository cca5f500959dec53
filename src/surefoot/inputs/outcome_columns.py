"""Which columns of a table hold the case, the outcome, the class and the group."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from surefoot.errors import InvalidArgument
from surefoot.inputs.outcome_meaning import parts_of
from surefoot.inputs.outcome_rows import ColumnNames, Remark

NO_COLUMN = "none"
"""As the name of the column of cases: every row is a case of its own, and every counted trial."""
_CASES = (
    "case", "case_id", "doc_id", "sample_id", "question_id", "task_id", "test_id", "test", "id",
    "name",
)  # fmt: skip
_OUTCOMES = (
    "outcome", "result", "status", "passed", "pass", "correct", "is_correct", "success", "failed",
    "fail", "failure", "acc", "acc_norm", "exact_match", "pass@1",
)  # fmt: skip
_LIKELY = frozenset((
    "answer", "grade", "graded", "judgement", "judgment", "label", "mark", "rating", "score",
    "scores", "verdict",
))  # fmt: skip
"""Words in a name of what may be the outcome: a refusal proposes it, and nothing reads it."""
_CLASSES = ("class", "category")
_WEIGHTS = ("weight", "weights", "sample_weight", "case_weight")
_TRIALS = "trials"
_FAILED_COUNTS = ("failures", "failed")
_PASSED_COUNTS = ("passed", "passes", "successes")


@dataclass(frozen=True)
class Columns:
    """The columns that are read; empty where there is none.

    Either `outcome`, or `trials` with `failed` or `passed`, which hold counts.
    """

    case: str = ""
    outcome: str = ""
    trials: str = ""
    failed: str = ""
    passed: str = ""
    group: str = ""
    by: str = ""


def choose_columns(
    where: str, names: Sequence[str], wanted: ColumnNames, metrics: Sequence[str] = ()
) -> tuple[Columns, list[Remark]]:
    """The columns that were named, else those whose names say what they are, and what to say of it.

    `metrics`: the columns that the file itself names as outcomes.
    """
    if not any(name.strip() for name in names):
        raise InvalidArgument(
            f"{where} has no header: write the names of the columns in the first line"
        )
    counts = Columns() if wanted.outcome else _counts(where, names)
    outcome = counts.outcome
    if not counts.trials:
        candidates = metrics or _OUTCOMES
        outcome = _named(where, names, wanted.outcome, "outcome") or _guess(
            where, names, candidates, "outcome"
        )
        if not outcome:
            commas = "separate columns by commas, " if len(names) == 1 and ";" in names[0] else ""
            likely = next((n for n in names if not _LIKELY.isdisjoint(parts_of(n))), "")
            such = f" {shlex.quote(likely)}, if it is that one" if likely else ""
            raise InvalidArgument(
                f"{where} has no column whose name says that it holds outcomes, among "
                f"{_listed(names)}: {commas}name it with outcome (--outcome{such}), or count in "
                "columns trials and failures"
            )
    case = _case(where, names, wanted.case, counted=bool(counts.trials))
    by = _named(where, names, wanted.by, "by") or _guess(where, names, _CLASSES, "by")
    group = _named(where, names, wanted.group, "group")
    _refuse_the_same(where, {"case": case, "outcome": outcome, "by": by, "group": group})
    columns = Columns(case, outcome, counts.trials, counts.failed, counts.passed, group, by)
    return columns, [
        *_remarks(columns, wanted),
        *_unused_group(columns, names),
        *_unused_weight(names),
    ]


def _refuse_the_same(where: str, chosen: Mapping[str, str]) -> None:
    """A class that is the case itself would be one class for each."""
    options: dict[str, str] = {}
    for option, column in chosen.items():
        if column and column in options:
            raise InvalidArgument(
                f"{where}: the column {column} is both {options[column]} (--{options[column]}) and "
                f"{option} (--{option}); name different ones"
            )
        options[column] = option


def _remarks(columns: Columns, wanted: ColumnNames) -> list[Remark]:
    """What is read from where, and what was guessed."""
    case = f"the column {columns.case}" if columns.case else "every row is a case of its own"
    if not columns.case and columns.trials:
        case = "every counted trial is a case of its own"
    outcome = f"the column {columns.outcome}"
    if columns.trials:
        outcome = f"counts in {columns.trials} and {columns.failed or columns.passed}"
    parts: list[tuple[str, str, bool]] = [
        ("case", case, wanted.case is None),
        ("outcome", outcome, wanted.outcome is None),
        ("class", f"the column {columns.by}" if columns.by else "", wanted.by is None),
        ("group", f"the column {columns.group}" if columns.group else "", False),
    ]
    return [
        Remark(name, text + (" (chosen by its name)" if guessed and "column" in text else ""))
        for name, text, guessed in parts
        if text
    ]


def _unused_group(columns: Columns, names: Iterable[str]) -> list[Remark]:
    """A column called group may mean two things, and one of them makes the interval too narrow."""
    unused = next((n for n in names if n.strip().lower() in ("group", "groups")), "")
    if not unused or unused in (columns.group, columns.by):
        return []
    text = (
        f"the column {unused} is not used; if cases of a group were sampled together, say "
        f"group={unused} (--group {unused}), and for a claim about each, by={unused} "
        f"(--by {unused})"
    )
    return [Remark("group", text, is_warning=True)]


def _unused_weight(names: Iterable[str]) -> list[Remark]:
    """Where some cases stand for more than others, the weighted rate is another one."""
    unused = next((n for n in names if n.strip().lower() in _WEIGHTS), "")
    if not unused:
        return []
    text = (
        f"the column {unused} is not used: every case counts the same, so that no rate here is a "
        "weighted one; remove the column if that is what you want"
    )
    return [Remark("weight", text, is_warning=True)]


def _case(where: str, names: Sequence[str], wanted: str | None, *, counted: bool) -> str:
    if wanted == NO_COLUMN and NO_COLUMN not in names:
        return ""
    case = _named(where, names, wanted, "case")
    if not case and wanted is None:
        present = _present(names, _CASES)
        case = present[0] if present else ""
    if not case and counted:
        raise InvalidArgument(
            f"{where} has counts, and no column says of which case: name it with case (--case), or "
            f"write {NO_COLUMN} where no two trials are of the same case"
        )
    return case


def _counts(where: str, names: Sequence[str]) -> Columns:
    trials = _present(names, (_TRIALS,))
    failed, passed = _present(names, _FAILED_COUNTS), _present(names, _PASSED_COUNTS)
    if not trials:
        return Columns()
    if len(failed) > 1 or len(passed) > 1 or not failed + passed:
        raise InvalidArgument(
            f"{where} has a column {trials[0]}, and counts are read from one column failures or "
            f"passed beside it, not from {_listed([*failed, *passed]) or 'none'}: rename them"
        )
    return Columns(trials=trials[0], failed="".join(failed), passed="".join(passed))


def _named(where: str, names: Sequence[str], wanted: str | None, option: str) -> str:
    if wanted is None:
        return ""
    if wanted in names:
        return wanted
    near = get_close_matches(wanted, names, n=1)
    there = f"do you mean {near[0]}?" if near else f"choose one of {_listed(names)}"
    raise InvalidArgument(f"{option} (--{option}): {where} has no column {wanted!r}; {there}")


def _guess(where: str, names: Sequence[str], known: Sequence[str], option: str) -> str:
    present = _present(names, known)
    if len(present) > 1:
        raise InvalidArgument(
            f"{where} has the columns {' and '.join(present)}: name one with {option} (--{option})"
        )
    return "".join(present)


def _present(names: Sequence[str], known: Sequence[str]) -> list[str]:
    """The columns of these names, in the order of `known`."""
    return [name for one in known for name in names if name.strip().lower() == one.lower()]


def _listed(names: Sequence[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
