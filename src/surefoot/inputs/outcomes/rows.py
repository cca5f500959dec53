"""Outcomes of a test that was run elsewhere: what a file of them holds, whatever its format."""

from __future__ import annotations

import math
import re
import shlex
import stat
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from surefoot.errors import InvalidArgument, refusing
from surefoot.population.groups import copies, copies_note
from surefoot.system.text import Json

NO_COLUMN = "none"
"""As the name of the column of cases: every row is a case of its own, and every counted trial."""
MOST_CASES = 200_000
"""Cases of one file: `--json` lists every one of them, in some 100 megabytes."""
MOST_BYTES = 256 * 2**20
"""Of a file, and of what is unpacked from it at once: its text is held in memory."""
PART_OF_CONTENT = "…"
"""Ends a content that names the beginning of a case alone."""
_MOST_DIGITS = 9
"""Of a count: more than anybody has run."""
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
    def sides(self) -> tuple[str, str]:
        """What a number is called that lies from it on, and one that lies below it."""
        return f"{self.number} or more", f"below {self.number}"

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

    `by` is the class of each case, `group` the group that was sampled as a whole; `reruns` one of
    `RERUNS`, None where the outcomes say whether cases were run again since they failed.
    """

    case: str | None = None
    outcome: str | None = None
    group: str | None = None
    by: str | None = None
    meaning: Meaning = Meaning()
    reruns: str | None = None


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
class Outcome(Case):
    """Trials of one case in one row; none where the row says that the case was skipped.

    `place` names the row in a refusal. `content` names the contents of the case, where the file
    does: the same name with other contents is another case. `value` is what the row says; empty
    where it counts. `rerun`: the file says that the case was run again since it failed.
    """

    place: str = ""
    value: str = ""
    rerun: bool = False


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
    reruns: str | None = None,
) -> OutcomeFile:
    """The rows gathered by case; skipped ones are left out and counted in a remark."""
    every, run_again = _attempts(list(rows), reruns)
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
    trials = sorted(case.trials for case in cases)
    each = f"{trials[0]:,}" if trials[0] == trials[-1] else f"{trials[0]:,} to {trials[-1]:,}"
    of_each = f"{each} {'trial' if each == '1' else 'trials'} of each"
    noun = "case" if len(cases) == 1 else "cases"
    extent = f"{len(every):,} {_rows(len(every))}, {len(cases):,} {noun}, {of_each}"
    notes = [*remarks, *_values(every), Remark("rows", extent), *run_again]
    if skipped:
        were = "1 row was skipped and is" if skipped == 1 else f"{skipped:,} rows were skipped, and"
        left = f"{were}{'' if skipped == 1 else ' are'} left out: nothing is said of such cases"
        notes.append(Remark("skipped", left, is_warning=True))
    # Cases that the file itself calls the same.
    whole = [c for c in cases if c.content and not c.content.endswith(PART_OF_CONTENT)]
    found = copies([case.content for case in whole], [case.group for case in whole])
    if found.narrows:
        notes.append(Remark("copies", copies_note(found, "case"), is_warning=True))
    classes = tuple(sorted({row.class_name for row in every if row.class_name}))
    return OutcomeFile(path, cases, tuple(notes), names_cases, task, classes)


FIRST, LAST, ALL = RERUNS = ("first", "last", "all")
"""Which attempts count of a case that was run again since it failed."""
_BY_CHANCE = 0.01
"""Below this probability, that cases with more trials failed at first is no accident."""


def _attempts(rows: list[Outcome], reruns: str | None) -> tuple[list[Outcome], list[Remark]]:
    """The rows that count, where some cases were run again since they failed.

    Tests are run until they pass: then the number of trials depends on the outcomes, and a mean
    over them is too good. First attempts are sound under every rule of running again.
    """
    trials: dict[str, list[Outcome]] = {}
    for row in rows:
        trials.setdefault(row.name, []).extend([row] if row.trials else [])
    ran = [own for own in trials.values() if own]
    counts = next((row for row in rows if row.trials > 1), None)
    if counts and reruns in (FIRST, LAST):
        raise InvalidArgument(
            f"reruns (--reruns) {reruns}: {counts.place} counts {counts.trials:,} trials and does "
            "not say in which order: write one trial a row, or leave it out"
        )
    if reruns is None and not counts and _depends_on_first(ran):
        reruns = FIRST
    if reruns in (None, ALL) or all(len(own) == 1 for own in ran):
        return rows, []
    kept = {id(own[0 if reruns == FIRST else -1]) for own in ran}
    again = [own for own in ran if len(own) > 1 and own[0].failed]
    were = "1 case that failed was" if len(again) == 1 else f"{len(again):,} cases that failed were"
    text = (
        f"{were} run again, and {sum(not own[-1].failed for own in again):,} passed then; each "
        f"case counts by its {reruns} attempt "
        f"(otherwise: --reruns {' or '.join(one for one in RERUNS if one != reruns)})"
    )
    counted = [row for row in rows if not row.trials or id(row) in kept]
    return counted, [Remark("run again", text, is_warning=True)]


def _depends_on_first(cases: Sequence[Sequence[Outcome]]) -> bool:
    """Whether cases have more trials than others since they failed at first."""
    from scipy.stats import hypergeom

    if any(row.rerun for own in cases for row in own):
        return True
    fewest = min(map(len, cases), default=0)
    more = [own for own in cases if len(own) > fewest]
    failed_more, failed = (sum(own[0].failed for own in which) for which in (more, cases))
    if not more or failed_more == len(more):
        return bool(more)
    return float(hypergeom.sf(failed_more - 1, len(cases), failed, len(more))) < _BY_CHANCE


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


def _rows(count: int) -> str:
    return "row" if count == 1 else "rows"


def _gathered(rows: Iterable[Outcome]) -> tuple[Case, ...]:
    cases: dict[str, Case] = {}
    for row in rows:
        begun = Case(row.name, 0, 0, row.group, row.class_name, row.content)
        known = cases.setdefault(row.name, begun)
        for what, mine, other in (
            ("group", row.group, known.group),
            ("class", row.class_name, known.class_name),
            ("content", row.content, known.content),
        ):
            if mine != other:
                raise InvalidArgument(
                    f"{row.place}: case {row.name} has the {what} {mine!r}, and {other!r} in a row "
                    "above: name the column in which every case has a name of its own (--case)"
                )
        cases[row.name] = replace(
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
    way_out = "save it as UTF-8 text"
    with refusing(f"{path} cannot be read", way_out, OSError, UnicodeDecodeError):
        return path.read_text(encoding="utf-8-sig")


PASS, FAIL, SKIP = "pass", "fail", "skip"
MEANINGS = (PASS, FAIL)
"""What a 1 may mean."""
WORD_MEANINGS = (PASS, FAIL, SKIP)
"""What a word may mean."""
_STATES = {PASS: "passed", FAIL: "failed", SKIP: "skipped"}
_SHOWN = 60
"""Characters of a value that a refusal repeats."""
_KNOWN_WORDS = {
    **dict.fromkeys(("pass", "passed", "ok", "correct", "success", "c"), PASS),
    **dict.fromkeys(("fail", "failed", "failure", "error", "incorrect", "wrong", "i"), FAIL),
    **dict.fromkeys(("skip", "skipped"), SKIP),
}
"""What a word means, in every column but those about an attack."""
_ONES = {
    **dict.fromkeys(("1", "1.0", "true", "yes"), True),
    **dict.fromkeys(("0", "0.0", "false", "no"), False),
}
"""Values that mean nothing without the name of their column: whether each is a 1."""
_OF_NUMBERS = (
    "of scores say from which on a case passes or fails, with passes_at (--passes-at 0.5) or "
    "fails_at (--fails-at 0.5)"
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PASSING = _words(
    "acc accuracy correct correctly correctness em exact f1 good iscorrect match matched matches "
    "ok okay pass passed passes passing resolved robust safe solved succeed succeeded success "
    "successes successful valid"
)
_FAILING = _words(
    "bad broken crash crashed crashes err error errors fail failed failing fails failure failures "
    "fault faulty hallucinated hallucination incorrect incorrectly invalid jailbroken "
    "misclassification misclassified mislabeled mislabelled mismatch mismatched mispredicted "
    "misprediction missed mistake mistaken mistakes unresolved unsafe unsolved unsuccessful "
    "violated violation wrong wrongly"
)
_NEGATIONS = _words("no non not never without isnt wasnt didnt")
_BEFORE = _words(
    "answer case did final had has inst is item level loose model output overall prediction "
    "prompt question quasi response result run sample strict task test the was were"
)
"""Parts before the word that say nothing of their own; answer_correct, but not correct_answer."""
_AFTER = _words("at bytes flag flexible info k loose mutual norm score strict")
"""Parts after it: acc_norm, pass_at_1."""
_OF_ATTACKERS = _words(
    "adversarial asr attack attacker attacks exploit injection jailbreak jailbreaks jailbroken "
    "redteam"
)
"""Where these stand in the name, success may be the attacker's."""


