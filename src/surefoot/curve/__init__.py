"""Robustness curves: accuracy against the level, and where it falls below a threshold."""

from surefoot.curve.published.asap import AdaptiveCurve
from surefoot.curve.published.comparators import QuadCurve, RandomCurve, UniformCurve
from surefoot.curve.sequential import SequentialCurve

__all__ = ["AdaptiveCurve", "QuadCurve", "RandomCurve", "SequentialCurve", "UniformCurve"]
