"""Tables of radii beside the quantile: robust accuracy at radii, means, times of networks."""

from __future__ import annotations

from collections.abc import Mapping

from surefoot.claims import Claim
from surefoot.population import mean_radii, robust_accuracy, runtimes
from surefoot.report.clauses import capitalised, confidence_clause
from surefoot.report.formatting import at_most, four_digits, percent_range, radius_range
from surefoot.report.radii.tables import brackets_of, radii_in, seconds
from surefoot.report.tables import Table
from surefoot.store.records import Record

AT_A_RADIUS = ("robust_accuracy", "robust_accuracy_population", "severity")
MEANS = ("mean_radius", "mean_radius_population")
_OUT_OF_TIME = "out of time"
"""Why a bracket of our own ended, where the time limit ended it."""
_NO_CEILING = (
    "No interval for the population's mean: that needs a largest radius that counts, and the file "
    "does not state one; pass ceiling (--ceiling)."
)
_NOT_FIXED = (
    "No interval for the population's mean: the search chose how many inputs it took (--within)."
)


def accuracy_table(record: Record, parts: Mapping[str, Record]) -> Table | None:
    """Robust accuracy, adversarial frequency and severity at every radius that was named."""
    claims = {(c.kind, c.names, c.limit): c for c in record.claims if c.kind in AT_A_RADIUS}
    radii = [(names, limit) for kind, names, limit in claims if kind == "robust_accuracy"]
    if not radii:
        return None
    several = len(parts) > 1
    rows = []
    for names, limit in radii:
        part = parts[names[0]] if several else next(iter(parts.values()))
        counts = robust_accuracy([b for _, b in brackets_of(part)], limit or 0.0)
        severity = claims.get(("severity", names, limit))
        whole = claims.get(("robust_accuracy_population", names, limit))
        cells = (
            f"{limit or 0.0:.6g}",
            *(f"{number:,}" for number in (counts.proved, counts.refuted, counts.open)),
            percent_range(counts.share),
            _share(whole),
            percent_range(counts.frequency),
            "none" if severity is None else _radius(severity),
        )
        rows.append((*names, *cells) if several else cells)
    headings = (
        "radius", "proved", "refuted", "open", "robust accuracy", "of the population",
        "adversarial frequency", "adversarial severity",
    )  # fmt: skip
    note = _accuracy_note([c for c in claims.values() if c.interval is not None], several)
    headings = ("network", *headings) if several else headings
    return Table("Robust accuracy", headings, tuple(rows), 1, note)


def _accuracy_note(claims: list[Claim], several: bool) -> str:
    lines = [
        "Robust accuracy and frequency of these inputs run from what is proved to what is not "
        "refuted; inputs that fail when clean count as refuted. Severity is the mean critical "
        "radius of the refuted ones."
    ]
    whole = next((c for c in claims if c.kind == "robust_accuracy_population"), None)
    if whole is not None:
        each = ", for each network by itself" if several else ""
        lines.append(f"Of the population: {confidence_clause(whole)}{each}.")
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
    headings = (
        "inputs", "fail when clean", "mean certified radius", "mean counterexample distance",
        "over inputs", "mean of the population",
    )  # fmt: skip
    several = len(parts) > 1
    headings = ("network", *headings) if several else headings
    note = _means_note([c for c in claims.values() if c.kind == MEANS[1]], parts)
    return Table("Mean radii", headings, tuple(rows), int(several), note)


def _means_note(wholes: list[Claim], parts: Mapping[str, Record]) -> str:
    lines = [
        "Inputs that fail when clean, and those for which nothing is proved, count as 0; the "
        "distance is over the inputs with a counterexample."
    ]
    if wholes:
        each = ", for each network by itself" if len(parts) > 1 else ""
        certain = capitalised(confidence_clause(wholes[0]))
        most = f"no radius counts as more than {at_most(wholes[0].limit or 0.0)}"
        lines.append(f"Of the population: {most}. {certain}{each}.")
    elif any(radii_in(part).published for part in parts.values()):
        lines.append(_NO_CEILING)
    elif any(part.chooses_inputs for part in parts.values()):
        lines.append(_NOT_FIXED)
    return " ".join(lines)


def times_table(parts: Mapping[str, Record]) -> Table | None:
    """How long each network took, and how many inputs the time limit ended."""
    published = any(radii_in(part).published for part in parts.values())
    rows = []
    for name, part in parts.items():
        brackets = [b for _, b in brackets_of(part)]
        spent = runtimes(brackets)
        if spent is None:
            continue
        open_ends = sum(
            b.reason == "the search ended early" if published else b.reason == _OUT_OF_TIME
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
    ended = "without an end" if published else "ended at the time limit"
    headings = ("inputs with a time", "total seconds", "median", "longest", ended)
    headings = ("network", *headings) if len(parts) > 1 else headings
    note = (
        "Seconds as the file states them. Without an end: nothing was proved, or nothing refuted; "
        "the file does not state the time limit."
        if published
        else "CPU seconds. An input that the time limit ended keeps its wider bracket."
    )
    return Table("Time", headings, tuple(rows), int(len(parts) > 1), note)


def _share(claim: Claim | None) -> str:
    return "undecided" if claim is None or claim.interval is None else percent_range(claim.interval)


def _radius(claim: Claim | None) -> str:
    return "none" if claim is None or claim.interval is None else radius_range(claim.interval)
