"""Critical ε: the largest radius on which a small ReLU network's label is proved constant."""

from surefoot.verify.critical import Found, critical
from surefoot.verify.graph import check_reader, read_network
from surefoot.verify.network import Layer, Network
from surefoot.verify.verdict import Proved, Refuted, Unknown, verdict

__all__ = [
    "Found",
    "Layer",
    "Network",
    "Proved",
    "Refuted",
    "Unknown",
    "check_reader",
    "critical",
    "read_network",
    "verdict",
]
