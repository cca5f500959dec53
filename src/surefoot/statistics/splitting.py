"""Splitting: a failure probability that is too small to count (Guyader et al. 2011, Walter 2015).

Particles are perturbations. Again and again the lowest ones are replaced, each by a copy of a
particle above it that is then moved by a chain of steps which stays above the level of the one
replaced, until all have failed. If a chain forgets where it began, the number of moves is Poisson
with mean -N·ln p, whatever the model; k at a time as well as one by one, since those above a level
are independent draws from there. docs/decisions/splitting.md has the argument and the simulations.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.core.assumptions import Assumed
from surefoot.core.counts import Chained, Counts, Severities, Steps
from surefoot.core.limits import between, check_fields, limit, whole
from surefoot.core.procedure import Ask, Needs, Session, TimeUp
from surefoot.core.reasons import Reason, Why
from surefoot.core.results import (
    Estimate,
    Guarantee,
    Interval,
    LevelReached,
    NormalFit,
    Particle,
    RareFailure,
    SplittingRun,
    Undecided,
)
from surefoot.statistics.bounds import ERROR, clopper_pearson, shares
from surefoot.statistics.tail import NormalTail

DRAWS = 1000
"""Ordinary trials of an input: the first particles are among them, RoMA is fitted to them, and they
are counted."""
_AT_ONCE = 5
"""One in so many particles of a run is moved at once, which keeps the batches of a model full; up
to two in five the number of moves stayed Poisson (simulated)."""
_LINEAR_SCALE = 0.7
"""Scale of a step over the normal quantile of the level: of a linear severity some 40 % of such
steps are accepted at every level, and at 20 steps a chain keeps 1 % of its rank (simulated)."""
_LEAST_QUANTILE = 0.5
"""Below it, where most perturbations are above the level, steps are as long as they get."""
_MOST_MEMORY = 0.15
"""Of the rank correlation between where chains begin and end. Simulated: up to .12 stated intervals
of 95 % cover in 94 to 97 % of runs, at .2 in 93, at .27 in 32. It does not see every case: steps of
scale .2 instead of .7 left .08, and covered in 84 %."""
_MOST_STILL = 0.5
"""Share of the chains, since each particle was last moved, that accepted no step at all."""
_MOST_TIED = 0.1
"""Share of the particles of a run with the severity of another one: with more the severity has
steps, and moves are not Poisson. By chance it is far less, also in float32."""
_LEAST_PACE = 0.3
"""Of how far levels rose over the last quarter of the moves relative to the one before, at 1e-15:
.8 for a linear severity, .34 in the corner of a cube of 8 dimensions, and falling to 0 where all
that was found stays below the limit. Chosen after a decoy was missed at .05, so that the decoy of
`benchmarks/rare.py` played a part."""
_FALSE_ALARM = 0.001
"""Level of the tests that can contradict the assumption, so that they seldom do by chance."""
_FEW_MOVES = 200
"""Moves below which the ranks of chains say too little: their correlation is off by .07."""
COUNTED_FROM = 1e-4
"""Failure probability from which on counting confirms it in the same run."""
_EXPECTED_FAILURES = 10
"""Of those trials, where splitting is right."""
_TRACED = 40
"""Levels of a run that a record keeps, for its figure."""
_NEGLIGIBLE = 0.05
"""Share of the mean that the inputs which were left early may have, all of them together."""


_USUAL = "leave it out for the usual number"
_ABOUT = limit(
    ("each", "these").__contains__,
    "be each or these",
    "every input by itself, or the mean over them",
    "{!r}",
)


@dataclass(frozen=True)
class Splitting:
    """The failure probability of each input by splitting, in independent runs.

    An input whose failure probability is below `least`, if the assumption holds, is left there.
    With `about` "these" the mean over the inputs is what counts: an input is left as soon as it
    cannot contribute to it.
    """

    particles: int = field(default=50, metadata=whole(10, _USUAL))
    runs: int = field(default=4, metadata=whole(2, _USUAL))
    chain: int = field(default=20, metadata=whole(1, _USUAL))
    error: float = field(default=0.05, metadata=ERROR)
    least: float = field(default=1e-15, metadata=between(1e-100, 1, "try 1e-15", least=1e-100))
    about: str = field(default="each", metadata=_ABOUT)
    evidence: ClassVar[type[Severities]] = Severities
    needs: ClassVar[Needs] = Needs.SPLITTING

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def walkers(self) -> int:
        """Particles of all runs together."""
        return self.particles * self.runs

    def under(self, level: float) -> Ascent:
        """The procedure of one input, whose perturbation has this level."""
        return Ascent(self, level)

    def interval(self, moves: int, error: float, *, reached: bool = True) -> Interval:
        """Of p, from so many moves; no lower end where not all particles had failed by then."""
        return poisson_interval(moves, self.walkers, error, reached=reached)


def poisson_interval(moves: int, walkers: int, error: float, *, reached: bool = True) -> Interval:
    """The exact interval of a Poisson mean -walkers·ln p, as one for p.

    Of a run that was left the moves so far are a lower bound of all, whenever it was: so is the
    lower end of the mean.
    """
    from scipy.special import gammaincinv

    least = float(gammaincinv(moves, error / 2)) if moves else 0.0
    most = float(gammaincinv(moves + 1, 1 - error / 2)) if reached else math.inf
    return Interval(math.exp(-most / walkers), math.exp(-least / walkers))


class _Move(NamedTuple):
    """A particle that is replaced, by which one, above which severity, by what steps.

    `others` are the severities above it, in order, among which `begun` is that of the one copied.
    """

    run: _Run
    place: int
    parent: Particle
    above: float
    scale: float
    others: list[float]
    begun: int


@dataclass(slots=True)
class _Run:
    """The particles of one run: their severities and names, and the levels that they have left."""

    severity: NDArray[np.float64]
    particles: list[Particle]
    random: np.random.Generator
    left: list[float] = field(default_factory=list)

    @property
    def moves(self) -> int:
        return len(self.left)

    def choose(self, limit: float) -> Iterator[_Move | None]:
        """The lowest particles that have not failed; None where no other one is above."""
        number = len(self.particles)
        order = np.argsort(self.severity, kind="stable").tolist()
        ranked = self.severity[order].tolist()
        scale = _scale_at(self.moves / number)
        for place, above in zip(order[: max(1, number // _AT_ONCE)], ranked, strict=False):
            if above >= limit:
                return
            first = bisect_right(ranked, above)
            if first == number:
                yield None
                return
            begun = int(self.random.integers(first, number))
            parent = self.particles[order[begun]]
            yield _Move(self, place, parent, above, scale, ranked[first:], begun - first)

    @property
    def stalled(self) -> bool:
        """Whether its levels hardly rise any more: they come to an end below the limit."""
        half, last = (self.left[i * self.moves // 4] for i in (2, 3))
        return self.left[-1] - last < _LEAST_PACE * (last - half)

    def tied(self, limit: float) -> int:
        """Particles with the severity of another one; copies are one particle.

        Those that have failed are not moved again, and may have all the same.
        """
        severities = self.severity.tolist()
        if len(set(severities)) == len(severities):
            return 0
        known = dict(zip(self.particles, severities, strict=True))
        return sum(n for value, n in Counter(known.values()).items() if n > 1 and value < limit)


def _scale_at(generations: float) -> float:
    """Of steps where a particle was moved so often: a level of probability exp(-generations)."""
    from scipy.special import ndtri

    quantile = -float(ndtri(math.exp(-generations))) if generations > 0 else -math.inf
    return _LINEAR_SCALE / max(_LEAST_QUANTILE, quantile)


@dataclass(slots=True)
class _Particles:
    """All runs of one input, and what was noticed of their chains."""

    method: Splitting
    draws: NDArray[np.float64]
    limit: float
    trials: int
    runs: list[_Run] = field(init=False)
    begun: list[float] = field(default_factory=list)
    ended: list[float] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        n = self.method.particles
        self.runs = [
            _Run(
                self.draws[r * n : (r + 1) * n].copy(),
                [Particle(trial) for trial in range(r * n, (r + 1) * n)],
                np.random.default_rng([n, r]),
            )
            for r in range(self.method.runs)
        ]

    @property
    def moves(self) -> int:
        return sum(run.moves for run in self.runs)

    @property
    def failed(self) -> bool:
        """Whether all particles have."""
        return all((run.severity >= self.limit).all() for run in self.runs)

    def most(self, error: float) -> float:
        """What the failure probability is at most, whatever is left to do."""
        return self.method.interval(self.moves, error, reached=False).high

    def replace(self, move: _Move, answer: Chained) -> None:
        """Put what the chain came to in the place of the particle."""
        run, place = move.run, move.place
        run.left.append(move.above)
        run.severity[place] = answer.severity
        if "1" in answer.accepted:
            chain = (self.trials, answer.accepted, move.scale)
            run.particles[place] = Particle(move.parent.trial, (*move.parent.chains, chain))
        else:
            run.particles[place] = move.parent
        self.trials += len(answer.accepted)
        self.accepted.append(answer.accepted.count("1"))
        others = len(move.others)
        self.begun.append((move.begun + 0.5) / others)
        self.ended.append(bisect_left(move.others, answer.severity) / others)

    @property
    def memory(self) -> float:
        """Correlation of the ranks where chains began and ended, of particles above their level."""
        if len(self.begun) < _FEW_MOVES:
            return 0.0
        with np.errstate(invalid="ignore"):
            return float(np.nan_to_num(np.corrcoef(self.begun, self.ended)[0, 1], nan=1.0))

    def contradiction(self) -> Reason | None:
        """What shows, so far, that the moves are not Poisson."""
        tied = max(run.tied(self.limit) for run in self.runs)
        if tied > _MOST_TIED * self.method.particles:
            return Why.SEVERITY_TIES.of(tied, self.method.particles)
        still, last = self.accepted[-self.method.walkers :].count(0), self.method.walkers
        if still > _MOST_STILL * last:
            return Why.CHAINS_STALLED.of(still, last)
        return None

    def final_contradiction(self, interval: Interval, counted: Estimate) -> Reason | None:
        """The same of all moves, and of what was counted."""
        from scipy.special import bdtr, bdtrc, chdtrc

        moves = np.array([run.moves for run in self.runs], dtype=np.float64)
        if moves.sum():
            spread = float(((moves - moves.mean()) ** 2).sum() / moves.mean())
            if chdtrc(len(moves) - 1, spread) < _FALSE_ALARM:
                n = self.method.particles
                ends = [math.exp(-m / n) for m in (float(moves.max()), float(moves.min()))]
                return Why.RUNS_DISAGREE.of(len(moves), *ends)
        if not self.failed and any(run.moves and run.stalled for run in self.runs):
            return Why.LEVELS_STALLED.of(self._probability())
        if self.memory > _MOST_MEMORY:
            return Why.CHAINS_REMEMBER.of(self.memory)
        trials = counted.trials
        failed = trials - round(counted.value * trials)
        few = bdtr(failed, trials, interval.low)
        many = bdtrc(failed - 1, trials, interval.high) if failed else 1.0
        if min(few, many) < _FALSE_ALARM / 2:
            return Why.COUNT_DISAGREES.of(failed, trials, interval.low, interval.high)
        return None

    def _probability(self) -> float:
        return math.exp(-self.moves / self.method.walkers)

    def counted(self, draws: NDArray[np.float64]) -> Estimate:
        """What ordinary trials say by themselves, without any assumption."""
        error = self.method.error
        counts = Counts.of(draws, self.limit)
        exact = clopper_pearson(counts, error)
        rate = counts.rate
        return Estimate(rate, exact, Guarantee.sound(error), len(draws), rate, len(draws))

    def to_count(self) -> int:
        """Trials that confirm the result by counting; 0 where it is too small."""
        if self._probability() < COUNTED_FROM:
            return 0
        return max(0, math.ceil(_EXPECTED_FAILURES / self._probability()) - len(self.draws))

    def fit(self) -> NormalFit | None:
        """RoMA's, of the same severities: what it would extrapolate to."""
        roma = Session(NormalTail(len(self.draws), transforms=("none",), error=self.method.error))
        roma.tell(Severities(tuple(self.draws.tolist()), self.limit))
        return next(iter(roma.result.fits), None)

    def result(self, draws: NDArray[np.float64], *, reached: bool) -> RareFailure | Undecided:
        """The probability and its interval, unless something contradicts the assumption."""
        method, counted = self.method, self.counted(draws)
        interval = method.interval(self.moves, method.error, reached=reached)
        if reason := self.final_contradiction(interval, counted):
            return Undecided(reason, self.trials, counted)
        steps = len(self.accepted) * method.chain
        return RareFailure(
            failure=(1 - 1 / method.walkers) ** self.moves if reached else None,
            interval=interval,
            guarantee=Guarantee.given(method.error, (Assumed.CHAINS_MIX,)),
            trials=self.trials,
            moves=self.moves,
            walkers=method.walkers,
            accepted=sum(self.accepted) / steps if steps else 1.0,
            memory=self.memory,
            runs=tuple(self._summary(run, reached=reached) for run in self.runs),
            counted=counted,
            fit=self.fit(),
            limit=self.limit,
        )

    def _summary(self, run: _Run, *, reached: bool) -> SplittingRun:
        n = len(run.particles)
        places = sorted({round(i * (run.moves - 1) / (_TRACED - 1)) for i in range(_TRACED)})
        levels = tuple(
            LevelReached(run.left[m], math.exp(-m / n)) for m in places if 0 <= m < run.moves
        )
        found = run.particles[int(np.argmin(run.severity))] if reached else None
        return SplittingRun(run.moves, len({one.trial for one in run.particles}), levels, found)


