"""A model that may change while it is studied: what claims assume, and the check at the end.

Two optional capabilities of a model: `assumption`, in words, and `check_unchanged()`, which raises
`ModelChanged`. A model without them is asked about clean inputs again.
"""

from __future__ import annotations

from typing import Any

from surefoot.conclude.stability import assuming
from surefoot.core.claims import Claim
from surefoot.core.counts import Counts
from surefoot.core.tasks import Subject, Task
from surefoot.engine.outputs import LARGEST_DIFFERENCE, clean_outputs, largest_difference
from surefoot.errors import ModelChanged, ReplayMismatch, StoreFailed
from surefoot.store import Journal
from surefoot.study.setup import Setup
from surefoot.subject.protocols import Model, Outputs

_CHANGED = Subject("(the model changed during this run)", (0,))
"""Names an entry of a journal whose evidence may be that of two models: it is not used again."""
_SAMPLE = 64
"""Clean inputs that the model is asked about at the end, at most: one small batch."""


def with_assumption(claims: tuple[Claim, ...], model: Model) -> tuple[Claim, ...]:
    """The claims of a run, with what they take for granted about the model."""
    return assuming(claims, getattr(model, "assumption", ""))


def first_answers(study: Setup) -> Outputs | None:
    """What the model says of a few clean inputs; None where it checks itself at the end."""
    if hasattr(study.model, "check_unchanged"):
        return None
    rows = _rows(study)
    return (
        study.clean[rows] if study.has_classes else clean_outputs(study.model, study.fitted.x[rows])
    )


def check_unchanged(study: Setup, first: Outputs | None) -> None:
    """Whether the model is still the one that the run began with; raises `ModelChanged`."""
    if first is None:
        model: Any = study.model
        model.check_unchanged()
        return
    now = clean_outputs(study.model, study.fitted.x[_rows(study)])
    if largest_difference(first, now) > LARGEST_DIFFERENCE:
        raise ModelChanged(
            "the model changed during the run: it answers clean inputs otherwise than at the "
            "start, so no result is recorded; let its answers depend on its input alone (no "
            "counters, no random numbers, evaluation mode), and use another store (--store)"
        )


def mark_changed(journal: Journal) -> None:
    """Evidence that may be that of two models: no later run uses it."""
    journal.append([(Task(_CHANGED, 0.0, 0, 1), Counts(1, 0))])


def if_changed_before(error: ReplayMismatch) -> Exception:
    """The error of a run that goes on with such evidence; else the error itself."""
    if _CHANGED.name not in str(error):
        return error
    return StoreFailed(
        "the model changed during an earlier run of this study, so its trials cannot be used: "
        "use another store (store=, --store)"
    )


def _rows(study: Setup) -> slice:
    """A few inputs, all over the data."""
    return slice(None, None, -(-len(study.fitted) // _SAMPLE))
