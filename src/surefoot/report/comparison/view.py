"""The view of models, or levels, side by side."""

from __future__ import annotations

from collections.abc import Mapping

from surefoot.claims import Claim
from surefoot.report.attack.view import HEADING, attack_cell, attack_lines, no_gradient_cautions
from surefoot.report.claim_parts import capital, may_continue, sure
from surefoot.report.comparison.figures import chart
from surefoot.report.figures import svg
from surefoot.report.formatting import (
    confidence,
    ended,
    p_value,
    percent,
    points,
    points_between,
    short,
)
from surefoot.report.provenance import odd_findings
from surefoot.report.tables import (
    TAIL_HEADINGS,
    Table,
    mean_cells,
    quantity_heading,
    tail_cells,
)
from surefoot.report.view import Figure, Section, View
from surefoot.results import Interval, Undecided
from surefoot.store.records import Comparison, Member, Record


def view(
    record: Record,
    found: Comparison,
    parts: Mapping[str, Record],
    verdicts: tuple[Claim, ...],
    command: str,
) -> View:
    """Models: which may be the best, then every difference. Levels: each one's own claim."""
    best = tuple(c for c in record.claims if c.kind == "best")
    rest = tuple(c for c in record.claims if c.kind == "difference")
    head = best or record.claims[:1] + record.claims[-1:]
    rest = rest if best else record.claims[1:-1]
    attacks = {m.name: m.attack for m in found.members}
    return View(
        title=record.spec["words"]["source"],
        headline=head,
        about=_about(record, parts),
        cautions=(*_cautions(parts), *no_gradient_cautions(attacks)),
        continuing=may_continue(record.claims),
        claims=rest,
        verdicts=verdicts,
        facts=tuple(_facts(record, found, alike=not _generators_differ(parts))),
        assumptions=(),
        sections=_sections(record, found),
        command=command,
        provenance=tuple(
            (name, (("run", f"{part.digest}; {part.trials:,} trials"),))
            for name, part in parts.items()
        ),
    )


def _about(record: Record, parts: Mapping[str, Record]) -> str:
    strongest = max(parts.values(), key=lambda r: r.spec["perturbation"]["level"] or 0.0)
    highest = "at the highest level " if record.spec["along"] == "level" else ""
    words = strongest.spec["words"]
    return (
        f"{short(words['source'])}: {record.spec['inputs']['selection']}; "
        f"{highest}{words['perturbation']}; perturbed inputs must {words['property']}, "
        "else they fail."
    )


def _cautions(parts: Mapping[str, Record]) -> list[str]:
    """What makes the comparison less sharp, and what the preflights found odd."""
    lines = []
    if _generators_differ(parts):
        lines.append(
            "Look: the models do not meet the same random numbers (they run on different "
            "devices): the intervals hold, but are wider than they need be."
        )
    return [*lines, *(line for name, part in parts.items() for line in odd_findings(part, name))]


def _generators_differ(parts: Mapping[str, Record]) -> bool:
    return len({(r.spec["generator"], r.spec["block"]) for r in parts.values()}) > 1


def _facts(record: Record, found: Comparison, *, alike: bool) -> list[str]:
    lines = []
    if found.differences and alike:
        lines.append(
            "All models met the same inputs and the same perturbations; a difference is taken "
            "input by input."
        )
    if record.spec["population"]["kind"] == "tail-mean":
        lines.append(
            "Extrapolated numbers carry no guarantee; differences and ranks are of what was "
            "counted."
        )
    return lines + _agreement(record, found)


def _agreement(record: Record, found: Comparison) -> list[str]:
    """How the ranking goes along with the reference list."""
    match found.agreement:
        case None:
            return []
        case Undecided(reason=reason):
            return [f"Against the reference list: {reason}."]
        case known:
            within = known.pearson_interval
            return [
                f"Against the reference list, over {known.models} models: Pearson's correlation of "
                f"what is kept is {known.pearson:.3f} (between {within.low:.3f} and "
                f"{within.high:.3f} with confidence {confidence(record.spec['error'])} if both "
                f"were normal; p = {p_value(known.pearson_p)} over reorderings), Spearman's "
                f"{known.spearman:.3f} (p = {p_value(known.spearman_p)})."
            ]


def _sections(record: Record, found: Comparison) -> tuple[Section, ...]:
    tail = record.spec["population"]["kind"] == "tail-mean"
    caption = "Dot: over the inputs studied. Line: interval for the population."
    caption += " Diamond: the extrapolated average, without guarantee." if tail else ""
    table = _members(record, found, tail=tail)
    figure = Figure(svg(chart(record, found)), caption, "figure")
    sections = [Section("members", table.title, (), (figure,), table)]
    if (pairs := _pairs(record, found)) is not None:
        sections.append(Section("pairs", pairs.title, table=pairs))
    return tuple(sections)


def _members(record: Record, found: Comparison, *, tail: bool) -> Table:
    """One line each."""
    models = found.along == "model"
    what = TAIL_HEADINGS if tail else (quantity_heading(record), "interval")
    given = any(m.reference is not None for m in found.members)
    clean = models and any(m.accuracy is not None for m in found.members)
    struck = any(m.attack is not None for m in found.members)
    headings = [found.along, *what]
    headings += ["clean accuracy"] * clean + [HEADING] * struck + ["reference"] * given
    headings += ["rank"] * models
    rows = []
    for m in found.members:
        cells = () if m.whole is None else (tail_cells if tail else mean_cells)(record, m.whole)
        row = [m.name, *cells]
        row += ["" if m.accuracy is None else percent(m.accuracy)] * clean
        row += [attack_cell(m.attack)] * struck
        row += ["" if m.reference is None else f"{m.reference:g}"] * given
        row += [_rank(m)] * models
        rows.append(tuple(row))
    title = "Ranking" if models else "Level by level"
    own = next((c for c in record.claims if c.kind not in ("best", "difference")), None)
    lines = [] if own is None else [ended(capital(sure(own)))]
    note = " ".join([*lines, *attack_lines({m.name: m.attack for m in found.members})])
    return Table(title, tuple(headings), tuple(rows), 1, note)


def _rank(member: Member) -> str:
    if member.rank is None:
        return ""
    best, worst = member.rank.best, member.rank.worst
    return str(best) if best == worst else f"{best} to {worst}"


def _pairs(record: Record, found: Comparison) -> Table | None:
    """Every pair of models, as their claims say it."""
    claims = [c for c in record.claims if c.kind == "difference"]
    if not claims:
        return None
    shares = claims[0].limit is not None
    rows = tuple(
        (
            *c.names,
            points(c.value or 0.0),
            "" if c.interval is None else points_between(c.interval),
            _outcome(c.names, c.interval or Interval(0.0, 0.0), shares=shares),
        )
        for c in claims
    )
    what = "robust share, difference (points)" if shares else "fails more (points)"
    headings = ("model", "and model", what, "interval", "more robust")
    return Table("Pair by pair", headings, rows, 2)


def _outcome(names: tuple[str, ...], around: Interval, *, shares: bool) -> str:
    if around.low == around.high == 0:
        return "the same model"
    if around.low <= 0 <= around.high:
        return "not shown to differ"
    larger = around.low > 0
    return names[0] if larger == shares else names[1]
