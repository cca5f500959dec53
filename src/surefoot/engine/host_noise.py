"""Noise on inputs in main memory, drawn and added in one pass of compiled code."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.core.results import Interval
from surefoot.core.tasks import Task
from surefoot.engine.streams import block_key
from surefoot.perturb._ops.added_noise import NoiseAdder, compiled_noise
from surefoot.subject.protocols import Additive, Array, Perturbation

Rows = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class HostNoise:
    """Writes the perturbed inputs of a task: the values that `draw` and `apply` give."""

    add: NoiseAdder
    noise: Additive
    kind: str
    seed: int
    block: int
    bounds: Interval | None

    def write(self, out: Rows, clean: Array, task: Task) -> None:
        """One row of `out` for each trial; `clean` has one row for all of them, or one for each."""
        x = np.ascontiguousarray(clean)
        for number in range(task.start // self.block, (task.stop - 1) // self.block + 1):
            begin = number * self.block
            start, stop = max(task.start, begin), min(task.stop, begin + self.block)
            rows = slice(start - task.start, stop - task.start)
            key = block_key(self.seed, task.subject.name, self.kind, number)
            part = x if len(task.subject.rows) == 1 else x[rows]
            self.add(out[rows], part, key, start - begin, self.noise, task.level, self.bounds)


def host_noise(
    perturbation: Perturbation, like: Array, seed: int, block: int, bounds: Interval | None
) -> HostNoise | None:
    """For a perturbation that is uniform noise on arrays like this; else None, as without C."""
    noise: Additive | None = getattr(perturbation, "additive", None)
    add = compiled_noise()
    plain = isinstance(like, np.ndarray) and like.dtype == np.float32
    if add is None or noise is None or noise.normal or not plain:
        return None
    return HostNoise(add, noise, perturbation.kind, seed, block, bounds)
