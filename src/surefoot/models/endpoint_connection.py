"""The address of a model behind HTTP, and requests to it: token, tries, timeouts, errors."""

from __future__ import annotations

import atexit
import email.utils
import os
import re
import socket
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urlsplit

from surefoot import errors
from surefoot.errors import InvalidArgument, ModelFailed, OutOfMemory, refusing
from surefoot.models.call_limit import within
from surefoot.models.load_options import Source
from surefoot.subject.protocols import Item

TOKEN_VARIABLE = "SUREFOOT_TOKEN"  # noqa: S105  the name of a variable
"""The environment variable with the bearer token, unless another one is named."""
_SCHEME = re.compile(r"https?://", re.IGNORECASE)
_PATH = re.compile(r"(?P<prefix>.*)/v2/models/(?P<name>[^/]+)(?:/versions/(?P<version>[^/]+))?/?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PRINTABLE = re.compile(r"[\x21-\x7e]+")
"""What an address and a header can hold."""
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
_WAY_OUT = "write https://HOST/v2/models/NAME, with /versions/VERSION where you want one"


def is_address(source: Source) -> bool:
    """Whether it names a server, not a file."""
    return isinstance(source, str) and _SCHEME.match(source) is not None


@dataclass(frozen=True)
class Address:
    """Where a model is: server, name and, if one is fixed, version.

    `token_variable` is the environment variable that the user named; the token itself is read when
    a request is sent, and held nowhere.
    """

    server: str
    host: str
    prefix: str
    model: str
    version: str | None
    token_variable: str | None = None

    @property
    def metadata(self) -> str:
        """The path of the model's metadata; `/infer` behind it takes requests."""
        version = "" if self.version is None else f"/versions/{self.version}"
        return f"{self.prefix}/v2/models/{self.model}{version}"

    @property
    def name(self) -> str:
        """The name of the model."""
        return unquote(self.model)

    @property
    def on_this_machine(self) -> bool:
        """Whether no request leaves the machine."""
        return self.host in _THIS_MACHINE

    def __str__(self) -> str:
        return f"{self.server}{self.metadata}"

    def token(self) -> str | None:
        """The bearer token from the environment; None where there is none. Never shown."""
        variable = self.token_variable or TOKEN_VARIABLE
        value = os.environ.get(variable, "").strip()
        if not value and self.token_variable is not None:
            raise InvalidArgument(
                "the environment variable that token_variable (--token-variable) names is not "
                "set: give the name of one that holds the token, not the token itself"
            )
        if not value:
            return None
        if not _PRINTABLE.fullmatch(value):
            raise InvalidArgument(
                f"the token in {variable} holds a character that no HTTP header can carry: "
                "set it again, without spaces and line breaks"
            )
        if self.server.startswith("http://") and not self.on_this_machine:
            raise InvalidArgument(
                f"{self} is not encrypted, and {variable} holds a token that everybody on the way "
                f"could read: write https://, or unset {variable}"
            )
        return value


def read_address(text: str, token_variable: str | None) -> Address:
    """The address that a user gives; one that holds a password or no model is refused."""
    # No sentence repeats what may be secret in it.
    try:
        parts = urlsplit(text)
        known = parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        known = False
    if not known or not _PRINTABLE.fullmatch(text):
        raise InvalidArgument(f"the address of the model names no host and port: {_WAY_OUT}")
    if "@" in parts.netloc:
        raise InvalidArgument(
            f"the address of a model on {parts.hostname} holds a user or a password, which would "
            f"be stored with the result: leave them out and put a bearer token into the "
            f"environment variable {TOKEN_VARIABLE}"
        )
    if parts.query or parts.fragment:
        raise InvalidArgument(
            f"the address of a model on {parts.hostname} goes on after its path with ? or #: "
            f"{_WAY_OUT}, and put a token into the environment variable {TOKEN_VARIABLE}"
        )
    if token_variable is not None and not _VARIABLE.fullmatch(token_variable):
        raise InvalidArgument(
            "token_variable (--token-variable) is the name of an environment variable, such as "
            f"{TOKEN_VARIABLE}, and not the token itself: pass that name"
        )
    path = _PATH.fullmatch(parts.path)
    if path is None:
        raise InvalidArgument(
            f"{parts.scheme}://{parts.netloc}{parts.path} is no address of a model: {_WAY_OUT}"
        )
    return Address(
        server=f"{parts.scheme}://{parts.netloc}",
        host=parts.hostname or "",
        prefix=path["prefix"],
        model=path["name"],
        version=path["version"],
        token_variable=token_variable,
    )


def named_servers(models: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the models that are behind an address."""
    return tuple(model for model in models if is_address(model))


def refuse_unused_variable(variable: str | None, models: list[Item]) -> None:
    """Refuse the name of a token where no model is behind an address."""
    if variable is not None and not any(is_address(model) for model in models):
        shown = ", ".join(str(m) for m in models if isinstance(m, str | Path)) or "the model"
        raise InvalidArgument(
            f"token_variable (--token-variable) is for a model behind HTTP, and {shown} is none: "
            "leave it out"
        )


_STATED, _NOT_STATED = " as the server states it", ", no version"


def covers_name(name: str, version: str) -> str:
    """What the digest of a model behind an address covers, in words: its name and its version."""
    return f"only the name {name}" + (f", version {version}{_STATED}" if version else _NOT_STATED)


def is_behind_address(covers: str) -> bool:
    """Whether these are the words for a model behind an address, which may change meanwhile."""
    return covers.startswith("only the name ") and (_STATED in covers or _NOT_STATED in covers)


TIMEOUT_VARIABLE = "SUREFOOT_TIMEOUT"
"""The environment variable with the seconds that one request may take."""


@dataclass(frozen=True)
class Patience:
    """How long a request is tried: each try, how many of them, and all of them together.

    The first pause is doubled after each try; a server that says Retry-After is given that.
    """

    timeout_seconds: float = 60.0
    tries: int = 8
    total_seconds: float = 120.0
    first_pause_seconds: float = 0.25


_HANGING_TRIES, _HANGING_LIMITS = 3, 4
"""A server that does not answer in time is tried so often, and within so many times the limit: it
costs the whole limit each time, and unlike one that refuses it does not say that it is busy."""
FIRST_CONTACT_TRIES = 3
"""Tries of the first request: a wrong address should be said at once."""


def patience_of_user() -> Patience:
    """The usual one, with the timeout that the environment states."""
    text = os.environ.get(TIMEOUT_VARIABLE)
    if text is None:
        return Patience()
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise InvalidArgument(f"{TIMEOUT_VARIABLE} must be seconds above 0, got {text!r}")
    return Patience(seconds, total_seconds=max(Patience.total_seconds, 2 * seconds))


_AUTHORITIES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
"""Environment variables that name the certificate authorities, as OpenSSL reads them."""
_RETRIED = (408, 429, 500, 502, 503, 504)
"""Answers of a server that is busy, restarting or behind a proxy that does not reach it."""
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 3
"""Within one host: a missing slash, a renamed prefix. More is a circle."""
MOST_BYTES = 2**30
"""Bytes of any answer: 1 GiB, 8,192 inputs and 32,000 classes."""
_MOST_METADATA_BYTES = 2**24
"""Bytes of what a server says of itself or of a model: those of real ones are a few kilobytes."""
_LONGEST_QUOTE = 200
"""Characters of a server's message that an error quotes."""
_TOO_LARGE = re.compile(
    r"batch[-_ ]?size|max_batch|out of memory"
    r"|(?:request|payload|body|entity|content|message|tensor|input|batch) (?:is )?too "
    r"(?:large|big|long)",
    re.IGNORECASE,
)
"""What servers say of a batch that is too large, beside the status 413."""


@dataclass(frozen=True)
class Reply:
    """Status, headers and body of an answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def too_large(self) -> bool:
        """Whether the server refuses the batch for its size."""
        return self.status == 413 or (
            self.status >= 400 and _TOO_LARGE.search(self._text) is not None
        )

    @property
    def _text(self) -> str:
        return self.body[:4096].decode("utf-8", "replace")

    def pause_seconds(self) -> float:
        """What Retry-After asks for; 0 where it says nothing."""
        text = self.headers.get("retry-after", "").strip()
        if text.isdecimal():
            return float(text)
        try:
            moment = email.utils.parsedate_to_datetime(text)
        except (TypeError, ValueError):
            return 0.0
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, (moment - datetime.now(UTC)).total_seconds())

    def quote(self) -> str:
        """The server's own words, short, in brackets; empty where there are none to print."""
        text = " ".join("".join(c if c.isprintable() else " " for c in self._text).split())
        if not text or text.startswith("<"):
            return ""
        return f" ({text[:_LONGEST_QUOTE]}{' …' * (len(text) > _LONGEST_QUOTE)})"


@dataclass(frozen=True)
class Connection:
    """Requests to the server of one address. It holds no token and no open socket."""

    address: Address
    patience: Patience = field(default_factory=Patience)
    retries: list[int] = field(default_factory=list, repr=False, compare=False)
    """Tries beyond the first of each request that was answered late."""

    def get(self, path: str, tries: int | None = None) -> Reply:
        """The answer to a GET, whatever its status."""
        return self._send("GET", path, tries, content=b"", headers={}, most=_MOST_METADATA_BYTES)

    def post(self, path: str, content: bytes, headers: Mapping[str, str], most: int) -> Reply:
        """The answer of at most so many bytes to a POST that the server accepts; else an error.

        A batch that the server refuses as too large is `OutOfMemory`: a smaller one may fit.
        """
        reply = self._send("POST", path, None, content=content, headers=headers, most=most)
        if reply.status == 200:
            return reply
        if reply.too_large:
            why = f"refuses the batch as too large: HTTP {reply.status}{reply.quote()}"
            raise OutOfMemory(self.without_token(f"{self.address.server} {why}"))
        raise self.refusal(reply)

    def refusal(self, reply: Reply) -> ModelFailed:
        """Why the server did not do what was asked, and the way out."""
        address, status = self.address, reply.status
        variable = address.token_variable or TOKEN_VARIABLE
        if status in (401, 403):
            way_out = f"the token in {variable} is not accepted: set a valid one"
            if address.token() is None:
                way_out = f"put a bearer token into the environment variable {variable}"
            return ModelFailed(f"{address} refuses access (HTTP {status}): {way_out}")
        if status == 404:
            return ModelFailed(
                f"{address.server} has no model at {address.metadata} (HTTP 404): check the name "
                "and the version, and that the server speaks the Open Inference Protocol v2"
            )
        return self.failed(
            f"{address} answers HTTP {status}{reply.quote()}: look into the log of the server"
        )

    def failed(self, text: str) -> ModelFailed:
        """An error in words that may be the server's."""
        return ModelFailed(self.without_token(text))

    def without_token(self, text: str) -> str:
        """The text of a server, which may repeat what it was sent."""
        token = self.address.token()
        return text if token is None else text.replace(token, "…")

    def _send(self, method: str, path: str, tries: int | None, **sent: Any) -> Reply:  # noqa: ANN401  as `_follow` takes it
        """The first answer that is not "later"; an error once patience is at its end."""
        httpx, begun, problem = _httpx(), time.monotonic(), ""
        tries = tries or self.patience.tries
        pause, hanging = self.patience.first_pause_seconds, 0
        most_seconds = self.patience.total_seconds
        attempt = 0
        while True:
            attempt, wanted = attempt + 1, 0.0
            try:
                reply = self._follow(method, path, **sent)
                if reply.status not in _RETRIED or reply.too_large:
                    if attempt > 1:
                        self._say_once(problem, attempt - 1, time.monotonic() - begun)
                    return reply
                wanted = reply.pause_seconds()
                problem = f"answers HTTP {reply.status}{reply.quote()}"
            except httpx.TransportError as error:
                problem = self._problem(error)
                if isinstance(error, httpx.TimeoutException):
                    hanging += 1
                    limit = self.patience.timeout_seconds
                    most_seconds = min(most_seconds, (_HANGING_LIMITS - 1) * limit)
            wait = max(pause, wanted)
            spent = time.monotonic() - begun
            last = attempt == tries or hanging == _HANGING_TRIES
            if last or spent + wait > most_seconds:
                asked = f" and asks to wait {wanted:g} s" if wanted else ""
                times = f"{attempt} tries in {spent:.0f} s" if attempt > 1 else "one try"
                raise self.failed(
                    f"{self.address.server} {problem}{asked}, after {times}: check the "
                    "address, start the server and run the same command again"
                )
            time.sleep(wait)
            pause *= 2

    def _say_once(self, problem: str, retries: int, seconds: float) -> None:
        """A warning after the first request that was answered late; the others are counted."""
        self.retries.append(retries)
        if len(self.retries) > 1:
            return
        times = "once" if retries == 1 else f"{retries} times"
        sentence = (
            f"the server did not answer at once ({self.address.server} {problem}): tried again "
            f"{times} in {seconds:.1f} s, then it answered"
        )
        warnings.warn(self.without_token(sentence), errors.SurefootWarning, stacklevel=2)

    def _problem(self, error: Exception) -> str:
        """What went wrong on the way, in words; what another try cannot mend is raised."""
        text = str(error)
        if "CERTIFICATE" in text.upper():
            raise ModelFailed(
                f"the certificate of {self.address.server} is not accepted "
                f"({text[:_LONGEST_QUOTE]}): put the file with its authority into the environment "
                "variable SSL_CERT_FILE"
            ) from error
        if "Timeout" in type(error).__name__:
            return (
                f"does not answer within {self.patience.timeout_seconds:g} s ({TIMEOUT_VARIABLE} "
                "sets another limit)"
            )
        if type(error).__name__ == "ConnectError":
            return f"cannot be reached ({text[:_LONGEST_QUOTE]})"
        return f"breaks off the connection ({text[:_LONGEST_QUOTE] or type(error).__name__})"

    def _follow(
        self, method: str, path: str, content: bytes, headers: Mapping[str, str], most: int
    ) -> Reply:
        """One request; redirects are followed within the host only, so no token leaves it."""
        token, url = self.address.token(), f"{self.address.server}{path}"
        own = {"accept-encoding": "identity", **headers}
        if token is not None:
            own["authorization"] = f"Bearer {token}"
        for _ in range(_MOST_REDIRECTS + 1):
            reply, target = self._once(method, url, most, content=content, headers=own)
            if reply.status not in _REDIRECTS:
                return reply
            server, _, rest = target.partition("://")
            host = rest.partition("/")[0]
            if f"{server}://{host}" != self.address.server or (
                method == "POST" and reply.status not in (307, 308)
            ):
                raise ModelFailed(
                    f"{self.address} redirects to {server}://{host}: give the address to which "
                    "requests really go; a redirect to another host is not followed"
                )
            url = target
        raise ModelFailed(f"{self.address} redirects in a circle: check the address")

    def _once(self, method: str, url: str, most: int, **sent: object) -> tuple[Reply, str]:
        """The answer, and where it redirects to; bounded in bytes, and in time as a whole."""
        seconds = self.patience.timeout_seconds
        authorities = tuple(os.environ.get(name) for name in _AUTHORITIES)
        with (
            _line(os.getpid(), self.address.on_this_machine, authorities) as line,
            line.answer(method, url, seconds, **sent) as answer,
        ):
            if answer.headers.get("content-encoding", "identity") != "identity":
                raise ModelFailed(
                    f"{self.address.server} answers in a compressed form that was not asked for: "
                    "serve it without compression"
                )
            body = bytearray()
            for chunk in answer.iter_raw():
                body += chunk
                if len(body) > most:
                    way_out = (
                        "look into the log of the server, state the shape of the output in the "
                        "metadata of the model, or use smaller batches (--batch)"
                    )
                    raise ModelFailed(
                        f"{self.address.server} answers with more than {most:,} bytes, which is "
                        f"more than such an answer takes: {way_out}"
                    )
            location = answer.headers.get("location", "")
            target = str(answer.url.join(location)) if location else ""
            return Reply(answer.status_code, dict(answer.headers), bytes(body)), target


class _Line:
    """One request at a time, which ends after its limit whatever the server sends meanwhile.

    The limits of httpx are of each read: a server that sends a byte now and then reaches none.
    """

    def __init__(self, on_this_machine: bool) -> None:
        """Certificates are verified, against `_AUTHORITIES` where the environment names some."""
        httpx = _httpx()
        what = "SSL_CERT_FILE or SSL_CERT_DIR cannot be read as certificates"
        with refusing(what, "correct it or unset it", OSError):
            context = httpx.create_ssl_context(trust_env=True)
        self._client = httpx.Client(
            verify=context, trust_env=not on_this_machine, follow_redirects=False
        )  # no proxy for this machine
        self._socket: socket.socket | None = None
        self._late = False
        atexit.register(self._client.close)

    @contextmanager
    def answer(self, method: str, url: str, seconds: float, **sent: object) -> Iterator[Any]:
        """The answer to this request, whose body is not read yet."""
        httpx, self._late = _httpx(), False
        sent |= {"timeout": seconds, "extensions": {"trace": self._note_socket}}
        try:
            with within(seconds, self._cut), self._client.stream(method, url, **sent) as answer:
                yield answer
        except httpx.TransportError as error:
            if self._late:
                raise httpx.ReadTimeout("the answer takes too long") from error
            raise

    def _note_socket(self, event: str, info: Mapping[str, Any]) -> None:
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._socket = info["return_value"].get_extra_info("socket")

    def _cut(self) -> None:
        """Wake the thread that reads; closing the socket would not."""
        self._late = True
        if self._socket is not None:
            with suppress(OSError):
                # not the one of TLS, which forgets its keys and raises what is no OSError
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


_free: defaultdict[tuple[object, ...], list[_Line]] = defaultdict(list)
"""Open lines of a process that nobody uses: by the process, and by what they were opened with."""


@contextmanager
def _line(process: int, on_this_machine: bool, *more: object) -> Iterator[_Line]:
    """A line of this process that no other thread uses meanwhile."""
    free = _free[process, on_this_machine, *more]
    try:
        line = free.pop()
    except IndexError:
        line = _Line(on_this_machine)
    try:
        yield line
    finally:
        free.append(line)


def _httpx() -> ModuleType:
    with errors.needing("a model behind HTTP needs httpx: pip install httpx"):
        import httpx
    return httpx
