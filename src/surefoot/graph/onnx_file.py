"""An ONNX file: the files of its weights, its content, sessions of onnxruntime."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.errors import InvalidArgument, needing, refusing
from surefoot.system.user_code import error_text

if TYPE_CHECKING:
    from types import ModuleType

    from onnx import GraphProto, ModelProto, TensorProto
    from onnxruntime import InferenceSession

Source = bytes | str | Path
Attributes = Mapping[str, Any]
"""Of an operator, by name: numbers, texts, lists of numbers or a tensor."""


def require_onnx(why: str = "proofs read the layers of an ONNX file") -> ModuleType:
    """The onnx package, or the line that installs it."""
    with needing(f"{why}: pip install 'surefoot[verify]'"):
        return import_module("onnx")


def one_line(error: BaseException) -> str:
    """The beginning of what an error of onnx says, which may take many lines."""
    return " ".join(str(error).split())[:160]


def load_proto(source: Source) -> ModelProto:
    """The model of a file or of its bytes; refused in one line where it is none."""
    onnx = require_onnx("gradients, proofs and GPUs read the graph of an ONNX file")
    with refusing(
        "this cannot be read as an ONNX model", "export it again", Exception, words=one_line
    ):
        return onnx.load_from_string(source) if isinstance(source, bytes) else onnx.load(source)


def widened(model: ModelProto) -> ModelProto:
    """The model with float64 in place of float32, so that its constants are folded without loss."""
    onnx = require_onnx()
    wide, single, double = onnx.ModelProto(), onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE
    wide.CopyFrom(model)
    graph, helper = wide.graph, onnx.numpy_helper
    tensors = [
        *graph.initializer,
        *(a.t for n in graph.node for a in n.attribute if a.HasField("t")),
    ]
    for tensor in tensors:
        if tensor.data_type == single:
            tensor.CopyFrom(helper.from_array(helper.to_array(tensor).astype(float), tensor.name))
    for node in graph.node:
        for at in node.attribute:
            if node.op_type == "Cast" and at.name == "to" and at.i == single:
                at.i = double
            elif node.op_type == "Constant" and at.name in ("value_float", "value_floats"):
                value = np.array(at.f if at.name == "value_float" else at.floats, float)
                at.CopyFrom(onnx.helper.make_attribute("value", helper.from_array(value)))
    for info in (*graph.input, *graph.output, *graph.value_info):
        if info.type.tensor_type.elem_type == single:
            info.type.tensor_type.elem_type = double
    return wide


@dataclass(frozen=True)
class WindowLayout:
    """Where a kernel is laid: padding of each axis, steps, gaps within the kernel."""

    pads: list[tuple[int, int]]
    strides: list[int]
    dilations: list[int]


def window_layout(
    attributes: Attributes, space: tuple[int, ...], kernel: tuple[int, ...]
) -> WindowLayout:
    """Of a convolution or a pool over this space, its padding worked out where it has a name."""
    rank = len(kernel)
    strides = [int(s) for s in attributes.get("strides", [1] * rank)]
    dilations = [int(d) for d in attributes.get("dilations", [1] * rank)]
    auto = attributes.get("auto_pad", "NOTSET")
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        pads = []
        for size, k, s, d in zip(space, kernel, strides, dilations, strict=True):
            total = max((-(-size // s) - 1) * s + (k - 1) * d + 1 - size, 0)
            less, more = total // 2, total - total // 2
            pads.append((less, more) if auto == "SAME_UPPER" else (more, less))
    else:
        none = [0] * 2 * rank
        flat = [int(p) for p in attributes.get("pads", none)] if auto == "NOTSET" else none
        pads = [(flat[i], flat[i + rank]) for i in range(rank)]
    return WindowLayout(pads, strides, dilations)


FATAL_ONLY = 4
"""Severity from which onnxruntime logs: only what ends the program."""


def quiet_session(model: Path | bytes, *before: tuple[str, Mapping[str, int]]) -> InferenceSession:
    """A session of a file or of a model in memory, on the processor or by providers before it."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = FATAL_ONLY
    return onnxruntime.InferenceSession(model, options, providers=[*before, "CPUExecutionProvider"])


