"""Local results to build populations from, and how many misses a promise allows."""

import math

from hypothesis import settings

from surefoot.core.results import Decision, Estimate, Footing, Guarantee, Interval
from surefoot.statistics.intervals import COMMON_SHARES, lower_end

LAW = settings(deadline=None, database=None, derandomize=True, max_examples=60)
SOUND = Guarantee(Footing.SOUND, 0.05)


def allowed(runs, error):
    """Four standard deviations above the promise."""
    return runs * error + 4 * math.sqrt(runs * error * (1 - error))


def counted(kept, n=20):
    rate = kept / n
    around = Interval(max(0, rate - 0.2), min(1, rate + 0.2))
    return Estimate(rate, around, SOUND, n, rate, n)


def decided(holds, p_value=0.01, error=0.05):
    return Decision("p is at most 0.1", holds, Guarantee(Footing.SOUND, error), 10, 9, p_value)


def bets(values, error):
    """The interval of bets without a plan, of these values alone."""
    low, high = (lower_end(x, error / 2, COMMON_SHARES) for x in (values, 1 - values))
    return Interval(low, 1 - high)
