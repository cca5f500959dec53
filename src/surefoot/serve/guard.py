"""What passes: the right host and token, small requests finished in time, values in bounds."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import math
import re
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import h11
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from surefoot.errors import InvalidArgument
from surefoot.serve.pages import render
from surefoot.serve.settings import Settings

Scope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_App = Callable[[Scope, _Receive, _Send], Awaitable[None]]

COOKIE = "surefoot_session"
MOST_QUERY = 2_000
"""Characters of a query: far more than every filter together."""
MOST_BODY = 8_000
"""Bytes of a form."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Content-Security-Policy of our own pages: nothing inline, nothing from elsewhere."""
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Without a referrer of the same origin, browsers would not say where a form was sent from."""
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([\w.-]+))(?::\d*)?", re.ASCII)
"""An address in brackets or a name, and a port: no user before it, no path behind it."""
_THIS_MACHINE = {"127.0.0.1", "localhost", "::1"}


class Guard:
    """An ASGI application around another one, which sees only requests that may pass."""

    def __init__(self, app: _App, settings: Settings) -> None:
        self._app, self._settings = app, settings
        self._secret = secrets.token_bytes(32)
        token = settings.token or ""
        self._session = hmac.new(self._secret, token.encode(), hashlib.sha256).hexdigest()

    async def __call__(self, scope: Scope, receive: _Receive, send: _Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope)
        answer = self._app if refusal is None else refusal
        await answer(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        """The answer to a request that may not pass."""
        headers = Headers(scope=scope)
        if len(scope.get("query_string", b"")) > MOST_QUERY:
            return _page(414, "the address is too long: shorten the filter")
        own = self._settings.host.lower()
        if self._settings.is_loopback and _host(headers) not in {*_THIS_MACHINE, own}:
            names = ", ".join(sorted({"127.0.0.1", "localhost", own}))
            return _page(421, f"this dashboard answers to {names} only: use one of them")
        if (about_token := self._about_token(scope, headers)) is not None:
            return about_token
        if scope["method"] not in ("GET", "HEAD") and not _is_own_origin(headers):
            return _page(403, "this request did not come from a page of the dashboard")
        if not headers.get("content-length", "0").isdecimal() or (
            int(headers.get("content-length", "0")) > MOST_BODY
        ):
            return _page(413, f"a form must have at most {MOST_BODY:,} bytes")
        return None

    def _about_token(self, scope: Scope, headers: Headers) -> Response | None:
        """The question for a token; or, of a known reader, the address that does not show it."""
        if not self._is_known(scope, headers):
            return self._ask_for_token(scope)
        token, go_on = _without_token(scope)
        shown = self._settings.token is not None and token is not None
        return RedirectResponse(go_on, 303) if shown else None

    def _is_known(self, scope: Scope, headers: Headers) -> bool:
        """Whether no token is needed, or the request has it: as a cookie or as a bearer."""
        if self._settings.token is None or scope["path"].startswith("/static/"):
            return True
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        given = bearer.strip() if scheme.lower() == "bearer" else ""
        return _same(_cookie(headers), self._session) or self._is_token(given)

    def _is_token(self, text: str) -> bool:
        return self._settings.token is not None and _same(text, self._settings.token)

    def _ask_for_token(self, scope: Scope) -> Response:
        """The page that asks for it; a right one in the address is put into a cookie.

        A page that goes on by itself, and no redirect: a browser that came from another site would
        not send the cookie along with that.
        """
        given, go_on = _without_token(scope)
        if not self._is_token(given or ""):
            wrong = "this token is not the one of the dashboard" if given else ""
            return HTMLResponse(render("token.html.j2", problem=wrong, go_on=""), 401)
        response = HTMLResponse(render("token.html.j2", problem="", go_on=go_on))
        response.set_cookie(COOKIE, self._session, httponly=True, samesite="strict")
        return response


def _without_token(scope: Scope) -> tuple[str | None, str]:
    """The token in an address, None where there is none, and the address without it."""
    query = parse_qs(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
    given = query.pop("token", [None])[0]
    rest = urlencode(query, doseq=True)
    path = "/" + quote(scope["path"].lstrip("/"))  # never //host
    return given, f"{path}?{rest}" if rest else path


def _with_headers(send: _Send) -> _Send:
    async def send_with_headers(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in {**_HEADERS, "Content-Security-Policy": POLICY}.items():
                headers.setdefault(name, value)
        await send(message)

    return send_with_headers


def _page(status: int, sentence: str) -> Response:
    return HTMLResponse(render("problem.html.j2", title="Refused", sentences=[sentence]), status)


def _host(headers: Headers) -> str:
    """The name in the Host header, without a port; empty where it is no name."""
    parts = _HOST.fullmatch(headers.get("host", ""))
    return "" if parts is None else (parts[1] or parts[2]).lower()


def _is_own_origin(headers: Headers) -> bool:
    """Whether a page of this very address sent it: browsers say so with every POST."""
    try:
        origin = urlsplit(headers.get("origin", "")).netloc
    except ValueError:
        return False
    site = headers.get("sec-fetch-site", "same-origin")
    return bool(origin) and origin == headers.get("host") and site == "same-origin"


def _cookie(headers: Headers) -> str:
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return "" if cookie is None else cookie.value


def _same(given: str, right: str) -> bool:
    """Whether two texts are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), right.encode())


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


REQUEST_SECONDS = 10.0
"""From the first byte of a request to its last: a browser sends one of ours at once."""
_UNFINISHED = (h11.IDLE, h11.SEND_BODY)
"""States of a client whose request is not here in full."""


class TimedConnection(H11Protocol):  # type: ignore[misc]  # uvicorn has no types here
    """uvicorn's connection, which by itself waits for the rest of a request without end."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401  of uvicorn
        """The time begins."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """More bytes of a request do not give it more time."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is left to wait for."""
        self._forget()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if self.conn.their_state not in _UNFINISHED:
            self._forget()
        elif self._timer is None:
            self._timer = self.loop.call_later(REQUEST_SECONDS, self._end)

    def _forget(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end(self) -> None:
        self._timer = None
        if self.conn.their_state in _UNFINISHED:
            self.transport.abort()
