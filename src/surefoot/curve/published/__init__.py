"""Curve methods as they were published: ASAP, and what it was compared with."""

from surefoot.curve.published.asap import AdaptiveCurve
from surefoot.curve.published.comparators import QuadCurve, RandomCurve, UniformCurve

__all__ = ["AdaptiveCurve", "QuadCurve", "RandomCurve", "UniformCurve"]
