"""Named random numbers.

The name is (seed, subject, perturbation kind, block of trials). A block's numbers are drawn whole
from a generator whose state is the hash of the name, so batch size, worker, order and resume point
cannot matter, and two models get the same perturbations. The level is not in the name: it scales
what was drawn. `docs/decisions/streams.md` says why SFC64.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.compiled.gpu import launch
from surefoot.core.results import Interval
from surefoot.perturb._ops.compiled_numbers import compiled_normals, set_state
from surefoot.subject.protocols import Additive, Array, Stream

_THREADS = 256
"""Threads of a block of the kernel, each with one counter or four in a row."""
_COUNTERS_PER_CALL = 2**24
"""Counters of one draw, each of which gives four numbers: a row holds at most so many."""
_TRIAL = threading.Lock()


def numbers(keys: Array, shape: tuple[int, ...], call: int, *, normal: bool) -> Array:
    """(n, *rest) float32 numbers, row i from key i; `call` counts the draws of one perturbation."""
    import torch

    out = torch.empty(shape, dtype=torch.float32, device=keys.device)
    _launch(out, out, keys, keys, call, normal, 0, (1.0, 0.0, 0.0, 0.0))
    return out


def noised(
    keys: Array,
    x: Array,
    rows: Array,
    call: int,
    noise: Additive,
    level: float,
    bounds: Interval | None,
) -> Array:
    """Row rows[i] of x plus noise at this level from the numbers of key i, clipped."""
    import torch

    x = x.contiguous()
    out = torch.empty((len(keys), *x.shape[1:]), dtype=torch.float32, device=keys.device)
    low, high = (0.0, 0.0) if bounds is None else (bounds.low, bounds.high)
    scale = noise.factor * level, noise.shift * level, low, high
    _launch(out, x, keys, rows, call, noise.normal, 1 if bounds is None else 2, scale)
    return out


def _launch(
    out: Array,
    x: Array,
    keys: Array,
    rows: Array,
    call: int,
    normal: bool,
    mode: int,
    scale: tuple[float, float, float, float],
) -> None:
    """Mode 0 writes the numbers, 1 adds them to rows of x, 2 clips the sum as well."""
    width = math.prod(out.shape[1:])
    quarter = math.ceil(width / 4)
    if not out.numel():
        return
    wide = width % 16 == 0 and x.data_ptr() % 16 == 0
    each = quarter // 4 if wide else quarter
    threads = min(_THREADS, 32 * math.ceil(each / 32))
    launch(
        "noise", keys.device, (len(out), math.ceil(each / threads)), threads,
        out, x, keys, rows, width, quarter, ctypes.c_uint64(call * _COUNTERS_PER_CALL), *scale,
        int(normal), mode, int(wide),
    )  # fmt: skip


def usable(device: str) -> bool:
    """Whether this device can draw rows; who calls while it is tried waits for the answer."""
    with _TRIAL:
        return _draws_rows(device)


@lru_cache(maxsize=8)
def _draws_rows(device: str) -> bool:
    """Tried once, with a few numbers."""
    if not device.startswith("cuda"):
        return False
    try:
        import torch

        keys = torch.arange(2, dtype=torch.int64, device=device)
        x = torch.zeros((1, 16), dtype=torch.float32, device=device)
        uniform, bounds = Additive(factor=1.0, shift=0.0, normal=False), Interval(-1.0, 2.0)
        drawn = noised(keys, x, torch.zeros_like(keys), 0, uniform, 1.0, bounds)
        return bool(((drawn >= 0) & (drawn < 1)).all())
    except Exception:  # noqa: BLE001  another kind of GPU, an old driver: blocks will do
        return False


_VALUES_PER_BLOCK = 65_536
"""Numbers of a block: 190 µs to draw, against 6 to 8 µs to set the generator."""
LONGEST_BLOCK = 1024
"""Trials of a block, so that small inputs do not draw numbers that no trial uses."""
_MANY_NORMALS = 1024
"""Normal numbers from which on compiled code draws them: below, moving the state takes longer."""
_local = threading.local()


def block_size(shape: tuple[int, ...]) -> int:
    """Trials in a block, from the shape of one input alone: a power of two."""
    trials = max(1, _VALUES_PER_BLOCK // math.prod(shape))
    return int(min(LONGEST_BLOCK, 2 ** int(math.log2(trials))))


def block_key(seed: int, subject: str, kind: str, block: int) -> bytes:
    """The state of the generator of a block: three words of 64 bits, the lowest byte first."""
    return _hash(f"surefoot-1\0{seed}\0{kind}\0{block}\0{subject}")


def _hash(name: str) -> bytes:
    return hashlib.blake2b(name.encode(), digest_size=24).digest()


def _generator(key: bytes, place: int = 0) -> np.random.Generator:
    """This thread's generator, or another of its generators, with its state set from the key."""
    if not hasattr(_local, "generators"):
        _local.generators = []
    while len(_local.generators) <= place:
        _local.generators.append(np.random.Generator(np.random.SFC64(0)))
    generator: np.random.Generator = _local.generators[place]
    set_state(generator, key)
    return generator


