"""Every method of a study, by class and by name, and the parts for a method of your own.

A method is a frozen dataclass with `needs` (what it asks of a study) and `steps()`: a generator
that yields questions, is sent evidence, and returns its result. `Session` runs one by hand.
"""

from typing import Any

from surefoot.core.counts import Counts, Outcomes, Severities
from surefoot.core.procedure import Ask, Needs, Procedure, Session
from surefoot.curves import AdaptiveCurve, QuadCurve, RandomCurve, SequentialCurve, UniformCurve
from surefoot.population import (
    CellMean,
    CellPasses,
    CriticalQuantile,
    PopulationMean,
    SetMean,
)
from surefoot.region import PGD, Attack, AttackFunction, CriticalLevel
from surefoot.statistics import (
    BuSun,
    ExactBinomial,
    ExactSequential,
    FixedSize,
    KappaTest,
    NormalTail,
    Okamoto,
    PublishedDoubling,
    SmoothedRadius,
    Splitting,
)

__all__ = [
    "PGD",
    "AdaptiveCurve",
    "Ask",
    "Attack",
    "AttackFunction",
    "BuSun",
    "CellMean",
    "CellPasses",
    "Counts",
    "CriticalLevel",
    "CriticalQuantile",
    "ExactBinomial",
    "ExactSequential",
    "FixedSize",
    "KappaTest",
    "Needs",
    "NormalTail",
    "Okamoto",
    "Outcomes",
    "PopulationMean",
    "Procedure",
    "PublishedDoubling",
    "QuadCurve",
    "RandomCurve",
    "SequentialCurve",
    "Session",
    "SetMean",
    "Severities",
    "SmoothedRadius",
    "Splitting",
    "UniformCurve",
]

Method = type[Any]
"""A class with the fields of a method and its `steps`."""
ESTIMATORS: dict[str, Method] = {
    "exact-sequential": ExactSequential,
    "bu-sun": BuSun,
    "fixed-size": FixedSize,
    "okamoto": Okamoto,
}
TESTS: dict[str, Method] = {
    "kappa-test": KappaTest,
    "exact-binomial": ExactBinomial,
    "published-doubling": PublishedDoubling,
}
TAILS: dict[str, Method] = {"normal-tail": NormalTail}
RARE: dict[str, Method] = {**TAILS, "splitting": Splitting}
"""Methods for failures too rare to count."""
MEANS: dict[str, Method] = {"these": SetMean, "population": PopulationMean}
"""Methods for a mean to a precision, by what it is about."""
CURVES: dict[str, Method] = {
    "sequential": SequentialCurve,
    "asap": AdaptiveCurve,
    "uniform": UniformCurve,
    "random": RandomCurve,
    "quad": QuadCurve,
}
METHODS: dict[str, Method] = {
    **ESTIMATORS,
    **TESTS,
    **RARE,
    **{f"{name}-curve": method for name, method in CURVES.items()},
    "set-mean": SetMean,
    "cell-mean": CellMean,
    "cell-passes": CellPasses,
    "population-mean": PopulationMean,
    "attack": Attack,
    "pgd": PGD,
    "attack-function": AttackFunction,
    "critical-level": CriticalLevel,
    "critical-quantile": CriticalQuantile,
    "smoothed-radius": SmoothedRadius,
}
"""All methods, by the name that a record has for them."""
