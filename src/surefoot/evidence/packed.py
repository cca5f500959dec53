"""Large tables within a statement: JSON text, compressed, as base64."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from typing import Any

from surefoot.errors import EvidenceFailed

ENCODING = "zlib+base64"
NEW_COPY = "get a new copy of it, or write it again (surefoot evidence)"
"""The way out of a file that is damaged."""
MOST_UNPACKED_BYTES = 256 * 2**20
"""Of all tables of a file. A hostile file cannot fill the memory."""
_MOST_VALUES = 12_000_000
"""Values in all JSON text of a file, in use some 32 bytes each."""
_MOST_OBJECTS = 1_500_000
"""Lists and objects in all JSON text of a file, in use up to 232 bytes each."""
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


class Unpacking:
    """What one file may still unpack to: bytes, values, lists and objects.

    A file that would need gigabytes is refused before they are used.
    """

    def __init__(self) -> None:
        self._bytes = MOST_UNPACKED_BYTES
        self._values = _MOST_VALUES
        self._objects = _MOST_OBJECTS

    def table(self, table: Any) -> Any:  # noqa: ANN401  what a file holds
        """The table of a packed form; anything else as it is."""
        if not isinstance(table, dict) or table.keys() != {"encoding", "bytes", "data"}:
            return table
        if table["encoding"] != ENCODING:
            raise EvidenceFailed(f"a packed table of the file is damaged: {NEW_COPY}")
        return self.json(self.inflate(table["data"], table["bytes"]))

    def inflate(self, data: Any, size: Any) -> bytes:  # noqa: ANN401  what a file holds
        """What is compressed, which must be exactly as long as the file says."""
        if type(size) is not int or not isinstance(data, str):
            raise EvidenceFailed(f"a packed table of the file is damaged: {NEW_COPY}")
        if not 0 <= size <= self._bytes:
            raise EvidenceFailed(
                f"a table of the file has {str(size)[:20]} bytes, and all together may have "
                f"{MOST_UNPACKED_BYTES:,}: it is no evidence of a run of surefoot; {NEW_COPY}"
            )
        self._bytes -= size
        try:
            unpacker = zlib.decompressobj()
            plain = unpacker.decompress(base64.b64decode(data, validate=True), size + 1)
        except (zlib.error, binascii.Error, ValueError) as error:
            raise EvidenceFailed(
                f"a packed table of the file is damaged ({error}): {NEW_COPY}"
            ) from error
        if len(plain) != size or not unpacker.eof or unpacker.unused_data:
            raise EvidenceFailed(
                f"a packed table of the file is not as long as it says: {NEW_COPY}"
            )
        return plain

    def json(self, text: bytes) -> Any:  # noqa: ANN401  what a file holds
        """The value in JSON text; names that come twice, and numbers that are none, are refused."""
        self._values -= text.count(b",")
        self._objects -= text.count(b"[") + text.count(b"{")
        if self._values < 0 or self._objects < 0:
            raise EvidenceFailed(
                f"the file has more values than evidence of a run of surefoot has: {NEW_COPY}"
            )
        try:
            return json.loads(
                text.decode("utf-8", "surrogatepass"),
                object_pairs_hook=_without_doubles,
                parse_constant=_refuse_constant,
            )
        except (ValueError, RecursionError) as error:
            raise EvidenceFailed(
                f"the file is not JSON as surefoot writes it ({error}): {NEW_COPY}"
            ) from error


def unpack(table: Any) -> Any:  # noqa: ANN401  what a file holds
    """The table of a packed form; anything else as it is."""
    return Unpacking().table(table)


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = dict(pairs)
    if len(names) < len(pairs):
        raise ValueError("a name comes twice in one object")
    return names


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")
