"""Critical ε: the largest radius on which a small ReLU network's label is proved constant."""

from surefoot.graph.network import Layer, Network
from surefoot.graph.read_network import read_network
from surefoot.graph.reader_check import check_reader
from surefoot.verify.bracket import BracketResult
from surefoot.verify.bracket_search import critical
from surefoot.verify.external_verifier import External, critical_by, settle
from surefoot.verify.float32 import MarginDifference, distance_from_real
from surefoot.verify.near_ties import contradiction, points_near_ties
from surefoot.verify.verdict import Proved, Refuted, Unknown, verdict

__all__ = [
    "BracketResult",
    "External",
    "Layer",
    "MarginDifference",
    "Network",
    "Proved",
    "Refuted",
    "Unknown",
    "check_reader",
    "contradiction",
    "critical",
    "critical_by",
    "distance_from_real",
    "points_near_ties",
    "read_network",
    "settle",
    "verdict",
]
