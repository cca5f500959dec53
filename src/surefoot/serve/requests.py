"""Values of a request, each checked and bounded."""

from __future__ import annotations

import math
from urllib.parse import parse_qs

from starlette.requests import Request

from surefoot.errors import InvalidArgument
from surefoot.serve.guard import MOST_BODY

_MOST_TEXT = 200
"""Characters of a filter."""
_MOST_DIGITS = 9
_MOST_FIELDS = 20
"""Of a form: ours have four."""


def text(request: Request, name: str) -> str:
    """A text of the query, cut to a length that no filter needs more of."""
    return str(request.query_params.get(name, "")).strip()[:_MOST_TEXT]


def whole(value: str, name: str, default: int | None = None) -> int:
    """A whole number that is not negative."""
    if not value and default is not None:
        return default
    if not (value.isascii() and value.isdecimal() and len(value) <= _MOST_DIGITS):
        raise InvalidArgument(f"{name} must be a whole number, got {value[:40]!r}")
    return int(value)


def share(value: str, name: str) -> float | None:
    """A percentage as a share; None where none is given."""
    if not value:
        return None
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 100:
        raise InvalidArgument(f"{name} must be a number from 0 to 100, got {value[:40]!r}")
    return number / 100


async def form(request: Request) -> dict[str, str]:
    """The fields of a form, the first of each name; a long one is refused while it is read."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BODY:
            raise InvalidArgument(f"a form must have at most {MOST_BODY:,} bytes, got more")
    words = body.decode("utf-8", "replace")
    try:
        fields = parse_qs(words, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise InvalidArgument(
            f"a form must have at most {_MOST_FIELDS} fields, got more: open its page again"
        ) from None
    return {name: values[0] for name, values in fields.items()}
