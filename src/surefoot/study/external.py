"""What others measured, reported as our own: radii of verifiers, outcomes counted elsewhere."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from surefoot.catalogue.registry import MOST_DIGITS
from surefoot.conclude.comparison import CURVES
from surefoot.conclude.radii import ALL, at_error, claims_of, mean_claims, quantiles_of
from surefoot.conclude.tally import compare_tallies, matched, tally_record
from surefoot.core import claims as kinds
from surefoot.core.assumptions import Assumed, Jointly, TheseGroups, Together, jointly
from surefoot.core.claims import About, Claim, Sampling, Scope, limit_of
from surefoot.core.reasons import Reason, Why, several
from surefoot.core.results import Bracket, Guarantee, Interval, Quantile
from surefoot.errors import InvalidArgument
from surefoot.inputs.bracket_files import PublishedBracket, read_brackets
from surefoot.inputs.outcomes.rows import ColumnNames
from surefoot.inputs.outcomes.tables import read_outcomes
from surefoot.population import Difference, unpaired_quantile_difference
from surefoot.population.quantile_estimators import (
    DEFAULT_ESTIMATOR,
    AlgorithmOne,
    QuantileEstimator,
    estimator_named,
    refuse_contradicted,
)
from surefoot.records.record import Comparison, InputRow, QuantileRow, Radii, Record, Source
from surefoot.records.spec import BracketFileSpec
from surefoot.region.critical_level import CriticalLevel
from surefoot.statistics.bounds import shares
from surefoot.study.result import Result
from surefoot.study.study import join_results
from surefoot.system.text import first_again

SPLIT, LABEL, TRAINING = "split", "label", "training"
_FEWEST = 2
"""Groups below which there is nothing to compare."""


@dataclass(frozen=True)
class GroupOfRows:
    """Rows that get one quantile: of a network, of a split of it, or of several networks.

    `value` is what they have in the column; `family` names the groups that share the error, of
    which there are `family_size`. `networks`: how many are pooled, each on the same inputs.
    """

    name: str
    rows: tuple[PublishedBracket, ...]
    value: str = ""
    family: str = ""
    family_size: int = 1
    networks: int = 1

    @property
    def is_pooled(self) -> bool:
        """Whether an input has a bracket of each of several networks."""
        return self.networks > 1


def groups_of_rows(
    path: Path, networks: Sequence[str], rows: Sequence[PublishedBracket], by: str
) -> list[GroupOfRows]:
    """The splits of each network, or the trainings with all of their networks."""
    if by == TRAINING:
        return _by_training(path, rows)
    groups = []
    for network in networks:
        own = [row for row in rows if row.network == network]
        splits = sorted({row.split for row in own})
        _check_number(path, SPLIT, splits, f" of {network}")
        for split in splits:
            members = tuple(row for row in own if row.split == split)
            name = f"{network}, {split}" if len(networks) > 1 else split
            groups.append(GroupOfRows(name, members, split, network, len(splits)))
    return groups


def _by_training(path: Path, rows: Sequence[PublishedBracket]) -> list[GroupOfRows]:
    """Of each training the inputs that all of its networks have."""
    of_network = {row.network: row.training for row in rows}
    for row in rows:
        if row.training != of_network[row.network]:
            raise InvalidArgument(
                f"{path}: network {row.network} has the trainings {row.training!r} and "
                f"{of_network[row.network]!r}; give each network one"
            )
    trainings = list(dict.fromkeys(of_network.values()))
    _check_number(path, TRAINING, trainings, "")
    groups = []
    for training in trainings:
        members = [row for row in rows if row.training == training]
        names = {row.network for row in members}
        images: dict[tuple[str, str], set[str]] = {}
        for row in members:
            images.setdefault((row.split, row.image), set()).add(row.network)
        kept = tuple(row for row in members if images[row.split, row.image] == names)
        if not kept:
            raise InvalidArgument(
                f"{path}: the {len(names)} networks of training {training!r} have no input in "
                "common; choose networks (--networks) that do"
            )
        groups.append(GroupOfRows(training, kept, training, TRAINING, len(trainings), len(names)))
    return groups


def _check_number(path: Path, column: str, values: Sequence[str], of: str) -> None:
    if not all(values):
        raise InvalidArgument(
            f"by (--by) {column} needs a {column} in every row{of}, and {path} has rows without: "
            f"fill the column {column}"
        )
    if len(values) < _FEWEST:
        only = f" ({', '.join(values)})" if values else ""
        raise InvalidArgument(
            f"by (--by) {column} needs rows{of} of two or more values, got {len(values)}{only}: "
            f"leave it out, or choose more rows"
        )


def rows_by_label(
    path: Path, rows: Sequence[PublishedBracket], inputs: Sequence[InputRow]
) -> dict[str, list[InputRow]]:
    """The inputs of each class of a network, in the order of the labels."""
    if not all(row.label for row in rows):
        raise InvalidArgument(
            f"by (--by) label needs a label in every row of {rows[0].network}, and {path} has rows "
            "without: fill the column label"
        )
    classes: dict[str, list[InputRow]] = {}
    for row, one in zip(rows, inputs, strict=True):
        classes.setdefault(row.label, []).append(one)
    numbered = all(label.isdecimal() and len(label) <= MOST_DIGITS for label in classes)
    order = sorted(classes, key=(lambda label: (int(label), label)) if numbered else None)
    return {label: classes[label] for label in order}


def shared_record(record: Record, group: GroupOfRows, error: float) -> Record:
    """The record with the quantile of the claim alone, stated with those of the other groups.

    Its interval was computed at its share of `error`; the confidence is that of all together.
    """
    radii: Any = record.details
    first, *others = record.claims
    row = radii.quantiles[0]
    assumed, about = first.guarantee.assumptions, first.about
    if group.is_pooled:
        # a group is an input with all its networks: groups are a sample if the inputs are
        of_groups = (Assumed.GROUPS_SAMPLED, Assumed.WHOLE_GROUPS)
        rest = [a for a in assumed if a not in of_groups and not isinstance(a, TheseGroups)]
        assumed = (Assumed.SAMPLED, *rest)
        n, sampling = about.groups, Sampling.GROUPED
        about = Scope(About.POPULATION, n, sampling=sampling, groups=n, networks=group.networks)
        first = first.saying(reason=_pooled_note(first, n))
    pooled = group.family == TRAINING
    together = Together.QUANTILES_AND_DIFFERENCES if pooled else Together.QUANTILES
    shared = Jointly(together, group.family_size)
    promise = Guarantee(first.guarantee.footing, error, assumed, shared)
    result = row.result
    if isinstance(result, Quantile):
        result = replace(result, guarantee=promise, note=first.reason)
    return replace(
        record,
        claims=(first.saying(guarantee=promise, about=about), *others),
        details=replace(radii, quantiles=(replace(row, result=result),)),
    )


def _pooled_note(claim: Claim, inputs: int) -> Reason | None:
    around = claim.interval
    if around is None:
        return claim.reason
    low = [Why.POOLED_NO_LOWER_END.of(inputs)] * (around.low == 0)
    return several(low + [Why.POOLED_NO_UPPER_END.of(inputs)] * math.isinf(around.high))


def join_groups(parts: Mapping[str, Result], groups: Sequence[GroupOfRows], along: str) -> Result:
    """The groups side by side, with the difference of every two that share their error."""
    joined = join_results(parts, CURVES)
    families: dict[str, list[str]] = {}
    for group in groups:
        families.setdefault(group.family, []).append(group.name)
    differences = [
        one
        for family in families.values()
        for a, b in combinations(family, 2)
        if (one := _difference(a, parts[a].record, b, parts[b].record, along, len(family)))
    ]
    details = joined.record.details
    members = details.members if isinstance(details, Comparison) else ()
    record = replace(
        joined.record,
        claims=(*joined.record.claims, *(_claim(one, parts) for one in differences)),
        details=Comparison(along, members, tuple(differences)),
    )
    return replace(joined, record=record)


def _difference(
    a: str, first: Record, b: str, second: Record, along: str, groups: int
) -> Difference | None:
    """How much larger the quantile of the first is; None where one has no quantile."""
    mine, other = first.claims[0], second.claims[0]
    share = limit_of(mine)
    if mine.interval is None or other.interval is None or share is None:
        return None
    rests = dict.fromkeys((*mine.guarantee.assumptions, *other.guarantee.assumptions))
    promise = replace(mine.guarantee, assumptions=tuple(rests))
    around = Interval(
        mine.interval.low - other.interval.high, mine.interval.high - other.interval.low
    )
    if along == SPLIT:
        pairs = math.comb(groups, 2)
        around = unpaired_quantile_difference(
            _brackets(first), _brackets(second), share, shares(promise.error, pairs)
        )
        promise = replace(promise, jointly=jointly(Together.PAIRS, pairs))
    value = min(max((mine.value or 0.0) - (other.value or 0.0), around.low), around.high)
    return Difference(a, b, value, around, promise)


def _brackets(record: Record) -> list[Bracket]:
    return [row.result for row in record.inputs if isinstance(row.result, Bracket)]


def _claim(one: Difference, parts: Mapping[str, Result]) -> Claim:
    first, second = (parts[name].record.claims[0] for name in (one.first, one.second))
    said = replace(
        first.said,
        names=(one.first, one.second),
        guarantee=one.guarantee,
        reason=None,
        about=replace(first.about, inputs=first.about.inputs + second.about.inputs),
    )
    share = limit_of(first) or 0.0
    return kinds.QuantileDifference(said, share=share, value=one.value, interval=one.interval)


def check_estimator(method: Any, name: str, gamma: float | None) -> None:  # noqa: ANN401  any method
    """Refuse before hours of work what cannot be estimated from the method's brackets."""
    chosen = estimator_named(name, method.quantile, method.error, gamma)
    if chosen.kind != DEFAULT_ESTIMATOR and hasattr(method, "within"):
        raise InvalidArgument(
            f"estimator (--estimator) {name} needs the bracket of every input as the search left "
            "it; quantile_only (--quantile-only) and within (--within) narrow only some: leave "
            "them out"
        )


