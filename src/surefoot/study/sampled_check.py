"""Points drawn within what is proved and beyond what is refuted, and run through the model.

Within the proved radius none may fail: one that does means that proof, reader, arithmetic or model
is wrong, and it is reported as a contradiction. Beyond the nearest counterexample they show how
often a perturbation fails, which is often far less than the counterexample suggests.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from surefoot import perturb
from surefoot.core.counts import Counts
from surefoot.core.procedure import Ask
from surefoot.core.results import Bracket, Interval, PointsDrawn
from surefoot.engine.sampling_bench import SamplingBench
from surefoot.properties import GivenLabel
from surefoot.store import MemoryJournal
from surefoot.study.measurement import Measurement, run_measurement
from surefoot.study.sampling_run import batch_size, workers_for
from surefoot.study.setup import Setup
from surefoot.study.verifiers import bounds_of
from surefoot.subject.protocols import to_host

if TYPE_CHECKING:
    from surefoot.graph.network import Network

BEYOND = (1.0, 1.5, 2.0, 4.0)
"""Radii beyond the counterexample, as multiples of its distance."""
_INWARDS_FACTOR = 1 - 1e-6
"""On the proved radius, so that rounding of a drawn point to float32 does not leave the ball."""
_NEAR_TIE_POINTS = 128
"""Points near ties of each input: enough to find most networks built to fail in float32."""


@dataclass(frozen=True)
class _AtEach:
    """So many trials at each of some levels."""

    levels: tuple[float, ...]
    trials: int

    def steps(self) -> Generator[tuple[Ask, ...], list[Counts], tuple[PointsDrawn, ...]]:
        """Ask for all levels at once."""
        answers = yield tuple(Ask(level, self.trials) for level in self.levels)
        return tuple(
            PointsDrawn(level, counts.trials, counts.trials - counts.kept)
            for level, counts in zip(self.levels, answers, strict=True)
        )


def points_drawn(
    study: Setup, brackets: Mapping[int, Bracket], network: Network | None, workers: int | None
) -> dict[int, tuple[PointsDrawn, ...]]:
    """For each row, points within its proved radius and within multiples of its refuted one.

    Where the network was read here, points near ties are tried as well.
    """
    even = _drawn_evenly(study, brackets, workers)
    if network is None or not study.method.samples:
        return even
    near = {row: _near_tie(study, network, row, b.low) for row, b in brackets.items() if b.low > 0}
    return {row: (*even.get(row, ()), *((near[row],) if row in near else ())) for row in brackets}


def _near_tie(study: Setup, network: Network, row: int, radius: float) -> PointsDrawn:
    """Whether a point near a tie, within the proved radius, gets another label as run."""
    from surefoot.verify.float32 import find_contradiction

    def labels(points: NDArray[np.float32]) -> NDArray[np.int64]:
        scores = to_host(study.model.predict(study.model.place(points)))
        return np.asarray(scores.argmax(axis=1), dtype=np.int64)

    x, label = study.fitted.x[row], int(study.references[row])
    point = find_contradiction(
        network, labels, x, label, radius, bounds_of(study), study.seed, _NEAR_TIE_POINTS
    )
    return PointsDrawn(radius, _NEAR_TIE_POINTS, int(point is not None), near_ties=True)


def _drawn_evenly(
    study: Setup, brackets: Mapping[int, Bracket], workers: int | None
) -> dict[int, tuple[PointsDrawn, ...]]:
    inputs, bounds = study.fitted, bounds_of(study)
    every = inputs.subjects()
    radii = {row: _radii(bracket.interval, bounds.width) for row, bracket in brackets.items()}
    rows = [row for row, levels in radii.items() if levels]
    if not rows or not study.method.samples:
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
    subjects = [every[row] for row in rows]
    measurement = Measurement(
        subjects=subjects,
        procedures={every[r].name: _AtEach(radii[r], study.method.samples) for r in rows},
        bench=bench,
        batch=batch_size(study, bench, subjects[0], bounds.width),
        workers=workers_for(study, workers),
        conclude=_nothing,
    )
    return dict(zip(rows, run_measurement(measurement, MemoryJournal()), strict=True))


def _nothing(_: object) -> NoReturn:
    raise NotImplementedError("points drawn for a check conclude nothing by themselves")


def _radii(around: Interval, most: float) -> tuple[float, ...]:
    inside = [around.low * _INWARDS_FACTOR] if around.low > 0 else []
    beyond = [around.high * factor for factor in BEYOND if 0 < around.high * factor <= most]
    return tuple(dict.fromkeys([*inside, *(r for r in beyond if np.isfinite(r))]))
