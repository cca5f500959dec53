"""Critical radius of one input: a bracket with a proved lower end and a counterexample above it."""

from __future__ import annotations

import math
import sys
import time
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from surefoot.core.assumptions import Arithmetic
from surefoot.core.counts import closed_to
from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument, SurefootError
from surefoot.graph.linear_map import Dense
from surefoot.graph.network import (
    Floats,
    Layer,
    MarginQuestion,
    Network,
    check_float32,
    margin_question,
)
from surefoot.region.critical_level import FIRST_BOUNDS, PROVED_AT_GOAL
from surefoot.subject.protocols import CPU, Ball
from surefoot.verify import branch_and_bound as branching
from surefoot.verify import counterexample_search as search
from surefoot.verify.ball import Box, InputSpace
from surefoot.verify.bracket import (
    BracketResult,
    BracketState,
    Budget,
    Clock,
    Replay,
    one_blas_thread,
)
from surefoot.verify.branch_and_bound import DEFAULT_SETTINGS, TreeSettings
from surefoot.verify.counterexample_search import AttackProblem, Effort
from surefoot.verify.descent import Float32Array
from surefoot.verify.device import free_memory, out_of_memory
from surefoot.verify.float32 import points_near_ties
from surefoot.verify.layer_bounds import (
    INTERVALS,
    MOST_SEARCH_WORK,
    Ends,
    OutOfTime,
    Refine,
    bound_layers,
)
from surefoot.verify.linear_relaxation import LayerBounds
from surefoot.verify.neuron_trees import SPLIT_AT_ONCE, refine_neurons

_MOST_DOUBLINGS = 60
"""Doublings of the time from which on a tree counts as never closing: 2⁶⁰ s exceed any limit."""


@dataclass(eq=False)
class TreeProgress:
    """The lower end of one growing tree over the seconds it has taken."""

    seconds: list[float] = field(default_factory=list)
    lows: list[float] = field(default_factory=list)

    def record(self, seconds: float, low: float) -> None:
        """The lower end has risen."""
        self.seconds.append(seconds)
        self.lows.append(low)

    def expected_seconds(self, seconds: float, radius: float) -> float:
        """Seconds this tree is likely to need up to `radius`, `seconds` of them already spent."""
        low, before = self._low_at(seconds), self._low_at(seconds / 2)
        if low >= radius:
            return seconds
        doublings = (radius - low) / (low - before) if low > before else math.inf
        return seconds * 2.0**doublings if doublings < _MOST_DOUBLINGS else math.inf

    def _low_at(self, seconds: float) -> float:
        index = bisect_right(self.seconds, seconds)
        return self.lows[index - 1] if index else 0.0


CLOSED = "closed"
WHOLE_DOMAIN = "proved for the whole domain"