def with_estimator(result: Result, name: str, gamma: float | None = None) -> Result:
    """The same result with the quantile of each network by this estimator in the headline.

    What the other estimators say stays beside it. Classes, requirements and pairs of networks keep
    the ranks. An estimator whose distribution the data contradict, or cannot test, is refused:
    undecided.
    """
    if name == DEFAULT_ESTIMATOR and gamma is None:
        return result
    if not result.parts:
        return replace(result, record=_with_headline(result.record, name, gamma))
    parts = {part: with_estimator(one, name, gamma) for part, one in result.parts.items()}
    headlines = {part: _headline(one.record) for part, one in parts.items()}
    claims = tuple(
        headlines[claim.names[0]].saying(names=claim.names) if _is_headline(claim) else claim
        for claim in result.claims
    )
    return replace(result, record=replace(result.record, claims=claims), parts=parts)


def _with_headline(record: Record, name: str, gamma: float | None) -> Record:
    radii, before = record.details, _headline(record)
    if not isinstance(radii, Radii):
        raise InvalidArgument(
            f"estimator (--estimator) {name} is for critical radii"
            ": leave it out, or use surefoot critical"
        )
    if before.about.groups:
        raise InvalidArgument(
            f"estimator (--estimator) {name} takes inputs for independent, and these are in "
            f"groups: leave it out for the mean over groups"
        )
    share = next(q.result.share for q in radii.quantiles if isinstance(q.result, Quantile))
    error, together = before.guarantee.error, before.guarantee.jointly
    joint = together is not None and together.of is Together.CLASSES_AND_INPUTS
    row = _row(estimator_named(name, share, error / 2 if joint else error, gamma), record.inputs)
    if joint:
        row = replace(row, result=at_error(row.result, error, together))
    others = tuple(q for q in radii.quantiles if q.estimator != row.estimator)
    radii = replace(radii, quantiles=(row, *others))
    [headline] = claims_of(replace(radii, classes=()), record.inputs)
    headline = replace(headline, share=share, norm=getattr(before, "norm", headline.norm))
    claims = tuple(headline if _is_headline(claim) else claim for claim in record.claims)
    return replace(record, details=radii, claims=claims)


