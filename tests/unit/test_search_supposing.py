"""What is supposed of inputs that were not looked at, and what that saves."""

import numpy as np
import pytest

from surefoot.search import SequentialCurve
from surefoot.search.looks import Over
from surefoot.search.next_level import Sight, smoothed
from surefoot.search.seen import Seen, Terms
from surefoot.search.supposing import beside, supposed
from surefoot.search.wiggles import expected, slack_of
from tests.curve_worlds import breaking, drive

TERMS = Terms(10, Over.SET, True, 0.05, frozenset(), 100)


def seen(level, values):
    """A level at which the inputs marked NaN were not looked at."""
    found = Seen(level, TERMS)
    for i, value in enumerate(values):
        if not np.isnan(value):
            found.put(i, np.array([float(value)]))
    if found.known.all():
        found.look(10)
    return found


HOLD, FAIL, NOT = [1.0], [0.0], [np.nan]


def test_beside_a_level_below_the_target_only_those_that_fail_need_a_look():
    below = seen(0.5, HOLD * 7 + FAIL * 3)
    told = seen(0.4, NOT * 7 + [1.0, 1.0, 0.0])
    half = seen(0.3, NOT * 8 + [1.0, 1.0])
    ends = beside([half, told, below], 0.75, 0.0)
    assert [end.level for end in ends] == [0.4, 0.5]
    assert ends[0].mean == pytest.approx(0.9)


def test_beside_a_level_above_the_target_only_those_that_hold_need_a_look():
    above = seen(0.4, HOLD * 8 + FAIL * 2)
    told = seen(0.5, HOLD * 6 + FAIL * 2 + NOT * 2)
    (first, last) = beside([above, told], 0.75, 0.0)
    assert (first.mean, last.mean) == (pytest.approx(0.8), pytest.approx(0.6))
    (_, last) = beside([above, told], 0.75, 0.25)
    assert last.mean == pytest.approx(0.65)  # one in four of those unseen goes the other way


def test_an_input_known_on_one_side_only_leaves_a_doubt():
    before, whole = seen(0.0, HOLD * 5 + NOT * 5), seen(0.5, HOLD * 5 + FAIL * 5)
    after = seen(1.0, [0.0] + NOT * 9)
    found = supposed([before, whole, after])
    assert found[0.5].doubt == 0
    assert found[0.0].doubt > 0
    assert found[1.0].mean == pytest.approx(0.4)


def test_no_slack_where_nothing_comes_back_and_some_where_it_does_elsewhere():
    """Between 0.5 and 0.6 all go one way; at 0.1 one came back while another went."""
    above, below = seen(0.5, HOLD * 9 + FAIL), seen(0.6, HOLD * 6 + FAIL * 4)
    start = seen(0.0, HOLD * 10)
    assert slack_of([start, above, below], (0.8,), 0.2) == 0
    swapped = seen(0.1, HOLD * 8 + FAIL + HOLD)
    assert slack_of([swapped, above, below], (0.8,), 0.2) > 0
    assert expected([swapped, above], (0.8,), 0) > 0


def test_smoothing_keeps_a_line_and_what_is_certain():
    line = [Sight(x / 8, 1 - x / 10, 0.1) for x in range(9)]
    assert [s.value for s in smoothed(line, 0.3)] == pytest.approx([s.value for s in line])
    bent = [*line[:4], Sight(0.5, 0.9, 0.0), *line[5:]]
    assert smoothed(bent, 0.3)[4] == bent[4]


def test_a_crossing_takes_three_passes_and_the_forecast_knows():
    passes, levels = [], []
    for seed in range(6):
        critical = np.random.default_rng(seed).normal(0.5, 0.2, 1000)
        procedure = SequentialCurve(0.0, 1.0, size=1000)
        found = drive(procedure, breaking(critical))
        passes.append(found.curve.trials / 1000)
        levels.append(len(found.trials_by_level))
        assert 0.5 < procedure.forecast / found.curve.trials < 2
    assert np.mean(passes) < 3.5
    assert np.mean(levels) < 27
