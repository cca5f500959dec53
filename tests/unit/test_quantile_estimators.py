"""The choice of an estimator for the quantile of critical radii, and algorithm 1."""

import math

import numpy as np
import pytest
from scipy.special import ndtri

import surefoot as sf
from surefoot.core.reasons import Why
from surefoot.core.results import Undecided
from surefoot.errors import InvalidArgument
from surefoot.population import AlgorithmOne, LogNormalPosterior, estimator_named
from surefoot.population.quantile_estimators import ESTIMATORS
from tests.quantiles import brackets, on_grid, points

HEAD = "network,split,image,lower,upper,runtime_s\n"


def log_normal(n, seed=1, spread=0.5):
    return on_grid(np.exp(np.random.default_rng(seed).normal(-3, spread, n)))


def write(path, *networks):
    text = "".join(
        f"{name},test,{i},{b.low:.4f},{b.high:.4f},1\n"
        for name, local in networks
        for i, b in enumerate(local)
    )
    path.write_text(HEAD + text, encoding="utf-8")
    return path


def by_multiplying(local, ceiling=0.4):
    """Algorithm 1 as printed: products in single precision, sums over a fine grid, 95 %."""
    from scipy.special import ndtr

    q = np.linspace(0, 0.12, 601)[1:] - 0.0001
    medians = q[:, None] + (np.arange(400) + 0.5) / 400 * (ceiling - q[:, None])
    s = (np.log(q)[:, None] - np.log(medians)) / ndtri(0.05)
    product, before = np.ones(medians.shape, np.float32), None
    for number, b in enumerate(local, 1):
        low, high = ((math.log(max(e, 1e-300)) - np.log(medians)) / s for e in (b.low, b.high))
        product = (product * (ndtr(high) - ndtr(low)).astype(np.float32)).astype(np.float32)
        heights = product.astype(np.float64).mean(axis=1)
        if not heights.any():
            return number - 1, before
        before = np.interp((0.025, 0.975), np.cumsum(heights) / heights.sum(), q)
    return len(local), before


@pytest.mark.parametrize("seed", [1, 2])
def test_algorithm_1_stops_where_products_in_single_precision_are_0(seed):
    local = log_normal(60, seed)
    inputs, ends = by_multiplying(local)
    quantile = AlgorithmOne().conclude(local, 0.05)
    assert quantile.inputs == pytest.approx(inputs, abs=1)
    if quantile.inputs == inputs:
        assert (quantile.interval.low, quantile.interval.high) == pytest.approx(ends, abs=0.001)
    assert (quantile.note.why, quantile.note.values[:2]) == (Why.INPUTS_USED, (quantile.inputs, 60))
    assert quantile.note.parts[0].why is Why.UNDERFLOW


def test_without_underflow_it_is_the_log_normal_posterior_of_all_inputs():
    local = log_normal(80)
    ours = AlgorithmOne(smallest=0, gamma=1e-6).conclude(local, 0.05)
    posterior = LogNormalPosterior().conclude(local, 0.05)
    assert ours.inputs == 80
    assert ours.interval.low == pytest.approx(posterior.interval.low, rel=0.01)
    assert ours.interval.high == pytest.approx(posterior.interval.high, rel=0.01)


def test_it_stops_at_the_first_interval_as_short_as_gamma():
    local = log_normal(80)
    stopped = AlgorithmOne(smallest=0, gamma=0.012).conclude(local, 0.05)
    assert stopped.interval.width <= 0.012
    before = AlgorithmOne(smallest=0, gamma=1e-6).conclude(local[: stopped.inputs - 1], 0.05)
    assert before.interval.width > 0.012
    assert stopped.note.parts == [Why.SHORT_ENOUGH.of(0.012)]


@pytest.mark.parametrize("inputs", [1, 2])
def test_an_algorithm_that_stopped_after_a_few_inputs_says_nothing(inputs):
    quantile = AlgorithmOne().conclude(log_normal(inputs), 0.05)
    assert isinstance(quantile, Undecided)
    ended = (inputs, inputs, Why.NO_MORE_INPUTS.of(), 20, "shortest-ranks")
    assert quantile.reason == Why.STOPPED_TOO_SOON.of(*ended)


@pytest.mark.parametrize(
    ("local", "reason"),
    [
        ([], Why.NO_BRACKETS),
        (points([0.0]), Why.ZERO_LEVEL),
        (points([0.05]), Why.NO_LENGTH),
        (brackets([0.9], [0.9 + 1e-50]), Why.NO_LENGTH),
    ],
)
def test_what_no_log_normal_explains_is_undecided(local, reason):
    quantile = AlgorithmOne().conclude(local, 0.05)
    assert isinstance(quantile, Undecided)
    assert quantile.reason.why is reason


