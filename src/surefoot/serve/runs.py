"""Runs and their inputs as the dashboard shows them: states, filtered lists, two runs compared."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from operator import attrgetter
from pathlib import PurePath
from typing import Any

from surefoot.catalogue.methods import METHODS, TAILS
from surefoot.core import results
from surefoot.core.claims import (
    About,
    Best,
    Claim,
    CurvePopulation,
    CurveSet,
    FailureDifference,
    RadiusQuantile,
    Verdict,
)
from surefoot.core.procedure import Needs
from surefoot.core.results import Estimate, Interval
from surefoot.errors import InvalidArgument, SurefootError
from surefoot.records import record as records
from surefoot.records.spec import ComparisonSpec, StudySpec
from surefoot.report.formatting import percent, percent_range, radius_range
from surefoot.report.key_figure import KeyFigure, accuracy_of, clean_words, key_figure
from surefoot.report.sentences import required_statement
from surefoot.report.tables import clean_fault
from surefoot.serve.pages import PageNumbers
from surefoot.serve.stores import ServedStore
from surefoot.store.runs import FirstFailure, RunEnding, RunLine, RunPosition

RECENT_SECONDS = 60.0
"""Since the last write: a run that writes more seldom has slow batches, or was stopped."""


class State(StrEnum):
    """What a list says of a run."""

    FINISHED = "finished"
    IN_PROGRESS = "in progress"
    STOPPED = "stopped"
    UNFINISHED = "unfinished"


_UNITS = {"day": 86_400, "hour": 3_600, "minute": 60}
"""Of an age in words: in seconds, the longest first; below a minute a run is in progress."""


def state_of(line: RunLine | RunPosition) -> State:
    """The state of a run, by its record and its last write: nothing else says that it goes on."""
    if line.finished and not line.stopped:
        return State.FINISHED
    # an unfinished one has an empty time of its end
    if seconds_since(line.written) <= RECENT_SECONDS and line.written > line.finished:
        return State.IN_PROGRESS
    return State.STOPPED if line.finished else State.UNFINISHED


def state_words(state: State, written: str) -> str:
    """The state for people; where a process may be at work or gone, when it last wrote."""
    match state:
        case State.STOPPED:
            return "stopped by the time limit"
        case State.UNFINISHED:
            return f"unfinished, last written {_age_words(seconds_since(written))}"
        case _:
            return str(state)


def _age_words(seconds: float) -> str:
    """How long ago, in the longest unit that fits, rounded down."""
    if seconds == float("inf"):
        return "at an unknown time"
    unit, length = next((u for u in _UNITS.items() if seconds >= u[1]), ("minute", 60))
    number = max(1, int(seconds // length))
    return f"{number:,} {unit}{'' if number == 1 else 's'} ago"


def seconds_since(time: str) -> float:
    """Seconds since a time of a store; without end where it cannot be read."""
    try:
        then = datetime.fromisoformat(time)
    except ValueError:
        return float("inf")
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return (datetime.now(UTC) - then).total_seconds()


def counts_inputs(method: str) -> bool:
    """Whether the journal of this method has rows of single inputs."""
    kind = METHODS.get(method)
    return kind is not None and kind.needs is not Needs.LEVELS


def progress_words(trials: int, begun: int | None, inputs: int, rate: float | None) -> str:
    """How far a run is: no number of it is a result."""
    words = [f"{trials:,} trials"]
    if begun is not None and inputs:
        words.append(f"{begun:,} of {inputs:,} inputs begun")
    if rate is not None:
        words.append(f"{rate:,.0f} trials a second")
    return ", ".join(words)


def short_time(time: str) -> str:
    """A time of a store to the minute, in UTC."""
    return time[:16].replace("T", " ")


ROWS = 50
"""Runs on one page."""

_NO_NUMBER = re.compile(r"\b(inf|nan)\b")
"""What a damaged claim makes of a number; one without an upper end says so in words."""


@dataclass(frozen=True)
class Filter:
    """What a reader looks for: words that all occur, a state, a store by number, a verdict.

    `cells`: the cells of suites too, each a run of its own.
    """

    text: str = ""
    state: str = ""
    store: int | None = None
    verdict: str = ""
    cells: bool = False

    def fits(self, store: ServedStore, line: RunLine) -> bool:
        """Whether a run is among those, whatever its verdict."""
        if self.store is not None and self.store != store.number:
            return False
        state = state_of(line)
        words = f"{line.words}\n{state}\n{store.name.lower()}"
        return self.state in ("", state) and all(w in words for w in self.text.lower().split())


@dataclass(frozen=True)
class ListedRun:
    """A run as the list shows it, with the first claims of its record and what its end says."""

    store: ServedStore
    line: RunLine
    claims: tuple[Claim, ...] = ()
    ending: RunEnding = field(default_factory=RunEnding)

    @cached_property
    def verdict(self) -> Claim | None:
        """The worst of its verdicts, with its claim."""
        return worst(self.ending.verdicts) if self.claims else None

    @cached_property
    def key(self) -> KeyFigure | None:
        """The number of the report; none where it cannot be one: a list checks no seal."""
        try:
            figure = headline_figure(self.claims)
            is_number = figure is None or not _NO_NUMBER.search(figure.number)
            return figure if is_number else None
        except (ArithmeticError, ValueError, TypeError, LookupError, AttributeError):
            return None

    @property
    def clean(self) -> str:
        """Clean accuracy, of each model where there are several; empty where it is not known."""
        return clean_words(self.ending.clean)

    @cached_property
    def state(self) -> State:
        """What a list says of it."""
        return state_of(self.line)

    @property
    def name(self) -> str:
        """The run among all stores."""
        return f"{self.store.number}:{self.line.digest}"

    @property
    def model(self) -> str:
        """The file, or that there is none."""
        return PurePath(self.line.model).name or "(in Python)"

    @property
    def perturbation(self) -> str:
        """The one that it applies; of a suite how many cells it has."""
        cells = len(self.ending.cells)
        return f"a suite of {cells:,} cells" if cells else self.line.perturbation

    @property
    def data(self) -> str:
        """The file of the inputs."""
        return PurePath(self.line.data).name or self.line.data

    @property
    def says_twice(self) -> bool:
        """Whether what is required says already what the number is of."""
        claim, verdict = headline(self.claims), self.verdict
        if claim is None or verdict is None:
            return False
        same = attrgetter("kind", "about", "names")
        return bool(same(claim) == same(verdict))

    @property
    def required(self) -> str:
        """What the verdict is on, in one phrase; empty without one, or where it is damaged."""
        try:
            return "" if self.verdict is None else f"required: {required_statement(self.verdict)}"
        except (ArithmeticError, ValueError, TypeError, LookupError):
            return ""

    @property
    def state_words(self) -> str:
        """The state for people."""
        return state_words(self.state, self.line.written)

    @property
    def progress(self) -> str:
        """How far it is."""
        return progress_words(self.line.trials, None, self.line.inputs, None)

    @property
    def started(self) -> str:
        """To the minute."""
        return short_time(self.line.started)

    @property
    def ended(self) -> str:
        """To the minute; empty while it goes on."""
        return short_time(self.line.finished)


@dataclass(frozen=True)
class RunPage:
    """One page of the list, what could not be read, and how many cells of suites are left out."""

    runs: tuple[ListedRun, ...]
    numbers: PageNumbers
    total: int
    problems: tuple[str, ...]
    hidden: int = 0

    @property
    def live(self) -> bool:
        """Whether something on the page may change by itself."""
        return any(run.state is State.IN_PROGRESS for run in self.runs)


def run_page(stores: Sequence[ServedStore], wanted: Filter, page: int) -> RunPage:
    """A page of the runs that fit; a store that cannot be read is a sentence."""
    fitting: list[tuple[ServedStore, RunLine]] = []
    total, hidden, problems = 0, 0, list[str]()
    for store in stores:
        try:
            lines = store.lines()
            total += len(lines)
            own, cells = _fitting(store, lines, wanted), store.cells(lines)
            shown = [(store, o) for o in own if wanted.cells or o.digest not in cells]
            hidden += len(own) - len(shown)
            fitting += shown
        except SurefootError as error:
            problems.append(str(error))
    fitting.sort(key=lambda pair: (pair[1].started, pair[1].key), reverse=True)
    numbers = PageNumbers.of(page, len(fitting), ROWS)
    chosen = fitting[numbers.start : numbers.stop]
    runs = with_headlines(chosen, problems)
    return RunPage(runs, numbers, total, tuple(problems), hidden)


def _fitting(store: ServedStore, lines: Sequence[RunLine], wanted: Filter) -> list[RunLine]:
    fitting = [line for line in lines if wanted.fits(store, line)]
    if wanted.verdict:
        keys = [line.key for line in fitting if line.finished]
        ends = store.ask(lambda runs: runs.endings(keys))
        of_run = {key: worst(ending.verdicts) for key, ending in ends.items()}
        fitting = [o for o in fitting if (v := of_run.get(o.key)) and v.verdict == wanted.verdict]
    return fitting


def worst(verdicts: Sequence[Claim]) -> Claim | None:
    """What several come to together: the first FAIL before UNDECIDED; None without any."""
    order = (Verdict.FAIL, Verdict.UNDECIDED, Verdict.PASS)
    return next((one for word in order for one in verdicts if one.verdict is word), None)


def with_headlines(
    chosen: Sequence[tuple[ServedStore, RunLine]], problems: list[str]
) -> tuple[ListedRun, ...]:
    """The runs with their numbers and verdicts; what cannot be read is added to the problems."""
    runs = {(s.number, line.key): ListedRun(s, line) for s, line in chosen}
    for store in {store.number: store for store, _ in chosen}.values():
        keys = [line.key for own, line in chosen if own is store and line.finished]
        try:
            claims, endings = store.claims(keys)
        except SurefootError as error:
            problems.append(str(error))
            continue
        for key, own in claims.items():
            at = store.number, key
            runs[at] = replace(runs[at], claims=own, ending=endings.get(key, RunEnding()))
    return tuple(runs.values())


def headline(claims: Sequence[Claim]) -> Claim | None:
    """The claim at the top of the report: of a quantile if there is one, else the first.

    Of several models it is that of the comparison, of several levels that of the highest one.
    """
    plain = [c for c in claims if c.about.of is not About.CLASS and c.verdict is None]
    if plain and isinstance(plain[0], Best):  # of two models their difference, else the first one
        best, two = plain[0], len(plain[0].names) == 2
        own = (c for c in plain[1:] if two or c.names == best.names[:1])
        return next((c for c in own if isinstance(c, FailureDifference) is two), best)
    quantiles = [c for c in plain if isinstance(c, RadiusQuantile)]
    of_levels = plain and plain[0].names and not isinstance(plain[0], CurveSet | CurvePopulation)
    first = quantiles[:1] or (plain[-1:] if of_levels else plain[:1])
    return first[0] if first else None


def headline_figure(claims: Sequence[Claim]) -> KeyFigure | None:
    """The number at the top of the report."""
    claim = headline(claims)
    if claim is None or isinstance(claim, Best):
        many = "" if claim is None else f"{len(claim.names)} models"
        return KeyFigure(many, "", "", "compared: the page of the run says more") if many else None
    compares = any(isinstance(one, Best) for one in claims)
    accuracy = None if compares else accuracy_of([claim])
    return key_figure(claim) if accuracy is None else accuracy.key_figures[0]


_QUANTITIES = {
    Needs.SAMPLES: "failure probability",
    Needs.MEAN: "failure probability",
    Needs.LEVELS: "robustness curve",
    Needs.REGION: "attack",
    Needs.RADII: "critical radius",
    Needs.SMOOTHING: "smoothed model",
    Needs.SPLITTING: "rare failures",
}
"""What methods measure, by what they need."""


@dataclass(frozen=True)
class Difference:
    """Something in which two runs differ: in the words of each."""

    name: str
    first: str
    second: str
    prevents: bool


@dataclass(frozen=True)
class Comparability:
    """What two runs differ in: what `prevents` a comparison makes numbers of different things."""

    differences: tuple[Difference, ...]

    @property
    def prevented(self) -> tuple[str, ...]:
        """The names of what makes a comparison meaningless."""
        return tuple(d.name for d in self.differences if d.prevents)

    @property
    def sentence(self) -> str:
        """Whether the numbers may be compared, and why not."""
        if self.prevented:
            return (
                f"These runs cannot be compared: they differ in the {_listed(self.prevented)}, so "
                "that their numbers are about different things."
            )
        if not self.differences:
            return "Both runs ask the same question about the same model."
        return (
            "These runs ask the same question of the same data under the same perturbation. Each "
            "interval is about its own run; that two intervals overlap does not say that the "
            "models are equally robust. `surefoot compare` measures the difference itself."
        )


def _listed(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def comparability(first: records.Record, second: records.Record) -> Comparability:
    """In what two runs differ; data, perturbation, property and kind of method must be the same."""
    a, b = first.study, second.study
    applied = (str(a.perturbation), str(b.perturbation))
    worded = (a.words.perturbation, b.words.perturbation)
    worded = worded if worded[0] != worded[1] else applied  # the words may leave out an option
    quantities, members = (_quantity(first), _quantity(second)), (_members(first), _members(second))
    parts = (
        ("data", a.inputs.digest, b.inputs.digest, _data(a), _data(b), True),
        ("perturbation", *applied, *worded, True),
        ("property", str(a.property), str(b.property), a.words.property, b.words.property, True),
        ("range of values", str(a.bounds), str(b.bounds), str(a.bounds), str(b.bounds), True),
        ("quantity", *quantities, *quantities, True),
        ("members", *members, *members, True),
        ("model", a.model.digest, b.model.digest, _model(first), _model(second), False),
        ("method", str(a.method), str(b.method), a.method.chosen, b.method.chosen, False),
        ("seed", str(a.seed), str(b.seed), str(a.seed), str(b.seed), False),
    )
    return Comparability(
        tuple(
            Difference(name, words, others, prevents)
            for name, own, other, words, others, prevents in parts
            if own != other
        )
    )


def _data(study: StudySpec) -> str:
    return f"{study.words.source}, {study.inputs.selection} ({study.inputs.digest[:12]})"


def _model(record: records.Record) -> str:
    name = "a model in memory" if record.source is None else record.source.model
    return f"{name} ({record.study.model.digest[:12]})"


def _members(record: records.Record) -> str:
    """What a comparison compares; a run by itself has none."""
    return ", ".join(record.spec.names) if isinstance(record.spec, ComparisonSpec) else "none"


def _quantity(record: records.Record) -> str:
    """What the method measures, so far as its numbers can stand beside those of another."""
    if isinstance(record.details, records.Comparison):
        return f"comparison of {record.details.along}s"
    study = record.study
    kind, kappa = study.method.kind, study.method.number("kappa")
    if kappa is not None:
        return f"share of inputs that fail with probability at most {kappa:g}"
    if kind not in METHODS or kind in TAILS:
        return kind
    return _QUANTITIES[METHODS[kind].needs]


INPUT_ROWS = 50
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
    trials: int
    clean_fault: str
    state: str
    value: str
    interval: str
    failure: float | None
    order: tuple[float, float]
    example: records.Example | records.Counterexample | None = None
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


def input_page(record: records.Record, wanted: InputFilter, page: int) -> InputPage:
    """The inputs that fit, in order."""
    shown = [shown_input(record, row) for row in record.inputs]
    fitting = sorted(filter(wanted.fits, shown), key=SORTS[wanted.sort])
    numbers = PageNumbers.of(page, len(fitting), INPUT_ROWS)
    examples = _examples(record)
    rows = tuple(
        replace(row, example=examples.get(row.id)) for row in fitting[numbers.start : numbers.stop]
    )
    labels = tuple(sorted({row.label for row in shown if row.label}))
    return InputPage(rows, numbers, len(shown), labels)


def one_input(record: records.Record, name: str) -> ShownInput | None:
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


def shown_input(record: records.Record, row: records.InputRow) -> ShownInput:
    """What a table says of one input."""
    label, predicted = (_class_name(record, one) for one in (row.label, row.predicted))
    trials, fault = row.result.trials, clean_fault(record, row)
    return ShownInput(row.id, label, predicted, trials, fault, *_words(row.result))


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


def _class_name(record: records.Record, label: int | None) -> str:
    names = record.study.inputs.class_names
    if label is None:
        return ""
    return names[label] if 0 <= label < len(names) else str(label)


def _examples(record: records.Record) -> dict[str, records.Example | records.Counterexample]:
    """The examples that the run holds, by input."""
    details = record.details
    if isinstance(details, records.Samples | records.Radii | records.RareFailures):
        return {example.id: example for example in details.examples}
    return {}
