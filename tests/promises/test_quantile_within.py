"""Does a quantile that was looked at again and again still hold?"""

import math

import numpy as np
import pytest

import surefoot as sf
from surefoot.core.counts import Proof
from surefoot.core.reasons import Why
from surefoot.core.results import Quantile
from surefoot.population import QuantileWithin
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
