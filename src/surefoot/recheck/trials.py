"""Recorded trials drawn by a second party's own seed, run again by their names, and compared.

Trials are drawn, not rows: a row of the journal that holds many trials is drawn so much more often,
and nobody gains by putting altered trials into rows of another size. Claims weigh inputs, though,
and one that a forger calls robust has few trials: so inputs are drawn too, and a trial of each.
"""

from __future__ import annotations

import math
import random
import time
from bisect import bisect_left
from collections.abc import Generator, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from surefoot.conclude.splitting import procedures_of_splitting
from surefoot.core.counts import Answer, Chained, Counts, Known, Outcomes, Proof, Severities
from surefoot.core.procedure import Ask, Joint, Needs, TimeUp
from surefoot.core.tasks import Entry, Subject, Task
from surefoot.engine.outputs import ROUNDING
from surefoot.errors import EvidenceFailed, InvalidArgument, MissingPackage, ModelFailed
from surefoot.evidence.answers import Again, Check, Status, of_part
from surefoot.evidence.check import verify_command
from surefoot.evidence.packed import NEW_COPY
from surefoot.evidence.recompute import facts_of, replay
from surefoot.evidence.statement import Evidence
from surefoot.recheck.rebuild_study import RebuiltRun, RerunRequest, other_difference
from surefoot.records.record import Samples
from surefoot.region.attack_method import BROKEN
from surefoot.store import MemoryJournal
from surefoot.study.measure import Measurement, run_measurement
from surefoot.study.run import MEASUREMENTS, environment
from surefoot.system.memory_limits import most_trials

MOST_DRAWN = 5_000_000
"""Trials drawn one by one: more need gigabytes, and by then every altered share is noticed."""

ALTERED, NOTICED = 0.05, 0.95
"""What a check that is to be relied on notices, and with which probability: some 60 draws."""
SHARE = 0.01
"""Of the trials that are run again, where nothing else is said: minutes for hours of a run."""
MOST_TRIALS = 10**15
"""Of a journal: a million trials a second for thirty years."""

_Sizes = tuple[NDArray[np.float64], NDArray[np.int64]]
"""The sizes that rows have, and how many rows have each."""
K = TypeVar("K", bound=Hashable)
"""What names the subject of some rows: its id, or a run and the id."""


@dataclass(frozen=True)
class TrialDraw(Generic[K]):
    """Trials drawn at random without replacement, and the rows to run again because of them.

    A row whose journal holds a count alone is run again wholly; where the journal holds every
    trial, the drawn ones are rows of their own. `total` counts all trials of the journal,
    `total_rows` its rows; `drawn` the trials drawn. With a share of `enough` who altered `ALTERED`
    of the trials is noticed with probability `NOTICED`. Besides, `by_input` times an input is drawn
    and one of its trials, all inputs equally often; `inputs` has the trials of each, and is empty
    where a subject is no input.
    """

    seed: int
    total: int
    total_rows: int
    drawn: int
    rows: Mapping[K, tuple[Entry, ...]]
    enough: float
    inputs: Mapping[K, int] = field(default_factory=dict)
    by_input: int = 0

    @property
    def number_of_rows(self) -> int:
        """Rows that are run again."""
        return sum(map(len, self.rows.values()))

    @property
    def trials(self) -> int:
        """Trials that are run again: all of those rows."""
        return sum(entry.stop - entry.start for own in self.rows.values() for entry in own)

    def catch(self, share: float) -> float:
        """The probability that a trial is drawn from rows that hold this share of all trials."""
        return catch_probability(self.total, math.ceil(share * self.total), self.drawn)

    def catch_inputs(self, altered: Sequence[int]) -> float:
        """The probability that a trial is drawn of inputs altered throughout, with so many each."""
        missed = 1 - catch_probability(self.total, sum(altered), self.drawn)
        rounds, rest = divmod(self.by_input, len(self.inputs))
        if rounds:
            return 1.0
        return 1 - missed * (1 - catch_probability(len(self.inputs), len(altered), rest))

    def catch_mean(self, altered: Sequence[int]) -> float:
        """The same of as many trials, which lie among any inputs: the mean share of an input."""
        missed = 1 - catch_probability(self.total, sum(altered), self.drawn)
        # for a given mean the draws miss most often where all inputs are altered alike (Maclaurin)
        return 1 - missed * (1 - len(altered) / len(self.inputs)) ** self.by_input


