"""A group is one value of the sample: coverage where the inputs of a group depend on each other."""

import math
from dataclasses import replace

import numpy as np
import pytest

from surefoot import population
from surefoot.core import results
from surefoot.core.assumptions import Assumed, TheseGroups
from surefoot.core.claims import Sampling
from surefoot.core.reasons import Why
from surefoot.core.results import Footing, Guarantee, Interval, Undecided
from surefoot.population import Group, Mean, RobustShare, members_of
from tests.in_words import condition
from tests.promises.local_results import SOUND, allowed, bets, counted, decided
from tests.refusals import refused

RUNS, ERROR = 80, 0.1
PROOF = Guarantee(Footing.CONDITIONAL, 0.0, (Assumed.ARITHMETIC,))


def certain(keeps):
    """An input that always, or never, fails, seen in one trial."""
    return results.Estimate(float(keeps), results.UNIT, SOUND, 1, float(keeps), 1)


def alike(rng, groups=20, size=10, share=0.9):
    """Groups of inputs that are all kept, or all fail."""
    return [Group((certain(keeps),) * size) for keeps in rng.random(groups) < share]


def bracket(low, high):
    return results.Bracket(Interval(low, high), PROOF)


@pytest.mark.parametrize("n", [1, 2, 30])
def test_groups_of_one_input_are_a_sample_of_inputs(n):
    local = [counted(k) for k in np.random.default_rng(n).binomial(20, 0.8, n).tolist()]
    single, grouped = Mean(0.1), Mean(0.1, Sampling.GROUPED)
    of_one = [Group((r,)) for r in local]
    assert grouped.conclude(of_one, 0.1).interval == single.conclude(local, 0.1).interval
    assert grouped.conclude(of_one, 0.1).value == single.conclude(local, 0.1).value
    assert grouped.tested(of_one, 0.7).p_values == single.tested(local, 0.7).p_values


def test_trials_of_dependent_inputs_are_never_counted_together():
    local = alike(np.random.default_rng(3))
    over = Mean(0.1, Sampling.GROUPED)
    kept = np.array([group.members[0].value for group in local])
    assert replace(over, anytime=True).conclude(local, 0.1).interval == bets(kept, 0.1)
    apart = over.conclude(members_of(local), 0.1).interval
    assert over.conclude(local, 0.1).interval.width > apart.width


def test_each_group_counts_the_same_however_large_it_is():
    small, large = Group((certain(True),)), Group((certain(False),) * 99)
    assert Mean(0.1).conclude([small, large], 0.1).value == 0.5
    fragile = Group((decided(False),) * 99)
    assert RobustShare(0.1).conclude([Group((decided(True),)), fragile], 0.1).value == 0.5


def test_one_group_says_little_about_groups():
    one = [Group((certain(True),) * 1000)]
    around = Mean(0.1).conclude(one, 0.1)
    assert around.interval.low == pytest.approx(0.045)
    assert around.interval.low < 0.1


def test_a_group_is_not_empty():
    refused("one input or more", Group, ())


def test_results_are_put_together_by_the_name_of_their_group():
    groups = population.by_group([1, 2, 3, 4], ["b", "a", "b", "c"])
    assert [group.members for group in groups] == [(1, 3), (2,), (4,)]
    assert members_of(groups) == [1, 3, 2, 4]


