"""Exact tests of pairs, the draw of one trial of each input, and the search for a zero."""

import math

import numpy as np
import pytest
from scipy.special import gammaln, xlogy

from surefoot.core.results import Interval
from surefoot.statistics import paired
from surefoot.statistics.intervals import last_cell
from surefoot.statistics.paired import (
    ONE_TRIAL,
    Pairing,
    lower_difference,
    lower_limit,
    one_trial,
    uniforms,
)


def test_the_numbers_of_a_seed_are_the_same_everywhere() -> None:
    drawn = uniforms(3, 7)
    assert drawn.tolist() == uniforms(5, 7)[:3].tolist()
    assert ((drawn >= 0) & (drawn < 1)).all()
    assert drawn.tolist() != uniforms(3, 8).tolist()


def test_one_trial_has_the_probabilities_of_its_input_in_any_order() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random(4000), rng.random(4000)
    first, second = one_trial(a, b)
    shuffled = rng.permutation(4000)
    again, other = one_trial(b[shuffled], a[shuffled])
    assert (again == second[shuffled]).all()
    assert (other == first[shuffled]).all()
    assert abs(first.mean() - a.mean()) < 0.03  # 4 standard deviations
    assert (first[a >= b] >= second[a >= b]).all()  # one number decides for both
    ones = one_trial(np.array([0.0, 1.0, 1.0]))[0]
    assert ones.tolist() == [False, True, True]


@pytest.mark.parametrize(("pairs", "error"), [(1, 0.05), (7, 0.05), (11, 0.2), (13, 0.004)])
def test_a_lower_limit_is_exact_for_every_table(pairs: int, error: float) -> None:
    """Too high with at most the error, at every difference and every discordant share."""
    tables = np.array([(b, c) for b in range(pairs + 1) for c in range(pairs + 1 - b)])
    limits = np.array([lower_limit(pairs, int(b), int(c), error) for b, c in tables])
    counts = np.column_stack([tables, pairs - tables.sum(axis=1)])
    ways = gammaln(pairs + 1) - gammaln(counts + 1).sum(axis=1)
    worst = 0.0
    for limit in np.unique(limits[limits > -1]):
        true = limit - 1e-9
        share = np.linspace(abs(true), 1, 501)
        p = np.maximum([(share + true) / 2, (share - true) / 2, 1 - share], 0)
        masses = np.exp(ways + xlogy(counts[None], p.T[:, None]).sum(axis=2))
        worst = max(worst, float(masses[:, limits >= limit].sum(axis=1).max()))
    assert worst <= error
    assert worst > 0.95 * error or pairs == 1  # nothing is given away


def test_a_lower_limit_rises_with_one_count_and_falls_with_the_other() -> None:
    limits = {(b, c): lower_limit(9, b, c, 0.05) for b in range(10) for c in range(10 - b)}
    for (b, c), limit in limits.items():
        assert limit <= limits.get((b + 1, c), 1.0) + 1e-5
        assert limit >= limits.get((b, c + 1), -1.0) - 1e-5


@pytest.mark.parametrize(
    ("pairs", "first", "second"), [(1000, 200, 180), (5000, 5, 2), (60, 60, 0)]
)
def test_the_tail_is_bounded_at_every_discordant_share(pairs: int, first: int, second: int) -> None:
    limit = paired._score_limit(pairs, first, second, 0.05)
    region = paired._region(pairs, limit, 1.0, 0.05)
    for supposed in (lower_limit(pairs, first, second, 0.05), -0.01, 0.0):
        shares = Interval(abs(supposed), min(1.0, (first + second + 60) / pairs))
        bound = paired._largest_tail(region, supposed, shares)
        each = np.linspace(shares.low, shares.high, 2001)
        tails = paired._tail(region, (each + supposed) / 2, (each - supposed) / 2)
        assert tails.max() - 1e-12 <= bound <= 1.06 * tails.max() + 1e-12


def test_a_limit_of_many_pairs_is_near_the_normal_one() -> None:
    for pairs, first, second in [(1000, 20, 30), (5000, 500, 480), (20_000, 40, 60)]:
        seen = (first - second) / pairs
        normal = seen - 1.645 * math.sqrt(first + second) / pairs
        assert abs(lower_limit(pairs, first, second, 0.05) - normal) < 0.06 * (seen - normal)


