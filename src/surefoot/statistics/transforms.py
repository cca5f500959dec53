"""Transforms of severities after which a normal distribution may fit them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Transformed:
    """Severities and the limit, transformed the same way; the words say how."""

    values: Floats
    limit: float
    words: str
    power: float | None = None


@dataclass(frozen=True)
class Transform:
    """A function of severities and limit; None where it is not defined for them, which `needs`."""

    apply: Callable[[Floats, float], Transformed | None]
    needs: str = ""


def _plain(values: Floats, limit: float) -> Transformed:
    return Transformed(values, limit, "severities as they are")


def _box_cox(values: Floats, limit: float) -> Transformed | None:
    """Powers by maximum likelihood; defined for positive severities only."""
    if values.min() <= 0 or limit <= 0:
        return None
    from scipy.stats import boxcox

    moved, power = boxcox(values)
    return _powered(moved, box_cox_of(limit, power), float(power), "Box-Cox")


def box_cox_of(value: float, power: float) -> float:
    """Box & Cox's transform of one value (RoMA, definition 4)."""
    try:
        return math.log(value) if power == 0 else (value**power - 1) / power
    except OverflowError:
        return math.inf if power > 0 else -math.inf


def _logit(values: Floats, limit: float) -> Transformed | None:
    """The natural one for softmax scores; defined strictly between 0 and 1."""
    if values.min() <= 0 or values.max() >= 1 or not 0 < limit < 1:
        return None
    logits = np.log(values) - np.log1p(-values)
    return Transformed(logits, math.log(limit / (1 - limit)), "logits of severities")


def _yeo_johnson(values: Floats, limit: float) -> Transformed:
    from scipy.stats import yeojohnson

    moved, power = yeojohnson(values)
    end = float(yeojohnson(np.array([limit]), lmbda=power)[0])
    return _powered(moved, end, float(power), "Yeo-Johnson")


def _powered(moved: Floats, limit: float, power: float, name: str) -> Transformed:
    return Transformed(moved, limit, f"severities after {name} with power {power:.3g}", power)


TRANSFORMS: dict[str, Transform] = {
    "none": Transform(_plain),
    "box-cox": Transform(_box_cox, "severities above 0"),
    "logit": Transform(_logit, "severities and a limit between 0 and 1"),
    "yeo-johnson": Transform(_yeo_johnson),
}
