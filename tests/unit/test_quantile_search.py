"""The quantile by proofs no longer than it needs: the same interval, less work, never unsound."""

import math

import numpy as np
import pytest

import surefoot as sf
from surefoot.core.assumptions import Assumed
from surefoot.core.counts import Proof
from surefoot.core.reasons import Why
from surefoot.core.results import Decision, Footing, Guarantee, Interval, Quantile, Undecided
from surefoot.population import (
    LowerBound,
    ShortestRanks,
    requires,
    requires_of_interval,
    robust_accuracy,
)
from surefoot.region.critical_level import bracket_of
from surefoot.statistics.ranks import shortest
from tests.quantiles import bracket, brackets, never_refuted, points
from tests.refusals import refused


class World:
    """Inputs with known critical levels, an attack that is off, and a prover that may give up."""

    def __init__(self, levels, *, blunt=0.1, hard=(), seed=0, vague=False):
        self.levels = np.asarray(levels, float)
        self.details = self.levels * (1 + blunt * np.random.default_rng(seed).random(len(levels)))
        self.hard, self.vague = set(hard), vague
        self.proofs = self.glances = self.attacks = 0

    def answer(self, ask):
        assert ask.units == 1
        i = ask.start % len(self.levels)
        true = self.levels[i]
        if true == 0:
            return Proof(0.0, 0.0, "w", "misclassified", 0, 0.0)
        if true > 1:  # never refuted
            low = 0.4 if ask.start >= len(self.levels) else 0.0
            return Proof(low, None, "", "out of nodes", 9, 0.1)
        return (self.glance if ask.start < len(self.levels) else self.proof)(ask, i, true)

    def glance(self, ask, i, true):
        self.glances += 1
        if ask.level < 0.7 * true:
            return Proof(ask.level, None, "", "proved at the goal", 1, 0.01)
        self.attacks += 1
        if self.vague and ask.level < 2 * self.details[i]:
            return Proof(0.0, None, "", "out of nodes", 0, 0.1)
        return Proof(0.0, float(self.details[i]), "w", "refuted at the goal", 0, 0.1)

    def proof(self, ask, i, true):
        self.proofs += 1
        if i in self.hard:
            return Proof(float(true / 2), None, "", "out of time", 9, 100.0)
        if ask.level < true:
            return Proof(ask.level, None, "", "proved at the goal", 5, 0.1)
        return Proof(0.0, float(true), "w", "refuted at the goal", 5, 0.1)

    def run(self, questions):
        session, asked = sf.methods.Session(questions), []
        while session.question is not None:
            question = session.question
            asked += [(ask.start, ask.level) for ask in question]
            assert len(set(asked)) == len(asked)  # a store keeps one answer of each
            session.tell([self.answer(ask) for ask in question])
        return session.result


def levels(n, seed=1):
    return np.exp(np.random.default_rng(seed).normal(-3.5, 0.5, n))


@pytest.mark.parametrize("n", [60, 100, 300])
@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
def test_it_finds_what_whole_brackets_would(n, share):
    true, tolerance = levels(n, n), 0.002
    world = World(true)
    outcome = world.run(sf.methods.CriticalQuantile(tolerance, quantile=share, size=n)).quantile
    ranks, ordered = shortest(n, share, 0.05), np.sort(true)
    assert isinstance(outcome, Quantile)
    low = 0.0 if ranks.low < 1 else ordered[ranks.low - 1]
    assert outcome.interval.low <= low <= outcome.interval.low + tolerance + 1e-12
    if ranks.high <= n:
        assert outcome.interval.high >= ordered[ranks.high - 1]
    middle = ordered[math.ceil(share * n) - 1]
    assert abs(outcome.value - middle) <= tolerance
    assert world.proofs <= 2 * n


