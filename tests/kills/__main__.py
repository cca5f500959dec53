"""The command: kills, then figures in one line; exit code 0 only if all is well."""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

from tests.kills.commands import Place
from tests.kills.faults import Fault, Whole, commit
from tests.kills.studies import STUDIES, SmallStudy

_MOST_FAULTS = 3
"""In one run, before it may end."""
_BESIDE = 0.15
"""Share of runs that two drivers finish side by side."""
_KINDS = ("records", "files", "orphans", "tracebacks", "exits")


@dataclass
class Figures:
    """What is counted over all kills."""

    kills: int = 0
    early: int = 0
    resumed: int = 0
    identical: int = 0
    problems: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)

    def line(self, seconds: float) -> str:
        named = {"files": "files left behind", "orphans": "orphans", "tracebacks": "tracebacks",
                 "exits": "unexpected exits"}  # fmt: skip
        counts = ", ".join(f"{self.problems[kind]} {words}" for kind, words in named.items())
        return (
            f"{self.kills} kills, {self.resumed} resumed runs, {self.identical} identical records, "
            f"{counts}, {seconds:.0f} s"
        )

    @property
    def well(self) -> bool:
        return not self.problems.total() and self.identical == self.resumed


class Killing:
    """Kills until there are enough of them, several runs side by side."""

    def __init__(self, folder: Path, databases: Databases, options: argparse.Namespace) -> None:
        self.folder, self.databases, self.options = folder, databases, options
        self.figures, self.places = Figures(), 0
        self._wholes: dict[tuple[str, str], Whole] = {}
        self._started: float | None = None
        self._lock = threading.RLock()

    def run(self) -> Figures:
        chance = random.Random(self.options.seed)
        with ThreadPoolExecutor(self.options.jobs) as pool:
            seeds = [[chance.random() for _ in range(1000)] for _ in range(self.options.jobs)]
            try:
                list(pool.map(self._work, seeds))
            except KeyboardInterrupt:
                self.options.kills = 0  # the runs in hand end, and what was counted is printed
        return self.figures

    def _work(self, seeds: list[float]) -> None:
        for seed in seeds:
            if self.figures.kills >= self.options.kills:
                return
            self._one_run(random.Random(seed))

    def _one_run(self, chance: random.Random) -> None:
        """Kill a command a few times, then let it end."""
        name = chance.choice(self.options.studies)
        executor = chance.choice(self.options.executors)
        kind = chance.choice(self.options.stores)
        study, whole = STUDIES[name], self._whole(name, executor)
        place = self._place(self.databases.new() if kind == "postgresql" else "runs.db")
        words = f"{name}, {executor}, {kind}"
        for _ in range(chance.randint(1, _MOST_FAULTS)):
            fault = Fault.draw(chance, executor, kind)
            finding = commit(fault, place, study, executor, whole, self.databases.cut)
            with self._lock:
                self.figures.kills += finding.killed
                self.figures.kinds[f"{fault.target}, {executor}, {kind}"] += finding.killed
                self.figures.early += finding.early
                self._say(f"{words}: {fault}", finding.problems, finding.killed)
            if not (finding.killed or finding.early):  # the machine is less busy than it was
                seconds = min(whole.seconds, finding.seconds)
                self._wholes[name, executor] = replace(whole, seconds=seconds)
                break
        problems = self._end(place, study, executor, whole, 2 if chance.random() < _BESIDE else 1)
        with self._lock:
            self.figures.resumed += 1
            self.figures.identical += not any(kind == "records" for kind, _ in problems)
            if problems:
                self._say(f"{words}: run to its end", problems, True)
            else:
                shutil.rmtree(place.folder)

    def _end(
        self, place: Place, study: SmallStudy, executor: str, whole: Whole, drivers: int
    ) -> list[tuple[str, str]]:
        """Run the same command to its end, by one driver or by several at once."""
        problems = []
        for code, out, err in place.run(study, executor, drivers):
            ended = place.outcome(study, code, out)
            if ended != whole.outcome:
                problems.append(("records", f"{place.folder}: {difference(ended, whole)} {err!r}"))
        place.orphans()
        problems += [("files", name) for name in place.left_behind(study)]
        return problems

    def _whole(self, name: str, executor: str) -> Whole:
        """The same without any fault, once for each executor, always in a file."""
        with self._lock:
            if (name, executor) not in self._wholes:
                study, place = STUDIES[name], self._place("runs.db")
                begun = time.monotonic()
                [(code, out, err)] = place.run(study, executor)
                ended = place.outcome(study, code, out)
                whole = Whole(ended, time.monotonic() - begun, self._start_seconds())
                if code not in (0, 1, 2):
                    raise SystemExit(f"{name} fails by itself: {err}")
                first = next((w for (n, _), w in self._wholes.items() if n == name), whole)
                if first.outcome != ended:
                    raise SystemExit(f"{name}, {executor}: {difference(ended, first)}")
                self._wholes[name, executor] = whole
            return self._wholes[name, executor]

    def _start_seconds(self) -> float:
        """How much longer a new interpreter takes, measured once."""
        if self._started is None:
            seconds = []
            for anew in (False, False, True):
                begun = time.monotonic()
                place = self._place("runs.db")
                place.start(STUDIES["estimate"], "threads", anew).communicate()
                seconds.append(time.monotonic() - begun)
            self._started = max(seconds[2] - seconds[1], 0.5)
        return self._started

    def _place(self, store: str) -> Place:
        with self._lock:
            self.places += 1
            return Place(self.folder / f"run{self.places}", store).prepare()

    def _say(self, words: str, problems: list[tuple[str, str]], killed: bool) -> None:
        for kind, _ in problems:
            self.figures.problems[kind] += 1
        late = "" if killed or problems else " (too late or too early)"
        print(f"{self.figures.kills:4} {words}{late}", flush=True)
        for kind, text in problems:
            print(f"     {kind}: {text}", flush=True)


