"""Critical ε of one input: a bracket with a proved lower end and a counterexample as upper end.

The order of work (after Bosman et al. 2023, but without a grid of radii): an attack gives an upper
end; one proof tree is grown just `tolerance` below it, and starts anew when it meets a nearer
counterexample; if time runs short, proofs at smaller radii raise the lower end as far as they can.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument, SurefootError
from surefoot.graph.network import Floats, Network, Question, keeps
from surefoot.verify.box import Box
from surefoot.verify.bracket import Bracket, BracketResult, Replay
from surefoot.verify.branch_and_bound import DEFAULT, PATIENT, Growth, bound, grow
from surefoot.verify.counterexample_search import (
    Effort,
    Target,
    nearby,
    nearer,
    outwards,
    target_of,
)
from surefoot.verify.layer_bounds import OutOfTime, look
from surefoot.verify.margin_descent import Singles
from surefoot.verify.node_pool import roots
from surefoot.verify.time_forecast import Climb, Pace, Spent

Clock = Callable[[], float]

_HASTE = 0.03
_PATIENCE = 0.15
_SHARE = 0.85
_CLOSING = 0.9
_FARTHER = 8.0
_A_LOOK = 0.1
"""Shares of the time: for a first try, for one whose end is not foreseen, for a tree at a smaller
radius, for one that would close the bracket. Then how many times the last a tree may take, and the
seconds of a look without branching."""
_STRONGER = Effort(rounds=16, steps=50, targets=5, starts=4)
_ODDS = "the model keeps the label of the clean input, the network as read in float64 does not"


@dataclass(frozen=True, eq=False)
class _Task:
    """One input and what is wanted of it."""

    question: Question
    target: Target
    bracket: Bracket
    tolerance: float
    goal: float | None
    reach: float
    left: Callable[[], float]

    def reason(self) -> str | None:
        """Why nothing more is to be done, if so."""
        low, high = self.bracket.low, self.bracket.high
        if low >= self.reach:
            return "proved for the whole domain"
        if self.goal is None and high - low <= self.tolerance * (1 + 1e-6):
            return "closed"
        if self.goal is not None and low >= self.goal:
            return "proved at the goal"
        if self.goal is not None and high <= self.goal:
            return "refuted at the goal"
        return "out of time" if self.left() <= 0 else None

    def box(self, radius: float) -> Box:
        bracket = self.bracket
        return Box(bracket.x, radius, bracket.domain[0], bracket.domain[1])


def critical(
    network: Network,
    x: NDArray[np.floating],
    label: int,
    *,
    tolerance: float = 0.002,
    seconds: float = 60.0,
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

    With a `goal` the search ends as soon as it is known on which side of that radius the input
    lies. `replay` asks the model itself for the label of a counterexample; what it does not confirm
    is not one. What an earlier search has proved and found may be `known`. An input that the model
    misclassifies has the bracket (0, 0); where only the network as read does, nothing is proved.
    """
    started = clock()
    flat = _checked(network, x, tolerance, seconds, low, high, goal)
    bracket = Bracket(network, flat, label, (low, high), replay, on_bracket or (lambda a, b: None))
    here = network.label(flat)
    if (here if replay is None else replay(flat)) != label:
        return BracketResult(0.0, 0.0, flat, 0, clock() - started, "misclassified")
    if known[1] is not None:
        bracket.offer(np.asarray(known[1], np.float64))
    question = keeps(network, label)
    target = target_of(question, flat, low, high)
    reach = float(np.maximum(flat - low, high - flat).max())
    if here != label:
        any(bracket.offer(point) for point in outwards(target, reach))
        return bracket.result(_ODDS, clock() - started)
    bracket.prove(known[0])
    task = _Task(
        question,
        target,
        bracket,
        tolerance,
        None if goal is None else min(goal, reach),
        reach,
        lambda: started + seconds - clock(),
    )
    reason = _settle(task, np.random.default_rng(seed))
    if bracket.low > bracket.high:
        raise SurefootError(
            f"a proof up to {bracket.low} contradicts a counterexample at {bracket.high}: one of "
            "them is wrong, so neither is reported; please report it with the network"
        )
    if bracket.discarded and reason != "closed":
        reason += f"; {bracket.discarded} counterexamples here were none of the model's"
    return bracket.result(reason, clock() - started)


def _checked(
    network: Network,
    x: NDArray[np.floating],
    tolerance: float,
    seconds: float,
    low: float,
    high: float,
    goal: float | None,
) -> Floats:
    flat = np.asarray(x, np.float64).reshape(-1)
    if flat.size != network.layers[0].weights.shape[1]:
        raise InvalidArgument(
            f"the network takes {network.shape}, got an input of {np.shape(x)}: give one input"
        )
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidArgument(f"the domain must be an interval of finite ends, got [{low}, {high}]")
    if not ((flat >= low) & (flat <= high)).all():
        raise InvalidArgument(
            f"the input lies outside its domain [{low}, {high}]: say the right domain"
        )
    if not (tolerance > 0 and seconds > 0 and (goal is None or goal > 0)):
        raise InvalidArgument(
            f"tolerance, seconds and goal must be above 0, got {tolerance}, {seconds} and {goal}"
        )
    return flat


class _Shot(Enum):
    """How a tree ended."""

    NEARER = "a nearer counterexample made it pointless"
    COMPLETE = "nothing is left to branch on"
    LATE = "its time was over"


