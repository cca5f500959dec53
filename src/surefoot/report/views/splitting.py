"""The page of rare failures: how the levels were reached, what was found, what contradicts it."""

from __future__ import annotations

import math
from functools import partial

from surefoot.core.results import RareFailure, Undecided
from surefoot.records.record import RareFailures, Record
from surefoot.report import alt, provenance
from surefoot.report.figures import INK, STEADY, WEAK, WIDTH, Row, marks
from surefoot.report.formatting import (
    at_least,
    percent,
    rare_range,
    rare_share,
)
from surefoot.report.reasons import reason_words
from surefoot.report.tables import Table
from surefoot.report.view import Card, Figure, Section, View, table_sections
from surefoot.report.views.sampling_tables import example_card, replay_command

_PAGE_ROWS = 1000
"""Inputs that a page lists: more make it slow to open, and --json has all."""
_FITTED = 40
"""Points of the dashed line of a fitted normal distribution."""
_CAPTION = (
    "Each blue line is one run: the share of perturbations whose severity is above the one below. "
    "The orange line, dashed, is the normal distribution that RoMA fits to 1,000 ordinary trials. "
    "At the vertical line the input fails."
)
_MEANS = (
    "Perturbations are moved step by step towards failure, and how often they had to be moved "
    "gives the probability. That is right if the moves reach every kind of failure. Runs that "
    "disagree, chains that remember where they began, a severity with steps, or a count that "
    "contradicts it leave the input undecided; none of these can see a kind of failure that every "
    "run missed. So no requirement passes by it."
)


def _found(record: Record) -> list[tuple[str, RareFailure]]:
    """The inputs with a result, those first that fail most often."""
    known = [(row.id, row.result) for row in record.inputs if isinstance(row.result, RareFailure)]
    return sorted(known, key=lambda pair: -pair[1].interval.high)


def levels_chart(record: Record) -> alt.ChartType:
    """The probability of each severity, of the input that fails most often, by every run."""
    x = alt.X("severity:Q", title="severity", scale=alt.Scale(zero=False))
    y = alt.Y(
        "probability:Q", title="share above it", scale=alt.Scale(type="log"),
        axis=alt.Axis(format=".0e"),
    )  # fmt: skip
    lines, fitted, limits = list[Row](), list[Row](), list[Row]()
    for _, result in _found(record)[:1]:
        lines += [
            {"run": f"{i}", "severity": level.severity, "probability": level.probability}
            for i, run in enumerate(result.runs)
            for level in run.levels
        ]
        limits.append({"severity": result.limit})
        fitted += _fitted(result)
    runs = marks(lines).mark_line(color=STEADY, opacity=0.7, strokeWidth=1.5)
    dashed = marks(fitted).mark_line(color=WEAK, strokeDash=[5, 4]).encode(x=x, y=y)
    rule = marks(limits).mark_rule(color=INK).encode(x=x)
    layers = runs.encode(x=x, y=y, detail="run:N"), dashed, rule
    return alt.layer(*layers).properties(width=WIDTH, height=260)


def _fitted(result: RareFailure) -> list[Row]:
    """The tail of the normal distribution that RoMA fits, as far as the runs reach."""
    from scipy.special import ndtr

    fit, least = result.fit, result.interval.high / 100
    if fit is None:
        return []
    low = fit.mean - 2 * fit.deviation
    steps = [low + (result.limit - low) * i / (_FITTED - 1) for i in range(_FITTED)]
    tail = [(s, float(ndtr((fit.mean - s) / fit.deviation))) for s in steps]
    return [{"severity": s, "probability": p} for s, p in tail if p >= least]


def input_table(record: Record) -> Table:
    """Each input by itself: what splitting, counting and RoMA say."""
    rows = []
    for name, one in _found(record)[:_PAGE_ROWS]:
        value = "none found" if one.failure is None else rare_share(one.failure)
        failed = round((1 - one.counted.value) * one.counted.trials)
        rows.append((
            name, value, rare_range(one.interval), f"{failed:,} of {one.counted.trials:,}",
            _roma(one), f"{one.trials:,}",
        ))  # fmt: skip
    for row in record.inputs:
        if isinstance(row.result, Undecided):
            words = reason_words(row.result.reason)
            rows.append((row.id, "undecided", words, "", "", f"{row.result.trials:,}"))
    headings = ("input", "fails under", "interval", "counted", "RoMA", "trials")
    alone = "The interval holds if every kind of failure was reached."
    several = (
        "Each interval holds by itself, if every kind of failure was reached; that of the mean "
        "holds for all inputs together, and may end above each of them."
    )
    note = (
        f"{several if len(record.inputs) > 1 else alone} RoMA: a normal distribution fitted to the "
        f"same severities, an extrapolation without guarantee.{_what_fails(record)}"
    )
    return Table("Inputs", headings, tuple(rows), 1, note)


