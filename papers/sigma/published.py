"""What the thesis prints, network by network.

L. L. Kielhöfer, Robustness Measure for Deep Neural Networks, Leiden 2024: tables 4.1, 4.2 and 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from surefoot.core.results import Interval


@dataclass(frozen=True)
class Overlap:
    """A row of table 4.1: intervals of 100 that overlap, mean probability and mean size ratio."""

    frequency: int
    probability: float
    ratio: float


@dataclass(frozen=True)
class Spread:
    """A row of table 4.2."""

    lower: float
    upper: float
    truth: Interval
    lowest: Interval
    highest: Interval
    shortest: float
    longest: float
    length: float


@dataclass(frozen=True)
class Hours:
    """A row of table 4.3."""

    least: float
    most: float
    mean: float
    all_inputs: float


def _spread(*numbers: float) -> Spread:
    """From the numbers of a row as they are printed, without the last column."""
    n = numbers
    ends = [Interval(n[i], n[i + 1]) for i in (2, 4, 6)]
    return Spread(n[0], n[1], ends[0], ends[1], ends[2], n[8], n[9], n[10])


OVERLAPS = {
    "mnist-net": Overlap(95, 0.65, 0.48),
    "mnist-net 256x4": Overlap(81, 0.34, 0.22),
    "mnist relu 4 1024": Overlap(86, 0.42, 0.28),
}
SPREADS = {
    "mnist-net": _spread(
        0.0102, 0.0173, 0.009, 0.017, 0.0023, 0.0077, 0.0151, 0.0254, 0.0001, 0.0109, 0.0072
    ),
    "mnist-net 256x4": _spread(
        0.0172, 0.0306, 0.017, 0.025, 0.0043, 0.01, 0.0258, 0.0468, 0.0002, 0.021, 0.0134
    ),
    "mnist relu 4 1024": _spread(
        0.0097, 0.0218, 0.007, 0.015, 0.0014, 0.0077, 0.0213, 0.0371, 0.0004, 0.0203, 0.0121
    ),
    "mnist-net 256x2": _spread(
        0.0126, 0.0184, 0.007, 0.021, 0.0073, 0.0149, 0.0179, 0.0261, 0.0001, 0.0089, 0.0058
    ),
    "mnist-net 256x6": _spread(
        0.0181, 0.0304, 0.005, 0.033, 0.0046, 0.0178, 0.039, 0.0549, 0.0019, 0.0192, 0.0123
    ),
    "mnist nn": _spread(
        0.004, 0.0082, 0.001, 0.011, 0.0015, 0.0046, 0.0083, 0.0164, 0.0003, 0.0081, 0.0042
    ),
    "mnist relu 3 100": _spread(
        0.0142, 0.0253, 0.005, 0.031, 0.0024, 0.0091, 0.0304, 0.0438, 0.0001, 0.0169, 0.0111
    ),
    "mnist relu 3 50": _spread(
        0.0166, 0.0264, 0.007, 0.027, 0.0082, 0.019, 0.0242, 0.0366, 0.0005, 0.0138, 0.0098
    ),
    "mnist relu 6 100": _spread(
        0.0169, 0.0293, 0.009, 0.027, 0.0077, 0.0191, 0.0251, 0.0418, 0.0019, 0.0184, 0.0123
    ),
    "mnist relu 6 200": _spread(
        0.0176, 0.031, 0.005, 0.033, 0.0066, 0.0193, 0.0326, 0.0516, 0.0002, 0.019, 0.0134
    ),
    "mnist relu 9 100": _spread(
        0.0119, 0.022, 0.009, 0.027, 0.0024, 0.0094, 0.0193, 0.0358, 0.0001, 0.0176, 0.0102
    ),
    "mnist relu 9 200": _spread(
        0.0174, 0.0303, 0.009, 0.033, 0.0068, 0.022, 0.0281, 0.047, 0.0002, 0.0188, 0.0129
    ),
}
HOURS = {
    "mnist-net": Hours(19.85, 45.38, 30.32, 4049.16),
    "mnist-net 256x4": Hours(43.67, 79.39, 61.94, 9631.47),
    "mnist relu 4 1024": Hours(40.50, 74.62, 57.73, 10791.52),
    "mnist-net 256x2": Hours(2.68, 14.58, 8.09, 432.95),
    "mnist-net 256x6": Hours(49.53, 80.41, 62.12, 1716.84),
    "mnist nn": Hours(3.80, 19.55, 11.52, 360.63),
    "mnist relu 3 100": Hours(38.02, 64.08, 49.29, 1155.38),
    "mnist relu 3 50": Hours(12.29, 30.64, 21.81, 827.41),
    "mnist relu 6 100": Hours(44.55, 66.67, 53.70, 1184.82),
    "mnist relu 6 200": Hours(45.34, 67.69, 56.10, 1219.33),
    "mnist relu 9 100": Hours(39.76, 65.84, 51.86, 1153.48),
    "mnist relu 9 200": Hours(51.18, 77.18, 62.74, 1737.23),
}


T = TypeVar("T")
_MANY = ("mnist-net", "mnist-net 256x4", "mnist relu 4 1024")
"""Networks of which the thesis had about 1000 inputs; of the others about 100."""


def printed(table: Mapping[str, T], network: str, inputs: int) -> T | None:
    """The row of the thesis for this network; mnist_relu_3_50 is its "mnist relu 3 50".

    None where the thesis had another number of inputs: then it is about something else.
    """
    name = network.replace("_", " ")
    alike = inputs >= 900 if name in _MANY else 70 <= inputs <= 130
    return table.get(name) if alike else None
