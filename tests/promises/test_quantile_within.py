"""A quantile that is looked at again and again still holds, and so does a difference of two."""

import math

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom, multinomial

import surefoot as sf
from surefoot.core.counts import Proof
from surefoot.core.reasons import Why
from surefoot.core.results import Quantile
from surefoot.population import QuantileWithin, quantile_difference, quantile_differences
from surefoot.population.comparison import _split
from surefoot.statistics.bounds import mcnemar
from surefoot.statistics.ranks import at_every_look, equal_tails, ever_missed
from tests.quantiles import WORLDS, as_found, most_misses, points
from tests.refusals import refused


@pytest.mark.parametrize("looks", [(100,), (88, 120, 160, 220, 300), (30, 60, 90, 2000)])
@pytest.mark.parametrize("share", [0.05, 0.5])
def test_looks_share_the_error_exactly(looks, share):
    """By walking through all paths, a second time and differently: value by value."""
    ranks = at_every_look(looks, share, 0.05)
    at = dict(zip(looks, ranks, strict=True))
    missed = 0.0
    for side in ("high", "low"):
        chance = np.zeros(looks[-1] + 2)
        chance[0] = 1.0
        for n in range(1, looks[-1] + 1):
            chance[1:] = (1 - share) * chance[1:] + share * chance[:-1]
            chance[0] *= 1 - share
            if n in at:
                gone = slice(0, at[n].low) if side == "low" else slice(at[n].high, None)
                missed += chance[gone].sum()
                chance[gone] = 0
    assert missed <= 0.05
    assert missed == pytest.approx(ever_missed(looks, share, ranks), abs=1e-10)


def test_looks_cost_less_than_sharing_the_error_blindly():
    looks = tuple(range(100, 1100, 100))
    ours = at_every_look(looks, 0.05, 0.05)
    blind = [equal_tails(n, 0.05, 0.005) for n in looks]
    assert all(a.low >= b.low and a.high <= b.high for a, b in zip(ours, blind, strict=True))
    assert any(a != b for a, b in zip(ours, blind, strict=True))


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("share", [0.05, 0.25])
def test_the_intervals_at_all_planned_numbers_hold_together(world, share):
    """Seeded, real brackets: a run is wrong if the interval is at any of the numbers."""
    rule, draw = QuantileWithin(0.01, share, max_inputs=300), WORLDS[world]
    rng, runs, wrong, truth = np.random.default_rng(3), 150, 0, float(draw(share))
    for _ in range(runs):
        local = as_found(rng, draw(rng.random(300)))
        wrong += any(
            truth not in rule.conclude(local[:n], ranks).interval
            for n, ranks in zip(rule.sizes, rule.ranks, strict=True)
        )
    assert wrong <= most_misses(runs, 0.05)


def test_fixed_ranks_read_again_and_again_do_not_hold_together():
    """Why they must be planned: twenty numbers of inputs, each with ranks of its own."""
    sizes = tuple(range(100, 2100, 100))
    assert ever_missed(sizes, 0.05, tuple(equal_tails(n, 0.05, 0.05) for n in sizes)) > 0.15


def run_until_known(procedure, draw, rng, make=lambda _, x: points(x)):
    steps = procedure.steps()
    number = next(steps)
    while True:
        try:
            number = steps.send(make(rng, draw(rng.random(number))))
        except StopIteration as ended:
            return ended.value


@pytest.mark.parametrize("world", ["log-normal", "a fifth weak", "a tenth at zero", "four levels"])
@pytest.mark.parametrize("within", [0.003, 0.008])
def test_stopping_when_it_is_narrow_keeps_the_promise(world, within):
    draw, runs = WORLDS[world], 60
    rng, missed, truth = np.random.default_rng(11), 0, float(draw(0.05))
    for _ in range(runs):
        outcome = run_until_known(QuantileWithin(within, max_inputs=600), draw, rng, as_found)
        assert isinstance(outcome, Quantile)
        missed += truth not in outcome.interval
        if not outcome.note:
            assert outcome.interval.width <= 2 * within
            assert truth not in outcome.interval or abs(outcome.value - truth) <= within + 1e-12
    assert missed <= most_misses(runs, 0.05)


class Search:
    """Inputs with known radii, an attack that is nearly tight, a prover that gives up early."""

    def __init__(self, rng, radii):
        n = len(radii)
        self.radii = radii
        self.details = radii * (1 + 0.1 * rng.random(n))
        self.provable = radii * rng.uniform(0.6, 1.0, n)

    def answer(self, ask):
        i = ask.start % len(self.radii)
        if self.radii[i] == 0:
            return Proof(0.0, 0.0, "w", "misclassified", 0, 0.0)
        if ask.level <= self.provable[i]:
            return Proof(ask.level, None, "", "proved at the goal", 1, 0.01)
        low = float(self.provable[i]) if ask.level < 1 else 0.0
        return Proof(low, float(self.details[i]), "w", "out of time", 1, 0.2)


def searched(method, world):
    session = sf.methods.Session(method)
    while session.question is not None:
        session.tell([world.answer(ask) for ask in session.question])
    return session.result


@pytest.mark.parametrize("world", ["log-normal", "a twentieth at zero", "a fifth weak"])
@pytest.mark.parametrize("within", [None, 0.008])
def test_a_search_for_the_quantile_holds_it(world, within):
    draw, runs = WORLDS[world], 50
    rng, missed, truth = np.random.default_rng(12), 0, float(draw(0.05))
    for _ in range(runs):
        radii = draw(rng.random(250))
        outcome = searched(sf.methods.CriticalQuantile(within=within, size=250), Search(rng, radii))
        for radius, bracket in zip(radii, outcome.brackets, strict=False):
            assert bracket.low <= radius <= bracket.high
        missed += truth not in outcome.quantile.interval
    assert missed <= most_misses(runs, 0.05)