def pairing(classes: list[int]) -> Pairing:
    return Pairing.of(len(classes), "", single=True, stratified=True, classes=tuple(classes))


def test_classes_of_several_distributions_are_drawn_as_one() -> None:
    """Each model fails always on one of two classes: 300 seeded samples, equal on the average."""
    rng, classes, wrong = np.random.default_rng(6), [0] * 15 + [1] * 15, 0
    for _ in range(300):
        a, b = (rng.random(30) < np.repeat(p, 15) for p in ((0.9, 0.1), (0.1, 0.9)))
        limit = lower_difference(a.astype(float), b.astype(float), 0.1, pairing(classes))
        wrong += limit > 0
    assert 5 <= wrong <= 300 * 0.1 + 3 * math.sqrt(300 * 0.09)


def test_a_draw_from_classes_depends_on_no_order_and_takes_no_input_twice() -> None:
    rng, classes = np.random.default_rng(7), np.repeat(np.arange(5), 20)
    a, b = rng.random(100), rng.random(100)
    number = paired._mixture_size(classes.tolist())
    assert 40 < number < 100
    counts = paired._mixture(a, b, Pairing(1.0, tuple(classes)), number)
    shuffled = rng.permutation(100)
    assert counts == paired._mixture(
        a[shuffled], b[shuffled], Pairing(1.0, tuple(classes[shuffled])), number
    )
    ones, zeros = np.ones(100), np.zeros(100)
    one, missing = paired._mixture(ones, zeros, Pairing(1.0, tuple(classes)), number)
    assert one + missing == number
    assert paired._mixture(zeros, ones, Pairing(1.0, tuple(classes)), number) == (0, number)
    one, missing = paired._mixture(ones, zeros, Pairing(1.0, tuple(classes)), 100)
    assert missing > 0  # nobody draws exactly 20 of each


def test_where_too_few_can_be_drawn_bets_have_all_of_the_error() -> None:
    assert pairing([0] * 10 + [1] * 9) == Pairing(0.0)
    assert pairing(list(range(50)) * 2) == Pairing(0.0)
    assert pairing([0] * 10 + [1] * 10).exact == ONE_TRIAL
    unknown = Pairing.of(20, "", single=True, stratified=True, classes=())
    assert unknown == Pairing(0.0)


HALVINGS = 36


def halved(lacking):
    """As it is defined."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if lacking(middle) <= 0 else (low, middle)
    return low


SHAPES = {
    "a line": lambda x, zero: x - zero,
    "a jump": lambda x, zero: 1.0 if x > zero else -1.0,
    "a jump from nothing": lambda x, zero: math.inf if x > zero else -1e-300,
    "a pole at 0": lambda x, zero: math.log(x / zero) if zero else 1.0,
    "flat before it": lambda x, zero: max(0.0, x - zero) ** 9,
    "steep": lambda x, zero: 1e12 * (x - zero),
    "almost flat": lambda x, zero: 1e-12 * (x - zero) ** 3,
    "not a number beyond": lambda x, zero: math.nan if x > zero else -1.0,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_the_cell_that_halving_gives(shape):
    zeros = [0.0, 1.0, 0.5, 2.0**-36, 1 - 2.0**-36, 1e-13, *np.random.default_rng(1).random(40)]
    for zero in zeros:

        def lacking(x, zero=zero):
            assert 0 < x < 1
            return SHAPES[shape](x, zero)

        assert last_cell(lacking, HALVINGS) == halved(lacking)


def test_a_smooth_function_takes_few_evaluations():
    counted = []
    for zero in np.random.default_rng(2).random(40):
        last_cell(lambda x, zero=zero: counted.append(x) or math.expm1(5 * (x - zero)), HALVINGS)
    assert len(counted) <= 40 * HALVINGS / 3


@pytest.mark.parametrize("halvings", [0, 1, 2])
def test_of_few_cells_each_can_be_the_last(halvings):
    for cell in range(2**halvings):
        zero = (cell + 0.5) / 2**halvings
        assert last_cell(lambda x, zero=zero: x - zero, halvings) == cell / 2**halvings
