"""The runs in a store: a summary of each, and which one a user means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from surefoot.errors import StoreFailed
from surefoot.records.record import Source
from surefoot.records.spec import StudySpec


@dataclass(frozen=True)
class RunSummary:
    """One run of a store, as a list shows it.

    `stopped`: it has a record, but a time limit ended it; the same command goes on. `last_write`:
    when a process last added evidence or finished it.
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


@dataclass(frozen=True)
class RunCheck:
    """What a check of a run shows: how many rows it should have, those that are sound, and why not.

    `sound` counts the rows before the first damaged one. `problem` is empty for a sound run.
    `readable`: the run itself can be read, so that its sound rows can be kept.
    """

    digest: str
    rows: int
    sound: int
    problem: str = ""
    readable: bool = True


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
