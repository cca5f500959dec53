"""Certified radii: the largest radius on which a small ReLU network's label is proved constant."""

from surefoot.graph.network import Layer, Network, dense_layer
from surefoot.graph.read_network import read_network
from surefoot.graph.reader_check import check_reader
from surefoot.verify.bracket import BracketResult, Proved, Refuted, Unknown
from surefoot.verify.bracket_search import bracket_radius
from surefoot.verify.external_verifier import (
    ExternalVerifier,
    bracket_radius_externally,
    run_verifier,
)
from surefoot.verify.float32 import (
    MarginDifference,
    find_contradiction,
    margin_difference,
    points_near_ties,
)

__all__ = [
    "BracketResult", "ExternalVerifier", "Layer", "MarginDifference", "Network", "Proved",
    "Refuted", "Unknown", "bracket_radius", "bracket_radius_externally", "check_reader",
    "dense_layer", "find_contradiction", "margin_difference", "points_near_ties", "read_network",
    "run_verifier",
]  # fmt: skip