def catch_probability(total: int, altered: int, drawn: int) -> float:
    """Of `drawn` from `total` without replacement at least one is among the `altered`.

    1 - C(total - altered, drawn) / C(total, drawn), hypergeometric.
    """
    if altered <= 0:
        return 0.0
    if altered + drawn > total:
        return 1.0
    few, many = sorted((altered, drawn))  # C(N-a, d)/C(N, d) = C(N-d, a)/C(N, a)
    left = np.arange(few, dtype=np.float64)
    return float(-np.expm1(np.log1p(-many / (total - left)).sum()))


def fewest(inputs: Iterable[int]) -> list[int]:
    """The trials of `ALTERED` of the inputs, of those that have the fewest."""
    sizes = sorted(inputs)
    return sizes[: math.ceil(ALTERED * len(sizes))]


def _draws_by_input(draw: TrialDraw[K]) -> int:
    """Draws that let a mean over inputs not be moved by `ALTERED` unnoticed, where it matters.

    None where all inputs have as many trials: then drawn trials are drawn inputs.
    """
    sizes = set(draw.inputs.values())
    number, altered = 0, fewest(draw.inputs.values())
    while len(sizes) > 1 and replace(draw, by_input=number).catch_mean(altered) < NOTICED:
        number += 1
    return number


def draw_trials(
    entries: Mapping[K, Sequence[Entry]], share: float | None, seed: int, *, of_inputs: bool = True
) -> TrialDraw[K]:
    """Trials of one journal or several: so many that about this share of all is run again.

    At least one. Without a share: so many that about `SHARE` is run again, and no fewer than notice
    `ALTERED` of the trials, or of the inputs, with probability `NOTICED`. With one, half of it at
    most is drawn by input. `of_inputs`: each subject is an input.
    """
    rows = [(name, entry) for name, own in entries.items() for entry in own]
    if not rows:
        raise InvalidArgument(
            "the journal of this file is empty: no trial can be run again; let the run end, and "
            "write it again"
        )
    sizes = [entry.stop - entry.start for _, entry in rows]  # exact, however many they claim
    total = sum(sizes)
    single = all(isinstance(entry.evidence, Outcomes | Severities) for _, entry in rows)
    if total > MOST_TRIALS:
        raise InvalidArgument(
            f"the journal of this file claims {total:,} trials, more than {MOST_TRIALS:,}: nobody "
            f"ran them; {NEW_COPY}"
        )
    kinds = np.unique(np.array(sizes, dtype=np.float64), return_counts=True)
    number = _number_to_draw(kinds, total, SHARE if share is None else share, single)
    if share is None:
        number = max(number, draws_for(total))
    every = {name: tuple(own) for name, own in entries.items()}
    inputs = {n: sum(e.stop - e.start for e in own) for n, own in entries.items() if own}
    draw = TrialDraw(seed, total, len(rows), number, every, 1.0, inputs if of_inputs else {})
    if number == total:
        return draw
    by_input = _draws_by_input(draw)
    if share is not None:
        cost = 1.0 if single else _row_of_an_input(entries)
        by_input = min(by_input, int(share * total / 2 / cost))
        number = _number_to_draw(kinds, total, share - by_input * cost / total, single)
    if number > MOST_DRAWN:
        part = SHARE if share is None else share
        raise InvalidArgument(
            f"a share of {part:g} of {total:,} trials is {number:,} draws, more than "
            f"{MOST_DRAWN:,}: pass a smaller share (--share {part / 100:g}), or 1 for all"
        )
    ends = np.cumsum(np.array(sizes, dtype=np.int64))
    drawn_places = random.Random(seed).sample(range(total), number)  # noqa: S311  it draws no secret
    drawn_places += _places_by_input(inputs, by_input, seed)
    places = np.unique(np.array(drawn_places, dtype=np.int64))
    at = np.searchsorted(ends, places, side="right")
    drawn: dict[K, list[Entry]] = {}
    if single:
        offsets = places - (ends - np.array(sizes))[at]
        for row, offset in zip(at.tolist(), offsets.tolist(), strict=True):
            name, entry = rows[row]
            drawn.setdefault(name, []).append(_one_trial(entry, offset))
    else:
        for row in np.unique(at).tolist():
            name, entry = rows[row]
            drawn.setdefault(name, []).append(entry)
    chosen = {name: tuple(own) for name, own in drawn.items()}
    # The share that asks for so many draws: that of the trials run again, in the mean.
    enough = draws_for(total) if single else _expected_trials(kinds, total, draws_for(total))
    enough = min(1.0, enough / total)
    return replace(draw, drawn=number, rows=chosen, enough=enough, by_input=by_input)


