"""Published brackets by a column of their file: splits, classes, trainings of the networks.

Each group has its own quantile, and all of them hold together: every one at its share of the error.
Splits are independent samples, and the difference of their quantiles has a test of its own. Of
trainings, whose networks saw the same inputs, the difference lies between those of the ends of the
two intervals: whenever both are right, however they depend on each other. Inputs are never paired.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from surefoot.catalogue.option_values import MOST_DIGITS
from surefoot.conclude.comparison import CURVES
from surefoot.core.claims import About, Claim, Sampling, Scope
from surefoot.core.results import Bracket, Guarantee, Interval, Quantile
from surefoot.errors import InvalidArgument
from surefoot.inputs.bracket_files import PublishedBracket
from surefoot.population import Difference, unpaired_quantile_difference
from surefoot.population.requirement import GROUPS_SAMPLED, SAMPLED, WHOLE_GROUPS
from surefoot.records.record import Comparison, InputRow, Radii, Record
from surefoot.statistics.multiplicity import shares
from surefoot.study.comparison import join_results
from surefoot.study.result import Result

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

    def id_of(self, row: PublishedBracket) -> str:
        """The name of the input: one that no other group has, where groups stand side by side."""
        return f"{row.network} {row.split} {row.image}" if self.value else row.image

    def unit_of(self, row: PublishedBracket) -> str:
        """What was sampled: of pooled networks the image, with all of its brackets."""
        return f"{row.split} {row.image}".strip() if self.is_pooled else ""

    @property
    def together(self) -> str:
        """What the confidence of the quantile is for."""
        two = self.family_size == _FEWEST
        quantiles = "both quantiles" if two else f"all {self.family_size} quantiles"
        if self.family != TRAINING:
            return quantiles
        return f"{quantiles} and their difference{'' if two else 's'}"


def check_by(by: str | None, at: Sequence[float]) -> None:
    """Refuse a column by which nothing can be grouped."""
    if by not in (None, SPLIT, LABEL, TRAINING):
        raise InvalidArgument(f"by (--by) must be split, label or training, got {by!r}")
    if by == TRAINING and at:
        raise InvalidArgument(
            "at (--at) counts inputs of one network, and by (--by) training pools networks: leave "
            "out one of the two"
        )


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
    radii, (first, *others) = record.details, record.claims
    if not isinstance(radii, Radii):
        raise InvalidArgument(f"{group.name} holds no critical radii")
    row = radii.quantiles[0]
    promise = Guarantee(
        first.guarantee.footing,
        error,
        _of_networks(first.guarantee.assumptions)
        if group.is_pooled
        else first.guarantee.assumptions,
        group.together,
    )
    about = first.about
    if group.is_pooled:
        name = f"pairs of such an input and one of the {group.networks} networks"
        about = Scope(About.POPULATION, about.groups, name, Sampling.GROUPED, about.groups)
        first = replace(first, reason=_pooled_note(first, about.groups))
    result = row.result
    if isinstance(result, Quantile):
        result = replace(result, guarantee=promise, note=first.reason)
    return replace(
        record,
        claims=(replace(first, guarantee=promise, about=about), *others),
        details=replace(radii, quantiles=(replace(row, result=result),)),
    )


def _of_networks(assumptions: Sequence[str]) -> tuple[str, ...]:
    """Where a group is an input with all its networks, groups are a sample if the inputs are."""
    ending = GROUPS_SAMPLED.partition(" are ")[2]
    rest = [a for a in assumptions if not a.endswith(ending) and a != WHOLE_GROUPS]
    return (SAMPLED, *rest)


def _pooled_note(claim: Claim, inputs: int) -> str:
    around = claim.interval
    if around is None:
        return claim.reason
    notes = []
    if around.low == 0:
        notes.append(
            f"{inputs:,} inputs, or what is proved of them, are too little for a lower end"
        )
    if math.isinf(around.high):
        notes.append(f"{inputs:,} inputs, or what is refuted of them, give no upper end")
    return "; ".join(notes)


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
    if mine.interval is None or other.interval is None or mine.limit is None:
        return None
    rests = dict.fromkeys((*mine.guarantee.assumptions, *other.guarantee.assumptions))
    promise = replace(mine.guarantee, assumptions=tuple(rests))
    around = Interval(
        mine.interval.low - other.interval.high, mine.interval.high - other.interval.low
    )
    if along == SPLIT:
        pairs = math.comb(groups, 2)
        around = unpaired_quantile_difference(
            _brackets(first), _brackets(second), mine.limit, shares(promise.error, pairs)
        )
        promise = replace(promise, jointly=f"all {pairs} pairs" if pairs > 1 else "")
    value = min(max((mine.value or 0.0) - (other.value or 0.0), around.low), around.high)
    return Difference(a, b, value, around, promise)


def _brackets(record: Record) -> list[Bracket]:
    return [row.result for row in record.inputs if isinstance(row.result, Bracket)]


def _claim(one: Difference, parts: Mapping[str, Result]) -> Claim:
    first, second = (parts[name].record.claims[0] for name in (one.first, one.second))
    return replace(
        first,
        kind="quantile_difference",
        names=(one.first, one.second),
        value=one.value,
        interval=one.interval,
        guarantee=one.guarantee,
        reason="",
        about=replace(first.about, inputs=first.about.inputs + second.about.inputs),
    )
