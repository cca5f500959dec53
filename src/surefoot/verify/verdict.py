"""Is the label constant within one radius: proved, refuted by a point, or unknown."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.graph.network import Floats, Network
from surefoot.verify.bracket import Replay
from surefoot.verify.bracket_search import Clock, critical


@dataclass(frozen=True)
class Proved:
    """The label is constant within the radius; `by` is whose arithmetic that rests on."""

    by: str = "surefoot"


@dataclass(frozen=True, eq=False)
class Refuted:
    """A point within the radius that has another label."""

    witness: Floats


@dataclass(frozen=True)
class Unknown:
    """Neither was found in the time given."""

    reason: str


def verdict(
    network: Network,
    x: NDArray[np.floating],
    label: int,
    radius: float,
    seconds: float = 60.0,
    *,
    low: float = 0.0,
    high: float = 1.0,
    seed: int = 0,
    replay: Replay | None = None,
    clock: Clock = time.monotonic,
) -> Proved | Refuted | Unknown:
    """Whether the label is constant within `radius`; an attack that finds nothing is no proof."""
    found = critical(
        network,
        x,
        label,
        tolerance=min(0.002, radius / 10),
        seconds=seconds,
        low=low,
        high=high,
        goal=radius,
        seed=seed,
        replay=replay,
        clock=clock,
    )
    if found.low >= radius or found.reason.startswith("proved for the whole domain"):
        return Proved()
    if found.witness is not None and found.high <= radius:
        return Refuted(found.witness)
    return Unknown(found.reason)
