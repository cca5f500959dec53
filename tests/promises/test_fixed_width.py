"""Does the error rate hold? Exactly where the path tree is small, else seeded with an allowance."""

import math

import numpy as np
import pytest

from surefoot.core.procedure import Session
from surefoot.core.results import Estimate, Footing
from surefoot.statistics import BuSun, ExactSequential, FixedSize, Okamoto
from surefoot.statistics.bounds import worst_miss
from surefoot.statistics.planning import simulate
from surefoot.testing import outcomes

EDGES = [0.0, 0.001, 0.5, 0.97, 1.0]
METHODS = [BuSun, ExactSequential, FixedSize, Okamoto]


def exact_miss(procedure, p):
    """P(|estimate - p| > width) by walking every path; a nanotolerance for k/n in floats."""
    total = miss = 0.0
    for chance, result in outcomes(procedure, p):
        assert isinstance(result, Estimate)
        total += chance
        miss += chance * (abs(result.value - p) > procedure.width + 1e-12)
    assert total == pytest.approx(1, abs=1e-9)
    return miss


@pytest.mark.parametrize("p", EDGES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("width", "error"), [(0.2, 0.2), (0.25, 0.05)])
def test_the_error_rate_holds_exactly(method, width, error, p):
    assert exact_miss(method(width, error), p) <= error


@pytest.mark.parametrize("p", np.linspace(0, 1, 41).tolist())
def test_bu_sun_holds_all_over_the_range(p):
    assert exact_miss(BuSun(0.2, 0.2), p) <= 0.2


@pytest.mark.parametrize("p", [0.0, 0.03, 0.08, 0.2, 0.5, 0.95])
@pytest.mark.parametrize(
    "settings",
    # nearly nothing, nearly all and half of the error for the interval; one size, tiny and huge
    [
        {"pilot_error": 1e-9},
        {"pilot_error": 0.199999999},
        {"pilot_error": 0.1, "candidates": (0.5,)},
        {"candidates": (1e-6,)},
        {"candidates": (0.02, 0.9)},
    ],
)
def test_bu_sun_keeps_its_promise_whatever_the_error_of_its_interval_and_its_sizes(settings, p):
    assert exact_miss(BuSun(0.15, 0.2, **settings), p) <= 0.2


@pytest.mark.parametrize("p", [*EDGES, 0.2, 0.9])
@pytest.mark.parametrize("method", METHODS)
def test_the_error_rate_holds_at_a_width_people_use(method, p):
    """Seeded; allowance: four standard deviations of the count of misses over 2,000 runs."""
    width = error = 0.05
    runs, rng, misses = 2000, np.random.default_rng(11), 0
    for _ in range(runs):
        misses += abs(simulate(method(width, error), p, rng)[0].value - p) > width
    assert misses <= runs * error + 4 * math.sqrt(runs * error * (1 - error))


@pytest.mark.parametrize(
    ("width", "error"),
    # at the last two a size just below is refuted by a p that the quick check does not look at
    [(0.2, 0.2), (0.1, 0.1), (0.05, 0.05), (0.03, 0.03), (0.3, 0.01), (0.4, 0.03)],
)
def test_one_trial_fewer_than_fixed_size_breaks_the_promise(width, error):
    n = Session(FixedSize(width, error)).question
    assert worst_miss(n, width) <= error
    assert all(worst_miss(m, width) > error for m in range(max(1, n - 40), n))


@pytest.mark.parametrize("n", [1, 2, 7, 29, 150])
@pytest.mark.parametrize("width", [0.05, 0.1, 0.2, 1 / 3])
def test_worst_miss_is_the_supremum_over_every_p(n, width):
    """No p of a fine grid, nor any p next to a jump, misses more often; and it is attained."""
    counts = np.arange(n + 1)
    jumps = np.concatenate([counts / n - width, counts / n + width])
    nearby = np.concatenate([jumps - 1e-9, jumps + 1e-9, np.linspace(0, 1, 2001)])
    grid = nearby[(nearby >= 0) & (nearby <= 1)]
    outcome = max(_binomial_miss(n, width, p) for p in grid)
    assert outcome <= worst_miss(n, width) + 1e-9
    assert outcome >= worst_miss(n, width) - 1e-6


def _binomial_miss(n, width, p):
    chances = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    return sum(c for k, c in enumerate(chances) if abs(k / n - p) > width + 1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_an_estimate_says_what_it_rests_on(method):
    for _, result in outcomes(method(0.2, 0.2), 0.5):
        assert result.guarantee.footing is Footing.SOUND
        assert result.guarantee.error == 0.2
        assert result.interval.low == max(0, result.value - 0.2)
        assert result.interval.high == min(1, result.value + 0.2)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("p", [0.03, 0.5, 0.97])
def test_the_unbiased_estimate_is_unbiased(method, p):
    mean = sum(chance * result.unbiased for chance, result in outcomes(method(0.2, 0.2), p))
    assert mean == pytest.approx(p, abs=1e-9)


def test_bu_sun_never_reuses_trials_of_earlier_stages():
    """The estimate is a rate of the last stage alone."""
    session, questions = Session(BuSun(0.05, 0.05)), []
    for failed in (0, 0, 7):
        questions.append(session.question)
        session.tell(BuSun.evidence(session.question, session.question - failed))
    assert session.result.trials == sum(questions)
    assert session.result.value == (questions[-1] - 7) / questions[-1]
