"""The normal fit of a tail as data: in the frame, the JSON and the page; never a probability 0."""

import json
import math
import re

import numpy as np
import pytest
from scipy.stats import norm

import surefoot as sf
from surefoot.core.results import LEAST_PROBABILITY, Extrapolation, Undecided
from surefoot.population import TailMean
from surefoot.records.json_records import record_from_json, record_to_json
from surefoot.report.formatting import p_bound, p_value, small_probability
from surefoot.report.page import html_of
from surefoot.statistics import NormalTail, anderson_darling, welch
from surefoot.study.measure import cross_entropy, mean_loss
from surefoot.subject.protocols import Scores
from tests.promises.test_tail import concluded, normal_scores


def quantiles(**how):
    return normal_scores(200, **how)


@pytest.mark.parametrize("tiny", [0.0, 5e-324, 1e-310, 1e-300])
def test_no_probability_is_written_as_zero(tiny):
    assert small_probability(tiny) == "below 1e-300"
    assert p_value(tiny) == "< 1e-300"
    assert p_bound(1e-23, is_bound=True) == "< 1e-23"


@pytest.mark.parametrize("deviation", [1e-3, 1e-4])
def test_a_tail_that_underflows_is_a_bound_with_its_logarithm(deviation):
    tail = concluded(quantiles(deviation=deviation))
    assert isinstance(tail, Extrapolation)
    assert tail.failure == LEAST_PROBABILITY
    assert tail.value == 1.0
    (fit,) = tail.fits
    assert fit.log10_failure < -300
    assert fit.log10_failure == pytest.approx(norm.logsf(fit.z) / math.log(10), rel=1e-6)
    low = concluded(quantiles(mean=0.9, deviation=deviation))
    assert low.value == LEAST_PROBABILITY


def test_the_variance_of_underflowing_tails_is_a_bound_and_of_equal_ones_zero():
    below = [concluded(quantiles(deviation=d)) for d in (1e-3, 1e-4)]
    assert TailMean(0.05).conclude(below, 0.05).variance == LEAST_PROBABILITY
    equal = [concluded(quantiles())] * 3
    assert TailMean(0.05).conclude(equal, 0.05).variance == 0
    near = [concluded(quantiles(mean=m)) for m in (0.0, 0.01)]
    exact = np.var([r.failure for r in near], ddof=1)
    assert 0 < TailMean(0.05).conclude(near, 0.05).variance == pytest.approx(exact, rel=1e-9)


def test_the_p_value_of_normality_has_a_bound_and_is_then_never_accepted():
    skewed = np.exp(np.linspace(-8, 0, 400))
    assert anderson_darling(skewed**4) == 1e-23
    tail = concluded(skewed**4, normality=1e-30, transforms=("none",))
    assert isinstance(tail, Undecided)
    (fit,) = tail.fits
    assert fit.p_is_bound
    assert not fit.accepted
    assert fit.level == 1e-30


def test_welchs_p_value_is_never_zero():
    rng = np.random.default_rng(1)
    far = welch(rng.normal(0, 1e-9, 50), rng.normal(1, 1e-9, 50))
    assert far == LEAST_PROBABILITY


def test_every_transform_that_was_tried_is_in_the_fits_with_the_limit_moved():
    tail = concluded(np.exp(quantiles(mean=-2, deviation=0.4)))
    raw, moved = tail.fits
    assert (raw.transform, raw.power, raw.limit) == ("none", None, 0.6)
    assert not raw.accepted
    assert (moved.transform, moved.shift) == ("box-cox", 0.0)
    assert moved.limit == pytest.approx((0.6**moved.power - 1) / moved.power)
    assert moved.z == tail.z == pytest.approx((moved.limit - moved.mean) / moved.deviation)
    assert sum(moved.scores.counts) == 200
    assert len(moved.scores.counts) <= 40


def test_a_transform_that_is_not_defined_is_named_in_the_reason():
    zeros = [0.0] * 30 + [0.5] * 70
    assert concluded(zeros).reason.values[2] == "box-cox"