def _row(chosen: QuantileEstimator, rows: Sequence[InputRow]) -> QuantileRow:
    """In an order that is random and depends on nothing but the ids: algorithm-1 stops early."""
    ordered = sorted(rows, key=lambda row: hashlib.sha256(row.id.encode()).digest())
    local = [row.result for row in ordered if isinstance(row.result, Bracket)]
    quantile = refuse_contradicted(chosen.conclude(local, chosen.error))
    if isinstance(quantile, Quantile) and chosen.kind == AlgorithmOne.kind:
        notes = [note for note in (quantile.note, Why.RANDOM_ORDER.of()) if note]
        quantile = replace(quantile, note=several(notes))
    used = quantile.inputs if isinstance(quantile, Quantile) else len(rows)
    return QuantileRow(ALL, used, chosen.kind, quantile)


def _is_headline(claim: Claim) -> bool:
    return isinstance(claim, kinds.RadiusQuantile) and claim.about.of is About.POPULATION


def _headline(record: Record) -> Claim:
    return next(claim for claim in record.claims if _is_headline(claim))


def brackets(
    path: Path | str,
    *,
    networks: Sequence[str] = (),
    split: str | None = None,
    source: str | None = None,
    quantile: float = 0.05,
    error: float = 0.05,
    at: Sequence[float] = (),
    by: str | None = None,
    ceiling: float | None = None,
    estimator: str = DEFAULT_ESTIMATOR,
    gamma: float | None = None,
) -> Result:
    """Quantiles of the brackets in a CSV file, network by network.

    `at`: radii at which robust accuracy is stated too. `by`: "split", "label" or "training", a
    column of the file whose groups each get a quantile, all of them together. `ceiling`: the
    largest radius that counts; with it there is an interval for the population's mean.
    `estimator`: of the headline; shortest-ranks, order-statistics, log-normal or algorithm-1, the
    last with `gamma`, the length of interval at which it stops.
    """
    if by not in (None, SPLIT, LABEL, TRAINING):
        raise InvalidArgument(f"by (--by) must be split, label or training, got {by!r}")
    if by == TRAINING and at:
        raise InvalidArgument(
            "at (--at) counts inputs of one network, and by (--by) training pools networks: leave "
            "out one of the two"
        )
    estimator_named(estimator, quantile, error, gamma)
    if by is not None and estimator != DEFAULT_ESTIMATOR:
        raise InvalidArgument(
            f"estimator (--estimator) {estimator} is for whole networks: leave out by (--by) {by}"
        )
    if ceiling is not None and not 0 < ceiling < math.inf:
        raise InvalidArgument(
            f"ceiling (--ceiling) must be a radius above 0, got {ceiling:g}: try 0.4"
        )
    method = CriticalLevel(quantile=quantile, error=error)
    every = read_brackets(path, source)
    rows = [
        row
        for row in every
        if (not networks or row.network in networks) and (split is None or row.split == split)
    ]
    if not rows and not networks:
        raise InvalidArgument(
            f"{path} has no rows of {_choice(split, source)}: choose "
            + " or ".join(sorted({_choice(row.split, row.source or None) for row in every}))
        )
    names = list(networks) or list(dict.fromkeys(row.network for row in rows))
    for name in names:
        own = [row for row in rows if row.network == name]
        _check(Path(path), name, own, None if by == "split" else split, source, by)
    parts, selection, where = dict[str, Result](), _choice(split, source), Path(path)
    if by is not None and by != LABEL:
        groups = groups_of_rows(where, names, rows, by)
        for group in groups:
            chosen = f"{by} {group.value}, {selection}"
            record = _record(where, group, method, chosen, None, ceiling)
            parts[group.name] = Result(shared_record(record, group, error))
        result = join_groups(parts, groups, by)
    else:
        for name in names:
            group = GroupOfRows(name, tuple(row for row in rows if row.network == name))
            parts[name] = Result(_record(where, group, method, selection, by, ceiling))
        result = join_results(parts, CURVES)
    result = with_estimator(result, estimator, gamma)
    return result.at_radius(*at) if at else result


