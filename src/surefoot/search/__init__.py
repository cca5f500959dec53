"""Procedures that choose their levels: where a curve meets a threshold, how far a label holds."""

from surefoot.search.adaptive import AdaptiveCurve
from surefoot.search.attack_method import Attack
from surefoot.search.comparators import QuadCurve, RandomCurve, UniformCurve
from surefoot.search.critical_level import CriticalLevel
from surefoot.search.sequential import SequentialCurve

__all__ = [
    "AdaptiveCurve",
    "Attack",
    "CriticalLevel",
    "QuadCurve",
    "RandomCurve",
    "SequentialCurve",
    "UniformCurve",
]
