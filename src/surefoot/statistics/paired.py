"""Differences of two probabilities seen on the same inputs: exact tests of pairs of yes and no."""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from surefoot.core.counts import Counts
from surefoot.core.results import Interval
from surefoot.statistics.bounds import clopper_pearson
from surefoot.statistics.intervals import last_cell, lower_end

Floats = NDArray[np.float64]


def uniforms(number: int, seed: int) -> Floats:
    """So many numbers in [0, 1), the same for a seed with every version of NumPy."""
    raw = np.random.SFC64(seed).random_raw(number)
    return (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53


def one_trial(*columns: Floats, inputs: str = "") -> list[NDArray[np.bool_]]:
    """One trial of each input, drawn at random: yes with the probability that a column holds.

    One number decides in all columns, so each input's trials go together as closely as they can.
    The numbers are named by the values and by what names the `inputs`: whoever has them can repeat
    the draw, no seed is left to choose, and the order of inputs and of columns does not matter.
    Values alone would not do: two trials of each of a few inputs have few outcomes, and all samples
    with the same one would share a draw.
    """
    places, seed = _named(columns, inputs)
    drawn = np.empty(len(places))
    drawn[places] = uniforms(len(places), seed)
    return [drawn < column for column in columns]


def _named(
    columns: Sequence[Floats], inputs: str, last: Sequence[int] = ()
) -> tuple[NDArray[np.intp], int]:
    """Inputs in the order of their values, and the seed that these name; ties by `last`."""
    order = sorted(range(len(columns)), key=lambda i: np.sort(columns[i]).tobytes())
    keys = [columns[i] for i in reversed(order)]
    places = np.lexsort([np.asarray(last), *keys] if len(last) else keys)
    values = b"".join(columns[i][places].tobytes() for i in order)
    digest = hashlib.sha256(inputs.encode() + values).digest()
    return places, int.from_bytes(digest, "little")


ONE_TRIAL = 0.9
"""Share of the error for one trial of each input, where inputs had more; the rest is for bets."""
_MISSING = 0.5
"""Inputs that draws from classes are expected to find missing: each costs a whole pair."""
_WORTHWHILE = 0.4
"""Draws of a mixture, as a part of the inputs, below which bets on all inputs are better."""
_NUISANCE = 0.02
"""Part of the error for the range of the discordant share: 7 standard deviations, not all."""
_CELL = 0.3
"""Fisher length of a cell: the tail of a cell exceeds that of its ends by e^(length²/8), 1 %."""
_MOST_LOST = 0.1
"""A cell that would exceed its ends by more, as where a probability is 0, is bounded otherwise."""
_TIE = 1e-9
"""Statistics closer than this are equal but for rounding."""
_ENOUGH = 0.99
"""Part of the error that a limit spends before the search for a larger one ends."""
_CLOSE = 1e-3
"""Standard deviations between a limit and one that is too large, where the search ends as well."""
_MOST_STEPS = 60
"""Of that search; it may end anywhere, and two to five are usual."""
_WINDOW = 6.0
"""Standard deviations of a count beyond which its probability is added as a whole."""
_NEGLIGIBLE = 1e-13
"""A probability that is added as a whole, too."""


@dataclass(frozen=True)
class Pairing:
    """How the limit of a difference spends its error, settled beforehand.

    `exact` is the share for one trial of each input, which takes inputs that are independent with
    one distribution: all of it where the values are yes and no by design. The rest is for bets,
    which more trials make better. With `classes`, as many inputs of each, the inputs of each class
    have one distribution, and the mean is over classes. `inputs` names them, for the draws.
    """

    exact: float
    classes: tuple[int, ...] = ()
    inputs: str = ""

    @classmethod
    def of(
        cls, number: int, inputs: str, *, single: bool, stratified: bool, classes: tuple[int, ...]
    ) -> Pairing:
        """For so many inputs; of a stratified sample whose classes are unknown, bets alone."""
        if not stratified:
            return cls(1.0 if single else ONE_TRIAL, inputs=inputs)
        known = len(classes) == number and _mixture_size(classes) >= _WORTHWHILE * number
        return cls(ONE_TRIAL, classes, inputs) if known else cls(0.0)


def lower_difference(first: Floats, second: Floats, error: float, pairing: Pairing) -> float:
    """A lower limit for how much larger the first mean is; wrong with probability at most `error`.

    From values in [0, 1] of the same inputs.
    """
    low, exact = -1.0, pairing.exact
    if exact < 1:
        low = 2 * lower_end((1 + first - second) / 2, (1 - exact) * error) - 1
    if exact == 0 or not len(first):
        return low
    if pairing.classes:
        number = _mixture_size(pairing.classes)
        one, other = _mixture(first, second, pairing, number)
    else:
        a, b = one_trial(first, second, inputs=pairing.inputs)
        number, one, other = len(a), int((a & ~b).sum()), int((b & ~a).sum())
    return max(low, lower_limit(number, one, other, exact * error))


def _mixture_size(classes: Sequence[int]) -> int:
    """Independent draws of a class that seldom ask for more inputs than it has; 0 if uneven."""
    sizes = set(Counter(classes).values())
    return _draws(len(set(classes)), sizes.pop()) if len(sizes) == 1 else 0


@lru_cache(maxsize=256)
def _draws(classes: int, each: int) -> int:
    """The most draws, each of a class at random, that are expected to find few inputs missing."""
    from scipy.special import bdtrc

    p = 1 / classes

    def too_many(n: int) -> bool:
        missing = n * bdtrc(each - 1, n - 1, p) - classes * each * bdtrc(each, n, p)
        return bool(missing > _MISSING)

    return each + bisect_left(range(each + 1, classes * each + 1), True, key=too_many)


def _mixture(first: Floats, second: Floats, pairing: Pairing, number: int) -> tuple[int, int]:
    """Pairs (yes, no) and (no, yes) among independent draws from the mixture of the classes.

    Each draw takes a class at random and the next of its inputs, in random order; one trial of it.
    A draw that finds none counts as the pair that speaks most against a larger first mean.
    """
    n, classes = len(first), np.asarray(pairing.classes)
    places, seed = _named((first, second), pairing.inputs, pairing.classes)
    numbers = uniforms(2 * n + number, seed)
    trial, order = np.empty(n), np.empty(n)
    trial[places], order[places] = numbers[:n], numbers[n : 2 * n]
    names, codes = np.unique(classes, return_inverse=True)
    members = np.lexsort((order, codes)).reshape(len(names), -1)
    drawn = np.minimum((numbers[2 * n :] * len(names)).astype(np.int64), len(names) - 1)
    by_class = np.argsort(drawn, kind="stable")
    starts = np.searchsorted(drawn[by_class], np.arange(len(names)))
    turn = np.empty(number, dtype=np.int64)
    turn[by_class] = np.arange(number) - starts[drawn[by_class]]
    found = turn < members.shape[1]
    taken = members[drawn[found], turn[found]]
    a, b = trial[taken] < first[taken], trial[taken] < second[taken]
    return int((a & ~b).sum()), int((b & ~a).sum() + (~found).sum())


@lru_cache(maxsize=16_384)
def lower_limit(pairs: int, first: int, second: int, error: float) -> float:
    """Exact lower limit for P(yes, no) - P(no, yes), from so many of each among `pairs` pairs.

    The limit of Buehler that goes with Tango's: all outcomes whose score limit is at least the one
    seen form a region, and a difference is excluded if the region's probability is at most the
    error for every share of discordant pairs (Lloyd & Moldovan 2007), or for every share in an
    exact interval that spends a part of the error (Berger & Boos 1994).

    Why that is exact: the squared score is (difference seen - supposed) times the slope of the
    profile log-likelihood l. exp(l/n) is a geometric mean, hence concave in the difference; so the
    slope falls with the difference supposed, rises with `first` and falls with `second`. So the
    regions are nested, and their probability rises with P(yes, no) and falls with P(no, yes).
    """
    if second == pairs or not pairs:
        return -1.0
    from scipy.special import ndtri

    ranging = clopper_pearson(Counts(pairs, first + second), _NUISANCE * error)
    spent = (1 - _NUISANCE) * error
    limit = _score_limit(pairs, first, second, spent)
    region = _region(pairs, limit, ranging.high, spent)
    low, high = -ranging.high, (first - second) / pairs
    slope = math.sqrt(pairs / max(ranging.high, 1 / pairs))  # of the tail's quantile, about
    supposed = min(max(limit, (low + high) / 2), high)
    for _ in range(_MOST_STEPS):
        least = max(ranging.low, abs(supposed))
        tail = _largest_tail(region, supposed, Interval(least, ranging.high))
        low, high = (supposed, high) if tail <= spent else (low, supposed)
        if _ENOUGH * spent <= tail <= spent or high - low < _CLOSE / slope:
            break
        aim = float(ndtri((1 + _ENOUGH) / 2 * spent) - ndtri(min(max(tail, 1e-300), 1 - 1e-16)))
        nearer = supposed + aim / slope
        supposed = nearer if low < nearer < high else (low + high) / 2
    return low


def _score_limit(n: int, b: int, c: int, error: float) -> float:
    """Tango's lower limit."""
    least, span = _least_score(error), 1 + (b - c) / n
    one, other = np.array([float(b)]), np.array([float(c)])
    return span * last_cell(lambda x: least - float(_score(n, one, other, span * x - 1)[0]), 40) - 1


def _least_score(error: float) -> float:
    from scipy.special import ndtri

    return max(_TIE, -float(ndtri(error)))


@dataclass(frozen=True)
class _Region:
    """For each number of (no, yes) the least number of (yes, no); beyond the last, unknown."""

    pairs: int
    least: Floats


def _score(n: int, b: Floats, c: Floats, supposed: float) -> Floats:
    """Tango 1998: the difference beyond the one supposed, by its standard deviation under it."""
    half = b + c + (b - c) * supposed - 2 * n * supposed
    root = np.sqrt(np.maximum(half**2 + 8 * n * c * supposed * (1 - supposed), 0.0))
    both = np.maximum((half + root) / (2 * n) + supposed, abs(supposed))
    spread = np.sqrt(n * np.maximum(both - supposed**2, 1e-300))
    score: Floats = (b - c - n * supposed) / spread
    return score


def _region(n: int, limit: float, share: float, error: float) -> _Region:
    """The outcomes whose score limit is no less, up to so large a share of discordant pairs."""
    least = _least_score(error)
    most = min(n, math.ceil(n * share + _WINDOW * math.sqrt(n * share + 4)))
    seconds = np.arange(most + 1, dtype=np.float64)
    low, high = np.full(most + 1, -1.0), n - seconds + 1
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        inside = (_score(n, middle, seconds, limit) >= least - _TIE) & (middle >= 0)
        low, high = np.where(inside, low, middle), np.where(inside, middle, high)
    high[high > n - seconds] = n + 1.0  # none of them
    return _Region(n, np.minimum.accumulate(high[::-1])[::-1])


def _largest_tail(region: _Region, supposed: float, shares: Interval) -> float:
    """No less than the region's probability at this difference, whatever the share in `shares`.

    The shares are cut into cells. Between two distributions p and q of the pair lie those
    proportional to p^(1-t) q^t; with Z their sum, Hölder's inequality bounds the probability of any
    event there by that at the ends times Z^-n. They are as near to the curve of equal differences
    as makes it a matter of a shift: one that puts all of them above the difference supposed, where
    the probability is larger. A cell with a probability of 0 at one end is bounded by its corner.
    """
    n = region.pairs
    nodes = _nodes(n, supposed, shares)
    first, second = np.maximum(nodes + supposed, 0.0) / 2, np.maximum(nodes - supposed, 0.0) / 2
    shift = 0.0
    if supposed < 0:  # above it, they lie higher as they are
        gaps, lost = _gaps(first, second)
        needed = np.where(n * lost <= _MOST_LOST, gaps - supposed * lost, 0.0)
        shift = 2 * float(needed.max(initial=0.0))
    shifted = np.minimum(first + shift, 1 - second)
    gaps, lost = _gaps(shifted, second)
    closed = (n * lost <= _MOST_LOST) & ((supposed >= 0) | (gaps - supposed * lost <= shift))
    tails = _tail(region, shifted, second)
    bounds = np.maximum(tails[1:], tails[:-1]) * np.exp(-n * np.log1p(-np.where(closed, lost, 0.0)))
    if not closed.all():
        bounds[~closed] = _tail(region, first[1:][~closed], second[:-1][~closed])
    return float(bounds.max(initial=tails[0]))


def _gaps(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """How far geometric means of neighbours lie below arithmetic ones: of `first`, of all three."""
    p = np.array([first, second, 1 - first - second])
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.maximum(p[:, 1:], p[:, :-1]) * np.log(p[:, 1:] / p[:, :-1]) ** 2 / 8
    each = np.where(np.isfinite(each), each, 1.0)
    return each[0], each.sum(axis=0)


def _nodes(n: int, supposed: float, shares: Interval) -> Floats:
    """Ends of cells of one Fisher length each, from the first share to the last."""
    if shares.high <= shares.low:
        return np.array([shares.low])
    fine = shares.low + (shares.high - shares.low) * (1 - np.cos(np.linspace(0, np.pi, 129))) / 2
    middle = (fine[1:] + fine[:-1]) / 2
    rates = 1 / (middle + supposed) + 1 / (middle - supposed) + 2 / (1 - middle)
    length = np.concatenate([[0.0], np.cumsum(np.sqrt(n / 2 * rates) * np.diff(fine))])
    cells = max(1, math.ceil(length[-1] / _CELL))
    return np.interp(np.linspace(0, length[-1], cells + 1), length, fine)


def _tail(region: _Region, first: Floats, second: Floats) -> Floats:
    """The region's probability, for probabilities of (yes, no) and of (no, yes)."""
    from scipy.special import betainc, gammaln, xlog1py, xlogy

    n = region.pairs
    means = n * np.array([second.min(), second.max()])
    spread = _WINDOW * np.sqrt(means + 4)
    low, high = max(0, math.floor(means[0] - spread[0])), math.ceil(means[1] + spread[1])
    m = region.least[low : high + 1]
    c = low + np.arange(len(m), dtype=np.float64)
    q = second[:, None]
    logs = gammaln(n + 1) - gammaln(c + 1) - gammaln(n - c + 1) + xlogy(c, q) + xlog1py(n - c, -q)
    mass = np.exp(logs)
    outside = np.maximum(0.0, 1 - mass.sum(axis=1))
    mass[:, m > n - c] = 0.0
    at, which = np.nonzero((mass > _NEGLIGIBLE) & (m > 0))
    given = np.minimum(first / np.maximum(1 - second, 1e-300), 1.0)
    mass[at, which] *= betainc(m[which], n - c[which] - m[which] + 1, given[at])
    tails: Floats = mass.sum(axis=1) + outside
    return tails