def _check(
    path: Path,
    name: str,
    rows: Sequence[PublishedBracket],
    split: str | None,
    source: str | None,
    by: str | None,
) -> None:
    if not rows:
        known = ", ".join(sorted({row.network for row in read_brackets(path)}))
        raise InvalidArgument(
            f"{path} has no rows of network {name!r} as chosen; it has {known}: choose among them"
        )
    keys = Counter((row.split, row.image) if by == "split" else row.image for row in rows)
    key, times = keys.most_common(1)[0]
    if times > 1:
        image = key if isinstance(key, str) else f"{key[1]} of split {key[0]}"
        ways = [
            f"{option} (--{option}) {' or '.join(sorted(values))}"
            for option, chosen, values in (
                ("split", split, set() if by == "split" else {row.split for row in rows}),
                ("source", source, {row.source for row in rows}),
            )
            if chosen is None and len(values) > 1
        ]
        raise InvalidArgument(
            f"{path} has {times} rows of {name}, image {image}: one bracket an input is needed"
            + (f"; choose by {' and '.join(ways)}" if ways else "; leave out the others")
        )


def _record(
    path: Path,
    group: GroupOfRows,
    method: CriticalLevel,
    selection: str,
    by: str | None,
    ceiling: float | None,
) -> Record:
    spec = BracketFileSpec(str(path), selection)
    rows = group.rows
    inputs = tuple(_record_row(row, group) for row in rows)
    classes = rows_by_label(path, rows, inputs) if by == LABEL else {}
    shared = replace(method, error=shares(method.error, group.family_size))
    quantiles, of_classes = quantiles_of(shared, inputs, None, classes)
    radii = Radii(quantiles, of_classes, (), None, published=True)
    claims = claims_of(radii, inputs)
    of_one = replace(claims[0].guarantee, error=method.error, jointly=None)
    alone = claims[0].saying(guarantee=of_one)
    means = () if group.is_pooled else mean_claims(alone, inputs, ceiling)
    networks = ", ".join(dict.fromkeys(row.network for row in rows))
    return Record(
        digest=hashlib.sha256(path.read_bytes() + repr((spec, networks)).encode()).hexdigest(),
        spec=spec,
        claims=(*claims, *means),
        inputs=inputs,
        details=radii,
        findings=(),
        trials=0,
        source=Source(networks, str(path)),
    )


