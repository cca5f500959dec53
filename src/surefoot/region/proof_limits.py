"""How long a proof may take: in seconds, or in nodes, which every machine counts alike."""

from __future__ import annotations

import math
from dataclasses import dataclass

from surefoot.errors import InvalidArgument

DEFAULT_SECONDS = 60.0
"""CPU seconds for an input where no limit is given: a run over lunch for 100 inputs."""
OUT_OF_TIME, OUT_OF_NODES = "out of time", "out of nodes"
"""Why a proof ended that a limit ended."""
LEAST_NODES = 2
"""Nodes of the smallest step of a tree: one neuron split."""
_STOPPED = "stopped after"
_FIRST_SECONDS, _LONG_SECONDS = 5.0, 100.0
_FIRST_NODES, _LONG_NODES = 20_000, 400_000
"""The first try, and from which rest on the rest is made in two parts: what a try has proved is in
the store. mnist_relu_3_50 makes about 4,000 nodes a second. Chosen by hand; brackets are true
whatever they are."""


@dataclass(frozen=True)
class ProofLimits:
    """CPU seconds and nodes of branch and bound; infinite and None where there is no such limit."""

    seconds: float = math.inf
    nodes: int | None = None


def default_seconds(seconds: float | None, nodes: int | None) -> float | None:
    """The limit in seconds: the default where no limit is given, none beside one in nodes."""
    return DEFAULT_SECONDS if seconds is None and nodes is None else seconds


def check_limits(seconds: float | None, nodes: int | None) -> None:
    """Refuse a limit that leaves nothing to do, or that is none."""
    if seconds is not None and not 0 < seconds < math.inf:
        raise InvalidArgument(f"seconds for an input: above 0, got {seconds:g}: try 60")
    if nodes is None:
        return
    if isinstance(nodes, bool) or not isinstance(nodes, int) or nodes < LEAST_NODES:
        raise InvalidArgument(
            f"nodes_per_input (--nodes-per-input) must be an integer ≥ {LEAST_NODES}, got {nodes}: "
            "try 2000"
        )


def tries_within(seconds: float | None, nodes: int | None) -> tuple[ProofLimits, ...]:
    """The limits of a first, short try and of those with the rest.

    Beside a limit in nodes, one in seconds is for all tries together.
    """
    if nodes is None:
        limit = DEFAULT_SECONDS if seconds is None else seconds
        return tuple(map(ProofLimits, _parts(limit, _FIRST_SECONDS, _LONG_SECONDS)))
    whole = math.inf if seconds is None else seconds
    counts = [int(part) for part in _parts(nodes, _FIRST_NODES, _LONG_NODES)]
    counts[-1] = nodes - sum(counts[:-1])
    return tuple(ProofLimits(whole, count) for count in counts)


def reason_in_words(reason: str, nodes: int) -> str:
    """Why a search ended, with the number of nodes where their limit ended it."""
    if not reason.startswith(OUT_OF_NODES):
        return reason
    return f"{_STOPPED} {nodes:,} nodes{reason.removeprefix(OUT_OF_NODES)}"


def ended_by_limit(reason: str) -> bool:
    """Whether these words say that a limit ended the search."""
    return reason.startswith((OUT_OF_TIME, _STOPPED))


def _parts(whole: float, first: float, long: float) -> tuple[float, ...]:
    """The first part, and the rest in one or two."""
    if whole <= 2 * first:
        return (whole,)
    rest = whole - first
    return (first, rest) if rest <= long else (first, rest / 4, rest * 3 / 4)
