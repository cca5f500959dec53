"""Pairs of a width and an error, as an option gives them; images as the paper chooses them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from papers.request import Request
from surefoot.commands.values import as_numbers
from surefoot.errors import InvalidArgument
from surefoot.records.options import FileOptions
from surefoot.statistics.fixed_width import check_width_and_error


@dataclass(frozen=True)
class Pair:
    """How far an estimate may be from the truth, and how often it may be farther."""

    width: float
    error: float

    def __post_init__(self) -> None:
        check_width_and_error(self.width, self.error)

    @property
    def confidence(self) -> float:
        """1 - error."""
        return 1 - self.error

    def __str__(self) -> str:
        return f"width {self.width:g}, error {self.error:g}"


def read_pairs(given: Sequence[object]) -> list[Pair]:
    """The pairs of `pairs` (`--pairs 0.05,0.05 --pairs 0.01,0.01`)."""
    pairs = []
    for one in given:
        numbers = as_numbers("pairs", one)
        if len(numbers) != 2:
            raise InvalidArgument(
                f"pairs (--pairs) takes a width and an error, 0.05,0.05, got {one!r}: give each "
                "pair by itself"
            )
        pairs.append(Pair(*numbers))
    return pairs


def with_images(request: Request, number: float | None, *, right: bool = True) -> Request:
    """The request with its models and images loaded, at most `number` of these, drawn at random.

    `right`: only images that every model classifies correctly when clean, as in the paper.
    """
    files = replace(request.files, correct_only=True) if right else request.files
    models, inputs = replace(request, files=files).load()
    if not len(inputs):
        raise InvalidArgument(
            "no image is classified correctly by all models: give other models or more images"
        )
    most = len(inputs) if number is None else _whole(number)
    if most < len(inputs):
        rng = np.random.default_rng([request.seed, most])
        rows = np.sort(rng.permutation(len(inputs))[:most])
        words = f"{most} of {len(inputs)} inputs drawn at random (seed {request.seed})"
        if inputs.selection:
            words += f", after: {inputs.selection}"
        inputs = replace(inputs, selection=words).subset(rows)
    return replace(request, models=models, data=inputs, files=FileOptions())


def _whole(number: float) -> int:
    if number < 1 or number != int(number):
        raise InvalidArgument(f"images (--images) must be integers ≥ 1, got {number:g}")
    return int(number)


def image_numbers(given: Sequence[float]) -> list[int]:
    """Numbers of images, in rising order."""
    return sorted({_whole(number) for number in given})


def one_number(given: Sequence[float]) -> int:
    """The number of images, where there can be one only."""
    numbers = image_numbers(given)
    if len(numbers) != 1:
        words = ",".join(map(str, numbers))
        raise InvalidArgument(f"images (--images) is one number here, got {words}: write one")
    return numbers[0]
