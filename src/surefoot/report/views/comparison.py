"""Several studies side by side: figure, tables, and the page of a comparison."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from surefoot.core.claims import Best, Claim, FailureDifference
from surefoot.core.results import Estimate, ExtrapolatedMean, Interval, Undecided
from surefoot.population import sound
from surefoot.records.record import Comparison, Member, Record, models_under
from surefoot.report import alt, figures, tables
from surefoot.report.claim_sentences import quality
from surefoot.report.clauses import capitalised, confidence_clause, continuation_note
from surefoot.report.formatting import (
    confidence,
    file_name,
    four_digits,
    p_value,
    percent,
    percent_range,
    with_full_stop,
)
from surefoot.report.provenance import Shown, page_title, preflight_cautions, shared_cautions
from surefoot.report.reasons import reason_words
from surefoot.report.view import Caution, Figure, Section, View
from surefoot.report.views import attack

_FIRST_SAID = 3
"""Perturbations whose outcome is said before the table, which has all of them."""
_IN_WORDS = 12
"""Models or levels in words: a description is listened to."""


def comparison_chart(record: Record, comparison: Comparison) -> alt.ChartType:
    """Models below each other, the most robust on top, or the quantity against the level."""
    points = _points_of(record, comparison)
    title = f"{tables.quantity_heading(record)} (%)"
    if comparison.along != "level":
        return figures.interval_chart(points, "name", title, alt.Scale(zero=False), 26)
    return _levels(points, title)


def _points_of(record: Record, comparison: Comparison) -> list[figures.Row]:
    """Failure probabilities, or accuracies or robust shares where these are meant; in percent."""
    shares = tables.counts_kept(record)

    def percent(kept: float) -> float:
        return 100 * (kept if shares else 1 - kept)

    rows = list[figures.Row]()
    for m in comparison.members:
        if m.whole is not None and isinstance(estimate := sound(m.whole), Estimate):
            around = estimate.interval
            low, high = sorted((percent(around.low), percent(around.high)))
            beyond = 100 * m.whole.failure if isinstance(m.whole, ExtrapolatedMean) else None
            row = {"value": percent(estimate.value), "low": low, "high": high}
            rows.append({"name": m.name, "level": m.level, **row, "extrapolated": beyond})
    return rows


def describe_comparison(record: Record, comparison: Comparison) -> str:
    """Every model or level with its value and interval."""
    rows = _points_of(record, comparison)
    words = []
    for row in rows[:_IN_WORDS]:
        level, *shares = (figures.number(row, name) for name in ("level", "value", "low", "high"))
        name = four_digits(level) if comparison.along == "level" else row["name"]
        value, low, high = (share / 100 for share in shares)
        words.append(f"{name}: {percent(value)} ({percent_range(Interval(low, high))})")
    more = len(rows) - _IN_WORDS
    words += [f"{more} more"] if more > 0 else []
    what = f"by {comparison.along}"
    return f"{tables.quantity_heading(record).capitalize()} {what}: {'; '.join(words)}."


def _levels(points: Sequence[figures.Row], title: str) -> alt.LayerChart:
    """The quantity against the level, with its intervals; what is extrapolated is dashed."""
    dashed = any(p["extrapolated"] is not None for p in points)
    base = figures.marks(points)
    x = alt.X("level:Q", title="level of the perturbation")
    most = max((figures.number(p, "high") for p in points), default=100.0)
    scale = alt.Scale(domain=[0, min(100.0, 10 * math.ceil(most / 10))], nice=False)
    y = alt.Y("low:Q", title=title, scale=scale)
    bars = base.mark_rule(strokeWidth=4, color=figures.STEADY, opacity=0.35).encode(
        x=x, y=y, y2="high:Q"
    )
    names = [f"{'counted' if dashed else 'estimated'}, with its interval at each level"]
    names += ["extrapolated, without any guarantee"] * dashed
    legend = figures.legend_above(labelLimit=300, symbolSize=300, columns=1)
    shade = alt.Scale(domain=names, range=[figures.STEADY, figures.WEAK][: len(names)])
    dash = alt.Scale(domain=names, range=[[1, 0], [5, 4]][: len(names)])

    def line(column: str, name: str) -> alt.Chart:
        shown = base.transform_filter(f"datum.{column} != null")
        named = shown.transform_calculate(what=f"'{name}'")
        drawn: alt.Chart = named.mark_line(strokeWidth=1.5).encode(
            x=x,
            y=f"{column}:Q",
            color=alt.Color("what:N", scale=shade, legend=legend if dashed else None),
            strokeDash=alt.StrokeDash("what:N", scale=dash, legend=legend if dashed else None),
        )
        return drawn

    dots = base.mark_circle(size=60, color=figures.STEADY, opacity=1).encode(x=x, y="value:Q")
    layers: alt.LayerChart = bars + line("value", names[0]) + dots
    if dashed:
        layers += line("extrapolated", names[1]) + figures.diamonds(base).encode(
            x=x, y="extrapolated:Q"
        )
    return layers.properties(width=figures.WIDTH, height=240)


def _table_of_perturbed(record: Record, comparison: Comparison) -> tables.Table:
    """A row for each model, a column for each perturbation, each cell with its interval."""
    split = models_under({m.name: m for m in comparison.members})
    first = next(iter(split.values()))
    rows = []
    for model in sorted(first, key=lambda m: -sum(_kept(own[m]) for own in split.values())):
        clean = first[model].accuracy
        cells = []
        for own in split.values():
            value, *more = tables.whole_cells(record, own[model].whole)
            cells.append(f"{value} ({more[-1]})")
        rows.append((model, *([] if clean is None else [percent(clean)]), *cells))
    counted = [] if next(iter(first.values())).accuracy is None else ["clean accuracy, counted"]
    claim = next(c for c in record.claims if not isinstance(c, Best | FailureDifference))
    note = with_full_stop(capitalised(confidence_clause(claim)))
    title = f"{capitalised(tables.quantity_heading(record))} by model and perturbation"
    return tables.Table(title, ("model", *counted, *split), tuple(rows), 1, note)


def _kept(member: Member) -> float:
    whole = None if member.whole is None else sound(member.whole)
    return whole.value if isinstance(whole, Estimate) else 0.0


def member_table(record: Record, comparison: Comparison, *, alone: bool = True) -> tables.Table:
    """A row for each model or level, with the confidence where it is read `alone`."""
    if comparison.along == "perturbed model":
        return _table_of_perturbed(record, comparison)
    models, tail = comparison.along == "model", record.study.is_tail
    attacks = {m.name: m.attack for m in comparison.members}
    columns: dict[str, Callable[[Member], str]] = {
        "clean accuracy": lambda m: (
            percent(m.accuracy) if models and m.accuracy is not None else ""
        ),
        "clean loss": lambda m: tables.loss_cell(m.loss) if models else "",
        attack.attack_heading(attacks.values()): lambda m: attack.attack_cell(m.attack),
        "reference": lambda m: "" if m.reference is None else f"{m.reference:g}",
    }
    shown = {name: cell for name, cell in columns.items() if any(map(cell, comparison.members))}
    shown |= {"rank": _rank} if models else {}
    quantity = tables.TAIL_HEADINGS if tail else (tables.quantity_heading(record), "interval")
    headings, rows = (comparison.along, *quantity, *shown), []
    for m in comparison.members:
        cells = tables.whole_cells(record, m.whole)
        rows.append((m.name, *cells, *(cell(m) for cell in shown.values())))
    title = "Ranking" if models else "Results by level"
    said = [c for c in record.claims if alone and not isinstance(c, Best | FailureDifference)]
    lines = [with_full_stop(capitalised(confidence_clause(claim))) for claim in said[:1]]
    loss = ["Clean loss: mean cross-entropy of the clean inputs."] * ("clean loss" in shown)
    note = " ".join([*lines, *loss, *attack.attack_notes(attacks)])
    return tables.Table(title, headings, tuple(rows), 1, note)


def _rank(member: Member) -> str:
    if member.rank is None:
        return ""
    return " to ".join(dict.fromkeys((str(member.rank.best), str(member.rank.worst))))


def _pairs(record: Record) -> tuple[FailureDifference, ...]:
    return tuple(c for c in record.claims if isinstance(c, FailureDifference))


def view(shown: Shown, comparison: Comparison) -> View:
    """Two models: their difference. More: which may be the best. Levels: the highest one's claim.

    The number above the best is the first-ranked model's own.
    """
    record, parts = shown.record, shown.parts
    best: tuple[Claim, ...] = tuple(c for c in record.claims if isinstance(c, Best))
    pairs: tuple[Claim, ...] = _pairs(record)
    headline, rest = (best, pairs) if len(pairs) > 1 else (pairs, best)
    if comparison.along == "perturbed model":
        headline, rest = _under_each(best, pairs)
    ranked = [c for c in record.claims if c.names[:1] == (comparison.members[0].name,)]
    own = tuple(c for c in ranked if not isinstance(c, Best | FailureDifference))[:1]
    if not best:
        headline, rest = record.claims[-1:], record.claims[:-1]
    attacks = {m.name: m.attack for m in comparison.members}
    return shown.view(
        title=page_title(parts),
        headline=headline,
        about=_about(record, comparison, parts),
        warnings=(
            *preflight_cautions(record),
            *_cautions(parts),
            *attack.no_gradient_cautions(attacks),
        ),
        continuing=continuation_note(record.claims),
        claims=rest,
        key_claims=own if headline == best else (),
        facts=tuple(_facts(record, comparison, same_draws=not _generators_differ(parts))),
        sections=_sections(record, comparison),
        answer=member_table(record, comparison, alone=False),
        provenance=tuple(
            (name, (("Study", f"{part.digest}; {part.trials:,} trials"),))
            for name, part in parts.items()
        ),
    )


def _under_each(
    best: tuple[Claim, ...], pairs: tuple[Claim, ...]
) -> tuple[tuple[Claim, ...], tuple[Claim, ...]]:
    """What is said first, of a few perturbations: those where models are shown to differ."""
    two = len(best) == len(pairs)
    first, others = (pairs, best) if two else (best, pairs)

    def is_open(claim: Claim) -> bool:
        if isinstance(claim, Best):
            return len(claim.names) == claim.models
        return claim.interval is None or claim.interval.low <= 0 <= claim.interval.high

    ordered = tuple(sorted(first, key=is_open))
    return ordered[:_FIRST_SAID], (*ordered[_FIRST_SAID:], *others)


def _about(record: Record, comparison: Comparison, parts: Mapping[str, Record]) -> str:
    specs = [part.study for part in parts.values()]
    words = max(specs, key=lambda spec: spec.perturbation.number("level") or 0.0).words
    highest = "at the highest level " if comparison.along == "level" else ""
    met = "; ".join(dict.fromkeys(spec.words.perturbation for spec in specs))
    return (
        f"{file_name(words.source)}: {record.study.inputs.selection}; {highest}"
        f"{words.perturbation if highest else met}; perturbed inputs must {words.property}, else "
        "they fail."
    )


def _cautions(parts: Mapping[str, Record]) -> list[Caution]:
    """What makes the intervals wider, and what the preflights found odd; of all alike, once."""
    lines = []
    if _generators_differ(parts):
        lines.append(
            Caution(
                "Note: the models do not get the same random numbers (they run on different "
                "devices): the intervals hold, but are wider than necessary."
            )
        )
    return lines + shared_cautions(parts)


def _generators_differ(parts: Mapping[str, Record]) -> bool:
    return len({(r.study.generator, r.study.block) for r in parts.values()}) > 1


def _facts(record: Record, comparison: Comparison, *, same_draws: bool) -> list[str]:
    lines = []
    grouped = bool(record.claims and record.claims[0].about.groups)
    if comparison.differences and same_draws:
        unit = "group by group" if grouped else "input by input"
        lines.append(
            "All models got the same inputs and the same perturbations; differences are taken "
            f"{unit}."
        )
    if grouped:
        lines.append(
            "Claims average over the inputs of a group, then over groups: each group counts the "
            "same."
        )
    if record.study.is_tail:
        lines.append(
            "Extrapolated numbers have no guarantee; differences and ranks use the counted failure "
            "probabilities."
        )
    return lines + _agreement(record, comparison)


def _agreement(record: Record, comparison: Comparison) -> list[str]:
    """How well the ranking agrees with the reference list."""
    match comparison.agreement:
        case None:
            return []
        case Undecided(reason=reason):
            return [f"Against the reference list: {reason_words(reason)}."]
        case agreement:
            within, error, interval = agreement.pearson_interval, record.shared_error, ""
            if error is not None:
                interval = (
                    f"between {within.low:.3f} and {within.high:.3f} with confidence "
                    f"{confidence(error)} if both were normal; "
                )
            decides = record.study.method.number("kappa") is not None
            quantity = "robust share" if decides else "share of perturbations kept"
            return [
                f"Against the reference list, over {agreement.models} models: Pearson's "
                f"correlation of the {quantity} is {agreement.pearson:.3f} ({interval}"
                f"p = {p_value(agreement.pearson_p)} over reorderings), Spearman's "
                f"{agreement.spearman:.3f} (p = {p_value(agreement.spearman_p)})."
            ]


def _sections(record: Record, comparison: Comparison) -> tuple[Section, ...]:
    over = ", averaged over groups" if record.study.inputs.groups else ""
    caption = f"Dot: over the inputs studied{over}. Line: interval for the population."
    caption += (
        " Diamond: the extrapolated average, without guarantee." if record.study.is_tail else ""
    )
    table = member_table(record, comparison)
    words = describe_comparison(record, comparison)
    figure = Figure(partial(comparison_chart, record, comparison), caption, "figure", words)
    sections = [Section("members", table.title, (), (figure,), table)]
    claims = _pairs(record)
    if len(claims) > 1:  # a single pair is the headline
        shares, kept = claims[0].kappa is not None, claims[0].kept is not None
        height = "robust share" if shares else tables.quantity_heading(record)
        difference = f"{height}, difference" if shares or kept else "fails more"
        headings = (f"{difference} (points)", f"more {quality(claims[0])}")
        pairs = tables.pair_table(
            claims, "model", headings, same="the same model", larger_wins=shares or kept
        )
        sections.append(Section("pairs", pairs.title, table=pairs))
    return tuple(sections)
