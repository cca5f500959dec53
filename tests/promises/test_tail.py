"""RoMA's tail: the consistent reading, and what it must own up to."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from surefoot.core.counts import Counts, Severities
from surefoot.core.procedure import Session
from surefoot.core.reasons import Why
from surefoot.core.results import Extrapolation, Footing, Undecided
from surefoot.statistics import NormalTail, clopper_pearson
from surefoot.statistics.tail import TRANSFORMS, normality_p_value
from tests.in_words import condition
from tests.refusals import refused


def concluded(values, limit=0.6, **how):
    session = Session(NormalTail(draws=len(values), **how))
    assert session.question == len(values)
    session.tell(Severities(tuple(float(v) for v in values), limit))
    return session.result


def normal_scores(n=1000, mean=0.2, deviation=0.05):
    """The quantiles of a normal: as normal as a sample can be."""
    return norm.ppf((np.arange(n) + 0.5) / n, mean, deviation)


@pytest.mark.parametrize(
    ("statistic", "level"),
    # Stephens' critical values for estimated mean and deviation
    [(0.631, 0.10), (0.752, 0.05), (0.873, 0.025), (1.035, 0.01)],
)
def test_anderson_darling_has_the_published_levels(statistic, level):
    assert normality_p_value(statistic) == pytest.approx(level, rel=0.02)


def test_the_value_is_the_probability_of_holding_with_the_sign_kept():
    """Definition 3 and line 11 as printed give the complement."""
    extrapolation = concluded(normal_scores(), limit=0.35)
    assert extrapolation.z == pytest.approx(3.0, abs=0.02)
    assert extrapolation.value == pytest.approx(norm.cdf(extrapolation.z))
    below = concluded(normal_scores(mean=0.8), limit=0.6)
    assert below.z < 0
    assert below.value < 0.001


def test_every_extrapolation_brings_the_count_and_no_guarantee():
    extrapolation = concluded(normal_scores(), limit=0.3)
    assert isinstance(extrapolation, Extrapolation)
    assert extrapolation.guarantee.footing is Footing.NONE
    assert "extrapolation" in condition(extrapolation.guarantee)
    kept = int((normal_scores() < 0.3).sum())
    assert extrapolation.counted.value == kept / 1000
    assert extrapolation.counted.guarantee.footing is Footing.SOUND
    assert extrapolation.counted.interval == clopper_pearson(Counts(1000, kept), 0.05)
    assert not extrapolation.contradicted


def test_a_severity_that_is_the_limit_counts_as_failed():
    """Undecided or not: as everywhere, a tie fails."""
    values = normal_scores(100)
    assert concluded(values, limit=values[90]).counted.value == 0.9
    assert concluded([0.6] * 50, limit=0.6).counted.value == 0


def test_a_second_mode_that_the_fit_does_not_see_is_flagged():
    """Two in a thousand are beyond the limit; normality passes, the fit says one in a million."""
    values = np.concatenate([normal_scores(998), np.full(2, 0.5)])
    extrapolation = concluded(values, limit=0.45)
    assert extrapolation.normality > 0.5
    assert extrapolation.value > 1 - 2e-6
    assert extrapolation.counted.value == 0.998
    assert extrapolation.value not in extrapolation.counted.interval
    assert extrapolation.contradicted


def test_box_cox_moves_the_limit_as_it_moves_the_scores():
    """Log-normal severities: the tail must come out as the log-normal's."""
    logs = norm.ppf((np.arange(1000) + 0.5) / 1000, -2.0, 0.4)
    extrapolation = concluded(np.exp(logs), limit=0.6)
    assert "Box-Cox" in extrapolation.fit
    assert extrapolation.value == pytest.approx(norm.cdf((math.log(0.6) + 2) / 0.4), abs=2e-4)


def test_the_logit_fits_logit_normal_scores():
    scores = 1 / (1 + np.exp(-norm.ppf((np.arange(1000) + 0.5) / 1000, -3.0, 1.0)))
    extrapolation = concluded(scores, limit=0.6, transforms=("none", "logit"))
    assert extrapolation.fit == "logits of severities"
    assert extrapolation.z == pytest.approx(math.log(0.6 / 0.4) + 3, abs=0.02)


def test_transforms_are_tried_in_the_stated_order():
    logs = np.exp(norm.ppf((np.arange(500) + 0.5) / 500, -2.0, 0.4))
    assert (
        "Yeo-Johnson"
        in concluded(logs, 0.6, transforms=("yeo-johnson", "box-cox"), normality=1e-9).fit
    )
    assert set(TRANSFORMS) == {"none", "box-cox", "logit", "yeo-johnson"}


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_constant_scores_are_undecided_with_the_reason(value):
    extrapolation = concluded([value] * 50, limit=0.6)
    assert isinstance(extrapolation, Undecided)
    assert extrapolation.reason == Why.EQUAL_SEVERITIES.of(50, value)


def test_scores_of_exactly_zero_and_one_do_not_crash():
    mixed = [0.0] * 30 + [1.0] * 30
    extrapolation = concluded(mixed, limit=0.6, transforms=tuple(TRANSFORMS))
    assert isinstance(extrapolation, Undecided)
    assert extrapolation.reason.why is Why.NOT_NORMAL


@pytest.mark.parametrize(
    "bad",
    [
        {"draws": 5},
        *({"normality": n} for n in (0, 1)),
        *({"transforms": t} for t in ((), ["cube"])),
    ],
)
def test_meaningless_settings_are_refused(bad):
    refused("", NormalTail, **bad)
