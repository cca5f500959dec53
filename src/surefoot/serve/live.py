"""Live progress: one poller for each store, shared by all pages that watch it."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from surefoot.errors import SurefootError
from surefoot.serve import runs
from surefoot.serve.runs import State
from surefoot.serve.stores import ServedStore
from surefoot.store.runs import RunLine, RunPosition

POLL_SECONDS = 1.0
"""Between two questions to a store, however many pages watch it."""
_STILL_THERE_SECONDS = 15.0
"""After which a page that nothing happens on gets a comment: proxies cut silent connections."""
_MOST_RUNS = 100
"""Runs in one message."""
_ROWS_AT_ONCE = 50_000
"""Rows of a journal that one question reads: a fifth of a second."""
_RATE_QUESTIONS = 10
"""Over which the trials a second are taken."""


@dataclass
class _Watched:
    """What is known of a run that goes on."""

    line: RunLine
    rows: int = 0
    subjects: set[str] = field(default_factory=set)
    history: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=_RATE_QUESTIONS))

    @property
    def rate(self) -> float | None:
        """Trials a second lately."""
        if len(self.history) < 2:
            return None
        (first, before), (last, after) = self.history[0], self.history[-1]
        return (after - before) / (last - first) if last > first and after > before else None


class StorePoller:
    """Asks one store how far its runs are, as long as somebody watches."""

    def __init__(self, store: ServedStore) -> None:
        self.store, self.message, self.version = store, "", 0
        self._watched: dict[int, _Watched] = {}
        self._watchers: set[asyncio.Event] = set()
        self._task: asyncio.Task[None] | None = None

    def watch(self, changed: asyncio.Event) -> None:
        """Set this event whenever the message changes."""
        if not self._watchers:
            self.message = ""  # what was said to the last watchers is out of date
        self._watchers.add(changed)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._poll())

    def leave(self, changed: asyncio.Event) -> None:
        """Watch no longer; without watchers nothing is asked."""
        self._watchers.discard(changed)
        if not self._watchers and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _poll(self) -> None:
        while self._watchers:
            message = await asyncio.to_thread(self._message)
            if message != self.message:
                self.message, self.version = message, self.version + 1
                for changed in self._watchers:
                    changed.set()
            await asyncio.sleep(POLL_SECONDS)

    def _message(self) -> str:
        try:
            runs, problem = self._runs(), ""
        except SurefootError as error:
            runs, problem = [], str(error)
        return json.dumps({"store": self.store.number, "problem": problem, "runs": runs})

    def _runs(self) -> list[dict[str, Any]]:
        """Every run that goes on or was written to lately."""
        since = datetime.now(UTC) - timedelta(seconds=runs.RECENT_SECONDS)
        after = since.isoformat(timespec="seconds")
        positions = self.store.ask(lambda listing: listing.positions(after, _MOST_RUNS))
        unknown = {position.key for position in positions} - self._watched.keys()
        if unknown:
            lines = {line.key: line for line in self.store.lines()}
            self._watched |= {k: _Watched(lines[k]) for k in unknown if k in lines}
        keys = {position.key for position in positions}
        self._watched = {key: own for key, own in self._watched.items() if key in keys}
        return [self._run(p, self._watched[p.key]) for p in positions if p.key in self._watched]

    def _run(self, position: RunPosition, watched: _Watched) -> dict[str, Any]:
        state, line, begun = runs.state_of(position), watched.line, None
        watched.history.append((time.monotonic(), position.trials))
        if runs.counts_inputs(line.method) and state is State.IN_PROGRESS:
            key, first = position.key, watched.rows
            rows = self.store.ask(lambda listing: listing.subjects(key, first, _ROWS_AT_ONCE))
            watched.rows += len(rows)
            watched.subjects.update(rows)
        if state in (State.IN_PROGRESS, State.UNFINISHED):
            begun = len(watched.subjects) if watched.rows else None
        rate = watched.rate if state is State.IN_PROGRESS else None
        return {
            "run": position.digest,
            "state": str(state),
            "state_words": runs.state_words(state, position.written),
            "words": runs.progress_words(position.trials, begun, line.inputs, rate),
            "share": None if not begun or not line.inputs else begun / line.inputs,
        }


async def live_messages(pollers: Sequence[StorePoller]) -> AsyncIterator[str]:
    """Messages of server-sent events until the reader goes."""
    changed, versions = asyncio.Event(), dict.fromkeys(range(len(pollers)), -1)
    for poller in pollers:
        poller.watch(changed)
    try:
        yield "retry: 3000\n\n"
        while True:
            for i, poller in enumerate(pollers):
                if poller.message and versions[i] != poller.version:
                    versions[i] = poller.version
                    yield f"data: {poller.message}\n\n"
            changed.clear()
            try:
                await asyncio.wait_for(changed.wait(), _STILL_THERE_SECONDS)
            except TimeoutError:
                yield ": still there\n\n"
    finally:
        for poller in pollers:
            poller.leave(changed)