def _places_by_input(inputs: Mapping[K, int], number: int, seed: int) -> list[int]:
    """Places of trials among all: every input as often as the others, or once more."""
    draw = random.Random(f"inputs {seed}")  # noqa: S311  it draws no secret
    sizes = list(inputs.values())
    ends = np.cumsum(sizes).tolist()
    rounds, rest = divmod(number, len(sizes))
    chosen = [*range(len(sizes))] * rounds + draw.sample(range(len(sizes)), rest)
    return [ends[i] - 1 - draw.randrange(sizes[i]) for i in chosen]


def _row_of_an_input(entries: Mapping[K, Sequence[Entry]]) -> float:
    """Trials of the row of a trial that is drawn by input, in the mean."""
    sizes = [[entry.stop - entry.start for entry in own] for own in entries.values() if own]
    return sum(sum(n * n for n in own) / sum(own) for own in sizes) / len(sizes)


def _one_trial(entry: Entry, offset: int) -> Entry:
    """One trial of a row whose journal holds every one."""
    start, evidence = entry.start + offset, entry.evidence
    match evidence:
        case Outcomes(marks=marks):
            return Entry(entry.level, start, start + 1, Outcomes(marks[offset]))
        case Severities(values=values, limit=limit):
            part = Severities((values[offset],), limit)
            return Entry(entry.level, start, start + 1, part)
    raise TypeError(type(evidence))


def _number_to_draw(kinds: _Sizes, total: int, share: float, single: bool) -> int:
    """Draws after which, in the mean, at most this share of all trials is run again.

    It depends on the sizes of rows alone, never on what is drawn: so the probability to notice is
    exactly hypergeometric.
    """
    if share == 1:
        return total
    if single:
        return max(1, math.ceil(share * total))
    more = range(2, total + 1)
    return 1 + bisect_left(
        more, True, key=lambda drawn: _expected_trials(kinds, total, drawn) > share * total
    )


def draws_for(total: int) -> int:
    """Draws, at most all, that notice `ALTERED` of the trials with probability `NOTICED`."""
    altered = math.ceil(ALTERED * total)
    return 1 + bisect_left(
        range(1, total), NOTICED, key=lambda drawn: catch_probability(total, altered, drawn)
    )


def _expected_trials(kinds: _Sizes, number: int, drawn: int) -> float:
    """Trials of rows that hold at least one of `drawn` trials, in the mean."""
    from scipy.special import gammaln

    (sizes, repeats), total = kinds, float(number)
    rest = total - sizes - drawn
    logs = (
        gammaln(total - sizes + 1)
        - gammaln(np.maximum(rest, 0) + 1)
        - gammaln(total + 1)
        + gammaln(total - drawn + 1)
    )
    missed = np.where(rest >= 0, np.exp(np.minimum(logs, 0.0)), 0.0)
    return float((repeats * sizes * (1 - missed)).sum())


_SHARES = (0.01, 0.05, 0.2)
"""Altered shares whose probability to be noticed is printed."""


