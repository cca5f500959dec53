"""What a run is doing, and how far it is, in words."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum

from surefoot.catalogue.methods import METHODS
from surefoot.core.procedure import Needs
from surefoot.store.runs import RunLine, RunPosition

RECENT_SECONDS = 60.0
"""Since the last write: a run that writes more seldom has slow batches, or was stopped."""


class State(StrEnum):
    """What a list says of a run."""

    FINISHED = "finished"
    IN_PROGRESS = "in progress"
    STOPPED = "stopped"
    UNFINISHED = "unfinished"


_UNITS = {"day": 86_400, "hour": 3_600, "minute": 60}
"""Of an age in words: in seconds, the longest first; below a minute a run is in progress."""


def state_of(line: RunLine | RunPosition, now: datetime | None = None) -> State:
    """The state of a run, by its record and its last write: nothing else says that it goes on."""
    recent = seconds_since(line.written, now) <= RECENT_SECONDS
    if line.finished and not line.stopped:
        return State.FINISHED
    if line.finished:
        goes_on = recent and line.written > line.finished
        return State.IN_PROGRESS if goes_on else State.STOPPED
    return State.IN_PROGRESS if recent else State.UNFINISHED


def state_words(state: State, written: str, now: datetime | None = None) -> str:
    """The state for people; where a process may be at work or gone, when it last wrote."""
    match state:
        case State.STOPPED:
            return "stopped by the time limit"
        case State.UNFINISHED:
            return f"unfinished, last written {_age_words(seconds_since(written, now))}"
        case _:
            return str(state)


def _age_words(seconds: float) -> str:
    """How long ago, in the longest unit that fits, rounded down."""
    if seconds == float("inf"):
        return "at an unknown time"
    unit, length = next((u for u in _UNITS.items() if seconds >= u[1]), ("minute", 60))
    number = max(1, int(seconds // length))
    return f"{number:,} {unit}{'' if number == 1 else 's'} ago"


def seconds_since(time: str, now: datetime | None = None) -> float:
    """Seconds since a time of a store; without end where it cannot be read."""
    try:
        then = datetime.fromisoformat(time)
    except ValueError:
        return float("inf")
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return ((now or datetime.now(UTC)) - then).total_seconds()


def counts_inputs(method: str) -> bool:
    """Whether the journal of this method has rows of single inputs."""
    kind = METHODS.get(method)
    return kind is not None and kind.needs is not Needs.LEVELS


def progress_words(trials: int, begun: int | None, inputs: int, rate: float | None) -> str:
    """How far a run is: no number of it is a result."""
    words = [f"{trials:,} trials"]
    if begun is not None and inputs:
        words.append(f"{begun:,} of {inputs:,} inputs begun")
    if rate is not None:
        words.append(f"{rate:,.0f} trials a second")
    return ", ".join(words)


def short_time(time: str) -> str:
    """A time of a store to the minute, in UTC."""
    return time[:16].replace("T", " ")
