"""Group-sequential designs for a fixed width: when to look, when to stop, and what is proved.

Stop at the first look where z·√(p̃(1-p̃)/n) ≤ width with p̃ = (k+a)/(n+2a); at the last look always;
report k/n. z is calibrated so that the proved worst-case miss is at most the error
(`docs/methods/exact-sequential.md`; Z. and X. Chen 2013).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

LOOKS = 48


@dataclass(frozen=True)
class Design:
    """A stopping rule: at `looks[i]` trials stop if at most `few[i]` held, or at most failed.

    `proved` bounds the probability, for every p in [0, 1], that k/n is off by more than `width`.
    """

    width: float
    error: float
    z: float
    pseudo: float
    looks: tuple[int, ...]
    few: tuple[int, ...]
    proved: float

    def stops(self, look: int, kept: int) -> bool:
        """Whether to stop at this look."""
        return kept <= self.few[look] or kept >= self.looks[look] - self.few[look]

    @cached_property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Looks and limits, for computing."""
        return np.array(self.looks), np.array(self.few)

    def _span(self) -> str:
        if len(self.looks) == 1:
            return f"1 look at {self.looks[0]:,} trials"
        return f"{len(self.looks)} looks from {self.looks[0]:,} to {self.looks[-1]:,} trials"

    def __str__(self) -> str:
        """The design in a few lines."""
        return (
            f"exact sequential design: width {self.width:g}, error {self.error:g}\n"
            f"{self._span()}, z = {self.z:.5f}\n"
            f"proved for every p: P(|estimate - p| > {self.width:g}) <= {self.proved:.6g}"
        )


def draft(width: float, error: float, z: float, pseudo: float) -> Design:
    """The design of this z; nothing is proved of it yet."""
    last = math.ceil(z * z / (4 * width * width))
    first = _first_look(width, z, pseudo, last)
    steps = np.linspace(math.sqrt(first), math.sqrt(last), LOOKS)
    looks = np.unique(np.rint(steps**2).astype(np.int64))
    looks[0], looks[-1] = first, last
    few = _limits(looks, width, z, pseudo)
    return Design(width, error, z, pseudo, tuple(looks.tolist()), tuple(few.tolist()), proved=1.0)


def _first_look(width: float, z: float, pseudo: float, last: int) -> int:
    """The smallest n at which no failure at all is enough to stop."""
    low, high = 1, last
    while low < high:
        n = (low + high) // 2
        near = pseudo / (n + 2 * pseudo)
        if z * z * near * (1 - near) <= width * width * n:
            high = n
        else:
            low = n + 1
    return low


def _limits(looks: NDArray[np.int64], width: float, z: float, pseudo: float) -> NDArray[np.int64]:
    """The largest k at each look that stops; everything stops at the last."""
    spread = np.minimum(looks * (width / z) ** 2, 0.25)
    near = 0.5 - np.sqrt(0.25 - spread)
    few: NDArray[np.int64] = np.floor(near * (looks + 2 * pseudo) - pseudo).astype(np.int64)
    few[0] = max(few[0], 0)
    few[-1] = looks[-1]
    return few