@dataclass(frozen=True)
class Wording:
    """What is run again, in words: trials, or the inputs that an attack searched."""

    noun: str
    unit: str
    doing: str
    again: str
    altered: str
    nothing: str


TRIALS = Wording(
    "recorded trials", "trials", "running", "run again", "trials",
    "Alter no trial: all of them were run again.",
)  # fmt: skip
ATTACKED = Wording(
    "attacked inputs", "attacked inputs", "attacking", "attacked again", "outcomes of the attack",
    "Alter no outcome of the attack: all inputs were attacked again.",
)  # fmt: skip


@dataclass(frozen=True)
class Sampled:
    """A draw from some runs, and of each run by name how many trials it has and how many failed."""

    draw: TrialDraw[tuple[str, str]]
    wording: Wording
    trials: Mapping[str, int]
    failed: Mapping[str, int]

    @property
    def everything(self) -> bool:
        """Whether every row is run again: as asked for, or because each holds a drawn trial."""
        return self.draw.trials == self.draw.total

    @property
    def number(self) -> str:
        """How many are run again."""
        total = f"{self.draw.total:,} {self.wording.noun}"
        return f"all {total}" if self.everything else f"{self.draw.trials:,} of {total}"

    @property
    def of_runs(self) -> str:
        """Of which runs of a comparison they are; empty where there is only one run."""
        if len(self.trials) == 1:
            [name] = self.trials
            return f" of {name}" if name else ""
        own = dict.fromkeys(self.trials, 0)
        for (run, _), rows in self.draw.rows.items():
            own[run] += sum(entry.stop - entry.start for entry in rows)
        parts = ", ".join(f"{n:,} of {self.trials[run]:,} of {run}" for run, n in own.items())
        return f" ({parts})"

    @property
    def compared(self) -> str:
        """What is compared one by one: a trial, or a row of several with its count."""
        rows = self.draw.number_of_rows
        return f"{rows:,} {self.wording.unit if rows == self.draw.trials else 'rows'}"

    @property
    def why_these(self) -> str:
        """Which trials were drawn, and why others are run again with them."""
        draw = self.draw
        if self.everything:
            return "every one of them"
        by_input = f" and {draw.by_input:,} by input" if draw.by_input else ""
        drawn = f"{draw.drawn:,} drawn at random{by_input} (seed {draw.seed})"
        if draw.trials == draw.number_of_rows:
            return drawn
        rows = f"{draw.number_of_rows:,} of {draw.total_rows:,} rows"
        return f"those of the {rows} of the journal that hold a drawn one: {drawn}"

    @property
    def chances(self) -> str:
        """How likely altered shares of some sizes would have been noticed, exactly."""
        if self.everything:
            return ""
        draw = self.draw
        chances = ", ".join(
            f"{floor_percent(draw.catch(share))} if {_percent(share)}" for share in _SHARES
        )
        words = (
            f"Altered {self.wording.altered} would be noticed with probability {chances} of them "
            "were altered."
        )
        if len(self.trials) > 1:
            least = min(
                catch_probability(draw.total, math.ceil(ALTERED * n), draw.drawn)
                for n in self.trials.values()
            )
            words += (
                f" Where one run alone was altered, {_percent(ALTERED)} of its own are noticed "
                f"with probability {floor_percent(least)} or more."
            )
        words += self._chances_of_inputs
        if draw.catch(ALTERED) < NOTICED:
            more = math.ceil(1000 * draw.enough) / 1000
            words += (
                f" That is a weaker check than without --share: which notices {_percent(ALTERED)} "
                f"with {_percent(NOTICED)}, as does --share {more:g}."
            )
        return words

    @property
    def _chances_of_inputs(self) -> str:
        """The same of altered inputs, which claims weigh; of several runs the least of them."""
        runs = self._inputs_of_runs
        if not runs:
            return ""
        altered, alone = [fewest(own) for own in runs], " of one run alone" * (len(runs) > 1)
        throughout = floor_percent(min(map(self.draw.catch_inputs, altered)))
        mean = floor_percent(min(map(self.draw.catch_mean, altered)))
        points = max(100 * len(fewest(own)) / len(own) for own in runs)
        return (
            f" {self._altered_inputs}{alone} would be noticed with probability {throughout}, and "
            f"trials altered in any inputs{alone} with {mean} or more: both move a mean over the "
            f"inputs by up to {math.ceil(10 * points - 1e-9) / 10:g} points. Where an input is "
            "near its limit, fewer of its trials decide, and are noticed less often."
        )

    @property
    def _inputs_of_runs(self) -> list[list[int]]:
        """The trials of the inputs of each run."""
        own: dict[str, list[int]] = {}
        for (run, _), trials in self.draw.inputs.items():
            own.setdefault(run, []).append(trials)
        return list(own.values())

    @property
    def _altered_inputs(self) -> str:
        one, *others = self._inputs_of_runs
        some = f"{_percent(ALTERED)} of the" if others else f"{len(fewest(one))} of {len(one):,}"
        return f"{some} inputs altered throughout"

    @property
    def forger(self) -> str:
        """What is left to a forger, and where the probabilities come from."""
        if self.everything:
            return self.wording.nothing
        draw = self.draw
        return (
            f"Alter so few {self.wording.altered} that none was drawn: the probabilities above are "
            f"1 - C(N - M, n)/C(N, n) with n = {draw.drawn:,} draws and M altered of "
            f"N = {draw.total:,}, or more, however the altered ones lie among the rows. "
            f"{self._worth}"
        )

    @property
    def _worth(self) -> str:
        """What altered trials can do to what the file says of them."""
        draw, unit = self.draw, self.wording.unit
        altered = math.ceil(ALTERED * draw.total)
        share = f"{_percent(ALTERED)} of the {unit} are {altered:,}"
        if len(self.trials) > 1:
            most = max(100 * min(1, altered / n) for n in self.trials.values())
            points = math.ceil(10 * most - 1e-9) / 10
            return (
                f"{share}: so many altered in one run alone move its share of failed {unit} by up "
                f"to {points:g} points."
            )
        [failed] = self.failed.values()
        most = min(failed + altered, draw.total)
        return (
            f"{share}: if so many failures were hidden, truly {most:,} of {draw.total:,} {unit} "
            f"failed, and not {failed:,} as the file says."
        )

    @property
    def sample(self) -> str:
        """What was run again, for the last line."""
        draw, unit, again = self.draw, self.wording.unit, self.wording.again
        if self.everything:
            return f"all {draw.total:,} {unit} were {again} and came out as it says"
        runs, inputs = self._inputs_of_runs, ""
        if len(runs) == 1:
            chance = floor_percent(draw.catch_inputs(fewest(runs[0])))
            inputs = f", {self._altered_inputs} with probability {chance}"
        return (
            f"the {draw.trials:,} of {draw.total:,} {unit} that were {again} came out as it says "
            f"({_percent(ALTERED)} altered would be noticed with probability "
            f"{floor_percent(draw.catch(ALTERED))}{inputs})"
        )


