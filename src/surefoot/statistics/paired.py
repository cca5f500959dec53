"""Differences of two probabilities seen on the same inputs: exact tests of pairs of yes and no."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def uniforms(number: int, seed: int) -> Floats:
    """So many numbers in [0, 1), the same for a seed with every version of NumPy."""
    raw = np.random.SFC64(seed).random_raw(number)
    return (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53


def one_trial(*columns: Floats) -> list[NDArray[np.bool_]]:
    """One trial of each input, drawn at random: yes with the probability that a column holds.

    One number decides in all columns, so each input's trials go together as closely as they can.
    The numbers are named by the values themselves: whoever has the values can repeat the draw, no
    seed is left to choose, and the order of inputs and of columns does not matter.
    """
    order = sorted(range(len(columns)), key=lambda i: np.sort(columns[i]).tobytes())
    places = np.lexsort([columns[i] for i in reversed(order)])
    digest = hashlib.sha256(b"".join(columns[i][places].tobytes() for i in order)).digest()
    drawn = np.empty(len(places))
    drawn[places] = uniforms(len(places), int.from_bytes(digest, "little"))
    return [drawn < column for column in columns]
