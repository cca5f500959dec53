"""Where a curve meets a threshold, from few levels and few inputs."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from surefoot.core.counts import Outcomes, Severities
from surefoot.core.procedure import Ask, Needs, TimeUp
from surefoot.core.results import UNIT, Crossing, Curve, Footing, Guarantee, Interval, Reading
from surefoot.curves.assumptions import CURVATURE, MONOTONE, Assumption
from surefoot.curves.conclude import between_of, points_of, reading_of
from surefoot.curves.known_curve import KnownCurve
from surefoot.curves.levels import FINE, FIRST_LOOK, MOST_DRAWS, Grid, Sampling
from surefoot.curves.population import POPULATION_CELLS, Walks, rank_thresholds
from surefoot.curves.request import check_size, check_span, check_thresholds, stopped_early
from surefoot.curves.search import next_asks
from surefoot.errors import InvalidArgument

MEASURES: dict[str, type[Outcomes | Severities]] = {"accuracy": Outcomes, "confidence": Severities}
SCOPES = ("set", "population")
RANKS = 0.9
"""The share of the error that ranks have, of a population; the search among the inputs needs less.
"""
FULL_LEVELS = 6
"""Levels with all trials that a crossing took in the mean, of the embedded network's curves."""
Answers = Sequence[Outcomes | Severities]
Steps = Generator[tuple[Ask, ...], Answers, Curve]


