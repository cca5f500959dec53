"""Weights that an ONNX file keeps in other files: their names, whether they may be read, bytes.

The file is walked as protobuf, since onnxruntime does not tell what it reads. A weight file must
lie in the model's own folder: a model from elsewhere must not make us read other files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from surefoot.errors import InvalidArgument
from surefoot.graph.onnx_file import require_onnx

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


def read_weight_files(path: Path) -> WeightFiles:
    """The file and what it names; refused where that is missing or outside its folder."""
    content = path.read_bytes()
    try:
        names = sorted(set(_locations(content)))
    except ValueError as error:
        raise InvalidArgument(
            f"{path} cannot be read as an ONNX model ({error}): export it again, or check that "
            "the download is complete"
        ) from error
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


def _tensors(onnx: Any, message: Any) -> Iterator[Any]:  # noqa: ANN401  of protobuf
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


def _locations(content: bytes) -> Iterator[str]:
    """The file of every tensor that is stored elsewhere; ValueError where it is no protobuf."""
    yield from _walk(memoryview(content), "model", 0)


def _walk(message: memoryview, kind: str, depth: int) -> Iterator[str]:
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
            yield from _walk(value, inner, depth + 1)


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
