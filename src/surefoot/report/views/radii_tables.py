"""Tables of critical radii: single inputs, quantiles, summaries at radii."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from surefoot.core.claims import (
    About,
    Claim,
    MeanRadius,
    MeanRadiusPopulation,
    QuantileDifference,
    RobustAtRadius,
    RobustPopulation,
    Severity,
)
from surefoot.core.counts import closed_to
from surefoot.core.results import Bracket, Interval, PointsDrawn, Quantile, Undecided
from surefoot.errors import InvalidArgument
from surefoot.population import mean_radii, robust_accuracy, runtimes
from surefoot.population.radii import RobustAccuracy
from surefoot.records.record import Comparison, InputRow, Radii, Record, results_of
from surefoot.region.critical_level import ended_by_limit
from surefoot.report.clauses import (
    assumption_words,
    capitalised,
    class_word,
    conditional_confidence,
)
from surefoot.report.formatting import (
    at_most,
    four_digits,
    percent,
    percent_range,
    radius_range,
    signed_range,
)
from surefoot.report.provenance import group_facts
from surefoot.report.reasons import reason_words
from surefoot.report.tables import OF_POPULATION, Table, faults_note
from surefoot.system.text import level_words

ESTIMATORS = {
    "shortest-ranks": "shortest ranks",
    "order-statistics": "order statistics",
    "log-normal": "log-normal posterior",
    "groups": "mean over groups",
}
_GROUPS = {"split": "splits", "training": "trainings"}
"""What stands side by side where it is not networks."""
_WEAKEST_ROWS = 12
_ROUNDING = 1e-6
"""Relative allowance for the rounding of a bracket's width."""


def radii_in(record: Record) -> Radii:
    """The radii of a record."""
    if not isinstance(record.details, Radii):
        raise InvalidArgument(
            f"run {record.digest[:12]} holds no critical radii: name one of surefoot critical"
        )
    return record.details


def brackets_of(record: Record) -> list[tuple[InputRow, Bracket]]:
    """Every input with its bracket."""
    return [(row, row.result) for row in record.inputs if isinstance(row.result, Bracket)]


def tolerance_of(record: Record) -> float | None:
    """How narrow brackets were to be; None for brackets of others, whose file does not say it."""
    return None if radii_in(record).published else record.study.method.number("tolerance")


def closed(record: Record, tolerance: float) -> int:
    """How many brackets are as narrow as requested, or proved for every point within bounds."""
    return sum(
        b.reason.startswith("proved for the whole") or closed_to(b.low, b.high, tolerance)
        for _, b in brackets_of(record)
    )


def counted_unit(records: Iterable[Record]) -> str:
    """What has a bracket: an input, or an input of each of several networks that are pooled."""
    pooled = any(record.claims[0].about.networks for record in records)
    return "pairs of input and network" if pooled else "inputs"


def seconds(value: float | None) -> str:
    """A time with two digits, or whole seconds from 10 on."""
    if value is None:
        return "not known"
    return f"{value:.2g}" if value < 10 else f"{value:,.0f}"


def column_of_parts(record: Record) -> str:
    """What stands side by side: networks, or the splits or trainings of a file."""
    along = record.details.along if isinstance(record.details, Comparison) else ""
    return along if along in _GROUPS else "network"


def quantile_table(records: Mapping[str, Record], column: str = "network") -> Table:
    """A row for each estimator; the first is the one of the claim."""
    several = any(records)
    rows: list[tuple[str, ...]] = []
    notes: dict[str, None] = {}
    for name, record in records.items():
        for row in radii_in(record).quantiles:
            kind = ESTIMATORS.get(row.estimator, row.estimator)
            share, result = "", row.result
            if isinstance(result, Undecided):
                cells = ("undecided", reason_words(result.reason))
            else:
                share = percent(result.share)
                cells = (four_digits(result.value), radius_range(result.interval))
            rows.append((name, kind, *cells) if several else (kind, share, *cells))
            if isinstance(result, Quantile) and result.fit:
                condition = "; ".join(map(assumption_words, result.guarantee.assumptions))
                notes[f"{kind}: only if {condition}; {reason_words(result.fit)}"] = None
    first = (column, "estimator") if several else ("estimator", "quantile")
    headings = (*first, "critical radius", "interval")
    several_estimators = any(len(radii_in(r).quantiles) > 1 for r in records.values())
    claimed = ["The quantile is claimed by the first estimator; the others are for comparison."]
    lines = [*(claimed if several_estimators else []), *(f"{n}." for n in notes)]
    return Table("Quantile", headings, tuple(rows), 2, " ".join(lines))


