"""A model that may change while it is studied: what claims assume, and the check at the end.

Two optional capabilities of a model: `assumption`, in words, and `check_unchanged()`, which raises
`ModelChanged`. A model in a file or in memory has neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from surefoot.claims import MODEL_UNCHANGED, Claim
from surefoot.errors import ModelChanged, StoreFailed
from surefoot.evidence import Counts
from surefoot.results import Footing
from surefoot.store import Journal
from surefoot.store.records import Record
from surefoot.subject import Model
from surefoot.tasks import Subject, Task

_CHANGED = Subject("(the model changed during this run)", (0,))
"""Names an entry of a journal whose evidence may be that of two models: it is not used again."""


def with_assumption(claims: tuple[Claim, ...], model: Model) -> tuple[Claim, ...]:
    """The claims of a run, with what they take for granted about the model."""
    return assuming(claims, getattr(model, "assumption", ""))


def as_in_records(claims: tuple[Claim, ...], records: Iterable[Record]) -> tuple[Claim, ...]:
    """Claims that follow from these records, with what those take for granted about a model."""
    known = {a for r in records for claim in r.claims for a in claim.guarantee.assumptions}
    return assuming(claims, MODEL_UNCHANGED if MODEL_UNCHANGED in known else "")


def refuse_changed(model: Model, journal: Journal) -> None:
    """Refuse to go on with evidence of a run during which the model changed."""
    if _check_of(model) is not None and _CHANGED.name in journal.replay():
        raise StoreFailed(
            "the model changed during an earlier run of this study, so its trials cannot be used: "
            "use another store (store=, --store)"
        )


def check_unchanged(model: Model, journal: Journal) -> None:
    """Ask the model whether it is still the one that the run began with."""
    check = _check_of(model)
    if check is None:
        return
    try:
        check()
    except ModelChanged:
        journal.append([(Task(_CHANGED, 0.0, 0, 1), Counts(1, 0))])
        raise


def _check_of(model: Model) -> Callable[[], None] | None:
    check: Callable[[], None] | None = getattr(model, "check_unchanged", None)
    return check


def assuming(claims: tuple[Claim, ...], text: str) -> tuple[Claim, ...]:
    """The claims, if this holds too; nothing is added where it is empty."""
    return tuple(_conditional(claim, text) for claim in claims) if text else claims


def _conditional(claim: Claim, text: str) -> Claim:
    """The claim, if the text holds too; one that promises nothing stays as it is."""
    own = claim.guarantee
    promises = own.footing is not Footing.NONE or claim.kind == "tail"
    if not promises or text in own.assumptions:
        return claim
    footing = Footing.CONDITIONAL if own.footing is Footing.SOUND else own.footing
    changed = replace(own, footing=footing, assumptions=(*own.assumptions, text))
    return replace(claim, guarantee=changed)
