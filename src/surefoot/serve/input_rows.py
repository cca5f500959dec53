"""The inputs of a run as a table: filtered and sorted, one page at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from surefoot.core import results
from surefoot.core.results import Estimate, Interval
from surefoot.errors import InvalidArgument
from surefoot.records.record import (
    Counterexample,
    Example,
    InputRow,
    Radii,
    RareFailures,
    Record,
    Samples,
)
from surefoot.report.formatting import percent, percent_range, radius_range
from surefoot.report.tables import clean_fault
from surefoot.serve.pages import PageNumbers
from surefoot.store.runs import FirstFailure

ROWS = 50
"""Inputs on one page."""
ROBUST, NOT_ROBUST, UNDECIDED, MEASURED = "robust", "not robust", "undecided", "measured"
STATES = (ROBUST, NOT_ROBUST, UNDECIDED, MEASURED)


@dataclass(frozen=True)
class ShownInput:
    """One input: its classes, what is known of it in words, and its failure probability.

    `clean_fault` says what is the matter with it when clean. `failure` is None where none was
    measured. `order` is what "weakest first" goes by: how often it is known to fail, then the
    estimate.
    """

    id: str
    label: str
    predicted: str
    state: str
    value: str
    interval: str
    trials: int
    failure: float | None
    order: tuple[float, float]
    clean_fault: str
    example: Example | Counterexample | None = None
    first_failure: FirstFailure | None = None


@dataclass(frozen=True)
class InputFilter:
    """What a reader looks for, and in which order."""

    text: str = ""
    label: str = ""
    state: str = ""
    least: float | None = None
    sort: str = "weakest"

    def __post_init__(self) -> None:
        if self.sort not in SORTS:
            raise InvalidArgument(f"sort must be one of {', '.join(SORTS)}, got {self.sort[:40]!r}")
        if self.state not in ("", *STATES):
            raise InvalidArgument(
                f"state must be one of {', '.join(STATES)}, got {self.state[:40]!r}"
            )

    def fits(self, row: ShownInput) -> bool:
        """Whether an input is among those."""
        return (
            self.text.lower() in row.id.lower()
            and self.label in ("", row.label)
            and self.state in ("", row.state)
            and (self.least is None or (row.failure is not None and row.failure >= self.least))
        )


SORTS: Mapping[str, Callable[[ShownInput], Any]] = {
    "weakest": lambda row: (-row.order[0], -row.order[1]),
    "strongest": lambda row: row.order,
    "input": lambda row: row.id,
    "class": lambda row: row.label,
    "trials": lambda row: -row.trials,
}
"""By name: what rows are sorted by; equal ones stay in the order of the data."""


@dataclass(frozen=True)
class InputPage:
    """One page of the table."""

    rows: tuple[ShownInput, ...]
    numbers: PageNumbers
    total: int
    labels: tuple[str, ...]


def input_page(record: Record, wanted: InputFilter, page: int) -> InputPage:
    """The inputs that fit, in order."""
    shown = [shown_input(record, row) for row in record.inputs]
    fitting = sorted(filter(wanted.fits, shown), key=SORTS[wanted.sort])
    numbers = PageNumbers.of(page, len(fitting), ROWS)
    examples = _examples(record)
    rows = tuple(
        replace(row, example=examples.get(row.id)) for row in fitting[numbers.start : numbers.stop]
    )
    labels = tuple(sorted({row.label for row in shown if row.label}))
    return InputPage(rows, numbers, len(shown), labels)


def one_input(record: Record, name: str) -> ShownInput | None:
    """The input of this name; None where there is none."""
    row = next((row for row in record.inputs if row.id == name), None)
    if row is None:
        return None
    return replace(shown_input(record, row), example=_examples(record).get(name))


def with_failures(
    rows: Sequence[ShownInput], failures: Mapping[str, FirstFailure]
) -> tuple[ShownInput, ...]:
    """The same rows with where each first failed."""
    return tuple(replace(row, first_failure=failures.get(row.id)) for row in rows)


def shown_input(record: Record, row: InputRow) -> ShownInput:
    """What a table says of one input."""
    state, value, interval, failure, order = _words(row.result)
    return ShownInput(
        row.id,
        _class_name(record, row.label),
        _class_name(record, row.predicted),
        state,
        value,
        interval,
        row.result.trials,
        failure,
        order,
        clean_fault(record, row),
    )


_Words = tuple[str, str, str, float | None, tuple[float, float]]
"""State, number, interval, failure probability, and how weak it is."""


def _words(result: results.InputResult) -> _Words:
    match result:
        case results.Decision(holds=holds, counted=counted):
            state, rate = ROBUST if holds else NOT_ROBUST, _rate(result)
            if rate is None:
                return state, "", "", None, (0.0, 0.0) if holds else (1.0, 1.0)
            between = "" if counted is None else _failure_range(counted.interval)
            return state, percent(rate), between, rate, (rate, rate)
        case results.Bracket() | results.Certificate():
            return _words_of_radius(result)
        case results.RareFailure(interval=around):
            failure = around.high if result.failure is None else result.failure
            between = f"{around.low:.2g} to {around.high:.2g}"
        case results.Extrapolation(counted=counted):
            failure, between = result.failure, _failure_range(counted.interval)
        case Estimate():
            return _words_of_estimate(MEASURED, result)
        case results.Undecided(counted=counted):
            return _words_of_estimate(UNDECIDED, counted)
    return MEASURED, f"{failure:.3g}", between, failure, (failure, failure)


def _words_of_radius(result: results.Bracket | results.Certificate) -> _Words:
    if isinstance(result, results.Certificate):
        far, state = result.radius or 0.0, UNDECIDED if result.radius is None else MEASURED
        return state, f"{far:.4g}", "", None, (-far, -far)
    low = result.low
    state = UNDECIDED if low == 0 and math.isinf(result.high) else MEASURED
    return state, f"{low:.4g}", radius_range(result.interval), None, (-low, -low)


def _words_of_estimate(state: str, known: Estimate | None) -> _Words:
    if known is None:
        return state, "", "", None, (-math.inf, -math.inf)
    failure = 1 - known.value
    order = (1 - known.interval.high, failure)
    return state, percent(failure), _failure_range(known.interval), failure, order


def _rate(decision: results.Decision) -> float | None:
    """The share of trials that failed, where it is recorded."""
    if decision.counted is not None:
        return 1 - decision.counted.value
    if decision.kept is None or not decision.trials:
        return None
    return 1 - decision.kept / decision.trials


def _failure_range(kept: Interval) -> str:
    return percent_range(Interval(1 - kept.high, 1 - kept.low))


def _class_name(record: Record, label: int | None) -> str:
    names = record.study.inputs.class_names
    if label is None:
        return ""
    return names[label] if 0 <= label < len(names) else str(label)


def _examples(record: Record) -> dict[str, Example | Counterexample]:
    """The examples that the run holds, by input."""
    details = record.details
    if isinstance(details, Samples | Radii | RareFailures):
        return {example.id: example for example in details.examples}
    return {}
