"""The quantile of the critical level, with no more proofs than it needs."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace

from surefoot.core.assumptions import Arithmetic, Assumption
from surefoot.core.counts import Proof
from surefoot.core.limits import Limit, check_fields, limit
from surefoot.core.procedure import Ask, TimeUp
from surefoot.core.results import Bracket, Quantile, Undecided
from surefoot.population.quantile import QuantileWithin, ShortestRanks
from surefoot.region import critical_level
from surefoot.region.critical_level import NOT_REACHED, ProofLimits, bracket_of
from surefoot.statistics.ranks import Ranks, shortest

Tried = set[tuple[float, int | None]]
Step = Generator[tuple[Ask, ...], list[Proof], None]
_LEAST_PROOF = 0.1
"""Part of a counterexample's distance up to which a proof is always asked for, however coarse the
tolerance."""
_PILOT_INPUTS = 20
"""Inputs that are attacked without a proof before, to see where the quantile lies. Few, because an
attack takes as long as twenty bounds (.14 against .007 s on a network of two layers of 256)."""
_NOT_PROVED = "refuted at the goal"
"""Why an input has no proof: a short attack refuted it, and no rank needed more."""
_BRACKET_PARTS = 4
"""A bracket may take one part in four of the width asked for. More inputs must make up for it, and
their number grows with the inverse square of the width that is left."""
_PROOFS_PER_GLANCE = 0.25
"""For the forecast alone: .04 of 7,044 images of mnist-net_256x2, .44 of 600."""
_ROUNDING = 1e-9
"""Share of the width that rounding may take."""
_SHORT_NODES = 1
"""Nodes to see whether an input is robust beyond the quantile: a bound and an attack count none,
and one is too few for a tree. A limit in seconds would leave slow machines without the attack."""


@dataclass(frozen=True)
class CriticalQuantileResult:
    """The quantile, and the brackets of the inputs it comes from, in order."""

    brackets: tuple[Bracket, ...]
    quantile: Quantile | Undecided


def _radius(way_out: str) -> Limit:
    return limit(lambda x: 0 < x < math.inf, "be a radius above 0", way_out, "{:g}")


@dataclass(frozen=True)
class CriticalQuantile(critical_level.Proving):
    """Settle on which side of a radius each input lies, as far as the quantile asks for it.

    Of n inputs, the i-th and the j-th smallest critical radius enclose the quantile. A few inputs
    are attacked first. Of the others nearly all are proved at a glance beyond the radius that these
    put the upper end at, and need no attack; the rest are attacked, and the j-th nearest
    counterexample is the upper end. The lower end is the i-th nearest less `tolerance`, once all
    inputs but i - 1 are proved that far; the same for the rank in the middle, which gives the
    estimate. Which inputs are asked for what does not matter for the guarantee: every bracket is
    true, and the ranks depend on the number of inputs alone.

    With `within` it takes inputs in their order, which must be random, until the quantile is known
    to ± `within`, and the error covers every number of inputs it may stop at. With a `goal` the
    lower end is sought there, as a requirement wants it. `size` is the number of inputs there are
    and `top` the widest radius: the study sets both. A glance at input i is trial i, a proof trial
    i + `size`.
    """

    within: float | None = field(default=None, metadata=_radius("try 0.005"))
    goal: float | None = field(default=None, metadata=_radius("try 8/255"))
    size: int = 0
    top: float = 1.0
    nodes_per_input: int | None = None
    arithmetic: Arithmetic = Arithmetic.FLOAT32

    def __post_init__(self) -> None:
        arithmetic = critical_level.arithmetic_named(self.arithmetic)
        object.__setattr__(self, "arithmetic", arithmetic)
        self._check(self.nodes_per_input)
        check_fields(self)

    @property
    def assumption(self) -> Assumption:
        """What a lower end rests on."""
        return self.arithmetic.assumed

    @property
    def efforts(self) -> tuple[ProofLimits, ...]:
        """The limits of a glance, and of a proof."""
        seconds, nodes = self.seconds_per_input, self.nodes_per_input
        most = math.inf if seconds is None else seconds
        return (ProofLimits(most, _SHORT_NODES), ProofLimits(most, nodes))

    @property
    def forecast(self) -> int:
        """About how many questions there will be: a glance at each input, and some proofs."""
        return math.ceil((1 + _PROOFS_PER_GLANCE) * self.size)

    @property
    def _gap(self) -> float:
        """How far below a counterexample a proof is asked for."""
        within = math.inf if self.within is None else self.within
        return min(self.tolerance, within / _BRACKET_PARTS)

    def steps(self) -> Generator[tuple[Ask, ...], list[Proof], CriticalQuantileResult]:
        """Ask about inputs, some at a time, until the quantile is known as well as it can be."""
        known, tried = list[Proof](), Tried()
        if self.within is None:
            ranks = shortest(self.size, self.quantile, self.error)
            yield from self._settle_in_time(known, tried, self.size, ranks)
            local = self._brackets(known)
            estimator = ShortestRanks(self.quantile, self.error)
            return CriticalQuantileResult(local, estimator.conclude(local, self.error))
        rule = QuantileWithin(self.within, self.quantile, self.error, self.size)
        for size, ranks in zip(rule.sizes, rule.ranks, strict=True):
            ended = yield from self._settle_in_time(known, tried, size, ranks)
            quantile = rule.conclude(self._brackets(known), ranks)
            if ended or not quantile.note:
                break
        return CriticalQuantileResult(self._brackets(known), quantile)

    def _settle_in_time(
        self, known: list[Proof], tried: Tried, size: int, ranks: Ranks
    ) -> Generator[tuple[Ask, ...], list[Proof], bool]:
        """Settle them; whether the time was up before: of the inputs left nothing is known then."""
        try:
            yield from self._settle(known, tried, size, ranks)
        except TimeUp:
            known += [NOT_REACHED] * (size - len(known))
            return True
        return False

    def _settle(self, known: list[Proof], tried: Tried, size: int, ranks: Ranks) -> Step:
        """Glance at the inputs that are new, then ask for what the ranks need.

        No question is put twice in a run: of each a store keeps one answer.
        """

        def answers(*asks: Ask) -> Generator[tuple[Ask, ...], list[Proof], list[Proof]]:
            tried.update((ask.level, ask.start) for ask in asks)
            return (yield asks)

        if pilot := range(len(known), min(size, _PILOT_INPUTS)):
            known += yield from answers(*(Ask(self.top, 1, i, NOT_REACHED) for i in pilot))
        while len(known) < size:  # twice as many each time, with a better radius
            beyond, upto = self._beyond(known, ranks.high / size), min(2 * len(known), size)
            known += yield from answers(*(Ask(beyond, 1, i) for i in range(len(known), upto)))
        while asks := self._needed(known, tried, ranks):
            for ask, proof in zip(asks, (yield from answers(*asks)), strict=True):
                i = (ask.start or 0) % self.size
                known[i] = known[i] + proof

    def _beyond(self, known: Sequence[Proof], share: float) -> float:
        """A radius that is likely beyond the `share`-quantile, by a standard deviation."""
        fars = sorted(proof.far for proof in known if math.isfinite(proof.far))
        below = min(share, 1.0) * len(known)
        place = math.ceil(below + math.sqrt(below)) - 1
        return min(fars[min(place, len(fars) - 1)], self.top) if fars else self.top

    def _needed(self, known: Sequence[Proof], tried: Tried, ranks: Ranks) -> list[Ask]:
        """Which inputs must be attacked, or else proved how far, by what is known so far.

        A glance that neither proved nor refuted is not taken twice: its input is to be proved.
        """
        order = sorted(range(len(known)), key=lambda i: (known[i].far, i))
        glances = self._glances(known, order, ranks.high)
        if new := [ask for ask in glances if (ask.level, ask.start) not in tried]:
            return new
        aims: dict[int, float] = {}
        if self.within is not None and len(known) < self.size:
            # what is proved of these inputs matters only if it ends the run
            low, high = (self._far(known, order, rank) for rank in (ranks.low, ranks.high))
            enough = high - (2 - _ROUNDING) * self.within
            if enough <= low - self._gap / 2:  # nearer to a counterexample a proof takes long
                aims[ranks.low] = max(enough, self._aim(low, last=True))
        else:
            for rank in (ranks.low, math.ceil(self.quantile * len(known) - 1e-9)):
                if 1 <= rank <= len(known):
                    far = self._far(known, order, rank)
                    aims[rank] = self._aim(far, last=rank == ranks.low)
        asks = []
        for place, i in enumerate(order, start=1):
            radius = max((aim for rank, aim in aims.items() if rank <= place), default=0.0)
            if known[i].low < radius < known[i].far and not self._used_up(known[i]):
                asks.append(Ask(radius, 1, i + self.size, known[i]))
        return [ask for ask in asks if (ask.level, ask.start) not in tried]

    def _glances(self, known: Sequence[Proof], order: Sequence[int], rank: int) -> list[Ask]:
        """Inputs without a counterexample that may be nearer than the upper end is.

        While there is no upper end, all of them, at twice the radius they are proved to.
        """
        if rank > len(known):
            return []
        end, asks = known[order[rank - 1]].far, []
        for i in order:
            low = known[i].low
            if math.isinf(known[i].far) and low < min(end, self.top):
                radius = end if math.isfinite(end) else 2 * low or self.top
                asks.append(Ask(min(radius, self.top), 1, i, known[i]))
        return asks

    @staticmethod
    def _far(known: Sequence[Proof], order: Sequence[int], rank: int) -> float:
        """The counterexample of a rank; before the first 0, after the last infinite."""
        if rank > len(order):
            return math.inf
        return known[order[rank - 1]].far if rank else 0.0

    def _aim(self, high: float, *, last: bool) -> float:
        """How far to prove where the nearest counterexample is at `high`."""
        if last and self.goal is not None and self.goal < high:
            return self.goal
        return self.top if math.isinf(high) else max(high - self._gap, _LEAST_PROOF * high)

    def _used_up(self, proof: Proof) -> bool:
        """Whether a limit of this input is reached."""
        seconds, nodes = self.seconds_per_input, self.nodes_per_input
        out_of_time = seconds is not None and proof.seconds >= seconds
        return out_of_time or (
            nodes is not None and proof.nodes > nodes - critical_level.LEAST_NODES
        )

    def _brackets(self, known: Sequence[Proof]) -> tuple[Bracket, ...]:
        """What is known of each input; a glance that ended did not reach a limit."""
        return tuple(
            bracket_of(
                replace(proof, reason=_NOT_PROVED)
                if proof.reason in (critical_level.OUT_OF_TIME, critical_level.OUT_OF_NODES)
                and not self._used_up(proof)
                else proof,
                self.assumption,
            )
            for proof in known
        )
