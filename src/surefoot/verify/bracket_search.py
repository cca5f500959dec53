"""Critical radius of one input: a bracket with a proved lower end and a counterexample above it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument, SurefootError
from surefoot.graph.network import Floats, Network, margin_question
from surefoot.verify.bracket import BracketResult, BracketState, Replay
from surefoot.verify.budget import Budget, Clock
from surefoot.verify.counterexample_search import attack_problem, points_along_gradient
from surefoot.verify.one_thread import one_blas_thread
from surefoot.verify.search_steps import CLOSED, SearchTask, close_bracket

_ONLY_NETWORK_WRONG = (
    "the model keeps the label of the clean input, the network as read in float64 does not"
)


@one_blas_thread()
def bracket_radius(
    network: Network,
    x: NDArray[np.floating],
    label: int,
    *,
    tolerance: float = 0.002,
    seconds: float = 60.0,
    nodes: int | None = None,
    low: float = 0.0,
    high: float = 1.0,
    goal: float | None = None,
    seed: int = 0,
    replay: Replay | None = None,
    on_bracket: Callable[[float, float], None] | None = None,
    clock: Clock = time.monotonic,
    known: tuple[float, Floats | None] = (0.0, None),
) -> BracketResult:
    """The bracket of the largest L∞ radius, within [low, high], on which `label` is kept.

    It ends after `seconds` on the clock, or after so many `nodes`. With a limit in nodes, and as
    long as the clock does not end it, the bracket does not depend on the speed of the machine.
    With a `goal` the search ends as soon as it is known on which side of that radius the input
    lies. `replay` asks the model itself for the label of a counterexample; what it does not confirm
    is not one. `known` is what an earlier search has proved, and its counterexample. An input that
    the model misclassifies has the bracket (0, 0); where only the network as read does, nothing is
    proved.
    """
    started = clock()
    flat = _checked_input(network, x, low, high)
    _check_limits(tolerance, seconds, nodes, goal)
    on_change = on_bracket or (lambda proved, refuted: None)
    bracket = BracketState(network, flat, label, (low, high), replay, on_change)
    label_here = network.label(flat)
    if (label_here if replay is None else replay(flat)) != label:
        return BracketResult(0.0, 0.0, flat, 0, clock() - started, "misclassified")
    if known[1] is not None:
        bracket.try_counterexample(np.asarray(known[1], np.float64))
    question = margin_question(network, label)
    problem = attack_problem(question, flat, low, high)
    largest_radius = float(np.maximum(flat - low, high - flat).max())
    if label_here != label:
        points = points_along_gradient(problem, largest_radius)
        any(bracket.try_counterexample(point) for point in points)
        return bracket.result(_ONLY_NETWORK_WRONG, clock() - started)
    bracket.record_proof(known[0])
    task = SearchTask(
        question,
        problem,
        bracket,
        tolerance,
        None if goal is None else min(goal, largest_radius),
        largest_radius,
        Budget(clock, started + seconds, nodes, lambda: bracket.nodes, len(question.rows)),
    )
    reason = close_bracket(task, np.random.default_rng(seed))
    if bracket.low > bracket.high:
        raise SurefootError(
            f"a proof up to {bracket.low} contradicts a counterexample at {bracket.high}: one of "
            "them is wrong, so neither is reported; please report it with the network"
        )
    if bracket.discarded and reason != CLOSED:
        reason += f"; {bracket.discarded} counterexamples here were not confirmed by the model"
    return bracket.result(reason, clock() - started)


def _checked_input(network: Network, x: NDArray[np.floating], low: float, high: float) -> Floats:
    """The input as one flat row of float64."""
    flat = np.asarray(x, np.float64).reshape(-1)
    if flat.size != network.layers[0].weights.shape[1]:
        raise InvalidArgument(
            f"the network takes one input of shape {network.shape}, got {np.shape(x)}"
        )
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidArgument(
            f"the valid range must have finite ends, the lower first, got [{low}, {high}]"
        )
    if not ((flat >= low) & (flat <= high)).all():
        raise InvalidArgument(
            f"the input has values from {flat.min():g} to {flat.max():g}, outside the valid range "
            f"[{low}, {high}]: pass the range of the data as low and high"
        )
    return flat


def _check_limits(tolerance: float, seconds: float, nodes: int | None, goal: float | None) -> None:
    limits = {"tolerance": tolerance, "seconds": seconds, "nodes": nodes, "goal": goal}
    for name, value in limits.items():
        if value is not None and not value > 0:
            raise InvalidArgument(f"{name} must be above 0, got {value}")