WORLDS = {
    "alike": lambda rng: (alike(rng), 0.9),
    "rare": lambda rng: (alike(rng, share=0.98), 0.98),
    "large groups fail": lambda rng: (
        [
            Group((certain(False),) * 40) if bad else Group((certain(True),) * 2)
            for bad in rng.random(25) < 0.2
        ],
        0.8,
    ),
    "beta": lambda rng: (
        [Group(tuple(counted(int(k)) for k in rng.binomial(20, p, 6))) for p in rng.beta(4, 1, 20)],
        0.8,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_the_mean_over_groups_covers_the_population(world):
    rng, missed, over = np.random.default_rng(11), 0, Mean(ERROR, Sampling.GROUPED)
    for _ in range(RUNS):
        local, truth = WORLDS[world](rng)
        missed += truth not in over.conclude(local, ERROR).interval
    assert missed <= allowed(RUNS, ERROR)


@pytest.mark.parametrize("world", ["alike", "large groups fail"])
def test_ignoring_the_groups_would_be_false_too_often(world):
    rng, missed = np.random.default_rng(12), 0
    for _ in range(60):
        local, truth = WORLDS[world](rng)
        missed += truth not in Mean(ERROR).conclude(members_of(local), ERROR).interval
    assert missed > allowed(60, ERROR)


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_requirements_on_groups_err_no_more_often_than_stated(world):
    rng, passed, failed, over = np.random.default_rng(13), 0, 0, Mean(ERROR, Sampling.GROUPED)
    for _ in range(RUNS):
        local, truth = WORLDS[world](rng)
        passed += over.tested(local, truth + 1e-9).p_values.above <= ERROR
        failed += over.tested(local, truth).p_values.below <= ERROR
    assert max(passed, failed) <= allowed(RUNS, ERROR)


@pytest.mark.slow
@pytest.mark.parametrize("truth", [0.0, 0.3, 0.9, 1.0])
def test_the_robust_share_of_groups_covers_the_truth_when_decisions_err_at_the_full_rate(truth):
    """Robust and fragile inputs come in groups of their own; each decision errs by itself."""
    rng, missed, wrong = np.random.default_rng(14), 0, np.zeros(2)
    over = RobustShare(ERROR, Sampling.GROUPED)
    for _ in range(RUNS):
        robust, sizes = rng.random(20) < truth, rng.integers(1, 9, 20)
        local = [
            Group(tuple(decided(bool(r != flip)) for flip in rng.random(n) < SOUND.error))
            for r, n in zip(robust, sizes, strict=True)
        ]
        missed += truth not in over.conclude(local, ERROR).interval
        wrong += (
            over.tested(local, min(1.0, truth + 1e-9)).p_values.above <= ERROR and truth < 1,
            over.tested(local, truth).p_values.below <= ERROR,
        )
    assert max(missed, *wrong) <= allowed(RUNS, ERROR)


def test_an_undecided_input_is_declared_neither_within_its_group():
    local = [Group((decided(True), Undecided("no", 5), decided(False), decided(True)))] * 10
    around = RobustShare(0.1).conclude(local, 0.1)
    assert around.value == 0.5
    assert around.interval.low <= 0.5 - 0.05
    assert around.interval.high >= 0.75


def test_an_undecided_input_counts_against_both_ends_of_its_group():
    half = [Group((certain(True), Undecided("no", 5)))] * 10
    around = Mean(0.1, anytime=True).conclude(half, 0.1)
    assert around.value == 1.0
    assert around.interval.low == bets(np.full(10, 0.5), 0.1).low
    assert isinstance(Mean(0.1).conclude([Group((Undecided("no", 5),))], 0.1), Undecided)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Mean, RobustShare])
def test_the_difference_of_two_models_is_taken_group_by_group(kind):
    """In every group one of two models fails on all inputs: fair coins, true difference 0."""
    rng, missed, over = np.random.default_rng(15), 0, kind(ERROR, Sampling.GROUPED)
    result = certain if kind is Mean else (lambda keeps: sharp(bool(keeps)))
    for _ in range(RUNS):
        first = rng.random(15) < 0.5
        a = [Group((result(keeps),) * 20) for keeps in first]
        b = [Group((result(not keeps),) * 20) for keeps in first]
        missed += 0.0 not in over.difference(a, b, ERROR)
    assert missed <= allowed(RUNS, ERROR)


