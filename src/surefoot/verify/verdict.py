"""Is the label constant within one radius: proved, refuted by a point, or unknown."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.graph.network import Floats, Network
from surefoot.verify.bracket import Replay
from surefoot.verify.bracket_search import Clock, bracket_radius
from surefoot.verify.search_steps import WHOLE_DOMAIN

_TOLERANCE = 0.002
"""Width at which a bracket is closed, at most; with a goal it only guides the search."""


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
    """Neither was shown in the allowed time."""

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
    bracket = bracket_radius(
        network,
        x,
        label,
        tolerance=min(_TOLERANCE, radius / 10),
        seconds=seconds,
        low=low,
        high=high,
        goal=radius,
        seed=seed,
        replay=replay,
        clock=clock,
    )
    if bracket.low >= radius or bracket.reason.startswith(WHOLE_DOMAIN):
        return Proved()
    if bracket.witness is not None and bracket.high <= radius:
        return Refuted(bracket.witness)
    return Unknown(bracket.reason)
