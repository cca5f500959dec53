"""Is the network that was read the network of the file? Compared with two other evaluations of it.

What matters is the difference of two scores, since only that decides a label: each pair of classes
is compared by itself and in its own size, so neither tiny scores nor a huge one hide a wrong one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.errors import InvalidArgument
from surefoot.graph.network import Floats, Network, Values, score_sizes
from surefoot.graph.onnx_file import Source, one_line, quiet_session, require_onnx
from surefoot.graph.read_network import ProofGraph, proof_graph

if TYPE_CHECKING:
    from onnx import ModelProto

_FLOAT64_SHARE = 1e-9
"""Allowed against a second evaluation in float64, as a share of the largest difference of the two
scores; a misread attribute moves it by more than 1e-3, two orders of summation by 1e-14."""
_FLOAT32_SHARE = 1e-4
"""The same against onnxruntime in float32, which differs by up to 1e-5 on natural networks."""
_CLEAR_LEAD = 1e-5
"""A difference of two probabilities that rounding in Softmax does not turn round."""


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Differences of all pairs of scores: input, class, class."""

    ours: Floats
    sizes: Floats

    def allowed(self, share: float, unit: float) -> Floats:
        """How far an evaluation with rounding `unit` may be off, at each input and pair."""
        largest = np.abs(self.ours).max(axis=0)
        return np.asarray(np.maximum(share * largest, unit * self.sizes))


def check_reader(
    network: Network,
    source: Source,
    *,
    low: float = 0.0,
    high: float = 1.0,
    inputs: int = 16,
    seed: int = 0,
) -> float:
    """The largest difference from onnxruntime on random inputs, as a share of the largest margin.

    Refused where the layers read differ from the file evaluated in float64 by onnx's reference
    implementation, where they differ from onnxruntime by more than rounding in float32 can, or
    where the model's output has another label: then a proof about them would be worthless.
    """
    graph = proof_graph(source, network.shape)
    # Random points, random corners and points mostly at the lower end, in turn.
    share = np.random.default_rng(seed).random((inputs, *graph.shape))
    share[1::3] = np.rint(share[1::3])
    share[2::3] = np.maximum(4 * share[2::3] - 3, 0.0)
    x: Values = (low + share * (high - low)).astype(graph.dtype)
    flat = x.reshape(len(x), -1).astype(np.float64)
    ours = replace(network, ends_in_relu=False).scores(flat)
    terms = sum(layer.sum_sizes.longest for layer in network.layers)
    sizes = score_sizes(network, flat)
    pairs = _Pairs(_pairs(ours), sizes[:, :, None] + sizes[:, None, :])
    _compare(
        pairs, _reference_scores(graph, x), _FLOAT64_SHARE, terms * 2.0**-52, "onnx's reference"
    )
    unit = terms * float(np.finfo(graph.dtype).eps)
    run, output = _runtime_scores(graph, x)
    difference = _compare(pairs, run, _FLOAT32_SHARE, unit, "onnxruntime")
    _check_labels(network, x, pairs.allowed(_FLOAT32_SHARE, unit), output)
    return difference


def _reference_scores(graph: ProofGraph, x: Values) -> Floats:
    """The scores of the file in float64."""
    from onnx.reference import ReferenceEvaluator
    from onnx.reference.op_run import OpRun

    class BatchNormalization(OpRun):  # type: ignore[misc]  # onnx has no types here
        """By the numbers of the file: onnx's own takes those of opset 9 to 13 for training."""

        op_domain = ""

        def _run(self, x: Values, *parts: Values, epsilon: float = 1e-5, **_: object) -> Any:  # noqa: ANN401  as onnx has it
            by_channel = (part.reshape(-1, *(1,) * (x.ndim - 2)) for part in parts)
            scale, bias, mean, variance = by_channel
            return ((x - mean) / np.sqrt(variance + epsilon) * scale + bias,)

    try:
        model = _until_scores(graph, graph.model_float64)
        run = ReferenceEvaluator(model, new_ops=[BatchNormalization]).run
        scores = [run(None, {graph.input_name: one.astype(np.float64)})[0].reshape(-1) for one in x]
    except Exception as error:
        raise InvalidArgument(
            f"the file cannot be evaluated by onnx's reference implementation ({one_line(error)}), "
            "so its reading cannot be checked: use a statistical method, which takes any model"
        ) from error
    return np.stack(scores).astype(np.float64)


def _runtime_scores(graph: ProofGraph, x: Values) -> tuple[Floats, Floats]:
    """The scores and the output by onnxruntime."""
    model, both = _until_scores(graph, graph.model), graph.model.graph.output[0]
    if both.name != graph.scores_name:
        model.graph.output.append(both)
    session = quiet_session(model.SerializeToString())
    outputs = [
        [part.reshape(-1) for part in session.run(None, {graph.input_name: one})] for one in x
    ]
    scores = np.stack([parts[0] for parts in outputs]).astype(np.float64)
    return scores, np.stack([parts[-1] for parts in outputs]).astype(np.float64)


def _until_scores(graph: ProofGraph, source: ModelProto) -> ModelProto:
    """The model with the scores as its output."""
    onnx = require_onnx()
    model = onnx.ModelProto()
    model.CopyFrom(source)
    del model.graph.output[:]
    model.graph.output.append(onnx.helper.make_empty_tensor_value_info(graph.scores_name))
    return model


def _compare(pairs: _Pairs, theirs: Floats, share: float, unit: float, whose: str) -> float:
    """The largest difference of a pair over the largest margin; refused if one is not allowed."""
    if theirs.shape != pairs.ours.shape[:2] or not np.isfinite(theirs).all():
        raise InvalidArgument(
            f"{whose} gives {theirs.shape[1]} scores of which {np.isfinite(theirs).mean():.0%} are "
            f"finite, for a network read with {pairs.ours.shape[1]} classes: nothing can be proved "
            "about it; use a statistical method, which takes any model"
        )
    off = np.abs(_pairs(theirs) - pairs.ours)
    largest = float(np.abs(pairs.ours).max())
    if not (off <= pairs.allowed(share, unit)).all():
        raise InvalidArgument(
            f"the layers read from the file differ from {whose} by {off.max():.3g} in a difference "
            f"of two scores (the largest is {largest:.3g}): the file means something else than "
            "what was read; please report it"
        )
    return float(off.max() / largest) if largest > 0 else 0.0


def _check_labels(network: Network, x: Values, allowed: Floats, output: Floats) -> None:
    """Where a label is beyond rounding, the model's output must have it too."""
    real = network.outputs(x.reshape(len(x), *network.shape))
    top = real.argmax(axis=1)
    for i, label in enumerate(top):
        lead = np.delete(real[i, label] - real[i], label)
        slack = _CLEAR_LEAD if network.ends_in_softmax else np.delete(allowed[i, label], label)
        run_label = int(output[i].argmax())
        if (lead > slack).all() and run_label != label:
            raise InvalidArgument(
                f"onnxruntime gives label {run_label} where the layers read give {label}: what "
                "follows the scores in the file changes the label; export only the scores"
            )


def _pairs(scores: Floats) -> Floats:
    return np.asarray(scores[:, :, None] - scores[:, None, :])