def class_table(record: Record) -> Table | None:
    """What is claimed of each class; the least robust first."""
    claims = [c for c in record.claims if c.about.of is About.CLASS]
    if not claims:
        return None
    word = class_word(*claims)
    claims.sort(key=lambda c: math.inf if c.value is None else c.value)
    rows = []
    for c in claims:
        name = f"{c.names[0]}: {c.about.name}" if c.names else c.about.name
        value = "undecided" if c.value is None else four_digits(c.value)
        around = reason_words(c.reason) if c.interval is None else radius_range(c.interval)
        rows.append((name, f"{c.about.inputs:,}", value, around))
    networks = len({c.names for c in claims})
    each = ", for each network by itself" if networks > 1 else ""
    together = next((conditional_confidence(c) for c in claims if c.interval is not None), "")
    lines = [f"{capitalised(together)}{each}."] if together else []
    limited = [c for c in claims if c.interval is not None and c.reason is not None]
    reasons = [f"{c.about.name}: {reason_words(c.reason)}" for c in limited]
    if reasons:
        more = len(reasons) - 1
        classes = f"1 other {word}" if more == 1 else f"{more:,} other {word}es"
        others = f" ({classes} likewise)" if more else ""
        lines.append(f"{word.capitalize()} {reasons[0]}{others}.")
    note = " ".join(lines)
    headings = (word, "inputs", "quantile", OF_POPULATION)
    return Table(f"Results by {word}", headings, tuple(rows), 1, note)


def bracket_table(record: Record, name: str = "") -> Table:
    """The least robust of the inputs that do not fail already when clean."""
    every = brackets_of(record)
    kept = [(row, b) for row, b in every if b.high > 0]
    weakest = sorted(kept, key=lambda rb: (rb[1].high, rb[1].low, rb[0].id))
    faults = [("wrong or tied", len(every) - len(kept))]
    note = faults_note(faults, len(every), counted_unit([record]))
    rows = tuple(
        (row.id, radius_range(b.interval), b.reason, seconds(b.seconds))
        for row, b in weakest[:_WEAKEST_ROWS]
    )
    headings = ("input", "critical radius", "why it ended", "seconds")
    return Table(_titled("Weakest inputs", name), headings, rows, 1, note)


def points_table(record: Record, name: str = "") -> Table | None:
    """How often random points fail within the proved radius, and beyond the refuted one."""
    brackets = results_of(record.inputs, Bracket)
    uniform = [(b, s) for b in brackets for s in b.sampled if not s.near_ties]
    inside = [s for b, s in uniform if s.radius <= b.low]
    near = [s for b in brackets for s in b.sampled if s.near_ties]
    drawn = {"the proved radius": inside, "the proved radius, near ties": near}
    beyond: dict[float, list[PointsDrawn]] = {}
    for b, s in uniform:
        if 0 < b.high <= s.radius:
            beyond.setdefault(round(s.radius / b.high, 6), []).append(s)
    drawn |= {f"{f:g} × the nearest counterexample": at for f, at in sorted(beyond.items())}
    rows = [_points(name, at) for name, at in drawn.items() if at]
    shares = ("share", "largest share of one input")
    headings = ("points drawn within", "inputs", "points", "failed", *shares)
    note = (
        "Points are drawn uniformly, except for those near ties. Shares are counts of these "
        "points, not claims. Radii wider than the bounds are left out."
    )
    title = _titled("How often random points fail", name)
    return Table(title, headings, tuple(rows), 1, note) if rows else None


def _points(name: str, at: list[PointsDrawn]) -> tuple[str, ...]:
    trials, failed = sum(s.trials for s in at), sum(s.failed for s in at)
    worst = max(s.failed / max(s.trials, 1) for s in at)
    share = percent(failed / max(trials, 1))
    return name, f"{len(at):,}", f"{trials:,}", f"{failed:,}", share, percent(worst)


def _titled(title: str, name: str) -> str:
    return f"{title}, {name}" if name else title


