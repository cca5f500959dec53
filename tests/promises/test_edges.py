"""Every method ends where it says and not one count before: no constant is loose by 5 %."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from surefoot.core.counts import Counts, Severities
from surefoot.core.procedure import Session
from surefoot.core.results import Extrapolation, Footing, Guarantee, Interval, Undecided
from surefoot.statistics import (
    ExactBinomial,
    ExactSequential,
    KappaTest,
    NormalTail,
    anderson_darling,
    chernoff,
    design_for,
    designs,
    okamoto,
)
from surefoot.statistics.kappa import log_evidence_above, log_evidence_below, upwards


def after(procedure, answers):
    """A run that was told these counts."""
    session = Session(procedure)
    for counts in answers:
        session.tell(counts)
    return session


def along(procedure, edge, last):
    """Walk along an edge: `edge(trials)` is the last number of failures that goes on, and the next.

    Tells the former at every look up to `last` trials, where it must go on. Yields trials, failures
    and the end of a run that is told the latter instead, where it must not; `None` for the latter:
    no number ends a run at this look.
    """
    answers, failed, trials = [], 0, 0
    while trials < last:
        n = after(procedure, answers).question
        assert n is not None, f"has ended after {failed} failures of {trials}"
        trials += n
        stay, beyond = edge(trials)
        if beyond is not None:
            fork = after(procedure, [*answers, Counts(n, n - (beyond - failed))])
            assert fork.question is None, f"goes on after {beyond} failures of {trials}"
            yield trials, beyond, fork.result
        answers.append(Counts(n, n - (stay - failed)))
        assert 0 <= answers[-1].kept <= n
        failed = stay


def first_to_decide(counts, decides):
    """The first of the counts that decides, if one does, and before it the one that does not."""
    stay = counts[0]
    for count in counts:
        if decides(count):
            return stay, count
        stay = count
    return stay, None


def outward(trials, kappa, side):
    """Numbers of failures from κ·trials to one side."""
    middle = math.floor(kappa * trials)
    return range(middle, -1, -1) if side == "robust" else range(middle + 1, trials + 1)


@pytest.mark.parametrize("side", ["robust", "fragile"])
@pytest.mark.parametrize(("kappa", "error"), [(0.05, 0.05), (0.08, 0.01), (0.03, 0.2)])
def test_the_kappa_test_ends_at_its_threshold_and_not_one_failure_before(kappa, error, side):
    most = math.ceil(100 / kappa)
    evidence = log_evidence_below if side == "robust" else log_evidence_above
    threshold, short_by = math.log(1 / error), []

    def edge(trials):
        counts = outward(trials, kappa, side)
        outcome = first_to_decide(counts, lambda f: evidence(f, trials, kappa) >= threshold)
        short_by.append(threshold - evidence(outcome[0], trials, kappa))
        return outcome

    for trials, failed, result in along(KappaTest(kappa, error, most), edge, most):
        assert result.p_value == pytest.approx(math.exp(-evidence(failed, trials, kappa)))
        assert (result.holds, result.trials) == (side == "robust", trials)
        assert result.guarantee == Guarantee(Footing.SOUND, error)
    # looks are sparse below κ, where a clean run's last one is exact (next test)
    assert 0 < min(short_by) < (0.3 if side == "robust" else 0.04), "no look is near enough"


@pytest.mark.parametrize("error", [1e-6, 0.05, 0.5])
def test_a_clean_run_ends_at_the_first_look_that_is_enough(error):
    """Found by scanning; the looks before it are 0.04/κ, then a quarter of themselves, apart."""
    kappa = 0.01
    n = next(n for n in range(1, 5000) if log_evidence_below(0, n, kappa) >= math.log(1 / error))
    session, looks = Session(KappaTest(kappa, error)), [0]
    while (more := session.question) is not None:
        assert more == min(max(4, math.ceil(looks[-1] / 4)), n - looks[-1])
        looks.append(looks[-1] + more)
        session.tell(Counts(more, more))
    assert session.result.trials == looks[-1] == n


@pytest.mark.parametrize(("rate", "holds"), [(0.485, True), (0.515, False)])
def test_a_rate_within_5_percent_of_kappa_is_on_its_own_side(rate, holds):
    session, trials, failed = Session(KappaTest(0.5, 0.05)), 0, 0
    while (n := session.question) is not None:
        trials, now = trials + n, round((trials + n) * rate)
        session.tell(Counts(n, n - (now - failed)))
        failed = now
    assert session.result.holds is holds


@pytest.mark.parametrize("side", ["robust", "fragile"])
@pytest.mark.parametrize(
    ("kappa", "error", "most", "looks"),
    [(0.05, 0.05, 267, 6), (0.3, 0.1, 386, 3), (0.3, 0.05, 323, 1)],
)
def test_the_exact_test_ends_at_its_share_and_not_one_failure_before(
    kappa, error, most, looks, side
):
    share, over = error / looks, []

    def tail(failed, trials):
        law = binom(trials, kappa)
        return law.cdf(failed) if side == "robust" else law.sf(failed - 1)

    def edge(trials):
        counts = outward(trials, kappa, side)
        outcome = first_to_decide(counts, lambda failed: tail(failed, trials) <= share)
        over.append(tail(outcome[0], trials) / share)
        return outcome

    test = ExactBinomial(kappa, error, most, looks)
    for trials, failed, result in along(test, edge, most):
        assert result.p_value == pytest.approx(looks * tail(failed, trials))
        assert (result.holds, result.trials) == (side == "robust", trials)
        assert result.guarantee == Guarantee(Footing.SOUND, error)
    assert 1 < min(over) < 1.04, "no look is near enough to notice 5 %"


@pytest.mark.parametrize(("failed", "looks"), [([1, 1], 2), ([5], 1)])
def test_an_exact_test_that_stays_open_shows_the_bound_of_its_last_look(failed, looks):
    error = 0.05
    answers = [Counts(100 if looks == 2 else 200, 200 // looks - f) for f in failed]
    result = after(ExactBinomial(0.02, error, 200, looks), answers).result
    exact = binomtest(sum(failed), 200).proportion_ci(1 - 2 * error / looks, method="exact")
    assert result.reason.values[-1] == upwards(exact.high)
    loose = binomtest(sum(failed), 200).proportion_ci(1 - 2.1 * error / looks, method="exact")
    assert f"{exact.high:.3g}" != f"{loose.high:.3g}"


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize(("width", "error"), [(0.02, 0.01), (0.01, 0.01)])
def test_the_sequential_method_ends_at_its_limit_and_not_one_count_before(width, error, mirrored):
    """z √(q(1-q)/n) ≤ width with q = (k+a)/(n+2a), and not one trial earlier on either side."""
    design = design_for(width, error)

    def near_enough(k, n):
        q = (k + design.pseudo) / (n + 2 * design.pseudo)
        return design.z * math.sqrt(q * (1 - q) / n) <= width

    def ends(k, looks):
        """Whether a run ends with k at the last of these looks; its rate was the same before."""
        observed = [Counts(n, math.ceil(k * n / looks[-1])) for n in looks]
        if mirrored:
            observed = [Counts(s.trials, s.trials - s.kept) for s in observed]
        answers = [
            Counts(now.trials - before.trials, now.kept - before.kept)
            for before, now in pairwise([Counts(0, 0), *observed])
        ]
        assert after(ExactSequential(width, error), answers[:-1]).question == answers[-1].trials
        return after(ExactSequential(width, error), answers).question is None

    for i, n in enumerate(design.looks[:-1]):
        k = max(k for k in range(n // 2) if near_enough(k, n))
        assert ends(k, design.looks[: i + 1])
        assert not ends(k + 1, design.looks[: i + 1])


def test_a_z_that_passes_on_a_sample_alone_is_raised_until_it_is_proved(monkeypatch):
    monkeypatch.setattr(designs, "_suspects", lambda design: list(designs.blocks(design))[:1])
    narrow = designs._smallest_z(0.2, 0.2, 5.0)
    assert designs.prove(narrow).proved > 0.2
    assert designs.calibrate(0.2, 0.2).proved <= 0.2


@pytest.mark.parametrize("offset", [0.0, 0.49, -0.49])
def test_near_one_half_the_chernoff_number_is_okamotos(offset):
    """Within width/2 of it theorem 3 does not tell which p is the worst."""
    p = 0.5 + offset * 0.02
    assert chernoff(Interval(p, p), 0.02, 0.05) == okamoto(0.02, 0.05)
    assert chernoff(Interval(0.4, 0.6), 0.02, 0.05) == okamoto(0.02, 0.05)


def test_a_normal_tail_is_fitted_down_to_its_level_and_not_below():
    values = np.random.default_rng(8).normal(0.4, 0.05, 200) ** 2
    severities = Severities(tuple(values.tolist()), 0.6)
    level = anderson_darling(values)
    assert 0.001 < level < 0.5
    tail = NormalTail(draws=200, normality=level, transforms=("none",))
    outcome = after(tail, [severities]).result
    assert isinstance(outcome, Extrapolation)
    assert outcome.counted.guarantee == Guarantee(Footing.SOUND, 0.05)
    assert isinstance(after(replace(tail, normality=1.01 * level), [severities]).result, Undecided)
