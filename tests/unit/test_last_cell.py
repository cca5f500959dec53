"""The last cell by interpolation is the one that halving gives, in fewer evaluations."""

import math

import numpy as np
import pytest

from surefoot.statistics.intervals import last_cell

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
