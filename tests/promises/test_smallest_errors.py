"""At the smallest error that may be stated, by sums of whole numbers; below it, refused."""

import math
from fractions import Fraction

import pytest

from surefoot.core.counts import Counts
from surefoot.population import RobustShare
from surefoot.statistics import (
    BuSun,
    ExactBinomial,
    ExactSequential,
    FixedSize,
    KappaTest,
    NormalTail,
    Okamoto,
    clopper_pearson,
    design_for,
    fixed_size,
)
from surefoot.statistics.bounds import SMALLEST_ERROR
from surefoot.statistics.designs import SMALLEST_PROVED, calibrate
from surefoot.statistics.kappa import tail_above, tail_below
from surefoot.statistics.ranks import (
    at_every_look,
    check_share,
    equal_tails,
    ever_missed,
    lower_rank,
    missed,
    shortest,
)
from tests.refusals import refused

SLACK = 1 + 1e-8
"""What a stated error may be exceeded by, relative to it, through rounding."""


def exact_tails(n, p):
    """P(Binomial(n, p) ≥ k) for every k from 0 to n + 1, in steps of 2^-400, far below any error.

    p is the number that the float is; each mass is rounded down by less than one step.
    """
    p, step = Fraction(p), 1 << 400
    up, down, whole = p.numerator, p.denominator - p.numerator, p.denominator**n
    tails = [0]
    for k in range(n, -1, -1):
        tails.append(tails[-1] + step * math.comb(n, k) * up**k * down ** (n - k) // whole)
    return [Fraction(tail, step) for tail in reversed(tails)]


@pytest.mark.parametrize(("n", "kept"), [(1, 0), (40, 3), (300, 0), (300, 150), (300, 299)])
def test_clopper_pearson_is_exact_at_the_smallest_error(n, kept):
    ends = clopper_pearson(Counts(n, kept), SMALLEST_ERROR)
    if kept > 0:
        low = float(exact_tails(n, ends.low)[kept])
        assert low == pytest.approx(SMALLEST_ERROR / 2, rel=1e-8)
    high = float(1 - exact_tails(n, ends.high)[kept + 1])
    # a float below 1 is 1e-16 from the next
    assert high == pytest.approx(SMALLEST_ERROR / 2, rel=1e-3 if ends.high > 0.999 else 1e-8)


@pytest.mark.parametrize(("n", "kappa"), [(300, 0.01), (300, 0.5), (600, 1e-3)])
def test_the_tails_of_the_exact_test_are_exact_where_they_are_tiny(n, kappa):
    tails = exact_tails(n, kappa)
    for failed in range(n):
        for result, exact in (
            (tail_above(failed, n, kappa), tails[failed]),
            (tail_below(failed, n, kappa), 1 - tails[failed + 1]),
        ):
            if exact > 1e-20:
                assert result == pytest.approx(float(exact), rel=1e-10)


@pytest.mark.parametrize("choose", [equal_tails, shortest])
@pytest.mark.parametrize("error", [SMALLEST_ERROR, 1e-9, 0.05])
@pytest.mark.parametrize(("n", "share"), [(50, 0.5), (400, 0.05), (400, 0.5), (400, 0.95)])
def test_ranks_miss_rarely_at_the_smallest_error(choose, n, share, error):
    ranks = choose(n, share, error)
    tails = exact_tails(n, share)
    outside = float(1 - tails[ranks.low] + tails[ranks.high])
    assert outside <= error * SLACK
    assert missed(n, share, ranks) == pytest.approx(outside, rel=1e-9)
    assert float(1 - tails[lower_rank(n, share, error)]) <= error * SLACK


def test_looks_miss_rarely_at_the_smallest_error():
    """Both sides by themselves, counted in whole numbers of paths at share 1/2."""
    looks, error = (60, 120, 240), SMALLEST_ERROR
    ranks = at_every_look(looks, 0.5, error)
    left, at = Fraction(0), dict(zip(looks, ranks, strict=True))
    for below in (True, False):
        paths = [1]
        for n in range(1, looks[-1] + 1):
            paths = [a + b for a, b in zip([*paths, 0], [0, *paths], strict=True)]
            if n in at:
                gone = range(at[n].low) if below else range(at[n].high, n + 1)
                left += Fraction(sum(paths[k] for k in gone), 2**n)
                paths = [0 if k in gone else ways for k, ways in enumerate(paths)]
    assert float(left) <= error * SLACK
    assert ever_missed(looks, 0.5, ranks) == pytest.approx(float(left), rel=1e-9)


@pytest.mark.parametrize("p", [0.5, 0.45, 0.3, 0.05])
def test_the_fixed_size_is_enough_at_the_smallest_error(p):
    width = 0.125
    n = fixed_size(width, SMALLEST_ERROR)
    tails = exact_tails(n, p)
    least = math.ceil(n * (Fraction(p) - Fraction(width)))
    most = math.floor(n * (Fraction(p) + Fraction(width)))
    outside = float(1 - tails[max(least, 0)] + tails[most + 1])
    assert outside <= SMALLEST_ERROR * SLACK
    assert p != 0.5 or outside > 0.3 * SMALLEST_ERROR


def exact_miss(design, p):
    """P(|k/n - p| > width) over all paths of a design, in whole numbers of paths."""
    p, width, total = Fraction(p), Fraction(design.width), Fraction(0)
    paths, before = [1], 0
    for look, n in enumerate(design.looks):
        ways = [math.comb(n - before, k) for k in range(n - before + 1)]
        grown = [0] * (n + 1)
        for k, many in enumerate(paths):
            for more, way in enumerate(ways) if many else ():
                grown[k + more] += many * way
        for k, many in enumerate(grown):
            if many and design.stops(look, k):
                if abs(Fraction(k, n) - p) > width:
                    total += many * p**k * (1 - p) ** (n - k)
                grown[k] = 0
        paths, before = grown, n
    return float(total)


def test_a_design_is_proved_at_its_smallest_error():
    design = calibrate(0.25, SMALLEST_PROVED)
    assert design.proved <= SMALLEST_PROVED
    result = [exact_miss(design, p) for p in (0.5, 0.4375, 0.375, 0.25, 0.125)]
    assert 0.01 * SMALLEST_PROVED < max(result) <= design.proved


SMALLER = 0.99 * SMALLEST_ERROR
REFUSED = {
    "κ-test": lambda: KappaTest(0.1, SMALLER),
    "exact binomial": lambda: ExactBinomial(0.1, SMALLER, 100),
    "okamoto": lambda: Okamoto(0.1, SMALLER),
    "bu-sun": lambda: BuSun(0.1, SMALLER),
    "fixed size": lambda: FixedSize(0.1, SMALLER),
    "sequential": lambda: ExactSequential(0.1, SMALLER),
    "tail": lambda: NormalTail(error=SMALLER),
    "ranks": lambda: check_share(0.05, SMALLER),
    "share": lambda: RobustShare(SMALLER),
}


@pytest.mark.parametrize("method", REFUSED)
def test_a_smaller_error_is_refused_with_the_least(method):
    refused(r"got 9\.9e-13.*the least .* is 1e-12", REFUSED[method])


def test_what_cannot_be_proved_or_takes_hours_is_refused_with_the_way_out():
    for make in (ExactSequential, design_for):
        refused(r"the least is 1e-09, or use fixed-size", make, 0.1, 1e-12)
    for make in (ExactSequential, FixedSize):
        refused(r"the least is 0\.00057, or use okamoto", make, 5e-4, 0.05)
        assert make(0.001, 0.001).width == 0.001
        assert make(0.02, 1e-9).error == 1e-9
    refused("the least distance from either is 1e-06", check_share, 1e-7, 0.05)
