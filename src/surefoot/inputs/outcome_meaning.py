"""What an outcome says: pass or fail in words, and what a 1 means in a column of this name."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidArgument
from surefoot.inputs.outcome_rows import Cut, Meaning, Outcome, Remark

PASS, FAIL, SKIP = "pass", "fail", "skip"
MEANINGS = (PASS, FAIL)
"""What a 1 may mean."""
WORD_MEANINGS = (PASS, FAIL, SKIP)
"""What a word may mean."""
_STATES = {PASS: "passed", FAIL: "failed", SKIP: "skipped"}
_SHOWN = 60
"""Characters of a value that a refusal repeats."""
_YES = ("1", "1.0", "true", "yes")
_NO = ("0", "0.0", "false", "no")
NUMBERS = (*_YES, *_NO)
"""Values that mean nothing without the name of their column."""
_PASSED = ("pass", "passed", "ok", "correct", "success", "c")
_FAILED = ("fail", "failed", "failure", "error", "incorrect", "wrong", "i")
_SKIPPED = ("skip", "skipped")
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


def word_of(value: Any) -> str:  # noqa: ANN401  of JSON
    """An outcome as it is compared and repeated: true, 1 and 1.0 stay what they are."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return "1" if value == 1 else "0" if value == 0 else repr(value)
    return value.strip().lower() if isinstance(value, str) else ""


def value_words(value: Any, meaning: Meaning) -> str:  # noqa: ANN401  of JSON
    """An outcome as a remark repeats it: of a number on which side of the cut it is."""
    word, cut, number = word_of(value), meaning.cut, _number(value)
    if cut is None or number is None or word in meaning.words:
        return word
    return _from_cut(cut) if number >= cut.at else _below_cut(cut)


def _from_cut(cut: Cut) -> str:
    return f"{cut.number} or more"


def _below_cut(cut: Cut) -> str:
    return f"below {cut.number}"


def _number(value: Any) -> float | None:  # noqa: ANN401  of JSON
    """A finite number, also as text; true and false are none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def read_outcome(place: str, column: str, value: Any, meaning: Meaning) -> bool | None:  # noqa: ANN401  of JSON
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
    if word in _SKIPPED:
        return None
    of_attackers = not _OF_ATTACKERS.isdisjoint(parts_of(column))
    if word in (*_PASSED, *_FAILED) and not of_attackers:
        return word in _FAILED
    if word in (*_YES, *_NO, *_PASSED, *_FAILED):
        plain = word in NUMBERS
        one = meaning.one or (meaning_of_one(column) if plain else "")
        if not one:
            raise InvalidArgument(
                f"{place}: {column} is {word}, which may mean either, and the name of the column "
                f"does not say it: say whether {'1' if plain else 'success'} is a passed or a "
                "failed case with one_means (--one-means pass, --one-means fail)"
                + (f"; {_OF_NUMBERS}" if plain else "")
            )
        return _is_yes(word) == (one == FAIL)
    raise InvalidArgument(
        f"{place}: {column} is {shown(value)}; write pass or fail, 1 or 0, true or false, or "
        f"skipped{_say_it(word, number)}"
    )


def _say_it(word: str, number: float | None) -> str:
    """How to say what this value means."""
    if number is not None:
        return f"; {_OF_NUMBERS}"
    if not word or len(word) > _SHOWN or any(sign in word for sign in ",="):
        return ""
    options = ", ".join(f"--means {shlex.quote(f'{word}={meant}')}" for meant in MEANINGS)
    return f"; or say whether it is a passed or a failed case with means ({options})"


def _is_yes(word: str) -> bool:
    return word in _YES or word in _PASSED


def meaning_remarks(
    path: Path, column: str, rows: Iterable[Outcome], meaning: Meaning
) -> list[Remark]:
    """What values were read as; where the user says something of none, it is refused or noted."""
    values = {row.value for row in rows}
    return [
        *_one_remarks(path, column, values.difference(meaning.words), meaning.one),
        *_word_remarks(column, values, meaning.words),
        *_cut_remarks(path, column, values, meaning.cut),
    ]


def _word_remarks(column: str, values: set[str], words: Mapping[str, str]) -> list[Remark]:
    if not words:
        return []
    said = ", ".join(f"{word} = {_STATES[meant]}" for word, meant in words.items())
    remarks = [Remark("meaning", f"{said}, as means (--means) says")]
    unused = [word for word in words if word not in values]
    if unused:
        text = f"no outcome is {' or '.join(unused)}, of which means (--means) speaks"
        remarks.append(Remark("meaning", text, is_warning=True))
    known = {**dict.fromkeys(_PASSED, PASS), **dict.fromkeys(_FAILED, FAIL)}
    known |= dict.fromkeys(_SKIPPED, SKIP)
    if not _OF_ATTACKERS.isdisjoint(parts_of(column)):
        return remarks
    return remarks + [
        Remark("meaning", f"{word} = {_STATES[meant]}, though it is usually {usual}", True)
        for word, meant in words.items()
        if (usual := _STATES[known.get(word, meant)]) != _STATES[meant]
    ]


def _cut_remarks(path: Path, column: str, values: set[str], cut: Cut | None) -> list[Remark]:
    if cut is None:
        return []
    if values.isdisjoint((_from_cut(cut), _below_cut(cut))):
        raise InvalidArgument(
            f"{cut.option} {cut.number}: {path} has no outcome that is a number; leave it out"
        )
    by_name = meaning_of_one(column)
    text = f"{_from_cut(cut)} in column {column} = {_STATES[cut.above]}, as {cut.option} says"
    given = Remark("meaning", text)
    if by_name in ("", cut.above):
        return [given]
    return [given, Remark("meaning", f"{text}, though its name says {_STATES[by_name]}", True)]


def _one_remarks(path: Path, column: str, values: set[str], one_means: str | None) -> list[Remark]:
    """What a 1 was read as, where it was read; `one_means` without any such value is refused."""
    of_attackers = not _OF_ATTACKERS.isdisjoint(parts_of(column))
    read = values.intersection((*NUMBERS, *_PASSED, *_FAILED) if of_attackers else NUMBERS)
    if not read and one_means is not None:
        raise InvalidArgument(
            f"one_means (--one-means) {one_means}: {path} has no outcome that is 1 or 0, true or "
            "false; leave it out"
        )
    if not read:
        return []
    by_name = meaning_of_one(column)
    text = f"1 in column {column} = {_STATES[one_means or by_name]}"
    if one_means is None:
        return [Remark("meaning", text)]
    given = Remark("meaning", f"{text}, as one_means (--one-means) says")
    if by_name in ("", one_means):
        return [given]
    against = f"{given.text}, though its name says {_STATES[by_name]}"
    return [given, Remark("meaning", against, is_warning=True)]


def shown(value: object) -> str:
    """A value in a refusal, not longer than a line."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
