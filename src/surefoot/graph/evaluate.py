"""A graph run in any array namespace, and compared with onnxruntime before it is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from array_api_compat import array_namespace

from surefoot.errors import InvalidArgument, ModelFailed
from surefoot.graph.graph import Graph
from surefoot.graph.network import Values
from surefoot.graph.operators import FROM_SHAPES, OPERATORS, Call, Node, Operator
from surefoot.subject.protocols import Array

if TYPE_CHECKING:
    from torch.nn import Module

_FLOAT32_SHARE = 1e-4
"""Largest difference from onnxruntime that is allowed, as a share of the largest output: natural
networks differ by up to 1e-5, a misread attribute by more than 1e-3."""
_REDUCED_SHARE = 2e-2
"""The same where whole numbers are rounded to (a value on the edge may round to either), in half
precision, and where a GPU multiplies with 10 bits, as PyTorch's convolutions do."""


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One operator, how it is run, and the tensors that nothing needs after it."""

    node: Node
    run: Operator
    on_host: bool
    last_used: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Program:
    """The part of a graph that leads to one output, ready to be run in one namespace."""

    graph: Graph
    output: str
    steps: tuple[Step, ...]

    def __call__(self, x: Array, constants: Mapping[str, Array]) -> Array:
        """The output for a batch; `constants` are those of the graph, where the batch is."""
        xp = np if isinstance(x, np.ndarray) else array_namespace(x)
        values, host = {**constants, self.graph.input_name: x}, dict(self.graph.constants)
        opset = self.graph.opset
        for step in self.steps:
            node, known = step.node, tuple(host.get(name) for name in step.node.inputs)
            if step.on_host:
                out = step.run(Call(node, opset, np, known, known))
            else:
                fed = tuple(self._placed(name, values, host, x) for name in node.inputs)
                out = step.run(Call(node, opset, xp, fed, known))
            made = host if step.on_host or node.op in FROM_SHAPES else values
            for name, value in zip(
                node.outputs, out if isinstance(out, tuple) else (out,), strict=False
            ):
                made[name] = value
            for name in step.last_used:
                values.pop(name, None)
        return values[self.output] if self.output in values else host[self.output]

    def _placed(
        self, name: str, values: Mapping[str, Array], host: Mapping[str, Values], x: Array
    ) -> Array:
        """A tensor where the run is; what follows from shapes is brought there."""
        if not name:
            return None
        if name in values or isinstance(x, np.ndarray):
            return values[name] if name in values else host[name]
        value = np.array(host[name])
        precision = x.dtype if value.dtype.kind == "f" else None
        return array_namespace(x).asarray(value, dtype=precision, device=x.device)


def program(graph: Graph, output: str, table: Mapping[str, Operator] = OPERATORS) -> Program:
    """The steps to an output of the file; an operator that is not known is refused by name."""
    name = graph.outputs.get(output, output)
    part = graph.leading_to(name)
    host, steps, last = set(graph.constants), [], {}
    for node in part.nodes:
        last.update(dict.fromkeys(node.inputs, node))
    for node in part.nodes:
        if node.op not in table or not node.standard:
            domain = f" of {node.domain}" if node.domain else ""
            raise InvalidArgument(
                f"the operator {node.op}{domain} that makes {node.outputs[0]} is not known here: "
                "export the model with other operators, or leave out the device and use a method "
                "that samples, which onnxruntime serves"
            )
        on_host = bool(node.inputs) and all(name in host for name in node.inputs if name)
        if on_host or node.op in FROM_SHAPES:
            host |= set(node.outputs)
        dead = tuple(n for n, user in last.items() if user is node and n not in (name, ""))
        run = (OPERATORS if on_host else table)[node.op]
        steps.append(Step(node, run, on_host, dead))
    return Program(part, name, tuple(steps))


def precision_of(graph: Graph) -> np.dtype[np.generic]:
    """In which the file computes: that of its input, of whole numbers that of its weights."""
    if graph.dtype.kind == "f":
        return graph.dtype
    floats = {value.dtype for value in graph.constants.values() if value.dtype.kind == "f"}
    return max(floats, key=lambda one: one.itemsize, default=np.dtype(np.float32))


def evaluate(graph: Graph, x: Values, output: str) -> Values:
    """An output by NumPy, in the precision of x."""
    precision = x.dtype if x.dtype.kind == "f" else precision_of(graph)
    ready = program(graph, output)
    constants = {
        name: value.astype(precision) if value.dtype.kind == "f" else value
        for name, value in ready.graph.constants.items()
    }
    return np.asarray(ready(x, constants))


def torch_graph(graph: Graph, output: str, logits: str | None = None) -> Module:
    """The graph as a PyTorch module; its constants are parameters without gradient.

    A file of whole numbers gets its floats rounded and kept in range. `logits` is the tensor that
    the module's `onnx_logits` gives, where the output is a Softmax of it or the like.
    """
    import torch

    from surefoot.graph.torch_operators import TORCH_OPERATORS

    ready = program(graph, output, TORCH_OPERATORS)
    before = None if logits is None else program(graph, logits, TORCH_OPERATORS)
    held = {f"c{i}": name for i, name in enumerate(ready.graph.constants)}

    class OnnxGraph(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.training = False
            for own, name in held.items():
                value = torch.from_numpy(np.array(ready.graph.constants[name]))
                if value.is_floating_point():
                    weights = torch.nn.Parameter(value, requires_grad=False)
                    self.register_parameter(own, weights)
                else:
                    self.register_buffer(own, value)

        def forward(self, x: Array) -> Array:
            """The output for a batch of any size."""
            return self._run(ready, x)

        @property
        def onnx_logits(self) -> Callable[[Array], Array] | None:
            return None if before is None else partial(self._run, before)

        def _run(self, steps: Program, x: Array) -> Array:
            if graph.dtype.kind in "iu":
                info = np.iinfo(graph.dtype.name)
                whole = torch.clamp(torch.round(x), info.min, info.max)
                x = x + (whole - x).detach()  # whole numbers as floats: a slope can pass
            own = {**self._parameters, **self._buffers}
            return steps(x, {name: own[key] for key, name in held.items()})

    return OnnxGraph()


def largest_share(ours: Values, theirs: Values) -> float:
    """The largest difference, as a share of the largest output; infinite where one is no number."""
    a, b = (np.asarray(v, np.float64) for v in (ours, theirs))
    if a.shape != b.shape or not (np.isfinite(a) == np.isfinite(b)).all():
        return float("inf")
    largest = np.abs(b[np.isfinite(b)]).max(initial=0.0)
    off = np.abs(np.where(np.isfinite(a), a, 0) - np.where(np.isfinite(b), b, 0)).max(initial=0.0)
    return float(off / largest) if largest > 0 else float(off)


def tolerance(graph: Graph, *, reduced: bool = False) -> float:
    """How far the graph may be from onnxruntime."""
    rounds = any(node.op == "QuantizeLinear" for node in graph.nodes)
    return (
        _REDUCED_SHARE if reduced or rounds or precision_of(graph).itemsize < 4 else _FLOAT32_SHARE
    )


def check_difference(difference: float, allowed: float, what: str) -> None:
    """Refuse what is not the file any more."""
    if not difference <= allowed:
        raise ModelFailed(
            f"{what} differs from onnxruntime by {difference:.3g} of the largest output, and "
            f"{allowed:g} is allowed: leave out the device, or export the model again in float32; "
            "please report it"
        )
