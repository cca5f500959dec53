"""What a file says of its inputs and classes, compared with model and data."""

from __future__ import annotations

import math
from collections.abc import Mapping

from surefoot.engine.outputs import ROUNDING
from surefoot.evidence.answers import Check, Status
from surefoot.evidence.statement import Evidence
from surefoot.recheck.words import why_else
from surefoot.records.record import Curves, InputRow, Samples
from surefoot.study.clean_loss import clean_loss
from surefoot.study.curve_run import WHOLE, subjects_of
from surefoot.study.study import Study


def compare_inputs(study: Study, evidence: Evidence) -> Check:
    """Whether the rows of a file have the labels and groups of the data, and what the model says.

    Of a curve, which has no rows of inputs: whether its classes are those of the data.
    """
    details = evidence.record.details
    if isinstance(details, Curves):
        return _compare_classes(study, details)
    rows = evidence.record.inputs
    places = {name: i for i, name in enumerate(study.fitted.ids)}
    strange = [row.id for row in rows if not _is_of_data(study, row, places)]
    if strange:
        return Check(
            Status.REFUTED,
            f"No: {len(strange):,} of {len(rows):,} inputs of the file have another label or group "
            f"in the data, or are not in them; the first is {strange[0]}.",
        )
    other = [row.id for row in rows if not _is_of_model(study, row, places[row.id])]
    if other:
        return Check(
            Status.REFUTED,
            f"No: of {len(other):,} of {len(rows):,} clean inputs the model says something else "
            f"than the file, the first is {other[0]}.",
            why_else(evidence),
        )
    if _is_other_loss(study, evidence):
        words = "No: the clean loss of the model is another than in the file."
        return Check(Status.REFUTED, words, why_else(evidence))
    return Check(
        Status.FOLLOWS,
        f"Of all {len(rows):,} clean inputs the model says what the file says that it does.",
    )


def _is_other_loss(study: Study, evidence: Evidence) -> bool:
    """Whether the file states a clean loss that rounding does not explain."""
    details = evidence.record.details
    stated = details.clean_loss if isinstance(details, Samples) else None
    if stated is None:
        return False
    here = clean_loss(study)
    if here is None or (here.inputs, here.infinite) != (stated.inputs, stated.infinite):
        return True
    if here.mean is None or stated.mean is None:
        return here.mean is not stated.mean
    return not math.isclose(here.mean, stated.mean, rel_tol=ROUNDING, abs_tol=ROUNDING)


def _is_of_data(study: Study, row: InputRow, places: Mapping[str, int]) -> bool:
    if row.id not in places:
        return False
    inputs, place = study.fitted, places[row.id]
    label = None if inputs.labels is None else int(inputs.labels[place])
    group = inputs.groups[place] if inputs.groups else ""
    return (row.label, row.group) == (label, group)


def _is_of_model(study: Study, row: InputRow, place: int) -> bool:
    labelled = study.has_classes and row.predicted is not None
    if labelled and row.predicted != int(study.predicted[place]):
        return False
    return row.clean_kept is None or row.clean_kept == bool(study.clean_kept[place])


def _compare_classes(study: Study, details: Curves) -> Check:
    named = [(n, len(s.rows)) for n, s in subjects_of(study).items() if n != WHOLE]
    if named != [(row.name, row.inputs) for row in details.classes]:
        return Check(Status.REFUTED, "No: the classes of the file are not those of the data.")
    of = f"the {len(named):,} classes and all inputs" if named else "all inputs"
    return Check(Status.FOLLOWS, f"The curves are those of {of} of these data.")
