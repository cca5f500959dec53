"""Tables of radii beside the quantile: robust accuracy at radii, means, times of networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from surefoot.core.claims import Claim
from surefoot.core.results import Interval
from surefoot.population import mean_radii, robust_accuracy, runtimes
from surefoot.population.radii import RobustAccuracy
from surefoot.records.record import Record
from surefoot.region.proof_limits import ended_by_limit
from surefoot.report.clauses import capitalised, conditional_confidence
from surefoot.report.formatting import at_most, four_digits, percent, percent_range, radius_range
from surefoot.report.provenance import group_facts
from surefoot.report.radii.tables import (
    brackets_of,
    column_of_parts,
    counted_unit,
    radii_in,
    seconds,
)
from surefoot.report.tables import Table
from surefoot.system.text import level_words

AT_A_RADIUS = ("robust_accuracy", "robust_accuracy_population", "severity")
MEANS = ("mean_radius", "mean_radius_population")
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
    claims = {(c.kind, c.names, c.limit): c for c in record.claims if c.kind in AT_A_RADIUS}
    rows = []
    for kind, names, limit in claims:
        if kind != "robust_accuracy":
            continue
        part = parts[names[0]] if len(parts) > 1 else next(iter(parts.values()))
        counts = robust_accuracy([b for _, b in brackets_of(part)], limit or 0.0)
        of_both = (claims.get((kind, names, limit)) for kind in AT_A_RADIUS[1:])
        rows.append(_AtRadius(names, counts, *of_both))
    return rows


def accuracy_table(record: Record, parts: Mapping[str, Record]) -> Table | None:
    """Robust accuracy at every radius that was named, of these inputs and of the population."""
    rows = _at_radii(record, parts)
    if not rows:
        return None
    cells = tuple(
        (
            *row.names,
            level_words(row.counts.radius),
            *(f"{n:,}" for n in (row.counts.proved, row.counts.refuted, row.counts.open)),
            _counted(row.counts.share),
            _share(row.population),
        )
        for row in rows
    )
    headings: tuple[str, ...] = (
        "radius",
        "proved",
        "refuted",
        "open",
        "these inputs",
        "population",
    )
    several = len(parts) > 1
    headings = (*_first(record, parts), *headings)
    note = _accuracy_note([row.population for row in rows], several)
    return Table("Robust accuracy", headings, cells, 1, note)


def severity_table(record: Record, parts: Mapping[str, Record]) -> Table | None:
    """Adversarial frequency and severity (Bastani et al. 2016) at every radius that was named."""
    rows = _at_radii(record, parts)
    if not rows:
        return None
    cells = tuple(
        (
            *row.names,
            level_words(row.counts.radius),
            _counted(row.counts.frequency),
            _radius(row.severity),
            f"{row.counts.refuted:,}",
        )
        for row in rows
    )
    headings: tuple[str, ...] = ("radius", "frequency", "severity", "over inputs")
    headings = (*_first(record, parts), *headings)
    note = (
        "Frequency: the share of these inputs that is refuted at the radius, up to that which is "
        "not proved there. Severity: the mean critical radius of those refuted, between its proofs "
        "and its counterexamples; open inputs have no part in it, and inputs that fail when clean "
        "count as 0."
    )
    return Table("Adversarial frequency and severity", headings, cells, 1, note)


def _accuracy_note(claims: list[Claim | None], several: bool) -> str:
    lines = [
        "From what is proved to what is not refuted; inputs that fail when clean count as refuted."
    ]
    whole = next((c for c in claims if c is not None and c.interval is not None), None)
    if whole is not None:
        each = ", for each of these networks by itself" if several else ""
        lines.append(f"Of the population: {conditional_confidence(whole)}{each}.")
    return " ".join(lines)


def means_table(record: Record, parts: Mapping[str, Record]) -> Table | None:
    """The mean certified radius and the mean distance of counterexamples, with their counts."""
    claims = {(c.kind, c.names): c for c in record.claims if c.kind in MEANS}
    if not claims:
        return None
    rows = []
    for name, part in parts.items():
        names = (name,) if len(parts) > 1 else ()
        means = mean_radii([b for _, b in brackets_of(part)])
        whole = claims.get(("mean_radius_population", names))
        cells = (
            f"{means.inputs:,}",
            f"{means.clean:,}",
            four_digits(means.certified),
            "none" if means.distance is None else four_digits(means.distance),
            f"{means.counterexamples:,}",
            _radius(whole),
        )
        rows.append((*names, *cells))
    unit = _short_unit(parts)
    headings: tuple[str, ...] = (
        unit, "fail when clean", "mean certified radius", "mean counterexample distance",
        f"over {unit}", "mean of the population",
    )  # fmt: skip
    several = len(parts) > 1
    headings = (*_first(record, parts), *headings)
    note = _means_note([c for c in claims.values() if c.kind == MEANS[1]], parts)
    return Table("Mean radii", headings, tuple(rows), int(several), note)


def _means_note(wholes: list[Claim], parts: Mapping[str, Record]) -> str:
    lines = [
        "Inputs that fail when clean, and those for which nothing is proved, count as 0; the "
        "distance is over the inputs with a counterexample."
    ]
    if wholes:
        each = ", for each of these networks by itself" if len(parts) > 1 else ""
        certain = capitalised(conditional_confidence(wholes[0]))
        most = f"no radius counts as more than {at_most(wholes[0].limit or 0.0)}"
        lines.append(f"Of the population: {most}. {certain}{each}.")
    elif any(radii_in(part).published for part in parts.values()):
        lines.append(_NO_CEILING)
    elif any(part.chooses_inputs for part in parts.values()):
        lines.append(_NOT_FIXED)
    return " ".join(lines)


def times_table(record: Record, parts: Mapping[str, Record]) -> Table | None:
    """How long each network took, and how many inputs the limit of seconds or nodes ended."""
    published = any(radii_in(part).published for part in parts.values())
    rows = []
    for name, part in parts.items():
        brackets = [b for _, b in brackets_of(part)]
        spent = runtimes(brackets)
        if spent is None:
            continue
        open_ends = sum(
            b.reason == "the search ended early" if published else ended_by_limit(b.reason)
            for b in brackets
        )
        cells = (
            f"{spent.known:,}",
            seconds(spent.total),
            seconds(spent.median),
            seconds(spent.longest),
            f"{open_ends:,}",
        )
        rows.append((name, *cells) if len(parts) > 1 else cells)
    if not rows:
        return None
    limit = _limit_words(record, published=published)
    ended = "without an end" if published else f"ended at the {limit}"
    timed = f"{_short_unit(parts)} with a time"
    headings: tuple[str, ...] = (timed, "total seconds", "median", "longest", ended)
    headings = (*_first(record, parts), *headings)
    note = (
        "Seconds as the file states them. Without an end: nothing was proved, or nothing refuted; "
        "the file does not state the time limit."
        if published
        else f"CPU seconds. An input that the {limit} ended keeps its wider bracket."
    )
    return Table("Time", headings, tuple(rows), int(len(parts) > 1), note)


def _limit_words(record: Record, *, published: bool) -> str:
    """Which limit ended the search of an input."""
    nodes = None if published else record.study.method.number("nodes_per_input")
    if nodes is None:
        return "time limit"
    seconds_too = record.study.method.number("seconds_per_input") is not None
    return f"limit of {nodes:,.0f} nodes{' or of seconds' if seconds_too else ''}"


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
    if not about.name:
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