def failures_of(evidence: Answer) -> int:
    """How many trials of a row failed, or whether an attack broke its input."""
    match evidence:
        case Counts():
            return evidence.trials - evidence.kept
        case Outcomes():
            return evidence.marks.count("0")
        case Severities():
            return sum(value >= evidence.limit for value in evidence.values)
        case Proof():
            return int(evidence.reason in BROKEN)
        case _:
            return 0


def outcome_words(evidence: Answer) -> str:
    """What a row of a journal says."""
    match evidence:
        case Counts():
            return f"{failures_of(evidence):,} of {evidence.trials:,} failed"
        case Outcomes():
            return f"{failures_of(evidence):,} of {len(evidence.marks):,} failed"
        case Severities():
            return f"severity {evidence.values[0]:.6g}"
        case Chained():
            return f"severity {evidence.severity:.6g} after steps {evidence.accepted}"
        case Proof():
            return f"{evidence.reason}"
        case _:
            return "other evidence"


def floor_percent(chance: float) -> str:
    """A probability in percent, never rounded up."""
    if chance > 0.999:
        return "above 99.9 %"
    return f"{math.floor(chance * 1000 + 1e-9) / 10:g} %"


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def why_else(evidence: Evidence) -> str:
    """What else than a forger can cause a few differences."""
    here, there = environment(), evidence.record.environment
    names = [name for name in here.keys() | there.keys() if here.get(name) != there.get(name)]
    versions = ", ".join(
        f"{name} {here.get(name, 'none')} instead of {there.get(name, 'none')}"
        for name in sorted(names)
    )
    innocent = "In a near tie another processor, number of threads or library can decide otherwise"
    if versions:
        return f"{innocent}; here is {versions}: check it once more with the versions of the run."
    return f"{innocent}; the versions here are those of the run."