_Asks = tuple[Ask, ...]


@dataclass(frozen=True)
class Ascent:
    """`Splitting` of one input at the level of its perturbation: asks for trials and chains."""

    method: Splitting
    level: float
    subject: int = 0

    @property
    def forecast(self) -> int:
        """Trials of an input that is left since it fails too rarely, for who waits for them."""
        return DRAWS + round(self.method.walkers * self.method.chain * -math.log(self.method.least))

    def steps(self) -> Generator[_Asks, list[Any], RareFailure | Undecided]:
        """Draw, move the lowest until all have failed, count where that is possible."""
        method, number = self.method, max(DRAWS, self.method.walkers)
        [drawn] = yield (Ask(self.level, number, 0, subject=self.subject),)
        draws = np.array(drawn.values, dtype=np.float64)
        state = _Particles(method, draws, drawn.limit, number)
        kept = draws[draws < drawn.limit]
        tied = len(kept) - len(np.unique(kept))
        problem = Why.SEVERITY_TIES.of(tied, number) if tied > _MOST_TIED * number else None
        try:
            while not state.failed and not problem:
                if state.most(method.error) < method.least:
                    return state.result(draws, reached=False)
                chosen = [move for run in state.runs for move in run.choose(state.limit)]
                moves = [move for move in chosen if move is not None]
                if len(moves) < len(chosen):
                    problem = Why.SEVERITY_TIES.of(method.particles, method.particles)
                    break
                answers = yield self._asks(moves, state.trials)
                for move, answer in zip(moves, answers, strict=True):
                    state.replace(move, answer)
                problem = state.contradiction()
            if problem:
                return Undecided(problem, state.trials, state.counted(draws))
            if more := state.to_count():
                [drawn] = yield (Ask(self.level, more, state.trials, subject=self.subject),)
                state.trials += more
                draws = np.concatenate([draws, drawn.values])
        except TimeUp:  # left, since others contribute more to the mean
            return state.result(draws, reached=state.failed)
        return state.result(draws, reached=True)

    def _asks(self, moves: Sequence[_Move], trials: int) -> _Asks:
        length = self.method.chain
        return tuple(
            Ask(
                self.level,
                length,
                trials + i * length,
                Steps(move.parent, move.others[move.begun], move.above, move.scale),
                self.subject,
            )
            for i, move in enumerate(moves)
        )


