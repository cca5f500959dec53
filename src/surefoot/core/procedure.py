"""The one shape of every method: ask for evidence, get it, conclude."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar

from surefoot.core.counts import Known

Q = TypeVar("Q")
E = TypeVar("E")
R = TypeVar("R")
Q_co = TypeVar("Q_co", covariant=True)
E_contra = TypeVar("E_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


class Needs(StrEnum):
    """What a method needs of a study; every method declares one as `needs`."""

    SAMPLES = "samples at one level"
    MEAN = "samples of all inputs together at one level"
    LEVELS = "samples at levels of its own choice"
    REGION = "all points of a ball"
    RADII = "all points of balls of any radius"
    SMOOTHING = "samples of noise that smooths a model"
    SPLITTING = "perturbations that can be moved in small steps"

    @property
    def of_each_input(self) -> bool:
        """Whether each input gets trials and a result of its own, at one level."""
        return self in (Needs.SAMPLES, Needs.SMOOTHING)

    @property
    def chooses_levels(self) -> bool:
        """Whether the level is the method's own choice, so that the perturbation leaves it open."""
        return self in (Needs.LEVELS, Needs.RADII)


@dataclass(frozen=True, slots=True)
class Ask:
    """Run `units` more trials at this level; from trial `start` on, where that is given.

    A procedure may ask several at once, as a tuple, and gets as many answers. `known` is the
    evidence so far that the answer builds on, where it does, so that a bench keeps no state
    (docs/decisions/one-path.md). `subject` is the place of the subject
    among those that the procedure is run on, where these are several.
    """

    level: float
    units: int
    start: int | None = None
    known: Known | None = None
    subject: int = 0


class TimeUp(Exception):
    """Thrown into a procedure that can conclude at any time: it returns what it knows by now."""


class Procedure(Protocol[Q_co, E_contra, R_co]):
    """A frozen recipe. `steps` yields questions, is sent evidence, returns a result."""

    def steps(self) -> Generator[Q_co, E_contra, R_co]:
        """Start a fresh run."""


class Session(Generic[Q, E, R]):
    """One run of a procedure, driven from outside: read `question`, `tell` the answer."""

    def __init__(self, procedure: Procedure[Q, E, R]) -> None:
        self._steps = procedure.steps()
        self._results: list[R] = []
        self.question: Q | None = None
        self._go_on(lambda: next(self._steps))

    def tell(self, evidence: E) -> None:
        """Answer the open question."""
        self._go_on(lambda: self._steps.send(evidence))

    def conclude(self) -> None:
        """Ask for the result now; refused by a procedure that cannot conclude early."""
        self._go_on(lambda: self._steps.throw(TimeUp()))
        if not self._results:
            raise RuntimeError("the procedure went on although the time was up")

    def _go_on(self, step: Callable[[], Q]) -> None:
        """To the next question, or to the result."""
        try:
            self.question = step()
        except StopIteration as stop:
            self.question = None
            self._results.append(stop.value)

    @property
    def result(self) -> R:
        """The conclusion; only once `question` is None."""
        if not self._results:
            raise RuntimeError("the procedure still has an open question")
        return self._results[0]


@dataclass(frozen=True, slots=True)
class Forecast:
    """Trials of one whole run of a procedure: about `expected`, never more than `most`.

    A procedure may have `forecast_from(evidence)`, which gives one for the evidence so far. It is
    shown while a run goes on and decides nothing.
    """

    expected: int
    most: int


@dataclass(frozen=True)
class Joint(Generic[R]):
    """A procedure that is run once for all subjects and says of each question which one it asks.

    It can share its trials out among them: docs/decisions/precision.md.
    """

    procedure: Procedure[tuple[Ask, ...], list[Any], R]


@dataclass(frozen=True)
class Settled(Generic[R]):
    """A procedure that asks for nothing: its result is known beforehand."""

    result: R

    def steps(self) -> Generator[Any, Any, R]:
        """End before the first question."""
        yield from ()
        return self.result


@dataclass(frozen=True)
class Pinned(Generic[E, R]):
    """A procedure that asks for numbers of trials, run at one level."""

    procedure: Procedure[int, E, R]
    level: float

    @property
    def forecast_from(self) -> Callable[[E], Forecast] | None:
        """That of the procedure, where it has one."""
        forecast: Callable[[E], Forecast] | None = getattr(self.procedure, "forecast_from", None)
        return forecast

    def steps(self) -> Generator[Ask, E, R]:
        """Ask the same questions, each at `level`."""
        steps = self.procedure.steps()
        try:
            units = next(steps)
            while True:
                units = steps.send((yield Ask(self.level, units)))
        except StopIteration as stop:
            result: R = stop.value
            return result
