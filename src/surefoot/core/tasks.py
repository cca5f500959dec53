"""What is run and what comes back: subjects, tasks and entries of a journal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from surefoot.core.counts import Answer, Known, Proof, Steps

E_co = TypeVar("E_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Subject:
    """Inputs measured together: one row for a local measure, many for a curve.

    Trials take the rows in turn; with `picks`, each trial picks one of the rows at random, with
    replacement.
    """

    name: str
    rows: tuple[int, ...]
    picks: bool = False


@dataclass(frozen=True, eq=False)
class Subjects(Sequence[Subject]):
    """One subject for each input, made when it is needed: a run may try few of a million.

    `order` are the places of the inputs, where they are not taken one after the other.
    """

    names: Sequence[str]
    order: Sequence[int] | None = None

    def __len__(self) -> int:
        """How many."""
        return len(self.names)

    def __getitem__(self, place: Any) -> Any:  # noqa: ANN401  an index or a slice
        """The subject at a place, or those of a slice."""
        if isinstance(place, slice):
            return tuple(self[i] for i in range(*place.indices(len(self))))
        row = range(len(self))[place] if self.order is None else self.order[place]
        return Subject(self.names[row], (row,))


@dataclass(frozen=True, slots=True)
class Task:
    """Trials [start, stop) of a subject at a level; `known` is what the answer builds on."""

    subject: Subject
    level: float
    start: int
    stop: int
    known: Known | None = None

    @property
    def units(self) -> int:
        """How many trials."""
        return self.stop - self.start

    @property
    def rows(self) -> int:
        """How many inputs it perturbs at once: the steps of a chain come one after the other."""
        return 1 if isinstance(self.known, Steps) else self.units

    @property
    def alone(self) -> bool:
        """Whether it is a batch of its own, after all that are not: it goes on from a proof."""
        return isinstance(self.known, Proof)

    def __str__(self) -> str:
        """As an error names it."""
        return f"input {self.subject.name}, trials {self.start} to {self.stop - 1}"


class Entry(NamedTuple):
    """Evidence of trials [start, stop) at a level, as a journal keeps it.

    A tuple: a resumed run makes hundreds of thousands.
    """

    level: float
    start: int
    stop: int
    evidence: Answer


class Bench(Protocol[E_co]):
    """Turns tasks into evidence, several at a time. An answer depends on its task alone."""

    @property
    def block(self) -> int:
        """Trials that are best run together, because their random numbers are drawn together."""

    def answer(self, tasks: Sequence[Task]) -> Sequence[E_co]:
        """One piece of evidence for each task, in order."""


AnyBench = Bench[Answer]
Answers = Sequence[Answer]
"""Of a batch, one for each of its tasks."""


def words_of_tasks(tasks: Sequence[Task]) -> str:
    """The tasks of a batch, as an error names them."""
    return f"{tasks[0]}" + (f" and {len(tasks) - 1} more" if len(tasks) > 1 else "")


def words_of_trial(row: int, tasks: Sequence[Task]) -> str:
    """The input and trial behind a row of a batch."""
    for task in tasks:
        if row < task.units:
            return f"input {task.subject.name}, trial {task.start + row}"
        row -= task.units
    raise IndexError(row)
