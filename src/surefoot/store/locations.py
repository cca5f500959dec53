"""Where a store is: a file or a URL, and that place without its password."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from surefoot.errors import InvalidArgument

POSTGRES = ("postgresql", "postgres")
"""Schemes of a URL that libpq reads."""
HIDDEN = "***"
"""What stands in a message for a password."""

_POSTGRES = re.compile(r"postgres(?:ql)?(?:\+\w+)?:", re.IGNORECASE)
_PLAIN = r"[^:/?#@,&='\"\[\]\s\x00-\x1f]*"
_HOST = rf"(?:\[[0-9A-Fa-f:.%]*\]|{_PLAIN})(?::(?:\d+|port))?"
_POSTGRES_URL = re.compile(
    r"(?P<scheme>postgres(?:ql)?(?:\+\w+)?://)"
    rf"(?:(?P<user>{_PLAIN})(?::(?P<password>[^/?#@\s\x00-\x1f]*))?@)?"
    rf"(?P<place>{_HOST}(?:,{_HOST})*(?:/{_PLAIN})?)"
    r"(?:\?(?P<options>[^?#@'\"\s\x00-\x1f]*))?",
    re.IGNORECASE,
)
"""A URL whose password can be separated from the rest; `port` stands in our own sentences."""
_OPTION = re.compile(r"([a-z_]+)=([^&=]*)")
_SECRET_OPTIONS = (
    "password", "sslpassword", "scram_client_key", "scram_server_key", "oauth_client_secret",
)  # fmt: skip
_PUBLIC_OPTIONS = re.compile(
    r"host(addr)?|port|dbname|user|passfile|service|options|replication|load_balance_hosts|"
    r"(fallback_)?application_name|connect_timeout|client_encoding|target_session_attrs|"
    r"keepalives(_idle|_interval|_count)?|tcp_user_timeout|channel_binding|require(_auth|peer|ssl)|"
    r"((ssl_)?(min|max)_protocol_version)|krbsrvname|gss(encmode|lib|delegation)|"
    r"ssl(mode|negotiation|compression|cert|key|certmode|rootcert|crl|crldir|sni|keylogfile)|"
    r"oauth_(issuer|client_id|scope)"
)
"""Options of libpq: what is none of them may be a part of a password."""
_OTHER_PASSWORD = re.compile(r"(\w://[^:/?#@\s]*):([^@/\s]*)@")
"""Of a URL that names no database, such as a model behind HTTP."""
_KEYWORD = re.compile(r"password\s*=", re.IGNORECASE)
_AFTER_A_URL = "'\").,:;]"
"""What may stand between a URL and the next word of a sentence."""


def scheme_of(where: str) -> str:
    """The scheme of a URL; a path without one is an SQLite file."""
    return where.partition("://")[0] if "://" in where else "sqlite"


def check_location(where: str) -> None:
    """Refuse a database whose password cannot be separated from the rest; nothing is quoted.

    So is what libpq takes for no URL: it would be the name of an SQLite file.
    """
    named = _POSTGRES.search(where)
    unread = named is not None and _read_url(where[named.start() :]) is None
    if unread or (scheme_of(where) == "sqlite" and _KEYWORD.search(where)):
        raise InvalidArgument(
            "a PostgreSQL store must be postgresql://user@host:port/database; what was given is "
            "not shown, since it may hold a password: put the password into PGPASSWORD or "
            "~/.pgpass, or write what is neither a letter nor a digit in it as %20 (a space), %2F "
            "(a slash), %40 (an at sign)"
        )


def public_location(where: str) -> str:
    """A place, or a word of a command that names one, with every password left out.

    What is left of a URL can be used again, with the password in the environment. A database whose
    password cannot be separated from the rest is left out as a whole.
    """
    named = _POSTGRES.search(where)
    if named is None:
        return _without_others(where)
    url = _read_url(where[named.start() :])
    return where[: named.start()] + (f"postgresql://{HIDDEN}" if url is None else url.public)


def public_text(text: str) -> str:
    """A sentence with no password of a URL in it.

    A database with a password is left out with all that follows: nobody knows where that ends.
    """
    named = _POSTGRES.search(text)
    if named is None:
        return _without_others(text)
    begin, rest = text[: named.start()], text[named.start() :]
    word = rest.split(maxsplit=1)[0].rstrip(_AFTER_A_URL)
    url, after = _read_url(word), rest[len(word) :]
    if url is None or url.passwords or "@" in after.partition("://")[0]:
        return f"{begin}postgresql://{HIDDEN}"
    return _without_others(begin) + word + public_text(after)


def _without_others(text: str) -> str:
    """A text that names no database without passwords: a parameter is left out to the end."""
    keyword = _KEYWORD.search(text)
    shown = text if keyword is None else text[: keyword.end()] + HIDDEN
    return _OTHER_PASSWORD.sub(r"\1@", shown)


def without_passwords(message: str, where: str) -> str:
    """The message with neither the password of this place nor that of any URL in it."""
    named = _POSTGRES.search(where)
    url = None if named is None else _read_url(where[named.start() :])
    typed = {m[2] for m in _OTHER_PASSWORD.finditer(where)} if url is None else url.passwords
    message = message.replace(where, public_location(where))
    passwords = {word for one in typed for word in (one, unquote(one)) if word}
    for password in sorted(passwords, key=len, reverse=True):
        message = message.replace(password, HIDDEN)
    return public_text(message)


@dataclass(frozen=True)
class _DatabaseUrl:
    """The URL of a database without its passwords, and these as they are typed."""

    public: str
    passwords: frozenset[str]


def _read_url(url: str) -> _DatabaseUrl | None:
    """The URL taken apart as libpq does it; None where people may read it in another way."""
    if url == f"postgresql://{HIDDEN}":
        return _DatabaseUrl(url, frozenset())
    parts = _POSTGRES_URL.fullmatch(url)
    if parts is None:
        return None
    given = parts["options"].split("&") if parts["options"] else []
    options = [match for option in given if (match := _OPTION.fullmatch(option))]
    secret = {option[2] for option in options if option[1] in _SECRET_OPTIONS}
    open_ones = [o for o in options if o[1] not in _SECRET_OPTIONS]
    if len(options) < len(given) or not all(_PUBLIC_OPTIONS.fullmatch(o[1]) for o in open_ones):
        return None
    kept = "&".join(option[0] for option in open_ones)
    user = "" if parts["user"] is None else f"{parts['user']}@"
    public = parts["scheme"] + user + parts["place"] + (f"?{kept}" if kept else "")
    return _DatabaseUrl(public, frozenset(secret | {parts["password"] or ""}) - {""})


def path_of(url: str) -> Path:
    """The file of a store."""
    if "://" in url and not url.startswith("sqlite:///"):
        raise InvalidArgument(
            "an SQLite store must be a file or sqlite:///file, got a URL of another form: name a "
            "file such as surefoot.db"
        )
    return Path(url.removeprefix("sqlite:///"))


def is_sealed(url: str) -> bool:
    """Whether the store is a file in a folder that cannot be written: it is only read."""
    if scheme_of(url) in POSTGRES:
        return False
    where = path_of(url)
    return where.is_file() and not os.access(where.parent, os.W_OK)