_FEW_TRIALS = 20_000
"""Up to here a batch size is not measured and no worker is started: both take longer."""
_SMALL_BATCH = 256
"""Trials of a batch whose size is not measured."""
_ASKS = 256
"""Rows of one subject that are asked for at once: the loop looks through them for every answer."""


@dataclass(frozen=True)
class _Again:
    """Exactly these trials of one subject; fewer answers where the time is up before the last."""

    asks: tuple[Ask, ...]
    concludes_early: ClassVar[bool] = True

    def steps(self) -> Generator[tuple[Ask, ...], list[Answer], list[Answer]]:
        """Ask for some at once, then for the next ones."""
        answers: list[Answer] = []
        try:
            for start in range(0, len(self.asks), _ASKS):
                answers += yield self.asks[start : start + _ASKS]
        except TimeUp:
            pass
        return answers


@dataclass(frozen=True, eq=False)
class _Difference:
    """A row whose evidence is another here than in the file.

    `trials` have another outcome: of counts it is the least number that explains them.
    """

    run: RebuiltRun
    task: Task
    recorded: Answer
    again: Answer
    trials: int

    def __str__(self) -> str:
        subject, task = self.task.subject, self.task
        name = f"input {subject.name}"
        if len(subject.rows) > 1:
            name = f"{subject.name}, level {task.level:g}"
        if not isinstance(self.recorded, Proof):  # an attack has one outcome an input
            last = f" to {task.stop - 1}" if task.units > 1 else ""
            name += f", trial{'s' * (task.units > 1)} {task.start}{last}"
        run = f"{self.run.name}, " if self.run.name else ""
        here, there = outcome_words(self.again), outcome_words(self.recorded)
        return f"{run}{name}: {here} here, {there} in the file"


def check_trials(
    runs: Sequence[RebuiltRun], request: RerunRequest, wording: Wording = TRIALS
) -> Again:
    """A share of the trials of all runs together, run again; and what a forger could still do."""
    begun = time.monotonic()
    journal = {
        (run.name, subject): rows for run in runs for subject, rows in run.evidence.entries.items()
    }
    # an attack has one outcome an input; the trials of a curve are those of all inputs
    of_inputs = wording is TRIALS and runs[0].study.needs is not Needs.LEVELS
    draw = draw_trials(journal, request.share, request.seed, of_inputs=of_inputs)
    sampled = Sampled(draw, wording, *_totals(runs))
    request.announce(f"{wording.doing} {sampled.number} again: {sampled.why_these}")
    different: list[_Difference] = []
    missing = 0
    for run in runs:
        rows = {subject: own for (name, subject), own in draw.rows.items() if name == run.name}
        others, not_run = _rerun(run, rows, request.since(begun))
        different += others
        missing += not_run
    if different:
        return Again((), (_refuted(different, sampled),))
    if missing:
        return Again((), (_late(missing, sampled),))
    words = f"{sampled.number}{sampled.of_runs} were {wording.again}"
    said = f"{words[:1].upper()}{words[1:]}, and all came out as recorded: {sampled.why_these}."
    check = Status.FOLLOWS.of(f"{said} {sampled.chances}".rstrip())
    return Again((), (check,), (sampled.forger,), sampled.sample)


