"""What an outcome says: pass or fail in words, and what a 1 means in a column of this name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidArgument
from surefoot.inputs.outcome_rows import Outcome, Remark

PASS, FAIL = "pass", "fail"
MEANINGS = (PASS, FAIL)
"""What a 1 may mean."""
_STATES = {PASS: "passed", FAIL: "failed"}
_SHOWN = 60
"""Characters of a value that a refusal repeats."""
_YES = ("1", "1.0", "true", "yes")
_NO = ("0", "0.0", "false", "no")
NUMBERS = (*_YES, *_NO)
"""Values that mean nothing without the name of their column."""
_PASSED = ("pass", "passed", "ok", "correct", "success", "c")
_FAILED = ("fail", "failed", "failure", "error", "incorrect", "wrong", "i")
_SKIPPED = ("skip", "skipped")


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


def read_outcome(place: str, column: str, value: Any, one_means: str | None = None) -> bool | None:  # noqa: ANN401  of JSON
    """Whether it failed; None where it was skipped. Anything else is refused.

    Words mean the same in every column but those about an attack; what 1 and true mean is
    `one_means`, else what the name of the column says, and where it says nothing it is refused.
    """
    word = word_of(value)
    if word in _SKIPPED:
        return None
    of_attackers = not _OF_ATTACKERS.isdisjoint(parts_of(column))
    if word in (*_PASSED, *_FAILED) and not of_attackers:
        return word in _FAILED
    if word in (*_YES, *_NO, *_PASSED, *_FAILED):
        plain = word in NUMBERS
        meaning = one_means or (meaning_of_one(column) if plain else "")
        if not meaning:
            raise InvalidArgument(
                f"{place}: {column} is {word}, which may mean either, and the name of the column "
                f"does not say it: say whether {'1' if plain else 'success'} is a passed or a "
                "failed case with one_means (--one-means pass, --one-means fail)"
            )
        return _is_yes(word) == (meaning == FAIL)
    raise InvalidArgument(
        f"{place}: {column} is {shown(value)}; write pass or fail, 1 or 0, true or false, or "
        "skipped"
    )


def _is_yes(word: str) -> bool:
    return word in _YES or word in _PASSED


def meaning_remarks(
    path: Path, column: str, rows: Iterable[Outcome], one_means: str | None
) -> list[Remark]:
    """What a 1 was read as, where it was read; `one_means` without any such value is refused."""
    of_attackers = not _OF_ATTACKERS.isdisjoint(parts_of(column))
    read = {row.value for row in rows}.intersection(
        (*NUMBERS, *_PASSED, *_FAILED) if of_attackers else NUMBERS
    )
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