def test_brackets_hold_the_truth_and_most_stay_open():
    true = levels(100)
    settled = World(true).run(sf.methods.CriticalQuantile(size=100))
    for level, one in zip(true, settled.brackets, strict=True):
        assert one.low <= level <= one.high
    closed = sum(b.high - b.low <= 0.002 for b in settled.brackets)
    assert closed < 50
    assert {b.reason for b in settled.brackets} <= {
        "proved as far as was asked",
        "no more was asked than a counterexample",
    }


def test_an_input_that_no_proof_settles_lowers_the_end_and_ends_the_search():
    true = levels(100)
    hardest = int(np.argsort(true)[60])
    world = World(true, hard=[hardest])
    settled = world.run(sf.methods.CriticalQuantile(seconds_per_input=60, size=100))
    ranks = shortest(100, 0.05, 0.05)
    plain = World(true).run(sf.methods.CriticalQuantile(seconds_per_input=60, size=100))
    assert settled.quantile.interval.low <= plain.quantile.interval.low
    assert settled.quantile.interval.low <= np.sort(true)[ranks.low - 1]


def test_the_interval_is_that_of_its_own_brackets():
    settled = World(levels(80)).run(sf.methods.CriticalQuantile(size=80))
    again = ShortestRanks(0.05, 0.05).conclude(settled.brackets, 0.05)
    assert settled.quantile == again


def test_a_requirement_is_sought_where_it_is_claimed():
    true = levels(100)
    least = float(np.sort(true)[0]) / 2
    world = World(true)
    outcome = world.run(sf.methods.CriticalQuantile(goal=least, size=100)).quantile
    assert outcome.interval.low >= least


def test_it_stops_when_the_quantile_is_known():
    true = levels(2000, 7)
    settled = World(true).run(sf.methods.CriticalQuantile(within=0.006, size=2000))
    assert len(settled.brackets) < 1000
    assert settled.quantile.interval.width <= 0.012
    assert settled.quantile.note is None
    short = World(true[:80]).run(sf.methods.CriticalQuantile(within=1e-5, size=80))
    assert (short.quantile.note.why, short.quantile.note.values[0]) == (Why.NOT_WITHIN, 80)


def test_what_a_glance_neither_proves_nor_refutes_is_proved():
    true = levels(2000, 7)
    for n, within in ((200, None), (2000, 0.01)):
        world = World(true[:n], vague=True)
        settled = world.run(sf.methods.CriticalQuantile(within=within, size=n))
        quantile = np.quantile(true, 0.05)
        assert 0.5 * quantile < settled.quantile.interval.low < quantile
        assert quantile < settled.quantile.interval.high < 0.03
        assert settled.quantile.note is None


@pytest.mark.parametrize("within", [None, 0.01])
def test_nothing_is_asked_twice_where_nothing_is_refuted(within):
    true = np.r_[levels(30), np.full(270, 2.0)]
    world = World(np.random.default_rng(1).permutation(true))
    settled = world.run(sf.methods.CriticalQuantile(quantile=0.5, within=within, size=300))
    assert settled.quantile.interval == Interval(0.4, math.inf)


def test_nothing_is_proved_of_inputs_that_are_too_few_to_end_the_run():
    world, asked = World(levels(2000, 7)), []
    world.answer, answer = lambda ask: asked.append(ask) or answer(ask), world.answer
    settled = world.run(sf.methods.CriticalQuantile(within=0.006, size=2000))
    first = next(i for i, ask in enumerate(asked) if ask.start >= 2000)
    seen = {ask.start % 2000 for ask in asked[:first]}
    assert len(seen) == len(settled.brackets)
    assert settled.quantile.interval.width <= 0.012


def test_misclassified_inputs_need_no_proof():
    true = np.r_[np.zeros(10), levels(50)]
    settled = World(true).run(sf.methods.CriticalQuantile(size=60))
    assert settled.quantile.interval.low == 0.0
    assert settled.quantile.value == 0.0


