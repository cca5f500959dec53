"""JUnit XML is well-formed whatever the names hold, and its counts are those of the cases."""

from xml.etree import ElementTree

import pytest

from surefoot.report.junit import Case, junit_xml
from tests.refusals import refused

HOSTILE = 'a ]]> <b> & "c" \x00\x1b\ud800\ufffe 猫 \U0001f600'
"""Markup, a control character, half a surrogate pair and a code point that is no character."""

READABLE = 'a ]]> <b> & "c" \\x00\\x1b\\ud800\\ufffe 猫 \U0001f600'


def test_a_hostile_name_is_read_back_with_what_xml_forbids_escaped() -> None:
    cases = [
        Case(HOSTILE, HOSTILE, outcome, HOSTILE, 0.25, HOSTILE)
        for outcome in ("passed", "failed", "undecided", "error")
    ]
    text = junit_xml(cases, properties={HOSTILE: HOSTILE})
    suite = ElementTree.fromstring(text.encode()).find("testsuite")
    assert suite is not None
    assert suite.attrib["name"] == READABLE
    entries = suite.findall("testcase")
    assert [entry.attrib["name"] for entry in entries] == [READABLE] * 4
    failure = entries[1].find("failure")
    assert failure is not None
    assert failure.attrib["message"] == READABLE
    assert failure.text == READABLE
    assert [prop.attrib["value"] for prop in suite.iter("property")] == [READABLE]


@pytest.mark.parametrize(
    ("undecided", "failures", "skipped"), [("fail", 2, 0), ("skip", 1, 1), ("pass", 1, 0)]
)
def test_the_counts_of_each_suite_and_of_all_are_those_of_the_elements(
    undecided: str, failures: int, skipped: int
) -> None:
    cases = [
        Case("a", "1", "passed", seconds=1.5),
        Case("b", "2", "failed"),
        Case("a", "3", "undecided", "why"),
        Case("a", "4", "error"),
    ]
    root = ElementTree.fromstring(junit_xml(cases, undecided))  # type: ignore[arg-type]
    assert [suite.attrib["name"] for suite in root] == ["a", "b"]
    for holder in (root, *root):
        for count, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(holder.attrib[count]) == len(list(holder.iter(tag)))
        assert int(holder.attrib["tests"]) == len(list(holder.iter("testcase")))
    assert (int(root.attrib["failures"]), int(root.attrib["skipped"])) == (failures, skipped)
    assert root.attrib["time"] == "1.500"


def test_no_case_at_all_is_still_a_report() -> None:
    assert ElementTree.fromstring(junit_xml([])).attrib["tests"] == "0"


def test_what_is_no_outcome_or_no_time_is_refused() -> None:
    refused("one of passed", Case, "a", "b", "maybe")
    refused("≥ 0", Case, "a", "b", "passed", seconds=float("nan"))
    refused("one of fail, skip, pass", junit_xml, [], undecided="passed")
