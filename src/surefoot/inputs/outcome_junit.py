"""Outcomes in JUnit's XML, as test runners of every language write it.

Declarations, and with them all entities, are refused: a file expands to nothing but itself.
"""

from __future__ import annotations

import xml.parsers.expat
from pathlib import Path

from surefoot.errors import InvalidArgument
from surefoot.inputs.outcome_rows import (
    ColumnNames,
    Outcome,
    OutcomeFile,
    Remark,
    check_size,
    outcome_file,
)

_FAILED = ("failure", "error")
_RUN_AGAIN = ("flakyFailure", "flakyError")
"""Of a case that passed in the end: an earlier trial that did not."""
_ATTRIBUTES = ("classname", "suite", "file")
"""What can be the class or the group of a case."""


class _Reader:
    """Collects the test cases while the file is read; no tree is kept."""

    def __init__(self, path: Path, wanted: ColumnNames) -> None:
        self.path, self.wanted = path, wanted
        self.rows: list[Outcome] = []
        self.run_again = 0
        self._suites: list[str] = []
        self._case: dict[str, str] | None = None
        self._line, self._children = 0, set[str]()
        self._parser = xml.parsers.expat.ParserCreate()
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._parser.EntityDeclHandler = self._refuse
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end

    def read(self) -> None:
        """Read all of it."""
        check_size(self.path)
        try:
            self._parser.Parse(self.path.read_bytes(), True)
        except (OSError, xml.parsers.expat.ExpatError, ValueError, LookupError) as error:
            raise InvalidArgument(
                f"{self.path} cannot be read as XML ({error}): write it again"
            ) from error

    def _refuse(self, *_: object) -> None:
        raise InvalidArgument(
            f"{self.path} declares a document type, which could pull in other files: remove "
            "<!DOCTYPE …> from it"
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if self._case is not None:
            self._children.add(name)
        elif name == "testsuite":
            self._suites.append(attributes.get("name", ""))
        elif name == "testcase":
            self._case, self._children = attributes, set()
            self._line = self._parser.CurrentLineNumber

    def _end(self, name: str) -> None:
        if name == "testsuite" and self._case is None and self._suites:
            self._suites.pop()
        if name != "testcase" or self._case is None:
            return
        case, self._case = self._case, None
        place = f"{self.path}, line {self._line}"
        if not case.get("name"):
            raise InvalidArgument(f"{place}: the testcase has no name; write the file again")
        failed = not self._children.isdisjoint(_FAILED)
        skipped = "skipped" in self._children and not failed
        self.run_again += not failed and not self._children.isdisjoint(_RUN_AGAIN)
        full = "::".join(filter(None, [case.get("classname", ""), case["name"]]))
        group, class_name = (
            self._attribute(place, case, key) for key in (self.wanted.group, self.wanted.by)
        )
        self.rows.append(Outcome(place, full, int(failed), int(not skipped), group, class_name))

    def _attribute(self, place: str, case: dict[str, str], key: str | None) -> str:
        if key is None:
            return ""
        value = (self._suites or [""])[-1] if key == "suite" else case.get(key, "")
        if value:
            return value
        raise InvalidArgument(f"{place}: the testcase has no {key}; choose another")


def read_junit(path: Path, wanted: ColumnNames) -> OutcomeFile:
    """Test cases that passed, failed, ended with an error, or were skipped."""
    for option, value in (("case", wanted.case), ("outcome", wanted.outcome)):
        if value is not None:
            raise InvalidArgument(
                f"{option} (--{option}) {value}: JUnit's XML says itself what its cases and "
                "outcomes are; leave it out"
            )
    for option, value in (("by", wanted.by), ("group", wanted.group)):
        if value is not None and value not in _ATTRIBUTES:
            raise InvalidArgument(
                f"{option} (--{option}) {value}: of JUnit's XML it is {', '.join(_ATTRIBUTES)}"
            )
    reader = _Reader(path, wanted)
    reader.read()
    if not reader.rows:
        raise InvalidArgument(f"{path} has no testcase: a tally needs at least one outcome")
    remarks = [
        Remark("case", "class and name of the testcase"),
        Remark("outcome", "failed where the testcase has a failure or an error"),
        *(
            Remark(name, f"the {key} of the testcase")
            for name, key in (("class", wanted.by), ("group", wanted.group))
            if key is not None
        ),
    ]
    if reader.run_again:
        cases = "1 case" if reader.run_again == 1 else f"{reader.run_again:,} cases"
        text = f"{cases} failed, and passed when run again: counted as passed"
        remarks.append(Remark("run again", text, is_warning=True))
    return outcome_file(path, reader.rows, remarks)