def _totals(runs: Sequence[RebuiltRun]) -> tuple[dict[str, int], dict[str, int]]:
    """Trials, and failed ones, that the journal of each run has."""
    own = {run.name: list(chain(*run.evidence.entries.values())) for run in runs}
    trials = {name: sum(e.stop - e.start for e in entries) for name, entries in own.items()}
    return trials, {n: sum(failures_of(e.evidence) for e in entries) for n, entries in own.items()}


def _rerun(
    run: RebuiltRun, rows: Mapping[str, Sequence[Entry]], request: RerunRequest
) -> tuple[list[_Difference], int]:
    """Rows that come out otherwise, and how many were not run before the time was up."""
    if not rows:
        return [], 0
    study = run.study
    few = sum(e.stop - e.start for own in rows.values() for e in own) <= _FEW_TRIALS
    batch = min(_SMALL_BATCH, most_trials(study.fitted.row_bytes, 1)) if few else None
    if study.needs is Needs.REGION:
        batch = None  # an attack knows itself how many inputs it can search at once
    measurement: Measurement = MEASUREMENTS[study.needs](study, 1 if few else None, batch)
    subjects = [subject for subject in measurement.subjects if subject.name in rows]
    if len(subjects) < len(rows):
        strange = min(rows.keys() - {subject.name for subject in subjects})
        raise EvidenceFailed(
            f"the journal holds trials of {strange}, which is not in these data: give the data of "
            "that run"
        )
    steps = _chains_of(run) if study.needs is Needs.SPLITTING else {}
    asks = {
        s.name: _Again(
            tuple(replace(_ask(e), known=steps.get((s.name, e.start))) for e in rows[s.name])
        )
        for s in subjects
    }
    again = replace(measurement, subjects=subjects, procedures=asks, doing="running trials again")
    answers = run_measurement(again, MemoryJournal(), request.on_progress, request.time_limit)
    different, missing = [], 0
    for subject, own in zip(subjects, answers, strict=True):
        missing += len(rows[subject.name]) - len(own)
        for entry, evidence in zip(rows[subject.name], own, strict=False):
            trials = trials_that_differ(entry.evidence, evidence)
            if trials:
                task = Task(subject, entry.level, entry.start, entry.stop)
                different.append(_Difference(run, task, entry.evidence, evidence, trials))
    return different, missing


@dataclass(frozen=True)
class _Recorded:
    """A procedure, and what each of its questions builds on, by subject and first trial."""

    procedure: Any
    names: Sequence[str]
    asked: dict[tuple[str, int | None], Known | None]
    concludes_early: ClassVar[bool] = True

    def steps(self) -> Generator[tuple[Ask, ...], list[Answer], None]:
        """Ask the same, and note it."""
        steps, answers = self.procedure.steps(), None
        with suppress(StopIteration, TimeUp):
            while True:
                question = steps.send(answers)
                for ask in question:
                    self.asked[self.names[ask.subject], ask.start] = ask.known
                answers = yield question


def _chains_of(run: RebuiltRun) -> dict[tuple[str, int | None], Known | None]:
    """From where the chains of the run began, by subject and first step."""
    record, entries = run.evidence.record, run.evidence.entries
    names = [row.id for row in record.inputs]
    procedures = procedures_of_splitting(facts_of(record, entries), names)
    asked: dict[tuple[str, int | None], Known | None] = {}
    recorded: dict[str, Any] | Joint[Any]
    if isinstance(procedures, Joint):
        recorded = Joint(_Recorded(procedures.procedure, names, asked))
    else:
        recorded = {name: _Recorded(one, [name], asked) for name, one in procedures.items()}
    subjects = [Subject(name, (i,)) for i, name in enumerate(names)]
    replay(subjects, recorded, entries, stopped_early=record.stopped_early)
    return asked


def _ask(entry: Entry) -> Ask:
    return Ask(entry.level, entry.stop - entry.start, entry.start)


