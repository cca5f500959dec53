"""Is the label constant within one radius: asked of the bracket search with that radius as goal."""

import time

import numpy as np
from numpy.typing import NDArray

from surefoot.graph.network import Network
from surefoot.verify import Proved, Refuted, Unknown, bracket_radius
from surefoot.verify.bracket import Replay
from surefoot.verify.bracket_search import WHOLE_DOMAIN, Clock


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
        tolerance=min(0.002, radius / 10),
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
