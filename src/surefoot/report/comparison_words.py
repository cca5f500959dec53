"""A comparison in sentences, tables, figures and as a page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from surefoot.population import Difference, sound
from surefoot.report.attacks import HEADING, attack_cell, attack_words
from surefoot.report.figures import STEADY, WEAK, svg
from surefoot.report.html import page
from surefoot.report.phrases import confidence, odds, p_value, percent, points, points_between
from surefoot.report.tables import TAIL_HEADINGS, Table, tail_cells, value_and_interval
from surefoot.results import Estimate, ExtrapolatedMean, Undecided

if TYPE_CHECKING:
    from surefoot.report.comparison import Comparison, Member


def headline(found: Comparison) -> str:
    """The outcome in one sentence."""
    what = found.quantity.removeprefix("the ")
    if found.along == "level":
        low, high = found.members[0], found.members[-1]
        return (
            f"From level {low.name} to {high.name}, {what} of the inputs studied goes from "
            f"{_said(low)} to {_said(high)} ({found.inputs:,} inputs; the intervals below are all "
            f"together {odds(found.error)})."
        )
    top = [m.name for m in found.members if m.rank is not None and m.rank.best == 1]
    scope = f"({found.inputs:,} inputs; {odds(found.error)} about anything said here)"
    if len(top) == 1:
        return f"{top[0]} is the most robust of {len(found.members)} models {scope}."
    if len(top) == len(found.members):
        return f"The {len(top)} models are indistinguishable on this evidence {scope}."
    return f"Most robust are {_listed(top)}, indistinguishable from each other {scope}."


def _said(member: Member) -> str:
    whole = sound(member.whole)
    return percent(whole.value) if isinstance(whole, Estimate) else "undecided"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}"


def about(found: Comparison) -> str:
    """On what."""
    highest = "at the highest level " if found.along == "level" else ""
    return f"{found.source}; {highest}{found.perturbation}; {found.robust}."


def how_sure(found: Comparison) -> list[str]:
    """What is promised."""
    kind = "models" if found.along == "model" else "levels"
    pairs = len(found.differences)
    lines = [
        f"The intervals of the {len(found.members)} {kind}"
        + {0: "", 1: " and of their difference"}.get(pairs, f" and of the {pairs} differences")
        + f" hold all together with confidence {confidence(found.error)} (Bonferroni), if the "
        "inputs are an independent random sample of the population they stand for."
    ]
    if found.differences:
        lines.append(
            "All models met the same inputs and the same perturbations, and a difference is taken "
            "input by input. Where its interval holds 0 the two are indistinguishable on this "
            "evidence: more inputs may tell them apart."
        )
    if found.kind == "tail-mean":
        lines.append(
            "Extrapolated numbers carry no guarantee; differences and ranks are of the counted "
            "mean."
        )
    return lines


def member_table(found: Comparison) -> Table:
    """One line each."""
    tail = found.kind == "tail-mean"
    what = TAIL_HEADINGS if tail else (found.quantity.removeprefix("the "), "interval")
    given = any(m.reference is not None for m in found.members)
    clean = any(m.accuracy is not None for m in found.members) and found.along == "model"
    headings = [found.along, *what]
    struck = any(m.attack is not None for m in found.members)
    headings += ["accuracy undisturbed"] * clean + [HEADING] * struck + ["reference"] * given
    headings += ["rank"] * (found.along == "model")
    rows = []
    for m in found.members:
        row = [m.name, *(tail_cells if tail else value_and_interval)(m.whole)]
        if clean:
            row.append("" if m.accuracy is None else percent(m.accuracy))
        if struck:
            row.append(attack_cell(m.attack))
        if given:
            row.append("" if m.reference is None else f"{m.reference:g}")
        if m.rank is not None and found.along == "model":
            ends = m.rank.best, m.rank.worst
            row.append(str(ends[0]) if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}")
        rows.append(tuple(row))
    title = "Ranking" if found.along == "model" else "Level by level"
    note = " ".join(attack_words({m.name: m.attack for m in found.members}))
    return Table(title, tuple(headings), tuple(rows), 1, note)


def difference_table(found: Comparison) -> Table | None:
    """Every pair of models."""
    if not found.differences:
        return None
    rows = tuple(
        (
            d.first,
            d.second,
            points(d.value),
            points_between(d.interval),
            _outcome(d),
        )
        for d in found.differences
    )
    headings = ("model", "and model", "difference (points)", "interval", "more robust")
    return Table("Pair by pair", headings, rows, 2)


def _outcome(pair: Difference) -> str:
    return pair.better or "indistinguishable"


def agreement_words(found: Comparison) -> list[str]:
    """How the ranking goes along with the reference list."""
    match found.agreement:
        case None:
            return []
        case Undecided(reason=reason):
            return [f"Against the reference list: {reason}."]
        case told:
            within = told.pearson_interval
            return [
                f"Against the reference list, over {told.models} models: Pearson's correlation is "
                f"{told.pearson:.3f} (between {within.low:.3f} and {within.high:.3f} with "
                f"confidence {confidence(found.error)} if both were normal; p = "
                f"{p_value(told.pearson_p)} over reorderings), Spearman's {told.spearman:.3f} "
                f"(p = {p_value(told.spearman_p)})."
            ]


def comparison_text(found: Comparison) -> str:
    """The whole outcome as text."""
    lines = [headline(found), about(found), *found.cautions, "", *how_sure(found)]
    for table in (member_table(found), difference_table(found)):
        if table is not None:
            lines += ["", table.title, *table.text(), *filter(None, [table.note])]
    lines += ["", *agreement_words(found)] if found.agreement is not None else []
    return "\n".join(lines)


def comparison_page(found: Comparison, verdict: str = "") -> str:
    """The page as text."""
    return page(
        "comparison.html.j2",
        found=found,
        headline=headline(found),
        about=about(found),
        how_sure=how_sure(found),
        members=member_table(found),
        pairs=difference_table(found),
        agreement=agreement_words(found),
        figure=svg(chart(found)),
        verdict=verdict,
    )


def _points_of(found: Comparison) -> list[dict[str, Any]]:
    return [
        {
            "name": m.name,
            "level": m.level,
            "value": 100 * plain.value,
            "low": 100 * plain.interval.low,
            "high": 100 * plain.interval.high,
            "guess": 100 * m.whole.value if isinstance(m.whole, ExtrapolatedMean) else None,
        }
        for m in found.members
        if isinstance(plain := sound(m.whole), Estimate)
    ]


def chart(found: Comparison) -> Any:  # noqa: ANN401
    """The figure: models below each other, or a curve against the level."""
    return _models(found) if found.along == "model" else _levels(found)


def _models(found: Comparison) -> Any:  # noqa: ANN401
    """Each model with its interval, the most robust on top."""
    import altair as alt

    base = alt.Chart(alt.InlineData(values=_points_of(found)))
    y = alt.Y("name:N", sort=[m.name for m in found.members], title=None)
    x = alt.X(
        "low:Q", title=f"{found.quantity.removeprefix('the ')} (%)", scale=alt.Scale(zero=False)
    )
    lines = base.mark_rule(strokeWidth=3, color=STEADY, opacity=0.5).encode(y=y, x=x, x2="high:Q")
    dots = base.mark_circle(size=70, color=STEADY, opacity=1).encode(y=y, x="value:Q")
    return (lines + dots + _guesses(base, y, "guess:Q")).properties(width=560, height=alt.Step(26))


def _levels(found: Comparison) -> Any:  # noqa: ANN401
    """Robustness against the level: what was counted, with its band; dashed what is extrapolated.

    Down to the tens below what is shown, so that 99.9 and 99.99 % can be told apart.
    """
    import altair as alt

    points = _points_of(found)
    shown = [p[key] for p in points for key in ("low", "guess") if p[key] is not None]
    dashed = any(p["guess"] is not None for p in points)
    base = alt.Chart(alt.InlineData(values=points))
    x = alt.X("level:Q", title="level of the perturbation")
    y = alt.Y(
        "low:Q",
        title=f"{found.quantity.removeprefix('the ').removeprefix('counted ')} (%)",
        scale=alt.Scale(domain=[10 * math.floor(min(shown, default=0.0) / 10), 100], nice=False),
    )
    band = base.mark_area(color=STEADY, opacity=0.18).encode(x=x, y=y, y2="high:Q")
    names = [f"{'counted' if dashed else 'estimated'}, with its interval as a band"]
    names += ["extrapolated, without any guarantee"] * dashed
    legend = alt.Legend(title=None, orient="top", labelLimit=300, symbolSize=300)
    shade = alt.Scale(domain=names, range=[STEADY, WEAK][: len(names)])
    dash = alt.Scale(domain=names, range=[[1, 0], [5, 4]][: len(names)])

    def line(column: str, name: str) -> Any:  # noqa: ANN401
        told = base.transform_filter(f"datum.{column} != null").transform_calculate(
            what=f"'{name}'"
        )
        return told.mark_line(strokeWidth=1.5).encode(
            x=x,
            y=f"{column}:Q",
            color=alt.Color("what:N", scale=shade, legend=legend),
            strokeDash=alt.StrokeDash("what:N", scale=dash, legend=legend),
        )

    dots = base.mark_circle(size=60, color=STEADY, opacity=1).encode(x=x, y="value:Q")
    layers = band + line("value", names[0]) + dots
    if dashed:
        layers += line("guess", names[1]) + _guesses(base, "guess:Q", x)
    return layers.properties(width=600, height=280)


def _guesses(base: Any, y: Any, x: Any) -> Any:  # noqa: ANN401
    """Diamonds where a value is extrapolated."""
    known = base.transform_filter("datum.guess != null")
    return known.mark_point(shape="diamond", size=60, color=WEAK, strokeWidth=2).encode(x=x, y=y)
