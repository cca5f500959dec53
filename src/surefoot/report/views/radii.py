"""The page of critical radii, and its figures with what is seen in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from surefoot.core import claims
from surefoot.core.assumptions import Arithmetic
from surefoot.core.claims import Claim
from surefoot.core.counts import closed_to
from surefoot.core.results import Bracket, Quantile
from surefoot.records.record import Counterexample, Record, results_of
from surefoot.records.spec import BracketFileSpec
from surefoot.region.critical_level import NOT_REACHED
from surefoot.report import alt
from surefoot.report.clauses import capitalised, continuation_note
from surefoot.report.figures import (
    INK,
    QUIET,
    SERIES,
    STEADY,
    WEAK,
    WIDTH,
    Row,
    legend_above,
    marks,
    number,
)
from surefoot.report.formatting import at_least, file_name, four_digits, percent, radius_range
from surefoot.report.provenance import (
    Shown,
    findings_sections,
    models_in,
    page_title,
    preflight_cautions,
    provenance,
    rung_cautions,
    rung_facts,
)
from surefoot.report.tables import Table
from surefoot.report.view import Card, Caution, Figure, LabelledImage, Section, View, table_sections
from surefoot.report.views import radii_tables as tables


def norm_in(record: Record) -> str:
    """The norm of the radii of a record."""
    quantiles = (c for c in record.claims if isinstance(c, claims.RadiusQuantile))
    return next((claim.norm for claim in quantiles), claims.LINF)


def _step_lines(
    records: Mapping[str, Record],
    rows: list[Row],
    title: str,
    ends: tuple[str, str],
    most: float,
    names: list[str],
    **room: int,
) -> tuple[alt.Chart, alt.X, alt.Y, alt.Color]:
    """Shares against the radius, the first end solid and the second dashed; and the channels."""
    norm = norm_in(next(iter(records.values())))
    x = alt.X("radius:Q", title=f"{norm} radius", scale=alt.Scale(domain=[0, most], nice=False))
    y = alt.Y("share:Q", title=title, scale=alt.Scale(domain=[0, 100]))
    legend = legend_above(symbolOpacity=1, symbolStrokeWidth=3, labelLimit=260, columns=2, **room)
    colour = alt.Color(
        "name:N",
        scale=alt.Scale(domain=names, range=list(SERIES)),
        legend=legend if len(names) > 1 else None,
    )
    below = alt.Legend(
        title=None, orient="bottom", symbolStrokeColor=INK, symbolStrokeWidth=2, columnPadding=40
    )
    dashes = alt.Scale(domain=list(ends), range=[[1, 0], [4, 3]])
    lines = marks(rows).mark_line(interpolate="step-after", strokeWidth=2)
    dash = alt.StrokeDash("end:N", scale=dashes, legend=below)
    return lines.encode(x=x, y=y, color=colour, strokeDash=dash), x, y, colour


def _farthest(rows: Iterable[Row]) -> float:
    """The right end of the axis."""
    return max((number(row, "radius") for row in rows), default=1.0) or 1.0


def radii_chart(records: Mapping[str, Record]) -> alt.ChartType:
    """Share of inputs with a critical radius of at most x, between proof and counterexample."""
    names = [name or "inputs" for name in records]
    ends = ("refuted", "not proved")
    rows = [r for n, part in records.items() for r in _steps(n, part, ends[::-1], left=False)]
    most = _farthest(rows)
    lines, x, y, colour = _step_lines(
        records, rows, "inputs (%)", ends, most, names, columnPadding=40
    )
    quantiles: list[Row] = [
        {"radius": q.interval.low, "to": min(most, q.interval.high), "share": 100 * q.share,
         "at": q.value, "name": name or "inputs"}
        for name, record in records.items()
        if isinstance(q := tables.radii_in(record).quantiles[0].result, Quantile)
    ]  # fmt: skip
    base = marks(quantiles)
    level = base.mark_rule(strokeDash=[5, 4], color=QUIET).encode(y=y)
    span = base.mark_rule(strokeWidth=6, opacity=0.45).encode(x=x, x2="to:Q", y=y, color=colour)
    dot = base.mark_point(shape="diamond", size=90, filled=True, opacity=1, stroke=INK)
    layers = level, lines, span, dot.encode(x="at:Q", y=y, color=colour)
    return alt.layer(*layers).properties(width=WIDTH, height=260)


def _steps(name: str, record: Record, ends: Sequence[str], *, left: bool) -> list[Row]:
    """How many are refuted within a radius, and how many not proved there; or the share `left`."""
    rows, brackets = list[Row](), results_of(record.inputs, Bracket)
    most = max((x for b in brackets for x in (b.low, b.high) if math.isfinite(x)), default=1.0)
    for end in ends:
        radii = (b.low if "proved" in end else b.high for b in brackets)
        at = sorted(x for x in radii if math.isfinite(x))
        for i, radius in enumerate([0.0, *at, *([most] if left else [])]):
            passed = min(i, len(at))
            share = 100 * (len(brackets) - passed if left else passed) / len(brackets)
            rows.append({"name": name or "inputs", "end": end, "radius": radius, "share": share})
    return rows


def accuracy_chart(record: Record, parts: Mapping[str, Record]) -> alt.ChartType:
    """Share of inputs proved at a radius, and of those not refuted there; and the population's."""
    names = [name or "inputs" for name in parts]
    ends = ("not refuted", "proved")
    rows = [r for n, part in parts.items() for r in _steps(n, part, ends, left=True)]
    bars: list[Row] = [
        {"radius": c.radius, "low": 100 * c.interval.low, "high": 100 * c.interval.high,
         "name": c.names[0] if c.names else "inputs"}
        for c in record.claims
        if isinstance(c, claims.RobustPopulation) and c.interval is not None
    ]  # fmt: skip
    most = _farthest((*rows, *bars))
    lines, x, _, colour = _step_lines(parts, rows, "robust accuracy (%)", ends, most, names)
    spans = marks(bars).mark_rule(strokeWidth=6, opacity=0.45)
    chart = lines + spans.encode(x=x, y="low:Q", y2="high:Q", color=colour) if bars else lines
    return chart.properties(width=WIDTH, height=220)


