"""What is said of several studies together: differences, ranks, agreement with a reference."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from surefoot.conclude import scope
from surefoot.conclude.accuracy import MeanClaim, claim_of_mean, wrong_when_clean
from surefoot.conclude.suite import join_cells
from surefoot.core import claims as kinds
from surefoot.core.assumptions import Jointly, Together, jointly
from surefoot.core.claims import Claim, limit_of
from surefoot.core.results import Bracket, Estimate, Footing, Guarantee
from surefoot.errors import InvalidArgument
from surefoot.population.comparison import (
    Difference,
    candidates,
    differences,
    quantile_differences,
    ranks,
)
from surefoot.population.requirement import sound
from surefoot.records.record import Comparison, Member, Radii, Record, Samples, models_under, under
from surefoot.records.spec import BracketFileSpec, ComparisonSpec
from surefoot.statistics.agreement import agreement
from surefoot.statistics.bounds import shares

MODELS, LEVELS, CURVES, CELLS, PERTURBED = "model", "level", "curve", "cell", "perturbed model"
"""What differs between the studies; curves and radii stand side by side. Perturbed models are those
of several models, each under several perturbations."""
_TOGETHER = {MODELS: Together.MODELS, LEVELS: Together.LEVELS}
_SHARED = ("property", "method", "population", "seed", "bounds", "by_class")


def compare_samples(
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
        raise InvalidArgument(
            f"a reference needs one number for each model: add or remove that of {odd[0]!r}"
        )
    _check_same_question(records, along)
    first = next(iter(records.values()))
    over = scope.population_of(first)
    spent = over.error if error is None else error
    share = shares(spent / 2 if along == MODELS else spent, len(records))
    local = {name: scope.sampled_of(scope.rows_by_id(record)) for name, record in records.items()}
    same = scope.identical_pairs(records)
    pairs = differences(over, local, spent / 2, same) if along == MODELS else ()
    places = ranks(list(records), pairs)
    members = [
        Member(
            name=name,
            digest=record.digest,
            level=record.study.perturbation.number("level"),
            whole=over.conclude(local[name], share),
            accuracy=record.clean_accuracy,
            rank=places[name] if along == MODELS else None,
            reference=None if reference is None else reference[name],
            attack=record.details.attack if isinstance(record.details, Samples) else None,
            loss=record.details.clean_loss if isinstance(record.details, Samples) else None,
        )
        for name, record in records.items()
    ]
    members.sort(key=(lambda m: -_value(m)) if along == MODELS else (lambda m: m.level or 0.0))
    agrees = None
    if reference is not None:
        values = [_value(m) for m in members]
        agrees = agreement(values, [reference[m.name] for m in members], spent)
    comparison = Comparison(along, tuple(members), pairs, agrees)
    return comparison, _claims(records, comparison, spent), spent


def compare_perturbed(
    records: Mapping[str, Record], error: float | None
) -> tuple[Comparison, tuple[Claim, ...], float]:
    """Models compared under each perturbation at an equal part of the error, so all hold together.

    Whatever the trials under different perturbations have in common: the errors add up.
    """
    split = models_under(records)
    first = next(iter(records.values()))
    spent = scope.population_of(first).error if error is None else error
    together = Jointly(Together.PERTURBED, len(records))
    members: list[Member] = []
    pairs: list[Difference] = []
    claims: list[Claim] = []
    for words, models in split.items():
        _check_same_models(split, words)
        named = {under(name, words): record for name, record in models.items()}
        one, said, _ = compare_samples(named, MODELS, spent / len(split), None)
        members += one.members
        pairs += one.differences
        for claim in said:
            promise = replace(claim.guarantee, jointly=together)
            promise = replace(promise, error=spent if promise.error else 0.0)
            claims.append(claim.saying(guarantee=promise))
    return Comparison(PERTURBED, tuple(members), tuple(pairs)), tuple(claims), spent


def _check_same_models(split: Mapping[str, Mapping[str, Record]], words: str) -> None:
    """Every perturbation with the same models, inputs and question as the first one."""
    first, models = next(iter(split.values())), split[words]
    for name, record in first.items():
        if name not in models or len(first) != len(models):
            raise InvalidArgument(f"{name} was not studied under {words}: study all under all")
        _refuse_other_parts(name, record, words, models[name], ("model", *_SHARED), "perturbation")
        if _other_inputs(record, models[name]):
            raise InvalidArgument(f"{words} was studied on other inputs: study all on the same")


def _claims(
    records: Mapping[str, Record], comparison: Comparison, error: float
) -> tuple[Claim, ...]:
    """Which may be the best, every difference, then each by itself; all of it together."""
    first = next(iter(records.values()))
    model = scope.claim_of_population(first)
    together = Jointly(_TOGETHER[comparison.along], len(records))
    said = replace(
        model.said,
        about=replace(model.about, inputs=len(first.inputs)),
        reason=None,
        trials=sum(r.trials for r in records.values()),
        continues=scope.population_of(first).continues,
    )
    failing, kappa = isinstance(model, MeanClaim) and model.kept is None, limit_of(model)
    claims: list[Claim] = []
    if comparison.differences:
        assumptions = tuple(
            dict.fromkeys(a for d in comparison.differences for a in d.guarantee.assumptions)
        )
        footing = Footing.CONDITIONAL if assumptions else Footing.SOUND
        guarantee = Guarantee(footing, error, assumptions, together)
        names = candidates([m.name for m in comparison.members], comparison.differences)
        best = replace(said, guarantee=guarantee, names=names)
        claims.append(kinds.Best(best, models=len(records), kappa=kappa))
        for d in comparison.differences:
            promise = replace(d.guarantee, error=error, jointly=together)
            of_pair = replace(said, guarantee=promise, names=(d.first, d.second))
            value, around = (0.0 - d.value, -d.interval) if failing else (d.value, d.interval)
            claims.append(
                kinds.FailureDifference(of_pair, kappa=kappa, value=value, interval=around)
            )
    for m in comparison.members:
        plain = None if m.whole is None else sound(m.whole)
        if not isinstance(plain, Estimate):
            continue
        own = replace(
            said,
            guarantee=replace(plain.guarantee, error=error, jointly=together),
            names=(m.name if comparison.along == MODELS else f"level {m.name}",),
        )
        record = records[m.name]
        if isinstance(model, kinds.ShareKappa):
            clean = wrong_when_clean(record.inputs)
            claims.append(
                replace(model, said=own, value=plain.value, interval=plain.interval, clean=clean)
            )
        else:
            rows, around = record.inputs, plain.interval
            claims.append(claim_of_mean(record.study, rows, own, plain.value, around))
    return tuple(claims)


def compare_curves(records: Mapping[str, Record]) -> tuple[Comparison, tuple[Claim, ...]]:
    """Curves or radii: each by itself; radii of the same inputs also in pairs."""
    members, claims = list[Member](), list[Claim]()
    for name, record in records.items():
        read = isinstance(record.spec, BracketFileSpec)
        level = None if read else record.study.perturbation.number("level")
        members.append(Member(name, record.digest, level))
        claims += [claim.saying(names=(name,)) for claim in record.claims]
    pairs, model = _quantile_pairs(records), claims[0]
    about = replace(model.about, inputs=len(_common_ids(records)))
    together, share = jointly(Together.PAIRS, len(pairs)), limit_of(model) or 0.0
    for d in pairs:  # how much larger each quantile is than another, all of them together
        assumed = dict.fromkeys((*d.guarantee.assumptions, *model.guarantee.assumptions))
        said = replace(
            model.said,
            about=about,
            guarantee=replace(d.guarantee, assumptions=tuple(assumed), jointly=together),
            names=(d.first, d.second),
            reason=None,
        )
        claims.append(
            kinds.QuantileDifference(said, share=share, value=d.value, interval=d.interval)
        )
    return Comparison(CURVES, tuple(members), pairs), tuple(claims)


def _common_ids(records: Mapping[str, Record]) -> set[str]:
    return set.intersection(*({row.id for row in r.inputs} for r in records.values()))


def _quantile_pairs(records: Mapping[str, Record]) -> tuple[Difference, ...]:
    """None where a network chose how many inputs to look at, or where there is no quantile.

    None of groups either: McNemar's test takes the inputs for independent.
    """
    first = next(iter(records.values())).claims[0]
    fixed = not any(r.claims[0].about.groups for r in records.values()) and all(
        isinstance(r.details, Radii) and not r.chooses_inputs for r in records.values()
    )
    share = limit_of(first)
    if not fixed or share is None or first.is_open:
        return ()
    _check_same_points(records)
    ids = _common_ids(records)
    if not ids:
        return ()
    local = dict[str, list[Bracket]]()
    for name, record in records.items():
        every = (row.result for row in scope.rows_by_id(record) if row.id in ids)
        local[name] = [one for one in every if isinstance(one, Bracket)]
    return quantile_differences(local, share, first.guarantee.error)


def _check_same_points(records: Mapping[str, Record]) -> None:
    """Radii are taken from each other input by input: of the same points, held to the same."""
    (name, first), *others = records.items()
    for other, record in others:
        if isinstance(record.spec, BracketFileSpec):
            continue
        _refuse_other_parts(name, first, other, record, ("property", "bounds"), "model")
        if _other_inputs(first, record):
            raise InvalidArgument(
                f"{name} and {other} were studied on different inputs: study both on the same"
            )


def _value(member: Member) -> float:
    whole = None if member.whole is None else sound(member.whole)
    return whole.value if isinstance(whole, Estimate) else 0.0


def _check_same_question(records: Mapping[str, Record], along: str) -> None:
    """The same question about the same inputs, or there is nothing to compare."""
    (name, first), *others = records.items()
    for other, record in others:
        _refuse_other_parts(name, first, other, record, _SHARED, along)
        mine, theirs = ({r.id: (r.label, r.group) for r in one.inputs} for one in (first, record))
        if mine != theirs or _other_inputs(first, record):
            raise InvalidArgument(
                f"{name} and {other} were studied on different inputs: study both on the same"
            )
        a, b = (one.study.perturbation for one in (first, record))
        if along == LEVELS:
            a, b = (replace(p, options=_without_level(p.options)) for p in (a, b))
        if a != b:
            raise InvalidArgument(
                f"{name} and {other} met different perturbations: {a} and {b}; study both under "
                "the same"
            )


def _without_level(options: dict[str, Any]) -> dict[str, Any]:
    """The perturbation without its level, which one whose strength is drawn shares."""
    rest = {k: v for k, v in options.items() if k != "level"}
    if isinstance(rest.get("inner"), dict):
        rest["inner"] = _without_level(rest["inner"])
    return rest


def _refuse_other_parts(
    name: str, first: Record, other: str, record: Record, parts: Sequence[str], along: str
) -> None:
    for part in parts:
        a, b = (getattr(one.study, part) for one in (first, record))
        if a != b:
            raise InvalidArgument(
                f"{name} and {other} differ in their {part} ({a} and {b}): only the {along} may "
                "differ; study both with the same"
            )


def _other_inputs(first: Record, record: Record) -> bool:
    """Whether the digests show other inputs; inputs of another layout cannot be compared."""
    a, b = (one.study.inputs for one in (first, record))
    moved = (a.frame, a.axes) != (b.frame, b.axes)
    return not moved and a.digest != b.digest


def joined_record(
    records: Mapping[str, Record],
    along: str,
    error: float | None = None,
    reference: Mapping[str, float] | None = None,
    suite: str = "",
) -> Record:
    """Finished records side by side, with the claims that hold of them together.

    `suite` is the name of the suite whose cells they are.
    """
    if len(records) < (1 if along == CELLS else 2):
        raise InvalidArgument(f"a comparison needs two or more, got {len(records)}")
    if along == CELLS:
        if error is None:
            raise InvalidArgument("the cells of a suite share one error: pass error=0.05")
        comparison, claims = join_cells(records, error, suite)
    elif along == CURVES:
        comparison, claims = compare_curves(records)
    elif along == PERTURBED:
        comparison, claims, error = compare_perturbed(records, error)
    else:
        comparison, claims, error = compare_samples(records, along, error, reference)
    first: Record = next(iter(records.values()))
    if isinstance(first.spec, ComparisonSpec):
        raise InvalidArgument("a comparison cannot be compared again: compare its parts")
    return Record(
        digest=digest_of_parts(record.digest for record in records.values()),
        spec=ComparisonSpec(first.spec, error, tuple(records)),
        claims=scope.as_in_records(claims, records.values()),
        inputs=(),
        details=comparison,
        findings=(),
        trials=sum(r.trials for r in records.values()),
        environment=first.environment,
        stopped_early=any(r.stopped_early for r in records.values()),
    )


def digest_of_parts(digests: Iterable[str]) -> str:
    """The name of a comparison: the SHA-256 digest of the names of its runs, in order."""
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()
