"""ONNX files: bytes changed anywhere, and graphs that say something impossible."""

import random
from collections.abc import Callable
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from tests.fuzz.case import FAST, Case, mutated, sound_data, sound_model

_OPERATORS = ("Relu", "Loop", "If", "Scan", "Reshape", "Conv", "NonZero", "Unknown", "Where", "")
_SIZES = (0, -1, 1, 2, 37, 2**31, 2**62)
_NAMES = ("", "x", "scores", "<script>", "[red]", "../../name", "a" * 5000, "\u202e")


def make(chance: random.Random, folder: Path) -> Case:
    """A model file that is not what it seems."""
    model, data = sound_model(folder), sound_data(folder)
    if chance.random() < 0.5:
        content, note = mutated(model.read_bytes(), chance)
        model.write_bytes(content)
    else:
        change = chance.choice(_CHANGES)
        graph = onnx.load(model)
        note = change.__name__.strip("_")
        try:
            change(graph, chance)
            model.write_bytes(graph.SerializeToString())
        except (ValueError, TypeError) as error:  # what onnx itself cannot write
            note = f"{note}: {error}"
    more = chance.choice(((), ("--json",), ("--correct-only",), ("--half",)))
    command = chance.choice((("estimate",), ("estimate",), ("doctor",), ("critical",)))
    if command == ("doctor",):
        return Case(("doctor", str(model.name), data.name), f"onnx, {note}")
    if command == ("critical",):
        limits = ("--norm", "linf", "--seconds-per-input", "1", "--first", "1")
        return Case(("critical", model.name, data.name, *limits), f"onnx, {note}")
    return Case(("estimate", model.name, data.name, *FAST, *more), f"onnx, {note}")


def _operator(model: onnx.ModelProto, chance: random.Random) -> None:
    chance.choice(model.graph.node).op_type = chance.choice(_OPERATORS)


def _domain(model: onnx.ModelProto, chance: random.Random) -> None:
    chance.choice(model.graph.node).domain = chance.choice(("ai.onnx.ml", "com.example", "x" * 99))


def _version(model: onnx.ModelProto, chance: random.Random) -> None:
    model.opset_import[0].version = chance.choice((-1, 0, 1, 99, 2**40))
    model.ir_version = chance.choice((0, 1, 9, 99, 2**40))


def _weights(model: onnx.ModelProto, chance: random.Random) -> None:
    tensor = chance.choice(model.graph.initializer)
    tensor.dims[chance.randrange(len(tensor.dims))] = chance.choice(_SIZES)


def _kind(model: onnx.ModelProto, chance: random.Random) -> None:
    chance.choice(model.graph.initializer).data_type = chance.choice((0, 8, 9, 14, 16, 99))


def _outside(model: onnx.ModelProto, chance: random.Random) -> None:
    """Weights in a file elsewhere."""
    tensor = chance.choice(model.graph.initializer)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    place = chance.choice(("/etc/passwd", "../model.onnx", "model.onnx", "none", "/dev/zero"))
    for key, value in {"location": place, "offset": "0", "length": "9999999999"}.items():
        tensor.external_data.add(key=key, value=value)


def _shape(model: onnx.ModelProto, chance: random.Random) -> None:
    dims = model.graph.input[0].type.tensor_type.shape.dim
    chance.choice(dims).dim_value = chance.choice(_SIZES)


def _names(model: onnx.ModelProto, chance: random.Random) -> None:
    things = [*model.graph.node, *model.graph.input, *model.graph.output, *model.graph.initializer]
    chance.choice(things).name = chance.choice(_NAMES)


def _edges(model: onnx.ModelProto, chance: random.Random) -> None:
    node = chance.choice(model.graph.node)
    node.input[0] = chance.choice((node.output[0], "nowhere", ""))


def _outputs(model: onnx.ModelProto, chance: random.Random) -> None:
    if chance.random() < 0.5:
        del model.graph.output[:]
    else:
        model.graph.output.add().CopyFrom(model.graph.output[0])


def _nested(model: onnx.ModelProto, chance: random.Random) -> None:
    """Branches inside branches."""
    graph = helper.make_graph([], "leaf", [], [])
    for i in range(chance.choice((3, 60))):
        node = helper.make_node("If", ["c"], [f"o{i}"], then_branch=graph, else_branch=graph)
        graph = helper.make_graph([node], f"level{i}", [], [])
        if len(graph.SerializeToString()) > 1_000_000:
            break
    model.graph.node.extend(graph.node)


def _texts(model: onnx.ModelProto, chance: random.Random) -> None:
    model.doc_string = model.producer_name = chance.choice(_NAMES)
    model.metadata_props.add(key=chance.choice(_NAMES), value=chance.choice(_NAMES))


_CHANGES: tuple[Callable[[onnx.ModelProto, random.Random], None], ...] = (
    _operator, _domain, _version, _weights, _kind, _outside,
    _shape, _names, _edges, _outputs, _nested, _texts,
)  # fmt: skip
