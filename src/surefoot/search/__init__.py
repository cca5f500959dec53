"""Procedures that choose their levels: where a curve meets a threshold, how far a label holds."""

from surefoot.search.adaptive import AdaptiveCurve
from surefoot.search.comparators import QuadCurve, RandomCurve, UniformCurve
from surefoot.search.sequential import SequentialCurve

__all__ = [
    "AdaptiveCurve",
    "QuadCurve",
    "RandomCurve",
    "SequentialCurve",
    "UniformCurve",
]
