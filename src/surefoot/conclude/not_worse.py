"""Whether a model fails at most so much more often than others, from results at one level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

from surefoot.conclude.class_groups import sampled_of
from surefoot.conclude.sampling import NO_GUARANTEE, verdict_of
from surefoot.core.claims import About, Claim, Continues
from surefoot.core.results import Decision, Footing, Guarantee, Undecided
from surefoot.population import not_worse, not_worse_of_samples
from surefoot.records.population import continues_of, is_same_model, population_of, rows_by_id
from surefoot.records.record import Record


def not_worse_claim(parts: Mapping[str, Record], name: str, margin: float, error: float) -> Claim:
    """The verdict on one of several models on the same inputs, one-sided, spending `error`.

    An exported file fails as often as itself, whatever the seed, width and error of the two runs.
    """
    over = _population_at(parts, error)
    local = _local(parts)
    continues = continues_of(over, local[name])
    same = {
        frozenset((a, b)) for a, b in combinations(parts, 2) if is_same_model(parts[a], parts[b])
    }
    decided = not_worse(over, local, name, margin, same, continues)
    return _claim(parts, name, margin, decided, continues)


def not_worse_elsewhere(
    parts: Mapping[str, Record], name: str, margin: float, error: float
) -> Claim:
    """The same of two models on other inputs each, of the same population; name comes first."""
    over = _population_at(parts, error)
    mine, other = _local(parts).values()
    decided: Decision | Undecided
    if is_same_model(*parts.values()):
        trials = sum(part.trials for part in parts.values())
        decided = Decision("the same model", True, Guarantee(Footing.SOUND, 0.0), trials)
    else:
        decided = not_worse_of_samples(over, mine, other, margin)
    return _claim(parts, name, margin, decided, Continues.ONCE)


def _population_at(parts: Mapping[str, Record], error: float) -> Any:  # noqa: ANN401  any population
    first = next(iter(parts.values()))
    return replace(population_of(first), error=error)  # type: ignore[type-var]


def _local(parts: Mapping[str, Record]) -> dict[str, list[Any]]:
    return {other: sampled_of(rows_by_id(part)) for other, part in parts.items()}


def _claim(
    parts: Mapping[str, Record],
    name: str,
    margin: float,
    decided: Decision | Undecided,
    continues: Continues,
) -> Claim:
    first = next(iter(parts.values()))
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
