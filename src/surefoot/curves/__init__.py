"""Robustness curves: accuracy against the level, and where it falls below a threshold."""

from surefoot.curves.published import AdaptiveCurve, QuadCurve, RandomCurve, UniformCurve
from surefoot.curves.sequential import SequentialCurve

__all__ = ["AdaptiveCurve", "QuadCurve", "RandomCurve", "SequentialCurve", "UniformCurve"]
