"""The statistical counterpart of a critical level: points drawn within what is proved and beyond.

Within the proved radius nothing may slip: one that does means that proof, reader or model is wrong,
and it is reported as a contradiction. Beyond the nearest counterexample it tells how likely a slip
is, which is often far less than the counterexample suggests.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot import perturb
from surefoot.engine.bench import SamplingBench
from surefoot.evidence import Counts
from surefoot.procedure import Ask
from surefoot.properties import GivenLabel
from surefoot.results import Interval
from surefoot.store.memory import MemoryJournal
from surefoot.store.records import Shaken
from surefoot.study.running import driven
from surefoot.study.spec import Study

BEYOND = (1.0, 1.5, 2.0, 4.0)
"""Radii beyond the counterexample, as multiples of its distance."""
_INWARDS = 1 - 1e-6


@dataclass(frozen=True)
class _AtEach:
    """So many trials at each of some levels."""

    levels: tuple[float, ...]
    trials: int

    def steps(self) -> Generator[tuple[Ask, ...], list[Counts], tuple[Shaken, ...]]:
        """Ask for all levels at once."""
        told = yield tuple(Ask(level, self.trials) for level in self.levels)
        return tuple(
            Shaken(level, counts.trials, counts.trials - counts.held)
            for level, counts in zip(self.levels, told, strict=True)
        )


def shaken(
    study: Study, brackets: Mapping[int, Interval], workers: int | None
) -> dict[int, tuple[Shaken, ...]]:
    """For each row, points within its proved radius and within multiples of its refuted one."""
    inputs, bounds = study.fitted, study.model.signature.bounds or Interval(0.0, 1.0)
    subjects = inputs.subjects()
    radii = {row: _radii(around, bounds.width) for row, around in brackets.items()}
    wanted = [row for row, levels in radii.items() if levels]
    if not wanted or not study.procedure.samples:
        return {}
    bench: SamplingBench[Any] = SamplingBench(
        inputs,
        study.references,
        study.model,
        perturb.LinfNoise(bounds.width),
        GivenLabel(),
        Counts,
        study.seed,
    )
    own = {subjects[row].name: _AtEach(radii[row], study.procedure.samples) for row in wanted}
    found, _ = driven(
        study,
        bench,
        own,
        [subjects[row] for row in wanted],
        bounds.width,
        MemoryJournal(),
        workers,
        None,
        lambda _: None,
    )
    return dict(zip(wanted, found, strict=True))


def _radii(around: Interval, most: float) -> tuple[float, ...]:
    inside = [around.low * _INWARDS] if around.low > 0 else []
    beyond = [around.high * factor for factor in BEYOND if 0 < around.high * factor <= most]
    return tuple(dict.fromkeys([*inside, *(r for r in beyond if np.isfinite(r))]))