def times_chart(record: Record) -> alt.ChartType:
    """Seconds that each input took, against its proved radius."""
    tolerance = tables.tolerance_of(record)
    kinds = ["closed", "open"] if tolerance is not None else ["refuted", "never refuted"]
    clock = "seconds" if tolerance is not None else "seconds, from the file"
    limit = math.inf if tolerance is None else tolerance
    rows: list[Row] = [
        {"radius": b.low, "seconds": max(b.seconds, 1e-3),
         "kind": kinds[math.isinf(b.high) or not closed_to(b.low, b.high, limit)]}
        for _, b in tables.brackets_of(record)
        if b.seconds is not None
    ]  # fmt: skip
    x = alt.X("radius:Q", title=f"proved {norm_in(record)} radius")
    y = alt.Y("seconds:Q", title=clock, scale=alt.Scale(type="log"))
    shade = alt.Scale(domain=kinds, range=[STEADY, WEAK])
    colour = alt.Color("kind:N", scale=shade, legend=legend_above(symbolOpacity=1))
    dots = marks(rows).mark_circle(size=36, opacity=0.8).encode(x=x, y=y, color=colour)
    timed: alt.ChartType = dots.properties(width=WIDTH, height=180)
    return timed


_MOST = 6
"""Networks in words: a description is listened to."""


def describe(records: Mapping[str, Record], words: Callable[[str, Record], str]) -> str:
    """Each of the first networks in words."""
    return " ".join(words(name, part) for name, part in list(records.items())[:_MOST])


def _radii(name: str, record: Record) -> str:
    """The counterexamples, and the quantile with its interval."""
    brackets = results_of(record.inputs, Bracket)
    refuted = sorted(b.high for b in brackets if math.isfinite(b.high))
    head = f"{name}: of" if name else "Of"
    line = f"{head} {len(brackets):,} inputs {len(refuted):,} have a counterexample"
    if refuted:
        line += f", at radii from {four_digits(refuted[0])} to {four_digits(refuted[-1])}"
    quantile = tables.radii_in(record).quantiles[0].result
    if isinstance(quantile, Quantile) and math.isfinite(quantile.value):
        line += (
            f". The {percent(quantile.share)} quantile is {four_digits(quantile.value)} "
            f"({radius_range(quantile.interval)})"
        )
    return f"{line}."


def _accuracy(name: str, record: Record) -> str:
    """Robust accuracy at radius 0, at the middle of the axis and at its end."""
    brackets = results_of(record.inputs, Bracket)
    ends = [x for b in brackets for x in (b.low, b.high) if math.isfinite(x)]
    if not ends or not brackets:
        return "No input has a bracket."
    lines = []
    for radius in (0.0, max(ends) / 2, max(ends)):
        proved = sum(b.low >= radius and b.high > 0 for b in brackets) / len(brackets)
        kept = sum(b.high > radius for b in brackets) / len(brackets)
        lines.append(
            f"at radius {four_digits(radius)} {percent(proved)} are proved and {percent(kept)} not "
            "refuted"
        )
    return f"{f'{name}: ' if name else 'Of the inputs, '}{'; '.join(lines)}."