@dataclass(frozen=True)
class SequentialCurve:
    """The default of `surefoot curve`: few inputs where the curve is far from the threshold.

    `assume` is what is taken for true between the levels: "wiggle:0.01" (between neighbouring
    levels the curve goes at most 1 point below or above its values there), "one-crossing",
    "monotone" (each input, once wrong, stays wrong) or "curvature:128" (as ASAP has it).
    `resolution` is the length, as a share of the range, to which a crossing is narrowed down;
    `clean` the level of the clean input. `fixed_draws`: of a perturbation that draws, one draw
    for each input, the same at every level, instead of the expectation over fresh ones. The study
    sets `size`, the number of inputs, and `fresh`.
    """

    low: float
    high: float
    thresholds: tuple[float, ...] = (0.8,)
    error: float = 0.05
    resolution: float = 0.001
    scope: str = "set"
    measure: str = "accuracy"
    assume: str = "wiggle:0.01"
    fixed_draws: bool = False
    clean: float = 0.0
    size: int = 0
    fresh: bool = False
    needs: ClassVar[Needs] = Needs.LEVELS
    concludes_early: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_span(self.low, self.high)
        check_thresholds(self.thresholds)
        if not 1e-9 <= self.error < 1:
            raise InvalidArgument(
                f"error must lie between 1e-9 and 1, got {self.error}: it is 1 - confidence, try "
                "0.05"
            )
        if not 1e-5 <= self.resolution <= 0.5:
            raise InvalidArgument(
                f"resolution is a share of the range between 1e-05 and 0.5, got "
                f"{self.resolution:g}: try 0.001"
            )
        if self.scope not in SCOPES:
            raise InvalidArgument(
                f"a curve is about the set or the population, got {self.scope!r}: write set or "
                "population"
            )
        if self.measure not in MEASURES:
            raise InvalidArgument(
                f"a curve is of {' or '.join(MEASURES)}, got {self.measure!r}: choose one"
            )
        if not math.isfinite(self.clean):
            raise InvalidArgument(f"clean is the level of the clean input, got {self.clean}: try 0")
        name = Assumption.parse(self.assume).name
        if self.scope == "population" and name == CURVATURE:
            raise InvalidArgument(
                f"{self.assume!r} is not for a population: use wiggle:0.01, one-crossing or "
                "monotone, or the scope set"
            )
        if self.scope == "population" and (name, self.measure) == (MONOTONE, "confidence"):
            raise InvalidArgument(
                "monotone is about inputs that fail, not about confidence: use wiggle:0.01 or "
                "one-crossing"
            )

    @property
    def forecast(self) -> int:
        """Trials that it may take, for the time left: a scan, and some full levels a crossing."""
        scan = 2 * FINE * min(self.size, FIRST_LOOK)
        at_a_level = MOST_DRAWS if self.fresh else self.size
        return scan + FULL_LEVELS * at_a_level * len(self.thresholds)

    @property
    def evidence(self) -> type[Outcomes | Severities]:
        """What a bench hands back."""
        return MEASURES[self.measure]

    def steps(self) -> Steps:
        """Ask for more inputs at one level or another until nothing open can be closed."""
        check_size(self.size)
        if self.scope == "set":
            return self._of_set()
        if Assumption.parse(self.assume).per_input:
            return self._by_ranks()
        return self._by_walks()

    def _of_set(self) -> Steps:
        known, notes = yield from self._traced(self.thresholds, self.error, fresh=self.fresh)
        sure = {p: size for p, size in known.raised.items() if known.sure_of_neighbours(p)}
        promise = self._promise(known.assumption, max(sure.values(), default=0.0))
        readings = self._nothing_known(promise)
        if len(known.places()) > 1:
            readings = tuple(reading_of(known, t, promise) for t in self.thresholds)
        contradiction = known.contradiction
        if contradiction:
            contradiction += f"; {Assumption().name} is assumed instead"
        elif sure:
            place = max(sure, key=lambda p: sure[p])
            contradiction = (
                f"at level {known.grid.level(place):.4g} the {self.measure} lies "
                f"{100 * sure[place]:.2g} points beyond its values at the levels beside it; as "
                "much is allowed there"
            )
        curve = self._curve(known, readings, notes, contradiction)
        return replace(curve, between=between_of(known))

    def _traced(
        self, thresholds: Sequence[float], error: float, *, fresh: bool
    ) -> Generator[tuple[Ask, ...], Answers, tuple[KnownCurve, tuple[str, ...]]]:
        """The search among these inputs, to its end or until the time is up."""
        grid = Grid.over(self.low, self.high, self.resolution, self.clean)
        sampled = frozenset(grid.scan(2 * FINE))
        sampling = Sampling(self.size, error, sampled, fresh, self.measure == "accuracy")
        known = KnownCurve(grid, thresholds, Assumption.parse(self.assume), sampling)
        try:
            while asks := next_asks(known):
                known.put(asks, (yield asks))
        except TimeUp:
            return known, (stopped_early(len(points_of(known))),)
        return known, ()

    def _by_ranks(self) -> Steps:
        """The inputs searched for the ranks of the population's crossing, and for their own."""
        sides = 1 + (self.low < self.clean < self.high)
        error = RANKS * self.error / len(self.thresholds) / sides
        ranks = {t: rank_thresholds(t, self.size, error) for t in self.thresholds}
        needed = {share for t in self.thresholds for share in (*ranks[t], t) if 0 < share <= 1}
        known, notes = yield from self._traced(
            sorted(needed, reverse=True), (1 - RANKS) * self.error, fresh=False
        )
        promise = self._promise(Assumption.parse(self.assume), 0.0)
        readings, contradiction = self._nothing_known(promise), known.contradiction
        if contradiction:
            contradiction += "; no interval is given: run it with one-crossing assumed instead"
        elif len(known.places()) > 1:
            of_set = {t: reading_of(known, t, promise) for t in needed}
            readings = tuple(self._ranked(t, *ranks[t], of_set, promise) for t in self.thresholds)
        return self._curve(known, readings, notes, contradiction)

    def _ranked(
        self, threshold: float, enough: float, few: float, of_set: dict[float, Reading],
        promise: Guarantee,
    ) -> Reading:  # fmt: skip
        """From where surely enough inputs hold to where surely too few do."""
        value = of_set[threshold]
        low = of_set[enough].interval.low if enough in of_set else 0.0
        high = of_set[few].interval.high if few in of_set else 1.0
        inner = of_set[enough].crossings if enough in of_set else ()
        outer = of_set[few].crossings if few in of_set else ()
        crossings: tuple[Crossing, ...] = ()
        if len(inner) == len(outer) == len(value.crossings):
            crossings = tuple(
                replace(
                    at,
                    interval=Interval(
                        min(a.interval.low, b.interval.low), max(a.interval.high, b.interval.high)
                    ),
                )
                for at, a, b in zip(value.crossings, inner, outer, strict=True)
            )
        interval = Interval(min(low, high), max(low, high))
        return Reading(threshold, value.value, interval, crossings, promise)

    def _by_walks(self) -> Steps:
        grid = Grid.over(self.low, self.high, 1 / POPULATION_CELLS, self.clean)
        assumption, counts = Assumption.parse(self.assume), self.measure == "accuracy"
        walks = Walks(grid, assumption, self.size, self.error, counts)
        notes: tuple[str, ...] = ()
        try:
            yield from walks.run(self.thresholds)
        except TimeUp:
            notes = (stopped_early(len(walks.points())),)
        promise = self._promise(assumption, 0.0)
        readings = tuple(walks.reading(t, promise) for t in self.thresholds)
        return self._curve(walks, readings, notes, walks.contradiction(self.thresholds))

    def _promise(self, assumption: Assumption, raised: float) -> Guarantee:
        sentence = assumption.sentence(self.measure, raised)
        return Guarantee(Footing.CONDITIONAL, self.error, (sentence,))

    def _curve(
        self,
        search: KnownCurve | Walks,
        readings: tuple[Reading, ...],
        notes: tuple[str, ...],
        contradiction: str,
    ) -> Curve:
        return Curve(
            span=Interval(self.low, self.high),
            size=self.size,
            points=points_of(search) if isinstance(search, KnownCurve) else search.points(),
            readings=readings,
            guarantee=Guarantee(Footing.SOUND, self.error),
            trials=sum(level.trials for level in search.levels.values()),
            notes=notes,
            contradiction=contradiction,
        )

    def _nothing_known(self, promise: Guarantee) -> tuple[Reading, ...]:
        return tuple(Reading(t, 0.0, UNIT, (), promise) for t in self.thresholds)
