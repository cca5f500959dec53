"""Exact tests of pairs, and the draw of one trial of each input."""

from __future__ import annotations

import numpy as np

from surefoot.statistics.paired import one_trial, uniforms


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
