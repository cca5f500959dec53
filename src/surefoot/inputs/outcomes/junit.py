"""Outcomes in JUnit's XML, as test runners of every language write it.

Declarations, and with them all entities, are refused: a file expands to nothing but itself.
"""

from __future__ import annotations

import xml.parsers.expat
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from surefoot.errors import InvalidArgument, refusing
from surefoot.inputs.outcomes import rows as outcomes
from surefoot.inputs.outcomes.rows import ColumnNames, Outcome, OutcomeFile, Remark

_UNRUN = ("skipped", "skip", "disabled")
_TOTALS = ("tests", "failures", "errors", *_UNRUN)


_Counts = Counter[str]
"""What the cases of a suite add up to; a case may have several failures and errors."""


class Suite:
    """One suite while it is read: its head and the cases so far."""

    def __init__(self, place: str, tag: str, attributes: Mapping[str, str]) -> None:
        self.name = attributes.get("name", "")
        self._place, self._tag = place, tag
        self._totals = {
            key: outcomes.whole_number(place, key, value)
            for key, value in ((key.lower(), value) for key, value in attributes.items())
            if key in _TOTALS and value.strip()
        }
        self._own, self._nested = _Counts(), _Counts()

    def add_case(self, failures: Sequence[str], *, skipped: bool) -> None:
        """A case with these elements that say that it failed."""
        errors = sum(kind.endswith("error") for kind in failures)
        plain = len(failures) - errors
        self._own += _Counts(
            cases=1,
            skipped=int(skipped),
            with_failure=int(plain > 0),
            with_error=int(errors > 0),
            failed=int(bool(failures)),
            elements=len(failures),
            errors=errors,
        )

    def add_nested(self, suite: Suite) -> None:
        """A suite inside of this one has ended."""
        self._nested += suite._own + suite._nested

    def check(self) -> None:
        """Refuse totals that are neither those of all its cases nor those outside nested suites."""
        whole = self._own + self._nested
        if _agree(self._totals, whole) or _agree(self._totals, self._own):
            return
        said = ", ".join(f"{key}={count}" for key, count in self._totals.items())
        raise InvalidArgument(
            f"{self._place}: the {self._tag} says {said}, and the file has {whole['cases']} of "
            f"its testcases, {whole['with_failure']} with a failure, {whole['with_error']} with an "
            f"error, {whole['skipped']} skipped: write the file again, or remove totals that count "
            "something else than testcases"
        )


def _agree(totals: Mapping[str, int], counts: _Counts) -> bool:
    """Runners differ: skipped cases and an error after the test may be counted or not."""
    failures, errors, tests = (totals.get(key) for key in ("failures", "errors", "tests"))
    stated = [(failures, counts["with_failure"]), (errors, counts["with_error"])]
    if failures is not None and errors is not None:
        stated = [(failures + errors, counts["failed"])]
    fewest = counts["cases"] - max(counts["skipped"], counts["errors"])
    return (
        all(given is None or least <= given <= counts["elements"] for given, least in stated)
        and sum(totals.get(key, 0) for key in _UNRUN) <= counts["skipped"]
        and (tests is None or fewest <= tests <= counts["cases"] + counts["errors"])
    )


_FAILED = ("failure", "error", "rerunfailure", "rerunerror")
_RUN_AGAIN = ("flakyfailure", "flakyerror")
"""Of a case that passed in the end: an earlier trial that did not."""
_SKIPPED = "skipped"
_SILENT = ("system-out", "system-err", "properties", "property")
"""Elements of a case that say nothing of its outcome."""
_STATUS = ("status", "result", "outcome")
"""Attributes of a case in which some runners write the outcome."""
_STATES = {
    **dict.fromkeys(("passed", "pass", "ok", "success", "successful", "fixed"), "passed"),
    **dict.fromkeys(("failed", "fail", "failure", "error", "errored", "regression"), "failed"),
    **dict.fromkeys(("skipped", "skip", "notrun", "disabled", "suppressed", "ignored"), _SKIPPED),
    **dict.fromkeys(("run", "completed", "executed", ""), ""),
}
"""What the values of these attributes mean; empty: that the case was run."""
_ATTRIBUTES = ("classname", "suite", "file")
"""What can be the class or the group of a case."""


