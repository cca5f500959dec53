"""One case: a command, in a folder with the files that it reads."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.unit.small_models import linear_net

SHAPE = (1, 6, 6)
FAST = ("--perturb", "linf:0.05", "--each", "0.3", "--confidence", "0.8", "--batch", "64")
"""An estimate that takes a fraction of a second."""


@dataclass(frozen=True)
class Case:
    """The words of a command line, and what was done to its files."""

    words: tuple[str, ...]
    note: str


Maker = Callable[[random.Random, Path], Case]
"""Writes files into a folder and says how to use them."""


def sound_model(folder: Path) -> Path:
    """A model that works."""
    return linear_net(folder / "model.onnx", shape=SHAPE)


def sound_data(folder: Path) -> Path:
    """Data that fit the model."""
    rng = np.random.default_rng(3)
    path = folder / "test.npz"
    np.savez(path, x=rng.uniform(0, 1, (5, *SHAPE)).astype(np.float32), y=np.arange(5) % 3)
    return path


def mutated(content: bytes, chance: random.Random) -> tuple[bytes, str]:
    """The bytes with a few changed, cut off, doubled or inserted."""
    data, way = bytearray(content), chance.choice(("flip", "cut", "double", "insert", "zero"))
    at = chance.randrange(len(data) or 1)
    length = chance.choice((1, 4, 16, 256))
    if way == "flip":
        for _ in range(chance.choice((1, 2, 8, 32))):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif way == "cut":
        del data[at:]
    elif way == "double":
        data[at:at] = data[at : at + length]
    elif way == "insert":
        data[at:at] = chance.randbytes(length)
    else:
        data[at : at + length] = bytes(len(data[at : at + length]))
    return bytes(data), f"{way} at {at}"