def describe_times(record: Record) -> str:
    """The fastest and the slowest input."""
    spent = [b.seconds for _, b in tables.brackets_of(record) if b.seconds is not None]
    if not spent:
        return "No time is known."
    return (
        f"Seconds of {len(spent):,} inputs against their proved radius, from {min(spent):.2g} to "
        f"{max(spent):.2g} seconds."
    )


_CAPTION = (
    "Solid line: inputs with a counterexample within the radius. Dashed: inputs not proved within "
    "it. The truth lies between the two. Diamond and bar: the quantile and its interval."
)

_ACCURACY_CAPTION = (
    "Solid line: inputs that are not refuted at the radius. Dashed: inputs that are proved up to "
    "it. The robust accuracy of these inputs lies between the two. Bars, at the radii that were "
    "named: its interval for the population."
)


def radii_sections(record: Record, parts: Mapping[str, Record]) -> tuple[Section, ...]:
    """The distribution first, then robust accuracy, examples, tables and times."""
    title = f"Share of {tables.counted_unit(parts.values())} refuted within a radius"
    drawn = Figure(partial(radii_chart, parts), _CAPTION, description=describe(parts, _radii))
    quantiles = tables.quantile_table(parts, tables.column_of_parts(record))
    draw = partial(accuracy_chart, record, parts)
    curve = Figure(draw, _ACCURACY_CAPTION, description=describe(parts, _accuracy))
    sections = [
        Section("distribution", title, (), (drawn,), quantiles),
        Section("accuracy", "Robust accuracy", (), (curve,), tables.accuracy_table(record, parts)),
    ]
    for name, part in parts.items():
        if examples := tables.radii_in(part).examples:
            sections.append(_examples(name, examples))
    listed: dict[str, Table | None] = {
        "pairs": tables.pair_table(record),
        "classes": tables.class_table(record),
        "severity": tables.severity_table(record, parts),
        "means": tables.means_table(record, parts),
        "time": tables.times_table(record, parts),
    }
    for name, part in parts.items():
        behind = f"-{name}" if name else ""
        listed[f"brackets{behind}"] = tables.bracket_table(part, name)
        listed[f"points{behind}"] = tables.points_table(part, name)
    sections += table_sections(listed)
    for name, part in parts.items():
        if any(b.seconds is not None for _, b in tables.brackets_of(part)):
            heading = f"Time per input, {name}" if name else "Time per input"
            figure = Figure(partial(times_chart, part), description=describe_times(part))
            sections.append(Section(f"times-{name}" if name else "times", heading, (), (figure,)))
    first, *others = sections
    return (first, *(replace(one, folded=True) for one in others), *findings_sections(parts))


def _examples(name: str, examples: tuple[Counterexample, ...]) -> Section:
    title = f"Nearest counterexamples, {name}" if name else "Nearest counterexamples"
    cards = []
    for e in examples:
        at = f"at {four_digits(e.distance)}"
        clean = LabelledImage(e.image, f"{e.id}, clean", f"{e.id}: ", e.clean_class)
        failed = LabelledImage(
            e.perturbed, f"{e.id}, counterexample {at}", f"{at}: ", e.failed_class, failed=True
        )
        words = f"{e.clean_class}; {at}: {e.failed_class}"
        cards.append(Card("", images=(clean, failed)) if e.image else Card(e.id, words))
    return Section(f"examples-{name}" if name else "examples", title, cards=tuple(cards))


def continuing_note(record: Record) -> str:
    """Whether it may be continued; after a time limit brackets only become narrower."""
    note = continuation_note(record.claims)
    if not record.stopped_early:
        return note
    return (
        "The same command, or the same study with the same store, goes on where the time limit "
        f"ended the run; brackets only become narrower. {note}"
    )


def stopped_note(name: str, record: Record) -> str:
    """How many inputs the time limit left out."""
    brackets = tables.brackets_of(record)
    number = sum(bracket.reason == NOT_REACHED.reason for _, bracket in brackets)
    left_out = (
        f"{number:,} of {len(brackets):,} inputs were not reached: nothing is proved or refuted "
        "for them, and they count as such"
        if number
        else "every input was tried, not all of them to the end"
    )
    return f"Note: {name + ': ' if name else ''}stopped early by the time limit: {left_out}."