class _Reader:
    """Collects the test cases while the file is read; no tree is kept."""

    def __init__(self, path: Path, wanted: ColumnNames) -> None:
        self.path, self.wanted = path, wanted
        self.rows: list[Outcome] = []
        self._suites: list[Suite] = []
        self._case: dict[str, str] | None = None
        self._line, self._children, self._depth = 0, list[str](), 0
        self._parser = xml.parsers.expat.ParserCreate()
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._parser.EntityDeclHandler = self._refuse
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end

    def read(self) -> None:
        """Read all of it."""
        outcomes.check_size(self.path)
        errors = (OSError, xml.parsers.expat.ExpatError, ValueError, LookupError)
        with refusing(f"{self.path} cannot be read as XML", "write it again", *errors):
            self._parser.Parse(self.path.read_bytes(), True)

    def _refuse(self, *_: object) -> None:
        raise InvalidArgument(
            f"{self.path} declares a document type, which could pull in other files: remove "
            "<!DOCTYPE …> from it"
        )

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = _plain(tag)
        place = f"{self.path}, line {self._parser.CurrentLineNumber}"
        if self._case is not None:
            # What a case has inside; deeper elements are text, but a failure is one anywhere.
            self._depth += 1
            if name in (*_FAILED, *_RUN_AGAIN, _SKIPPED):
                self._children.append(name)
            elif self._depth == 1 and name not in _SILENT:
                raise InvalidArgument(
                    f"{place}: the testcase has {outcomes.shown(name)}, which may be a failure: of "
                    "the elements of a testcase failure, error and skipped are known; write one of "
                    "them"
                )
        elif name in ("testsuite", "testsuites"):
            self._suites.append(Suite(place, name, attributes))
        elif name == "testcase":
            self._case, self._children, self._depth = attributes, [], 0
            self._line = self._parser.CurrentLineNumber
        elif name in (*_FAILED, *_RUN_AGAIN):
            raise InvalidArgument(
                f"{place}: {tag} stands outside of every testcase, so that something failed before "
                "cases were run: run the tests again without it"
            )

    def _end(self, tag: str) -> None:
        name = _plain(tag)
        if self._case is not None and self._depth:
            self._depth -= 1
        elif name in ("testsuite", "testsuites") and self._suites:
            suite = self._suites.pop()
            suite.check()
            if self._suites:
                self._suites[-1].add_nested(suite)
        elif name == "testcase" and self._case is not None:
            case, self._case = self._case, None
            self._add(f"{self.path}, line {self._line}", case)

    def _add(self, place: str, case: dict[str, str]) -> None:
        if not case.get("name"):
            raise InvalidArgument(f"{place}: the testcase has no name; write the file again")
        value = self._value(place, case)
        failed, skipped = value in (*_FAILED, "failed"), value == _SKIPPED
        again = [c for c in self._children if c in _RUN_AGAIN]
        full = "::".join(filter(None, [case.get("classname", ""), case["name"]]))
        group, class_name = (
            self._attribute(place, case, key) for key in (self.wanted.group, self.wanted.by)
        )
        if self._suites:
            kinds = [c for c in self._children if c in _FAILED] or ["failure"] * failed
            self._suites[-1].add_case(kinds, skipped=skipped)
        attempts = [(value, int(failed))]
        if failed:
            attempts += [(c, 1) for c in self._children if c.startswith("rerun") and c != value]
        elif not skipped:
            attempts = [*((c, 1) for c in again), *attempts]
        self.rows += [
            Outcome(
                full, fails, int(not skipped), group, class_name, "", place, one, len(attempts) > 1
            )
            for one, fails in attempts
        ]

    def _value(self, place: str, case: dict[str, str]) -> str:
        """The element that makes it a failure, else what its attributes say, else passed."""
        # What the attributes of a case say of its outcome; empty where they do not.
        states = set[str]()
        for name, value in case.items():
            if _plain(name) not in _STATUS:
                continue
            state = _STATES.get(value.strip().lower())
            if state is None:
                raise InvalidArgument(
                    f"{place}: the testcase has the {name} {outcomes.shown(value)}, which is not "
                    "known: write passed, failed or skipped"
                )
            states.add(state)
        states.discard("")
        if len(states) > 1:
            raise InvalidArgument(
                f"{place}: the testcase is {' and '.join(sorted(states))} by its attributes: "
                "correct one"
            )
        state = "".join(states)
        element = next((c for kind in _FAILED for c in self._children if c == kind), "")
        if element and state == "passed":
            raise InvalidArgument(
                f"{place}: the testcase has the status passed and {element!r}: correct one"
            )
        if element or state == "failed":
            return element or state
        return _SKIPPED if _SKIPPED in (*self._children, state) else "passed"

    def _attribute(self, place: str, case: dict[str, str], key: str | None) -> str:
        if key is None:
            return ""
        suite = self._suites[-1].name if self._suites else ""
        value = suite if key == "suite" else case.get(key, "")
        if value:
            return value
        raise InvalidArgument(f"{place}: the testcase has no {key}; choose another")


def _plain(tag: str) -> str:
    """Without its namespace and capitals, which runners use as they like."""
    return tag.rpartition(":")[2].lower()


def read_junit(path: Path, wanted: ColumnNames) -> OutcomeFile:
    """Test cases that passed, failed, ended with an error, or were skipped."""
    cut = wanted.meaning.cut
    for option, value in (
        ("case (--case)", wanted.case),
        ("outcome (--outcome)", wanted.outcome),
        ("one_means (--one-means)", wanted.meaning.one),
        ("means (--means)", ", ".join(wanted.meaning.words) or None),
        ("" if cut is None else cut.option, None if cut is None else cut.number),
    ):
        if value is not None:
            raise InvalidArgument(
                f"{option} {value}: JUnit's XML says itself what "
                "its cases and outcomes are; leave it out"
            )
    for option, value in (("by", wanted.by), ("group", wanted.group)):
        if value is not None and value not in _ATTRIBUTES:
            raise InvalidArgument(
                f"{option} (--{option}) {value}: of JUnit's XML choose one of "
                f"{', '.join(_ATTRIBUTES)}"
            )
    reader = _Reader(path, wanted)
    reader.read()
    if not reader.rows:
        raise InvalidArgument(
            f"{path} has no testcase: a tally needs at least one outcome; give another file"
        )
    remarks = [
        Remark("case", "class and name of the testcase"),
        Remark("outcome", "failed where the testcase has a failure or an error"),
        *outcomes.field_remarks(wanted, "the {} of the testcase"),
    ]
    return outcomes.outcome_file(path, reader.rows, remarks, reruns=wanted.reruns)
