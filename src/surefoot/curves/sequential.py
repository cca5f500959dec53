"""Where a curve meets a threshold, from few levels and few inputs."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np

from surefoot.core.counts import Outcomes, Severities
from surefoot.core.procedure import Ask, Needs, TimeUp
from surefoot.core.reasons import Reason, Why
from surefoot.core.results import UNIT, Crossing, Curve, Guarantee, Interval, Reading
from surefoot.curves import levels
from surefoot.curves.assumptions import CURVATURE, MONOTONE, RISE, Assumption
from surefoot.curves.conclude import (
    POPULATION_CELLS,
    Walks,
    between_of,
    points_of,
    rank_thresholds,
    reading_of,
)
from surefoot.curves.known_curve import Gap, KnownCurve
from surefoot.curves.levels import ROUNDING, Grid, Sampling, mean_of
from surefoot.errors import InvalidArgument

WORTH_A_LEVEL = 3
"""A level is evaluated in full only where that may close more than 1/3 of what is open."""
DOUBTS = 0.7
"""Standard deviations by which a level must seem to be below the threshold to be evaluated in full
as the outer end of the search."""

FINER = 4
"""Cells of the grid in one of the resolution, where a cell costs few inputs: the value is read off
between neighbouring cells."""
CLEAR = 2.0
"""Standard deviations by which a level must be above the threshold, or below, for the value to
count it so."""
CHECK_DOUBTS, CHECK_PASSES = -1.0, 0.6
"""Standard deviations by which a level may seem to be on another side than others imply, and what
is spent on levels that seem so, in units of all inputs."""
DIP, DIP_DOUBTS, DIP_PASSES = 0.02, -2.0, 2.0
"""The same before a crossing is stated, of levels weaker than it that may lie so far below the
threshold, as a share of the inputs: a dip among them makes it another crossing. Chosen on simulated
dips, published curves for tuning and network images, two hard curves seen before; a dip of fewer
inputs, or between two levels of the lattice, is still missed (docs/decisions/curves.md)."""


def next_asks(known: KnownCurve) -> tuple[Ask, ...]:
    """What to evaluate next; nothing when nothing that is open can be closed.

    First all inputs at the clean level and a few at all levels of the lattice; then more of them
    where the curve seems to rise by more than is assumed; then, threshold by threshold, what
    narrows down where it falls below; last, for the value alone, a sketch of what stays open.
    """
    if not known.sampling.fresh and (asks := _fill(known, known.grid.centre)):
        return tuple(asks)
    lattice = sorted(known.sampling.sampled)
    if asks := [ask for p in lattice if not known.level(p).first for ask in _look(known, p)]:
        return tuple(asks)
    while contradiction := known.contradicted():
        reason, rise = contradiction
        known.fall_back(known.assumption.after(rise, known.sampling.size), reason)
    return next((tuple(asks) for asks in _wanted(known) if asks), ())


def _wanted(known: KnownCurve) -> Iterator[list[Ask]]:
    if not known.assumption.narrows and (rise := known.suspected_rise()):
        fewest = min(known.levels[p].first for p in (rise.start, rise.end))
        places = [p for p in (rise.start, rise.end) if known.levels[p].first == fewest]
        yield [ask for place in places for ask in _look(known, place)]
    for threshold in known.thresholds:
        if known.assumption.narrows:
            gaps = [gap for gap in known.gaps(threshold) if gap.above is None]
            yield from (_between(known, gap, threshold) for gap in gaps)
        else:
            for side in (-1, 1):
                if known.grid.end(side) != known.grid.centre:
                    yield _locate(known, threshold, side)
            yield _check(known, threshold)
            if known.assumption.stays and not known.sampling.fresh:
                yield from (_pinpoint(known, threshold, side) for side in (-1, 1))
    if not known.sampling.fresh and (known.assumption.narrows or known.assumption.contradicted):
        for threshold in known.thresholds:
            yield _sketch_open(known, threshold)


def _look(known: KnownCurve, place: int) -> list[Ask]:
    """The next look at a level; all inputs where no bounds are known before."""
    level = known.level(place)
    if not known.sampling.fresh and place not in known.sampling.sampled:
        return _fill(known, place)
    return level.asks(np.arange(known.sampling.most) < level.next_look)


def _fill(known: KnownCurve, place: int) -> list[Ask]:
    """All trials at a level that do not follow from others."""
    level, wanted = known.level(place), np.ones(known.sampling.most, dtype=bool)
    if known.by_input:
        least, most = known.implied(place)
        wanted = least < most
    return level.asks(wanted)


def _decide(known: KnownCurve, place: int, *, above: bool) -> list[Ask]:
    """The inputs that seem to be right at a level, or those that seem to be wrong: enough of them
    are certain to be on one side, whatever the others come to. If they are not enough, the others.
    """
    if known.by_input or not known.sampling.counts:
        return _fill(known, place)
    level, likely = known.level(place), known.sketch(place)[1]
    if asks := level.asks((likely > 0.5) == above):
        known.expected[place] = np.where(level.known, np.nan, likely)
    return asks or _fill(known, place)


def _between(known: KnownCurve, gap: Gap, threshold: float) -> list[Ask]:
    """Where only close levels bound the curve: look at both ends, then half-way between."""
    if asks := [ask for p, s in zip((gap.a, gap.b), gap.sides, strict=True)
                if not s and not known.complete(p) for ask in _look(known, p)]:  # fmt: skip
        return asks
    if gap.width <= 1:
        return []
    if gap.sides in {(1, -1), (-1, 1)} and not known.sampling.fresh:
        ends = (gap.a, gap.b) if gap.sides[0] > 0 else (gap.b, gap.a)
        return _fill(known, gap.a) + _fill(known, gap.b) or _narrow(
            known, *ends, threshold, (False, True)
        )
    return _begin(known, (gap.a + gap.b) // 2)


def _begin(known: KnownCurve, place: int) -> list[Ask]:
    """A look at a level that was not looked at, while there are enough shares of the error."""
    if not known.sampling.fresh:
        return _fill(known, place)
    planned = {*known.levels, *known.sampling.sampled}
    return _look(known, place) if len(planned) < levels.MOST_NOISY_LEVELS else []


def _locate(known: KnownCurve, threshold: float, side: int) -> list[Ask]:
    """Narrow down where the curve falls below the threshold, on one side of the clean level."""
    inner, outer, above, below = known.stretch(threshold, side)
    here = (p for p in known.places() if (p - inner) * side > 0 and (outer - p) * side >= 0)
    between = sorted(here, key=known.grid.distance)
    centre = known.levels[known.grid.centre]
    never = known.complete(centre.place) and centre.estimate < threshold - ROUNDING
    if never or not between or (above and below and abs(outer - inner) <= 1):
        return []
    if known.sampling.fresh:
        return _locate_fresh(known, threshold, inner, outer, between)
    if below and (known.complete(outer) or known.certain(outer)):
        kinds = (False, True) if above else (False,)
        return _narrow(known, inner, outer, threshold, kinds)
    low = known.target(threshold, above=False)
    clear = (p for p in between if known.levels[p].first and not known.complete(p)
             and low - known.estimate(p) > DOUBTS * known.doubt(p))  # fmt: skip
    if (first := next(clear, outer if below else None)) is not None:
        return _fill(known, first)
    last = known.levels[outer].next_look == known.sampling.size
    asks = _decide(known, outer, above=True) if last else _look(known, outer)
    return asks or _search_flat(known, inner, between, threshold, above=above)


def _pinpoint(known: KnownCurve, threshold: float, side: int) -> list[Ask]:
    """For the value alone: where between the ends of the interval the threshold itself is met."""
    inner, outer, _, below = known.stretch(threshold, side)
    if not below or inner == outer:
        return []
    between = [p for p in known.places() if min(inner, outer) < p < max(inner, outer)]
    if asks := [ask for place in between for ask in known.sketch(place)[0]]:
        return asks
    wide = abs(outer - inner) * levels.LATTICE > known.grid.cells  # else a sketch is enough
    if wide and between and not any(map(known.complete, between)):
        return _fill(known, between[len(between) // 2])
    return _last_place(known, outer, inner, known.meets(threshold), above=False)[0]


def _search_flat(
    known: KnownCurve, inner: int, between: Sequence[int], threshold: float, *, above: bool
) -> list[Ask]:
    """Where even the end is not below: sketch all levels, and evaluate the first that seems so."""
    sketches = {place: known.sketch(place) for place in between}
    if asks := [ask for asks, _ in sketches.values() for ask in asks]:
        return asks
    low = known.target(threshold, above=False)
    for place, (_, values) in sketches.items():
        if mean_of(values) < low - ROUNDING and not known.complete(place):
            return _fill(known, place)
    return _narrow(known, inner, between[-1], threshold, (True,) if above else ())


def _check(known: KnownCurve, threshold: float) -> list[Ask]:
    """One more look at the level that seems most to be on another side than others imply."""
    centre = known.grid.centre
    crossed = {side: known.stretch(threshold, side)[3] for side in (-1, 1)}
    inside = known.sampling.sampled - {0, known.grid.cells}
    first = known.sampling.looks[0]
    spent = sum(known.levels[p].first - first for p in inside if not known.complete(p))
    places, worst = list[int](), 0.0
    for gap in known.gaps(threshold):
        for place, side in zip((gap.a, gap.b), gap.sides, strict=True):
            if side and place in known.sampling.sampled and not known.complete(place):
                before = side > 0 and crossed[1 if place > centre else -1]
                least = DIP_DOUBTS if before else CHECK_DOUBTS
                passes = DIP_PASSES if before else CHECK_PASSES
                margin = known.assumption.rise if side < 0 else -DIP * before
                doubt = known.doubt(place)
                if before:  # few inputs changed so far, or none: the next may
                    doubt = math.hypot(doubt, 1 / known.levels[place].first)
                doubts = side * (threshold + margin - known.estimate(place)) / doubt
                if doubts - least > worst and spent <= passes * known.sampling.size:
                    places, worst = [place], doubts - least
    return [ask for place in places for ask in _look(known, place)]


def _narrow(
    known: KnownCurve, inner: int, outer: int, threshold: float, kinds: tuple[bool, ...]
) -> list[Ask]:
    """Evaluate the last places that seem to be below the threshold (False), and above it (True)."""
    for above in kinds:
        begin, end = (inner, outer) if above else (outer, inner)
        target = known.target(threshold, above=above)
        target += (known.unexpected if above else -known.unexpected) / known.sampling.size
        asks, place = _last_place(known, begin, end, target, above=above)
        if not asks and abs(place - begin) * WORTH_A_LEVEL > abs(outer - inner):
            asks = _decide(known, place, above=above)
        if asks:
            return asks
    return []


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


def _locate_fresh(
    known: KnownCurve, threshold: float, inner: int, outer: int, between: Sequence[int]
) -> list[Ask]:
    """More draws where these may decide, then levels between."""
    high, low = known.target(threshold, above=True), known.target(threshold, above=False)
    for place in between:
        level, doubt = known.levels[place], known.doubt(place)
        spare = levels.REACH * doubt * math.sqrt(level.first / known.sampling.most)
        value = level.estimate
        if not level.full and (value + doubt >= high + spare or value - doubt < low - spare):
            return _look(known, place)
    for a, b in pairwise(sorted({inner, *between, outer}, key=known.grid.distance)):
        wide = abs(b - a) > max(1, abs(outer - inner) // WORTH_A_LEVEL)
        if wide and (a == inner or b == outer) and (asks := _begin(known, (a + b) // 2)):
            return asks
    return []


def _sketch_open(known: KnownCurve, threshold: float) -> list[Ask]:
    """For the value alone: sketch what is open, as finely as it may cross the threshold, once it is
    clear enough at which levels the curve is above it.
    """
    gaps = known.gaps(threshold)
    ends = {p for gap in gaps if gap.above is None for p in (gap.a, gap.b) if known.levels[p].first}
    asks = [ask for p in sorted(ends) if not known.complete(p)
            and abs(known.estimate(p) - threshold) < CLEAR * known.doubt(p)
            for ask in _look(known, p)]  # fmt: skip
    if asks:
        return asks
    for gap in gaps:
        beyond = [known.estimate(p) - threshold + ROUNDING for p in (gap.a, gap.b)]
        if gap.above is None and min(beyond) < 0 <= max(beyond):
            asks += _fill(known, gap.a) + _fill(known, gap.b)
            asks += [] if asks else _sketch_between(known, gap.a, gap.b, threshold)
    return list(dict.fromkeys(asks))


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

    `assume` is what is taken for true between the levels: "bounded-rise" (a stronger level never
    raises the accuracy by more than half a point or two inputs; "bounded-rise:0.02" by more than 2
    points), "one-crossing", "monotone" (each input, once wrong, stays wrong) or "curvature:128" (as
    ASAP has it).
    `resolution` is the length, as a share of the range, to which a crossing is narrowed down;
    `clean` the level of the clean input. `fixed_draws`: of a perturbation that draws, one draw
    for each input, the same at every level, instead of the expectation over fresh ones. The study
    sets `size`, the number of inputs, `fresh`, and `shift`, by which the levels of the first looks
    are shifted at random.
    """

    low: float
    high: float
    thresholds: tuple[float, ...] = (0.8,)
    error: float = 0.05
    resolution: float = 0.001
    scope: str = "set"
    measure: str = "accuracy"
    assume: str = RISE
    fixed_draws: bool = False
    clean: float = 0.0
    size: int = 0
    fresh: bool = False
    shift: float = 0.5
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
                f"{self.assume!r} is not for a population: use bounded-rise, one-crossing or "
                "monotone, or the scope set"
            )
        if self.scope == "population" and (name, self.measure) == (MONOTONE, "confidence"):
            raise InvalidArgument(
                "monotone is about inputs that fail, not about confidence: use bounded-rise or "
                "one-crossing"
            )

    @property
    def forecast(self) -> int:
        """Trials that it may take, for the time left: a scan, and some full levels a crossing."""
        scan = levels.LATTICE * min(self.size, levels.FIRST_LOOK)
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
        promise = self._promise(known.assumption)
        readings = self._nothing_known(promise)
        if len(known.places()) > 1:
            readings = tuple(reading_of(known, t, promise) for t in self.thresholds)
        contradiction = known.contradiction
        if contradiction is not None:
            points = 100 * known.assumption.size
            contradiction = Why.ASSUMED_INSTEAD.of(contradiction, self.measure, points)
        curve = self._curve(known, readings, notes, contradiction)
        return replace(curve, between=between_of(known))

    def _traced(
        self, thresholds: Sequence[float], error: float, *, fresh: bool
    ) -> Generator[tuple[Ask, ...], Answers, tuple[KnownCurve, tuple[Reason, ...]]]:
        """The search among these inputs, to its end or until the time is up."""
        assumption = Assumption.parse(self.assume).of_inputs(self.size)
        finer = 1 if fresh or assumption.narrows else FINER
        grid = Grid.over(self.low, self.high, self.resolution / finer, self.clean)
        sampled, counts = grid.lattice(self.shift), self.measure == "accuracy"
        sampling = Sampling(self.size, error, sampled, fresh, counts)
        known = KnownCurve(grid, thresholds, assumption, sampling)
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
        promise = self._promise(Assumption.parse(self.assume))
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
        assumption = Assumption.parse(self.assume).of_inputs(self.size)
        counts = self.measure == "accuracy"
        walks = Walks(grid, assumption, self.size, self.error, counts)
        notes: tuple[Reason, ...] = ()
        try:
            yield from walks.run(self.thresholds)
        except TimeUp:
            notes = (Why.STOPPED_EARLY.of(len(walks.points())),)
        promise = self._promise(assumption)
        readings = tuple(walks.reading(t, promise) for t in self.thresholds)
        return self._curve(walks, readings, notes, walks.contradiction(self.thresholds))

    def _promise(self, assumption: Assumption) -> Guarantee:
        return Guarantee.given(self.error, (assumption.stated(self.measure),))

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
