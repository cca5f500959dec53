"""The view of a comparison of models, or of levels."""

from __future__ import annotations

from collections.abc import Mapping

from surefoot.core.claims import Claim
from surefoot.core.results import Undecided
from surefoot.records.record import Comparison, Record
from surefoot.report.attack.tables import no_gradient_cautions
from surefoot.report.clauses import continuation_note
from surefoot.report.comparison.figures import comparison_chart, describe_comparison
from surefoot.report.comparison.tables import member_table, pair_table
from surefoot.report.figures import svg
from surefoot.report.formatting import confidence, file_name, p_value
from surefoot.report.provenance import preflight_cautions
from surefoot.report.tables import is_tail
from surefoot.report.view import Figure, Section, View

_PURPOSES = {
    "model": "which model fails less often on the same inputs and perturbations",
    "level": "how often the model fails as the perturbation grows",
}
"""By what is compared."""


def view(
    record: Record,
    comparison: Comparison,
    parts: Mapping[str, Record],
    verdicts: tuple[Claim, ...],
    command: str,
) -> View:
    """Two models: their difference. More: which may be the best. Levels: the highest one's claim.

    The number above the best is the first-ranked model's own.
    """
    best = tuple(c for c in record.claims if c.kind == "best")
    pairs = tuple(c for c in record.claims if c.kind == "difference")
    headline, rest = (best, pairs) if len(pairs) > 1 else (pairs, best)
    ranked = [c for c in record.claims if c.names[:1] == (comparison.members[0].name,)]
    own = tuple(c for c in ranked if c.kind not in ("best", "difference"))[:1]
    if not best:
        headline, rest = record.claims[-1:], record.claims[:-1]
    attacks = {m.name: m.attack for m in comparison.members}
    return View(
        title=record.study.words.source,
        headline=headline,
        about=_about(record, comparison, parts),
        cautions=(*_cautions(parts), *no_gradient_cautions(attacks)),
        continuing=continuation_note(record.claims),
        claims=rest,
        key_claims=own if headline == best else (),
        verdicts=verdicts,
        facts=tuple(_facts(record, comparison, same_draws=not _generators_differ(parts))),
        assumptions=(),
        sections=_sections(record, comparison),
        command=command,
        purpose=f"{_PURPOSES.get(comparison.along, _PURPOSES['model'])}, and how certain that is",
        provenance=tuple(
            (name, (("Study", f"{part.digest}; {part.trials:,} trials"),))
            for name, part in parts.items()
        ),
    )


def _about(record: Record, comparison: Comparison, parts: Mapping[str, Record]) -> str:
    specs = [part.study for part in parts.values()]
    words = max(specs, key=lambda spec: spec.perturbation.number("level") or 0.0).words
    highest = "at the highest level " if comparison.along == "level" else ""
    return (
        f"{file_name(words.source)}: {record.study.inputs.selection}; {highest}"
        f"{words.perturbation}; perturbed inputs must {words.property}, else they fail."
    )


def _cautions(parts: Mapping[str, Record]) -> list[str]:
    """What makes the intervals wider, and what the preflights found odd; of all alike, once."""
    lines = []
    if _generators_differ(parts):
        lines.append(
            "Note: the models do not get the same random numbers (they run on different "
            "devices): the intervals hold, but are wider than necessary."
        )
    of_all = set.intersection(*(set(preflight_cautions(part)) for part in parts.values()))
    for name, part in parts.items():
        own = zip(preflight_cautions(part), preflight_cautions(part, name), strict=True)
        lines += [plain if plain in of_all else named for plain, named in own]
    return list(dict.fromkeys(lines))


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
    if is_tail(record):
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
            return [f"Against the reference list: {reason}."]
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
    caption += " Diamond: the extrapolated average, without guarantee." if is_tail(record) else ""
    table = member_table(record, comparison)
    words = describe_comparison(record, comparison)
    figure = Figure(lambda: svg(comparison_chart(record, comparison)), caption, "figure", words)
    sections = [Section("members", table.title, (), (figure,), table)]
    if (pairs := pair_table(record)) is not None:
        sections.append(Section("pairs", pairs.title, table=pairs))
    return tuple(sections)
