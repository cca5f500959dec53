"""The Open Inference Protocol v2 (KServe, Triton, MLServer): metadata and tensors as bytes.

https://github.com/kserve/open-inference-protocol; binary tensors as Triton's extension
`binary_tensor_data` defines them.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import ModelFailed

BINARY = "binary_tensor_data"
"""The extension that a server lists if it takes tensors as bytes."""
HEADER_LENGTH = "Inference-Header-Content-Length"
"""The header with the length of the JSON that binary tensors follow."""
DTYPES: dict[str, type[np.generic]] = {
    "FP16": np.float16,
    "FP32": np.float32,
    "FP64": np.float64,
    "INT8": np.int8,
    "INT16": np.int16,
    "INT32": np.int32,
    "INT64": np.int64,
    "UINT8": np.uint8,
    "UINT16": np.uint16,
    "UINT32": np.uint32,
    "UINT64": np.uint64,
}
"""Numbers that the protocol and NumPy both have; BF16, BOOL and BYTES are none."""
_MOST_AXES = 64
"""Axes of an array in NumPy."""
_MOST_DIGITS = 18
"""Digits of a length that an index of 64 bits holds."""
_NOT_THE_PROTOCOL = (
    "check the address, and that the server speaks the Open Inference Protocol v2 (KServe, Triton, "
    "MLServer)"
)


@dataclass(frozen=True)
class Tensor:
    """An input or output as the server states it; None is a length that it leaves open."""

    name: str
    datatype: str
    shape: tuple[int | None, ...]


@dataclass(frozen=True)
class Metadata:
    """What a server says of a model."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


@dataclass(frozen=True)
class Answer:
    """The output of a batch, and the version that gave it; empty where the server does not say."""

    values: NDArray[Any]
    version: str


def read_metadata(body: bytes, where: str) -> Metadata:
    """Inputs and outputs of a model, from the JSON that describes it."""
    stated = _object(body, where)
    if not isinstance(stated.get("inputs"), list) or "name" not in stated:
        raise ModelFailed(
            f"{where} does not state the name and the inputs of a model: {_NOT_THE_PROTOCOL}"
        )
    return Metadata(
        tuple(_tensor(one, where) for one in stated["inputs"]),
        tuple(_tensor(one, where) for one in stated.get("outputs") or ()),
    )


def lists_binary(body: bytes) -> bool:
    """Whether the server's own metadata list the extension for binary tensors."""
    try:
        extensions = json.loads(body).get("extensions")
    except (ValueError, AttributeError, RecursionError):
        return False
    return isinstance(extensions, list) and BINARY in extensions


def _object(body: bytes, where: str) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ModelFailed(
            f"{where} answers with something that is no JSON: {_NOT_THE_PROTOCOL}"
        ) from error
    if not isinstance(value, dict):
        raise ModelFailed(f"{where} answers with JSON that is no object: {_NOT_THE_PROTOCOL}")
    return value


def _tensor(stated: Any, where: str) -> Tensor:  # noqa: ANN401  of a server
    if isinstance(stated, dict):
        name, datatype, shape = (stated.get(key) for key in ("name", "datatype", "shape"))
        words = isinstance(name, str) and isinstance(datatype, str)
        if words and isinstance(shape, list) and len(shape) <= _MOST_AXES:
            return Tensor(str(name), str(datatype), tuple(_length(n) for n in shape))
    raise ModelFailed(
        f"{where} states a tensor without name, datatype and shape: {_NOT_THE_PROTOCOL}"
    )


def _length(stated: Any) -> int | None:  # noqa: ANN401  of a server
    """Servers write numbers, some as text; -1 is open."""
    text = str(stated)
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS and int(text) > 0 else None


def infer_request(
    tensor: Tensor, x: NDArray[Any], output: str | None, *, binary: bool
) -> tuple[bytes, dict[str, str]]:
    """The body and the headers of a request; x has the type that the tensor states."""
    stated: dict[str, Any] = {
        "name": tensor.name,
        "shape": list(x.shape),
        "datatype": tensor.datatype,
    }
    wanted: dict[str, Any] = {"name": output}
    if not binary:
        stated["data"] = x.ravel().tolist()
        plain: dict[str, Any] = {"inputs": [stated]} | (
            {} if output is None else {"outputs": [wanted]}
        )
        return json.dumps(plain).encode(), {"content-type": "application/json"}
    raw = np.ascontiguousarray(x, x.dtype.newbyteorder("<")).tobytes()
    stated["parameters"] = {"binary_data_size": len(raw)}
    wanted["parameters"] = {"binary_data": True}
    body: dict[str, Any] = {"inputs": [stated]}
    if output is None:
        body |= {"parameters": {"binary_data_output": True}}
    else:
        body |= {"outputs": [wanted]}
    head = json.dumps(body).encode()
    return head + raw, {
        "content-type": "application/octet-stream",
        HEADER_LENGTH: str(len(head)),
    }


