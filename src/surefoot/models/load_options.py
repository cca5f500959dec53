"""What a user says about a model that is loaded, checked once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surefoot.errors import InvalidArgument
from surefoot.models.normalise import Normalise
from surefoot.results import Interval
from surefoot.subject import Scores

Numbers = Sequence[float] | float | None


@dataclass(frozen=True)
class LoadOptions:
    """The options of `load_model`, each in its own type."""

    bounds: Interval | None
    normalise: Normalise
    scores: Scores | None
    shape: tuple[int, ...] | None
    output: str | None = None
    device: str | None = None
    half: bool = False
    trust: bool = False

    def refuse_output(self) -> None:
        """For every model that is not an ONNX file."""
        if self.output is not None:
            raise InvalidArgument(
                f"output {self.output!r}: only an ONNX file has outputs to choose from"
            )

    def refuse_device(self) -> None:
        """For every model that PyTorch does not run."""
        if self.device is not None:
            raise InvalidArgument(
                f"device {self.device!r}: only PyTorch models can be moved to a device"
            )
        if self.half:
            raise InvalidArgument("half precision is for PyTorch models: leave it out")


def normalisation(mean: Numbers, std: Numbers) -> Normalise:
    """From a mean, a std or both; one number stands for all channels."""
    shift, divisor = _numbers(mean, 0.0), _numbers(std, 1.0)
    return Normalise(
        shift * len(divisor) if mean is None else shift,
        divisor * len(shift) if std is None else divisor,
    )


def _numbers(values: Numbers, default: float) -> tuple[float, ...]:
    if values is None:
        return (default,)
    return tuple(float(v) for v in np.atleast_1d(np.asarray(values)))


def interval(bounds: Sequence[float] | Interval | None) -> Interval | None:
    """The range of input values."""
    if bounds is None or isinstance(bounds, Interval):
        return bounds
    if len(bounds) != 2 or not -math.inf < bounds[0] < bounds[1] < math.inf:
        raise InvalidArgument(
            f"bounds are two finite numbers, the lower first, got {tuple(bounds)}"
        )
    return Interval(float(bounds[0]), float(bounds[1]))


def scores_kind(name: str | None) -> Scores | None:
    """What the model's output is said to be."""
    if name is None:
        return None
    try:
        return Scores(name)
    except ValueError:
        raise InvalidArgument(
            "scores are 'logits', 'probabilities', 'values' (numbers that are no class scores) or "
            f"'objects' (such as boxes), got {name!r}"
        ) from None
