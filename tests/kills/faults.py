"""One fault at a time: who is killed, by which signal, at which moment, and what came of it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from surefoot.system.whole_file import UNFINISHED
from tests.kills.commands import (
    NO_RAY,
    SECONDS_TO_END,
    Command,
    Outcome,
    Place,
    named,
    workers_of,
)
from tests.kills.studies import SmallStudy

SIGNALS = (signal.SIGKILL,) * 6 + (signal.SIGTERM,) * 2 + (signal.SIGINT, signal.SIGHUP)
"""Drawn from these: most are kills that nothing can answer."""
MOMENTS = ("any",) * 3 + ("store", "output")
"""Any moment of a run; just as the store is created; just as a file is written."""
STOPPED = 3
_ANEW = 0.15
"""Share of commands that a new interpreter runs: moments of its imports are among them."""
_WAIT_SECONDS = 600.0
"""For a command that is not killed."""


@dataclass(frozen=True)
class Fault:
    """What is done to a command: `share` of the time of a run that nobody interrupts."""

    target: str
    signal: signal.Signals
    moment: str
    share: float
    anew: bool

    @classmethod
    def draw(cls, chance: random.Random, executor: str, store: str) -> Fault:
        possible = ["driver"] * 3
        possible += ["worker"] * 2 if executor != "threads" else []
        possible += ["cluster"] if executor == "ray" else []
        possible += ["connection"] if store == "postgresql" else []
        target = chance.choice(possible)
        sent = chance.choice(SIGNALS) if target == "driver" else signal.SIGKILL
        moment = chance.choice(MOMENTS) if target == "driver" else "any"
        return cls(target, sent, moment, chance.random(), chance.random() < _ANEW)

    def victims(self, place: Place, driver: int) -> list[int]:
        """The processes of which one is killed."""
        if self.target == "driver":
            return [driver]
        if self.target == "cluster":
            return named(place.processes(), ("gcs_server", "raylet/raylet", "ray_bridge"))
        return workers_of(driver) or named(place.processes(), ("ray::Actor",))

    def __str__(self) -> str:
        when = f"at {self.share:.0%}" if self.moment == "any" else f"at its {self.moment}"
        how = " (a new interpreter)" if self.anew else ""
        return f"{self.signal.name} to the {self.target} {when}{how}"


@dataclass
class Finding:
    """What came of a fault; everything in `problems` is a fault of surefoot."""

    killed: bool = False
    early: bool = False
    seconds: float = 0.0
    """Until the command had ended."""
    problems: list[tuple[str, str]] = field(default_factory=list)

    def add(self, kind: str, text: str) -> None:
        self.problems.append((kind, text))


def commit(
    fault: Fault,
    place: Place,
    study: SmallStudy,
    executor: str,
    whole: Whole,
    cut: Callable[[str, Callable[[], bool]], bool],
) -> Finding:
    """Run the command, do the fault to it, and look at what is left."""
    finding = Finding()
    begun = time.monotonic()
    process = place.start(study, executor, fault.anew)
    try:
        _wait_for_moment(fault, process, place, whole.seconds + fault.anew * whole.start_seconds)
        if fault.target == "connection":
            finding.killed = cut(place.store, lambda: process.poll() is not None)
            targets = []
        else:
            targets = fault.victims(place, process.pid)
        if process.poll() is None and targets:
            try:
                os.kill(random.choice(targets), fault.signal)
                finding.killed = True
            except ProcessLookupError:
                pass
        seconds = SECONDS_TO_END if fault.target == "driver" and finding.killed else _WAIT_SECONDS
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        finding.add("orphans", "the command did not end")
        return finding
    finding.seconds = time.monotonic() - begun
    if orphans := place.orphans():
        finding.add("orphans", f"{len(orphans)} processes outlive the driver")
        for pid in orphans:
            os.kill(pid, signal.SIGKILL)
    if NO_RAY in err and process.returncode == STOPPED:
        finding.killed &= fault.target == "cluster"
    elif finding.killed and fault.target == "driver":
        _judge_end(fault, process.returncode, err, whole, finding)
    elif finding.killed and fault.target == "cluster" and process.returncode == STOPPED:
        if "surefoot: Ray ended while" not in err or "Traceback" in err:
            finding.add("exits", err[-300:])
    elif place.outcome(study, process.returncode, out) != whole.outcome:
        finding.add("records", f"exit code {process.returncode}, {err[-300:]!r}")
    return finding


@dataclass(frozen=True)
class Whole:
    """A run that nobody interrupts: how it ends, how long it takes, and what Python adds."""

    outcome: Outcome
    seconds: float
    start_seconds: float


def _wait_for_moment(fault: Fault, process: Command, place: Place, seconds: float) -> None:
    """Until the moment has come, or the command has ended."""
    begun = time.monotonic()
    is_file = "://" not in place.store
    while process.poll() is None:
        passed = time.monotonic() - begun
        if fault.moment == "any" or not is_file:
            if passed >= fault.share * seconds:
                others = fault.target == "connection" or fault.victims(place, process.pid)
                if others or passed > seconds:
                    return
                time.sleep(0.02)
                continue
        elif fault.moment == "store":
            if (place.folder / place.store).exists():
                time.sleep(0.03 * fault.share)
                return
        elif (place.folder / place.store).exists() and any(
            name.endswith(UNFINISHED) for name in os.listdir(place.folder)
        ):
            return
        time.sleep(0.001)


def _judge_end(fault: Fault, code: int, err: str, whole: Whole, finding: Finding) -> None:
    """The exit code and the words of a driver that was stopped."""
    if fault.signal is signal.SIGKILL:
        if code not in (-signal.SIGKILL, whole.outcome.code):
            finding.add("exits", f"exit code {code} after SIGKILL: {err[-300:]!r}")
        finding.killed = code == -signal.SIGKILL
        if "Traceback" in err:  # of its workers
            finding.add("tracebacks", err[-1500:])
        return
    finding.early = code < 0 or ("KeyboardInterrupt" in err and "surefoot/" not in err)
    if finding.early:  # Python itself was being started: no line of surefoot had run
        return
    finding.killed = code == STOPPED
    if code not in (STOPPED, whole.outcome.code):
        finding.add("exits", f"exit code {code}: {err[-300:]!r}")
    if "Traceback" in err or "Exception ignored" in err:
        finding.add("tracebacks", err[-1500:])
    last = err.strip().splitlines()[-1:] or [""]
    if code == STOPPED and not last[0].startswith("surefoot: stopped"):
        finding.add("exits", f"the last line is {last[0]!r}")