# Proofs are true whatever these are; they decide only how the time is spent, which is counted in
# nodes where the limit is one in nodes. Where no measurement is named they were chosen by hand.
_FIRST_TRY_SHARE = 0.03
"""Share of the time after which the first tree goes on only if it is likely to close."""
_FIRST_EFFORT, _EFFORT_GROWTH, _MOST_EFFORT = 1 / 64, 3.0, 0.7
"""Share of the time left that a tree above the proved radius may take at first, how many times as
long the next may take, and the largest share: a forecast may be too short."""
_STEEPER, _LEAST_SLOWER, _STEP_CHANGES = 1.6, 1.1, (0.1, 1.5)
"""The logarithm of a tree's time grows with its radius: how many times as fast as between the last
two, since short trees hide it, and by how much from one to the next at least; and how much shorter
or longer a step of the radius may be than the last."""
_LAST = 0.9
"""Share of the time left within which a tree that closes the bracket is likely to fit, if the time
grows with the radius no faster than before, so that it is searched at once. A tree in between would
not leave it enough, and one that does not end proves nearly as much."""
_REFINEMENT_SHARE = 0.4
"""Share of a tree's time for closer bounds of one layer first, what takes the least in all on
mnist_relu_3_100; with each further one the rest is less by as much, and all layers get equal parts
(docs/decisions/prover.md)."""
_LONGER_TIMES = 3.0
"""How many times its expected time a tree may take unless it is to close within as much again: with
more refinement it will take less."""
_NEEDED_SHARE = 0.1
"""Share of its time that a closed tree is taken to have needed at least, where nearly all of it was
refinement: less of that might have done."""
_LEAST_RADIUS_SHARE = 0.1
"""Share of the upper end that is proved at least, where the tolerance is as large as the radius."""
_LEAST_RISE_SHARE = 0.1
"""Share of the tolerance by which a tree's radius exceeds the lower end at least, and by which its
aim may fall before it is given up."""
_BISECTIONS = 6
_BISECTION_SHARE = 0.03
"""Tries without branching at most, and the share of the radius at which those without search end:
a search proves more than that beyond them."""
_FIRST_RISE = 0.04
_RISE_SHARE = 0.15
_LEAST_RISE = 0.01
"""First step of those with search, as a share of the lower end, and the shares of the tolerance and
of the radius at which they end."""
_FIRST_TREE_RISE, _FIRST_TREE_SHARE = 0.12, 0.1
"""Share of the lower end by which the first of these trees' radius exceeds it; where nothing is
proved, share of the upper end."""
_STRONGER_TIMES = 6.0
_STRONGER_SHARE = 0.15
"""How many times the first attack's time the second takes, and the share of the time left that it
may take. Where it is longer a short one must do: large networks keep their time for proofs."""
_SECOND_TIMES = 4.0
"""How many times the first attack's time must be left for a second, which has no limit."""
_ABOUT_GOAL, _SHORT_ATTACK = 4.0, Effort(rounds=3, steps=15, near=0.95, full=1)
"""The radius of a short attack in goals, and its effort: a bound without branching proves half the
critical radius or more, so that what it leaves open is rarely farther. One round against every
margin finds the same inputs of mnist-net_256x2 as three, in four fifths of the time."""
_STRONGER_ATTACK = Effort(rounds=16, steps=50, targets=5, starts=4)
"""The second attack, many times the work of the first: only after a tree did not close."""


@dataclass(frozen=True, eq=False)
class SearchTask:
    """One input, its bracket so far, and when to stop.

    `goal` is a radius of which only the side matters; `largest_radius` reaches the whole domain.
    Trees are searched `where` it is said.
    """

    question: MarginQuestion
    bracket: BracketState
    tolerance: float
    goal: float | None
    largest_radius: float
    budget: Budget
    where: str = CPU

    @cached_property
    def problem(self) -> AttackProblem:
        """The same for attacks; most inputs of a search for a quantile need none."""
        return search.attack_problem(self.question, self.bracket.x, self.bracket.space)

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
            return PROVED_AT_GOAL
        if self.goal is not None and high <= self.goal:
            return "refuted at the goal"
        return None

    @property
    def refinement_share(self) -> float:
        """Share of a tree's time that is spent on closer bounds of its layers first."""
        refined = sum(isinstance(layer.weights, Dense) for layer in self.question.hidden[1:])
        return float(1 - (1 - _REFINEMENT_SHARE) ** refined)

    def box(self, radius: float) -> Box:
        """The box of this radius within the domain."""
        return self.bracket.space.box(self.bracket.x, radius)


class _TreeEnd(Enum):
    """How a tree ended."""

    NEARER_COUNTEREXAMPLE = "a nearer counterexample made it pointless"
    COMPLETE = "nothing is left to branch on"
    OUT_OF_TIME = "its time was over"


_MOST_FIRST_WORK = 1e9
"""Multiplications of one bound above which first bounds come from the layer before alone: about a
second. Chosen by hand; proofs are true whatever it is."""
Search = Callable[[SearchTask, np.random.Generator], str]
"""Narrows a bracket, and says why it ended."""


