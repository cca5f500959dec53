"""Test results as JUnit XML, in the form that GitHub, GitLab and Jenkins read."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from surefoot.errors import InvalidArgument
from surefoot.undecided_as import UNDECIDED_CHOICES, UndecidedAs

Outcome = Literal["passed", "failed", "undecided", "error"]
"""What a test case came to; `error` is a case that could not be run."""

_OUTCOMES = get_args(Outcome)
_ELEMENTS: dict[UndecidedAs, str | None] = {"fail": "failure", "skip": "skipped", "pass": None}
"""The element of an undecided case; a case without one has passed."""

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not permit, not even as a reference."""


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
    XML does not permit are written as `\\x00`.
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
        suite = SubElement(root, "testsuite", {"name": _text(name)} | _totals(members, undecided))
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
        SubElement(listed, "property", {"name": _text(name), "value": _text(value)})


def _add_case(suite: Element, case: Case, undecided: UndecidedAs) -> None:
    attributes = {
        "classname": _text(case.suite),
        "name": _text(case.name),
        "time": _seconds(case.seconds),
    }
    entry = SubElement(suite, "testcase", attributes)
    tag = _element(case.outcome, undecided)
    if tag is None:
        word = "undecided" if case.outcome == "undecided" else ""
        lines = "\n".join(part for part in (word, case.message, case.details) if part)
        if lines:
            SubElement(entry, "system-out").text = _text(lines)
        return
    ending = SubElement(entry, tag, {"message": _text(case.message), "type": case.outcome})
    if case.details:
        ending.text = _text(case.details)


def _seconds(value: float) -> str:
    return f"{value:.3f}"


def _text(text: str) -> str:
    """The text with every character that XML does not permit written as an escape."""
    return _NOT_XML.sub(lambda match: _escape(ord(match[0])), text)


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"
