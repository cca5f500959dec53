"""The list of VNN-LIB properties that an export writes, read back."""

from __future__ import annotations

from surefoot.verify.vnnlib import Instance


def read_instances(text: str) -> list[Instance]:
    """The lines of instances.csv."""
    rows = [line.split(",") for line in text.splitlines()]
    return [Instance(network, prop, float(seconds)) for network, prop, seconds in rows]