def parts_of(name: str) -> list[str]:
    """The words of a name: is_correct, isCorrect and "is correct" are the same."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.findall(r"[^\W_]+", apart.lower())


def meaning_of_one(name: str) -> str:
    """`pass` or `fail`, where every word of the name is known and none contradicts another.

    Anything else is empty: error_free, attack_success and correct_answer are not what one of
    their words says.
    """
    senses: set[str] = set()
    negated = False
    for part in parts_of(name):
        if part in _NEGATIONS and not negated:
            negated = True
        elif part in _BEFORE and not senses and not negated:
            continue
        elif part in _PASSING or part in _FAILING:
            senses.add(PASS if (part in _PASSING) != negated else FAIL)
            negated = False
        elif negated or not senses or not (part in _AFTER or part.isdecimal()):
            return ""
    return senses.pop() if len(senses) == 1 and not negated else ""


def word_of(value: Json) -> str:
    """An outcome as it is compared and repeated: true, 1 and 1.0 stay what they are."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return "1" if value == 1 else "0" if value == 0 else repr(value)
    return value.strip().lower() if isinstance(value, str) else ""


def value_words(value: Json, meaning: Meaning) -> str:
    """An outcome as a remark repeats it: of a number on which side of the cut it is."""
    word, cut, number = word_of(value), meaning.cut, _number(value)
    if cut is None or number is None or word in meaning.words:
        return word
    return cut.sides[0 if number >= cut.at else 1]