def bounds_alone(candidate: float) -> Search:
    """A lower end without a search: one bound where a `candidate` was found, else by bisection."""

    def search_bounds(task: SearchTask, rng: np.random.Generator) -> str:
        del rng
        if candidate:
            _prove_without_branching(task, candidate, 0.0)
        if not candidate or task.bracket.low == 0:
            below, work = 0, 0
            for layer in task.question.hidden:
                work += len(layer.bias) * below
                below += layer.weights.work
            short = work <= _MOST_FIRST_WORK
            _raise_low_without_search(task, (INTERVALS, 0.0) if short else (INTERVALS,))
        return task.answered() or FIRST_BOUNDS

    return search_bounds


def close_bracket(task: SearchTask, rng: np.random.Generator) -> str:
    """Attack and prove until nothing more is to be done; why it ended."""
    bracket, budget = task.bracket, task.budget
    begun = budget.time_left()
    if (reason := _first_answer(task, rng)) is not None:
        return reason
    attacked = budget.time_left()
    patience = _FIRST_TRY_SHARE * budget.left()
    if task.goal is None and task.answered() is None and begun - attacked > patience:
        _raise_low_without_search(task)  # no tree is likely to end
    end, seconds = _prove_below_high(task, patience)
    first, left = begun - attacked, budget.time_left()
    hurried = left < _SECOND_TIMES * first  # never where nodes are limited
    if task.reason() is None and end is _TreeEnd.OUT_OF_TIME and not hurried:
        before, long = bracket.high, _STRONGER_TIMES * first > _STRONGER_SHARE * left
        for attack in (search.find_counterexample, search.find_nearer_counterexample)[long:]:
            radius = min(task.largest_radius, bracket.high)
            effort = Effort() if long else _STRONGER_ATTACK
            _try_point(task, attack(task.problem, radius, effort, rng))
        if bracket.high < before or seconds < budget.left():
            end, seconds = _prove_below_high(task, patience)
    side_alone = task.goal is not None and task.goal < task.largest_radius
    if not side_alone and task.answered() is None and budget.time_over() is None:
        _raise_low_without_branching(task)  # makes no nodes
    if task.reason() is None and end is _TreeEnd.COMPLETE and not task.question.curved:
        return _tie_reason(bracket)
    return task.reason() or _raise_low(task, rng)


def _first_answer(task: SearchTask, rng: np.random.Generator) -> str | None:
    """Attack, at a goal between a bound without search and one with; why that was enough, if so.

    Most inputs need no attack at a goal, and most that the first bound leaves open are refuted.
    """
    bracket, goal = task.bracket, task.goal
    if goal is not None and bracket.witness is not None:
        return None
    if goal is None or goal >= task.largest_radius:
        _first_attack(task, rng)
        return None
    if bracket.low < goal:
        _prove_without_branching(task, goal, 0.0, searched=False)
    if bracket.low < goal and task.budget.time_over() is None:
        _first_attack(task, rng)
        if task.answered() is None:
            _prove_without_branching(task, goal, MOST_SEARCH_WORK)
    return task.answered() or task.budget.time_over()


def _first_attack(task: SearchTask, rng: np.random.Generator) -> None:
    """Where a side of the goal is asked for, short searches, about it first, are enough."""
    goal, most, effort = task.goal, task.largest_radius, Effort()
    if goal is not None and _ABOUT_GOAL * goal < most:
        effort = _SHORT_ATTACK
        near = search.find_counterexample(task.problem, _ABOUT_GOAL * goal, effort, rng)
        _try_point(task, near)
    if task.bracket.witness is None:
        _try_point(task, search.find_counterexample(task.problem, most, effort, rng))


def _tie_reason(bracket: BracketState) -> str:
    numbers = "float32" if bracket.arithmetic is Arithmetic.FLOAT32 else "float64"
    return f"beyond {bracket.low:.6g} a tie is neither proved nor refuted in {numbers}"


