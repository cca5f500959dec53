"""Who proves: our prover on the network as read, or another program on the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.conclude.recorded_study import RecordedStudy
from surefoot.core.results import Interval
from surefoot.engine.proof_bench import BuiltInProver, ExternalProver, Prover
from surefoot.errors import InvalidArgument
from surefoot.study.setup import Setup
from surefoot.subject.protocols import Graph

if TYPE_CHECKING:
    from surefoot.graph.network import Network


def bounds_of(study: Setup | RecordedStudy) -> Interval:
    """The range of input values, without which nothing can be proved."""
    bounds = study.bounds if isinstance(study, RecordedStudy) else study.model.signature.bounds
    if bounds is None:
        raise InvalidArgument(
            "proofs need the range of input values, got none: pass bounds (--bounds 0,1)"
        )
    return bounds


def graph_of(study: Setup) -> Graph:
    """The graph of the model."""
    model: Any = study.model  # that it has one is checked by the study
    graph: Graph = model.graph
    return graph


@dataclass(frozen=True, eq=False)
class ReadNetwork:
    """The network as read from the file, and its largest difference from onnxruntime."""

    network: Network
    difference: float


def prover_for(study: Setup) -> tuple[Prover, ReadNetwork | None]:
    """The prover; and the network as it was read, where it is ours."""
    graph, command = graph_of(study), getattr(study.method, "verifier", "")
    if not command:
        read = read_checked_network(study)
        return BuiltInProver(read.network), read
    from surefoot.verify.external_verifier import ExternalVerifier

    if not graph.plain:
        raise InvalidArgument(
            f"verifier (--verifier) {command} reads the file alone, but mean and std normalise the "
            "inputs before it: export a file that normalises by itself"
        )
    return ExternalProver(
        ExternalVerifier(command), graph.path, study.model.signature.classes
    ), None


def read_checked_network(study: Setup) -> ReadNetwork:
    """The file as layers, compared with onnxruntime; with the normalisation before it."""
    from surefoot.graph.network import with_normalisation
    from surefoot.graph.read_network import check_reader, read_network
    from surefoot.verify.bracket import one_blas_thread

    graph, bounds = graph_of(study), bounds_of(study)
    shape = study.model.signature.shape
    with one_blas_thread():
        network = read_network(graph.content, shape)
        difference = check_reader(network, graph.content, low=bounds.low, high=bounds.high)
    if graph.plain:
        return ReadNetwork(network, difference)
    none, one = (np.full((1, *shape), value) for value in (0.0, 1.0))
    shift = np.asarray(graph.prepared(none), dtype=np.float64).reshape(-1)
    scale = np.asarray(graph.prepared(one), dtype=np.float64).reshape(-1) - shift
    return ReadNetwork(with_normalisation(network, scale, shift), difference)
