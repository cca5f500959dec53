"""Claims that a file states against those that follow: one check for each."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import is_dataclass
from typing import Any

from surefoot.core.claims import Claim
from surefoot.evidence.answers import Check, Status
from surefoot.evidence.differences import first_difference
from surefoot.records.json_records import plain_numbers
from surefoot.report.sentences import sentence

BROKEN = (
    *(ArithmeticError, LookupError, TypeError, ValueError),
    *(AttributeError, RuntimeError, StopIteration),
)
"""What a method raises whose options or evidence no run can have."""


def compare_claims(stated: Sequence[Claim], computed: Sequence[Claim]) -> list[Check]:
    """Each claim against the one that the journal leads to; one that is left out is named."""
    left, checks = dict(enumerate(computed)), []
    places: dict[object, deque[int]] = defaultdict(deque)
    for place, one in left.items():
        places[_question(one)].append(place)
    for claim in stated:
        answers = places.get(_question(claim))
        if not answers:
            reason = "no such claim follows from this study"
            checks.append(Check(Status.REFUTED, claim_words(claim), reason))
            continue
        own = left.pop(answers.popleft())
        different = first_difference(plain(claim), plain(own))
        if different is None:
            checks.append(Check(Status.FOLLOWS, claim_words(claim)))
            continue
        instead = claim_words(own)
        reason = f"its {different} is another"
        if instead != claim_words(claim):
            reason = f"{reason}; what follows is: {instead}"
        checks.append(Check(Status.REFUTED, claim_words(claim), reason))
    reason = "it follows from the journal, but the file leaves it out"
    return checks + [Check(Status.REFUTED, claim_words(claim), reason) for claim in left.values()]


def claim_words(claim: Claim) -> str:
    """The claim as a sentence; one that no run makes by its kind and quantity."""
    try:
        return sentence(claim)
    except BROKEN:
        return f"{claim.kind}: {claim.quantity}"


def plain(value: Any) -> Any:  # noqa: ANN401  a dataclass
    """Its fields as JSON has them."""
    if is_dataclass(value):
        return {field: plain(getattr(value, field)) for field in value.__dataclass_fields__}
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return plain_numbers(value)


def _question(claim: Claim) -> tuple[object, ...]:
    names = () if claim.kind == "best" else claim.names  # of the best they are the answer
    return claim.kind, claim.about.of, claim.about.name, names, claim.quantity, claim.limit