def _number(value: Json) -> float | None:
    """A finite number, also as text; true and false are none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def read_outcome(place: str, column: str, value: Json, meaning: Meaning) -> bool | None:
    """Whether it failed; None where it was skipped. Anything else is refused.

    What the user says of a word or of numbers goes first. Else words mean the same in every column
    but those about an attack; what 1 and true mean is what the user says, else what the name of
    the column says, and where it says nothing it is refused.
    """
    word, number = word_of(value), _number(value)
    if word in meaning.words:
        said = meaning.words[word]
        return None if said == SKIP else said == FAIL
    if meaning.cut is not None and number is not None:
        return (number >= meaning.cut.at) == (meaning.cut.above == FAIL)
    usual, plain = _KNOWN_WORDS.get(word), word in _ONES
    if usual == SKIP:
        return None
    if usual and not _is_of_attackers(column):
        return usual == FAIL
    if usual or plain:
        one = meaning.one or (meaning_of_one(column) if plain else "")
        if not one:
            raise InvalidArgument(
                f"{place}: {column} is {word}, which may mean either, and the name of the column "
                f"does not say it: say whether {'1' if plain else 'success'} is a passed or a "
                "failed case with one_means (--one-means pass, --one-means fail)"
                + (f"; {_OF_NUMBERS}" if plain else "")
            )
        return _ONES.get(word, usual == PASS) == (one == FAIL)
    say_it = ""
    if number is not None:
        say_it = f"; {_OF_NUMBERS}"
    elif word and len(word) <= _SHOWN and not any(sign in word for sign in ",="):
        options = ", ".join(f"--means {shlex.quote(f'{word}={meant}')}" for meant in MEANINGS)
        say_it = f"; or say whether it is a passed or a failed case with means ({options})"
    raise InvalidArgument(
        f"{place}: {column} is {shown(value)}; write pass or fail, 1 or 0, true or false, or "
        f"skipped{say_it}"
    )


def _is_of_attackers(column: str) -> bool:
    return not _OF_ATTACKERS.isdisjoint(parts_of(column))


def meaning_remarks(
    path: Path, column: str, rows: Iterable[Outcome], meaning: Meaning
) -> list[Remark]:
    """What values were read as; where the user says something of none, it is refused or noted."""
    values = {row.value for row in rows}
    words, cut = meaning.words, meaning.cut
    by_name, of_attackers = meaning_of_one(column), _is_of_attackers(column)
    remarks: list[Remark] = []

    def note(what: str, meant: str, option: str) -> None:
        text = f"{what} in column {column} = {_STATES[meant]}, as {option} says"
        remarks.append(Remark("meaning", text))
        if by_name not in ("", meant):
            against = f"{text}, though its name says {_STATES[by_name]}"
            remarks.append(Remark("meaning", against, is_warning=True))

    ones = {word for word, meant in _KNOWN_WORDS.items() if of_attackers and meant != SKIP}
    read = values.intersection(ones.union(_ONES)).difference(words)
    if meaning.one is not None:
        if not read:
            raise InvalidArgument(
                f"one_means (--one-means) {meaning.one}: {path} has no outcome that is 1 or 0, "
                "true or false; leave it out"
            )
        note("1", meaning.one, "one_means (--one-means)")
    elif read:
        remarks.append(Remark("meaning", f"1 in column {column} = {_STATES[by_name]}"))
    if words:
        said = ", ".join(f"{word} = {_STATES[meant]}" for word, meant in words.items())
        remarks.append(Remark("meaning", f"{said}, as means (--means) says"))
    unused = [word for word in words if word not in values]
    if unused:
        text = f"no outcome is {' or '.join(unused)}, of which means (--means) speaks"
        remarks.append(Remark("meaning", text, is_warning=True))
    remarks += [
        Remark("meaning", f"{word} = {_STATES[meant]}, though it is usually {_STATES[usual]}", True)
        for word, meant in words.items()
        if (usual := _KNOWN_WORDS.get(word, meant)) != meant and not of_attackers
    ]
    if cut is not None:
        if values.isdisjoint(cut.sides):
            raise InvalidArgument(
                f"{cut.option} {cut.number}: {path} has no outcome that is a number; leave it out"
            )
        note(cut.sides[0], cut.above, cut.option)
    return remarks


def field_remarks(wanted: ColumnNames, words: str) -> list[Remark]:
    """Where class and group come from; {} in `words` is the name of the field."""
    named = (("class", wanted.by), ("group", wanted.group))
    return [Remark(name, words.format(key)) for name, key in named if key is not None]


def whole_number(place: str, name: str, value: Json) -> int:
    """A count; anything else is refused."""
    text = str(value).strip()
    plain = isinstance(value, str | int) and not isinstance(value, bool)
    if plain and text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS:
        return int(text)
    raise InvalidArgument(f"{place}: {name} is {shown(value)}; write a whole number, such as 10")


def shown(value: object) -> str:
    """A value in a refusal, not longer than a line."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
