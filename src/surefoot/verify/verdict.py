"""Whether a label is constant within one radius: proved, refuted by a point, or unknown."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.graph.network import Floats


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