def _prove_below_high(task: SearchTask, patience: float) -> tuple[_TreeEnd, float]:
    """Trees where the question is: at the goal, or `tolerance` below the upper end."""
    end, seconds = _TreeEnd.NEARER_COUNTEREXAMPLE, math.inf
    while task.reason() is None and end is _TreeEnd.NEARER_COUNTEREXAMPLE:
        radius = _closing_radius(task) if task.goal is None else task.goal
        spare = 0.0 if task.goal is not None else min(task.tolerance, task.bracket.high - radius)
        end, seconds = _search_tree(task, radius, spare, patience)
    return end, seconds


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
    refinement: float = 0.0,
    longer: float = math.inf,
) -> tuple[_TreeEnd, float]:
    """Search one tree at a radius, after as much `refinement` of the bounds of its layers.

    How it ended, and what it needed, or would have needed.
    Once it took as long as `patience` it goes on only while it is likely to close in the time left,
    and within `longer`. A tree for which a device has no memory is searched on the processor.
    """
    more = spare, patience, settings, refinement, longer
    if task.where != CPU:
        try:
            return _search_tree_at(task.where, task, radius, *more)
        except RuntimeError as error:  # as PyTorch raises it
            if not out_of_memory(error):
                raise
        finally:
            free_memory(task.where)
    return _search_tree_at(CPU, task, radius, *more)


def _search_tree_at(
    where: str,
    task: SearchTask,
    radius: float,
    spare: float,
    patience: float,
    settings: TreeSettings,
    refinement: float,
    longer: float,
) -> tuple[_TreeEnd, float]:
    bracket, budget, progress = task.bracket, task.budget, TreeProgress()
    begun = bounded = budget.left()

    def on_low(low: float) -> None:
        progress.record(bounded - budget.left(), low)
        bracket.record_proof(low)

    def expired() -> bool:
        left = budget.left()
        if budget.over():
            return True
        spent = bounded - left
        late = begun - left > patience
        return late and progress.expected_seconds(spent, radius) > spent + min(left, longer)

    refine = None
    if refinement and not task.question.curved:  # a limit in nodes is smaller than a device's steps
        refine = _refinement(task, refinement, where if budget.nodes is None else CPU)
    try:
        bounds = bound_layers(task.question, task.box(radius), expired, refine=refine)
        bounded = budget.left()
    except OutOfTime:
        return _TreeEnd.OUT_OF_TIME, math.inf
    watch = branching.TreeWatch(
        expired,
        on_low,
        bracket.count_nodes,
        budget.nodes_left,
        lambda: budget.time_over() is not None,
    )
    tree = branching.prove_by_branching(
        bounds, task.problem, bracket, spare, task.tolerance, watch, settings, where
    )
    bracket.record_proof(tree.low)
    spent = max(begun - budget.left(), budget.least_cost)
    tree_spent = max(bounded - budget.left(), budget.least_cost)
    if tree.closed:
        needed = min(spent, max(2 * tree_spent, _NEEDED_SHARE * spent))
        return _TreeEnd.COMPLETE, needed
    least = radius - _LEAST_RISE_SHARE * task.tolerance
    pointless = bracket.high <= radius or bracket.high - spare < least
    nearer = pointless and budget.left() > 0
    end = _TreeEnd.NEARER_COUNTEREXAMPLE if nearer else _TreeEnd.OUT_OF_TIME
    return end, begun - bounded + progress.expected_seconds(tree_spent, radius)


def _refinement(task: SearchTask, allowance: float, where: str) -> Refine:
    """Trees of single neurons, all layers together for about so much."""
    bracket, budget = task.bracket, task.budget
    begun = budget.left()

    def refine(bounds: LayerBounds, layer: Layer, ends: Ends, lost: Floats, share: float) -> Ends:
        def spend(nodes: int) -> bool:
            bracket.count_nodes(nodes)
            room = budget.nodes_left() >= 2 * SPLIT_AT_ONCE and not budget.over()
            return room and begun - budget.left() < share * allowance

        return refine_neurons(bounds, layer, ends, lost, spend, where)

    return refine


_FAR = 4.0
"""Ratio of the ends from which on the next radius is a share of them, not their middle: intervals
prove a hundredth of what bounds do. Chosen by hand; proofs are true whatever it is."""


