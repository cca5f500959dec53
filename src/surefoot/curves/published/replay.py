"""A published method on a curve that is known already: which levels it takes, and what it states.

The methods of this folder look at all inputs at each level, so that the accuracy there is all they
learn: one evaluated curve serves any number of settings. `SequentialCurve` is not among them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from surefoot.core.counts import Counts
from surefoot.core.procedure import Ask, Session
from surefoot.core.results import Curve, Interval, Point
from surefoot.curves.levels import ROUNDING
from surefoot.curves.published.asap import AdaptiveCurve
from surefoot.curves.published.comparators import QuadCurve, RandomCurve, UniformCurve
from surefoot.curves.published.geometry import share_above

Published = AdaptiveCurve | UniformCurve | RandomCurve | QuadCurve
Accuracy = Callable[[float], float]
"""From a level to the accuracy there."""


def replay(method: Published, accuracy: Accuracy) -> Curve:
    """What the method concludes if this is the accuracy; rounded to whole inputs of its `size`."""
    session: Session[Ask, Counts, Curve] = Session(method)
    while (question := session.question) is not None:
        kept = round(accuracy(question.level) * question.units)
        session.tell(Counts(question.units, kept))
    return session.result


def lines_through(points: Sequence[Point]) -> Accuracy:
    """The curve that is straight from each of these levels to the next, in rising order."""
    levels, values = [p.level for p in points], [p.value for p in points]
    return lambda level: float(np.interp(level, levels, values))


def share_of_lines(points: Sequence[Point], threshold: float, size: int) -> float:
    """Its share of the range at or above the threshold, exactly: the truth of a `replay`."""
    span = Interval(points[0].level, points[-1].level)
    enough = (math.ceil(threshold * size - ROUNDING) - 0.5) / size
    return min(share_above(points, enough) / span.width, 1.0)
