"""The state of a curve that is being traced, and what to look at next."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from surefoot.evidence import Outcomes, Severities
from surefoot.procedure import Ask
from surefoot.results import Curve, Interval, Point
from surefoot.search.concluding import concluded, middle
from surefoot.search.crossing import closing
from surefoot.search.inner import HALF, Goal, guessed
from surefoot.search.looks import Over, targets
from surefoot.search.next_level import Sight, around, by_a_crossing, enough, hiding
from surefoot.search.oneway import falls, tightened
from surefoot.search.reading import same_side, stays
from surefoot.search.request import CurveRequest
from surefoot.search.seen import LevelRequest, Seen, Terms
from surefoot.search.segments import Segment, Stretch, segments
from surefoot.search.supposing import End, supposed
from surefoot.search.wiggles import against, expected, slack_of

_CELLS, _FINER = 16, 2
"""Cells of the first, even scan; and into how many a cell is cut where the curve bends."""
_BLUR, _VALUE = 3.0, 0.5
"""To how many inputs beside wiggles a crossing is caught; and to how many precisions guessed."""
_TRIES, _CLEAR = 3, 2.0
"""Looks for one crossing by guess; and standard deviations that settle a side well enough."""
_BELIEVED = 4
"""How many times as many inputs to look at, at most, on the word of the few of the scan."""


class Tracing:
    """Everything seen so far, level by level.

    All levels that can ever be looked at lie on grids that are fixed beforehand, and each has its
    share of the error, for every look. So all bounds hold together, whatever is looked at.
    """

    def __init__(self, asked: CurveRequest) -> None:
        self.asked, self.size, self.scope = asked, asked.size, Over(asked.scope)
        exact = self.scope is Over.SET
        precision = asked.resolution if exact else max(asked.resolution, 1 / 256)
        depth = math.ceil(math.log2(max((8 if exact else 2) / precision, _CELLS * _FINER)))
        self.parts = segments(asked.low, asked.high, asked.cuts, depth)
        self.span = asked.high - asked.low
        self.narrow = precision * self.span * (1 + 1e-9)
        scan = max(1, math.ceil(math.log2(_CELLS / len(self.parts))))
        self.scan, finer = (
            dict.fromkeys(level for part in self.parts for level in part.first_levels(deep))
            for deep in (scan, scan + 1)
        )
        others = sum(2**part.depth for part in self.parts)
        counts = asked.measure == "accuracy"
        self.terms = Terms(self.size, self.scope, counts, asked.error, frozenset(finer), others)
        self.settled = same_side if asked.curvature is None else stays(asked.curvature, self.span)
        self.exact = exact and counts
        self.seen: dict[float, Seen] = {}
        self.pursued: set[float] = set()
        self.turns = Counter[tuple[float, float]]()
        self.looked: list[LevelRequest] = []

    def next_asks(self, most_levels: int) -> tuple[Ask, ...]:
        """What to look at next; nothing when nothing is open, or too many levels were seen."""
        if not self.seen:
            return self._asks([LevelRequest(level, self.terms.few) for level in self.scan])
        for wishes in self._wishes():
            fresh = {wish.level for wish in wishes} - set(self.seen)
            if len(self.seen) + len(fresh) <= most_levels and (asks := self._asks(wishes)):
                return asks
        return ()

    def _asks(self, wishes: Sequence[LevelRequest]) -> tuple[Ask, ...]:
        self.looked = list(wishes)
        found = []
        for wish in wishes:
            seen = self.seen.setdefault(wish.level, Seen(wish.level, self.terms))
            found += seen.asks(np.arange(wish.first) if wish.some is None else wish.some)
        return tuple(found)

    def tell(self, asks: Sequence[Ask], answers: Sequence[Outcomes | Severities]) -> None:
        """Note what was seen, and conclude from it."""
        for ask, answer in zip(asks, answers, strict=True):
            self.seen[ask.level].put(ask.start or 0, answer.goodness)
        for wish in self.looked:
            seen = self.seen[wish.level]
            if wish.some is None and wish.first > seen.first:
                seen.look(wish.first)
            elif seen.known.all() and not seen.whole:
                seen.look(self.size)

    def curve(self) -> Curve:
        """What was found."""
        guesses = {s.level: self._sight(s) for s in self.sorted() if s.first}
        stretches = [self._stretch(part) for part in self.parts]
        return concluded(self.asked, self.sorted(), guesses, stretches, self.settled)

    def sorted(self) -> list[Seen]:
        """By level."""
        return [self.seen[level] for level in sorted(self.seen)]

    def _wishes(self) -> Iterator[list[LevelRequest]]:
        """What is worth a look, the most pressing first."""
        yield [wish for part in self.parts for wish in self._bent(part)]
        for part in self.parts:
            for threshold in self.asked.thresholds:
                for target, proof in self._targets(part, threshold):
                    yield self._towards(part, target, proof)
                    yield from self._open(part, target, proof)
                yield from self._inside(part, threshold)
                if self.asked.curvature is not None:
                    yield from self._bends(part, threshold)
                yield self._loose_ends(part, threshold)
                yield self._doubtful(part, threshold)

    def _targets(self, part: Segment, threshold: float) -> list[tuple[float, tuple[bool, ...]]]:
        """Means to find the levels of, and on which side of them all inputs must be known."""
        error, counts = self.terms.spend(math.nan), self.terms.counts
        slack = self._expected(part)
        up, down = targets(threshold, self.size, self.scope, error, slack, counts=counts)
        if up == down:
            return [(up, (True, False))]
        found: list[tuple[float, tuple[bool, ...]]] = [(up, (True,)), (down, (False,))]
        return found if threshold >= HALF else found[::-1]

    def _stretch(self, part: Segment) -> Stretch:
        wiggle, bends = self._slack(part) / self.size, self.asked.curvature is not None
        way = None if bends else falls([s.point for s in self._in(part)], wiggle)
        return Stretch(part.low, part.high, wiggle, way)

    def _slack(self, part: Segment) -> int:
        if self.asked.curvature is not None:
            return 0
        return slack_of(self._in(part), self.asked.thresholds, self.span / 8)

    def _expected(self, part: Segment) -> int:
        slack, told = self._slack(part), not self.exact or self.asked.curvature is not None
        return slack if told else expected(self._in(part), self.asked.thresholds, slack)

    def _bent(self, part: Segment) -> list[LevelRequest]:
        """Middles of cells of the scan in which the curve, bending as it does, may cross."""
        sights = [self._sight(self.seen[level]) for level in sorted(self.scan) if level in part]
        middles = [part.middle(a.level, b.level) for a, b in hiding(sights, self.asked.thresholds)]
        return [LevelRequest(level, self.terms.few) for level in middles if level not in self.seen]

    def _towards(self, part: Segment, target: float, sides: tuple[bool, ...]) -> list[LevelRequest]:
        """The first looks for a crossing: around where the scan seems to meet the target."""
        firm = [s.side(target) for s in self._in(part) if s.side(target) is not None]
        sights = [self._sight(s) for s in self._in(part) if s.first]
        seems = {s.value >= target for s in sights}
        if len(set(firm)) == 2 or len(seems) < 2:
            return []
        if self.exact:
            goal, within = self._goal(part, target, sides), Interval(part.low, part.high)
            return closing(part, self._in(part), within, self._sight, goal)
        return [] if self.turns[part.low, target] >= _TRIES else self._around(part, sights, target)

    def _open(
        self, part: Segment, target: float, sides: tuple[bool, ...]
    ) -> Iterator[list[LevelRequest]]:
        """Looks between two neighbours on different sides of a target."""
        firm = [s for s in self._in(part) if s.side(target) is not None]
        for a, b in pairwise(firm):
            if a.side(target) == b.side(target) or b.level - a.level <= self.narrow:
                continue
            if self.exact:
                goal, here = self._goal(part, target, sides), Interval(a.level, b.level)
                yield closing(part, self._in(part), here, self._sight, goal)
                continue
            within = [s for s in self._in(part) if a.level < s.level < b.level]
            begun = [LevelRequest(s.level, self.size) for s in within if s.level in self.pursued]
            sights = [self._sight(s) for s in (a, *within, b) if s.first]
            yield begun or self._around(part, sights, target)

    def _inside(self, part: Segment, threshold: float) -> Iterator[list[LevelRequest]]:
        """Where wiggles keep a stretch open: the crossing by inputs that differ, as a guess."""
        if not self.exact or not self._slack(part):
            return
        target = middle(self.asked, threshold)
        found, goal = supposed(self._in(part)), Goal(target, (), _VALUE * self.narrow)
        full = [s.level for s in self._in(part) if s.full((threshold,)) and s.level in found]
        for a, b in pairwise(End(level, found[level].values) for level in full):
            if (a.mean >= target) != (b.mean >= target):
                yield guessed(part, (a, b), self._in(part), goal)

    def _goal(self, part: Segment, target: float, sides: tuple[bool, ...]) -> Goal:
        """How closely to catch a crossing: wiggles blur it, and need not be followed."""
        close, near = self.narrow / 2, self._expected(part)
        if len(sides) == 2 or not self.exact:
            return Goal(target, sides, close, beyond=target)
        first = sides[0] == (target >= HALF)
        beyond = target + first * (-2 if sides[0] else 2) * near / self.size
        inputs = (_BLUR + near) / self.size
        scanned = [s for s in self._in(part) if s.first]
        above = [self._sight(s).value >= target for s in scanned]
        return Goal(target, sides, 2 * close, inputs, beyond, against(scanned, above))

    def _around(self, part: Segment, sights: Sequence[Sight], target: float) -> list[LevelRequest]:
        turn = self.turns[part.low, target]
        self.turns[part.low, target] += 1
        inside = Interval(sights[0].level, sights[-1].level)
        near = [
            part.nearest(at, inside) for at in around(sights, target, self.narrow, turn, self.size)
        ]
        levels = dict.fromkeys(level for level in near if level is not None)
        self.pursued.update(levels)
        return [LevelRequest(level, self.size) for level in levels]

    def _bends(self, part: Segment, threshold: float) -> Iterator[list[LevelRequest]]:
        """Between two alike whose parabola may cross: look more closely at one, or between."""
        firm = [s for s in self._in(part) if s.side(threshold) is not None]
        for a, b in pairwise(firm):
            wide = b.level - a.level
            if wide <= self.narrow or self.settled(a.point, b.point, threshold):
                continue
            depth = (self.asked.curvature or 0) * (wide / self.span) ** 2 / 4
            loose = min((a, b), key=lambda s: abs(s.value - threshold))
            if depth < abs(loose.value - threshold) / 2 and not loose.whole:
                yield [LevelRequest(loose.level, loose.later[0])]
            elif (level := part.middle(a.level, b.level)) not in self.seen:
                once = self.scope is Over.POPULATION and level not in self.terms.scan
                yield [LevelRequest(level, self.size if once else self.terms.few)]
            elif not self.seen[level].whole:
                yield [LevelRequest(level, self._enough(self.seen[level]))]

    def _loose_ends(self, part: Segment, threshold: float) -> list[LevelRequest]:
        """The ends of a segment, unless a crossing inside tells their sides."""
        sides = self._sides(part, threshold)
        return [
            LevelRequest(end, self._enough(self.seen[end]))
            for end in (part.low, part.high)
            if end not in sides and not self.seen[end].whole
        ]

    def _doubtful(self, part: Segment, threshold: float) -> list[LevelRequest]:
        """Levels that look as if they lay on another side than their neighbours say, or that lie
        where a wide part of the range is open and are too close to the threshold to tell.
        """
        sides = self._sides(part, threshold)
        cell = (part.high - part.low) * len(self.parts) / _CELLS
        found = []
        for seen in self._in(part):
            if seen.whole or not seen.first or seen.side(threshold) is not None:
                continue
            before = [(level, side) for level, side in sides.items() if level <= seen.level][-1:]
            after = [(level, side) for level, side in sides.items() if level >= seen.level][:1]
            sight = self._sight(seen)
            clear = (sight.value - threshold) / sight.doubt
            if before and after and before[0][1] == after[0][1]:
                by = by_a_crossing(seen.level, sides, 1.5 * cell)
                if (clear if before[0][1] else -clear) < (0 if by else _CLEAR):
                    found.append(LevelRequest(seen.level, seen.later[0]))
            elif abs(clear) < _CLEAR:
                left = before[0][0] if before else part.low
                if (after[0][0] if after else part.high) - left > 1.5 * cell:
                    found.append(LevelRequest(seen.level, seen.later[0]))
        return found

    def _sides(self, part: Segment, threshold: float) -> dict[float, bool]:
        """On which side levels lie, by themselves or by what follows from going one way."""
        points: Sequence[Point] = [s.point for s in self._in(part)]
        if self.asked.curvature is None:
            points = tightened(points, [self._stretch(part)])
        known = {p.level: p.interval for p in points}
        return {
            level: low_side
            for level, interval in known.items()
            if (low_side := interval.low >= threshold) or interval.high < threshold
        }

    def _sight(self, seen: Seen) -> Sight:
        """The value at a level, corrected by how the same inputs did where more are known."""
        known = [s for s in self.seen.values() if s.whole or s.first >= 3 * seen.first]
        if seen.whole or not known:
            return Sight(seen.level, seen.value, seen.doubt)
        nearest = min(known, key=lambda s: abs(s.level - seen.level))
        differ = seen.values[: seen.first] - nearest.values[: seen.first]
        rest = 1 / seen.first - 1 / self.size
        spread = max(float(differ.var()), 1 / seen.first)
        doubt = math.hypot(math.sqrt(spread * rest), nearest.doubt)
        return Sight(seen.level, nearest.value + float(differ.mean()), doubt)

    def _enough(self, seen: Seen) -> int:
        """How many inputs are likely to decide here."""
        guess = self._sight(seen).value if seen.first else 0.5
        needed = enough(guess, self.asked.thresholds, self.terms.spend(seen.level), self.size)
        if self.exact and seen.first <= self.terms.few:
            needed = min(needed, _BELIEVED * seen.first or self.size)
        return next((n for n in seen.later if n >= min(needed, 0.7 * self.size)), self.size)

    def _in(self, part: Segment) -> list[Seen]:
        return [s for s in self.sorted() if s.level in part]