@pytest.mark.parametrize(
    "bad", [{"within": 0}, {"within": -1}, {"goal": 0}, {"goal": math.inf}, {"samples": -1},
            {"tolerance": 0}, {"quantile": 1.5}]
)  # fmt: skip
def test_bad_settings_are_refused(bad):
    refused(str(next(iter(bad.values()))), sf.methods.CriticalQuantile, **bad)


def test_times_of_the_tries_add_up():
    for seconds in (1, 10, 11, 60, 200, 1000):
        tries = sf.methods.CriticalLevel(seconds_per_input=seconds).efforts
        ends = [one.seconds for one in tries]  # of all tries so far
        assert ends == sorted(ends) and ends[-1] == pytest.approx(seconds)
    for nodes in (2, 40_000, 40_001, 987_654):
        tries = sf.methods.CriticalLevel(nodes_per_input=nodes).efforts
        assert sum(one.nodes for one in tries[1:]) == nodes  # first bounds make none
        assert {one.seconds for one in tries} == {math.inf}


@pytest.mark.parametrize("method", [sf.methods.CriticalLevel, sf.methods.CriticalQuantile])
def test_a_bracket_says_in_which_arithmetic(method):
    assert method().assumption is Assumed.FLOAT32
    assert method(arithmetic="real").assumption is Assumed.ARITHMETIC
    proof = Proof(0.1, None, "", "closed", 1, 0.1)
    assert bracket_of(proof, Assumed.FLOAT32).guarantee.assumptions == (Assumed.FLOAT32,)
    refused("float32 or real", method, arithmetic="half")


def test_most_inputs_are_never_attacked():
    true = levels(1000, 3)
    world = World(true)
    outcome = world.run(sf.methods.CriticalQuantile(size=1000)).quantile
    assert world.attacks < 0.4 * world.glances
    ranks = shortest(1000, 0.05, 0.05)
    everything = np.sort(world.details)[ranks.high - 1]
    assert outcome.interval.high <= everything + 1e-12


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_no_input_left_alone_could_lower_the_upper_end(share):
    true = levels(300, 4)
    world = World(true)
    settled = world.run(sf.methods.CriticalQuantile(quantile=share, size=300))
    end = settled.quantile.interval.high
    assert all(math.isfinite(b.high) or b.low >= end for b in settled.brackets)


def test_a_first_radius_that_is_too_near_is_widened():
    """The pilot inputs are the weakest, so the others are all beyond what they suggest."""
    true = np.r_[np.full(40, 0.001), np.full(400, 0.2)]
    outcome = World(true).run(sf.methods.CriticalQuantile(quantile=0.3, size=440)).quantile
    assert outcome.interval.low <= 0.2 <= outcome.interval.high < 0.23


def test_sixty_three_proofs_show_a_twentieth():
    """0.95^63 is less than the share of the error that the first of several runs has: 0.04."""
    decision = requires([never_refuted(0.1)] * 63, 0.05, 0.1, 0.05)
    assert isinstance(decision, Decision)
    assert decision.holds
    assert decision.p_value == pytest.approx(0.95**63)
    less = requires([never_refuted(0.1)] * 62, 0.05, 0.1, 0.05)
    assert isinstance(less, Undecided)
    (forecast,) = less.reason.parts
    assert forecast.why is Why.LIKELY_DECIDES
    assert forecast.values[1] == "inputs"


def test_a_later_run_on_other_inputs_needs_more_proofs():
    assert isinstance(requires([never_refuted(0.1)] * 94, 0.05, 0.1, 0.05, run=1), Undecided)
    assert isinstance(requires([never_refuted(0.1)] * 95, 0.05, 0.1, 0.05, run=1), Decision)


def test_it_passes_at_the_one_sided_lower_bound_and_no_further():
    local = points(np.linspace(0.001, 0.2, 300))
    end = LowerBound().conclude(local, 0.8 * 0.05).interval.low
    assert requires(local, 0.05, end, 0.05).holds
    assert isinstance(requires(local, 0.05, end + 1e-6, 0.05), Undecided)


