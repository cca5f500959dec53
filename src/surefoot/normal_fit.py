"""A normal distribution fitted to scores, as data: what was fitted, how well, and the scores."""

from __future__ import annotations

from dataclasses import dataclass

LEAST_PROBABILITY = 1e-300
"""Smaller probabilities are stated as "below" this one: floating point ends a little further down,
and a probability above 0 must not be stated as 0."""


@dataclass(frozen=True)
class Histogram:
    """Counts in bins of equal width from `low` to `high`."""

    low: float
    high: float
    counts: tuple[int, ...]


@dataclass(frozen=True)
class NormalFit:
    """A normal distribution fitted to the scores of one input after a transform.

    `power` is the transform's λ, None where it has none; `shift` what was added to the scores
    before it. `limit` is the limit after the same transform, `z` its distance from the mean in
    deviations. `log10_failure` is the logarithm of the probability beyond the limit, which does not
    underflow. `statistic` is Anderson and Darling's, corrected for the number of trials, and
    `p_value` that of normality; where `p_is_bound`, it is smaller than `p_value`. `accepted`:
    normality was not rejected at `level`. `scores`: a histogram of the transformed scores, kept
    for a few inputs.
    """

    transform: str
    power: float | None
    mean: float
    deviation: float
    limit: float
    z: float
    log10_failure: float
    statistic: float
    p_value: float
    p_is_bound: bool
    level: float
    accepted: bool
    shift: float = 0.0
    scores: Histogram | None = None
