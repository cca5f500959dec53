"""The file of a store, and errors of the database in plain words."""

from __future__ import annotations

from pathlib import Path

from surefoot.errors import InvalidArgument


def path_of(url: str) -> Path:
    """The file of a store."""
    if "://" in url and not url.startswith("sqlite:///"):
        raise InvalidArgument(f"an SQLite store must be a file or sqlite:///file, got {url}")
    return Path(url.removeprefix("sqlite:///"))


def error_message(where: Path, message: str) -> str:
    """The database's message about the file, with the way out."""
    text = message.lower()
    if "full" in text or "disk i/o" in text:
        return (
            f"{where}: the disk is full or cannot be written ({message}): free some space and run "
            "the same command again; what was stored stays"
        )
    if "not a database" in text or "malformed" in text:
        return f"{where} is not a surefoot store ({message}): use another store (store=, --store)"
    if "locked" in text:
        return (
            f"{where} is in use by another process ({message}): wait for it, or use another store "
            "(store=, --store)"
        )
    if "readonly" in text or "unable to open" in text:
        return f"{where} cannot be written ({message}): check its permissions"
    return f"{where}: {message}"
