"""Whether a model fails at most so much more often than others, on the same inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from surefoot.claims import About, Claim
from surefoot.errors import InvalidArgument
from surefoot.population import not_worse
from surefoot.results import Decision
from surefoot.store.records import Record, Samples
from surefoot.study.class_groups import sampled_of
from surefoot.study.model_stability import as_in_records
from surefoot.study.record_population import (
    continues_of,
    identical_pairs,
    population_of,
    rows_by_id,
)
from surefoot.study.sampling_claims import NO_GUARANTEE, verdict_of


def not_worse_claim(parts: Mapping[str, Record], name: str, margin: float, error: float) -> Claim:
    """The verdict on one of several models, one-sided, spending `error`."""
    first = next(iter(parts.values()))
    over: Any = replace(population_of(first), error=error)  # type: ignore[type-var]
    local = {other: sampled_of(rows_by_id(part)) for other, part in parts.items()}
    continues = continues_of(over, local[name])
    decided = not_worse(over, local, name, margin, identical_pairs(parts), continues)
    verdict, reason = verdict_of(decided)
    model = next(c for c in first.claims if c.about.of is About.POPULATION)
    guarantee = decided.guarantee if isinstance(decided, Decision) else NO_GUARANTEE
    return Claim(
        "not_worse",
        replace(model.about, inputs=len(first.inputs)),
        model.random,
        model.quantity,
        guarantee,
        continues,
        limit=model.limit,
        requirement=margin,
        verdict=verdict,
        names=(name, *(other for other in parts if other != name)),
        reason=reason,
        trials=sum(part.trials for part in parts.values()),
    )


def not_worse_than(
    record: Record, earlier: Record, *, names: tuple[str, str], margin: float, error: float
) -> Claim:
    """The verdict on a model against an earlier one, from their runs on the same inputs.

    Each input's estimate is unbiased, or bounded with a stated error, whatever the width and the
    error of the method were, so the differences input by input are a sample of differences of the
    population. With the same seed both met the same perturbations, which makes the interval
    shorter; with another it holds as well. `names` are how the claim calls the two.
    """
    mine, theirs = _different_names(*names)
    _check_same_question(record, earlier, theirs)
    claim = not_worse_claim({mine: record, theirs: earlier}, mine, margin, error)
    return as_in_records((claim,), (record, earlier))[0]


def _different_names(mine: str, theirs: str) -> tuple[str, str]:
    """File names; whole paths where the file names are the same."""
    short = PurePath(mine).name, PurePath(theirs).name
    if short[0] != short[1]:
        return short
    return (mine, theirs) if mine != theirs else (mine, f"{theirs} before")


def _check_same_question(record: Record, earlier: Record, name: str) -> None:
    """The same quantity, on the same inputs and the same perturbation, or nothing is compared."""
    for one in (record, earlier):
        if not isinstance(one.details, Samples) or one.study.population is None:
            raise InvalidArgument(
                f"run {one.digest[:12]} has no results of single inputs at one level: compare "
                "models by estimate with a width, certify or tail"
            )
    for part in ("perturbation", "property", "bounds"):
        a, b = (getattr(one.study, part) for one in (record, earlier))
        if a != b:
            raise InvalidArgument(
                f"{name} was measured with another {part} ({b}, and here {a}): measure the earlier "
                "model again (previous-model)"
            )
    questions = [
        (one.study.method.kind, p.kind, p.sampling, one.study.method.number("kappa"))
        for one in (record, earlier)
        if (p := one.study.population) is not None
    ]
    if questions[0] != questions[1]:
        raise InvalidArgument(
            f"{name} was measured by another kind of study ({earlier.study.method}, and here "
            f"{record.study.method}): measure the earlier model again (previous-model)"
        )
    rows, others = ({r.id: (r.label, r.group) for r in one.inputs} for one in (record, earlier))
    if rows != others or record.study.inputs.digest != earlier.study.inputs.digest:
        raise InvalidArgument(
            f"{name} was measured on other inputs: measure the earlier model again on these "
            "(previous-model), or compare on the same data, selection and seed"
        )
