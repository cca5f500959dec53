"""The stores that are served: opened for each question, for reading alone.

What reads whole results is imported when one is read: the list needs none of it, and starts fast.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Generic, TypeVar

from surefoot.core.claims import Claim
from surefoot.errors import StoreFailed
from surefoot.store import reading
from surefoot.store.locations import path_of, public_location, scheme_of
from surefoot.store.runs import FirstFailure, RunEnding, RunLine
from surefoot.store.sql import Listing

if TYPE_CHECKING:
    from surefoot.study.result import Result


V = TypeVar("V")


class BoundedCache(Generic[V]):
    """The last used values up to a total of `most`, by what `size_of` says; made one at a time.

    One at a time: two readers of the same page wait for one value, and many pages at once cannot
    take all of the memory.
    """

    def __init__(self, most: int, size_of: Callable[[V], int]) -> None:
        self._most, self._size_of = most, size_of
        self._values: OrderedDict[Hashable, V] = OrderedDict()
        self._size, self._lock, self._making = 0, threading.Lock(), threading.Lock()

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """The value of this key, made where it is not there; a kept one waits for nothing."""
        if (kept := self._kept(key)) is not None:
            return kept
        with self._making:
            if (kept := self._kept(key)) is not None:
                return kept
            value = make()
            with self._lock:
                size = self._size_of(value)
                if size <= self._most:
                    self._values[key] = value
                    self._size += size
                    while self._size > self._most:
                        _, dropped = self._values.popitem(last=False)
                        self._size -= self._size_of(dropped)
            return value

    def _kept(self, key: Hashable) -> V | None:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)


_MOST_INPUTS = 200_000
"""Rows of inputs of the results that are kept in memory: about 400 MB."""
_MOST_PAGE_BYTES = 32_000_000
"""Of the pages that are kept in memory: a page has up to 2 MB."""
_MOST_EVIDENCE_BYTES = 64_000_000
"""Of the evidence files that are kept in memory."""


class NotThere(StoreFailed):
    """There is no such store, run or input."""


def _inputs(result: Result) -> int:
    return 1 + len(result.inputs)


@dataclass(frozen=True)
class ServedStore:
    """One store: its number among those served, and where it is.

    It is opened anew for each question: a file that was replaced, or a server that was started
    again, is read as it is now.
    """

    number: int
    where: str
    _results: BoundedCache[Result] = field(repr=False, compare=False)
    _pages: BoundedCache[str] = field(repr=False, compare=False)
    _evidence: BoundedCache[bytes] = field(repr=False, compare=False)

    @property
    def name(self) -> str:
        """The place without a password."""
        return public_location(self.where)

    def ask(self, question: Callable[[Listing], V]) -> V:
        """What its list of runs answers; the store is opened for reading alone."""
        if scheme_of(self.where) == "sqlite" and not path_of(self.where).is_file():
            # whoever reads a page needs no names of the stores beside it
            raise NotThere(f"there is no store at {self.name}: check the path")
        with reading(self.where) as store:
            return question(store.listing())

    def lines(self) -> list[RunLine]:
        """All runs, the oldest first."""
        return self.ask(lambda runs: runs.lines())

    def line(self, digest: str) -> RunLine:
        """One run."""
        line = next((line for line in self.lines() if line.digest == digest), None)
        if line is None:
            raise NotThere(f"{self.name}: there is no run {digest[:12]}: choose one of the list")
        return line

    def claims(
        self, keys: Sequence[int]
    ) -> tuple[Mapping[int, tuple[Claim, ...]], Mapping[int, RunEnding]]:
        """The first claims of finished runs, and what the ends of their records say."""
        return self.ask(lambda runs: (runs.headlines(keys), runs.endings(keys)))

    def cells(self, lines: Sequence[RunLine]) -> set[str]:
        """The digests of runs that are cells of a suite."""
        # a suite is finished without a journal of its own
        keys = [line.key for line in lines if line.finished and not line.rows]
        endings = self.ask(lambda runs: runs.endings(keys))
        return {digest for ending in endings.values() for digest in ending.cells.values()}

    def first_failures(self, line: RunLine, subjects: Sequence[str]) -> dict[str, FirstFailure]:
        """Where inputs first failed, as far as the journal says."""
        return self.ask(lambda runs: runs.first_failures(line.key, subjects))

    def result(self, line: RunLine) -> Result:
        """The result of a finished run, its record checked."""
        return self._results.get(self._key(line), lambda: self._read(line))

    def report(self, line: RunLine) -> str:
        """The report of a finished run, as `surefoot report` writes it."""
        from surefoot.report.page import html_of

        result = self.result(line)
        return self._pages.get(self._key(line), lambda: html_of(result.view))

    def evidence(self, line: RunLine) -> bytes:
        """The unsigned evidence file of a finished run."""
        self._check_finished(line)
        return self._evidence.get(self._key(line), lambda: self._write_evidence(line))

    def _write_evidence(self, line: RunLine) -> bytes:
        from surefoot.evidence.write import write_evidence

        with TemporaryDirectory() as folder:
            file = write_evidence(line.digest, f"{folder}/evidence.json", store=self.where)
            return file.read_bytes()

    def _read(self, line: RunLine) -> Result:
        from surefoot.study.read_store import read_result

        self._check_finished(line)
        result = read_result(self.where, line.digest)
        if not result.claims:
            raise StoreFailed(
                f"{self.name}: run {line.digest[:12]} is damaged, it has no claims: surefoot show "
                "--check says more"
            )
        return result

    def _check_finished(self, line: RunLine) -> None:
        if not line.finished:
            raise NotThere(
                f"{self.name}: run {line.digest[:12]} is not finished: wait for its result"
            )

    def _key(self, line: RunLine) -> tuple[int, str, str]:
        return self.number, line.digest, line.finished


def served_stores(places: Sequence[str]) -> tuple[ServedStore, ...]:
    """The stores in the order in which they were named; they share what is kept in memory."""
    results = BoundedCache(_MOST_INPUTS, _inputs)
    pages: BoundedCache[str] = BoundedCache(_MOST_PAGE_BYTES, len)
    files: BoundedCache[bytes] = BoundedCache(_MOST_EVIDENCE_BYTES, len)
    return tuple(ServedStore(i, where, results, pages, files) for i, where in enumerate(places))
