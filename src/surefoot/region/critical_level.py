"""The critical level of an input: how far it can be perturbed before its label can change."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import ClassVar

from surefoot.core.assumptions import Arithmetic, Assumption, Stated
from surefoot.core.counts import Proof, closed_to
from surefoot.core.procedure import Ask, Needs, TimeUp
from surefoot.core.results import Bracket, Footing, Guarantee, Interval
from surefoot.errors import InvalidArgument

DEFAULT_SECONDS = 60.0
"""Seconds for an input where no limit is given: a run over lunch for 100 inputs."""
OUT_OF_TIME, OUT_OF_NODES = "out of time", "out of nodes"
"""Why a proof ended that a limit ended."""
PROVED_AT_GOAL = "proved at the goal"
FIRST_BOUNDS = "first bounds alone: the run ended before a search"
"""Why the first round of all inputs ended."""
LEAST_NODES = 2
"""Nodes of the smallest step of a tree: one neuron split."""
_STOPPED = "stopped after"
_BOUND_SHARE = 0.25
"""Share of the first try's seconds that the first bounds of an input may take. Chosen by hand."""
_FIRST_SECONDS, _LONG_SECONDS = 5.0, 100.0
_FIRST_NODES, _LONG_NODES = 20_000, 400_000
"""The first try, and from which rest on the rest is made in two parts: what a try has proved is in
the store. mnist_relu_3_50 makes about 4,000 nodes a second. Chosen by hand; brackets are true
whatever they are."""


@dataclass(frozen=True)
class ProofLimits:
    """Seconds and nodes of branch and bound; infinite and None where there is no such limit."""

    seconds: float = math.inf
    nodes: int | None = None


def reason_in_words(reason: str, nodes: int) -> str:
    """Why a search ended, with the number of nodes where their limit ended it."""
    if not reason.startswith(OUT_OF_NODES):
        return reason
    return f"{_STOPPED} {nodes:,} nodes{reason.removeprefix(OUT_OF_NODES)}"


def ended_by_limit(reason: str) -> bool:
    """Whether these words say that a limit ended the search."""
    return reason.startswith((OUT_OF_TIME, _STOPPED))


def _parts(whole: float, first: float, long: float) -> tuple[float, ...]:
    """The first part, and the rest in one or two."""
    if whole <= 2 * first:
        return (whole,)
    rest = whole - first
    return (first, rest) if rest <= long else (first, rest / 4, rest * 3 / 4)


NOT_REACHED = Proof(0.0, None, "", "not reached", 0, 0.0)
"""What is known of an input that the run ended before: nothing, which is true."""
_LEFT_ALONE = {
    "refuted at the goal": "no more was asked than a counterexample",
    PROVED_AT_GOAL: "proved as far as was asked",
}


def arithmetic_named(name: str) -> Arithmetic:
    """The arithmetic by its name."""
    try:
        return Arithmetic(name)
    except ValueError:
        raise InvalidArgument(
            f"arithmetic (--arithmetic) must be {' or '.join(Arithmetic)}, got {name!r}",
            option="arithmetic",
            value=name,
        ) from None


@dataclass(frozen=True)
class Proving:
    """What every search for critical levels is asked for."""

    tolerance: float = 0.002
    seconds_per_input: float | None = None
    quantile: float = 0.05
    error: float = 0.05
    samples: int = 200
    needs: ClassVar[Needs] = Needs.RADII
    concludes_early: ClassVar[bool] = True
    evidence: ClassVar[type[Proof]] = Proof

    def _check(self, nodes: int | None) -> None:
        """Refuse what no proof can be asked for; the default time where there is no limit."""
        tolerance, quantile, error = self.tolerance, self.quantile, self.error
        if self.seconds_per_input is None and nodes is None:
            object.__setattr__(self, "seconds_per_input", DEFAULT_SECONDS)
        if not 1e-6 <= tolerance <= 1:
            raise InvalidArgument(
                f"tolerance is the width of a bracket, from 1e-6 to 1, got {tolerance:g}: try 0.002"
            )
        seconds, samples = self.seconds_per_input, self.samples
        if seconds is not None and not 0 < seconds < math.inf:
            raise InvalidArgument(f"seconds for an input: above 0, got {seconds:g}: try 60")
        whole = isinstance(nodes, int) and not isinstance(nodes, bool)
        if nodes is not None and not (whole and nodes >= LEAST_NODES):
            raise InvalidArgument(
                f"nodes_per_input (--nodes-per-input) must be an integer ≥ {LEAST_NODES}, got "
                f"{nodes}: try 2000"
            )
        if not 0 < quantile < 1:
            raise InvalidArgument(f"a quantile lies between 0 and 1, got {quantile:g}: try 0.05")
        if not 1e-9 <= error < 1:
            raise InvalidArgument(
                f"error must lie between 0 and 1, got {error}: it is 1 - confidence, try 0.05"
            )
        if samples < 0:
            raise InvalidArgument(f"samples are at least 0 for a radius, got {samples}: try 200")


