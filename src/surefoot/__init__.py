"""How likely is a classifier to slip when its input is disturbed, and how sure are we?"""

from surefoot import perturb
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
from surefoot.evidence import Counts, Severities
from surefoot.inputs import Selection, load_inputs
from surefoot.models import load_model
from surefoot.population import Mean
from surefoot.procedure import Ask, Session
from surefoot.properties import NoConfidentMistake, SameLabel, TopK, TrueLabel
from surefoot.results import Decision, Estimate, Footing, Guarantee, Interval, Undecided
from surefoot.statistics import BuSun, FixedSize, Okamoto
from surefoot.study import Assessment, Study, select

__version__ = "0.1.0"

__all__ = [
    "Ask",
    "Assessment",
    "BuSun",
    "Counts",
    "Decision",
    "Estimate",
    "FixedSize",
    "Footing",
    "Guarantee",
    "Interval",
    "InvalidArgument",
    "Mean",
    "MissingPackage",
    "ModelFailed",
    "NoConfidentMistake",
    "Okamoto",
    "OutOfMemory",
    "ReplayMismatch",
    "ReportFailed",
    "SameLabel",
    "Selection",
    "Session",
    "Severities",
    "StoreFailed",
    "Study",
    "SurefootError",
    "TopK",
    "TrueLabel",
    "Undecided",
    "load_inputs",
    "load_model",
    "perturb",
    "select",
]