def sharp(holds):
    """A decision that is hardly ever wrong."""
    return results.Decision("p is at most 0.1", holds, Guarantee(Footing.SOUND, 1e-9), 10, 9, 1e-9)


@pytest.mark.slow
def test_the_quantile_over_groups_covers_the_population():
    """Every group has one radius, uniform on (0, 1); small radii come in large groups."""
    rng, missed, wrong = np.random.default_rng(16), 0, np.zeros(2)
    runs = 40  # each takes long
    for done, share in enumerate([0.2, 0.5] * (runs // 2), 1):
        radii, slack = rng.random(25), 0.02 * rng.random(25)
        local = [
            Group((bracket(max(0.0, r - s), r + 0.1 * s),) * (6 if r < 0.5 else 1))
            for r, s in zip(radii, slack, strict=True)
        ]
        missed += (
            share not in population.GroupQuantile(share, ERROR).conclude(local, ERROR).interval
        )
        above = population.requires(local, share, share + 1e-9, ERROR)
        below = population.requires(local, share, share, ERROR)
        wrong += (
            isinstance(above, results.Decision) and above.holds,
            isinstance(below, results.Decision) and not below.holds,
        )
        if max(missed, *wrong) + runs - done <= allowed(runs, ERROR):
            return
    pytest.fail(f"{max(missed, *wrong)} of {runs} are false")


def test_the_quantile_over_groups_gets_narrow_and_names_what_it_assumes():
    rng = np.random.default_rng(17)
    local = [Group((bracket(r, r),) * 3) for r in rng.random(400)]
    quantile = population.GroupQuantile(0.5, 0.1).conclude(local, 0.1)
    assert isinstance(quantile, results.Quantile)
    assert quantile.interval.width < 0.2
    assert quantile.inputs == 1200
    assert quantile.guarantee.assumptions[0] == TheseGroups(400)
    assert quantile.guarantee.assumptions[-1] is Assumed.ARITHMETIC


def test_few_groups_leave_the_quantile_open_and_say_so():
    quantile = population.GroupQuantile(0.05, 0.1).conclude(
        [Group((bracket(0.1, math.inf),) * 50)], 0.1
    )
    assert quantile.interval == Interval(0.0, math.inf)
    ends = [Why.GROUPS_LOWER_END_ZERO.of(1, 0.05), Why.GROUPS_NO_UPPER_END.of()]
    assert quantile.note.parts == ends
    assert isinstance(population.GroupQuantile(0.05, 0.1).conclude([], 0.1), Undecided)
    undecided = population.requires([Group((bracket(0.1, 0.2),))], 0.05, 0.15, 0.1)
    assert undecided.reason.why is Why.RADIUS_OF_GROUPS_OPEN
    assert undecided.reason.values[:4] == (1, 0.0, 0.15, 0.0)


def test_what_would_decide_is_a_number_of_groups():
    local = alike(np.random.default_rng(4), groups=8)
    over = Mean(0.1, Sampling.GROUPED)
    open_ = population.requirement(over, local, 0.85)
    assert isinstance(open_, Undecided)
    assert open_.reason.parts[0].values[1] == "groups"
    pair = {"a": local, "b": local[::-1]}
    assert population.not_worse(over, pair, "a", 0.01).reason.parts[0].values[1] == "groups"


def test_a_requirement_of_every_class_names_groups_as_the_sample():
    classes = {name: alike(np.random.default_rng(i), 60) for i, name in enumerate("ab")}
    each = population.requirement_of_each(Mean(0.1, Sampling.GROUPED), classes, 0.5)
    assert each.together.holds
    assert "groups are an independent random sample" in condition(each.together.guarantee)


def test_an_extrapolated_mean_counts_by_groups():
    local = [Group((counted(18), counted(20)))] * 12
    tail = population.TailMean(0.1, Sampling.GROUPED, anytime=True).conclude(local, 0.1)
    assert tail.counted.interval == bets(np.full(12, 0.95), 0.1)
