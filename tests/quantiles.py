"""Brackets for tests: of known critical levels, on a grid or by hand."""

import math

import numpy as np

from surefoot.results import Bracket, Footing, Guarantee, Interval

PROVED = Guarantee(Footing.SOUND, 0.0)


def bracket(low, high):
    return Bracket(Interval(float(low), float(high)), PROVED)


def brackets(lows, highs):
    return [bracket(low, high) for low, high in zip(lows, highs, strict=True)]


def points(values):
    return brackets(values, values)


def on_grid(values, step=0.002):
    """As a search on the levels step/2, 3 step/2, … leaves them."""
    below = np.floor(np.asarray(values) / step - 0.5)
    return [
        bracket(max(0.0, (k + 0.5) * step), (k + 1.5) * step) if k >= 0 else bracket(0, step / 2)
        for k in below.tolist()
    ]


def never_refuted(low):
    return bracket(low, math.inf)