def test_it_stops_at_the_first_number_if_nothing_varies():
    outcome = run_until_known(
        QuantileWithin(0.01), lambda u: np.full(len(u), 0.2), np.random.default_rng(1)
    )
    assert outcome.inputs == QuantileWithin(0.01).sizes[0]
    assert outcome.value == 0.2


def test_it_says_when_inputs_were_not_enough():
    rng = np.random.default_rng(12)
    outcome = run_until_known(QuantileWithin(1e-6, max_inputs=200), WORLDS["square root"], rng)
    assert outcome.inputs == 200
    assert outcome.note.why is Why.NOT_WITHIN


@pytest.mark.parametrize(
    "change",
    [{"within": 0}, {"max_inputs": 0}, {"growth": 1.0}, {"share": 2}, {"within": math.nan}],
)
def test_a_search_that_cannot_end_is_refused(change):
    refused("", QuantileWithin, **{"within": 0.01, **change})


@pytest.mark.parametrize("looks", [(), (10, 10), (10, 5), (0, 5)])
def test_looks_must_grow(looks):
    refused("growing", at_every_look, looks, 0.05, 0.05)


def uniform_pairs(rng, n, correlation):
    """Two numbers for each input, each uniform by itself."""
    if correlation == "opposite":
        u = rng.random(n)
        return u, 1 - u
    z = rng.normal(size=(3, n))
    own = np.sqrt(correlation) * z[0] + np.sqrt(1 - correlation) * z[1:]
    return ndtr(own[0]), ndtr(own[1])


def exactly(_, radii):
    return points(radii)


def misses(first, second, correlation, n, share, runs, make):
    rng, missed = np.random.default_rng(31), 0
    a, b = WORLDS[first], WORLDS[second]
    truth = float(a(share)) - float(b(share))
    for _ in range(runs):
        u, v = uniform_pairs(rng, n, correlation)
        result = quantile_difference(make(rng, a(u)), make(rng, b(v)), share, 0.05)
        missed += not result.low - 1e-12 <= truth <= result.high + 1e-12
    return missed


@pytest.mark.parametrize("correlation", [0.0, 0.8, 1.0, "opposite"])
@pytest.mark.parametrize("n", [1, 2, 5, 20, 100])
@pytest.mark.parametrize("share", [0.05, 0.3])
def test_a_difference_holds_whether_radii_go_along_or_not(correlation, n, share):
    runs = 200 if n < 100 else 60  # of many inputs each takes long
    missed = misses("log-normal", "log-normal", correlation, n, share, runs, as_found)
    assert missed <= most_misses(runs, 0.05)
    missed = misses("square root", "a fifth weak", correlation, n, share, runs, exactly)
    assert missed <= most_misses(runs, 0.05)


@pytest.mark.parametrize("second", ["a twentieth at zero", "a tenth at zero", "four levels"])
@pytest.mark.parametrize(("n", "runs"), [(5, 200), (100, 60)])
def test_a_difference_holds_with_ties_and_zeros(second, n, runs):
    for correlation in (0.0, 1.0):
        missed = misses("log-normal", second, correlation, n, 0.05, runs, as_found)
        assert missed <= most_misses(runs, 0.05)


@pytest.mark.parametrize("n", [5, 25])
@pytest.mark.parametrize("share", [0.05, 0.4])
@pytest.mark.parametrize("overlap", [0.0, 0.5, 0.9])
def test_the_true_pair_of_quantiles_is_rejected_at_most_as_often_as_said(n, share, overlap):
    """Exact: inputs below both quantiles, below one, below none are multinomial."""
    error, both = 0.05, overlap * share
    ranks, paired = _split(n, share, error)
    cells = [both, share - both, share - both, 1 - 2 * share + both]
    rejected = 0.0
    for one in range(n + 1):
        for other in range(n + 1 - one):
            tested = min(mcnemar(one, other), mcnemar(other, one)) <= paired / 2
            for shared in range(n + 1 - one - other):
                counts = (shared + one, shared + other)
                apart = any(not ranks.low <= count < ranks.high for count in counts)
                if tested or apart:
                    drawn = [shared, one, other, n - shared - one - other]
                    rejected += multinomial.pmf(drawn, n, cells)
    assert rejected <= error + 1e-9


def test_a_coin_is_fair():
    for one, other in ((0, 0), (0, 5), (5, 0), (3, 4), (20, 2)):
        assert mcnemar(one, other) == pytest.approx(binom.sf(one - 1, one + other, 0.5))


def test_three_models_hold_together():
    runs, rng, missed = 60, np.random.default_rng(7), 0
    draw = WORLDS["log-normal"]
    truth = float(draw(0.05))
    for _ in range(runs):
        z = rng.normal(size=(4, 100))
        u = ndtr(np.sqrt(0.5) * (z[0] + z[1:]))
        local = {str(k): as_found(rng, (1 + 0.2 * k) * draw(u[k])) for k in range(3)}
        missed += any(
            (int(d.first) - int(d.second)) * 0.2 * truth not in d.interval
            for d in quantile_differences(local, 0.05, 0.05)
        )
    assert missed <= most_misses(runs, 0.05)
