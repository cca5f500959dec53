"""The bracket of a critical radius with another program's proofs and our check of its points."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from surefoot.core.counts import closed_to
from surefoot.errors import InvalidArgument, SurefootError
from surefoot.graph.network import Floats
from surefoot.region.proof_limits import OUT_OF_TIME
from surefoot.verify.bracket import BracketResult, Replay
from surefoot.verify.budget import Clock
from surefoot.verify.external_verifier import ExternalVerifier, run_verifier
from surefoot.verify.search_steps import CLOSED, WHOLE_DOMAIN
from surefoot.verify.verdict import Proved, Refuted, Unknown
from surefoot.verify.vnnlib import box_property

# Brackets are true whatever these are; they were chosen by hand and decide how time is spent.
_HALVINGS = 14
"""Halvings of the way from the input to a counterexample: 2⁻¹⁴ of its distance is left."""
_MUCH_NEARER = 0.9
"""A counterexample within this share of the radius asked about is a good one: the next question is
just below it, otherwise the radius is bisected."""
_LEAST_RADIUS_SHARE = 0.1
"""Share of the upper end that is asked about at least, where the tolerance is as large as it."""
_LEAST_STEP_SHARE = 0.25
"""Share of the tolerance by which a question must exceed what is proved."""


@dataclass(eq=False)
class _ExternalState:
    """What is proved, refuted and unknown so far about one input."""

    x: Floats
    label: int
    replay: Replay
    tolerance: float
    largest_radius: float
    proved: float = 0.0
    refuted: float = math.inf
    unknown: float = math.inf
    witness: Floats | None = None
    reason: str = OUT_OF_TIME
    discarded: int = 0
    just_below: bool = True

    def closing_radius(self) -> float:
        """The radius to which a closed bracket must be proved."""
        if not math.isfinite(self.refuted):
            return self.largest_radius
        return max(self.refuted - self.tolerance, _LEAST_RADIUS_SHARE * self.refuted)

    def next_radius(self) -> float | None:
        """The radius to ask about, or nothing when the search is over."""
        top = self.closing_radius()
        if self.proved >= self.largest_radius:
            self.reason = WHOLE_DOMAIN
            return None
        if closed_to(self.proved, self.refuted, self.tolerance):
            self.reason = CLOSED
            return None
        if min(self.unknown, top) - self.proved <= _LEAST_STEP_SHARE * self.tolerance:
            return None
        if self.just_below and top < self.unknown:
            return top
        return (self.proved + min(self.unknown, self.refuted, self.largest_radius)) / 2

    def refute(self, point: Floats) -> None:
        """A counterexample, moved towards the input as far as it stays one."""
        self.witness = _moved_closer(point, self.x, self.label, self.replay)
        # the next larger number, so that the distance is never too small
        self.refuted = float(np.nextafter(np.abs(self.witness - self.x).max(), np.inf))

    def add(self, radius: float, answer: Proved | Refuted | Unknown) -> None:
        """The answer to the question about one radius."""
        if isinstance(answer, Proved):
            self.proved = radius
        elif isinstance(answer, Refuted):
            self.refute(answer.witness)
        else:
            self.unknown, self.reason = radius, answer.reason
            self.discarded += "counterexample" in answer.reason
        self.just_below = isinstance(answer, Proved) or self.refuted < _MUCH_NEARER * radius


def bracket_radius_externally(
    verifier: ExternalVerifier,
    onnx: Path,
    x: NDArray[np.floating],
    label: int,
    classes: int,
    replay: Replay,
    *,
    tolerance: float = 0.002,
    seconds: float = 60.0,
    low: float = 0.0,
    high: float = 1.0,
    witness: Floats | None = None,
    on_bracket: Callable[[float, float], None] | None = None,
    clock: Clock = time.monotonic,
) -> BracketResult:
    """The bracket of the critical radius with another prover: its proofs, our check of its points.

    Like `bracket_radius`, for any ONNX file that the prover reads. `replay` gives the label by the
    model itself; `witness` is a counterexample to begin with. The next question is just `tolerance`
    below the nearest counterexample; where that is refuted again or stays unknown, the radius is
    bisected. `nodes` counts the questions.
    """
    started, flat = clock(), np.asarray(x, np.float64).reshape(-1)
    if not (tolerance > 0 and seconds > 0 and low < high):
        raise InvalidArgument(
            "tolerance and seconds must be above 0 and the valid range an interval, got "
            f"{tolerance}, {seconds} and [{low}, {high}]"
        )
    if replay(flat) != label:
        spent = clock() - started
        return BracketResult(0.0, 0.0, flat, 0, spent, "misclassified", 0, verifier.name)
    largest_radius = float(np.maximum(flat - low, high - flat).max())
    state = _ExternalState(flat, label, replay, tolerance, largest_radius)
    if witness is not None and replay(witness) != label:
        state.refute(witness)
    questions = 0
    while (left := started + seconds - clock()) > 0 and (radius := state.next_radius()) is not None:
        box = box_property(flat, label, radius, classes, low=low, high=high)
        state.add(radius, run_verifier(verifier, onnx, box, left / 2, replay))
        questions += 1
        if on_bracket is not None:
            on_bracket(state.proved, state.refuted)
    if state.proved > state.refuted:
        raise SurefootError(
            f"{verifier.name} proved a radius of {state.proved} although the model as run has "
            f"another label at {state.refuted}: the proof is wrong, or rounding in float32 decides "
            "there, so nothing is reported; use the built-in prover (leave out --verifier)"
        )
    return BracketResult(
        state.proved,
        state.refuted,
        state.witness,
        questions,
        clock() - started,
        state.reason,
        state.discarded,
        verifier.name,
    )


def _moved_closer(point: Floats, x: Floats, label: int, replay: Replay) -> Floats:
    """The point moved towards x by halving, as long as the model gives it another label."""
    unbroken, broken, best = 0.0, 1.0, point
    for _ in range(_HALVINGS):
        middle = (unbroken + broken) / 2
        candidate = (x + middle * (point - x)).astype(np.float32).astype(np.float64)
        if replay(candidate) != label:
            broken, best = middle, candidate
        else:
            unbroken = middle
    return best
