"""The page of a smoothed model: certified accuracy at radii, and what smoothing costs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from surefoot.core.claims import About, CertifiedAccuracy
from surefoot.core.results import UNIT, Certificate
from surefoot.records.record import Certificates, Record
from surefoot.report import alt, provenance
from surefoot.report.clauses import capitalised, conditional_confidence
from surefoot.report.figures import STEADY, WIDTH, Row, marks
from surefoot.report.formatting import at_least, percent, percent_at_least, with_full_stop
from surefoot.report.tables import Table
from surefoot.report.view import Figure, Section, View, table_sections
from surefoot.system.text import level_words

_PAGE_ROWS = 1000
"""Inputs that a page lists: more make it slow to open, and --json has all."""
_CAPTION = (
    "Line: the share of these inputs that is certified at each radius. Points: the radii of the "
    "table; a bar below reaches down to what is shown for all inputs of this kind. Where radii "
    "are given, inputs were not followed beyond them."
)
_BASE = (
    "It is the smoothed model that is certified: to use what is said here, deploy the vote "
    "(sf.Smoothed), not the model alone. Of the model itself nothing is said."
)
_MEANS = (
    "Certified at a radius: the vote gives the class at the input and at every {nearby} within "
    "that distance, also those an adversary would choose. Not certified says nothing: more trials, "
    "or another method, may show it."
)


def certified_chart(record: Record, details: Certificates) -> alt.ChartType:
    """The share of inputs certified at each radius, with what is shown of the population."""
    n = len(record.inputs)
    found = (row.result for row in record.inputs if isinstance(row.result, Certificate))
    radii = sorted(one.radius for one in found if one.radius is not None)
    ends = [(0.0, len(radii)), *((radius, len(radii) - i) for i, radius in enumerate(radii))]
    ends += [(radius, 0) for radius in radii[-1:]]
    steps: list[Row] = [{"radius": radius, "share": 100 * left / n} for radius, left in ends]
    points: list[Row] = [
        {"radius": claim.radius, "share": 100 * claim.shown / n, "low": 100 * around.low}
        for claim in _of(record, About.POPULATION)
        for around in [claim.interval or UNIT]
    ]
    title = f"radius ({details.noise.norm} distance)"
    scale = alt.Scale(domain=[0, 100])
    x = alt.X("radius:Q", title=title, scale=alt.Scale(domainMin=0))
    y = alt.Y("share:Q", title="certified inputs (%)", scale=scale)
    line = marks(steps).mark_line(color=STEADY, interpolate="step-before", strokeWidth=2)
    base = marks(points)
    bars = base.mark_rule(color=STEADY, opacity=0.5, strokeWidth=3)
    bars = bars.encode(x=x, y=alt.Y("low:Q"), y2="share:Q")
    dots = base.mark_circle(size=70, color=STEADY, opacity=1).encode(x=x, y=y)
    layers = line.encode(x=x, y=y), bars, dots
    return alt.layer(*layers).properties(width=WIDTH, height=240)


def _of(record: Record, about: About) -> list[CertifiedAccuracy]:
    claims = (c for c in record.claims if isinstance(c, CertifiedAccuracy))
    return [claim for claim in claims if claim.about.of is about]


def certified_table(record: Record, details: Certificates) -> Table:
    """Certified accuracy at each radius, of these inputs and of the population."""
    n, rows = len(record.inputs), []
    of_these, of_all = _of(record, About.THESE), _of(record, About.POPULATION)
    for these, every in zip(of_these, of_all, strict=True):
        low = None if these.interval is None else round(these.interval.low * n)
        shown = f"{these.shown:,} of {n:,} ({percent(these.shown / n)})"
        least = 0.0 if every.interval is None else every.interval.low
        known = f"at least {percent_at_least(least)}" if least else ""
        rows.append((level_words(these.radius), shown, f"{low:,} or more" if low else "", known))
    note = with_full_stop(capitalised(conditional_confidence(of_all[0]))) if of_all else ""
    headings = ("radius", "certified here", "truly so", "inputs of this kind")
    title = f"Certified accuracy of the smoothed model ({details.noise.norm} radii)"
    return Table(title, headings, tuple(rows), note=note)


def input_table(record: Record) -> Table:
    """The certified radius of each input, the weakest first."""
    found = [(row, row.result) for row in record.inputs if isinstance(row.result, Certificate)]
    found.sort(key=lambda pair: -1.0 if pair[1].radius is None else pair[1].radius)
    rows = []
    for row, one in found[:_PAGE_ROWS]:
        radius = "none" if one.radius is None else at_least(one.radius)
        alone = "" if row.label is None else "right" if row.right_when_clean else "wrong"
        rows.append((row.id, radius, percent(one.value), f"{one.trials:,}", alone))
    headings = ("input", "certified radius", "votes for the class", "trials", "model alone")
    left = len(found) - len(rows)
    note = f"{left:,} more; --json has all." if left else ""
    return Table("Inputs", headings, tuple(rows), 1, note, page_only=True)


def _facts(record: Record, details: Certificates) -> list[str]:
    n, lines = len(record.inputs), list[str]()
    if record.clean is not None and record.clean.inputs == n:
        found = (row.result for row in record.inputs)
        most = sum(isinstance(one, Certificate) and one.value > 1 / 2 for one in found)
        lines.append(
            "What smoothing costs: without noise the model alone is right on "
            f"{record.clean.right:,} of {n:,} inputs; under noise the right class had more than "
            f"half of the trials on {most:,} of them, which is shown for {details.right:,} (by "
            "these trials, which were spent on the radii of the table)."
        )
    trials = f"{record.trials:,} trials, {record.trials / n:,.0f} an input on average"
    budget = f"{record.study.method.number('max_trials') or 0:,.0f}"
    limit = "no radius" if details.limit is None else f"no radius above {at_least(details.limit)}"
    lines.append(
        f"{trials}; {budget} trials that all keep the class would show {limit}: that limit is of "
        "the budget, not of the model."
    )
    exact = "Inputs and noise are whole steps of the grid, added exactly"
    if details.noise.shifts:
        exact = "Whole pixels are moved, around the edges, and no value is changed"
    lines.append(
        f"{exact}; what is drawn differs from the law of the noise by at most "
        f"{details.slack:.2g} in any probability, which every certificate has paid for."
    )
    return lines


def view(shown: provenance.Shown, details: Certificates) -> View:
    """Certified accuracy at each radius, its figure, and the inputs."""
    record = shown.record
    table = certified_table(record, details)
    words = "; ".join(f"{row[1]} at radius {row[0]}" for row in table.rows)
    figure = Figure(
        partial(certified_chart, record, details), _CAPTION, "figure", f"Certified: {words}."
    )
    means = _MEANS.format(nearby="such shift" if details.noise.shifts else "point of the grid")
    first = Section("certified", table.title, (_BASE, means), (figure,), table)
    return shown.view_of_run(
        facts=(*_facts(record, details), *provenance.group_facts(record)),
        assumptions=(_BASE,),
        sections=[first, *table_sections({"inputs": input_table(record)})],
        answer=replace(table, note=f"{_BASE} {table.note}"),
    )