def trials_that_differ(recorded: Answer, again: Answer) -> int:
    """How many trials at least have another outcome."""
    match recorded, again:
        case Counts(), Counts():
            both = (recorded.other is None) == (again.other is None)
            second = abs((recorded.other or 0) - (again.other or 0)) if both else 1
            return max(abs(recorded.kept - again.kept), second)
        case Outcomes(), Outcomes():
            return sum(a != b for a, b in zip(recorded.marks, again.marks, strict=True))
        case Severities(), Severities():
            one, other = np.array(recorded.values), np.array(again.values)
            far = np.abs(one - other) > ROUNDING * np.maximum(1.0, np.abs(one))
            sides = (one < recorded.limit) != (other < again.limit)
            return int(np.count_nonzero(far | sides))
        case Chained(), Chained():
            near = np.isclose(recorded.severity, again.severity, ROUNDING, ROUNDING)
            return 0 if near and recorded.accepted == again.accepted else 1
        case Proof(), Proof():  # an attack: its outcome, not its time
            return int((recorded.reason, recorded.high) != (again.reason, again.high))
        case _:
            return 1


def _refuted(different: Sequence[_Difference], sampled: Sampled) -> Check:
    draw, unit = sampled.draw, sampled.wording.unit
    first, trials = different[0], sum(one.trials for one in different)
    return Status.REFUTED.of(
        f"No: {sampled.number} were {sampled.wording.again} ({sampled.why_these}), and "
        f"{len(different):,} of {sampled.compared} came out otherwise (at least {trials:,} of "
        f"{draw.trials:,} {unit}). The first: {first}.",
        why_else(first.run.evidence),
    )


def _late(missing: int, sampled: Sampled) -> Check:
    return Status.OPEN.of(
        f"Not all of {sampled.number} were {sampled.wording.again} ({sampled.why_these}): "
        f"{missing:,} of {sampled.compared} were not run when the time was up, the others "
        "came out as recorded: pass a larger --time-limit, or a smaller --share.",
    )


_MOST_STEPS = 100_000
"""Gradient steps for one input: 300 times the default, and a file of a stranger can ask for more
than a lifetime."""


def check_attacks(runs: Sequence[RebuiltRun], request: RerunRequest) -> Again:
    """The attacks beside these runs, or these themselves: inputs drawn from all, attacked again.

    A file has the outcome for each input and not the points: they have a name, by which the same
    search finds them again.
    """
    checks, attacks = [], []
    for run in runs:
        attack = _within_reach(run) if run.study.needs is Needs.REGION else _attack_of(run)
        if isinstance(attack, RebuiltRun):
            attacks.append(attack)
        elif attack is not None:
            checks.append(of_part(run.name, attack))
    if not attacks:
        return Again((), tuple(checks))
    try:
        again = check_trials(attacks, request, ATTACKED)
    except (InvalidArgument, MissingPackage, ModelFailed) as error:
        again = Again((), (_cannot(str(error)),))
    return replace(again, trials=(*checks, *again.trials))


def _attack_of(run: RebuiltRun) -> RebuiltRun | Check | None:
    """The attack beside a run made again, or why it cannot be; None where there is none."""
    details, attack = run.evidence.record.details, run.evidence.attack
    if not isinstance(details, Samples) or details.attack is None or not details.attack.run:
        return None
    if attack is None:
        return _cannot("its journal is not in this file")
    try:
        method = facts_of(attack.record, attack.entries).method
        study = replace(run.study, method=method, population=None, by_class=None)
        different = other_difference(attack, study, verify_command(attack))
    except (InvalidArgument, MissingPackage, ModelFailed) as error:
        return _cannot(str(error))
    return different or _within_reach(RebuiltRun(run.name, attack, study))


def _within_reach(attack: RebuiltRun) -> RebuiltRun | Check:
    """The attack itself, unless it takes longer than anybody waits."""
    steps = attack.study.method.most_steps
    if steps > _MOST_STEPS:
        return _cannot(f"it makes {steps:,} gradient steps an input, more than {_MOST_STEPS:,}")
    return attack


def _cannot(why: str) -> Check:
    return Status.OPEN.of(f"The attack cannot be run again here: {why}.")
