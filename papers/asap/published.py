"""Tables I and II as printed: the authors' networks, their perturbations, their computers."""

from __future__ import annotations

from dataclasses import dataclass

from papers.asap.perturbations import (
    BLUR,
    BRIGHTNESS,
    COMPRESSION,
    HORIZONTAL,
    NOISE,
    PUBLISHED,
    VERTICAL,
    ZOOM,
)

MNIST, CANCER = "MNIST", "breast cancer"
ORACLE_LEVELS = 1024
"""Levels of the oracle, of which the table prints only time and robustness."""


@dataclass(frozen=True)
class Cell:
    """What the table prints of a method: #p, minutes, Δtime, Rob and ΔRob in percent."""

    levels: int
    minutes: float
    saved: float | None = None
    robustness: float | None = None
    error: float | None = None


@dataclass(frozen=True)
class Line:
    """A row of Table I; `integral` is None for the paper's timeout."""

    benchmark: str
    kind: str
    oracle: Cell
    asap: Cell
    integral: Cell | None
    uniform: Cell

    @property
    def name(self) -> str:
        """The paper's name of the perturbation, and its range."""
        return f"{PUBLISHED[self.kind].name} {PUBLISHED[self.kind].levels}"

    @property
    def methods(self) -> dict[str, Cell | None]:
        """In the order of the paper."""
        return {
            "oracle": self.oracle,
            "ASAP": self.asap,
            "numerical integration": self.integral,
            "uniform, same #p": self.uniform,
        }


def _line(
    benchmark: str,
    kind: str,
    oracle: tuple[float, float],
    asap: tuple[int, float, float, float, float],
    integral: tuple[int, float, float, float, float] | None,
    uniform: tuple[int, float, float, float, float],
) -> Line:
    first = Cell(ORACLE_LEVELS, oracle[0], None, oracle[1])
    quad = None if integral is None else Cell(*integral)
    return Line(benchmark, kind, first, Cell(*asap), quad, Cell(*uniform))


TABLE_1 = (
    _line(MNIST, NOISE, (1638, 100.00), (34, 54, -96.68, 100.00, 0.00),
          (21, 33, -96.91, 100.00, 0.00), (35, 55, -94.87, 100.00, 0.00)),
    _line(MNIST, COMPRESSION, (2365, 4.59), (17, 39, -98.33, 4.49, -0.10),
          (441, 1021, -37.63, 4.59, 0.00), (18, 41, -97.46, 5.56, 0.97)),
    _line(MNIST, VERTICAL, (1782, 100.00), (68, 118, -93.35, 100.00, 0.00),
          (21, 36, -98.46, 100.00, 0.00), (69, 119, -94.93, 100.00, 0.00)),
    _line(MNIST, HORIZONTAL, (1546, 100.00), (65, 98, -93.65, 100.00, 0.00),
          (21, 31, -98.22, 100.00, 0.00), (69, 104, -94.15, 100.00, 0.00)),
    _line(MNIST, BLUR, (1086, 0.10), (16, 17, -98.42, 0.00, -0.10),
          (21, 22, -98.65, 0.00, -0.10), (16, 17, -98.89, 6.25, 6.15)),
    _line(MNIST, BRIGHTNESS, (1671, 0.10), (23, 27, -98.42, 0.10, 0.00),
          (21, 34, -98.05, 0.00, -0.10), (24, 39, -97.77, 0.04, -0.06)),
    _line(MNIST, ZOOM, (1772, 65.85), (40, 42, -97.64, 67.57, 1.72),
          (903, 945, -46.62, 65.92, 0.07), (41, 42, -97.58, 65.85, 0.00)),
    _line(CANCER, NOISE, (716, 43.80), (56, 39, -94.54, 43.26, -0.54),
          None, (57, 39, -94.31, 43.86, 0.06)),
    _line(CANCER, COMPRESSION, (692, 100.00), (33, 22, -97.42, 100.00, 0.00),
          (21, 13, -98.08, 100.00, 0.00), (34, 23, -96.78, 100.00, 0.00)),
    _line(CANCER, VERTICAL, (692, 100.00), (127, 86, -87.56, 100.00, 0.00),
          (21, 14, -97.95, 100.00, 0.00), (128, 86, -87.51, 100.00, 0.00)),
    _line(CANCER, HORIZONTAL, (693, 100.00), (127, 86, -87.56, 100.00, 0.00),
          (21, 14, -97.95, 100.00, 0.00), (128, 86, -87.50, 100.00, 0.00)),
    _line(CANCER, BLUR, (700, 73.66), (225, 154, -78.01, 73.05, -0.61),
          None, (256, 174, -74.77, 72.66, -1.00)),
    _line(CANCER, BRIGHTNESS, (693, 57.27), (49, 33, -95.21, 57.23, -0.04),
          (861, 581, -16.06, 56.74, -0.54), (52, 35, -94.93, 57.69, 0.42)),
    _line(CANCER, ZOOM, (862, 100.00), (118, 92, -88.49, 100.00, 0.00),
          (21, 21, -97.45, 100.00, 0.00), (128, 134, -84.34, 100.00, 0.00)),
)  # fmt: skip
"""Table I, row by row."""

TABLE_2 = {
    MNIST: {NOISE: 0.00, COMPRESSION: 0.10, VERTICAL: 0.00, HORIZONTAL: 0.00, BLUR: 0.10,
            BRIGHTNESS: 0.00, ZOOM: 0.29},
    CANCER: {NOISE: 0.78, COMPRESSION: 0.00, VERTICAL: 0.00, HORIZONTAL: 0.00, BLUR: 7.71,
             BRIGHTNESS: 0.10, ZOOM: 0.00},
}  # fmt: skip
"""The bounds ε_A of Table II, in percent; its errors are the ΔRob_A of Table I."""


def printed_shares_that_are_none(digits: float = 0.005) -> list[Line]:
    """Rows whose uniform robustness is no share of its number of levels, to the digits printed."""

    def is_share(cell: Cell) -> bool:
        share = (cell.robustness or 0.0) / 100
        return abs(round(share * cell.levels) / cell.levels - share) <= digits / 100 + 1e-12

    return [line for line in TABLE_1 if not is_share(line.uniform)]
