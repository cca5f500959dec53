"""A radius at which the vote is a tie is certified no more often than stated: exactly."""

from collections import defaultdict

import numpy as np
import pytest
from scipy.stats import binom

from surefoot.core.counts import Counts
from surefoot.statistics import Norm, SmoothedRadius, Smoothing

NOISES = (Smoothing(Norm.L2, 0.25, 1e-9), Smoothing(Norm.L1, 0.5, 1e-9))


def shown_often(method: SmoothedRadius, noise: Smoothing, radius: float, failing: float) -> float:
    """The probability that `radius` is ever shown: what is next follows from the counts alone."""
    test, shown = method.under(noise), 0.0
    alive = {(0, 0): 1.0}
    while alive:
        after: defaultdict[tuple[int, int], float] = defaultdict(float)
        for (trials, failed), chance in alive.items():
            counts = Counts(trials, trials - failed)
            if not (more := test._more(counts)):
                shown += chance * test._shown(counts, radius)
                continue
            for further, share in enumerate(binom.pmf(np.arange(more + 1), more, failing)):
                if chance * share > 1e-10:
                    after[trials + more, failed + further] += chance * float(share)
        alive = dict(after)
    return shown


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.norm)
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_tie_is_certified_no_more_often_than_stated(noise, share):
    radius = share * noise.scale
    truth = noise.kappa(radius) + noise.slack  # of the law; as drawn it may be lower by the slack
    for radii in ((radius,), (radius / 2, radius, 1.2 * radius + 0.05)):
        method = SmoothedRadius(radii, 0.05, 120)
        assert 0 < shown_often(method, noise, radius, truth - noise.slack) <= 0.05
    easy = shown_often(SmoothedRadius((radius,), 0.05, 120), noise, radius, truth / 5)
    assert easy > 0.9