class Databases:
    """New databases on a PostgreSQL server; `new` is refused where there is none."""

    def __init__(self, server: object = None) -> None:
        self._server, self._lock = server, threading.Lock()

    def new(self) -> str:
        with self._lock:
            return str(self._server.new_database())  # type: ignore[attr-defined]

    def cut(self, url: str, ended: Callable[[], bool]) -> bool:
        """Cut connections in the middle of a transaction; whether there were any.

        A lock of ours makes the next one wait after it has begun, so that it needs no luck.
        """
        import psycopg

        waiting = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
            f"'{url.rpartition('/')[2]}' AND wait_event_type = 'Lock'"
        )
        while not ended():
            with suppress(psycopg.errors.UndefinedTable), psycopg.connect(url) as lock:
                lock.execute("LOCK TABLE surefoot_journal IN EXCLUSIVE MODE")
                while not ended():
                    if self._server.execute(waiting):  # type: ignore[attr-defined]
                        return True
            time.sleep(0.02)
        return False


@contextmanager
def open_databases(kinds: list[str]) -> Iterator[Databases]:
    """A server of its own where a store of PostgreSQL is among the kinds."""
    if "postgresql" not in kinds:
        yield Databases()
        return
    from tests.postgres_server import running_server

    with running_server() as server:
        yield Databases(server)


def difference(ended: object, whole: Whole) -> str:
    """Where two outcomes differ first, in a few words."""
    own, expected = repr(ended), repr(whole.outcome)
    at = next((i for i, (a, b) in enumerate(zip(own, expected, strict=False)) if a != b), 0)
    return f"...{own[max(0, at - 60) : at + 80]} instead of ...{expected[at : at + 80]}"


def options_of(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="runs side by side")

    def names(text: str) -> list[str]:
        return text.split(",")

    executors = ["threads", "processes"] + ["ray"] * (find_spec("ray") is not None)
    parser.add_argument("--studies", type=names, default=list(STUDIES))
    parser.add_argument("--executors", type=names, default=executors)
    parser.add_argument("--stores", type=names, default=["sqlite", "postgresql"])
    return parser.parse_args(words)


def main(words: list[str]) -> Figures:
    """Kill as often as the options say; a line for each fault, and one of figures at the end."""
    options, begun = options_of(words), time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="surefoot-kills-"))
    with open_databases(options.stores) as databases:
        figures = Killing(folder, databases, options).run()
    for kind, kills in sorted(figures.kinds.items()):
        print(f"{kills:4} {kind}")
    print(figures.line(time.monotonic() - begun))
    if figures.well:
        shutil.rmtree(folder)
    return figures


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1:]).well else 1)
