"""The forecast of a tree's time: exact where its two rules hold, harmless where they do not."""

from __future__ import annotations

import math

import pytest

from surefoot.verify.bracket_search import RadiusPlan, TreeProgress, TreeTime


def test_a_lower_end_that_rises_with_the_logarithm_is_forecast_exactly() -> None:
    progress = TreeProgress()
    for k in range(-8, 5):
        progress.record(2.0**k, 0.05 + 0.002 * k)
    # 0.058 at 16 s, 0.002 for each doubling: 0.064 at 128 s
    assert progress.expected_seconds(16.0, 0.064) == pytest.approx(128.0)
    assert progress.expected_seconds(16.0, 0.058) == 16.0


def test_a_lower_end_that_does_not_rise_never_arrives() -> None:
    progress = TreeProgress()
    assert progress.expected_seconds(5.0, 0.1) == math.inf
    progress.record(1.0, 0.03)
    assert progress.expected_seconds(5.0, 0.1) == math.inf
    assert progress.expected_seconds(1.5, 0.1) < math.inf
    assert progress.expected_seconds(1.5, 1e9) == math.inf


def test_the_radius_that_the_time_pays_for_lies_on_the_line_of_logarithms() -> None:
    easy = TreeTime(0.04, 0.1)
    plan = RadiusPlan([easy], TreeTime(0.06, 1000.0, 100.0))
    assert plan.affordable_radius(10.0) == pytest.approx(0.05)
    assert plan.expected_seconds(0.05) == pytest.approx(10.0)
    assert plan.affordable_radius(0.01) == 0.04
    assert plan.affordable_radius(1e9) == 0.06
    assert RadiusPlan([easy], TreeTime(0.03, 5.0, 5.0)).affordable_radius(10.0) == 0.03


def test_a_tree_given_up_early_is_no_reason_to_stay_below_it() -> None:
    closed = [TreeTime(0.04, 1.0), TreeTime(0.05, 2.0)]
    soon = RadiusPlan(closed, TreeTime(0.06, math.inf, 0.1))
    assert soon.affordable_radius(100.0) == 0.06
    late = RadiusPlan(closed, TreeTime(0.06, math.inf, 40.0))
    assert 0.05 < late.affordable_radius(100.0) < 0.06


def test_closed_trees_tell_of_the_next_with_caution() -> None:
    plan = RadiusPlan([TreeTime(0.04, 1.0), TreeTime(0.05, 10.0)], TreeTime(0.1, math.inf, 0.0))
    assert 0.05 < plan.affordable_radius(100.0) < 0.06
    assert plan.expected_seconds(0.06) > 100.0
    assert math.isfinite(plan.expected_seconds(1e9))
