"""How a random number is named.

The name is (seed, subject, perturbation kind, block of trials). A block's numbers are drawn whole
from a generator whose state is the hash of the name, so batch size, worker, order and resume point
cannot matter, and two models meet the same perturbations. The level is not in the name: it scales
what was drawn. `docs/decisions/streams.md` says why SFC64.
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.engine.philox import noised, numbers, usable
from surefoot.results import Interval
from surefoot.subject import Additive, Array, Stream

_VALUES_PER_BLOCK = 65_536
_LONGEST_BLOCK = 1024
_local = threading.local()


def block_size(shape: tuple[int, ...]) -> int:
    """Trials in a block, from the shape of one input alone: a power of two."""
    fits = max(1, _VALUES_PER_BLOCK // math.prod(shape))
    return int(min(_LONGEST_BLOCK, 2 ** int(math.log2(fits))))


def _key(seed: int, subject: str, kind: str, block: int) -> bytes:
    name = f"surefoot-1\0{seed}\0{kind}\0{block}\0{subject}"
    return hashlib.blake2b(name.encode(), digest_size=24).digest()


def _generator(key: bytes) -> np.random.Generator:
    """This thread's generator, set to the state that the key spells."""
    if not hasattr(_local, "generator"):
        _local.generator = np.random.Generator(np.random.SFC64(0))
    generator: np.random.Generator = _local.generator
    state = np.empty(4, dtype=np.uint64)
    state[:3] = np.frombuffer(key, dtype="<u8")
    state[3] = 1
    generator.bit_generator.state = {
        "bit_generator": "SFC64",
        "state": {"state": state},
        "has_uint32": 0,
        "uinteger": 0,
    }
    return generator


@dataclass(frozen=True)
class NumpyStream:
    """NumPy numbers; valid until the thread opens its next stream."""

    generator: np.random.Generator

    def uniform(self, shape: tuple[int, ...]) -> Array:
        """Multiples of 2^-24 in [0, 1)."""
        return self.generator.random(shape, dtype=np.float32)

    def normal(self, shape: tuple[int, ...]) -> Array:
        """Standard normal (ziggurat)."""
        return self.generator.standard_normal(shape, dtype=np.float32)


@dataclass(frozen=True)
class TorchHostStream:
    """The same numbers as `NumpyStream`, as Torch tensors in main memory."""

    source: NumpyStream

    def uniform(self, shape: tuple[int, ...]) -> Array:
        """As NumPy draws them."""
        import torch

        return torch.from_numpy(self.source.uniform(shape))

    def normal(self, shape: tuple[int, ...]) -> Array:
        """As NumPy draws them."""
        import torch

        return torch.from_numpy(self.source.normal(shape))


@dataclass(frozen=True)
class TorchDeviceStream:
    """Numbers drawn on the device itself (Philox); other numbers than the host's."""

    generator: Any

    def uniform(self, shape: tuple[int, ...]) -> Array:
        """In [0, 1)."""
        import torch

        return torch.rand(shape, generator=self.generator, device=self.generator.device)

    def normal(self, shape: tuple[int, ...]) -> Array:
        """Standard normal."""
        import torch

        return torch.randn(shape, generator=self.generator, device=self.generator.device)


@dataclass(frozen=True)
class TorchRowStream:
    """Numbers drawn on the device, every row by its own key (Philox)."""

    keys: Any
    calls: Iterator[int] = field(default_factory=count)

    def uniform(self, shape: tuple[int, ...]) -> Array:
        """Multiples of 2^-24 in [0, 1)."""
        return numbers(self.keys, shape, next(self.calls), normal=False)

    def normal(self, shape: tuple[int, ...]) -> Array:
        """Standard normal (Box-Muller)."""
        return numbers(self.keys, shape, next(self.calls), normal=True)

    def added_to(
        self, x: Array, rows: Array, noise: Additive, level: float, bounds: Interval | None
    ) -> Array:
        """These rows of x plus such noise: drawn, added and clipped in one go."""
        return noised(
            self.keys,
            x,
            rows,
            next(self.calls),
            normal=noise.normal,
            factor=noise.factor * level,
            shift=noise.shift * level,
            bounds=bounds,
        )


def generator_for(like: Array) -> str:
    """The name of the generator that serves arrays such as this; part of a study's digest."""
    place = getattr(like, "device", None)
    kind = getattr(place, "type", "cpu")
    if kind == "cpu":
        return "sfc64"
    return f"philox-rows-{kind}" if usable(str(place)) else f"torch-{kind}"


def draws_rows(like: Array) -> bool:
    """Whether numbers are named row by row, so that a whole tray is drawn at once."""
    return generator_for(like).startswith("philox-rows")


def row_keys(
    seed: int, subjects: Sequence[str], kind: str, trials: NDArray[np.int64], units: Sequence[int]
) -> NDArray[np.int64]:
    """A key for each trial: a hash of its subject's name, mixed with the trial's number.

    `units` says how many of the `trials` are of each subject.
    """
    bases = np.array([_base(seed, name, kind) for name in subjects], dtype=np.uint64)
    with np.errstate(over="ignore"):
        z = trials.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z += np.repeat(bases, units)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))).view(np.int64)


@lru_cache(maxsize=100_000)
def _base(seed: int, subject: str, kind: str) -> int:
    return int.from_bytes(_key(seed, subject, kind, 0)[:8], "little")


def stream(seed: int, subject: str, kind: str, block: int, like: Array) -> Stream:
    """The stream of this name, in the namespace and on the device of `like`."""
    key = _key(seed, subject, kind, block)
    if isinstance(like, np.ndarray):
        return NumpyStream(_generator(key))
    if generator_for(like) == "sfc64":
        return TorchHostStream(NumpyStream(_generator(key)))
    import torch

    generator = torch.Generator(device=like.device)
    generator.manual_seed(int.from_bytes(key[:8], "little") >> 1)
    return TorchDeviceStream(generator)
