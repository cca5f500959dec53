"""A time limit of a run: which methods take one, when it is reached, what it leaves time for."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass

from surefoot.errors import InvalidArgument


def check_time_limit(seconds: float | None, methods: Iterable[object]) -> None:
    """Refuse a limit that is no time, and one for a method that cannot conclude early.

    A method that can has the class attribute `concludes_early` and catches `TimeUp` in its steps.
    """
    if seconds is None:
        return
    if not 0 < seconds < math.inf:
        raise InvalidArgument(
            f"time_limit is a number of seconds above 0, got {seconds:g}: write 60, or leave it out"
        )
    for method in methods:
        if not getattr(method, "concludes_early", False):
            raise InvalidArgument(
                f"a time limit needs a method that can conclude early: {type(method).__name__} "
                "cannot; leave the limit out: a run with a store can be interrupted at any time, "
                "and goes on where it stopped"
            )


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """So many seconds from `begun`, on the monotonic clock; infinite where there is no limit."""

    begun: float
    seconds: float

    @classmethod
    def from_now(cls, seconds: float | None) -> TimeLimit:
        """A limit that begins now."""
        return cls(time.monotonic(), math.inf if seconds is None else seconds)

    @property
    def reached(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self.begun + self.seconds

    def most_trials(self, trials: int) -> float:
        """How many trials can be run in the whole time, if `trials` were run until now."""
        if not trials:
            return math.inf
        return trials * max(1.0, self.seconds / max(time.monotonic() - self.begun, 1e-9))
