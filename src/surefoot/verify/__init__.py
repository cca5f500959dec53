"""Critical ε: the largest radius on which a small ReLU network's label is proved constant."""

from surefoot.verify.bracket import Found
from surefoot.verify.critical import critical
from surefoot.verify.external import External, critical_by, settle
from surefoot.verify.graph import check_reader, read_network
from surefoot.verify.network import Layer, Network
from surefoot.verify.verdict import Proved, Refuted, Unknown, verdict

__all__ = [
    "External",
    "Found",
    "Layer",
    "Network",
    "Proved",
    "Refuted",
    "Unknown",
    "check_reader",
    "critical",
    "critical_by",
    "read_network",
    "settle",
    "verdict",
]