def test_values_that_overflow_after_a_transform_do_not_crash():
    tiny = np.r_[np.full(40, 1e-300), np.full(3, 0.5)] * np.linspace(1, 1.1, 43)
    outcome = concluded(tiny, transforms=("none", "box-cox", "yeo-johnson"))
    assert all(math.isfinite(fit.z) for fit in outcome.fits)


@pytest.fixture(scope="module")
def result():
    """Twelve points of two classes; the scores of one do not vary."""
    rng = np.random.default_rng(4)
    x = rng.uniform(0.3, 0.7, (12, 2)).astype(np.float32)
    x[0] = [0.0, 1.0]

    def model(batch):
        margin = 4.0 * (batch[:, 0] - batch[:, 1]).astype(np.float64)
        margin = np.where(margin < -2, -60.0, margin)
        return np.stack([-margin, margin], axis=1)

    study = sf.Study(
        sf.load_model(model, shape=(2,), bounds=(0, 1)),
        sf.load_inputs(x, (x[:, 0] > x[:, 1]).astype(int)),
        sf.perturb.LinfNoise(0.1),
        NormalTail(draws=60),
        property=sf.properties.NoConfidentMistake(0.6),
    )
    return study.run()


@pytest.fixture(scope="module")
def page(result):
    return html_of(result.view)


def test_the_frame_and_the_json_have_the_fit_of_every_input(result):
    frame = result.to_frame()
    row = next(row for row in result.inputs if isinstance(row.result, Extrapolation))
    fit = row.result.fits[-1]
    line = frame[frame["id"] == row.id].iloc[0]
    for column, value in {
        "transform": fit.transform, "mean": fit.mean, "deviation": fit.deviation, "z": fit.z,
        "normality_p": fit.p_value, "normality_level": 0.05, "log10_failure": fit.log10_failure,
        "anderson_darling": fit.statistic, "shift": 0.0, "fitted": True,
    }.items():  # fmt: skip
        assert line[column] == value
    inputs = json.loads(result.to_json())["inputs"]
    assert all("fits" in one["result"] for one in inputs)
    assert "NaN" not in result.to_json()


def test_a_record_keeps_the_histograms_of_a_few_inputs(result):
    kept = [row for row in result.inputs if any(f.scores for f in row.result.fits)]
    assert 1 <= len(kept) <= 4
    weakest = min(
        (row for row in result.inputs if isinstance(row.result, Extrapolation)),
        key=lambda row: row.result.z,
    )
    assert weakest.id in [row.id for row in kept]
    again = record_from_json(record_to_json(result.record))
    assert again == result.record


def test_the_page_shows_the_histograms_and_a_table_of_fits(result, page):
    sections = {section.id: section for section in result.view.sections}
    assert sections["scores"].figures
    for figure in sections["scores"].figures:
        assert "<svg" in figure.svg
        assert "By count it fails under" in figure.caption
    table = sections["fits"].table
    assert {"input", "transform", "mean", "deviation", "z", "A²", "p"} <= set(table.headings)
    assert "no guarantee" in table.note
    assert not re.search(r"p = 0(?![.0-9])|(?<![.0-9])0e[+-]0", page)


def test_the_loss_of_clean_inputs_stands_beside_the_accuracy(result, page):
    loss = result.details.clean_loss
    assert (loss.inputs, loss.infinite) == (12, 0)
    assert "mean cross-entropy loss" in page
    assert "no upper bound" in page
    assert "cross-entropy" not in result.explain(), "a terminal has the accuracy alone"


def test_the_cross_entropy_is_that_of_logits_or_of_probabilities():
    logits = np.array([[0.0, 1.0], [2.0, -1.0]])
    labels = np.array([1, 1])
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    expected = -np.log(shares[:, 1])
    assert cross_entropy(logits, labels, Scores.LOGITS) == pytest.approx(expected)
    assert cross_entropy(shares, labels, Scores.PROBABILITIES) == pytest.approx(expected)
    never = mean_loss(np.array([[1.0, 0.0]]), np.array([1]), Scores.PROBABILITIES)
    assert (never.mean, never.infinite) == (None, 1)
    assert mean_loss(logits, np.array([1, 7]), Scores.LOGITS) is None