def _raise_low_without_search(
    task: SearchTask, works: tuple[float, ...] = (INTERVALS, 0.0)
) -> None:
    """Raise the lower end by bisection: with intervals, then with the first bounds of all.

    Intervals prove little and cost next to nothing: they leave no input without a radius where one
    bound takes half of the time.
    """
    bracket = task.bracket
    for work in works if bracket.low == 0 else works[1:]:
        top = min(bracket.high, task.largest_radius)
        for _ in range(_BISECTIONS):
            if top - bracket.low < _BISECTION_SHARE * top or task.budget.time_over():
                break
            middle = (bracket.low + top) / 2
            if work == INTERVALS and bracket.low == 0:
                middle = top / _FAR
            elif 0 < _FAR * bracket.low < top:
                middle = math.sqrt(bracket.low * top)
            if _prove_without_branching(task, middle, work) < middle:
                top = middle


def _raise_low_without_branching(task: SearchTask) -> None:
    """Raise the lower end in steps with bounds alone, longer where one succeeds."""
    bracket, budget = task.bracket, task.budget
    top, step = min(bracket.high, task.largest_radius), _FIRST_RISE * bracket.low
    for _ in range(_BISECTIONS):
        enough = max(_RISE_SHARE * task.tolerance, _LEAST_RISE * top)
        if top - bracket.low < enough or budget.time_over():
            break
        middle = (bracket.low + top) / 2
        radius = min(bracket.low + step, middle) if step > 0 else middle
        if _prove_without_branching(task, radius, MOST_SEARCH_WORK) < radius:
            top, step = radius, step / 2
        else:
            step *= 2


def _prove_without_branching(
    task: SearchTask, radius: float, most_work: float, searched: bool = True
) -> float:
    """How far one bound on the box of this radius proves; 0 if there is no time for it.

    What it leaves open is `searched` once more, for multipliers that prove more.
    """

    def expired() -> bool:
        return task.budget.time_over() is not None

    try:
        bounds = bound_layers(task.question, task.box(radius), expired, most_work)
    except OutOfTime:
        return 0.0
    settings = DEFAULT_SETTINGS
    roots = branching.root_nodes(bounds)
    proved = 0.0
    for steps in (0, settings.root_steps)[: 1 if most_work == INTERVALS or not searched else 2]:
        if proved < radius:
            nodes = branching.bound_nodes(bounds, roots, steps, settings, expired)
            proved = max(proved, float(np.sort(nodes.radius)[task.question.rank - 1]))
    task.bracket.record_proof(proved)
    return proved


def _raise_low(task: SearchTask, rng: np.random.Generator) -> str:
    """Trees at growing radii, each longer where one did not close; the lower end only rises."""
    bracket, budget, settings, complete = task.bracket, task.budget, DEFAULT_SETTINGS, math.inf
    effort = expected = max(_FIRST_EFFORT * budget.left(), budget.bound_cost)
    reached, closed = bracket.low, budget.bound_cost
    step = _FIRST_TREE_RISE * bracket.low or _FIRST_TREE_SHARE * _closing_radius(task)
    while (reason := task.reason()) is None:
        low, step = bracket.low, max(step, _LEAST_RISE_SHARE * task.tolerance)
        radius = task.goal or min(low + step, _closing_radius(task))
        if task.question.curved and radius >= complete:  # a smaller box has closer lines
            if complete - low < _LEAST_RISE_SHARE * task.tolerance:
                return _CURVE_REASON
            radius = (low + complete) / 2
        refinement, longer = task.refinement_share * expected, _LONGER_TIMES * expected
        end, seconds = _search_tree(task, radius, 0.0, expected, settings, refinement, longer)
        left = _MOST_EFFORT * budget.left()
        seconds = min(max(seconds, budget.bound_cost), 2.0**_MOST_DOUBLINGS)
        rise = max(radius - reached, math.ulp(radius), sys.float_info.min)
        slower = max(_STEEPER * math.log(seconds / closed), _LEAST_SLOWER) / rise
        if bracket.low >= radius:
            effort = max(min(_EFFORT_GROWTH * max(effort, seconds), left), budget.bound_cost)
            rest = _closing_radius(task) - radius
            step, expected = _step_beyond((closed, seconds), rise, rest, effort, budget.left())
            reached, closed, settings = radius, seconds, DEFAULT_SETTINGS
        elif end is _TreeEnd.COMPLETE and task.question.curved:
            complete = radius
        elif end is _TreeEnd.COMPLETE and task.reason() is None:
            return _tie_reason(bracket)
        elif end is _TreeEnd.OUT_OF_TIME and task.reason() is None:
            known = seconds < 2.0**_MOST_DOUBLINGS  # else nothing is known but that it is too far
            effort = max(
                min(seconds if known else _EFFORT_GROWTH * effort, left), budget.bound_cost
            )
            aim = min(reached + math.log(max(effort / closed, 1.0)) / slower, radius)
            halfway = (radius + bracket.low) / 2
            step = (aim if known and aim > bracket.low else halfway) - bracket.low
            expected = min(closed * math.exp(slower * (bracket.low + step - reached)), effort)
            # What one way of searching could not close, the other may.
            settings = branching.LONG_SEARCH if settings is DEFAULT_SETTINGS else DEFAULT_SETTINGS
            distance = min(task.largest_radius, bracket.high)
            nearer = search.find_nearer_counterexample(task.problem, distance, Effort(), rng)
            _try_point(task, nearer)
    return reason


