"""Totals in the head of a suite of JUnit's XML, held against the cases that the file has.

A runner that crashed, or a file that was cut, leaves totals whose cases are missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from surefoot.errors import InvalidArgument
from surefoot.inputs.outcome_meaning import shown

_MOST_DIGITS = 9
"""Of a total: more than anybody has run."""

_UNRUN = ("skipped", "skip", "disabled")
_TOTALS = ("tests", "failures", "errors", *_UNRUN)


@dataclass(frozen=True)
class _Cases:
    """What the cases of a suite add up to; a case may have several failures and errors."""

    cases: int = 0
    skipped: int = 0
    with_failure: int = 0
    with_error: int = 0
    failed: int = 0
    failures: int = 0
    errors: int = 0

    def __add__(self, other: _Cases) -> _Cases:
        return _Cases(*(a + b for a, b in zip(self._counts(), other._counts(), strict=True)))

    def _counts(self) -> tuple[int, ...]:
        return (
            self.cases,
            self.skipped,
            self.with_failure,
            self.with_error,
            self.failed,
            self.failures,
            self.errors,
        )


class Suite:
    """One suite while it is read: its head and the cases so far."""

    def __init__(self, place: str, tag: str, attributes: Mapping[str, str]) -> None:
        self.name = attributes.get("name", "")
        self._place, self._tag = place, tag
        self._totals = {
            key: _total(place, key, value)
            for key, value in ((key.lower(), value) for key, value in attributes.items())
            if key in _TOTALS and value.strip()
        }
        self._own, self._nested = _Cases(), _Cases()

    def add_case(self, failures: Sequence[str], *, skipped: bool) -> None:
        """A case with these elements that say that it failed."""
        errors = sum(kind.endswith("error") for kind in failures)
        plain = len(failures) - errors
        counts = (plain > 0, errors > 0, bool(failures), plain, errors)
        self._own += _Cases(1, int(skipped), *(int(count) for count in counts))

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
            f"{self._place}: the {self._tag} says {said}, and the file has {whole.cases} of its "
            f"testcases, {whole.with_failure} with a failure, {whole.with_error} with an error, "
            f"{whole.skipped} skipped: write the file again, or remove totals that count something "
            "else than testcases"
        )


def _agree(totals: Mapping[str, int], cases: _Cases) -> bool:
    """Runners differ: skipped cases and an error after the test may be counted or not."""
    failures, errors = totals.get("failures"), totals.get("errors")
    if failures is not None and errors is not None:
        least, most = cases.failed, cases.failures + cases.errors
        failed_agree = least <= failures + errors <= most
    else:
        failed_agree = all(
            given is None or least <= given <= cases.failures + cases.errors
            for given, least in ((failures, cases.with_failure), (errors, cases.with_error))
        )
    unrun_agree = sum(totals.get(key, 0) for key in _UNRUN) <= cases.skipped
    tests = totals.get("tests")
    least = cases.cases - max(cases.skipped, cases.errors)
    return (
        failed_agree
        and unrun_agree
        and (tests is None or least <= tests <= cases.cases + cases.errors)
    )


def _total(place: str, key: str, value: str) -> int:
    text = value.strip()
    if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS:
        return int(text)
    raise InvalidArgument(f"{place}: {key} is {shown(value)}; write a whole number, such as 10")