def test_it_fails_on_counterexamples_nearer_than_required():
    """Two of two: .05^2 is less than .05. Nothing need be proved."""
    decision = requires(brackets([0, 0], [0.1, 0.1]), 0.05, 0.2, 0.05)
    assert isinstance(decision, Decision)
    assert not decision.holds
    assert decision.p_value == pytest.approx(0.0025)


def test_a_counterexample_at_the_required_radius_is_not_nearer():
    assert isinstance(requires(brackets([0, 0], [0.2, 0.2]), 0.05, 0.2, 0.05), Undecided)


def test_open_brackets_call_for_more_seconds():
    local = [*brackets([0.1] * 20, [0.3] * 20), *[never_refuted(0.2)] * 80]
    decision = requires(local, 0.05, 0.2, 0.05)
    assert isinstance(decision, Undecided)
    assert decision.reason.values == (80, 100, 0.2, 0, 20, Why.PROOFS_MAY_DECIDE.of())


def test_a_quantile_at_the_requirement_takes_many_inputs():
    local = points([0.1] * 5 + [0.3] * 95)
    (forecast,) = requires(local, 0.05, 0.2, 0.05).reason.parts
    assert forecast.why is Why.LIKELY_DECIDES
    assert forecast.values[0] > 5000


def test_one_who_draws_new_inputs_again_and_again_is_deceived_rarely():
    """The quantile is just below what is required; four runs, each on twice the inputs."""
    rng, runs, passed = np.random.default_rng(12), 50, 0
    for _ in range(runs):
        for run in range(4):
            local = points(np.where(rng.random(60 * 2**run) < 0.1, 0.1, 0.3))
            answer = requires(local, 0.1, 0.2, 0.05, run)
            passed += isinstance(answer, Decision) and answer.holds
            if isinstance(answer, Decision):
                break
    assert passed <= 8  # 2.5 expected at most; more with probability 0.001


def test_forecasts_of_radii_come_true_about_as_often_as_they_say():
    rng, followed, decided = np.random.default_rng(3), 0, 0
    for _ in range(60):
        truth = 0.2 * rng.random()

        def drawn(n, truth=truth):
            return points(np.where(rng.random(n) < truth, 0.1, 0.3))

        local = drawn(100)
        first = requires(local, 0.1, 0.2, 0.05)
        if isinstance(first, Decision) or (many := first.reason.parts[0].values[0]) > 5_000:
            continue
        followed += 1
        again = requires(local + drawn(many - 100), 0.1, 0.2, 0.05, run=1)
        decided += isinstance(again, Decision)
    assert followed > 10
    assert 0.7 <= decided / followed <= 0.95


def test_a_quantile_that_stopped_by_itself_is_judged_by_its_interval():
    promise = Guarantee(Footing.CONDITIONAL, 0.05, ("sampled",))
    decision = Quantile(0.05, 0.011, Interval(0.01, 0.012), promise, 700)
    assert requires_of_interval(decision, 0.01).holds
    assert not requires_of_interval(decision, 0.0121).holds
    open_ = requires_of_interval(decision, 0.011)
    assert isinstance(open_, Undecided)
    assert open_.reason == Why.WITHIN_INTERVAL.of(0.011, 0.01, 0.012)


@pytest.mark.parametrize("least", [0, -1, math.inf, math.nan])
def test_a_required_radius_is_above_zero(least):
    refused("required radius must be", requires, points([0.1]), 0.05, least, 0.05)


def test_no_brackets_decide_nothing():
    assert isinstance(requires([], 0.05, 0.1, 0.05), Undecided)


def test_a_misclassified_input_is_refuted_at_every_radius():
    assert robust_accuracy([bracket(0, 0)], 0.0).refuted == 1
    assert robust_accuracy([bracket(0, 0.1)], 0.0).proved == 1
    assert robust_accuracy([bracket(0.1, 0.1)], 0.1).refuted == 1
    assert robust_accuracy([never_refuted(0.1)], 0.1).severity is None
