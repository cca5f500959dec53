"""What is done to an input between the perturbation and the network."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.subject.protocols import LARGEST_NUMBER, Array


@dataclass(frozen=True)
class Normalise:
    """(x - mean) / std, per channel or with one number for all."""

    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        if len(self.mean) != len(self.std):
            raise InvalidArgument(
                f"mean has {len(self.mean)} numbers and std {len(self.std)}: give as many of each"
            )
        if not all(0 < s < math.inf for s in self.std):
            raise InvalidArgument(f"std must be finite and above 0, got {self.std}")
        if not all(math.isfinite(m) for m in self.mean):
            raise InvalidArgument(f"mean must be finite, got {self.mean}")
        small = 1 / LARGEST_NUMBER
        if any(abs(m) > LARGEST_NUMBER for m in self.mean) or not all(
            small <= s <= LARGEST_NUMBER for s in self.std
        ):
            raise InvalidArgument(
                f"mean {self.mean} and std {self.std} are beyond float32: give those with which "
                "the model was trained"
            )

    @property
    def is_identity(self) -> bool:
        """Whether it changes nothing."""
        return set(self.mean) == {0.0} and set(self.std) == {1.0}

    def description(self) -> str:
        """What it does, for the record."""
        return "" if self.is_identity else f"normalised with mean {self.mean} and std {self.std}"

    def check(self, shape: tuple[int, ...]) -> None:
        """Refuse a number of channels that the shape does not have."""
        _spread(self.mean, shape)

    def __call__(self, x: Array) -> Array:
        """Normalise a batch."""
        if self.is_identity:
            return x
        shape = x.shape[1:]
        mean, std = _spread(self.mean, shape), _spread(self.std, shape)
        if isinstance(x, np.ndarray):
            return (x - mean) / std
        xp = array_namespace(x)
        return (x - xp.asarray(mean, device=x.device)) / xp.asarray(std, device=x.device)

    def gradient_before(self, gradient: NDArray[np.floating]) -> NDArray[np.floating]:
        """The gradient in what was normalised."""
        return gradient if self.is_identity else gradient / _spread(self.std, gradient.shape[1:])


def _spread(numbers: tuple[float, ...], shape: tuple[int, ...]) -> np.ndarray:
    """One number a channel, shaped to fit rows of `shape`."""
    values = np.asarray(numbers, dtype=np.float32)
    if len(values) == 1:
        return values.reshape(())
    if len(shape) >= 2 and shape[0] == len(values):
        return values.reshape(-1, *(1 for _ in shape[1:]))
    if shape and shape[-1] == len(values):
        return values
    raise InvalidArgument(
        f"mean and std have {len(values)} numbers, but no axis of the input {shape} is that long: "
        "give one number, or one for each channel"
    )
