"""Numbers as text. What is printed never claims more than the number: intervals round outwards."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import surefoot as sf

Interval = sf.results.Interval
LEAST = 1e-300
"""Probabilities at most this large, up to rounding, are stated as "below": never as 0."""
_LEAST_PRINTED = 1.001 * LEAST
_BINARY_ROUNDING = 1e-7
"""In units of the last digit: a decimal number may differ this much from its binary value."""


def _whole(value: float, towards: Callable[[float], int]) -> int:
    """Rounded in a direction, unless only binary rounding keeps it from a whole number."""
    near = round(value)
    return near if abs(value - near) < _BINARY_ROUNDING else towards(value)


def _hundredths(share: float, towards: Callable[[float], int]) -> float:
    """A share in percent, with two decimals; only 0 and 1 themselves become 0 % and 100 %."""
    whole = _whole(1e4 * share, towards)
    certain = whole in (0, 10_000) and whole != 1e4 * share
    return (towards(1e4 * share) if certain else whole) / 100


def _four_digits(value: float, towards: Callable[[float], int]) -> str:
    if value == 0 or math.isinf(value):
        return f"{value:g}"
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - 3)
    return f"{_whole(value / unit, towards) * unit:.4g}"


def plain(value: object) -> str:
    """A cell of a table: text as it is, whole numbers with commas, others to four digits."""
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:.4g}"
        case Interval(low=low, high=high):
            return f"{_four_digits(low, math.floor)} to {_four_digits(high, math.ceil)}"
        case _:
            return str(value)


def percent(value: float) -> str:
    """A share in percent; never rounded up to 100 % or down to 0 %."""
    digits = f"{100 * value:.2f}".rstrip("0").rstrip(".")
    if digits == "100" and value < 1:
        return "above 99.99 %"
    return "below 0.01 %" if digits == "0" and value > 0 else f"{digits} %"


def percent_range(interval: Interval) -> str:
    """Both ends of a share; one where they are the same."""
    low, high = _hundredths(interval.low, math.floor), _hundredths(interval.high, math.ceil)
    return f"{low:g} %" if low == high else f"{low:g} % to {high:g} %"


def confidence(error: float) -> str:
    """1 - error in percent."""
    return f"{100 - 100 * error:.10g} %"


def small_probability(failure: float) -> str:
    """An extrapolated probability, which may be far below a hundredth of a percent."""
    if failure <= _LEAST_PRINTED:
        return f"below {LEAST:g}"
    return percent(failure) if failure >= 1e-4 else f"{failure:.2g}"


def plr(failure: float) -> str:
    """RoMA's robustness as the paper prints it; 1 only as 1 less something."""
    if failure <= _LEAST_PRINTED:
        return f"1 - less than {LEAST:g}"
    return f"{1 - failure:.4f}" if failure >= 0.01 else f"1 - {failure:.2g}"


def p_value(p: float) -> str:
    """A p-value, rounded upwards."""
    if p <= _LEAST_PRINTED:
        return f"< {LEAST:g}"
    if p >= 0.001:
        return f"{math.ceil(1000 * p - 1e-9) / 1000:.3f}"
    unit = 10.0 ** math.floor(math.log10(p))
    return f"{math.ceil(p / unit - 1e-9) * unit:.0e}"


def transform(fit: Any) -> str:
    """The transform of the scores as a page writes it."""
    names = {"none": "as they are", "box-cox": "Box-Cox", "yeo-johnson": "Yeo-Johnson"}
    return names.get(fit.transform, str(fit.transform))


def spread(values: Sequence[float], words: Callable[[float], str] | str, unit: str = "") -> str:
    """From the smallest to the largest: "36 to 66 %"; one where they are written alike.

    `words` writes one number, or is a format.
    """
    write = words if callable(words) else lambda value: format(value, words)
    low, high = write(min(values)), write(max(values))
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


WAYS: dict[str, Callable[[Any], str]] = {
    "": plain,
    "percent": percent,
    "range": percent_range,
    "at most": lambda share: f"≤ {percent(share)}",
    "points": lambda apart: f"{100 * apart:+.2f}" if apart else "0.00",
    "hundredfold": lambda share: f"{100 * share:.2f}",
    "small": small_probability,
    "variance": lambda v: f"below {LEAST:g}" if 0 < v <= _LEAST_PRINTED else f"{v:.2g}",
    "p": p_value,
    "whole": lambda i: f"{math.floor(100 * i.low):g}–{math.ceil(100 * i.high):g} %",
    "plr": plr,
    "change": lambda value: f"{100 * value:+.1f} %",
    "passes": lambda value: f"{value:.3g}" if value < 1000 else f"{value:,.0f}",
    "share": lambda value: value if isinstance(value, str) else percent(value),
    "length": lambda value: f"{value:.4f}" if math.isfinite(value) else "no upper end",
    "ends": lambda around: f"({around.low:.4f}, {around.high:.4f})",
    "correlations": lambda around: f"{around.low:.2f} to {around.high:.2f}",
}
"""How a value is written, by the name that a column has for it: shares (percent, of a range both
ends, or whole percent outwards), differences in points with a sign unless 0, hundredfold without,
probabilities that are never 0, lengths and ends of radii, what a paper prints."""
