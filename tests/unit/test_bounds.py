"""Bounds against published, recomputed and independent numbers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from surefoot.core.counts import Counts
from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument
from surefoot.statistics import (
    BuSun,
    FixedSize,
    Okamoto,
    chernoff,
    clopper_pearson,
    fixed_size,
    okamoto,
    shares,
)


@pytest.mark.parametrize(
    ("width", "error", "trials"),
    # ⌈ln(2/error)/(2 width²)⌉, recomputed; Bu & Sun 2024, table I, misprints the third as 24692
    [
        (0.05, 0.05, 738),
        (0.03, 0.03, 2334),
        (0.01, 0.01, 26492),
        (0.01, 0.05, 18445),
        (0.003, 0.001, 422273),
        (0.002, 0.001, 950113),
        (0.001, 0.001, 3800452),
    ],
)
def test_okamoto(width, error, trials):
    assert okamoto(width, error) == trials


@pytest.mark.parametrize(
    ("trials", "kept", "error", "low", "high"),
    # Bu & Sun 2024, examples 5 and 6, recomputed to more digits
    [
        (100, 8, 0.01, 0.026301, 0.176114),
        (265, 37, 5e-4, 0.07576, 0.22676),
        (1060, 114, 5e-4, 0.07714, 0.14428),
    ],
)
def test_clopper_pearson_as_in_the_paper(trials, kept, error, low, high):
    outcome = clopper_pearson(Counts(trials, kept), error)
    assert outcome.low == pytest.approx(low, abs=5e-6)
    assert outcome.high == pytest.approx(high, abs=5e-6)


@given(st.integers(1, 400), st.data(), st.floats(1e-6, 0.5))
def test_clopper_pearson_agrees_with_scipy(trials, data, error):
    kept = data.draw(st.integers(0, trials))
    ours = clopper_pearson(Counts(trials, kept), error)
    theirs = binomtest(kept, trials).proportion_ci(1 - error, method="exact")
    assert ours.low == pytest.approx(theirs.low, abs=1e-9)
    assert ours.high == pytest.approx(theirs.high, abs=1e-9)


@pytest.mark.parametrize("trials", [1, 10])
def test_clopper_pearson_at_its_edges(trials):
    assert clopper_pearson(Counts(trials, 0), 0.05).low == 0
    assert clopper_pearson(Counts(trials, trials), 0.05).high == 1


def test_chernoff_as_in_the_paper():
    """Examples 5 and 6; the paper's 11347 comes from a rounded end, its 14372 is a total."""
    assert chernoff(clopper_pearson(Counts(100, 8), 0.01), 0.01, 0.04) == 11353
    rest = (0.01 - 5e-4) / (1 - 5e-4)
    assert chernoff(clopper_pearson(Counts(265, 37), 5e-4), 0.01, rest) == 18759
    assert chernoff(clopper_pearson(Counts(1060, 114), 5e-4), 0.01, rest) == 13212


def test_example_six_saves_45_7_percent():
    questions, result = _counts_after(BuSun(0.01, 0.01), [14, 114, 1464])
    assert questions == [100, 1060, 13212]
    assert result.trials == 14372
    assert 1 - result.trials / okamoto(0.01, 0.01) == pytest.approx(0.457, abs=5e-4)


def test_a_pilot_near_one_half_goes_straight_to_okamoto():
    """Example 6, second part: every candidate costs at least 27011."""
    questions, result = _counts_after(BuSun(0.01, 0.01), [41, 10550])
    assert questions == [100, 26492]
    assert result.value == 10550 / 26492
    procedure = BuSun(0.01, 0.01)
    assert min(procedure._total(math.ceil(i * 264.92), 0.41) for i in range(1, 21)) == 27011


def _counts_after(procedure, answers):
    steps, questions = procedure.steps(), []
    n = next(steps)
    try:
        for kept in answers:
            questions.append(n)
            n = steps.send(Counts(n, kept))
    except StopIteration as stop:
        return questions, stop.value
    raise AssertionError(f"asks for {n} more")


@pytest.mark.parametrize("width", [1 / 3, 0.4, 0.9])
def test_a_wide_width_uses_okamoto_at_once(width):
    questions, _ = _counts_after(BuSun(width, 0.05), [0])
    assert questions == [okamoto(width, 0.05)]


def test_the_published_sizes_of_the_second_stage_are_whole_percents_of_okamotos_number():
    """0.07 · 100 is 7.000000000000001 in floating point; the published sizes are not rounded so."""
    method = BuSun(0.05, 0.05)
    sizes = {math.ceil(percent * 738 / 100) for percent in range(1, 21)}
    assert {method.bracket_size(Counts(10, k)) for k in range(11)} <= {*sizes, None}
    assert BuSun(0.05, 0.05, candidates=(0.07,)).bracket_size(Counts(10, 10)) == math.ceil(51.66)


def test_example_five_with_its_own_error_of_the_interval():
    """Bu & Sun, example 5: δ′ = 1 % of δ = 5 %, and the rest as in their theorem 6."""
    method = BuSun(0.01, 0.05, pilot_error=0.01)
    assert method.final_size(Counts(100, 8)) == chernoff(
        clopper_pearson(Counts(100, 8), 0.01), 0.01, 0.04 / 0.99
    )


def test_the_order_of_candidates_decides_nothing_and_a_list_is_as_good():
    assert BuSun(0.1, 0.1, None, (0.2, 0.1)) == BuSun(0.1, 0.1, candidates=[0.1, 0.2, 0.1])


@pytest.mark.parametrize("pilot_error", [0.0, -0.01, 0.05, 0.2, math.nan, 1e-15])
def test_a_part_of_the_error_that_leaves_nothing_is_refused(pilot_error):
    with pytest.raises(InvalidArgument, match=r"pilot_error must lie between 0 and the error"):
        BuSun(0.05, 0.05, pilot_error)


@pytest.mark.parametrize("candidates", [(), (0.0,), (0.1, 1.0), (math.nan,), "ab", 0.1])
def test_sizes_that_are_no_shares_are_refused(candidates):
    with pytest.raises(InvalidArgument, match="candidates are shares of Okamoto"):
        BuSun(0.05, 0.05, candidates=candidates)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0.005, 0.3), st.floats(1e-4, 0.3))
def test_chernoff_never_exceeds_okamoto_and_grows_with_the_bracket(a, b, width, error):
    low, high = sorted((a, b))
    wide = chernoff(Interval(low, high), width, error)
    assert 1 <= chernoff(Interval(low, low), width, error) <= wide <= okamoto(width, error)


@pytest.mark.parametrize(
    ("width", "error", "trials"),
    # recomputed by exact binomial sums; every smaller number fails (tests/promises)
    [(0.05, 0.05, 390), (0.03, 0.03, 1317), (0.01, 0.01, 16600), (0.02, 0.01, 4150)],
)
def test_fixed_size(width, error, trials):
    assert fixed_size(width, error) == trials


@pytest.mark.parametrize("method", [BuSun, FixedSize, Okamoto])
@pytest.mark.parametrize(
    ("width", "error"), [(0, 0.1), (1, 0.1), (-0.1, 0.1), (0.1, 0), (0.1, 1), (math.nan, 0.1)]
)
def test_meaningless_widths_and_errors_are_refused(method, width, error):
    with pytest.raises(InvalidArgument, match="must lie between 0 and 1, got"):
        method(width, error)


def test_an_error_is_shared_equally():
    assert shares(0.05, 5) == 0.01
    with pytest.raises(InvalidArgument, match="got 0"):
        shares(0.05, 0)
