"""The runs in a store: a summary of each, lines of a list, and which one a user means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from surefoot.core.claims import Claim
from surefoot.errors import StoreFailed
from surefoot.records.record import Source
from surefoot.records.spec import StudySpec


@dataclass(frozen=True)
class RunSummary:
    """One run of a store, as a list shows it.

    `stopped`: it has a record, but a time limit ended it; the same command goes on. `last_write`:
    when a process last added evidence or finished it. `clean_accuracy`: by the name of each model
    where there are several; empty where the run is not finished or has no labels. `cells`: of a
    suite, the digests of the runs that it is made of.
    """

    digest: str
    spec: StudySpec
    started: str
    finished: bool
    trials: int
    ended: str = ""
    source: Source | None = None
    stopped: bool = False
    last_write: str = ""
    clean_accuracy: Mapping[str, float] = field(default_factory=dict)
    cells: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunCheck:
    """What a check of a run shows: how many rows it should have, those that are sound, and why not.

    `sound` counts the rows before the first damaged one. `problem` is empty for a sound run.
    `readable`: the run itself can be read, so that its sound rows can be kept. `whole_file`: it is
    about the file of the store, and no run of it was read.
    """

    digest: str
    rows: int
    sound: int
    problem: str = ""
    readable: bool = True
    whole_file: bool = False


def choose_name(digests: Sequence[str], prefix: str, where: str) -> str:
    """The one digest that begins with `prefix`."""
    matching = [digest for digest in digests if digest.startswith(prefix)]
    if len(matching) == 1 and prefix:
        return matching[0]
    if not matching:
        raise StoreFailed(f"{where}: run {prefix} is not in the store: see surefoot show --list")
    raise StoreFailed(
        f"{where}: {prefix!r} must name one run, but {len(matching)} begin with it: give more "
        "characters"
    )


def choose_run(runs: Sequence[RunSummary], prefix: str, where: str) -> RunSummary:
    """The finished run whose digest begins with `prefix`; the last to finish if it is empty.

    An attack beside a study is a run of its own, and the study finishes after it.
    """
    matching = [r for r in runs if r.digest.startswith(prefix)]
    finished = [r for r in matching if r.finished]
    if not runs:
        raise StoreFailed(f"{where} has no runs yet: run a study with this store first")
    if not matching:
        raise StoreFailed(f"{where}: run {prefix} is not in the store: see surefoot show --list")
    if not finished:
        raise StoreFailed(f"{where}: {_unfinished(max(matching, key=lambda r: r.last_write))}")
    if prefix and len(finished) > 1:
        raise StoreFailed(
            f"{where}: {prefix} must name one run, but {len(finished)} begin with it: give more "
            "characters"
        )
    return max(finished, key=lambda r: r.ended)


def _unfinished(run: RunSummary) -> str:
    """That there is no result yet, and the command that goes on."""
    command = "" if run.source is None else run.source.command
    words = f"run {run.digest[:12]} is not finished: run the same command again"
    return f"{words}, {command}" if command else words


@dataclass(frozen=True)
class RunPosition:
    """How far a run is now: what is journalled, and when that was.

    `key` is its number in the store. `finished` is when its record was written, empty while there
    is none. `stopped`: a time limit ended it.
    """

    key: int
    digest: str
    trials: int
    rows: int
    written: str
    finished: str
    stopped: bool


@dataclass(frozen=True)
class RunLine(RunPosition):
    """One run of a store as a list shows it; nothing of it is checked against its seal.

    `problem` says what of the run cannot be read. `preparation`: what is done to values before the
    model, in words. `question` names data, perturbation, property and range of values: runs of one
    question measure the same of different models, each with its own `version`.
    """

    started: str
    seconds: float
    method: str
    inputs: int
    perturbation: str
    data: str
    model: str = ""
    command: str = ""
    study: str = ""
    problem: str = ""
    preparation: str = ""
    question: str = ""
    version: str = ""

    @property
    def words(self) -> str:
        """The text that a search goes through, in small letters."""
        named = (self.digest, self.study, self.command, self.model, self.data)
        parts = (*named, self.perturbation, self.method)
        return "\n".join(parts).lower()


@dataclass(frozen=True)
class RunEnding:
    """What the end of a record says: its verdicts, clean accuracy, and what it is made of.

    `clean`: by the name of each model that it compares, or by an empty name. `cells`: those of a
    suite, their digests by their names. `trials`: also those of the runs that it is made of.
    """

    verdicts: tuple[Claim, ...] = ()
    clean: Mapping[str, float] = field(default_factory=dict)
    cells: Mapping[str, str] = field(default_factory=dict)
    trials: int = 0


@dataclass(frozen=True)
class FirstFailure:
    """The first trials of an input among which one failed: [start, stop), one where it is known."""

    start: int
    stop: int

    def __str__(self) -> str:
        if self.stop - self.start == 1:
            return f"trial {self.start}"
        return f"among trials {self.start} to {self.stop - 1}"