def _step_beyond(
    last_two: tuple[float, float], rise: float, rest: float, effort: float, left: float
) -> tuple[float, float]:
    """How far beyond a tree that closed the next may go, and its time, about `effort` at most.

    What the `last_two` took is known, the second one's radius is larger by `rise`. At `rest` beyond
    it the bracket closes.
    """
    seconds, slower = last_two[1], math.log(last_two[1] / last_two[0])
    steeper, longest = max(_STEEPER * slower, _LEAST_SLOWER), _STEP_CHANGES[1] * rise
    change = math.log(max(effort / seconds, 1.0)) / steeper
    change = min(max(change, _STEP_CHANGES[0]), _STEP_CHANGES[1])
    if change * rise < rest <= longest:
        whole = seconds * math.exp(max(slower, _LEAST_SLOWER) * rest / rise)
        if whole < _LAST * left:
            return rest, min(seconds * math.exp(steeper * rest / rise), _LAST * left)
    return change * rise, min(seconds * math.exp(steeper * change), effort)


_CURVE_REASON = "Sigmoid and Tanh are branched on at 0 only, and lines about them prove no more"


_TIE_POINTS, _TIE_ROUNDS = 64, 3
"""Points near ties that the model is asked about, and how often they are drawn nearer. Chosen by
hand; what is found is checked."""