def infer_answer(
    body: bytes, header_length: str | None, output: str | None, rows: int, where: str
) -> Answer:
    """The output for `rows` inputs: from JSON, or from the bytes behind it."""
    head, tail = body, b""
    if header_length is not None:
        readable = header_length.isdecimal() and len(header_length) <= _MOST_DIGITS
        length = int(header_length) if readable else len(body) + 1
        if length > len(body):
            raise ModelFailed(
                f"{where} states {header_length[:_MOST_DIGITS]!r} bytes of JSON and sends "
                f"{len(body)}: the answer was cut off; run the same command again"
            )
        head, tail = body[:length], body[length:]
    stated = _object(head, where)
    outputs = stated.get("outputs")
    if not isinstance(outputs, list) or not all(isinstance(one, dict) for one in outputs):
        raise ModelFailed(f"{where} answers without outputs: {_NOT_THE_PROTOCOL}")
    start = 0
    for one in outputs:
        size = _binary_size(one, where)
        if output is None or one.get("name") == output:
            raw = None if size is None else tail[start : start + size]
            values = _values(one, raw, rows, where)
            return Answer(values, str(stated.get("model_version") or ""))
        start += size or 0
    names = ", ".join(str(one.get("name")) for one in outputs) or "none"
    raise ModelFailed(
        f"{where} answers without the output {output!r}: it gives {names}; name one of them "
        "(output=, --output)"
    )


def _binary_size(stated: dict[str, Any], where: str) -> int | None:
    parameters = stated.get("parameters")
    size = parameters.get("binary_data_size") if isinstance(parameters, dict) else None
    if size is not None and (not isinstance(size, int) or size < 0):
        raise ModelFailed(f"{where} states {size!r} bytes for an output: {_NOT_THE_PROTOCOL}")
    return size


def _values(stated: dict[str, Any], raw: bytes | None, rows: int, where: str) -> NDArray[Any]:
    """One output as an array; what is not as stated is refused."""
    dtype, shape = DTYPES.get(str(stated.get("datatype"))), stated.get("shape")
    if dtype is None:
        raise ModelFailed(
            f"{where} answers with {stated.get('datatype')}: scores are numbers; serve FP32, for "
            "example"
        )
    lengths = shape if isinstance(shape, list) else []
    if not lengths or not all(isinstance(n, int) and n >= 0 for n in lengths):
        raise ModelFailed(f"{where} answers with shape {shape!r}: {_NOT_THE_PROTOCOL}")
    if lengths[0] != rows:
        raise ModelFailed(
            f"{where} was sent {rows} inputs and answers with {lengths[0]} rows (shape {lengths}): "
            "serve it with the batch as first axis, one row for each input"
        )
    if raw is not None:
        little = np.dtype(dtype).newbyteorder("<")
        values = np.frombuffer(raw, little) if len(raw) % little.itemsize == 0 else None
    else:
        values = _numbers(stated.get("data"), dtype)
    if values is None or values.size != math.prod(lengths):
        size = "something that is no list of numbers" if values is None else f"{values.size} values"
        raise ModelFailed(
            f"{where} answers with {size} for an output of shape {lengths}: the answer is damaged, "
            "or the server does not keep to the protocol; run the same command again, or see the "
            "log of the server"
        )
    return values.astype(dtype).reshape(lengths)


def _numbers(data: Any, dtype: type[np.generic]) -> NDArray[Any] | None:  # noqa: ANN401  of JSON
    """The numbers of a list, nested or not; None where it is none."""
    try:
        values = np.asarray(data)
    except ValueError:
        return None
    if not isinstance(data, list) or (values.size and values.dtype.kind not in "iuf"):
        return None
    with np.errstate(over="ignore"):
        return values.ravel().astype(dtype)