def view(shown: Shown) -> View:
    """The headline is the quantile of each network; then pairs of networks."""
    record, parts, verdicts = shown.record, shown.members, shown.verdicts
    in_tables = tables.AtRadius | tables.Means if len(parts) > 1 else ()
    said = (c for c in record.claims if not isinstance(c, in_tables))
    whole = [c for c in said if c.about.of is not claims.About.CLASS]
    # so that an assumption is said once
    whole.sort(key=lambda c: c.about.of is claims.About.POPULATION)
    first: tuple[Claim, ...] = tuple(c for c in whole if isinstance(c, claims.RadiusQuantile))
    around = first[0].interval if first else None
    if (
        around is not None and around.low == 0 and not verdicts
    ):  # the mean says more than a quantile of at least 0
        of_these = (c for c in whole if isinstance(c, claims.MeanRadius))
        first = (*(c for c in of_these if c.about.of is claims.About.THESE), *first)
    return shown.view(
        title=page_title(parts, [f"any {norm_in(record)} perturbation"]),
        headline=first,
        about=_about(parts),
        warnings=_cautions(parts, verdicts),
        continuing=continuing_note(record),
        claims=tuple(c for c in whole if c not in first),
        facts=_facts(parts, verdicts),
        sections=radii_sections(record, parts),
        answer=tables.pair_table(record) if len(parts) > 1 else None,
        provenance=tuple((name, tuple(_origin(part))) for name, part in parts.items()),
    )


def _about(records: Mapping[str, Record]) -> str:
    """Which models, on which inputs, and what is proved."""
    models, first = ", ".join(models_in(records)), next(iter(records.values()))
    sizes = " and ".join(f"{n:,}" for n in dict.fromkeys(map(_inputs, records.values())))
    taken = "; as many as needed, in a random order" if first.chooses_inputs else ""
    source, _, within, kept = _question(first)
    norm, distance = norm_in(first), f"{norm_in(first)} distance"
    if norm not in (claims.LINF, "L2", "L1"):
        distance = "factor on the noise of every feature"
    selection = " and ".join(dict.fromkeys(_question(r)[1] for r in records.values()))
    return (
        f"{models} on {file_name(source)}: {selection} ({sizes} inputs{taken}). The "
        f"critical radius of an input is the largest {distance}{within} up to which all points "
        f"{kept}."
    )


def _inputs(record: Record) -> int:
    """How many inputs it has; where networks are pooled, each has a row of every network."""
    about = record.claims[0].about
    return about.groups if about.networks else len(record.inputs)


def _question(record: Record) -> tuple[str, str, str, str]:
    """Source and selection of the inputs, the bounds of the points, and what these must do."""
    if isinstance(record.spec, BracketFileSpec):
        return record.spec.path, record.spec.selection, "", "keep its label"
    study, bounds = record.study, record.study.bounds
    within = "" if bounds is None else f", inside [{bounds.low:g}, {bounds.high:g}],"
    return study.words.source, study.inputs.selection, within, study.words.property


def _cautions(records: Mapping[str, Record], verdicts: tuple[Claim, ...]) -> tuple[Caution, ...]:
    """Contradictions first, then what the preflights found odd."""
    lines = [
        Caution(
            f"Contradiction: {name + ': ' if name else ''}input {row.id} is proved up to "
            f"{at_least(bracket.low)}, and the model fails at a point within. "
            "The proof, the reading of the graph or the rounding of the model is at fault: do not "
            "use these radii.",
            urgent=True,
        )
        for name, record in records.items()
        for row, bracket in tables.brackets_of(record)
        if bracket.contradicted
    ]
    lines += [Caution(stopped_note(n, part)) for n, part in records.items() if part.stopped_early]
    lines += [line for name, part in records.items() for line in preflight_cautions(part, name)]
    lines += [line for n, part in records.items() for line in rung_cautions(part, verdicts, n)]
    return tuple(dict.fromkeys(lines))