def bracket_of(proof: Proof, assumption: Assumption) -> Bracket:
    """What is known of one input, and what that rests on."""
    return Bracket(
        Interval(proof.low, proof.far),
        Guarantee(Footing.CONDITIONAL, 0.0, (assumption,)),
        _LEFT_ALONE.get(proof.reason, reason_in_words(proof.reason, proof.nodes)),
        proof.nodes,
        proof.seconds,
        proof.discarded,
        proof.witness,
    )


@dataclass(frozen=True)
class CriticalLevel(Proving):
    """Prove and attack until the bracket is as narrow as `tolerance`, or a limit is reached.

    That is a limit in seconds of one core, or on a GPU, in nodes of branch and bound, or both: 60
    seconds where neither is given. With a limit in nodes alone, and on a processor, a bracket
    depends on model, input and method only, and not on how fast the machine is.

    First bounds without a search, of many inputs together; a short try, then one or two with the
    rest of the time, each from where the last one ended: what one has proved is kept if the next is
    interrupted, and no input is searched before all have their first bounds. `quantile` and `error`
    are for what is said of the population; `samples` points are drawn within each of some radii, as
    the statistical counterpart. `verifier` is the command of another prover, in place of ours. What
    ours proves holds for the model as it runs in float32, or, with `arithmetic` real, for one that
    computes exactly.
    """

    verifier: str = ""
    nodes_per_input: int | None = None
    arithmetic: Arithmetic | None = Arithmetic.FLOAT32

    def __post_init__(self) -> None:
        named = None if self.verifier else arithmetic_named(self.arithmetic or Arithmetic.FLOAT32)
        if self.verifier and self.arithmetic == Arithmetic.REAL:
            raise InvalidArgument(
                f"arithmetic (--arithmetic) {self.arithmetic}: {self.verifier!r} proves in its own "
                "arithmetic; leave it out",
                option="arithmetic",
                value=self.arithmetic,
            )
        object.__setattr__(self, "arithmetic", named)
        self._check(self.nodes_per_input)
        if self.verifier and self.nodes_per_input is not None:
            raise InvalidArgument(
                f"nodes_per_input (--nodes-per-input) {self.nodes_per_input}: {self.verifier!r} "
                "does not count nodes as the built-in prover does; use seconds_per_input "
                "(--seconds-per-input)"
            )

    @property
    def efforts(self) -> tuple[ProofLimits, ...]:
        """The limits of the first bounds, of a short try and of those with the rest.

        Those in seconds are for all tries so far together. Another prover has no first bounds.
        """
        seconds, nodes = self.seconds_per_input, self.nodes_per_input
        whole = math.inf if seconds is None else seconds
        if nodes is None:
            ends = list(accumulate(_parts(whole, _FIRST_SECONDS, _LONG_SECONDS)))
            first = () if self.verifier else (_BOUND_SHARE * ends[0],)
            return tuple(map(ProofLimits, (*first, *ends)))
        counts = [int(part) for part in _parts(nodes, _FIRST_NODES, _LONG_NODES)]
        counts[-1] = nodes - sum(counts[:-1])
        return (ProofLimits(_BOUND_SHARE * whole), *(ProofLimits(whole, n) for n in counts))

    def steps(self) -> Generator[Ask, Proof, Bracket]:
        """Ask for one try after the other until the bracket is narrow enough, or the time is up."""
        known = NOT_REACHED
        try:
            known = yield Ask(0.0, 1)
            for _ in self.efforts[1:]:
                if closed_to(known.low, known.far, self.tolerance):
                    break
                if self._out_of_time(known):
                    if known.reason == FIRST_BOUNDS:
                        known = replace(known, reason=OUT_OF_TIME)
                    break
                known = known + (yield Ask(0.0, 1, known=known))
        except TimeUp:
            pass  # what is known by now is true
        return bracket_of(known, self.assumption)

    def _out_of_time(self, proof: Proof) -> bool:
        """Whether no time is left; by seconds alone each try has a part of its own."""
        seconds = self.seconds_per_input
        return self.nodes_per_input is not None and seconds is not None and proof.seconds >= seconds

    @property
    def assumption(self) -> Assumption:
        """What a lower end rests on."""
        if self.arithmetic is not None:
            return self.arithmetic.assumed
        return Stated(
            f"the proofs are those of {self.verifier!r}, in its own arithmetic, not checked here"
        )