@dataclass(frozen=True)
class MeanFailure:
    """A mean of failure probabilities, and between which numbers it lies."""

    value: float
    interval: Interval


@dataclass(frozen=True)
class SharedAscent:
    """`Splitting` of several inputs for their mean: one is left as soon as it hardly contributes.

    All are moved in turn, so that those which fail most often end first. Once their sum is known,
    the others need not be followed to the end: what they can add is bounded by their moves so far.
    """

    method: Splitting
    level: float
    inputs: int

    @property
    def forecast(self) -> int:
        """Of all inputs, at most: those that hardly contribute are left."""
        return self.inputs * Ascent(self.method, self.level).forecast

    def steps(self) -> Generator[_Asks, list[Any], list[RareFailure | Undecided]]:
        """One question for all inputs that are still open."""
        ascents = [Session(Ascent(self.method, self.level, i)) for i in range(self.inputs)]
        moves = [0] * self.inputs
        while asking := {i: one for i, one in enumerate(ascents) if one.question is not None}:
            answers = iter((yield tuple(a for one in asking.values() for a in one.question or ())))
            for i, one in asking.items():
                own = list(islice(answers, len(one.question or ())))
                moves[i] += sum(isinstance(answer, Chained) for answer in own)
                one.tell(own)
            enough = self._negligible([one.result for one in ascents if one.question is None])
            for i, one in asking.items():
                if one.question is not None and self._most(moves[i]) < enough:
                    one.conclude()
        return [one.result for one in ascents]

    def _negligible(self, results: Sequence[RareFailure | Undecided]) -> float:
        """What an input may contribute and be left: all of them together little of the sum."""
        known = (one for one in results if isinstance(one, RareFailure))
        return _NEGLIGIBLE * sum(one.failure or 0.0 for one in known) / self.inputs

    def _most(self, moves: int) -> float:
        """At the error that an input has in the mean."""
        error = shares(self.method.error, self.inputs)
        return self.method.interval(moves, error, reached=False).high


def mean_failure(results: Sequence[RareFailure], error: float) -> MeanFailure:
    """The mean over these inputs, and an interval in which it lies if all of theirs hold.

    The inputs share the error, each interval taken anew at its part.
    """
    each = [
        poisson_interval(one.moves, one.walkers, shares(error, len(results)),
                         reached=one.failure is not None)
        for one in results
    ]  # fmt: skip
    n = len(each)
    value = sum(one.failure or 0.0 for one in results) / n
    return MeanFailure(value, Interval(sum(e.low for e in each) / n, sum(e.high for e in each) / n))