def _settle(task: _Task, rng: np.random.Generator) -> str:
    bracket = task.bracket
    if task.goal is not None and task.goal < task.reach and bracket.witness is None:
        _prove_without_branching(task, task.goal)  # most inputs need no attack there
        if (reason := task.reason()) is not None:
            return reason
    if task.goal is None or bracket.witness is None:
        _offer(task, nearby(task.target, task.reach, Effort(), rng))
    begun = task.left()
    ended, tree = _direct(task, _HASTE * begun)
    if task.reason() is None and ended is _Shot.LATE:
        before = bracket.high
        _search_again(task, rng)
        if bracket.high < before or tree.seconds < task.left():
            ended, tree = _direct(task, _HASTE * begun)
    if task.reason() is None:
        _rise_without_branching(task)
    if task.reason() is None and ended is _Shot.COMPLETE:
        return _tied(bracket)
    return task.reason() or _rise(task, tree, _HASTE * begun, rng)


def _tied(bracket: Bracket) -> str:
    return f"beyond {bracket.low:.6g} a tie is neither proved nor refuted in float64"


def _direct(task: _Task, patience: float) -> tuple[_Shot, Spent]:
    """Trees where the question is: at the goal, or as far below the upper end as asked."""
    ended, tree = _Shot.NEARER, Spent(_below_high(task), math.inf)
    while task.reason() is None and ended is _Shot.NEARER:
        radius = _below_high(task) if task.goal is None else task.goal
        spare = 0.0 if task.goal is not None else min(task.tolerance, task.bracket.high - radius)
        ended, tree = _shot(task, radius, spare, patience)
    return ended, tree


def _search_again(task: _Task, rng: np.random.Generator) -> None:
    for search in (nearby, nearer):
        _offer(task, search(task.target, min(task.reach, task.bracket.high), _STRONGER, rng))


def _offer(task: _Task, point: Singles | None) -> None:
    if point is not None:
        task.bracket.offer(point.astype(np.float64))


def _below_high(task: _Task) -> float:
    """The radius a closed bracket must be proved to."""
    if math.isinf(task.bracket.high):
        return task.reach
    return max(task.bracket.high - task.tolerance, 0.1 * task.bracket.high)


def _shot(
    task: _Task, radius: float, spare: float, patience: float, growth: Growth = DEFAULT
) -> tuple[_Shot, Spent]:
    """Grow one tree at a radius.

    After `patience` seconds it goes on only as long as it is likely to close in the time left.
    """
    bracket, begun, pace = task.bracket, task.left(), Pace()

    def told(low: float) -> None:
        pace.mark(begun - task.left(), low)
        bracket.prove(low)

    def expired() -> bool:
        left = task.left()
        spent = begun - left
        return left <= 0 or (spent > patience and pace.total(spent, radius) > spent + left)

    try:
        scene = look(task.question, task.box(radius), expired)
    except OutOfTime:
        return _Shot.LATE, Spent(radius, math.inf, begun - task.left())
    grown = grow(scene, task.target, bracket, spare, task.tolerance, expired, growth, told)
    bracket.nodes += grown.nodes
    bracket.prove(grown.low)
    spent = max(begun - task.left(), 1e-3)
    if grown.closed:
        return _Shot.COMPLETE, Spent(radius, spent)
    pointless = bracket.high <= radius or bracket.high - spare < radius - 0.1 * task.tolerance
    return (
        _Shot.NEARER if pointless and task.left() > 0 else _Shot.LATE,
        Spent(radius, pace.total(spent, radius), spent),
    )


def _rise_without_branching(task: _Task) -> None:
    """Raise the lower end by bisection with bounds alone."""
    bracket = task.bracket
    top = min(bracket.high, task.reach)
    for _ in range(6):
        if top - bracket.low < 0.15 * task.tolerance or task.left() <= 0:
            return
        middle = (bracket.low + top) / 2
        if _prove_without_branching(task, middle) < middle:
            top = middle


def _prove_without_branching(task: _Task, radius: float) -> float:
    """How far one bound on the box of this radius proves; 0 if there is no time for it."""
    try:
        scene = look(task.question, task.box(radius), lambda: task.left() <= 0)
    except OutOfTime:
        return 0.0
    nodes, _ = bound(scene, roots(scene), DEFAULT.root_steps, DEFAULT.rates)
    proved = float(nodes.radius.min())
    task.bracket.prove(proved)
    return proved


def _rise(task: _Task, hard: Spent, least: float, rng: np.random.Generator) -> str:
    """Trees at radii that the time left is likely to pay for; the lower end only rises."""
    bracket, growth = task.bracket, DEFAULT
    climb = Climb([Spent(bracket.low, _A_LOOK)], hard)
    while (reason := task.reason()) is None:
        top, seconds = min(_below_high(task), task.goal or math.inf), task.left()
        radius = top
        if climb.seconds(top) > _CLOSING * seconds:
            part = min(_SHARE * seconds, _FARTHER * climb.done[-1].seconds)
            radius = min(max(climb.affordable(part), bracket.low + 0.1 * task.tolerance), top)
        patience = max(_PATIENCE * seconds, 1.5 * climb.seconds(radius), least)
        ended, spent = _shot(task, radius, 0.0, patience, growth)
        if bracket.low >= radius:
            climb.done.append(spent)
        elif ended is _Shot.COMPLETE and task.reason() is None:
            return _tied(bracket)
        elif ended is _Shot.LATE:
            # What one way of searching could not close, the other may.
            climb.hard, growth = spent, PATIENT if growth is DEFAULT else DEFAULT
            _offer(task, nearer(task.target, min(task.reach, bracket.high), Effort(), rng))
    return reason
