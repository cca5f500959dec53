"""What a list of runs shows: cheap to read, and never more than a list needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from surefoot.core.claims import Claim


@dataclass(frozen=True)
class RunLine:
    """One run of a store as a list shows it; nothing of it is checked against its seal.

    `key` is its number in the store. `finished` is when its record was written, empty while there
    is none. `stopped`: a time limit ended it. `problem` says what of the run cannot be read.
    """

    key: int
    digest: str
    started: str
    written: str
    finished: str
    stopped: bool
    trials: int
    rows: int
    seconds: float
    method: str
    inputs: int
    perturbation: str
    data: str
    model: str = ""
    command: str = ""
    study: str = ""
    problem: str = ""

    @property
    def words(self) -> str:
        """The text that a search goes through, in small letters."""
        named = (self.digest, self.study, self.command, self.model, self.data)
        parts = (*named, self.perturbation, self.method)
        return "\n".join(parts).lower()


@dataclass(frozen=True)
class RunPosition:
    """How far a run is now: what is journalled, when that was, and its end as in `RunLine`."""

    key: int
    digest: str
    trials: int
    rows: int
    written: str
    finished: str
    stopped: bool


@dataclass(frozen=True)
class FirstFailure:
    """The first trials of an input among which one failed: [start, stop), one where it is known."""

    start: int
    stop: int

    def __str__(self) -> str:
        if self.stop - self.start == 1:
            return f"trial {self.start}"
        return f"among trials {self.start} to {self.stop - 1}"


class RunListing(Protocol):
    """How a store answers a list of runs."""

    def lines(self) -> list[RunLine]:
        """All runs, in the order in which they were begun."""
        ...

    def headlines(self, keys: Sequence[int]) -> Mapping[int, tuple[Claim, ...]]:
        """The first claims of finished runs, as they are stored."""
        ...

    def verdicts(self, keys: Sequence[int]) -> Mapping[int, tuple[Claim, ...]]:
        """The verdicts of finished runs with their claims; none where nothing was required."""
        ...

    def positions(self, since: str, most: int) -> list[RunPosition]:
        """Runs without a record, and those written to after `since`; the last `most` of them."""
        ...

    def subjects(self, key: int, first: int, most: int) -> list[str]:
        """The inputs of at most so many rows of a journal, from row number `first`."""
        ...

    def first_failures(self, key: int, subjects: Sequence[str]) -> dict[str, FirstFailure]:
        """Where each of these inputs first failed, as far as its journal says."""
        ...