_MESSAGES: Mapping[str, Mapping[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {13: "entry"},
}
"""The fields of onnx.proto3 that lead to tensors, by message and number."""
_MOST_NESTING = 100
_MOST_INSIDE = 2**31 - 1
"""Bytes that protobuf can hold in one message: proofs and gradients need all weights in one."""
_CHUNK = 1 << 20


@dataclass(frozen=True)
class WeightFiles:
    """An ONNX file and the files of weights that it names, by name."""

    path: Path
    content: bytes
    beside: Mapping[str, Path]

    @property
    def digest(self) -> str:
        """SHA-256 of the file, and of the name and the bytes of each file of weights."""
        whole = hashlib.sha256(self.content)
        for name, weights in sorted(self.beside.items()):
            whole.update(name.encode())
            with weights.open("rb") as file:
                while chunk := file.read(_CHUNK):
                    whole.update(chunk)
        return whole.hexdigest()


def no_onnx_refused(path: Path) -> AbstractContextManager[None]:
    """Within it an error of reading becomes the refusal of a file that is no ONNX model."""
    way_out = "export it again, or check that the download is complete"
    return refusing(f"{path} cannot be read as an ONNX model", way_out, Exception, words=error_text)


def read_weight_files(path: Path) -> WeightFiles:
    """The file and what it names; refused where that is missing or outside its folder."""
    content = path.read_bytes()
    with no_onnx_refused(path):
        names = sorted(set(_locations(memoryview(content), "model", 0)))
    return WeightFiles(path, content, {name: _inside(path, name) for name in names})


def whole_content(files: WeightFiles, digest: str) -> bytes:
    """The bytes of the model with all weights inside; refused where a file has changed."""
    size = len(files.content) + sum(file.stat().st_size for file in files.beside.values())
    if size > _MOST_INSIDE:
        raise InvalidArgument(
            f"{files.path} and its weights have {size / 2**30:.1f} GiB, and 2 are allowed here: "
            "proofs and gradients are for smaller networks; use a statistical method, which takes "
            "any model"
        )
    content = {name: file.read_bytes() for name, file in files.beside.items()}
    whole = hashlib.sha256(files.content)
    for name, weights in sorted(content.items()):
        whole.update(name.encode())
        whole.update(weights)
    if whole.hexdigest() != digest:
        raise InvalidArgument(
            f"{files.path} is not the file that the model was loaded from, or its weights beside "
            "it have changed: load the model again"
        )
    return _embedded(files, content) if content else files.content


def _embedded(files: WeightFiles, content: Mapping[str, bytes]) -> bytes:
    """The model with the bytes of its weights in place of where they are."""
    onnx = require_onnx()
    model = onnx.load_from_string(files.content)
    for tensor in _tensors(onnx, model):
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            continue
        entries = {entry.key: entry.value for entry in tensor.external_data}
        weights = content.get(entries.get("location", ""), b"")
        try:
            start = int(entries.get("offset", 0))
            stop = start + int(entries.get("length", len(weights) - start))
        except ValueError:
            start, stop = -1, -1
        if not 0 <= start <= stop <= len(weights):
            raise InvalidArgument(
                f"{files.path}: the weights {tensor.name} lie outside their file: "
                "export the model again"
            )
        tensor.raw_data = weights[start:stop]
        del tensor.external_data[:]
        tensor.data_location = onnx.TensorProto.DEFAULT
    whole: bytes = model.SerializeToString()
    return whole


def _tensors(onnx: ModuleType, message: ModelProto | GraphProto) -> Iterator[TensorProto]:
    """All tensors in a message, however deep."""
    if isinstance(message, onnx.TensorProto):
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in [value] if hasattr(value, "ListFields") else value:
                yield from _tensors(onnx, part)


def _inside(path: Path, name: str) -> Path:
    """The file of weights of this name; refused where it is missing or outside the folder."""
    if "\0" in name:
        raise InvalidArgument(
            f"{path} keeps weights in {name!r}, which is no name of a file: export it again"
        )
    relative, foreign = PurePosixPath(name), PureWindowsPath(name)
    outside = relative.is_absolute() or bool(foreign.anchor) or ".." in foreign.parts
    weights = path.parent / relative
    if outside or not weights.resolve().is_relative_to(path.parent.resolve()):
        raise InvalidArgument(
            f"{path} keeps weights in {name!r}, outside its own folder: put them beside the model "
            "and export it again"
        )
    if not weights.is_file():
        raise InvalidArgument(
            f"{path} keeps its weights in {name}, which is not beside it: put that file into "
            f"{path.parent}"
        )
    return weights


def _locations(message: memoryview, kind: str, depth: int) -> Iterator[str]:
    """The file of every tensor that is stored elsewhere; ValueError where it is no protobuf."""
    if depth > _MOST_NESTING:
        raise ValueError("it is nested too deeply")
    below = _MESSAGES[kind]
    for number, value in _fields(message):
        inner = below.get(number)
        if inner == "entry":
            pair = {n: bytes(v) for n, v in _fields(value) if n in (1, 2)}
            if pair.get(1) == b"location":
                yield pair.get(2, b"").decode(errors="replace")
        elif inner is not None:
            yield from _locations(value, inner, depth + 1)


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview]]:
    """The fields of a message that hold bytes: number and content."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        match tag & 7:
            case 0:
                _, at = _varint(message, at)
            case 1:
                at += 8
            case 2:
                length, at = _varint(message, at)
                if at + length > len(message):
                    raise ValueError("it ends early")
                yield tag >> 3, message[at : at + length]
                at += length
            case 5:
                at += 4
            case _:
                raise ValueError("it is no protobuf")


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            break
        byte, at = message[at], at + 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError("it is no protobuf")