def _try_near_ties(task: SearchTask, rng: np.random.Generator) -> None:
    """Counterexamples that only the model as run has: float32 may break where margins are small."""
    bracket, space = task.bracket, task.bracket.space
    if space.norm is not Ball.LINF or any(
        isinstance(part, np.ndarray) for part in (space.low, space.high, space.unit)
    ):
        return
    bounds = Interval(float(space.low), float(space.high))
    for _ in range(_TIE_ROUNDS):
        if task.answered() or task.budget.time_over():
            return
        radius = min(bracket.high, task.largest_radius) * float(space.unit)
        points = points_near_ties(
            bracket.network, bracket.x, bracket.label, radius, bounds, rng, _TIE_POINTS
        ).astype(np.float64)
        order = np.argsort(np.abs(points - bracket.x).max(axis=1), kind="stable")
        if not any(bracket.try_counterexample(points[i], (0.0,)) for i in order):
            return


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
    low: float | Floats = 0.0,
    high: float | Floats = 1.0,
    norm: Ball = Ball.LINF,
    unit: float | Floats = 1.0,
    rank: int = 1,
    goal: float | None = None,
    seed: int = 0,
    arithmetic: Arithmetic = Arithmetic.FLOAT32,
    replay: Replay | None = None,
    on_bracket: Callable[[float, float], None] | None = None,
    clock: Clock = time.monotonic,
    known: tuple[float, Floats | None] = (0.0, None),
    narrow: Search = close_bracket,
    where: str = CPU,
) -> BracketResult:
    """The bracket of the largest radius, within [low, high], on which `label` is kept.

    The radius is that of a ball of `norm`; in L∞ a value moves by at most the radius times `unit`,
    which may be one number for each. Above `rank` 1 the label is kept where it is among the best so
    many; which rivals may pass it is chosen once for all points of a ball, so that a proof may end
    before the critical radius.
    It ends after `seconds` on the clock, or after so many `nodes`. With a limit in nodes, and as
    long as the clock does not end it, the bracket does not depend on the speed of the machine; on
    a device it depends on how much memory that has.
    With a `goal` the search ends as soon as it is known on which side of that radius the input
    lies. What is proved holds for the model as it computes in this `arithmetic`; in float32 for any
    order of summation. `replay` asks the model itself for the label of a counterexample; what it
    does not confirm is not one. `known` is what an earlier search has proved, and its
    counterexample; `narrow` is how it goes on. Trees of L∞ without curves are searched `where` it
    is said: on the cpu, with NumPy, or on a device of PyTorch. An input that the model
    misclassifies has the bracket (0, 0); where only the network as read does, nothing is proved.
    """
    started = clock()
    space = InputSpace(low, high, norm, unit)
    flat = _checked_input(network, x, space)
    limits = {"tolerance": tolerance, "seconds": seconds, "nodes": nodes, "goal": goal}
    for name, value in limits.items():
        if value is not None and not value > 0:
            raise InvalidArgument(f"{name} must be above 0, got {value}")
    on_change = on_bracket or (lambda proved, refuted: None)
    bracket = BracketState(network, flat, label, space, replay, on_change, arithmetic, rank=rank)
    if arithmetic is Arithmetic.FLOAT32:
        check_float32(network, low, high)
    kept_here = network.keeps(flat, label, rank)
    if not (kept_here if replay is None else replay(flat) == label):
        return BracketResult(0.0, 0.0, flat, 0, clock() - started, "misclassified")
    if known[1] is not None:
        bracket.try_counterexample(np.asarray(known[1], np.float64))
    question = margin_question(network, label, rank, arithmetic)
    largest_radius = space.farthest(flat)
    if not kept_here:
        problem = search.attack_problem(question, flat, space)
        points = search.points_along_gradient(problem, largest_radius)
        any(bracket.try_counterexample(point) for point in points)
        return bracket.result(_ONLY_NETWORK_WRONG, clock() - started)
    bracket.record_proof(known[0])
    budget = Budget(clock, started + seconds, nodes, lambda: bracket.nodes, len(question.rows))
    side_of = None if goal is None else min(goal, largest_radius)
    trees = where if norm is Ball.LINF and not question.curved else CPU
    task = SearchTask(question, bracket, tolerance, side_of, largest_radius, budget, trees)
    rng = np.random.default_rng(seed)
    reason = narrow(task, rng)
    if reason == CLOSED and bracket.low == 0:  # the tolerance closed it before a proof was tried
        _prove_without_branching(task, bracket.high, 0.0)
    searched = goal is None and reason != FIRST_BOUNDS
    if arithmetic is Arithmetic.FLOAT32 and replay is not None and searched and rank == 1:
        _try_near_ties(task, rng)
        reason = task.answered() or reason
    if bracket.low > bracket.high:
        raise SurefootError(
            f"a proof up to {bracket.low} contradicts a counterexample at {bracket.high}: one of "
            "them is wrong, so neither is reported; please report it with the network"
        )
    if bracket.discarded and reason != CLOSED:
        reason += f"; {bracket.discarded} counterexamples here were not confirmed by the model"
    return bracket.result(reason, clock() - started)


def _checked_input(network: Network, x: NDArray[np.floating], space: InputSpace) -> Floats:
    """The input as one flat row of float64."""
    flat = np.asarray(x, np.float64).reshape(-1)
    if flat.size != network.layers[0].weights.shape[1]:
        raise InvalidArgument(
            f"the network takes one input of shape {network.shape}, got {np.shape(x)}"
        )
    if not space.contains(flat):
        raise InvalidArgument(
            f"the input has values from {flat.min():g} to {flat.max():g}, outside the valid range "
            f"[{space.low}, {space.high}]: pass the range of the data as low and high"
        )
    return flat
