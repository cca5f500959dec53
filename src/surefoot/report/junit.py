"""Test results as JUnit XML, in the form that GitHub, GitLab and Jenkins read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from surefoot.core.claims import UNDECIDED_CHOICES, Claim, UndecidedAs, Verdict
from surefoot.errors import InvalidArgument
from surefoot.report.sentences import required_statement, sentence
from surefoot.system.text import escape_controls

Outcome = Literal["passed", "failed", "undecided", "error"]
"""What a test case came to; `error` is a case that could not be run."""

_ELEMENTS: dict[Outcome, str | None] = {"passed": None, "failed": "failure", "error": "error"}
_UNDECIDED: dict[UndecidedAs, str | None] = {"fail": "failure", "skip": "skipped", "pass": None}
"""The elements that say how a case ended, and how an undecided one; a case without has passed."""


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
        outcomes = get_args(Outcome)
        if self.outcome not in outcomes:
            raise InvalidArgument(
                f"the outcome of a test case is one of {', '.join(outcomes)}, got {self.outcome!r}"
            )
        if not (math.isfinite(self.seconds) and self.seconds >= 0):
            raise InvalidArgument(
                f"the seconds of a test case must be a number ≥ 0, got {self.seconds}"
            )


_OUTCOMES: dict[Verdict | None, Outcome] = {Verdict.PASS: "passed", Verdict.FAIL: "failed"}


def case_of_verdict(
    suite: str, claim: Claim, measured: str, notes: Sequence[str], seconds: float, about: str
) -> Case:
    """A requirement: the verdict, by how much, and without what (`notes`) that must not be read."""
    outcome = _OUTCOMES.get(claim.verdict, "undecided")
    message = " ".join(filter(None, [sentence(claim), measured, *notes]))
    return Case(suite, required_statement(claim), outcome, message, seconds, about)


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
    elements = _ELEMENTS | {"undecided": _UNDECIDED[undecided]}
    suites: dict[str, list[Case]] = {}
    for case in cases:
        suites.setdefault(case.suite, []).append(case)
    root = Element("testsuites", {"name": "surefoot"} | _totals(cases, elements))
    for name, members in suites.items():
        about = {"name": escape_controls(name)} | _totals(members, elements)
        suite = SubElement(root, "testsuite", about)
        if properties:
            listed = SubElement(suite, "properties")
            for key, value in properties.items():
                named = {"name": escape_controls(key), "value": escape_controls(value)}
                SubElement(listed, "property", named)
        for case in members:
            _add_case(suite, case, elements[case.outcome])
    indent(root)
    body = tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _totals(cases: Sequence[Case], elements: Mapping[Outcome, str | None]) -> dict[str, str]:
    """The counts and the time of a suite, as attributes."""
    ends = [elements[case.outcome] for case in cases]
    return {
        "tests": str(len(cases)),
        "failures": str(ends.count("failure")),
        "errors": str(ends.count("error")),
        "skipped": str(ends.count("skipped")),
        "time": _seconds(math.fsum(case.seconds for case in cases)),
    }


def _add_case(suite: Element, case: Case, tag: str | None) -> None:
    attributes = {
        "classname": escape_controls(case.suite),
        "name": escape_controls(case.name),
        "time": _seconds(case.seconds),
    }
    entry = SubElement(suite, "testcase", attributes)
    if tag is None:
        word = "undecided" if case.outcome == "undecided" else ""
        lines = "\n".join(part for part in (word, case.message, case.details) if part)
        if lines:
            SubElement(entry, "system-out").text = escape_controls(lines)
        return
    said = {"message": escape_controls(case.message), "type": case.outcome}
    ending = SubElement(entry, tag, said)
    if case.details:
        ending.text = escape_controls(case.details)


def _seconds(value: float) -> str:
    return f"{value:.3f}"