@pytest.mark.parametrize("change", [{"gamma": 0}, {"smallest": 1}, {"share": 0.5}, {"ceiling": 0}])
def test_values_that_mean_nothing_are_refused(change):
    with pytest.raises(InvalidArgument):
        AlgorithmOne(**change)


def test_an_unknown_estimator_is_refused_with_all_there_are():
    with pytest.raises(InvalidArgument, match="shortest-ranks, order-statistics, log-normal, alg"):
        estimator_named("bootstrap", 0.05, 0.05)


def test_gamma_is_for_algorithm_1_alone():
    assert estimator_named("algorithm-1", 0.05, 0.05, 0.01).gamma == 0.01
    with pytest.raises(InvalidArgument, match="leave it out"):
        estimator_named("log-normal", 0.05, 0.05, 0.01)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_chosen_estimator_makes_the_claim_and_the_others_stay_beside_it(tmp_path, name):
    path = write(tmp_path / "radii.csv", ("net", log_normal(80)))
    default, result = sf.brackets(path), sf.brackets(path, estimator=name)
    assert result.details.quantiles[0].estimator == name
    assert result.claims[0].interval == result.details.quantiles[0].result.interval
    kinds = {row.estimator for row in result.details.quantiles}
    assert kinds == {row.estimator for row in default.details.quantiles} | {name}
    assert ("log-normal" in str(result.claims[0])) == (name in ("log-normal", "algorithm-1"))


def test_the_order_of_the_file_does_not_matter(tmp_path):
    local = log_normal(80)
    path = write(tmp_path / "a.csv", ("net", local))
    lines = path.read_text(encoding="utf-8").splitlines()
    turned = tmp_path / "b.csv"
    turned.write_text("\n".join([lines[0], *lines[:0:-1]]) + "\n", encoding="utf-8")
    first, second = (sf.brackets(p, estimator="algorithm-1") for p in (path, turned))
    assert first.claims[0].interval == second.claims[0].interval


@pytest.mark.parametrize("name", ["log-normal", "algorithm-1"])
def test_a_family_that_the_data_contradict_is_refused_in_words(tmp_path, name):
    uniform = on_grid(np.random.default_rng(5).uniform(0.01, 0.2, 300))
    result = sf.brackets(write(tmp_path / "radii.csv", ("net", uniform)), estimator=name)
    assert result.claims[0].interval is None
    said = result.claims[0].reason
    assert (said.why, said.parts[0].why) == (Why.CONTRADICTED, Why.REJECTED)
    assert said.values[1] == "shortest-ranks"


@pytest.mark.parametrize("name", ["log-normal", "algorithm-1"])
def test_a_family_that_could_not_be_tested_is_refused_too(tmp_path, name):
    """One input that was never refuted must not turn off the refusal."""
    lows = [b.low for b in log_normal(80)]
    local = brackets(lows, [*(low + 0.002 for low in lows[:-1]), math.inf])
    path = write(tmp_path / "radii.csv", ("net", local))
    path.write_text(path.read_text(encoding="utf-8").replace(",inf,", ",,"), encoding="utf-8")
    result = sf.brackets(path, estimator=name)
    assert result.claims[0].interval is None
    open_ = Why.NOT_TESTABLE.of(Why.NEVER_REFUTED.of(1), "shortest-ranks")
    assert result.claims[0].reason == open_


@pytest.mark.parametrize("name", ["log-normal", "algorithm-1"])
@pytest.mark.parametrize("refused", [False, True])
def test_only_the_headline_rests_on_the_estimator(tmp_path, name, refused):
    rng = np.random.default_rng(5)
    local = on_grid(rng.uniform(0.01, 0.2, 300)) if refused else log_normal(80)
    path = write(tmp_path / "radii.csv", ("net", local))
    options = {"at": [0.05], "ceiling": 0.4}
    default, other = sf.brackets(path, **options), sf.brackets(path, estimator=name, **options)
    assert default.claims[1:] == other.claims[1:]
    assert {"robust_accuracy_population", "mean_radius_population"} <= {
        c.kind for c in other.claims
    }
    assert default.require(0.002).verdicts == other.require(0.002).verdicts
    assert (other.claims[0].interval is None) == refused
    assert other.claims[0].share == 0.05


def test_a_search_for_the_quantile_alone_refuses_another_estimator():
    from surefoot.population import CriticalQuantile
    from surefoot.study.external import check_estimator

    with pytest.raises(InvalidArgument, match="leave them out"):
        check_estimator(CriticalQuantile(), "algorithm-1", None)
    check_estimator(CriticalQuantile(), "shortest-ranks", None)
