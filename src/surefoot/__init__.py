"""How often does a classifier fail when its input is perturbed, and how certain is that number?

The public names. Each is imported when it is first used, so that `surefoot --help` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surefoot import perturb, statistics
    from surefoot.claims import Claim, Verdict
    from surefoot.errors import (
        InvalidArgument,
        MissingPackage,
        ModelFailed,
        OutOfMemory,
        ReplayMismatch,
        ReportFailed,
        StoreFailed,
        SurefootError,
    )
    from surefoot.evidence import Counts, Outcomes, Severities
    from surefoot.inputs import Selection, load_inputs
    from surefoot.models import load_model
    from surefoot.population import CriticalQuantile, Mean, RobustShare, TailMean
    from surefoot.procedure import Ask, Needs, Session
    from surefoot.properties import Confidence, NoConfidentMistake, SameLabel, TopK, TrueLabel
    from surefoot.results import (
        Crossing,
        Curve,
        Decision,
        Estimate,
        ExtrapolatedMean,
        Extrapolation,
        Footing,
        Guarantee,
        Interval,
        Point,
        Undecided,
    )
    from surefoot.search import (
        AdaptiveCurve,
        Attack,
        CriticalLevel,
        QuadCurve,
        RandomCurve,
        SequentialCurve,
        UniformCurve,
    )
    from surefoot.statistics import (
        BuSun,
        ExactBinomial,
        ExactSequential,
        FixedSize,
        KappaTest,
        NormalTail,
        Okamoto,
    )
    from surefoot.study import Result, Study, compare, select, sweep

__version__ = "0.1.0"

_HOMES = {
    "claims": ("Claim", "Verdict"),
    "errors": (
        "InvalidArgument",
        "MissingPackage",
        "ModelFailed",
        "OutOfMemory",
        "ReplayMismatch",
        "ReportFailed",
        "StoreFailed",
        "SurefootError",
    ),
    "evidence": ("Counts", "Outcomes", "Severities"),
    "inputs": ("Selection", "load_inputs"),
    "models": ("load_model",),
    "population": ("CriticalQuantile", "Mean", "RobustShare", "TailMean"),
    "procedure": ("Ask", "Needs", "Session"),
    "properties": ("Confidence", "NoConfidentMistake", "SameLabel", "TopK", "TrueLabel"),
    "results": (
        "Crossing",
        "Curve",
        "Decision",
        "Estimate",
        "ExtrapolatedMean",
        "Extrapolation",
        "Footing",
        "Guarantee",
        "Interval",
        "Point",
        "Undecided",
    ),
    "search": (
        "AdaptiveCurve",
        "Attack",
        "CriticalLevel",
        "QuadCurve",
        "RandomCurve",
        "SequentialCurve",
        "UniformCurve",
    ),
    "statistics": (
        "BuSun",
        "ExactBinomial",
        "ExactSequential",
        "FixedSize",
        "KappaTest",
        "NormalTail",
        "Okamoto",
    ),
    "study": ("Result", "Study", "compare", "select", "sweep"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AdaptiveCurve",
    "Ask",
    "Attack",
    "BuSun",
    "Claim",
    "Confidence",
    "Counts",
    "CriticalLevel",
    "CriticalQuantile",
    "Crossing",
    "Curve",
    "Decision",
    "Estimate",
    "ExactBinomial",
    "ExactSequential",
    "ExtrapolatedMean",
    "Extrapolation",
    "FixedSize",
    "Footing",
    "Guarantee",
    "Interval",
    "InvalidArgument",
    "KappaTest",
    "Mean",
    "MissingPackage",
    "ModelFailed",
    "Needs",
    "NoConfidentMistake",
    "NormalTail",
    "Okamoto",
    "OutOfMemory",
    "Outcomes",
    "Point",
    "QuadCurve",
    "RandomCurve",
    "ReplayMismatch",
    "ReportFailed",
    "Result",
    "RobustShare",
    "SameLabel",
    "Selection",
    "SequentialCurve",
    "Session",
    "Severities",
    "StoreFailed",
    "Study",
    "SurefootError",
    "TailMean",
    "TopK",
    "TrueLabel",
    "Undecided",
    "UniformCurve",
    "Verdict",
    "compare",
    "load_inputs",
    "load_model",
    "perturb",
    "select",
    "statistics",
    "sweep",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401  any public name
    if name in ("perturb", "statistics"):
        return import_module(f"surefoot.{name}")
    if name in _HOME_OF:
        return getattr(import_module(f"surefoot.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module 'surefoot' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