@dataclass(frozen=True)
class NumpyStream:
    """NumPy numbers; valid until the thread opens its next stream."""

    generator: np.random.Generator

    def uniform(self, shape: tuple[int, ...]) -> Array:
        """Multiples of 2^-24 in [0, 1)."""
        return self.generator.random(shape, dtype=np.float32)

    def normal(self, shape: tuple[int, ...]) -> Array:
        """Standard normal (ziggurat), by compiled code where many are drawn."""
        fill = compiled_normals() if math.prod(shape) >= _MANY_NORMALS else None
        if fill is None:
            return self.generator.standard_normal(shape, dtype=np.float32)
        out = np.empty(shape, dtype=np.float32)
        fill(self.generator, out)
        return out


@dataclass(frozen=True)
class NumpyRows:
    """The numbers of several streams, one after the other, drawn into one array.

    Of each only the rows [start, stop): those of one call come row after row.
    """

    parts: Sequence[tuple[np.random.Generator, int, int]]

    def uniform(self, shape: tuple[int, ...]) -> Array:
        """As `NumpyStream` draws them."""
        return self._drawn(shape, partial(np.random.Generator.random, dtype=np.float32))

    def normal(self, shape: tuple[int, ...]) -> Array:
        """As `NumpyStream` draws them."""
        fill = compiled_normals() if math.prod(shape[1:]) >= _MANY_NORMALS else None
        plain = partial(np.random.Generator.standard_normal, dtype=np.float32)
        return self._drawn(shape, fill or plain)

    def _drawn(self, shape: tuple[int, ...], fill: Callable[..., object]) -> Array:
        out, end = np.empty((sum(b - a for _, a, b in self.parts), *shape[1:]), np.float32), 0
        for generator, start, stop in self.parts:
            begin, end = end, end + stop - start
            if start:
                whole = np.empty((stop, *shape[1:]), np.float32)
                fill(generator, out=whole)
                out[begin:end] = whole[start:]
            else:
                fill(generator, out=out[begin:end])
        return out


def row_stream(
    seed: int, blocks: Iterable[tuple[str, int, int, int]], kind: str, like: Array
) -> Stream:
    """The streams of these subjects and blocks as one, of each the rows [start, stop); on the host.

    Only for one call, or for blocks of one row.
    """
    rows = NumpyRows(
        [
            (_generator(block_key(seed, subject, kind, number), place), start, stop)
            for place, (subject, number, start, stop) in enumerate(blocks)
        ]
    )
    return rows if isinstance(like, np.ndarray) else TorchHostStream(rows)


@dataclass(frozen=True)
class TorchHostStream:
    """The same numbers as those of NumPy, as Torch tensors in main memory."""

    source: NumpyStream | NumpyRows

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

    keys: Array
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
        return noised(self.keys, x, rows, next(self.calls), noise, level, bounds)


def generator_for(like: Array) -> str:
    """The name of the generator that serves arrays such as this; part of a study's digest."""
    place = getattr(like, "device", None)
    kind = getattr(place, "type", "cpu")
    if kind == "cpu":
        return "sfc64"
    return f"philox-rows-{kind}" if usable(str(place)) else f"torch-{kind}"


def draws_rows(like: Array) -> bool:
    """Whether numbers are named row by row, so that a whole batch is drawn at once."""
    return generator_for(like).startswith("philox-rows")


def row_keys(bases: Array | int, trials: Array) -> Array:
    """A key for each trial: its subject's base, mixed with the trial's number (SplitMix64).

    int64 arrays of either namespace; products wrap around, and shifts bring in zeros.
    """
    z = trials * -0x61C8864680B583EB + bases
    z = (z ^ ((z >> 30) & 0x3FFFFFFFF)) * -0x40A7B892E31B1A47
    z = (z ^ ((z >> 27) & 0x1FFFFFFFFF)) * -0x6B2FB644ECCEEE15
    return z ^ ((z >> 31) & 0x1FFFFFFFF)


@lru_cache(maxsize=100_000)
def base_of(seed: int, subject: str, kind: str) -> int:
    """A hash of the name, from which all keys of a subject are made."""
    return int.from_bytes(block_key(seed, subject, kind, 0)[:8], "little", signed=True)


def picks(seed: int, subject: str, size: int, start: int, stop: int) -> NDArray[np.intp]:
    """For each trial in [start, stop) one of `size` places, at random, with replacement.

    The name is (seed, subject, trial), with a first word that no perturbation's name has: picks and
    perturbations are independent. The remainder of 64 bits favours a place by less than size/2^64.
    """
    base = int.from_bytes(_hash(f"surefoot-picks-1\0{seed}\0{subject}")[:8], "little", signed=True)
    mixed: NDArray[np.int64] = row_keys(base, np.arange(start, stop, dtype=np.int64))
    return (mixed.view(np.uint64) % np.uint64(size)).astype(np.intp)


def stream(seed: int, subject: str, kind: str, block: int, like: Array) -> Stream:
    """The stream of this name, in the namespace and on the device of `like`."""
    key = block_key(seed, subject, kind, block)
    if isinstance(like, np.ndarray):
        return NumpyStream(_generator(key))
    if generator_for(like) == "sfc64":
        return TorchHostStream(NumpyStream(_generator(key)))
    import torch

    generator = torch.Generator(device=like.device)
    generator.manual_seed(int.from_bytes(key[:8], "little") >> 1)
    return TorchDeviceStream(generator)