def pair_table(record: Record) -> Table | None:
    """By how much the quantiles of two networks differ on the inputs they share."""
    if not isinstance(record.details, Comparison) or not record.details.differences:
        return None
    claims = [c for c in record.claims if isinstance(c, QuantileDifference)]
    rows = []
    for d in record.details.differences:
        better = d.first if d.interval.low > 0 else d.second
        differ = d.interval.low > 0 or d.interval.high < 0
        shown = f"{better} is more robust" if differ else "no"
        rows.append((f"{d.first} − {d.second}", f"{d.value:+.4g}", signed_range(d.interval), shown))
    share, inputs = percent(claims[0].share), claims[0].about.inputs
    along = record.details.along
    note = (
        f"The {share} quantiles on the same {inputs:,} inputs; {conditional_confidence(claims[0])}."
    )
    if along in _GROUPS:
        how = "of independent samples" if along == "split" else "from the ends of the two intervals"
        note = (
            f"The {share} quantiles, each of its own inputs; the difference is {how}, never of "
            f"pairs of inputs. {capitalised(conditional_confidence(claims[0]))}."
        )
    name = _GROUPS.get(along, "networks")
    headings = (name, "difference", "interval", "shown to differ")
    return Table(f"Pairs of {name}", headings, tuple(rows), 1, note)


AtRadius = RobustAtRadius | RobustPopulation | Severity
Means = MeanRadius | MeanRadiusPopulation
_NO_CEILING = (
    "No interval for the population's mean: that needs a largest radius that counts, and the file "
    "does not state one; pass ceiling (--ceiling)."
)
_NOT_FIXED = (
    "No interval for the population's mean: the search chose how many inputs it took (--within)."
)


@dataclass(frozen=True)
class _AtRadius:
    """One network at one radius: its name, the counts, and the claims about them."""

    names: tuple[str, ...]
    counts: RobustAccuracy
    population: Claim | None
    severity: Claim | None


def _at_radii(record: Record, parts: Mapping[str, Record]) -> list[_AtRadius]:
    claims = {(type(c), c.names, c.radius): c for c in record.claims if isinstance(c, AtRadius)}
    rows = []
    for kind, names, radius in claims:
        if kind is not RobustAtRadius:
            continue
        part = parts[names[0]] if len(parts) > 1 else next(iter(parts.values()))
        counts = robust_accuracy(results_of(part.inputs, Bracket), radius)
        of_both = (claims.get((kind, names, radius)) for kind in (RobustPopulation, Severity))
        rows.append(_AtRadius(names, counts, *of_both))
    return rows


def accuracy_table(record: Record, parts: Mapping[str, Record]) -> Table | None:
    """Robust accuracy at every radius that was named, of these inputs and of the population."""
    rows = _at_radii(record, parts)
    if not rows:
        return None
    cells = list[tuple[str, ...]]()
    for row in rows:
        counts, shares = row.counts, (_counted(row.counts.share), _share(row.population))
        numbers = (f"{n:,}" for n in (counts.proved, counts.refuted, counts.open))
        cells.append((*row.names, level_words(counts.radius), *numbers, *shares))
    headings = (
        *_first(record, parts), "radius", "proved", "refuted", "open", "these inputs", "population",
    )  # fmt: skip
    note = "From what is proved to what is not refuted; inputs that fail when clean count as "
    note += "refuted."
    known = (row.population for row in rows)
    whole = next((c for c in known if c is not None and c.interval is not None), None)
    if whole is not None:
        note += f" Of the population: {conditional_confidence(whole)}{_each(parts)}."
    return Table("Robust accuracy", headings, tuple(cells), 1, note)


def severity_table(record: Record, parts: Mapping[str, Record]) -> Table | None:
    """Adversarial frequency and severity (Bastani et al. 2016) at every radius that was named."""
    rows = _at_radii(record, parts)
    if not rows:
        return None
    cells = list[tuple[str, ...]]()
    for row in rows:
        often, number = _counted(row.counts.frequency), f"{row.counts.refuted:,}"
        radius = level_words(row.counts.radius)
        cells.append((*row.names, radius, often, _radius(row.severity), number))
    headings = (*_first(record, parts), "radius", "frequency", "severity", "over inputs")
    note = (
        "Frequency: the share of these inputs that is refuted at the radius, up to that which is "
        "not proved there. Severity: the mean critical radius of those refuted, between its proofs "
        "and its counterexamples; open inputs have no part in it, and inputs that fail when clean "
        "count as 0."
    )
    return Table("Adversarial frequency and severity", headings, tuple(cells), 1, note)


def _each(parts: Mapping[str, Record]) -> str:
    return ", for each of these networks by itself" if len(parts) > 1 else ""


