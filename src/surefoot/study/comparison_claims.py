"""What is said of several studies together: differences, ranks, agreement with a reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from surefoot.claims import About, Claim, Scope
from surefoot.errors import InvalidArgument
from surefoot.population import (
    Difference,
    candidates,
    differences,
    quantile_differences,
    ranks,
    sound,
)
from surefoot.results import Bracket, Estimate, Footing, Guarantee, Interval, Undecided
from surefoot.statistics.agreement import Agreement, agreement
from surefoot.statistics.multiplicity import shares
from surefoot.store.records import Comparison, Member, Radii, Record, Samples
from surefoot.study.requirements import continues_of, identical_pairs, population_of
from surefoot.study.sampling_claims import flipped

MODELS, LEVELS = "model", "level"
_SHARED = ("property", "method", "population", "seed", "bounds", "by_class")


def compared(
    records: Mapping[str, Record],
    along: str,
    error: float | None,
    reference: Mapping[str, float] | None,
) -> tuple[Comparison, tuple[Claim, ...], float]:
    """Records of the same inputs, those that fail least first; levels in rising order.

    Models: half of the error goes to their intervals, half to the differences of all pairs.
    Levels: all of it to the intervals.
    """
    if reference is not None and set(reference) != set(records):
        odd = sorted(set(reference) ^ set(records))
        raise InvalidArgument(f"a reference needs one number for each model: look at {odd[0]!r}")
    refuse_strangers(records, along)
    first = next(iter(records.values()))
    over = population_of(first)
    spent = over.error if error is None else error
    share = shares(spent / 2 if along == MODELS else spent, len(records))
    local = {name: _ordered(record) for name, record in records.items()}
    same = identical_pairs(records)
    found = differences(over, local, spent / 2, same) if along == MODELS else ()
    places = ranks(list(records), found)
    members = [
        Member(
            name=name,
            digest=record.digest,
            level=record.spec["perturbation"]["level"],
            whole=over.conclude(local[name], share),
            accuracy=record.clean_accuracy,
            rank=places[name] if along == MODELS else None,
            reference=None if reference is None else reference[name],
            attack=record.details.attack if isinstance(record.details, Samples) else None,
        )
        for name, record in records.items()
    ]
    members.sort(key=(lambda m: -_value(m)) if along == MODELS else (lambda m: m.level or 0.0))
    agrees = None if reference is None else _agreement(members, spent)
    made = Comparison(along, tuple(members), found, agrees)
    return made, _claims(records, made, spent), spent


def _claims(records: Mapping[str, Record], made: Comparison, error: float) -> tuple[Claim, ...]:
    """Which may be the best, every difference, then each by itself; all of it together."""
    first = next(iter(records.values()))
    model = next(c for c in first.claims if c.about.of is About.POPULATION)
    scope = Scope(About.POPULATION, len(first.inputs), sampling=model.about.sampling)
    trials = sum(r.trials for r in records.values())
    together = f"everything said of these {len(records)} {made.along}s"
    blank = replace(
        model, about=scope, value=None, interval=None, reason="", trials=trials,
        continues=continues_of(population_of(first), [row.result for row in first.inputs]),
    )  # fmt: skip
    claims = []
    if made.differences:
        said = tuple(dict.fromkeys(a for d in made.differences for a in d.guarantee.assumptions))
        footing = Footing.CONDITIONAL if said else Footing.SOUND
        promise = Guarantee(footing, error, said, together)
        names = candidates([m.name for m in made.members], made.differences)
        claims.append(
            replace(blank, kind="best", guarantee=promise, names=names, value=float(len(records)))
        )
        claims += [
            replace(
                blank,
                kind="difference",
                guarantee=replace(d.guarantee, error=error, jointly=together),
                names=(d.first, d.second),
                value=_signed(model, d.value),
                interval=_signed_interval(model, d.interval),
            )
            for d in made.differences
        ]
    for m in made.members:
        plain = None if m.whole is None else sound(m.whole)
        if not isinstance(plain, Estimate):
            continue
        mean = model.kind == "mean_population"
        claims.append(
            replace(
                blank,
                guarantee=replace(plain.guarantee, error=error, jointly=together),
                names=(m.name if made.along == MODELS else f"level {m.name}",),
                value=1 - plain.value if mean else plain.value,
                interval=flipped(plain.interval) if mean else plain.interval,
            )
        )
    return tuple(claims)


def _signed(model: Claim, value: float) -> float:
    """A difference of what is kept, as a difference of failing; shares stay as they are."""
    return 0.0 - value if model.kind == "mean_population" else value


def _signed_interval(model: Claim, around: Interval) -> Interval:
    if model.kind != "mean_population":
        return around
    return Interval(0.0 - around.high, 0.0 - around.low)


def beside_each_other(records: Mapping[str, Record]) -> tuple[Comparison, tuple[Claim, ...]]:
    """Curves or radii: each by itself; radii of the same inputs also in pairs."""
    members = tuple(
        Member(name, record.digest, record.spec["perturbation"].get("level"))
        for name, record in records.items()
    )
    claims = [
        replace(claim, names=(name,)) for name, record in records.items() for claim in record.claims
    ]
    pairs = _quantile_pairs(records)
    model = claims[0]
    claims += [
        replace(
            model,
            kind="quantile_difference",
            names=(d.first, d.second),
            value=d.value,
            interval=d.interval,
            guarantee=replace(
                d.guarantee,
                assumptions=tuple(
                    dict.fromkeys((*d.guarantee.assumptions, *model.guarantee.assumptions))
                ),
                jointly=f"all {len(pairs)} pairs" if len(pairs) > 1 else "",
            ),
            about=replace(model.about, inputs=len(_common_ids(records))),
            reason="",
        )
        for d in pairs
    ]
    return Comparison("curve", members, pairs), tuple(claims)


def _common_ids(records: Mapping[str, Record]) -> set[str]:
    return set.intersection(*({row.id for row in r.inputs} for r in records.values()))


def _quantile_pairs(records: Mapping[str, Record]) -> tuple[Difference, ...]:
    """None where a network chose how many inputs to look at, or where there is no quantile."""
    first = next(iter(records.values())).claims[0]
    fixed = all(
        isinstance(r.details, Radii) and r.spec["method"].get("within") is None
        for r in records.values()
    )
    if not fixed or first.limit is None or first.guarantee.footing is Footing.NONE:
        return ()
    _refuse_other_questions(records)
    ids = _common_ids(records)
    if not ids:
        return ()
    local = {
        name: [
            row.result
            for row in sorted(record.inputs, key=lambda row: row.id)
            if row.id in ids and isinstance(row.result, Bracket)
        ]
        for name, record in records.items()
    }
    return quantile_differences(local, first.limit, first.guarantee.error)


def _refuse_other_questions(records: Mapping[str, Record]) -> None:
    """Radii are taken from each other input by input: of the same points, held to the same."""
    (name, first), *others = records.items()
    for other, record in others:
        for part in ("property", "bounds"):
            if record.spec.get(part) != first.spec.get(part):
                raise InvalidArgument(
                    f"{name} and {other} differ in their {part} ({first.spec[part]} and "
                    f"{record.spec[part]}): only the model may differ"
                )
        a, b = (one.spec["inputs"] for one in (first, record))
        moved = (a.get("frame"), a.get("axes")) != (b.get("frame"), b.get("axes"))
        if not moved and a.get("digest") != b.get("digest"):
            raise InvalidArgument(f"{name} and {other} were studied on different inputs")


def _ordered(record: Record) -> list[Any]:
    """By id, so the same for all."""
    return [row.result for row in sorted(record.inputs, key=lambda row: row.id)]


def _value(member: Member) -> float:
    whole = None if member.whole is None else sound(member.whole)
    return whole.value if isinstance(whole, Estimate) else 0.0


def _agreement(members: list[Member], error: float) -> Agreement | Undecided:
    known = [(m, m.reference) for m in members if m.reference is not None]
    return agreement([_value(m) for m, _ in known], [r for _, r in known], error)


def refuse_strangers(records: Mapping[str, Record], along: str) -> None:
    """The same question about the same inputs, or there is nothing to compare."""
    (name, first), *others = records.items()
    for other, record in others:
        for part in _SHARED:
            if record.spec.get(part) != first.spec.get(part):
                raise InvalidArgument(
                    f"{name} and {other} differ in their {part} ({first.spec[part]} and "
                    f"{record.spec[part]}): only the {along} may differ"
                )
        mine, theirs = ({r.id: r.label for r in one.inputs} for one in (first, record))
        a, b = (one.spec["inputs"] for one in (first, record))
        moved = (a["frame"], a["axes"]) != (b["frame"], b["axes"])
        if mine != theirs or (not moved and a["digest"] != b["digest"]):
            raise InvalidArgument(f"{name} and {other} were studied on different inputs")
        a, b = (one.spec["perturbation"] for one in (first, record))
        if along == LEVELS:
            a, b = _but_for_level(a), _but_for_level(b)
        if a != b:
            raise InvalidArgument(f"{name} and {other} met different perturbations: {a} and {b}")


def _but_for_level(told: dict[str, Any]) -> dict[str, Any]:
    """The perturbation without its level, which one whose strength is drawn shares."""
    rest = {k: v for k, v in told.items() if k != "level"}
    if isinstance(rest.get("inner"), dict):
        rest["inner"] = _but_for_level(rest["inner"])
    return rest
