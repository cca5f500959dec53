"""Where a store lies, and what is wrong with the place."""

from __future__ import annotations

from pathlib import Path

from surefoot.errors import InvalidArgument


def exists(url: str) -> bool:
    """Whether there is something at that place already."""
    return path_of(url).exists()


def path_of(url: str) -> Path:
    """The file of a store."""
    if "://" in url and not url.startswith("sqlite:///"):
        raise InvalidArgument(f"a store is a file or sqlite:///file, got {url}")
    return Path(url.removeprefix("sqlite:///"))


def error_message(where: Path, message: str) -> str:
    """What the database says of the file, as a sentence with the way out."""
    low = message.lower()
    if "full" in low or "disk i/o" in low:
        return (
            f"{where}: the disk is full or cannot be written ({message}): free some space and run "
            "the same command again; what was stored stays"
        )
    if "not a database" in low or "malformed" in low:
        return f"{where} is not a surefoot store ({message}): use another --store"
    if "locked" in low:
        return (
            f"{where} is in use by another process ({message}): wait for it, or use another --store"
        )
    if "readonly" in low or "unable to open" in low:
        return f"{where} cannot be written ({message}): check its permissions"
    return f"{where}: {message}"
