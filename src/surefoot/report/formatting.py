"""Numbers as text. What is printed never claims more than the number."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction

from surefoot.core.results import LEAST_PROBABILITY, Interval

_LEAST_PRINTED = 1.001 * LEAST_PROBABILITY
"""A mean of probabilities that are all bounded by the least one may be rounded up beyond it."""
_BINARY_ROUNDING = 1e-7
"""In units of the last digit: a decimal number may differ this much from its binary value."""
_SERVED = re.compile(r"https?://.*/v2/models/(?P<name>[^/]+)(?:/versions/(?P<version>[^/]+))?/?")
"""The address of a model, by the Open Inference Protocol."""


def percent(value: float) -> str:
    """A share in percent; never rounded up to 100 % or down to 0 %."""
    digits = f"{100 * value:.2f}".rstrip("0").rstrip(".")
    if digits == "100" and value < 1:
        return "above 99.99 %"
    if digits == "0" and value > 0:
        return "below 0.01 %"
    return f"{digits} %"


def percent_at_least(share: float) -> str:
    """A share that is shown to be at least this, rounded down."""
    return f"{_hundredths(share, math.floor):g} %"


def percent_range(interval: Interval) -> str:
    """Both ends of a share, rounded outwards; one where they are the same."""
    low, high = _hundredths(interval.low, math.floor), _hundredths(interval.high, math.ceil)
    return f"{low:g} %" if low == high else f"{low:g} % to {high:g} %"


def exact_percent(share: float) -> str:
    """A share that was required or chosen, to its last digit: it was not measured."""
    digits = f"{100 * share:.9f}".rstrip("0").rstrip(".")
    return f"{100 * share:.3g} %" if digits == "0" else f"{digits} %"


def radius_range(interval: Interval) -> str:
    """Both ends of a level, rounded outwards to four digits; an open end is in words."""
    low, high = at_least(interval.low), at_most(interval.high)
    if math.isinf(interval.high):
        return f"{low} or more"
    return low if low == high else f"{low} to {high}"


def signed_range(interval: Interval) -> str:
    """Both ends of a difference of levels, rounded outwards; an open end is in words."""
    if math.isinf(interval.low) and math.isinf(interval.high):
        return "not known"
    if math.isinf(interval.high):
        return f"{_signed(at_least(interval.low))} or more"
    if math.isinf(interval.low):
        return f"{_signed(at_most(interval.high))} or less"
    return f"{_signed(at_least(interval.low))} to {_signed(at_most(interval.high))}"


def _signed(number: str) -> str:
    return number if number.startswith("-") else f"+{number}"


def at_least(value: float) -> str:
    """Four digits, rounded down: what is proved or shown to be at least this much."""
    return _directed(value, math.floor)


def at_most(value: float) -> str:
    """Four digits, rounded up: what is shown to be at most this much."""
    return _directed(value, math.ceil)


def _directed(value: float, towards: Callable[[float], int], digits: int = 4) -> str:
    if value == 0 or math.isinf(value):
        return f"{value:g}"
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)
    return f"{_whole(value / unit, towards) * unit:.{digits}g}"


def _whole(value: float, towards: Callable[[float], int]) -> int:
    """Rounded in a direction, unless only binary rounding keeps it from a whole number."""
    near = round(value)
    return near if abs(value - near) < _BINARY_ROUNDING else towards(value)


def _hundredths(share: float, towards: Callable[[float], int]) -> float:
    """A share in percent, with two decimals; only 0 and 1 themselves become 0 % and 100 %."""
    whole = _whole(1e4 * share, towards)
    certain = whole in (-10_000, 0, 10_000) and whole != 1e4 * share
    return (towards(1e4 * share) if certain else whole) / 100


def four_digits(value: float) -> str:
    """A radius, a level or a very small probability."""
    return f"{value:.4g}"


def error_odds(error: float) -> str:
    """How often at most a statement is wrong."""
    share = Fraction(error).limit_denominator(1_000_000)
    if share.numerator == 1 and abs(share - Fraction(error)) < 1e-9 * error:
        return f"wrong at most 1 time in {share.denominator:,}"
    for base in (100, 1000, 10_000, 100_000, 1_000_000):
        if round(error * base) and abs(error * base - round(error * base)) < 1e-9:
            return f"wrong at most {round(error * base)} times in {base:,}"
    unit = 10.0 ** (math.floor(math.log10(error)) - 1)
    return f"wrong with probability at most {math.ceil(error / unit - 1e-9) * unit:.2g}"


def confidence(error: float) -> str:
    """1 - error as a percentage, never rounded up; the error in it is exact to one part in 100."""
    missing = 100 * error
    for digits in range(12):
        gap = math.ceil(missing * 10**digits * (1 - 1e-9))
        if gap < 1.01 * missing * 10**digits:
            return f"{100 - gap / 10**digits:.{digits}f} %"
    return f"100 % less {100 * error:.2g} %"


def extrapolated_probability(failure: float) -> str:
    """To four digits; below what floating point holds, as a bound, never 0."""
    below = failure <= _LEAST_PRINTED
    return f"below {LEAST_PROBABILITY:g}" if below else four_digits(failure)


def small_probability(failure: float) -> str:
    """An extrapolated probability, which may be far below a hundredth of a percent; never 0."""
    if failure <= _LEAST_PRINTED:
        return f"below {LEAST_PROBABILITY:g}"
    return percent(failure) if failure >= 1e-4 else f"{failure:.2g}"


def variance(value: float) -> str:
    """A variance of probabilities; 0 only where all of them are equal."""
    below = 0 < value <= _LEAST_PRINTED
    return f"below {LEAST_PROBABILITY:g}" if below else f"{value:.2g}"


def with_full_stop(text: str) -> str:
    """The sentence with its full stop, unless it ends with one or with a question mark."""
    return text if text.endswith(("?", ".")) else text + "."


def points(value: float) -> str:
    """A difference of two shares, in percentage points, with its sign unless it is 0."""
    return f"{100 * value:+.2f}" if value else "0.00"


def points_apart(value: float) -> str:
    """The size of a difference in words; never rounded to none."""
    size = f"{100 * abs(value):.2f}"
    if size == "0.00" and value:
        return "less than 0.01 points"
    return f"{size} points"


def points_range(interval: Interval) -> str:
    """Both ends of a difference in percentage points, rounded outwards."""
    low, high = _hundredths(interval.low, math.floor), _hundredths(interval.high, math.ceil)
    return f"{low:+.2f} to {high:+.2f}"


def points_between(interval: Interval) -> str:
    """Both ends of an amount in percentage points, rounded outwards."""
    low, high = _hundredths(interval.low, math.floor), _hundredths(interval.high, math.ceil)
    return f"{low:.2f} to {high:.2f} points"


def more_or_less(interval: Interval) -> str:
    """Both ends of a difference in percentage points, rounded outwards, with their direction."""
    low, high = _hundredths(interval.low, math.floor), _hundredths(interval.high, math.ceil)
    if low < 0 < high:
        return f"between {-low:.2f} less and {high:.2f} more"
    near, far = sorted((abs(low), abs(high)))
    return f"between {near:.2f} and {far:.2f} {'less' if low < 0 else 'more'}"


def duration_words(seconds: float) -> str:
    """A forecast of time: seconds, minutes or hours."""
    if seconds < 90:
        return f"{max(1, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def p_value(p: float) -> str:
    """A p-value in a table, rounded upwards; never 0."""
    if p <= _LEAST_PRINTED:
        return f"< {LEAST_PROBABILITY:g}"
    if p >= 0.001:
        return f"{math.ceil(1000 * p - 1e-9) / 1000:.3f}"
    unit = 10.0 ** math.floor(math.log10(p))
    return f"{math.ceil(p / unit - 1e-9) * unit:.0e}"


def p_bound(p: float, *, is_bound: bool) -> str:
    """The same where it may be known only as a bound, which is then named."""
    return f"< {p:.0e}" if is_bound else p_value(p)


_POWERS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
RARE = 1e-3
"""Probabilities below it are so many in a power of ten."""


def rare_share(share: float) -> str:
    """A failure probability that may be tiny: 3.1 in 10⁹; in percent where it is not."""
    return rare_range(Interval(share, share))


def rare_range(between: Interval) -> str:
    """Both ends by the same power of ten, rounded outwards; one number where they agree."""
    low, high = between.low, between.high
    if high >= RARE:
        return percent(high) if low == high else percent_range(between)
    power = math.ceil(-math.log10(high)) if high > 0 else 0
    least, most = (math.floor, math.ceil) if low < high else (round, round)
    ends = _directed(low * 10.0**power, least, 2), _directed(high * 10.0**power, most, 2)
    number = ends[1] if low == high else " to ".join(ends)
    number = f"less than {ends[1]}" if low == 0 else number
    return f"{number} in 10{str(power).translate(_POWERS)}"


def one_in(kappa: float) -> str:
    """A limit on a probability: 1 in 100, or a share to its last digit."""
    if kappa == 0:  # where nothing is random, and no input fails
        return exact_percent(kappa)
    once = 1 / kappa
    whole = abs(once - round(once)) < 1e-9 * once
    return f"1 in {round(once):,}" if whole else exact_percent(kappa)


def of_perturbations(kappa: float) -> str:
    """The same, of the perturbations."""
    limit = one_in(kappa)
    return f"{limit} of the perturbations" if limit.endswith("%") else f"{limit} perturbations"


def file_name(place: str) -> str:
    """The last part of a path; of the address of a model its name, with its version."""
    served = _SERVED.fullmatch(place)
    if served is not None:
        version = "" if served["version"] is None else f" version {served['version']}"
        return f"{served['name']}{version}"
    return place.rstrip("/").rpartition("/")[2] or place
