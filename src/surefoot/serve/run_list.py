"""The list of runs: of all stores, filtered, newest first, page by page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from surefoot.core.claims import About, Claim, Verdict
from surefoot.errors import SurefootError
from surefoot.report.key_figure import KeyFigure, key_figure
from surefoot.report.sentences import measured_claims
from surefoot.report.verdict_sentences import required_statement
from surefoot.serve.page_numbers import PageNumbers
from surefoot.serve.run_state import State, progress_words, short_time, state_of, state_words
from surefoot.serve.stores import ServedStore
from surefoot.store.runs import RunLine

_OF_CURVES = ("curve_set", "curve_population")
"""Claims on curves stand side by side: the first one is the first model's."""
ROWS = 50
"""Runs on one page."""

_NO_NUMBER = re.compile(r"\b(inf|nan)\b")
"""What a damaged claim makes of a number; one without an upper end says so in words."""


@dataclass(frozen=True)
class Filter:
    """What a reader looks for: words that all occur, a state, a store by number, a verdict."""

    text: str = ""
    state: str = ""
    store: int | None = None
    verdict: str = ""

    def fits(self, store: ServedStore, line: RunLine) -> bool:
        """Whether a run is among those, whatever its verdict."""
        if self.store is not None and self.store != store.number:
            return False
        state = state_of(line)
        words = f"{line.words}\n{state}\n{store.name.lower()}"
        return self.state in ("", state) and all(w in words for w in self.text.lower().split())


@dataclass(frozen=True)
class ListedRun:
    """A run as the list shows it: `verdict` is the worst, and `key` the number that decided it.

    Without a verdict `key` is the number of the report; None where it is not known.
    """

    store: ServedStore
    line: RunLine
    state: State
    key: KeyFigure | None = None
    verdict: Claim | None = None

    @property
    def name(self) -> str:
        """The run among all stores."""
        return f"{self.store.number}:{self.line.digest}"

    @property
    def model(self) -> str:
        """The file, or that there is none."""
        return PurePath(self.line.model).name or "(in Python)"

    @property
    def data(self) -> str:
        """The file of the inputs."""
        return PurePath(self.line.data).name or self.line.data

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
    """One page of the list, and what could not be read."""

    runs: tuple[ListedRun, ...]
    numbers: PageNumbers
    total: int
    problems: tuple[str, ...]

    @property
    def live(self) -> bool:
        """Whether something on the page may change by itself."""
        return any(run.state is State.IN_PROGRESS for run in self.runs)


def run_page(stores: Sequence[ServedStore], wanted: Filter, page: int) -> RunPage:
    """A page of the runs that fit; a store that cannot be read is a sentence."""
    fitting: list[tuple[ServedStore, RunLine]] = []
    total, problems = 0, list[str]()
    for store in stores:
        try:
            lines = store.lines()
            total += len(lines)
            fitting += _fitting(store, lines, wanted)
        except SurefootError as error:
            problems.append(str(error))
    fitting.sort(key=lambda pair: (pair[1].started, pair[1].key), reverse=True)
    numbers = PageNumbers.of(page, len(fitting), ROWS)
    chosen = fitting[numbers.start : numbers.stop]
    runs = _with_headlines(chosen, problems)
    return RunPage(runs, numbers, total, tuple(problems))


def _fitting(
    store: ServedStore, lines: Sequence[RunLine], wanted: Filter
) -> list[tuple[ServedStore, RunLine]]:
    fitting = [line for line in lines if wanted.fits(store, line)]
    if wanted.verdict:
        verdicts = store.verdicts([line.key for line in fitting if line.finished])
        of_run = {one.key: worst(verdicts.get(one.key, ())) for one in fitting}
        fitting = [o for o in fitting if (v := of_run[o.key]) and v.verdict == wanted.verdict]
    return [(store, line) for line in fitting]


def worst(verdicts: Sequence[Claim]) -> Claim | None:
    """What several come to together: the first FAIL before UNDECIDED; None without any."""
    order = (Verdict.FAIL, Verdict.UNDECIDED, Verdict.PASS)
    return next((one for word in order for one in verdicts if one.verdict is word), None)


def _with_headlines(
    chosen: Sequence[tuple[ServedStore, RunLine]], problems: list[str]
) -> tuple[ListedRun, ...]:
    """The runs with their numbers and verdicts; what cannot be read is added to the problems."""
    claims: dict[tuple[int, int], tuple[Claim, ...]] = {}
    verdicts: dict[tuple[int, int], tuple[Claim, ...]] = {}
    for store in {store.number: store for store, _ in chosen}.values():
        keys = [line.key for own, line in chosen if own is store and line.finished]
        try:
            claims |= {(store.number, key): own for key, own in store.headlines(keys).items()}
            verdicts |= {(store.number, key): own for key, own in store.verdicts(keys).items()}
        except SurefootError as error:
            problems.append(str(error))
    runs = []
    for store, line in chosen:
        own = claims.get((store.number, line.key), ())
        verdict = worst(verdicts.get((store.number, line.key), ())) if own else None
        runs.append(ListedRun(store, line, state_of(line), _number(own, verdict), verdict))
    return tuple(runs)


def _number(claims: Sequence[Claim], verdict: Claim | None) -> KeyFigure | None:
    """The number of a run; none where it cannot be one: a list checks no seal."""
    try:
        figure = headline(claims) if verdict is None else _decisive(claims, verdict)
        is_number = figure is None or not _NO_NUMBER.search(figure.number)
        return figure if is_number else None
    except (ArithmeticError, ValueError, TypeError, LookupError, AttributeError):
        return None


def _decisive(claims: Sequence[Claim], verdict: Claim) -> KeyFigure | None:
    """The number that a verdict was decided by; none where no claim of the run has it."""
    measured = measured_claims(verdict, claims)
    return key_figure(measured[0]) if measured else None


def headline(claims: Sequence[Claim]) -> KeyFigure | None:
    """The number at the top of the report: of a quantile if there is one, else the first claim.

    Of several models it is that of the comparison, of several levels that of the highest one.
    """
    plain = [c for c in claims if c.about.of is not About.CLASS and c.verdict is None]
    if plain and plain[0].kind == "best":
        return _of_comparison(plain[0], plain[1:])
    quantiles = [c for c in plain if c.kind == "radius_quantile"]
    of_levels = plain and plain[0].names and plain[0].kind not in _OF_CURVES
    first = quantiles[:1] or (plain[-1:] if of_levels else plain[:1])
    return key_figure(first[0]) if first else None


def _of_comparison(best: Claim, others: Sequence[Claim]) -> KeyFigure:
    """Two models: their difference. More: the number of the first-ranked one."""
    if len(best.names) == 2:
        fitting = [c for c in others if c.kind == "difference"]
    else:
        own = [c for c in others if c.names == best.names[:1]]
        fitting = [c for c in own if c.kind != "difference"]
    if fitting:
        return key_figure(fitting[0])
    return KeyFigure(f"{len(best.names)} models", "", "", "compared: the page of the run says more")
