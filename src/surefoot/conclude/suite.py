"""What follows from the cells of a suite together: each accuracy, their mean, the weakest."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from surefoot.conclude.accuracy import failure_interval
from surefoot.conclude.scope import rows_by_id
from surefoot.core import claims as kinds
from surefoot.core.assumptions import Jointly, Together
from surefoot.core.claims import About, Claim, Continues, Randomness
from surefoot.core.counts import Counts
from surefoot.core.reasons import Reason, Why
from surefoot.core.results import Estimate, Footing, Guarantee, Interval, complement, exceeds
from surefoot.errors import InvalidArgument
from surefoot.population.cells import (
    Cell,
    mean_of_cells,
    mean_ratio,
    outlook_of_cells,
    outlook_of_sample,
)
from surefoot.population.requirement import more_inputs
from surefoot.records.input_table import tried_rows
from surefoot.records.record import (
    BASELINE,
    Comparison,
    Member,
    Record,
    Samples,
    results_of,
    row_and_column,
)
from surefoot.report.clauses import curve_quantity
from surefoot.statistics.bounds import two_sided
from surefoot.statistics.stratified_mean import MeanBounds

_SHARED = ("model", "property", "bounds", "generator")
_DIGITS = 12
"""Of a mean of counts: all that floating point leaves of it."""


def error_of_cells(error: float, drawn: int, every: int, about: About) -> float:
    """What each cell may spend: cells that are counted exactly spend nothing.

    Of these inputs the mean over the cells has a share of its own. Of the population every cell is
    a sample, and the mean is the average of their intervals, which costs nothing.
    """
    return error / every if about is About.POPULATION else error / (drawn + 1)


def join_cells(
    records: Mapping[str, Record], error: float, suite: str
) -> tuple[Comparison, tuple[Claim, ...]]:
    """The cells, the weakest first, with the claims that hold of them together.

    With a baseline each of the two models has half of the error, and the mean over the rows of
    errors over those of the baseline is said too.
    """
    own = {name: record for name, record in records.items() if not name.startswith(BASELINE)}
    others = {n.removeprefix(BASELINE): r for n, r in records.items() if n not in own}
    half = error / 2 if others else error
    together = Jointly(Together.CELLS, len(records))
    members, claims, total = _joined(own, half, suite, together, error)
    if not others:
        return Comparison("cell", members, suite=suite), claims
    _check_baseline(own, others)
    beside, of_baseline, total_below = _joined(others, half, suite, together, error)
    said = (claims[0] if claims[0].guarantee.error else of_baseline[0]).said  # random if either is
    above, below = _row_errors(members), _row_errors(beside)
    ratio = kinds.CorruptionError(said, suite=suite, rows=len(above))
    right = next((row for row, (_, around) in below.items() if around.low <= 0), None)
    if right is not None:
        ratio = ratio.saying(reason=Why.BASELINE_RIGHT.of(right))
    else:
        value = sum(one / below[row][0] for row, (one, _) in above.items()) / len(above)
        ends = [one for _, one in above.values()], [below[row][1] for row in above]
        around = mean_ratio(*ends, total, total_below)
        if said.random is Randomness.NOTHING:  # counted, and its ends differ by rounding alone
            around = Interval(value, value)
        ratio = replace(ratio, value=min(max(value, around.low), around.high), interval=around)
    named = tuple(replace(m, name=f"{BASELINE}{m.name}") for m in beside)
    return Comparison("cell", (*members, *named), suite=suite), (claims[0], ratio, *claims[1:])


def _joined(
    records: Mapping[str, Record], share_of_all: float, suite: str, together: Jointly, error: float
) -> tuple[tuple[Member, ...], tuple[Claim, ...], Interval]:
    """The cells of one model, which spend a share of the error, and its errors added up.

    The claims are about the mean over the cells, then about each cell; the weakest first.
    """
    _check_same_question(records)
    about, kept = _about(records), _kept(records)
    drawn = [name for name, one in kept.items() if one.guarantee.error > 0]
    share = error_of_cells(share_of_all, len(drawn), len(records), about)
    for name in drawn:
        if exceeds(kept[name].guarantee.error, share):
            raise InvalidArgument(
                f"{name} spends an error of {kept[name].guarantee.error:g}, and each of "
                f"{len(drawn)} cells may spend {share:g} for {error:g} in all: run the suite again"
            )
    cells, mean = _cells(records), sum(one.value for one in kept.values()) / len(kept)
    around = failure_interval(mean_of_cells(cells, share))
    random = any(not cell.exact for cell in cells)
    if not random:  # a count of exactly 92 % meets a requirement of 92 %
        mean = round(mean, _DIGITS)
        around = Interval(mean, mean)
    assumptions = tuple(
        dict.fromkeys(a for r in records.values() for a in r.claims[0].guarantee.assumptions)
    )
    footing = Footing.CONDITIONAL if assumptions else Footing.SOUND
    spent = error if random or about is About.POPULATION else 0.0
    weakest_first = sorted(kept, key=lambda name: kept[name].value)
    weakest = weakest_first[0]
    said = replace(
        records[weakest].claims[0].said,
        random=Randomness.FRESH if random else Randomness.NOTHING,
        guarantee=Guarantee(footing, spent, assumptions, together),
        continues=Continues.ONCE,
        trials=sum(record.trials for record in records.values()),
        names=(),
        reason=None,
    )
    claims: list[Claim] = [
        kinds.SuiteMean(
            said,
            value=min(max(mean, around.low), around.high),
            interval=around,
            suite=suite,
            cells=len(records),
            height=curve_quantity(records[weakest].study.property.kind),
            weakest=weakest,
            lowest=kept[weakest].value,
            lowest_interval=kept[weakest].interval,
        )
    ]
    members = []
    for name in weakest_first:
        record = records[name]
        level = record.study.perturbation.number("level")
        members.append(Member(name, record.digest, level, kept[name]))
        promise = record.claims[0].guarantee
        of_all = (error, together) if promise.error else (0.0, None)
        promise = replace(promise, error=of_all[0], jointly=of_all[1])
        claims.append(record.claims[0].saying(names=(name,), guarantee=promise))
    failing = failure_interval(around)
    total = Interval(len(members) * failing.low, len(members) * failing.high)
    return tuple(members), tuple(claims), total


def _check_baseline(own: Mapping[str, Record], others: Mapping[str, Record]) -> None:
    """The same cells, on the same inputs."""
    for name, record in own.items():
        if name not in others or len(own) != len(others):
            raise InvalidArgument(f"the baseline has no cell {name}: run the suite again")
        mine, theirs = record.study, others[name].study
        for part in ("perturbation", "property", "seed"):
            if getattr(mine, part) != getattr(theirs, part):
                raise InvalidArgument(f"{name} has another {part} for the baseline: run it again")
        if mine.inputs.digest != theirs.inputs.digest:
            raise InvalidArgument("the baseline was studied on other inputs: run the suite again")


def _row_errors(members: Sequence[Member]) -> dict[str, tuple[float, Interval]]:
    """The errors of each row added up over its levels, with the ends of its cells."""
    rows: dict[str, list[Estimate]] = {}
    for member in members:
        if isinstance(member.whole, Estimate):
            rows.setdefault(row_and_column(member.name)[0], []).append(member.whole)
    errors = dict[str, tuple[float, Interval]]()
    for row, cells in rows.items():
        least = math.fsum(1 - one.interval.high for one in cells)
        most = math.fsum(1 - one.interval.low for one in cells)
        errors[row] = math.fsum(1 - one.value for one in cells), Interval(least, most)
    return errors


def _kept(records: Mapping[str, Record]) -> dict[str, Estimate]:
    """The accuracy of each cell, or the share kept."""
    kept, about = dict[str, Estimate](), _about(records)
    for name, record in records.items():
        details = record.details
        if not isinstance(details, Samples) or record.claims[0].about.of is not about:
            raise InvalidArgument(f"{name} is no cell of this suite: run the suite again")
        known = details.whole if about is About.POPULATION else details.studied
        if not isinstance(known, Estimate) or not record.trials:
            raise InvalidArgument(
                f"{name} had no trial: run the same suite again, which goes on where it stopped; "
                "with a time limit (--time-limit), a longer one"
            )
        kept[name] = known
    return kept


def _about(records: Mapping[str, Record]) -> About:
    return next(iter(records.values())).claims[0].about.of


def _check_same_question(records: Mapping[str, Record]) -> None:
    (name, first), *others = records.items()
    for other, record in others:
        for part in _SHARED:
            if getattr(first.study, part) != getattr(record.study, part):
                raise InvalidArgument(
                    f"{name} and {other} differ in their {part}: cells of a suite differ in the "
                    "perturbation only; study all with the same"
                )
        if first.study.inputs.digest != record.study.inputs.digest:
            raise InvalidArgument(
                f"{name} and {other} were studied on different inputs: study both on the same"
            )


_TOGETHER = 0.9
"""Part of the error of a verdict for the trials of all cells together; the rest is for the cells
one by one, should the time have ended before some of them were known."""


_LEAST_SEEN = 20
"""Trials below which the outlook, of normal distributions, is no forecast: with two trials what was
said to have a chance of 80 % came true in 4 of 30 runs."""
_MOST_GROWTH = 1000
"""Times the trials of this run beyond which a forecast says no more."""


def kept_over_cells(
    records: Mapping[str, Record], error: float, kept_at: Callable[[Record, float], Interval]
) -> Interval:
    """The mean over the cells, each end by itself wrong with probability at most `error`.

    `kept_at` gives the same of one cell, at an error of its own.
    """
    cells = _cells(records)
    alone = error if _about(records) is About.POPULATION else (1 - _TOGETHER) * error
    paid = alone / sum(not cell.exact for cell in cells)
    ends = [
        cell if cell.exact else replace(cell, failure=failure_interval(kept_at(record, paid)))
        for cell, record in zip(cells, records.values(), strict=True)
    ]
    return failure_interval(mean_of_cells(ends, two_sided(_TOGETHER * error)))


def likely_to_decide(
    records: Mapping[str, Record],
    least: float,
    error: float,
    kept_at: Callable[[Record, float], Interval],
) -> Reason | None:
    """How fine a next run, which may spend `error`, is likely to decide that the mean is `least`.

    A forecast, no claim; None where there is none.
    """
    if _about(records) is About.POPULATION:
        return _more_of_population(records, least, kept_over_cells(records, error, kept_at))
    cells, most = _cells(records), complement(least)
    drawn = [r for r, cell in zip(records.values(), cells, strict=True) if not cell.exact]
    method, trials = drawn[0].study.method, sum(r.trials for r in drawn)
    if trials < _LEAST_SEEN:
        return None
    passes, precision = method.number("passes"), method.number("precision") or 0.0
    within = 0.0 if passes is None else _variance_within(records, cells)
    outlook = outlook_of_cells(cells, most, _TOGETHER * error, within, precision)
    if outlook is None:
        return None
    if passes is not None:
        return more_inputs(lambda n: outlook.chance(n / passes), int(passes), "passes (--passes)")
    most = _MOST_GROWTH * trials
    forecast = more_inputs(lambda n: outlook.chance(n / trials), trials, "trials", most)
    many = forecast.values[0]
    if forecast.why is not Why.LIKELY_DECIDES or not isinstance(many, int):
        return forecast
    finer = float(f"{0.95 * precision * math.sqrt(trials / many):.2g}")
    return Why.PRECISION_LIKELY_DECIDES.of(finer, outlook.chance((precision / finer) ** 2))


def _more_of_population(
    records: Mapping[str, Record], least: float, around: Interval
) -> Reason | None:
    """The same of the population: more inputs, and a precision at which all of them are tried.

    `around` is what these trials show at the error of the next run. All cells have the same inputs,
    so that what an input adds to the mean is summed over the cells.
    """
    kept = [
        {
            row.id: one.value
            for row in tried_rows(r.inputs)
            if isinstance(one := row.result, Estimate)
        }
        for r in records.values()
    ]
    tried_now = max(map(len, kept))
    if tried_now < _LEAST_SEEN:
        return None
    outlook = outlook_of_sample(kept, least, around)
    forecast = more_inputs(lambda n: outlook.chance(n / tried_now), tried_now)
    many = forecast.values[0]
    if forecast.why is not Why.LIKELY_DECIDES or not isinstance(many, int):
        return forecast
    reached = max(one.interval.width for one in _kept(records).values()) / 2
    finer = float(f"{0.95 * reached * math.sqrt(tried_now / many):.2g}")
    first = next(iter(records.values()))
    if finer >= (first.study.method.number("precision") or 0.0):
        return forecast
    if many > len(first.inputs):
        return forecast.why.of(many, f"inputs (--precision {finer:g})", forecast.values[-1])
    return Why.PRECISION_LIKELY_DECIDES.of(finer, outlook.chance((reached / finer) ** 2))


def _variance_within(records: Mapping[str, Record], cells: Sequence[Cell]) -> float:
    """Of a trial, averaged over inputs and cells, where every input has as many trials.

    Where inputs have one trial a cell: no more than half the squared difference of the outcomes at
    two levels of a row.
    """
    known, before = list[float](), dict[str, NDArray[np.float64]]()
    for (name, record), cell in zip(records.items(), cells, strict=True):
        if cell.exact:
            continue
        results = results_of(rows_by_id(record), Estimate)
        kept, number = np.array([one.value for one in results]), results[0].trials
        row, mean = row_and_column(name)[0], float(kept.mean())
        if number > 1:
            known.append(float((kept * (1 - kept)).mean()) * number / (number - 1))
        else:
            other = before.get(row, 1 - kept)
            known.append(min(mean * (1 - mean), float(((kept - other) ** 2).mean()) / 2))
        before[row] = kept
    return math.fsum(known) / max(len(known), 1)


def _cells(records: Mapping[str, Record]) -> list[Cell]:
    """The failure probability of each, and its part in the mean.

    Without their parts where two cells may have met the same random numbers, and where they were
    not planned as cells of so many.
    """
    cells = []
    for record, kept in zip(records.values(), _kept(records).values(), strict=True):
        failure = failure_interval(kept.interval)
        part: MeanBounds | Counts | None = None
        if isinstance(record.details, Samples):
            part = record.details.part
        if record.study.method.number("passes") is not None:
            results = results_of(tried_rows(record.inputs), Estimate)
            kept_trials = sum(round(one.value * one.trials) for one in results)
            part = Counts(sum(one.trials for one in results), kept_trials)
        cells.append(Cell(failure, part, kept.guarantee.error == 0 and failure.width == 0))
    drawn = [r.study for r, cell in zip(records.values(), cells, strict=True) if not cell.exact]
    apart = len({study.seed for study in drawn}) == len(drawn)
    planned = all(study.method.number("cells") == len(drawn) for study in drawn)
    return cells if apart and planned else [replace(cell, part=None) for cell in cells]
