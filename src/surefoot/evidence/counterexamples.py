"""Counterexamples of a statement: each array once, compressed, and a reference where it is used.

A counterexample is in the journal and in the result of its input, as the base64 text of float64
values. Most of these values were single precision, so that many of their bytes are zero.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from typing import Any

from surefoot.errors import EvidenceFailed
from surefoot.evidence.packed import ENCODING, NEW_COPY, Unpacking

_REFERENCE = "#"
"""Begins the number of an array; no base64 text begins with it."""
_VALUE = 8
"""Bytes of a float64: the first bytes of all values are stored together, then the second, …"""
_FIELD = '"witness":"'
"""Of a proof, as a row of the journal writes it."""


def without_arrays(
    inputs: dict[str, Any], journal: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any] | None]:
    """Inputs and journal with references for arrays, and the table of arrays; None without any."""
    places: dict[str, int] = {}

    def reference(text: Any) -> Any:  # noqa: ANN401  what JSON can hold
        if not isinstance(text, str) or not text or _bytes_of(text) is None:
            return text
        return f"{_REFERENCE}{places.setdefault(text, len(places))}"

    inputs, journal = _replaced(inputs, journal, reference)
    if not places:
        return inputs, journal, None
    arrays = [_bytes_of(text) or b"" for text in places]
    data = zlib.compress(b"".join(map(_shuffled, arrays)), 9)
    table = {
        "encoding": ENCODING,
        "lengths": [len(one) for one in arrays],
        "data": base64.b64encode(data).decode(),
    }
    return inputs, journal, table


def with_arrays(
    inputs: dict[str, Any],
    journal: dict[str, Any],
    table: Any,  # noqa: ANN401  what a file holds
    unpacking: Unpacking,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Inputs and journal with the arrays themselves, as `without_arrays` had them."""
    if table is None:
        return inputs, journal
    lengths = table["lengths"]
    possible = isinstance(lengths, list) and all(type(n) is int and n > 0 for n in lengths)
    if table["encoding"] != ENCODING or not possible:
        raise EvidenceFailed(f"the counterexamples of the file are damaged: {NEW_COPY}")
    content, texts, start = unpacking.inflate(table["data"], sum(lengths)), [], 0
    for length in lengths:
        plain = _in_order(content[start : start + length])
        texts.append(base64.b64encode(plain).decode())
        start += length

    def array(text: Any) -> Any:  # noqa: ANN401  what JSON can hold
        if not isinstance(text, str) or not text.startswith(_REFERENCE):
            return text
        return texts[int(text[1:])]

    return _replaced(inputs, journal, array)


def _replaced(
    inputs: dict[str, Any],
    journal: dict[str, Any],
    change: Any,  # noqa: ANN401  a function of one text
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Copies with every counterexample changed."""
    results = [
        one | {"witness": change(one["witness"])} if "witness" in one else one
        for one in inputs["results"]
    ]
    rows = [_row_with(text, change) for text in journal["evidence"]]
    return inputs | {"results": results}, journal | {"evidence": rows}


def _row_with(text: str, change: Any) -> str:  # noqa: ANN401  a function of one text
    if _FIELD not in text:
        return text
    kind, values = json.loads(text)
    changed = values | {"witness": change(values["witness"])}
    return json.dumps([kind, changed], separators=(",", ":"))


def _bytes_of(text: str) -> bytes | None:
    """The bytes of base64 text of float64 values; None for another text."""
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    whole = len(content) % _VALUE == 0 and base64.b64encode(content).decode() == text
    return content if whole else None


def _shuffled(content: bytes) -> bytes:
    return b"".join(content[place::_VALUE] for place in range(_VALUE))


def _in_order(content: bytes) -> bytes:
    values = len(content) // _VALUE
    plain = bytearray(len(content))
    for place in range(_VALUE):
        plain[place::_VALUE] = content[place * values : (place + 1) * values]
    return bytes(plain)
