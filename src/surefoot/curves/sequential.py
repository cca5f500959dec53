"""Where a curve meets a threshold, from few levels and few inputs."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from surefoot.core.counts import Outcomes, Severities
from surefoot.core.procedure import Ask, Needs, TimeUp
from surefoot.core.reasons import Reason, Why
from surefoot.core.results import UNIT, Crossing, Curve, Guarantee, Interval, Reading
from surefoot.curves import levels
from surefoot.curves.assumptions import CURVATURE, MONOTONE, Assumption
from surefoot.curves.conclude import (
    POPULATION_CELLS,
    Walks,
    between_of,
    points_of,
    rank_thresholds,
    reading_of,
)
from surefoot.curves.known_curve import CLEAR, Gap, KnownCurve
from surefoot.curves.levels import ROUNDING, Grid, Sampling, mean_of
from surefoot.errors import InvalidArgument

WORTH_A_LEVEL = 8
"""A level is evaluated in full only where that may close more than 1/8 of what is open."""
CHECK_DOUBTS = 2.0
"""Standard deviations by which a check must seem to be on the side of its neighbours."""


def next_asks(known: KnownCurve) -> tuple[Ask, ...]:
    """What to evaluate next; nothing when nothing that is open can be closed.

    First all inputs at the clean level and a few at all levels of the scan; then, threshold by
    threshold, what may close a gap; last, for the value alone, a sketch of what stays open.
    """
    if not known.sampling.fresh and (asks := _fill(known, known.grid.centre)):
        return tuple(asks)
    scan = sorted(known.grid.scan(2 * known.assumption.cells))
    if asks := [ask for p in scan if not known.level(p).first for ask in _look(known, p)]:
        return tuple(asks)
    if contradiction := known.contradicted():
        known.fall_back(Assumption(), contradiction)
        return next_asks(known)
    return next((tuple(asks) for asks in _wanted(known) if asks), ())


def _wanted(known: KnownCurve) -> Iterator[list[Ask]]:
    for threshold in known.thresholds:
        gaps = known.gaps(threshold)
        for gap in gaps:
            if gap.above is None:
                yield _refine(known, gap, gaps, threshold)
        yield _open_sides(known, gaps, threshold)
    for threshold in known.thresholds:
        if not known.sampling.fresh:
            yield _sketch_open(known, threshold)


def _look(known: KnownCurve, place: int) -> list[Ask]:
    """The next look at a level."""
    level = known.level(place)
    return level.asks(np.arange(known.sampling.most) < level.next_look)


def _fill(known: KnownCurve, place: int) -> list[Ask]:
    """All trials at a level that do not follow from others."""
    level, wanted = known.level(place), np.ones(known.sampling.most, dtype=bool)
    if known.by_input:
        least, most = known.implied(place)
        wanted = least < most
    return level.asks(wanted)


def _open_sides(known: KnownCurve, gaps: Sequence[Gap], threshold: float) -> list[Ask]:
    """One more look at each level whose side is open, or seems to be another than implied; and at
    each check that does not seem to be clearly where its neighbours are.
    """
    sides = {gap.a: gap.sides[0] for gap in gaps} | {gaps[-1].b: gaps[-1].sides[1]}
    wanted = []
    for place, side in sides.items():
        seems = CLEAR if known.estimate(place) >= threshold - ROUNDING else -CLEAR
        if not known.complete(place) and side in {0, -seems}:
            wanted.append(place)
    checks = known.checks
    for gap in gaps:
        for place in checks:
            if gap.a < place < gap.b and gap.above is not None:
                beyond = known.estimate(place) - threshold
                clear = CHECK_DOUBTS * known.doubt(place)
                if (beyond if gap.above else -beyond) < clear:
                    wanted.append(place)
    return [ask for place in wanted for ask in _look(known, place)]


def _refine(known: KnownCurve, gap: Gap, gaps: Sequence[Gap], threshold: float) -> list[Ask]:
    """Evaluate between two neighbours, if that may close a part of what is open there."""
    if gap.width <= 1 or 0 in gap.sides or CLEAR not in map(abs, gap.sides):
        return []
    open_width = _open_width(gap, gaps)
    if gap.sides[0] == gap.sides[1] and not known.assumption.narrows:
        unsure = [place for place in (gap.a, gap.b) if not known.complete(place)]
        return [ask for place in unsure for ask in _look(known, place)]
    alike = gap.sides[0] == gap.sides[1]
    if alike or known.sampling.fresh:
        return _middle(known, gap) if alike or gap.width * WORTH_A_LEVEL > open_width else []
    if asks := _fill(known, gap.a) + _fill(known, gap.b):
        return asks
    ends = ((gap.a, gap.b, gap.sides[0]), (gap.b, gap.a, gap.sides[1]))
    for end, other, side in ends:
        if abs(side) == CLEAR:
            target = known.target(threshold, known.margin(gap.a, gap.b), above=side > 0)
            asks, place = _last_place(known, end, other, target, above=side > 0)
            if not asks and abs(place - end) * WORTH_A_LEVEL > open_width:
                asks = _fill(known, place)
            if asks:
                return asks
    return []


def _open_width(gap: Gap, gaps: Sequence[Gap]) -> int:
    """The width of all open gaps in a row of which this is one."""
    first = last = gaps.index(gap)
    while first > 0 and gaps[first - 1].above is None:
        first -= 1
    while last + 1 < len(gaps) and gaps[last + 1].above is None:
        last += 1
    return gaps[last].b - gaps[first].a


def _middle(known: KnownCurve, gap: Gap) -> list[Ask]:
    """Half-way between: a look where a look says something, else all inputs."""
    place = (gap.a + gap.b) // 2
    if known.sampling.fresh:
        # the levels of the finest scan are counted too: a contradiction may still ask for them
        planned = {*known.levels, *known.sampling.sampled}
        return _look(known, place) if len(planned) < levels.MOST_NOISY_LEVELS else []
    return _look(known, place) if place in known.sampling.sampled else _fill(known, place)


def _last_place(
    known: KnownCurve, end: int, other: int, target: float, *, above: bool
) -> tuple[list[Ask], int]:
    """The last place from `end` on that seems to be above the target (or below), by halving; or
    what must be evaluated before that can be said.
    """
    while abs(end - other) > 1:
        middle = (end + other) // 2
        asks, values = known.sketch(middle)
        if asks:
            return asks, end
        if (mean_of(values) >= target - ROUNDING) == above:
            end = middle
        else:
            other = middle
    return [], end


def _sketch_open(known: KnownCurve, threshold: float) -> list[Ask]:
    """For the value alone: sketch what is open, as finely as it may cross the threshold."""
    asks: list[Ask] = []
    for gap in known.gaps(threshold):
        if gap.above is None:
            for place in (gap.a, gap.b):
                if not known.complete(place):
                    asks += _fill_around(known, place) or known.sketch(place)[0]
            asks += [] if asks else _sketch_between(known, gap.a, gap.b, threshold)
    return list(dict.fromkeys(asks))


def _fill_around(known: KnownCurve, place: int) -> list[Ask]:
    """All inputs at the nearest of every second level of the scan, on both sides of a place."""
    coarse = known.grid.scan(levels.FINE // 2)
    before, after = max(p for p in coarse if p <= place), min(p for p in coarse if p >= place)
    return _fill(known, before) + (_fill(known, after) if after != before else [])


def _sketch_between(known: KnownCurve, a: int, b: int, threshold: float) -> list[Ask]:
    """Halve while inputs that differ between the two may take the mean across the threshold."""
    if b - a <= 1:
        return []
    first, last = known.sketch(a)[1], known.sketch(b)[1]
    above = float(np.minimum(first, last).mean()) >= threshold - ROUNDING
    if above or float(np.maximum(first, last).mean()) < threshold - ROUNDING:
        return []
    middle = (a + b) // 2
    return known.sketch(middle)[0] or [
        *_sketch_between(known, a, middle, threshold),
        *_sketch_between(known, middle, b, threshold),
    ]


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
        levels.check_span(self.low, self.high)
        levels.check_thresholds(self.thresholds)
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
        scan = 2 * levels.FINE * min(self.size, levels.FIRST_LOOK)
        at_a_level = levels.MOST_DRAWS if self.fresh else self.size
        return scan + FULL_LEVELS * at_a_level * len(self.thresholds)

    @property
    def evidence(self) -> type[Outcomes | Severities]:
        """What a bench hands back."""
        return MEASURES[self.measure]

    def steps(self) -> Steps:
        """Ask for more inputs at one level or another until nothing open can be closed."""
        levels.check_size(self.size)
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
        if contradiction is not None:
            contradiction = Why.ASSUMED_INSTEAD.of(contradiction, Assumption().name)
        elif sure:
            place = max(sure, key=lambda p: sure[p])
            size = 100 * float(sure[place])
            level = known.grid.level(place)
            contradiction = Why.BEYOND_NEIGHBOURS.of(level, self.measure, size)
        curve = self._curve(known, readings, notes, contradiction)
        return replace(curve, between=between_of(known))

    def _traced(
        self, thresholds: Sequence[float], error: float, *, fresh: bool
    ) -> Generator[tuple[Ask, ...], Answers, tuple[KnownCurve, tuple[Reason, ...]]]:
        """The search among these inputs, to its end or until the time is up."""
        grid = Grid.over(self.low, self.high, self.resolution, self.clean)
        sampled = frozenset(grid.scan(2 * levels.FINE))
        sampling = Sampling(self.size, error, sampled, fresh, self.measure == "accuracy")
        known = KnownCurve(grid, thresholds, Assumption.parse(self.assume), sampling)
        try:
            while asks := next_asks(known):
                known.put(asks, (yield asks))
        except TimeUp:
            return known, (Why.STOPPED_EARLY.of(len(points_of(known))),)
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
        if contradiction is not None:
            contradiction = Why.NO_INTERVAL.of(contradiction)
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
        notes: tuple[Reason, ...] = ()
        try:
            yield from walks.run(self.thresholds)
        except TimeUp:
            notes = (Why.STOPPED_EARLY.of(len(walks.points())),)
        promise = self._promise(assumption, 0.0)
        readings = tuple(walks.reading(t, promise) for t in self.thresholds)
        return self._curve(walks, readings, notes, walks.contradiction(self.thresholds))

    def _promise(self, assumption: Assumption, raised: float) -> Guarantee:
        return Guarantee.given(self.error, (assumption.stated(self.measure, raised),))

    def _curve(
        self,
        search: KnownCurve | Walks,
        readings: tuple[Reading, ...],
        notes: tuple[Reason, ...],
        contradiction: Reason | None,
    ) -> Curve:
        return Curve(
            span=Interval(self.low, self.high),
            size=self.size,
            points=points_of(search) if isinstance(search, KnownCurve) else search.points(),
            readings=readings,
            guarantee=Guarantee.sound(self.error),
            trials=sum(level.trials for level in search.levels.values()),
            notes=notes,
            contradiction=contradiction,
        )

    def _nothing_known(self, promise: Guarantee) -> tuple[Reading, ...]:
        return tuple(Reading(t, 0.0, UNIT, (), promise) for t in self.thresholds)
