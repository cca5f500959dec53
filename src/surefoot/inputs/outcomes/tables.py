"""Outcomes of a test that was run elsewhere, from a file of any known format; tables among them."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

from surefoot.errors import InvalidArgument, refusing
from surefoot.inputs.outcomes import rows as outcomes
from surefoot.inputs.outcomes.inspect import read_inspect_archive, read_inspect_json
from surefoot.inputs.outcomes.junit import read_junit
from surefoot.inputs.outcomes.rows import ColumnNames, Meaning, Outcome, OutcomeFile, Remark
from surefoot.system.text import Json, first_again

_KNOWN: Mapping[str, tuple[str, ...]] = {
    "case": (
        "case", "case_id", "doc_id", "sample_id", "question_id", "task_id", "test_id", "test", "id",
        "name",
    ),
    "outcome": (
        "outcome", "result", "status", "passed", "pass", "correct", "is_correct", "success",
        "failed", "fail", "failure", "acc", "acc_norm", "exact_match", "pass@1",
    ),
    "by": ("class", "category"),
    "trials": ("trials",),
    "failed count": ("failures", "failed"),
    "passed count": ("passed", "passes", "successes"),
    "group": ("group", "groups"),
    "weight": ("weight", "weights", "sample_weight", "case_weight"),
}  # fmt: skip
"""The headings by which a column is known, the surest first; groups and weights are only noted."""
_LIKELY = frozenset((
    "answer", "grade", "graded", "judgement", "judgment", "label", "mark", "rating", "score",
    "scores", "verdict",
))  # fmt: skip
"""Words in a name of what may be the outcome: a refusal proposes it, and nothing reads it."""


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
        candidates = metrics or _KNOWN["outcome"]
        outcome = _column(where, names, "outcome", wanted.outcome, candidates)
        if not outcome:
            commas = "separate columns by commas, " if len(names) == 1 and ";" in names[0] else ""
            likely = next((n for n in names if not _LIKELY.isdisjoint(outcomes.parts_of(n))), "")
            such = f" {shlex.quote(likely)}, if it is that one" if likely else ""
            raise InvalidArgument(
                f"{where} has no column whose name says that it holds outcomes, among "
                f"{_listed(names)}: {commas}name it with outcome (--outcome{such}), or count in "
                "columns trials and failures"
            )
    case = _case(where, names, wanted.case, counted=bool(counts.trials))
    by = _column(where, names, "by", wanted.by, _KNOWN["by"])
    group = _column(where, names, "group", wanted.group, ())
    options: dict[str, str] = {}
    for option, column in (("case", case), ("outcome", outcome), ("by", by), ("group", group)):
        if column and column in options:  # a class that is the case would be one class for each
            raise InvalidArgument(
                f"{where}: the column {column} is both {options[column]} (--{options[column]}) and "
                f"{option} (--{option}); name different ones"
            )
        options[column] = option
    columns = Columns(case, outcome, counts.trials, counts.failed, counts.passed, group, by)
    return columns, [*_remarks(columns, wanted), *_unused(columns, names)]


def _remarks(columns: Columns, wanted: ColumnNames) -> list[Remark]:
    """What is read from where, and what was guessed."""
    each = "every counted trial" if columns.trials else "every row"
    case = f"the column {columns.case}" if columns.case else f"{each} is a case of its own"
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


def _unused(columns: Columns, names: Sequence[str]) -> list[Remark]:
    """Columns that are left out and would change the answer.

    One called group may mean two things, and one of them makes the interval too narrow; where some
    cases stand for more than others, the weighted rate is another one.
    """
    group, weight = (next(iter(_present(names, _KNOWN[role])), "") for role in ("group", "weight"))
    remarks = []
    if group and group not in (columns.group, columns.by):
        text = (
            f"the column {group} is not used; if cases of a group were sampled together, say "
            f"group={group} (--group {group}), and for a claim about each, by={group} "
            f"(--by {group})"
        )
        remarks.append(Remark("group", text, is_warning=True))
    if weight:
        text = (
            f"the column {weight} is not used: every case counts the same, so that no rate here is "
            "a weighted one; remove the column if that is what you want"
        )
        remarks.append(Remark("weight", text, is_warning=True))
    return remarks


def _case(where: str, names: Sequence[str], wanted: str | None, *, counted: bool) -> str:
    if wanted == outcomes.NO_COLUMN and outcomes.NO_COLUMN not in names:
        return ""
    case = _column(where, names, "case", wanted, ())
    if wanted is None:  # several are no contradiction
        case = next(iter(_present(names, _KNOWN["case"])), "")
    if not case and counted:
        raise InvalidArgument(
            f"{where} has counts, and no column says of which case: name it with case (--case), or "
            f"write {outcomes.NO_COLUMN} where no two trials are of the same case"
        )
    return case


def _counts(where: str, names: Sequence[str]) -> Columns:
    roles = ("trials", "failed count", "passed count")
    trials, failed, passed = (_present(names, _KNOWN[role]) for role in roles)
    if not trials:
        return Columns()
    if len(failed) > 1 or len(passed) > 1 or not failed + passed:
        raise InvalidArgument(
            f"{where} has a column {trials[0]}, and counts are read from one column failures or "
            f"passed beside it, not from {_listed([*failed, *passed]) or 'none'}: rename them"
        )
    return Columns(trials=trials[0], failed="".join(failed), passed="".join(passed))


def _column(
    where: str, names: Sequence[str], option: str, wanted: str | None, known: Sequence[str]
) -> str:
    """The column that the user named, else the only one of a known name; empty: there is none."""
    if wanted is not None and wanted not in names:
        near = get_close_matches(wanted, names, n=1)
        there = f"do you mean {near[0]}?" if near else f"choose one of {_listed(names)}"
        raise InvalidArgument(f"{option} (--{option}): {where} has no column {wanted!r}; {there}")
    present = [wanted] if wanted else _present(names, known)
    if len(present) > 1:
        raise InvalidArgument(
            f"{where} has the columns {' and '.join(present)}: name one with {option} "
            f"(--{option} {_choices(present)})"
        )
    return "".join(present)


def _present(names: Sequence[str], known: Sequence[str]) -> list[str]:
    """The columns of these names, in the order of `known`."""
    return [name for one in known for name in names if name.strip().lower() == one.lower()]


def _choices(names: Sequence[str], most: int = 12) -> str:
    return " or ".join([*map(shlex.quote, names[:most]), *["…"] * (len(names) > most)])


def _listed(names: Sequence[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


_OF_CASES = frozenset(("case", "doc", "id", "item", "prompt", "q", "qid", "question", "sample"))
"""Words in the name of a column that names the case."""
_PERHAPS_OF_CASES = frozenset((
    "document", "example", "file", "filename", "hash", "idx", "image", "img", "index", "input",
    "instance", "key", "name", "path", "problem", "query", "record", "scenario", "task", "test",
    "text", "uid", "url", "uuid",
))  # fmt: skip
"""Words of one that may; the same in every row, it names what all of them are of."""
_OF_TRIALS = frozenset((
    "attempt", "epoch", "iteration", "rep", "repeat", "repetition", "replicate", "round", "run",
    "seed", "trial", "try",
))  # fmt: skip
"""Words in the name of a column that numbers the trials of a case."""
_MAY_NUMBER_ROWS = ("id", "name", "test", "test_id")
"""Columns of cases, chosen by these names, that may number the rows instead."""
_ENDS = ("", "s", "es")
"""Of a plural."""


def check_repeats(
    where: str, columns: Columns, wanted: ColumnNames, rows: Sequence[Mapping[str, Json]]
) -> list[Remark]:
    """Refuse rows that are all different cases by default, where another column speaks against it.

    Another column that names cases and has a value twice, or that numbers trials and has several
    values. Where no column speaks against it, the remark says what was taken for granted.
    """
    if wanted.case is not None or columns.trials or len(rows) < 2:
        return []
    if columns.case and (
        columns.case.strip().lower() not in _MAY_NUMBER_ROWS
        or len(_values(rows, columns.case)) < len(rows)
    ):
        return []
    own = (columns.case, columns.outcome, columns.by, columns.group)
    for name in sorted(rows[0], key=lambda name: _has(name, _OF_TRIALS)):
        values = len(_values(rows, name))
        if name in own or not _may_repeat(name, values, len(rows), named=bool(columns.case)):
            continue
        each = columns.case or outcomes.NO_COLUMN
        different = "1 value" if values == 1 else f"{values:,} different values"
        numbers_trials = _has(name, _OF_TRIALS)
        cases = "the column of cases with case" if numbers_trials else f"it with case={name}"
        option = "--case" if numbers_trials else f"--case {name}"
        raise InvalidArgument(
            f"{where}: the column {name} has {different} in {len(rows):,} rows, so that rows may "
            f"be trials of the same case: name {cases} ({option}), or say case={each} "
            f"(--case {each}) if every row is a case of its own"
        )
    if columns.case:
        return []
    text = (
        "every row is taken for a case of its own; if some rows are of the same case, name the "
        "column of cases with case (--case)"
    )
    return [Remark("cases", text, is_warning=True)]


def _may_repeat(name: str, values: int, rows: int, *, named: bool) -> bool:
    """Whether a column with so many different values is a sign of several trials of a case.

    `named`: another column gives every row a name of its own, which may be a mere number.
    """
    if _has(name, _OF_TRIALS):
        return 1 < values < rows or (values == rows and not named)
    if _has(name, _OF_CASES):
        return values < rows
    return not named and _has(name, _PERHAPS_OF_CASES) and 1 < values < rows


def _has(name: str, words: frozenset[str]) -> bool:
    plain = {part.removesuffix(end) for part in outcomes.parts_of(name) for end in _ENDS}
    return not words.isdisjoint(plain)


def _values(rows: Sequence[Mapping[str, Json]], name: str) -> set[str]:
    return {str(row.get(name)).strip() for row in rows}


_MOST_COLUMNS = 10_000
"""Of a table: more than anybody names."""
_FILTER, _METRICS, _NUMBER, _HASH, _DOCUMENT = "filter", "metrics", "doc_id", "doc_hash", "doc"
"""Fields of lm-evaluation-harness: how an answer was extracted, what was scored, which document by
its number in the task, its digest and itself."""
_OF_TASK = re.compile(r"samples_(.+)_\d{4}-\d\d-\d\dT[\d.:-]+")
"""The names of its files."""
_DELIMITERS = {".tsv": "\t"}
"""By the end of the name; else a comma."""
Row = tuple[str, Mapping[str, Json]]


def read_csv(path: Path, wanted: ColumnNames) -> OutcomeFile:
    """A table with a header; one outcome a row, or counts of trials and failures."""
    text = io.StringIO(outcomes.read_text(path), newline="")
    with refusing(f"{path} cannot be read as CSV", "save it again", csv.Error):
        reader = csv.DictReader(text, delimiter=_DELIMITERS.get(path.suffix.lower(), ","))
        names = list(reader.fieldnames or ())
        if len(names) > _MOST_COLUMNS:
            raise InvalidArgument(
                f"{path} has {len(names):,} columns, more than {_MOST_COLUMNS:,}: keep those of "
                "case and outcome"
            )
        rows: list[Row] = [(f"{path}, line {reader.line_num}", row) for row in reader]
    if (twice := first_again(names)) is not None:
        raise InvalidArgument(f"{path} has two columns {names[twice]!r}: rename one")
    for place, row in rows:
        if None in row or None in row.values():
            raise InvalidArgument(
                f"{place}: the row has not as many cells as the header; fill it or remove it"
            )
    return _from_rows(path, names, rows, wanted)


def read_json_lines(path: Path, wanted: ColumnNames) -> OutcomeFile:
    """One JSON object a line: samples of lm-evaluation-harness, or any with such fields.

    Where a file holds several filters, `outcome` names metric and filter: exact_match,strict-match.
    """
    rows = [
        (f"{path}, line {number}", _object(path, number, line))
        for number, line in enumerate(outcomes.read_text(path).splitlines(), start=1)
        if line.strip()
    ]
    if not rows:
        raise InvalidArgument(
            f"{path} has no lines: a tally needs at least one outcome; give another file"
        )
    remarks = []
    first = rows[0][1]
    filters = list(dict.fromkeys(str(row[_FILTER]) for _, row in rows if _FILTER in row))
    metric, comma, chosen = (wanted.outcome or "").rpartition(",")
    if comma and chosen in filters and wanted.outcome not in first:
        rows = [(place, row) for place, row in rows if str(row.get(_FILTER)) == chosen]
        first, wanted = rows[0][1], replace(wanted, outcome=metric)
        remarks.append(Remark("filter", f"only answers under the filter {chosen}"))
    metrics = first.get(_METRICS)
    named = [m for m in metrics if isinstance(m, str)] if isinstance(metrics, list) else []
    if len(filters) > 1 and not remarks:  # two filters of an answer are not two trials
        choices = [f"{m},{one}" for m in named or ["exact_match"] for one in filters]
        raise InvalidArgument(
            f"{path} has each answer under the filters {' and '.join(filters)}: name metric and "
            f"filter with outcome (--outcome {_choices(choices)})"
        )
    return _from_rows(path, list(first), rows, wanted, named, remarks)


def _object(path: Path, number: int, line: str) -> Mapping[str, Json]:
    what, way_out = f"{path}, line {number} is not JSON", "write one object a line"
    with refusing(what, way_out, ValueError, RecursionError):
        value = json.loads(line)
    if not isinstance(value, dict):
        raise InvalidArgument(
            f"{path}, line {number} is {outcomes.shown(value)}: each line is one object; write one "
            "there"
        )
    return value


def _from_rows(
    path: Path,
    names: Sequence[str],
    rows: Sequence[Row],
    wanted: ColumnNames,
    metrics: Sequence[str] = (),
    remarks: Sequence[Remark] = (),
) -> OutcomeFile:
    columns, chosen = choose_columns(str(path), names, wanted, metrics)
    read = [
        outcome
        for number, (place, row) in enumerate(rows, start=1)
        for outcome in _outcomes(place, row, columns, str(number), wanted.meaning)
    ]
    meaning = outcomes.meaning_remarks(path, columns.outcome, read, wanted.meaning)
    repeats = check_repeats(str(path), columns, wanted, [row for _, row in rows])
    notes = [*remarks, *chosen, *meaning, *repeats]
    named = bool(columns.case)
    if columns.case == _NUMBER and wanted.case is None:
        # Refuse documents of which only the number is known twice: every task counts from 0.
        twice = first_again([row.name for row in read])
        if twice is not None and not all(row.content for row in read):
            raise InvalidArgument(
                f"{path}: {_NUMBER} {read[twice].name} is there twice, without a {_HASH} that says "
                "whether it is the same document: tally each task by itself, or say "
                f"case={_NUMBER} (--case {_NUMBER}) if the rows are trials of one case"
            )
    task = of_task[1] if (of_task := _OF_TASK.fullmatch(path.stem)) else ""
    return outcomes.outcome_file(
        path, read, notes, names_cases=named, task=task, reruns=wanted.reruns
    )


def _outcomes(
    place: str, row: Mapping[str, Json], columns: Columns, number: str, meaning: Meaning
) -> Iterator[Outcome]:
    """What a row says; counts of cases without names are that many cases."""
    case = _text(place, row, columns.case) if columns.case else number
    class_name = _text(place, row, columns.by) if columns.by else ""
    group = _text(place, row, columns.group) if columns.group else ""
    content = row.get(_HASH)
    if columns.case == _NUMBER and content is None and row.get(_DOCUMENT) is not None:
        text = json.dumps(row[_DOCUMENT], indent=2, ensure_ascii=False)  # as doc_hash is made
        content = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    more = (group, class_name, content if isinstance(content, str) else "", place)
    if not columns.trials:
        value = _value(place, row, columns.outcome)
        failed = outcomes.read_outcome(place, columns.outcome, value, meaning)
        said = outcomes.value_words(value, meaning)
        yield Outcome(case, int(bool(failed)), int(failed is not None), *more, said)
        return
    trials, failures = _counts_of_row(place, row, columns)
    if columns.case or not trials:
        yield Outcome(case, failures, trials, *more)
        return
    if trials > outcomes.MOST_CASES:
        raise InvalidArgument(
            f"{place}: {trials:,} cases are more than {outcomes.MOST_CASES:,}: take a random "
            "choice of them"
        )
    for i in range(trials):
        yield Outcome(f"{number}.{i + 1}", int(i < failures), 1, *more)


def _counts_of_row(place: str, row: Mapping[str, Json], columns: Columns) -> tuple[int, int]:
    """Trials and failures."""
    counts = {
        name: outcomes.whole_number(place, name, _value(place, row, name))
        for name in (columns.trials, columns.failed, columns.passed)
        if name
    }
    trials, passed = counts.pop(columns.trials), counts.get(columns.passed)
    failures = counts.get(columns.failed, trials - (passed or 0))
    if not 0 <= failures <= trials or (passed is not None and passed + failures != trials):
        given = " and ".join(f"{name} is {n}" for name, n in counts.items())
        raise InvalidArgument(
            f"{place}: {columns.trials} is {trials} and {given}; failures and passed trials must "
            "add up to the trials: correct one of them"
        )
    return trials, failures


def _text(place: str, row: Mapping[str, Json], column: str) -> str:
    """The name of a case, a class or a group."""
    value = _value(place, row, column)
    text = str(value).strip() if isinstance(value, str | int) else ""
    if text:
        return text
    raise InvalidArgument(f"{place}: {column} is {outcomes.shown(value)}; give it a name")


def _value(place: str, row: Mapping[str, Json], column: str) -> Json:
    if column in row:
        return row[column]
    raise InvalidArgument(f"{place} has no {column!r}, which the first line has: add it")


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
