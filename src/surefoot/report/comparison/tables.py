"""Tables of a comparison: its members, and every pair of models."""

from __future__ import annotations

from surefoot.core.results import Interval
from surefoot.records.record import Comparison, Member, Record
from surefoot.report.attack.tables import attack_cell, attack_heading, attack_notes
from surefoot.report.clauses import capitalised, confidence_clause
from surefoot.report.formatting import percent, points, points_range, with_full_stop
from surefoot.report.tables import (
    TAIL_HEADINGS,
    Table,
    is_tail,
    loss_cell,
    mean_cells,
    quantity_heading,
    tail_cells,
)


def member_table(record: Record, comparison: Comparison) -> Table:
    """A row for each model or level."""
    models, tail = comparison.along == "model", is_tail(record)
    quantity = TAIL_HEADINGS if tail else (quantity_heading(record), "interval")
    referenced = any(m.reference is not None for m in comparison.members)
    clean = models and any(m.accuracy is not None for m in comparison.members)
    attacked = any(m.attack is not None for m in comparison.members)
    heading = attack_heading(m.attack for m in comparison.members)
    headings = [comparison.along, *quantity]
    lossy = models and any(m.loss is not None for m in comparison.members)
    headings += (
        ["clean accuracy"] * clean
        + ["clean loss"] * lossy
        + [heading] * attacked
        + ["reference"] * referenced
    )
    headings += ["rank"] * models
    rows = []
    for m in comparison.members:
        cells = () if m.whole is None else (tail_cells if tail else mean_cells)(record, m.whole)
        row = [m.name, *cells]
        row += ["" if m.accuracy is None else percent(m.accuracy)] * clean
        row += [loss_cell(m.loss)] * lossy
        row += [attack_cell(m.attack)] * attacked
        row += ["" if m.reference is None else f"{m.reference:g}"] * referenced
        row += [_rank(m)] * models
        rows.append(tuple(row))
    title = "Ranking" if models else "Results by level"
    claim = next((c for c in record.claims if c.kind not in ("best", "difference")), None)
    lines = [] if claim is None else [with_full_stop(capitalised(confidence_clause(claim)))]
    note = " ".join([*lines, *attack_notes({m.name: m.attack for m in comparison.members})])
    return Table(title, tuple(headings), tuple(rows), 1, note)


def _rank(member: Member) -> str:
    if member.rank is None:
        return ""
    best, worst = member.rank.best, member.rank.worst
    return str(best) if best == worst else f"{best} to {worst}"


def pair_table(record: Record) -> Table | None:
    """Every pair of models, as its claim says it."""
    claims = [c for c in record.claims if c.kind == "difference"]
    if not claims:
        return None
    shares = claims[0].limit is not None
    rows = tuple(
        (
            *c.names,
            points(c.value or 0.0),
            "" if c.interval is None else points_range(c.interval),
            _outcome(c.names, c.interval or Interval(0.0, 0.0), shares=shares),
        )
        for c in claims
    )
    difference = "robust share, difference (points)" if shares else "fails more (points)"
    headings = ("model", "and model", difference, "interval", "more robust")
    return Table("Pairs of models", headings, rows, 2)


def _outcome(names: tuple[str, ...], around: Interval, *, shares: bool) -> str:
    if around.low == around.high == 0:
        return "the same model"
    if around.low <= 0 <= around.high:
        return "not shown to differ"
    larger = around.low > 0
    return names[0] if larger == shares else names[1]
