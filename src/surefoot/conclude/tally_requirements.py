"""Requirements of outcomes that were counted elsewhere: each one-sided, the error shared by all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from surefoot.catalogue.option_values import complement
from surefoot.conclude.class_groups import by_class, groups_in, sampled_of, trials_of
from surefoot.conclude.class_requirements import named_classes
from surefoot.conclude.sampling import NO_GUARANTEE, verdict_of
from surefoot.conclude.tally import assumptions, error_of, mean_of
from surefoot.core.claims import About, Claim, Scope
from surefoot.core.results import Decision, Footing, Guarantee, Undecided
from surefoot.errors import InvalidArgument
from surefoot.population import Mean, not_worse, requirement, requirement_of_each
from surefoot.records.population import rows_by_id
from surefoot.records.record import OfClasses, Record, Tally
from surefoot.statistics.multiplicity import shares


def of_tally(record: Record, least: float | None, each: OfClasses | None) -> tuple[Claim, ...]:
    """A verdict on the share that passes: of all such cases, and of each class."""
    number = (least is not None) + (each is not None)
    over = mean_of(record, shares(error_of(record), number))
    claims = []
    if least is not None:
        local = sampled_of(record.inputs)
        decided = requirement(over, local, least, over.continues(local))
        if isinstance(decided, Undecided):
            decided = replace(decided, reason=_in_cases(decided.reason))
        claims.append(_verdict(record, over, decided, least, record.claims[0].about))
    if each is not None:
        claims += _of_each(record, over, each)
    return tuple(claims)


def _of_each(record: Record, over: Mean, least: OfClasses) -> list[Claim]:
    """The verdict on all classes together, then on each."""
    details = record.details
    if not isinstance(details, Tally) or not details.names:
        raise InvalidArgument(
            "the cases have no classes to require something of: name their column with by (--by), "
            "or leave out require_each (--require-each)"
        )
    classes = by_class(record.inputs)
    named = {label: details.names[label] for label in classes}
    skipped = [name for i, name in enumerate(details.names) if i not in classes]
    required = named_classes(least, named, skipped)
    rows = {named[label]: members for label, members in classes.items() if named[label] in required}
    own = {name: sampled_of(members) for name, members in rows.items()}
    decided = requirement_of_each(over, own, required)
    inputs, groups = sum(map(len, rows.values())), sum(map(groups_in, own.values()))
    every = Scope(About.CLASS, inputs, sampling=over.sampling, groups=groups)
    numbers = set(required.values())
    number = next(iter(numbers)) if len(numbers) == 1 else None
    whole = _verdict(record, over, decided.together, number, every)
    if isinstance(least, Mapping):
        whole = replace(whole, names=tuple(required))
    claims = [whole]
    for name, one in decided.classes.items():
        scope = Scope(About.CLASS, len(rows[name]), name, over.sampling, groups_in(own[name]))
        claim = _verdict(record, over, one, required[name], scope)
        claims.append(replace(claim, trials=trials_of(rows[name])))
    return claims


def _verdict(
    record: Record, over: Mean, decided: Decision | Undecided, least: float | None, scope: Scope
) -> Claim:
    """What passes is required, and what fails is claimed."""
    verdict, reason = verdict_of(decided)
    assumed = assumptions(record.inputs, within_class=scope.of is About.CLASS)
    together = "all classes" if scope.name else ""
    return replace(
        record.claims[0],
        about=scope,
        guarantee=Guarantee(Footing.CONDITIONAL, over.error, assumed, together),
        value=None,
        interval=None,
        requirement=None if least is None else complement(least),
        verdict=verdict,
        reason=reason,
    )


def of_tallies(
    record: Record, parts: Mapping[str, Record], name: str, margin: float
) -> tuple[Claim, ...]:
    """Whether cases fail in this file at most so much more often than in each other."""
    first = next(iter(parts.values()))
    over = mean_of(first, record.shared_error or error_of(first))
    rows = {other: rows_by_id(part) for other, part in parts.items()}
    local = {other: sampled_of(own) for other, own in rows.items()}
    model = record.claims[0]
    decided = not_worse(over, local, name, margin, continues=model.continues)
    verdict, reason = verdict_of(decided)
    guarantee = NO_GUARANTEE
    if isinstance(decided, Decision):
        guarantee = Guarantee(Footing.CONDITIONAL, over.error, model.guarantee.assumptions)
    return (
        replace(
            model,
            kind="not_worse",
            guarantee=guarantee,
            value=None,
            interval=None,
            requirement=margin,
            verdict=verdict,
            reason=_in_cases(reason.rpartition(": ")[2]),
            names=(name, *(other for other in parts if other != name)),
        ),
    )


def _in_cases(forecast: str) -> str:
    """What would decide it, with the word for what was sampled here."""
    return forecast.replace("inputs", "cases").replace("Inputs", "Cases")
