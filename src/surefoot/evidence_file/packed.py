"""Large tables within a statement: JSON text, compressed, as base64."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from typing import Any

from surefoot.errors import EvidenceFailed

ENCODING = "zlib+base64"
MOST_UNPACKED_BYTES = 512 * 2**20
"""Of one table: a million inputs have less. A hostile file cannot fill the memory."""
_PLAIN_LETTERS = 4_000
"""Tables up to this long stay readable."""


def json_text(value: Any) -> str:  # noqa: ANN401  what JSON can hold
    """The one text that we write for a value."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def pack(table: dict[str, Any]) -> dict[str, Any]:
    """The table, or its packed form where it is long."""
    text = json_text(table)
    if len(text) <= _PLAIN_LETTERS:
        return table
    data = text.encode("utf-8", "surrogatepass")
    packed = base64.b64encode(zlib.compress(data, 9)).decode()
    return {"encoding": ENCODING, "bytes": len(data), "data": packed}


def unpack(table: Any) -> Any:  # noqa: ANN401  what a file holds
    """The table of a packed form; anything else as it is."""
    if not isinstance(table, dict) or table.keys() != {"encoding", "bytes", "data"}:
        return table
    size, data = table["bytes"], table["data"]
    if table["encoding"] != ENCODING or type(size) is not int or not isinstance(data, str):
        raise EvidenceFailed("a packed table of the file is damaged")
    if not 0 <= size <= MOST_UNPACKED_BYTES:
        raise EvidenceFailed(
            f"a table of the file has {size:,} bytes, more than {MOST_UNPACKED_BYTES:,}: it cannot "
            "be evidence of a run of surefoot"
        )
    try:
        unpacker = zlib.decompressobj()
        plain = unpacker.decompress(base64.b64decode(data, validate=True), size + 1)
        if len(plain) != size or not unpacker.eof or unpacker.unused_data:
            raise EvidenceFailed("a packed table of the file is not as long as it says")
        return load_json(plain)
    except (zlib.error, binascii.Error, ValueError) as error:
        raise EvidenceFailed(f"a packed table of the file is damaged: {error}") from error


def load_json(text: bytes) -> Any:  # noqa: ANN401  what a file holds
    """The value in JSON text; names that come twice, and numbers that are none, are refused."""
    try:
        return json.loads(
            text.decode("utf-8", "surrogatepass"),
            object_pairs_hook=_without_doubles,
            parse_constant=_refuse_constant,
        )
    except (ValueError, RecursionError) as error:
        raise EvidenceFailed(f"the file is not JSON as surefoot writes it: {error}") from error


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = dict(pairs)
    if len(names) < len(pairs):
        raise ValueError("a name comes twice in one object")
    return names


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")
