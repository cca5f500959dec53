"""The order of work that closes a bracket.

After Bosman et al. 2023, but without a grid of radii: an attack gives an upper end; one proof tree
is searched just `tolerance` below it, and starts anew when it meets a nearer counterexample; if
time runs short, proofs at smaller radii raise the lower end as far as they can.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from surefoot.core.counts import closed_to
from surefoot.graph.network import MarginQuestion
from surefoot.verify.box import Box
from surefoot.verify.bracket import BracketState
from surefoot.verify.branch_and_bound import (
    DEFAULT_SETTINGS,
    LONG_SEARCH,
    TreeSettings,
    TreeWatch,
    bound_nodes,
    prove_by_branching,
)
from surefoot.verify.budget import Budget
from surefoot.verify.counterexample_search import (
    AttackProblem,
    Effort,
    find_counterexample,
    find_nearer_counterexample,
)
from surefoot.verify.layer_bounds import OutOfTime, bound_layers
from surefoot.verify.margin_descent import Float32Array
from surefoot.verify.proof_nodes import root_nodes
from surefoot.verify.time_forecast import RadiusPlan, TreeProgress, TreeTime

CLOSED = "closed"
WHOLE_DOMAIN = "proved for the whole domain"

# Proofs are true whatever these are; they decide only how the time is spent, which is counted in
# nodes where the limit is one in nodes. Where no measurement is named they were chosen by hand.
_FIRST_TRY_SHARE = 0.03
"""Share of the time after which the first tree goes on only if it is likely to close."""
_UNFORESEEN_SHARE = 0.15
"""Share of the time left for a later tree whose end is not foreseen."""
_SMALLER_RADIUS_SHARE = 0.85
"""Share of the time left that a tree at a smaller radius is meant to take at most."""
_CLOSING_SHARE = 0.9
"""Share of the time left within which a tree that would close the bracket is tried at once."""
_NEXT_TREE_FACTOR = 8.0
"""How many times the time of the last closed tree the next is meant to take at most: two closed
trees show how fast the time grows (docs/decisions/prover.md)."""
_OVERRUN_FACTOR = 1.5
"""How many times its forecast a tree may take before it is given up."""
_LEAST_RADIUS_SHARE = 0.1
"""Share of the upper end that is proved at least, where the tolerance is as large as the radius."""
_LEAST_RISE_SHARE = 0.1
"""Share of the tolerance by which a tree's radius exceeds the lower end at least, and by which its
aim may fall before it is given up."""
_BISECTIONS = 6
_BISECTION_SHARE = 0.15
"""Bisections without branching at most, and the share of the tolerance at which they end."""
_STRONGER_ATTACK = Effort(rounds=16, steps=50, targets=5, starts=4)
"""The second attack, many times the work of the first: only after a tree did not close."""


@dataclass(frozen=True, eq=False)
class SearchTask:
    """One input, its bracket so far, and when to stop.

    `goal` is a radius of which only the side matters; `largest_radius` reaches the whole domain.
    """

    question: MarginQuestion
    problem: AttackProblem
    bracket: BracketState
    tolerance: float
    goal: float | None
    largest_radius: float
    budget: Budget

    def reason(self) -> str | None:
        """Why nothing more is to be proved, if so."""
        return self.answered() or self.budget.over()

    def answered(self) -> str | None:
        """Why nothing more is to be done, whatever is left to spend, if so."""
        low, high = self.bracket.low, self.bracket.high
        if low >= self.largest_radius:
            return WHOLE_DOMAIN
        if self.goal is None and closed_to(low, high, self.tolerance):
            return CLOSED
        if self.goal is not None and low >= self.goal:
            return "proved at the goal"
        if self.goal is not None and high <= self.goal:
            return "refuted at the goal"
        return None

    def box(self, radius: float) -> Box:
        """The box of this radius within the domain."""
        return Box(self.bracket.x, radius, *self.bracket.domain)


class _TreeEnd(Enum):
    """How a tree ended."""

    NEARER_COUNTEREXAMPLE = "a nearer counterexample made it pointless"
    COMPLETE = "nothing is left to branch on"
    OUT_OF_TIME = "its time was over"


def close_bracket(task: SearchTask, rng: np.random.Generator) -> str:
    """Attack and prove until nothing more is to be done; why it ended."""
    bracket = task.bracket
    if task.goal is not None and task.goal < task.largest_radius and bracket.witness is None:
        _prove_without_branching(task, task.goal)  # most inputs need no attack there
        if (reason := task.answered() or task.budget.time_over()) is not None:
            return reason
    if task.goal is None or bracket.witness is None:
        point = find_counterexample(task.problem, task.largest_radius, Effort(), rng)
        _try_point(task, point)
    budget = task.budget
    patience = _FIRST_TRY_SHARE * budget.left()
    end, tree = _prove_below_high(task, patience)
    if task.reason() is None and end is _TreeEnd.OUT_OF_TIME:
        before = bracket.high
        _attack_again(task, rng)
        if bracket.high < before or tree.seconds < budget.left():
            end, tree = _prove_below_high(task, patience)
    if task.answered() is None and budget.time_over() is None:
        _raise_low_without_branching(task)  # makes no nodes
    if task.reason() is None and end is _TreeEnd.COMPLETE:
        return _tie_reason(bracket)
    return task.reason() or _raise_low(task, tree, patience, rng)


def _tie_reason(bracket: BracketState) -> str:
    return f"beyond {bracket.low:.6g} a tie is neither proved nor refuted in float64"


def _prove_below_high(task: SearchTask, patience: float) -> tuple[_TreeEnd, TreeTime]:
    """Trees where the question is: at the goal, or `tolerance` below the upper end."""
    end, tree = _TreeEnd.NEARER_COUNTEREXAMPLE, TreeTime(_closing_radius(task), math.inf)
    while task.reason() is None and end is _TreeEnd.NEARER_COUNTEREXAMPLE:
        radius = _closing_radius(task) if task.goal is None else task.goal
        spare = 0.0 if task.goal is not None else min(task.tolerance, task.bracket.high - radius)
        end, tree = _search_tree(task, radius, spare, patience)
    return end, tree


def _attack_again(task: SearchTask, rng: np.random.Generator) -> None:
    for attack in (find_counterexample, find_nearer_counterexample):
        radius = min(task.largest_radius, task.bracket.high)
        _try_point(task, attack(task.problem, radius, _STRONGER_ATTACK, rng))


def _try_point(task: SearchTask, point: Float32Array | None) -> None:
    if point is not None:
        task.bracket.try_counterexample(point.astype(np.float64))


def _closing_radius(task: SearchTask) -> float:
    """The radius to which a closed bracket must be proved."""
    high = task.bracket.high
    if math.isinf(high):
        return task.largest_radius
    return max(high - task.tolerance, _LEAST_RADIUS_SHARE * high)


def _search_tree(
    task: SearchTask,
    radius: float,
    spare: float,
    patience: float,
    settings: TreeSettings = DEFAULT_SETTINGS,
) -> tuple[_TreeEnd, TreeTime]:
    """Search one tree at a radius.

    Once it took as long as `patience` it goes on only while it is likely to close in the time left.
    """
    bracket, budget, progress = task.bracket, task.budget, TreeProgress()
    begun = budget.left()

    def on_low(low: float) -> None:
        progress.record(begun - budget.left(), low)
        bracket.record_proof(low)

    def expired() -> bool:
        left = budget.left()
        spent = begun - left
        if budget.over():
            return True
        return spent > patience and progress.expected_seconds(spent, radius) > spent + left

    try:
        bounds = bound_layers(task.question, task.box(radius), expired)
    except OutOfTime:
        return _TreeEnd.OUT_OF_TIME, TreeTime(radius, math.inf, begun - budget.left())
    watch = TreeWatch(expired, on_low, bracket.count_nodes, budget.nodes_left)
    tree = prove_by_branching(bounds, task.problem, bracket, spare, task.tolerance, watch, settings)
    bracket.record_proof(tree.low)
    spent = max(begun - budget.left(), budget.least_cost)
    if tree.closed:
        return _TreeEnd.COMPLETE, TreeTime(radius, spent)
    least = radius - _LEAST_RISE_SHARE * task.tolerance
    pointless = bracket.high <= radius or bracket.high - spare < least
    nearer = pointless and budget.left() > 0
    end = _TreeEnd.NEARER_COUNTEREXAMPLE if nearer else _TreeEnd.OUT_OF_TIME
    return end, TreeTime(radius, progress.expected_seconds(spent, radius), spent)


def _raise_low_without_branching(task: SearchTask) -> None:
    """Raise the lower end by bisection with bounds alone."""
    bracket = task.bracket
    top = min(bracket.high, task.largest_radius)
    for _ in range(_BISECTIONS):
        if top - bracket.low < _BISECTION_SHARE * task.tolerance or task.budget.time_over():
            return
        middle = (bracket.low + top) / 2
        if _prove_without_branching(task, middle) < middle:
            top = middle


def _prove_without_branching(task: SearchTask, radius: float) -> float:
    """How far one bound on the box of this radius proves; 0 if there is no time for it."""
    try:
        bounds = bound_layers(
            task.question, task.box(radius), lambda: task.budget.time_over() is not None
        )
    except OutOfTime:
        return 0.0
    settings = DEFAULT_SETTINGS
    nodes, _ = bound_nodes(bounds, root_nodes(bounds), settings.root_steps, settings.rates)
    proved = float(nodes.radius.min())
    task.bracket.record_proof(proved)
    return proved


def _raise_low(
    task: SearchTask, unclosed: TreeTime, least_patience: float, rng: np.random.Generator
) -> str:
    """Trees at radii that the time left is likely to pay for; the lower end only rises."""
    bracket, budget, settings = task.bracket, task.budget, DEFAULT_SETTINGS
    plan = RadiusPlan([TreeTime(bracket.low, budget.bound_cost)], unclosed)
    while (reason := task.reason()) is None:
        top, left = min(_closing_radius(task), task.goal or math.inf), budget.left()
        radius = top
        if plan.expected_seconds(top) > _CLOSING_SHARE * left:
            seconds = min(_SMALLER_RADIUS_SHARE * left, _NEXT_TREE_FACTOR * plan.closed[-1].seconds)
            least = bracket.low + _LEAST_RISE_SHARE * task.tolerance
            radius = min(max(plan.affordable_radius(seconds), least), top)
        expected = _OVERRUN_FACTOR * plan.expected_seconds(radius)
        patience = max(_UNFORESEEN_SHARE * left, expected, least_patience)
        end, tree = _search_tree(task, radius, 0.0, patience, settings)
        if bracket.low >= radius:
            plan.closed.append(tree)
        elif end is _TreeEnd.COMPLETE and task.reason() is None:
            return _tie_reason(bracket)
        elif end is _TreeEnd.OUT_OF_TIME:
            # What one way of searching could not close, the other may.
            plan.unclosed = tree
            settings = LONG_SEARCH if settings is DEFAULT_SETTINGS else DEFAULT_SETTINGS
            distance = min(task.largest_radius, bracket.high)
            _try_point(task, find_nearer_counterexample(task.problem, distance, Effort(), rng))
    return reason
