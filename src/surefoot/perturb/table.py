"""Noise on the columns of a table, each in its own units, matched to the columns of the data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from surefoot.core.limits import one_of
from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument
from surefoot.perturb._ops.arrays import PerRow, clip, copy_rows, level_per_row, place_like
from surefoot.perturb._ops.definition import Levels, perturbation
from surefoot.perturb.compose import Chain, Mixture, RandomLevel
from surefoot.perturb.table_columns import Column, Feature, OneHot
from surefoot.subject.inputs import Feature as DataColumn
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Array, Drawn, Level, Perturbation, Stream, View

_LISTED_FEATURES = 6


@perturbation
class TableNoise:
    """Every feature changes by its own noise, times the level.

    A number changes by noise · level · z, with z standard normal or uniform in [-1, 1), rounded
    for whole numbers, and stays in its range. A category changes with probability
    min(1, noise · level); what changes at one level changes to the same value at every higher one.
    A code that is none of the values of its feature counts as the last of them. With relative_to
    sd, the noise of a number that states none is the standard deviation of its column over the
    inputs of the study; a category that states none never changes.
    """

    level: float | None
    features: tuple[Column, ...] = ()
    relative_to: str = field(default="", metadata=one_of("", "sd"))
    kind = "table"
    view = View.VALUES
    levels = Levels(unit="times the noise of each feature")

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))
        for feature in self.features:
            if not isinstance(feature, Feature | OneHot):
                raise InvalidArgument(
                    f"table: features must be Feature(…) or OneHot(…), got {feature!r}"
                )
        if not self.relative_to:
            known = (replace(f, noise=0.0) if f.noise is None else f for f in self.features)
            object.__setattr__(self, "features", tuple(known))
        names = self.columns
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice or not (names or self.relative_to):
            raise InvalidArgument(
                f"table: every column needs a name of its own, {twice[0]!r} comes twice: rename one"
                if twice
                else "table: it needs at least one feature, got none"
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns."""
        names = ((f.name,) if isinstance(f, Feature) else f.names for f in self.features)
        return tuple(chain.from_iterable(names))

    @property
    def phrase(self) -> str:
        """What happens to each feature; the first six when there are more."""
        moving = [f.words for f in self.features if f.noise]
        changes = "; ".join(moving[:_LISTED_FEATURES]) if moving else "nothing changes"
        if len(moving) > _LISTED_FEATURES:
            changes += f"; and {len(moving) - _LISTED_FEATURES} more"
        fixed = len(self.features) - len(moving)
        rest = f"; {fixed} never change" if fixed and moving else ""
        plain = (changes + rest).replace("{", "{{").replace("}", "}}")
        scale = "in the units of each feature"
        if self.relative_to:
            scale = "relative to the spread of each feature over these inputs"
        return f"noise {scale}, times {{level}} ({plain})"

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Drawn:
        """Normal and uniform numbers: one for each number that changes, two for each category."""
        if self.relative_to and any(f.noise is None for f in self.features or (Feature("all"),)):
            raise InvalidArgument(
                "table: the spread of each column is that over the inputs of a study: use it in a "
                "Study, or give every feature its noise"
            )
        if tuple(shape) != (len(self.columns),):
            raise InvalidArgument(
                f"table: {len(self.columns)} columns are described, but one input has shape "
                f"{tuple(shape)}: describe every column, those that never change with noise 0"
            )
        plan = self._plan
        return (
            stream.normal((n, plan.normals)),
            stream.uniform((n, plan.uniforms + 2 * (len(plan.codes.at) + len(plan.groups.at)))),
        )

    def apply(self, x: Array, drawn: Drawn, level: Level, bounds: Interval | None) -> Array:
        """Change the numbers, change the categories, clip."""
        normal, uniform = drawn
        out = copy_rows(x, len(normal))
        plan = self._plan
        strength = level_per_row(level, normal)
        cut = plan.uniforms
        if len(plan.numbers.noise):
            _move_numbers(out, x, plan.numbers, (normal, uniform[:, :cut]), strength)
        if len(plan.codes.at):
            end = cut + 2 * len(plan.codes.at)
            _change_codes(out, x, plan.codes, uniform[:, cut:end], strength)
            cut = end
        if len(plan.groups.at):
            _change_groups(out, plan.groups, uniform[:, cut:], strength)
        return clip(out, bounds)

    def rectangle(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """How far each column moves at level 1 at most, and the ends of its range: for proofs.

        Noise of a normal shape goes farther: there the level counts standard deviations.
        """
        columns: list[tuple[float, float, float]] = []
        for feature in self.features:
            in_steps = isinstance(feature, OneHot) or feature.values or feature.whole
            name = feature.names[0] if isinstance(feature, OneHot) else feature.name
            if in_steps and feature.noise:
                raise InvalidArgument(
                    f"table: {name} changes in steps, and a proof is about all numbers between: "
                    "give it noise 0, or sample with certify"
                )
            if isinstance(feature, OneHot):
                columns += [(0.0, -np.inf, np.inf)] * len(feature.names)
                continue
            low = -np.inf if feature.low is None else feature.low
            high = np.inf if feature.high is None else feature.high
            columns.append((float(feature.noise or 0.0), low, high))
        unit, low_ends, high_ends = np.array(columns, np.float64).reshape(-1, 3).T
        if not unit.any():
            raise InvalidArgument("table: no feature changes: give some of them a noise above 0")
        return unit, low_ends, high_ends

    def drawn_within(self) -> TableNoise:
        """The same noise drawn evenly from its rectangle."""
        even = (replace(f, shape="uniform") if isinstance(f, Feature) else f for f in self.features)
        return replace(self, features=tuple(even))

    @cached_property
    def _plan(self) -> _Plan:
        """Columns grouped by how they change."""
        widths = [1 if isinstance(f, Feature) else len(f.names) for f in self.features]
        starts = np.concatenate([[0], np.cumsum(widths)]).tolist()
        placed = [(f, at) for f, at in zip(self.features, starts, strict=False) if f.noise]
        plain = [(f, at) for f, at in placed if isinstance(f, Feature) and not f.values]
        normal = [(f, at) for f, at in plain if f.shape == "normal"]
        uniform = [(f, at) for f, at in plain if f.shape == "uniform"]
        codes = [
            (f.values, float(f.noise or 0), at)
            for f, at in placed
            if isinstance(f, Feature) and f.values
        ]
        groups = [
            (tuple(map(float, range(at, at + len(f.names)))), f.noise, at)
            for f, at in placed
            if isinstance(f, OneHot)
        ]
        numbers = _numbers(normal + uniform)
        return _Plan(len(normal), len(uniform), numbers, _categories(codes), _categories(groups))


@dataclass(frozen=True)
class _Numbers:
    """Number columns that change, those with normal noise first."""

    at: slice | list[int]
    noise: NDArray[np.float32]
    low: NDArray[np.float32] | None
    high: NDArray[np.float32] | None
    whole: NDArray[np.bool_] | None


@dataclass(frozen=True)
class _Categories:
    """Codes: a column and its values each. Groups: the columns are the values."""

    at: list[int]
    noise: NDArray[np.float32]
    sizes: NDArray[np.float32]
    values: NDArray[np.float32]


@dataclass(frozen=True)
class _Plan:
    normals: int
    uniforms: int
    numbers: _Numbers
    codes: _Categories
    groups: _Categories


def _numbers(placed: list[tuple[Feature, int]]) -> _Numbers:
    at = [column for _, column in placed]
    beside = bool(at) and at == list(range(at[0], at[0] + len(at)))
    low = [-np.inf if f.low is None else f.low for f, _ in placed]
    high = [np.inf if f.high is None else f.high for f, _ in placed]
    whole = [f.whole for f, _ in placed]
    return _Numbers(
        slice(at[0], at[0] + len(at)) if beside else at,
        np.asarray([f.noise for f, _ in placed], np.float32),
        np.asarray(low, np.float32) if np.isfinite(low).any() else None,
        np.asarray(high, np.float32) if np.isfinite(high).any() else None,
        np.asarray(whole) if any(whole) else None,
    )


def _categories(placed: list[tuple[tuple[float, ...], float, int]]) -> _Categories:
    """One row of values for each category, short rows filled up with NaN."""
    longest = max((len(values) for values, _, _ in placed), default=0)
    values = np.full((len(placed), longest), np.nan, np.float32)
    for row, (known, _, _) in zip(values, placed, strict=True):
        row[: len(known)] = known
    return _Categories(
        [at for _, _, at in placed],
        np.asarray([noise for _, noise, _ in placed], np.float32),
        np.asarray([len(known) for known, _, _ in placed], np.float32),
        values,
    )


def _move_numbers(out: Array, x: Array, numbers: _Numbers, drawn: Drawn, level: PerRow) -> None:
    """Write the changed numbers into `out`."""
    xp = array_namespace(x)
    normal, uniform = drawn
    change = xp.concat([normal, uniform * 2 - 1], axis=1) if uniform.shape[1] else normal
    change = change * (place_like(numbers.noise, x) * level)
    if numbers.whole is not None:
        change = xp.where(place_like(numbers.whole, x), xp.round(change), change)
    here = x[:, numbers.at]
    change += here
    if numbers.low is not None:
        change = xp.maximum(change, xp.minimum(place_like(numbers.low, x), here))
    if numbers.high is not None:
        change = xp.minimum(change, xp.maximum(place_like(numbers.high, x), here))
    out[:, numbers.at] = change


def _change_codes(out: Array, x: Array, codes: _Categories, drawn: Array, level: PerRow) -> None:
    """Write other codes into `out` where they change.

    One of all values but the last is picked; where that is the code itself, the last is taken.
    """
    xp = array_namespace(x)
    count, longest = codes.values.shape
    here = x[:, codes.at]
    picked = _random_choice(drawn[:, count:], place_like(codes.sizes - 1, x))
    offset = place_like(longest * np.arange(count), x)
    fresh = place_like(codes.values.reshape(-1), x)[picked + offset]
    last = codes.values[np.arange(count), codes.sizes.astype(np.int64) - 1]
    fresh = xp.where(fresh == here, place_like(last, x), fresh)
    change = drawn[:, :count] < place_like(codes.noise, x) * level
    out[:, codes.at] = xp.where(change, fresh, here)


def _change_groups(out: Array, groups: _Categories, drawn: Array, level: PerRow) -> None:
    """Swap the largest value of each group with another one, in `out`."""
    xp = array_namespace(out)
    count, longest = groups.values.shape
    filled = np.isfinite(groups.values)
    columns = np.where(filled, groups.values, 0).astype(np.int64)
    here = xp.where(place_like(filled, out), out[:, place_like(columns, out)], -xp.inf)
    place = xp.argmax(here, axis=-1)
    picked = _random_choice(drawn[:, count:], place_like(groups.sizes - 1, out))
    picked = picked + xp.astype(picked >= place, picked.dtype)
    change = drawn[:, :count] < place_like(groups.noise, out) * level
    flat = place_like(columns.reshape(-1), out)
    offset = place_like(longest * np.arange(count), out)
    source = flat[place + offset]
    target = xp.where(change, flat[picked + offset], source)
    rows = xp.arange(len(out), device=device(out))[:, None]
    largest, other = out[rows, source], out[rows, target]
    out[rows, source] = other
    out[rows, target] = largest


def _random_choice(uniform: Array, sizes: Array) -> Array:
    """A uniformly random integer from 0 to size - 1."""
    xp = array_namespace(uniform)
    return xp.astype(xp.minimum(xp.floor(uniform * sizes), sizes - 1), xp.int64)


def for_columns(perturbation: Perturbation, inputs: Inputs) -> Perturbation:
    """The perturbation with every column of the inputs described, those of a table in its order.

    What draws no noise on tables stays as it is, and so does what describes the columns already.
    """
    match perturbation:
        case TableNoise():
            return _described(perturbation, inputs)
        case RandomLevel(inner=inner):
            matched = for_columns(inner, inputs)
            return perturbation if matched is inner else replace(perturbation, inner=matched)
        case Chain(parts=parts) | Mixture(parts=parts):
            all_matched = tuple(for_columns(part, inputs) for part in parts)
            same = all(new is old for new, old in zip(all_matched, parts, strict=True))
            return perturbation if same else replace(perturbation, parts=all_matched)
        case _:
            return perturbation


def _described(noise: TableNoise, inputs: Inputs) -> TableNoise:
    if not noise.relative_to and not inputs.features:
        return noise
    shape = inputs.x.shape[1:]
    if len(shape) != 1:
        raise InvalidArgument(
            f"table: one input of {inputs.source} must be a row of columns, got shape {shape}: "
            "choose a perturbation of images, of signals or of values such as linf"
        )
    if noise.relative_to and len(inputs) < 2:
        raise InvalidArgument(
            f"table: the spread of columns needs at least 2 inputs, {inputs.source} has "
            f"{len(inputs)}: give the noise of each feature"
        )
    columns = inputs.features or tuple(DataColumn(f"value {i}") for i in range(shape[0]))
    stated = _by_column(noise, columns, inputs)
    features: list[Column] = []
    place = 0
    while place < len(columns):
        own = stated.get(place)
        if isinstance(own, OneHot):
            features.append(own)
            place += len(own.names)
            continue
        features.append(_feature(own, columns[place], inputs.x[:, place], noise.relative_to))
        place += 1
    if noise.relative_to and not any(f.noise for f in features):
        raise InvalidArgument(
            f"table: nothing changes in {inputs.source}: every column is constant or a category: "
            "give the noise of a feature"
        )
    return replace(noise, features=tuple(features))


def _by_column(
    noise: TableNoise, columns: tuple[DataColumn, ...], inputs: Inputs
) -> dict[int, Column]:
    """What the noise states, by the place of the (first) column that it is about."""
    if not inputs.features:
        if noise.features and len(noise.columns) != len(columns):
            raise InvalidArgument(
                f"table: {inputs.source} does not name its {len(columns)} columns, and "
                f"{len(noise.columns)} are described: describe all, in their order"
            )
        places = {name: i for i, name in enumerate(noise.columns)}
    else:
        places = {c.name: i for i, c in enumerate(columns)}
        places |= {c.heading: i for i, c in enumerate(columns)}
    stated: dict[int, Column] = {}
    for feature in noise.features:
        names = feature.names if isinstance(feature, OneHot) else (feature.name,)
        for name in names:
            if name not in places:
                raise InvalidArgument(
                    f"table: {inputs.source} has no column {name!r}: its columns are "
                    f"{', '.join(c.name for c in columns)}; name one of them"
                )
        first = places[names[0]]
        if [places[name] for name in names] != list(range(first, first + len(names))):
            raise InvalidArgument(
                f"table: the columns of the one-hot group {feature.name} must be beside each other "
                f"in {inputs.source}, in this order: move them"
            )
        if first in stated:
            twice = f"column {names[0]!r} is described twice"
            raise InvalidArgument(f"table: {twice}: describe it once")
        stated[first] = feature
    return stated


def _feature(
    stated: Feature | None, column: DataColumn, values: NDArray[np.float32], relative_to: str
) -> Feature:
    """One column: as stated, and for the rest as the data have it."""
    own = Feature(column.name) if stated is None else stated
    own = replace(own, name=column.name, unit=own.unit or column.unit)
    if column.categories:
        return _category(own, column)
    if own.values:
        return replace(own, noise=own.noise or 0.0)
    noise = own.noise
    if noise is None:
        noise = _spread(values) if relative_to else 0.0
    return replace(own, noise=noise, whole=own.whole or column.whole)


def _category(own: Feature, column: DataColumn) -> Feature:
    """A column of codes: it takes another of its categories, and only if a noise is stated."""
    names = tuple(str(category) for category in column.categories)
    allowed = own.categories or names
    unknown = [name for name in allowed if name not in names]
    if unknown:
        raise InvalidArgument(
            f"table: column {column.name!r} has no category {unknown[0]!r}: it has "
            f"{', '.join(names)}; name one of them"
        )
    if own.values and not own.categories:
        raise InvalidArgument(
            f"table: column {column.name!r} holds the categories {', '.join(names)}: name those "
            "it may take as categories, and leave out values"
        )
    codes = tuple(float(names.index(name)) for name in allowed)
    if len(codes) < 2:
        if own.noise:
            raise InvalidArgument(
                f"table: column {column.name!r} has one category only ({allowed[0]}) and cannot "
                "change: leave out its noise"
            )
        return Feature(column.name, 0.0, unit=own.unit)
    return replace(own, noise=own.noise or 0.0, values=codes, categories=allowed)


def _spread(values: NDArray[np.float32]) -> float:
    """The standard deviation to six digits, so that machines agree on it; 0 for a constant."""
    if values.min() == values.max():
        return 0.0
    return float(f"{np.std(values.astype(np.float64)):.6g}")
