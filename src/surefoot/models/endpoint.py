"""The Open Inference Protocol v2 (KServe, Triton, MLServer): metadata and tensors as bytes.

https://github.com/kserve/open-inference-protocol; binary tensors as Triton's extension
`binary_tensor_data` defines them.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from surefoot.core.assumptions import Assumed
from surefoot.errors import InvalidArgument, ModelChanged, ModelFailed, OutOfMemory
from surefoot.models import scores as answers
from surefoot.models.endpoint_connection import (
    FIRST_CONTACT_TRIES,
    MOST_BYTES,
    Connection,
    covers_name,
    patience_of_user,
    read_address,
)
from surefoot.models.load_options import LoadOptions, Normalise
from surefoot.subject.protocols import Array, HostArray, Scores, Signature
from surefoot.system.memory_limits import refuse_too_large
from surefoot.system.text import Json

Stated = dict[str, Json]
"""An object of JSON that a server or a request states."""
BINARY = "binary_tensor_data"
"""The extension that a server lists if it takes tensors as bytes."""
HEADER_LENGTH = "Inference-Header-Content-Length"
"""The header with the length of the JSON that binary tensors follow."""
DTYPES: dict[str, type[np.generic]] = {
    "FP16": np.float16, "FP32": np.float32, "FP64": np.float64,
    "INT8": np.int8, "INT16": np.int16, "INT32": np.int32, "INT64": np.int64,
    "UINT8": np.uint8, "UINT16": np.uint16, "UINT32": np.uint32, "UINT64": np.uint64,
}  # fmt: skip
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

    values: HostArray
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


def _object(body: bytes, where: str) -> Stated:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ModelFailed(
            f"{where} answers with something that is no JSON: {_NOT_THE_PROTOCOL}"
        ) from error
    if not isinstance(value, dict):
        raise ModelFailed(f"{where} answers with JSON that is no object: {_NOT_THE_PROTOCOL}")
    return value


def _tensor(stated: Json, where: str) -> Tensor:
    if isinstance(stated, dict):
        name, datatype, shape = (stated.get(key) for key in ("name", "datatype", "shape"))
        words = isinstance(name, str) and isinstance(datatype, str)
        if words and isinstance(shape, list) and len(shape) <= _MOST_AXES:
            # Servers write numbers, some as text; -1 is open.
            texts = [str(n) if len(str(n)) <= _MOST_DIGITS else "" for n in shape]
            lengths = tuple(int(text) or None if text.isdecimal() else None for text in texts)
            return Tensor(str(name), str(datatype), lengths)
    raise ModelFailed(
        f"{where} states a tensor without name, datatype and shape: {_NOT_THE_PROTOCOL}"
    )


def infer_request(
    tensor: Tensor, x: HostArray, output: str | None, *, binary: bool
) -> tuple[bytes, dict[str, str]]:
    """The body and the headers of a request; x has the type that the tensor states."""
    stated: Stated = {"name": tensor.name, "shape": list(x.shape), "datatype": tensor.datatype}
    wanted: Stated = {"name": output}
    body: Stated = {"inputs": [stated]} | ({} if output is None else {"outputs": [wanted]})
    if not binary:
        stated["data"] = x.ravel().tolist()
        return json.dumps(body).encode(), {"content-type": "application/json"}
    raw = np.ascontiguousarray(x, x.dtype.newbyteorder("<")).tobytes()
    stated["parameters"] = {"binary_data_size": len(raw)}
    wanted["parameters"] = {"binary_data": True}
    if output is None:
        body["parameters"] = {"binary_data_output": True}
    head = json.dumps(body).encode()
    return head + raw, {"content-type": "application/octet-stream", HEADER_LENGTH: str(len(head))}


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
        parameters = one.get("parameters")
        size = parameters.get("binary_data_size") if isinstance(parameters, dict) else None
        if size is not None and (not isinstance(size, int) or size < 0):
            raise ModelFailed(f"{where} states {size!r} bytes for an output: {_NOT_THE_PROTOCOL}")
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


def _values(stated: Stated, raw: bytes | None, rows: int, where: str) -> HostArray:
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


def _numbers(data: Json, dtype: type[np.generic]) -> HostArray | None:
    """The numbers of a list, nested or not; None where it is none."""
    try:
        values = np.asarray(data)
    except ValueError:
        return None
    if not isinstance(data, list) or (values.size and values.dtype.kind not in "iuf"):
        return None
    with np.errstate(over="ignore"):
        return values.ravel().astype(dtype)


_HEAD_BYTES, _NUMBER_BYTES = 2**20, 64
"""Bytes of an answer beside its numbers, error pages included, and of one number in JSON: 25 with
its comma, more where a server writes each on a line of its own."""
_FIRST_BYTES, _OPEN_BYTES = 2**26, 2**20
"""Bytes of the first answer, which may have another shape than stated, and of each input in it
where none is stated: 16,384 numbers."""
_SAME_ANSWER = 1e-4
"""Part of the largest score by which answers to the same input may differ: single precision,
whatever other requests the server puts into the batch."""


@dataclass(frozen=True, eq=False)
class EndpointModel(answers.OfRows):
    """A server that is asked, and what it was when it was first asked.

    `version` is the one that answered first, empty where the server does not say;
    `first_answers` are those to the fixed inputs of `probe`. `row` is the shape of the output for
    one input: as stated, and once it has answered, as that was; None where nothing says it.
    """

    connection: Connection
    tensor: Tensor
    output: str | None
    binary: bool
    normalise: Normalise
    signature: Signature = field(repr=False)
    version: str = ""
    first_answers: HostArray | None = field(default=None, repr=False)
    row: tuple[int | None, ...] | None = None

    assumption: ClassVar[Assumed] = Assumed.MODEL_UNCHANGED
    """What every claim about it takes for granted."""
    caution: ClassVar[str] = (
        "it is behind an address, and its owner can change it at any time: the version and "
        f"the answers to {answers.PROBES} fixed inputs are compared again at the end of the run, "
        "which does not show every change"
    )

    def rows(self, x: Array) -> Array:
        """The output for a batch of any size, also where the server fixes one."""
        with answers.model_errors():
            ready = answers.cast_to(self.normalise(x), DTYPES[self.tensor.datatype])
            size = self.tensor.shape[0]
            raw = answers.in_pieces(ready, size or len(x), lambda piece: self._ask(piece).values)
            return answers.read_output(raw, len(x), self.signature.scores)

    def check_unchanged(self) -> None:
        """Ask about the fixed inputs again; an error if the answers are not those of the start."""
        first, now = self.first_answers, _answers(self)
        if first is None:
            return
        scale = float(np.abs(first).max(initial=0.0))
        same = first.shape == now.shape
        apart = float(np.abs(first - now).max(initial=0.0)) if same else np.inf
        if not apart <= _SAME_ANSWER * scale:
            by = f" by up to {apart:.3g}" if np.isfinite(apart) else ""
            raise ModelChanged(
                f"the model at {self.connection.address} changed during the run: its answers to "
                f"{answers.PROBES} fixed inputs differ{by} from those at the start, so no result "
                "is recorded; fix a version (/versions/VERSION) or keep the model as it is, and "
                "use another store (--store)"
            )

    def _ask(self, x: HostArray, most: int | None = None) -> Answer:
        """One request; an answer of more bytes or another version than the first is refused."""
        connection, address = self.connection, self.connection.address
        body, headers = infer_request(self.tensor, x, self.output, binary=self.binary)
        try:
            most = most or _most_bytes(self.row, len(x))
            reply = connection.post(f"{address.metadata}/infer", body, headers, most)
        except OutOfMemory as error:
            if len(x) == 1:
                raise ModelFailed(f"{error}, and it is a single input: raise its limit") from error
            raise
        length = reply.headers.get(HEADER_LENGTH.lower())
        answer = infer_answer(reply.body, length, self.output, len(x), str(address))
        shape, known = answer.values.shape[1:], self.row
        if known is not None and None not in known and shape != known:
            raise ModelChanged(
                f"the model at {address} answers one input with an output of shape {list(shape)}, "
                f"and with {list(known)} before: serve one model, with one number of classes, and "
                "use another store (--store)"
            )
        version = connection.without_token(answer.version)
        if self.version and version and version != self.version:
            raise ModelChanged(
                f"the model at {address} changed during the run: version {version!r} answers, and "
                f"version {self.version!r} did at the start; fix one with /versions/VERSION"
            )
        return replace(answer, version=version)


def _most_bytes(row: tuple[int | None, ...] | None, rows: int) -> int:
    """Bytes of the largest answer for so many inputs: in JSON, which is longer than binary."""
    known = row is not None and None not in row
    each = _NUMBER_BYTES * math.prod(n or 1 for n in row or ()) if known else _OPEN_BYTES
    return min(MOST_BYTES, _HEAD_BYTES + rows * each)


def _answers(model: EndpointModel) -> HostArray:
    """The rows for the fixed inputs, in batches as small as the server wants them."""
    x, size = answers.probe(model.signature.shape, model.signature.bounds), answers.PROBES
    while True:
        try:
            pieces = [model.rows(x[i : i + size]) for i in range(0, answers.PROBES, size)]
            return np.concatenate(pieces).astype(np.float64)
        except OutOfMemory:
            size //= 2


@answers.model_errors()
def open_endpoint(source: str, options: LoadOptions) -> EndpointModel:
    """Read the metadata and ask about a few fixed inputs to learn what comes back."""
    options.refuse_device()
    if options.scores is Scores.OBJECTS:
        raise InvalidArgument(
            f"{source} gives tensors, and scores is 'objects': wrap it in a Python function"
        )
    connection = Connection(read_address(source, options.token_variable), patience_of_user())
    metadata = _metadata(connection)
    where, tensor = str(connection.address), _only_input(connection, metadata)
    shape = options.input_shape(tensor.shape[1:], where)
    options.normalise.check(shape)
    batch_bytes = 4 * (tensor.shape[0] or 1) * math.prod(shape)
    refuse_too_large(f"a batch for {where}", batch_bytes, "serve the model with a smaller shape")
    outputs = {one.name: one.datatype for one in metadata.outputs}
    output = options.output
    if outputs:  # else the only one that there is
        output = options.chosen_output(where, outputs, ("FP",), ("INT", "UINT"))
    draft = options.draft(shape, dtype=DTYPES[tensor.datatype])
    server = connection.get(f"{connection.address.prefix}/v2")
    binary = server.status == 200 and lists_binary(server.body)
    row = next((one.shape[1:] for one in metadata.outputs if one.name == output), None)
    model = EndpointModel(connection, tensor, output, binary, options.normalise, draft, row=row)
    # The version, the answers, and a digest that covers both.
    x = answers.probe(shape, options.bounds)[:1]
    one = answers.cast_to(model.normalise(x), DTYPES[tensor.datatype])
    # Some servers state another shape than they give, such as that of one input without a batch.
    rows = tensor.shape[0] or 1
    most = _most_bytes(row, rows) + _FIRST_BYTES
    answer = replace(model, row=None)._ask(np.repeat(one, rows, axis=0), most)
    version, model = answer.version, replace(model, row=answer.values.shape[1:])
    name = connection.address.name
    parts = (name, version, tensor.name, tensor.datatype, output or "")
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    draft = replace(draft, digest=digest, covers=covers_name(name, version), partial=True)
    model = replace(model, version=version, signature=draft)
    first = _answers(model)
    signature = answers.signature_of_answers(draft, first, options.scores)
    return replace(model, signature=signature, first_answers=first)


def endpoint_input_shape(source: str, token_variable: str | None) -> tuple[int | None, ...]:
    """The shape of one input as the server states it; None for a length that it leaves open."""
    with answers.model_errors():
        connection = Connection(read_address(source, token_variable), patience_of_user())
        return _only_input(connection, _metadata(connection)).shape[1:]


def _metadata(connection: Connection) -> Metadata:
    reply = connection.get(connection.address.metadata, FIRST_CONTACT_TRIES)
    if reply.status != 200:
        raise connection.refusal(reply)
    return read_metadata(reply.body, str(connection.address))


def _only_input(connection: Connection, metadata: Metadata) -> Tensor:
    """The input of the model: one tensor of numbers with a batch axis."""
    where, inputs = connection.address, metadata.inputs
    if len(inputs) != 1:
        names = ", ".join(tensor.name for tensor in inputs) or "none"
        raise connection.failed(
            f"{where} must state one input, and it states {len(inputs)} ({names}): serve the "
            "model with one, and with its inputs in the metadata"
        )
    (tensor,) = inputs
    if tensor.datatype not in DTYPES:
        raise connection.failed(
            f"{where} takes {tensor.datatype}: serve the model with numbers, such as FP32"
        )
    if len(tensor.shape) < 2:
        raise ModelFailed(
            f"{where} takes an input of shape {list(tensor.shape)}, without a batch axis: serve "
            "the model with one"
        )
    return tensor