def means_table(record: Record, parts: Mapping[str, Record]) -> Table | None:
    """The mean certified radius and the mean distance of counterexamples, with their counts."""
    claims = {(type(c), c.names): c for c in record.claims if isinstance(c, Means)}
    if not claims:
        return None
    rows = []
    for name, part in parts.items():
        names = (name,) if len(parts) > 1 else ()
        means = mean_radii(results_of(part.inputs, Bracket))
        whole = claims.get((MeanRadiusPopulation, names))
        distance = "none" if means.distance is None else four_digits(means.distance)
        counts = (f"{means.inputs:,}", f"{means.clean:,}", four_digits(means.certified), distance)
        rows.append((*names, *counts, f"{means.counterexamples:,}", _radius(whole)))
    unit, first = _short_unit(parts), _first(record, parts)
    headings = (
        *first, unit, "fail when clean", "mean certified radius", "mean counterexample distance",
        f"over {unit}", "mean of the population",
    )  # fmt: skip
    note = (
        "Inputs that fail when clean, and those for which nothing is proved, count as 0; the "
        "distance is over the inputs with a counterexample."
    )
    if wholes := [c for c in claims.values() if isinstance(c, MeanRadiusPopulation)]:
        certain = capitalised(conditional_confidence(wholes[0]))
        most = f"no radius counts as more than {at_most(wholes[0].ceiling)}"
        note += f" Of the population: {most}. {certain}{_each(parts)}."
    elif any(radii_in(part).published for part in parts.values()):
        note += f" {_NO_CEILING}"
    elif any(part.chooses_inputs for part in parts.values()):
        note += f" {_NOT_FIXED}"
    return Table("Mean radii", headings, tuple(rows), len(first), note)


def times_table(record: Record, parts: Mapping[str, Record]) -> Table | None:
    """How long each network took, and how many inputs the limit of seconds or nodes ended."""
    published = any(radii_in(part).published for part in parts.values())
    rows = []
    for name, part in parts.items():
        brackets = results_of(part.inputs, Bracket)
        spent = runtimes(brackets)
        if spent is None:
            continue
        open_ends = sum(
            b.reason == "the search ended early" if published else ended_by_limit(b.reason)
            for b in brackets
        )
        times = map(seconds, (spent.total, spent.median, spent.longest))
        names = (name,) if len(parts) > 1 else ()
        rows.append((*names, f"{spent.known:,}", *times, f"{open_ends:,}"))
    if not rows:
        return None
    ended = "without an end"
    note = (
        "Seconds as the file states them. Without an end: nothing was proved, or nothing refuted; "
        "the file does not state the time limit."
    )
    if not published:
        method, limit = record.study.method, "time limit"
        if (nodes := method.number("nodes_per_input")) is not None:
            seconds_too = " or of seconds" * (method.number("seconds_per_input") is not None)
            limit = f"limit of {nodes:,.0f} nodes{seconds_too}"
        ended = f"ended at the {limit}"
        clock = "Seconds of one core, or on a GPU."
        note = f"{clock} An input that the {limit} ended keeps its wider bracket."
    first, timed = _first(record, parts), f"{_short_unit(parts)} with a time"
    headings = (*first, timed, "total seconds", "median", "longest", ended)
    return Table("Time", headings, tuple(rows), len(first), note)


def _short_unit(parts: Mapping[str, Record]) -> str:
    return counted_unit(parts.values()).partition(" ")[0]


def _first(record: Record, parts: Mapping[str, Record]) -> tuple[str, ...]:
    """The heading of the names, where there are several."""
    return (column_of_parts(record),) if len(parts) > 1 else ()


def _counted(share: Interval) -> str:
    """A share of these inputs, which is counted: one number where nothing is open."""
    return percent(share.low) if share.low == share.high else percent_range(share)


def sampled_facts(record: Record) -> list[str]:
    """What was sampled, where that is not single inputs: groups, or inputs of several networks."""
    about = record.claims[0].about
    if not about.networks:
        return group_facts(record)
    each = len(record.inputs) // max(about.groups, 1)
    return [
        f"Each of {about.groups:,} inputs has a bracket of each of {each} networks; inputs that "
        "one of these lacks are left out. The inputs are the sample, the networks are not."
    ]


def _share(claim: Claim | None) -> str:
    return "undecided" if claim is None or claim.interval is None else percent_range(claim.interval)


def _radius(claim: Claim | None) -> str:
    return "none" if claim is None or claim.interval is None else radius_range(claim.interval)