def _what_fails(record: Record) -> str:
    """What counts, where not every wrong label does: a clean input may be wrong itself."""
    counted = record.study.property
    if counted.kind != "confident":
        return ""
    return (
        " A failure is a label other than the clean input's, given with a confidence of "
        f"{counted.number('limit'):g} or more, whether or not the clean one is right; "
        "--property true counts every wrong label."
    )


def _roma(one: RareFailure) -> str:
    """What it extrapolates to, and where that lies."""
    if one.fit is None:
        return "no fit"
    value = 10.0**one.fit.log10_failure if one.fit.log10_failure > -300 else 0.0
    words = "less than 1 in 10³⁰⁰" if not value else rare_share(value)
    if not one.fit.accepted:
        return f"{words} (normality rejected)"
    if value in one.interval:
        return words
    if value > one.interval.high:
        return f"{words} (at least {at_least(value / one.interval.high)} times too high)"
    times = one.interval.low / value if value else math.inf
    return f"{words} (at least {at_least(times)} times too low)"


def run_table(record: Record) -> Table | None:
    """The runs of the input that fails most often, and what could have contradicted them."""
    found = _found(record)
    if not found:
        return None
    name, one = found[0]
    particles = one.walkers // len(one.runs)
    rows = tuple(
        (
            f"{i}", f"{run.moves:,}", rare_share(math.exp(-run.moves / particles)),
            f"{run.ancestors} (about {_expected_ancestors(run.moves, particles):.1f})",
        )
        for i, run in enumerate(one.runs, 1)
    )  # fmt: skip
    note = (
        f"{particles} particles a run; {percent(one.accepted)} of the steps were accepted. Chains "
        f"kept {percent(max(0.0, one.memory))} of the rank from which they began. Ancestors: first "
        "particles with descendants among the last, and how many there would be if chains forgot."
    )
    headings = ("run", "moves", "failure probability", "ancestors (expected)")
    return Table(f"Runs of input {name}", headings, rows, 1, note)


def _expected_ancestors(moves: int, particles: int) -> float:
    """Of a population of this size after so many replacements, if all were alike (Moran 1958)."""
    return 1 / (1 - (1 - 1 / particles) * math.exp(-moves / particles / (particles - 1)))


def _cards(record: Record, details: RareFailures, store: str) -> tuple[Card, ...]:
    cards = []
    for e in details.examples:
        true_class = f"; true class {e.true_class}" if e.true_class else ""
        title = f"{e.id}, one of about {rare_share(e.failure)} perturbations{true_class}"
        command = f"study.replay({e.id!r}, result.by_id[{e.id!r}].runs[{e.run - 1}].found)"
        if record.source is not None:
            command = replay_command(record, e.id, f"found-{e.run}", store)
        cards.append(example_card(e, title, "failed", "found", command))
    return tuple(cards)


def view(shown: provenance.Shown, details: RareFailures) -> View:
    """How rare failures are, by which runs, and what they look like."""
    record, store = shown.record, shown.store
    table = input_table(record)
    said = "; ".join(f"{row[0]}: {row[1]}" for row in table.rows[:3])
    figure = Figure(partial(levels_chart, record), _CAPTION, "figure", f"Fails under: {said}.")
    first = Section("levels", "How rare failures are", (_MEANS,), (figure,), table)
    examples = Section("examples", "Failures that were found", cards=_cards(record, details, store))
    sections = [first, *([examples] if details.examples else ())]
    return shown.view_of_run(
        facts=(f"{record.trials:,} trials.",),
        assumptions=(_MEANS,),
        sections=[*sections, *table_sections({"runs": run_table(record)})],
        answer=table,
    )