def _facts(records: Mapping[str, Record], verdicts: tuple[Claim, ...]) -> tuple[str, ...]:
    """What is proved and by whom; once where it is the same for all networks."""
    each = {name: _facts_of(record, verdicts) for name, record in records.items()}
    shared = [line for line in next(iter(each.values())) if all(line in of for of in each.values())]
    own = [f"{n}: {line}" for n, lines in each.items() for line in lines if line not in shared]
    about = [record.claims[0].about for record in records.values()]
    grouped = any(one.groups for one in about) and not any(one.networks for one in about)
    if len(records) > 1 and grouped:
        shared.append(
            "The quantiles of two networks are not compared: that test takes inputs for "
            "independent, and these are in groups."
        )
    return (*own, *shared)


def _facts_of(record: Record, verdicts: tuple[Claim, ...]) -> list[str]:
    brackets = results_of(record.inputs, Bracket)
    lines = [_widths(record, brackets), *_footing(record, brackets), *tables.sampled_facts(record)]
    lines += rung_facts(record, verdicts)
    wrong = sum(b.reason == "misclassified" for b in brackets)
    if wrong:
        lines.append(
            f"Misclassified when clean: {wrong:,}. Their critical radius is 0, and they are "
            "included."
        )
        share = claims.limit_of(record.claims[0]) or 0.0
        if wrong >= share * len(brackets) and not record.claims[0].about.groups:
            lines[-1] += (
                " They make the quantile 0; correct_only=True (--correct-only) leaves them out."
            )
    inside = [s for b in brackets for s in b.sampled if s.radius <= b.low]
    if inside:
        lines.append(
            f"Of {sum(s.trials for s in inside):,} points drawn within the proved radii "
            f"{sum(s.failed for s in inside):,} failed; a proof allows none."
        )
    spent = sorted(b.seconds for b in brackets if b.seconds is not None)
    if not spent:
        return [*lines, "The file does not say how long it took."]
    clock = "seconds, as the file says" if tables.radii_in(record).published else "seconds"
    median = tables.seconds(spent[len(spent) // 2])
    last = f"It took {sum(spent):,.1f} {clock}, {median} in the median"
    missing = len(brackets) - len(spent)
    return [*lines, last + (f"; no time is known of {missing:,}." if missing else ".")]


def _widths(record: Record, brackets: list[Bracket]) -> str:
    widest = max((b.high - b.low for b in brackets), default=0.0)
    line, tolerance = "", tables.tolerance_of(record)
    if tolerance is not None:
        number = tables.closed(record, tolerance)
        line = f"{number:,} of {len(brackets):,} brackets are closed to {tolerance:g}; "
    if tolerance is not None and record.study.method.kind == "critical-quantile":
        return line + (
            "the others were proved or refuted no further than the quantile needs, or than the "
            "time allowed."
        )
    if math.isinf(widest):
        return capitalised(f"{line}for at least one input no counterexample is known.")
    return capitalised(f"{line}the widest is {widest:.4g} wide.")


def _footing(record: Record, brackets: list[Bracket]) -> list[str]:
    """In which arithmetic lower ends are proved, and what confirmed the upper ends."""
    lost = sum(b.discarded for b in brackets)
    radii = tables.radii_in(record)
    if radii.published:
        return [
            "The brackets are taken from the file unchanged: their proofs and counterexamples were "
            "not checked here."
        ]
    confirmed = [
        "Upper ends are points to which the model itself, in onnxruntime, gives another label."
    ]
    if lost:
        confirmed.append(f"{lost:,} points that it did not confirm were discarded.")
    verifier = record.study.method.text("verifier")
    if verifier:
        return [
            f"Lower ends are proved by {verifier!r}, in its own arithmetic, and were not checked "
            "here.",
            *confirmed,
        ]
    proved = (
        "Lower ends are proved for the model as it runs in float32, in any order of summation: "
        "what rounding and underflow can change in each layer is subtracted from every margin. "
        "TF32, half precision and Winograd's convolutions are not covered."
    )
    if record.study.method.text("arithmetic") == Arithmetic.REAL:
        proved = (
            "Lower ends are proved in real arithmetic, computed in float64 with an allowance for "
            "its rounding; the model runs in float32."
        )
    return [
        proved,
        "On random inputs the network as read and the model as run differ by at most "
        f"{radii.reader:.1e} of the largest margin.",
        *confirmed,
    ]


def _origin(record: Record) -> list[tuple[str, str]]:
    """Model, inputs and method; for brackets of others, which rows of which file."""
    if not isinstance(record.spec, BracketFileSpec) or record.source is None:
        return provenance(record)
    return [
        ("File", record.source.data),
        ("Rows", f"network {record.source.model}, {record.spec.selection}: {len(record.inputs):,}"),
        ("Digest of file and selection", f"sha256 {record.digest}"),
    ]
