"""Test results as JUnit XML, in the form that GitHub, GitLab and Jenkins read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from surefoot.core.claims import UNDECIDED_CHOICES, UndecidedAs
from surefoot.errors import InvalidArgument
from surefoot.system.text import escape_controls

Outcome = Literal["passed", "failed", "undecided", "error"]
"""What a test case came to; `error` is a case that could not be run."""

_OUTCOMES = get_args(Outcome)
_ELEMENTS: dict[UndecidedAs, str | None] = {"fail": "failure", "skip": "skipped", "pass": None}
"""The element of an undecided case; a case without one has passed."""


@dataclass(frozen=True)
class Case:
    """One test case: `message` is one line, `details` what is shown when the case is opened."""

    suite: str
    name: str
    outcome: Outcome
    message: str = ""
    seconds: float = 0.0
    details: str = ""

    def __post_init__(self) -> None:
        if self.outcome not in _OUTCOMES:
            raise InvalidArgument(
                f"the outcome of a test case is one of {', '.join(_OUTCOMES)}, got {self.outcome!r}"
            )
        if not (math.isfinite(self.seconds) and self.seconds >= 0):
            raise InvalidArgument(
                f"the seconds of a test case must be a number ≥ 0, got {self.seconds}"
            )


def junit_xml(
    cases: Sequence[Case],
    undecided: UndecidedAs = "fail",
    properties: Mapping[str, str] | None = None,
) -> str:
    """The cases as JUnit XML, one test suite for each suite name, in the order given.

    An undecided case fails, is skipped or passes, as `undecided` says; its type, or else the first
    word of its output, is "undecided". `properties` are written into every suite. Characters that
    XML does not permit, and others that steer a reader, are written as `\\x00`.
    """
    if undecided not in UNDECIDED_CHOICES:
        raise InvalidArgument(
            f"undecided must be one of {', '.join(UNDECIDED_CHOICES)}, got {undecided!r}"
        )
    suites: dict[str, list[Case]] = {}
    for case in cases:
        suites.setdefault(case.suite, []).append(case)
    root = Element("testsuites", {"name": "surefoot"} | _totals(cases, undecided))
    for name, members in suites.items():
        suite = SubElement(
            root, "testsuite", {"name": escape_controls(name)} | _totals(members, undecided)
        )
        if properties:
            _add_properties(suite, properties)
        for case in members:
            _add_case(suite, case, undecided)
    indent(root)
    body = tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _element(outcome: Outcome, undecided: UndecidedAs) -> str | None:
    """The element that says how a case ended: none where it passed."""
    match outcome:
        case "passed":
            return None
        case "failed":
            return "failure"
        case "undecided":
            return _ELEMENTS[undecided]
        case "error":
            return "error"


def _totals(cases: Sequence[Case], undecided: UndecidedAs) -> dict[str, str]:
    """The counts and the time of a suite, as attributes."""
    elements = [_element(case.outcome, undecided) for case in cases]
    return {
        "tests": str(len(cases)),
        "failures": str(elements.count("failure")),
        "errors": str(elements.count("error")),
        "skipped": str(elements.count("skipped")),
        "time": _seconds(math.fsum(case.seconds for case in cases)),
    }


def _add_properties(suite: Element, properties: Mapping[str, str]) -> None:
    listed = SubElement(suite, "properties")
    for name, value in properties.items():
        SubElement(
            listed, "property", {"name": escape_controls(name), "value": escape_controls(value)}
        )


def _add_case(suite: Element, case: Case, undecided: UndecidedAs) -> None:
    attributes = {
        "classname": escape_controls(case.suite),
        "name": escape_controls(case.name),
        "time": _seconds(case.seconds),
    }
    entry = SubElement(suite, "testcase", attributes)
    tag = _element(case.outcome, undecided)
    if tag is None:
        word = "undecided" if case.outcome == "undecided" else ""
        lines = "\n".join(part for part in (word, case.message, case.details) if part)
        if lines:
            SubElement(entry, "system-out").text = escape_controls(lines)
        return
    ending = SubElement(
        entry, tag, {"message": escape_controls(case.message), "type": case.outcome}
    )
    if case.details:
        ending.text = escape_controls(case.details)


def _seconds(value: float) -> str:
    return f"{value:.3f}"
