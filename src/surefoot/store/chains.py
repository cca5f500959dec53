"""The chains of a journal: each row's checksum covers the previous row of the same input.

They notice accidents: rows that were changed, lost, doubled or exchanged. A forger can compute
them anew. docs/decisions/journal.md says why a chain an input, and CRC-32.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable
from hashlib import blake2b
from zlib import crc32

from surefoot.core.counts import Answer, Chained, Counts, Outcomes, Proof, Severities
from surefoot.core.tasks import Entry

_EVIDENCE: dict[str, Callable[..., Answer]] = {
    "chained": Chained,
    "counts": Counts,
    "outcomes": Outcomes,
    "proof": Proof,
    "severities": Severities,
}
_KINDS = {kind: name for name, kind in _EVIDENCE.items()}


def evidence_to_text(evidence: Answer, units: int) -> str:
    """Counts of all trials of the row: how many were kept, and had the other label where that is
    another. Anything else: its kind and fields.
    """
    if isinstance(evidence, Counts) and evidence.trials == units:
        return str(evidence.kept) + ("" if evidence.other is None else f" {evidence.other}")
    values = {name: getattr(evidence, name) for name in type(evidence).__slots__}
    return json.dumps([_KINDS[type(evidence)], values], separators=(",", ":"))


def evidence_from_text(text: str, units: int) -> Answer:
    """The evidence of a row with this many trials; ValueError for what cannot be one."""
    kept, _, other = text.partition(" ")
    if kept.isdecimal() and (other.isdecimal() or kept == text):
        evidence: Answer = Counts(units, int(kept), int(other) if other else None)
    else:
        try:
            kind, values = json.loads(text)
            fields = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
            evidence = _EVIDENCE[kind](**fields)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError("its evidence cannot be read") from error
    if not _is_possible(evidence, units):
        raise ValueError("its evidence is impossible")
    return evidence


def _is_possible(evidence: Answer, units: int) -> bool:
    match evidence:
        case Counts(trials=int(trials), kept=int(kept), other=int() | None as other):
            return kept >= 0 and (other or 0) >= 0 and kept + (other or 0) <= trials
        case Outcomes(marks=str(marks)):
            return len(marks) == units and set(marks) <= {"0", "1"}
        case Severities(values=tuple(values), limit=float() | int()):
            return len(values) == units and all(isinstance(v, float | int) for v in values)
        case Chained(severity=float() | int(), accepted=str(accepted)):
            return len(accepted) == units and set(accepted) <= {"0", "1"}
        case Proof(low=float() | int(), nodes=int(nodes), discarded=int(discarded)):
            ends = evidence.high is None or evidence.high >= 0
            return ends and evidence.low >= 0 and nodes >= 0 and discarded >= 0
        case _:
            return False


_DIGEST_BYTES = 16
"""Of a seal. Accidents are noticed by far fewer."""
_Place = tuple[str, float]
"""The name of a subject, and a level."""


COLUMNS = ("number", "subject", "level", "start", "stop", "evidence", "checksum")
"""Of a row, in the order in which it is read and written."""
Row = tuple[int, str, float, int, int, str, int]
NewRow = tuple[str, float, int, int, str]
"""Subject, level, start, stop, evidence as text."""


class BadRow(Exception):
    """A row that cannot be right: its number, and what is wrong with it."""

    def __init__(self, number: int, problem: str) -> None:
        super().__init__(f"row {number} {problem}")


class Coverage:
    """Which trials have evidence, by subject and level."""

    def __init__(self) -> None:
        self._edges: dict[_Place, list[int]] = {}
        """Starts and stops in turn, increasing: ranges that touch are one."""

    def add(self, place: _Place, start: int, stop: int) -> bool:
        """Note the trials [start, stop); False, and nothing noted, if one of them is there."""
        edges = self._edges.get(place)
        if edges is None:
            self._edges[place] = [start, stop]
            return True
        if start == edges[-1]:
            edges[-1] = stop
            return True
        at = bisect_right(edges, start)
        if at % 2 or (at < len(edges) and stop > edges[at]):
            return False
        touches_left = at > 0 and edges[at - 1] == start
        touches_right = at < len(edges) and edges[at] == stop
        new = ([] if touches_left else [start]) + ([] if touches_right else [stop])
        edges[at - touches_left : at + touches_right] = new
        return True


class _SubjectRows:
    """The rows of one subject: the end of their chain, and the trials [start, stop) of all of them.

    `stop` is negative where the trials are not one range at one level: then the coverage has them.
    """

    __slots__ = ("checksum", "level", "start", "stop")

    def __init__(self, checksum: int, level: float, start: int, stop: int) -> None:
        self.checksum, self.level, self.start, self.stop = checksum, level, start, stop


class Chains:
    """What is known of the journal of one run: its rows, their trials, the end of each chain."""

    def __init__(self, digest: str) -> None:
        self.digest, self.rows, self.trials = digest, 0, 0
        self._subjects: dict[str, _SubjectRows] = {}
        self._coverage = Coverage()
        self._seed = crc32(f"{digest} ".encode())

    def read(self, rows: Iterable[Row], entries: defaultdict[str, list[Entry]]) -> None:
        """Check the next rows, in their order, and add what they hold to the entries."""
        subjects, number, trials = self._subjects, self.rows, self.trials
        counts: dict[tuple[str, int, int], Answer] = {}
        last_level, words = None, ""
        new_entry = tuple.__new__  # half the time of calling Entry
        try:
            for own_number, subject, level, start, stop, evidence, checksum in rows:
                if own_number != number:
                    raise BadRow(number, "is missing")
                own = subjects.get(subject)
                previous = self._first(subject) if own is None else own.checksum
                if level != last_level:
                    last_level, words = level, repr(level)
                text = f"{number} {words} {start} {stop} {evidence}"
                if crc32(text.encode("utf-8", "replace"), previous) != checksum:
                    raise BadRow(number, f"(input {subject}) does not match its checksum")
                value = counts.get((evidence, start, stop))
                if value is None:
                    value = _evidence(number, subject, evidence, start, stop)
                    if type(value) is Counts:
                        counts[evidence, start, stop] = value
                if own is None:
                    subjects[subject] = _SubjectRows(checksum, level, start, stop)
                elif own.stop == start and own.level == level:
                    own.stop, own.checksum = stop, checksum
                elif self._cover(subject, own, level, start, stop):
                    own.checksum = checksum
                else:
                    problem = f"(input {subject}) holds trials that an earlier row holds"
                    raise BadRow(number, problem)
                entries[subject].append(new_entry(Entry, (level, start, stop, value)))
                number += 1
                trials += stop - start
        finally:
            self.rows, self.trials = number, trials

    def add(self, answers: Iterable[NewRow]) -> list[Row]:
        """The rows for new answers, which are in the journal from now on.

        Trials that are in it stay as they are: an answer with one of them is left out.
        """
        rows: list[Row] = []
        for subject, level, start, stop, evidence in answers:
            own = self._subjects.get(subject)
            text = f"{self.rows} {level!r} {start} {stop} {evidence}"
            previous = self._first(subject) if own is None else own.checksum
            checksum = crc32(text.encode(), previous)
            if own is None:
                self._subjects[subject] = _SubjectRows(checksum, level, start, stop)
            elif own.stop == start and own.level == level:
                own.stop, own.checksum = stop, checksum
            elif self._cover(subject, own, level, start, stop):
                own.checksum = checksum
            else:
                continue
            rows.append((self.rows, subject, level, start, stop, evidence, checksum))
            self.rows += 1
            self.trials += stop - start
        return rows

    def heads(self) -> str:
        """A digest of the number of rows and of the end of every chain."""
        ends = "\n".join(f"{own.checksum} {subject}" for subject, own in self._subjects.items())
        return _digest(f"{self.rows}\n{ends}")

    def _cover(self, subject: str, own: _SubjectRows, level: float, start: int, stop: int) -> bool:
        """Note trials that do not follow the subject's last ones; False if one of them is there."""
        if own.stop >= 0:
            self._coverage.add((subject, own.level), own.start, own.stop)
            own.stop = -1
        return self._coverage.add((subject, level), start, stop)

    def _first(self, subject: str) -> int:
        """Before the first row of a subject: rows of another run or subject do not fit."""
        return crc32(str(subject).encode("utf-8", "replace"), self._seed)


def _evidence(number: int, subject: str, text: str, start: int, stop: int) -> Answer:
    """The evidence of a row whose values are possible: a damaged file may hold any type."""
    if not (type(start) is type(stop) is int and 0 <= start < stop):
        raise BadRow(number, f"(input {subject}) holds impossible trials, {start} to {stop}")
    try:
        return evidence_from_text(str(text), stop - start)
    except ValueError as error:
        raise BadRow(number, f"(input {subject}) is damaged: {error}") from error


def seal_of(record: str, finished: str, rows: int, heads: str) -> str:
    """A digest of the record, of when it was stored, and of the journal it was made from."""
    return _digest(f"{finished} {rows} {heads}\n{record}")


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=_DIGEST_BYTES).hexdigest()
