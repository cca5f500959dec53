"""Several studies that differ in the model, or in the level, run and set side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from surefoot.engine.attacking import Attack
from surefoot.engine.drive import Progress
from surefoot.errors import InvalidArgument
from surefoot.perturb.levels import level_words
from surefoot.report.comparison import LEVELS, MODELS, Comparison, side_by_side
from surefoot.study.spec import Study


def compare(
    studies: Mapping[str, Study],
    *,
    error: float | None = None,
    reference: Mapping[str, float] | None = None,
    store: str | None = None,
    workers: int | None = None,
    batch: int | None = None,
    watch: Callable[[Progress], None] | None = None,
    attack: Attack | None = None,
) -> Comparison:
    """Models on the same inputs and perturbations: intervals, differences, ranks.

    `reference` holds a number for each model, such as its accuracy on corrupted data, to
    correlate with. Every study keeps its own record in the store. `attack`: the failure rate of a
    gradient attack on each as well.
    """
    records = {
        name: study.run(store, workers=workers, batch=batch, watch=watch, attack=attack).record
        for name, study in studies.items()
    }
    return side_by_side(records, MODELS, error, reference)


def sweep(
    study: Study,
    levels: Sequence[float],
    *,
    error: float | None = None,
    store: str | None = None,
    workers: int | None = None,
    batch: int | None = None,
    watch: Callable[[Progress], None] | None = None,
    attack: Attack | None = None,
) -> Comparison:
    """One study at several levels: robustness against the level, on the same noise."""
    records = {
        name: made.run(store, workers=workers, batch=batch, watch=watch, attack=attack).record
        for name, made in at_levels(study, levels).items()
    }
    return side_by_side(records, LEVELS, error)


def at_levels(study: Study, levels: Sequence[float]) -> dict[str, Study]:
    """The study at each level, by the level as text, in rising order."""
    if len(set(levels)) < 2:
        raise InvalidArgument(f"give two different levels or more, got {list(levels)}")
    perturbation: Any = study.perturbation
    return {
        level_words(level): replace(study, perturbation=replace(perturbation, level=level))
        for level in sorted(set(levels))
    }
