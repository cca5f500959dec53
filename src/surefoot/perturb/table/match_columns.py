"""The noise of a table matched with the columns of the data: names, order, spread, categories."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.perturb.compose import Chain, Mixture
from surefoot.perturb.random_level import RandomLevel
from surefoot.perturb.table.columns import Column, Feature, OneHot
from surefoot.perturb.table.noise import TableNoise
from surefoot.subject.inputs import Feature as DataColumn
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Perturbation


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
            raise InvalidArgument(
                f"table: column {names[0]!r} is described twice: describe it once"
            )
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


def scales_from_inputs(perturbation: object) -> bool:
    """Whether a part of it is relative to the spread of the inputs that are studied."""
    inner = getattr(perturbation, "inner", None)
    parts = (*getattr(perturbation, "parts", ()), *filter(None, [inner]))
    own = bool(getattr(perturbation, "relative_to", ""))
    return own or any(scales_from_inputs(part) for part in parts)