def _choice(split: str | None, source: str | None) -> str:
    """Which rows, in words."""
    chosen = [f"split {split}"] * (split is not None) + [f"source {source}"] * (source is not None)
    return ", ".join(chosen) or "all rows"


def _record_row(row: PublishedBracket, group: GroupOfRows) -> InputRow:
    bracket: Bracket = replace(
        row.bracket, reason=row.bracket.reason or "published", seconds=row.seconds
    )
    plain = row.label.isdecimal() and len(row.label) <= MOST_DIGITS
    label = int(row.label) if plain else None
    predicted = -1 if label is None else label
    # a name that no other group has, where groups stand side by side; of pooled networks the image
    # is what was sampled, with all of its brackets
    name = f"{row.network} {row.split} {row.image}" if group.value else row.image
    unit = f"{row.split} {row.image}".strip() if group.is_pooled else ""
    return InputRow(name, label, predicted, bracket, group=unit)


def tally_files(paths: Sequence[Path | str], columns: ColumnNames, error: float) -> Result:
    """The claims of one file; of several, their differences on the cases that all of them have."""
    if not 0 < error < 1:
        raise InvalidArgument(
            f"confidence (--confidence) must lie between 0 and 1, got {1 - error:g}: try 0.95"
        )
    names = _names([Path(path) for path in paths])
    files = {name: read_outcomes(path, columns) for name, path in zip(names, paths, strict=True)}
    if len(files) == 1:
        return Result(tally_record(next(iter(files.values())), error, columns.by))
    for name, file in files.items():  # classes that were guessed have no part in a comparison
        remarks = tuple(remark for remark in file.remarks if remark.name != "class")
        cases = tuple(replace(case, class_name="") for case in file.cases)
        files[name] = replace(file, cases=cases, remarks=remarks)
    kept, findings = matched(files)
    records = {name: tally_record(file, error) for name, file in kept.items()}
    whole = compare_tallies(records, findings, error)
    return Result(whole, {name: Result(record) for name, record in records.items()})


def _names(paths: Sequence[Path]) -> list[str]:
    """The name of each file; with its folders where two are called the same."""
    uses = Counter(path.name for path in paths)
    names = [path.name if uses[path.name] == 1 else str(path) for path in paths]
    if (twice := first_again(names)) is not None:
        raise InvalidArgument(f"{names[twice]} is given twice: compare different files")
    return names
