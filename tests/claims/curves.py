"""Worlds of curves: sets whose curve is a known step function, noise and populations."""

from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

import surefoot as sf
from surefoot.core.claims import Claim, Randomness
from tests.claims.parts import QUICK, Shift, normal_inputs, shift_study, sign_model
from tests.claims.worlds import Outcome, missed, of_kind, world
from tests.step_curves import StepCurve, follow

ERROR = 0.1
ROUNDING = 1e-6
"""Of a level in float32."""


def curve_of(threshold: float = 0.8, high: float = 1.0, **more: Any) -> Any:
    """The default method from 0 on."""
    return sf.methods.SequentialCurve(
        0.0, high, (threshold,), error=ERROR, **{"resolution": 0.01, **more}
    )


def near(claim: Claim, truth: float) -> Outcome:
    """A crossing is one point of float32; the claim may lie on either side of it."""
    around = claim.interval
    if around is None:
        return Outcome(1, 0, 1)
    inside = around.low - ROUNDING <= truth <= around.high + ROUNDING
    return Outcome(1, int(not inside), 0, (around.width,))


def turning_study(curve: StepCurve, method: Any, seed: int) -> sf.Study:
    """Input i turns from right to wrong and back at the levels of row i."""

    def turning(batch: np.ndarray) -> np.ndarray:
        level = -batch[:, 1].astype(np.float64)
        which = np.rint(batch[:, 0] + level).astype(int)
        right = np.count_nonzero(curve.padded[which] <= level[:, None], axis=1) % 2 == 0
        margin = np.where(right, 1.0, -1.0)
        return np.stack([-margin, margin], axis=1)

    x = np.stack([np.arange(curve.size), np.zeros(curve.size)], axis=1).astype(np.float32)
    inputs = sf.load_inputs(x, np.ones(curve.size, int))
    model = sf.load_model(turning, shape=(2,))
    return sf.Study(model, inputs, Shift(), method, property=sf.properties.TrueLabel(), seed=seed)


def set_claim(curve: StepCurve, method: Any, seed: int) -> Outcome:
    """The claim of one study about the share of the levels, or the level up to which."""
    result = turning_study(curve, method, seed).run(**QUICK)
    claim = of_kind(result.claims, "curve_set")[0]
    assert claim.random is Randomness.NOTHING
    (shape,) = claim.guarantee.assumptions
    around = shape.shape == "bounded-rise" and not shape.contradicted
    share = curve.stays_at_least if around else curve.share_at_least
    return near(claim, share(method.thresholds[0]))


@world("curve_set", "every input fails once and for good", ERROR)
def _monotone(seed: int) -> Outcome:
    critical = np.random.default_rng([seed, 21]).uniform(0.05, 1.0, 60)
    curve = StepCurve.of([[level] for level in critical])
    return set_claim(curve, curve_of(0.7, assume="monotone"), seed)


@world("curve_set", "two inputs that come back again and again", ERROR)
def _saw(seed: int) -> Outcome:
    """As far as is assumed, and near the threshold for long."""
    begin = np.random.default_rng([seed, 53]).uniform(0, 0.02)
    turns = follow([(0, 0.95), (0.2, 0.83), (0.8, 0.77), (1, 0.5)], 120)
    for i in (0, 1):
        turns[i] = [begin + k / 50 + j / 100 for k in range(49) for j in (0, 1)]
    curve = StepCurve.of(turns)
    assert curve.rise() <= 2 / 120
    return set_claim(curve, curve_of(), seed)


@world("curve_set", "a dip that a level meets", ERROR)
def _dip(seed: int) -> Outcome:
    """0.15 deep and a twentieth of the range wide: a contradiction, noticed in nine of ten runs."""
    rng = np.random.default_rng([seed, 39])
    a = rng.integers(2, 13) / 16 - rng.uniform(0, 0.05)
    shape = [(0, 0.88), (a, 0.88), (a, 0.73), (a + 0.05, 0.73), (a + 0.05, 0.88), (1, 0.86)]
    return set_claim(StepCurve.of(follow(shape, 100)), curve_of(), seed)


@world("curve_set", "inputs that flicker", ERROR)
def _flicker(seed: int) -> Outcome:
    """One input at a time changes for a while: never more than the point that is assumed."""
    rng = np.random.default_rng([seed, 41])
    turns = follow([(0, 0.98), (0.3, 0.95), (0.7, 0.6), (1, 0.3)], 120)
    begins = np.arange(8) / 8 + rng.uniform(0, 0.1, 8)
    for i, begin in zip(rng.choice(120, 8, replace=False), begins, strict=True):
        turns[i] += [begin, begin + rng.uniform(0.001, 0.02)]
    return set_claim(StepCurve.of(turns), curve_of(), seed)


@world("curve_set", "steps, one of them at the threshold", ERROR)
def _steps(seed: int) -> Outcome:
    a, b, c = np.sort(np.random.default_rng([seed, 43]).uniform(0.05, 0.95, 3))
    shape = [(0, 0.95), (a, 0.95), (a, 0.8), (b, 0.8), (b, 0.79), (c, 0.79), (c, 0.2), (1, 0.2)]
    return set_claim(StepCurve.of(follow(shape, 100)), curve_of(assume="one-crossing"), seed)


@world("curve_set", "both sides of the clean level, one steeper", ERROR)
def _two_sided(seed: int) -> Outcome:
    """Half of the inputs turn at levels above 0, the others below; the share is around the clean
    one, of both sides.
    """
    rng = np.random.default_rng([seed, 55])
    above, below = rng.uniform(0.1, 1.4, 60), -rng.uniform(0.02, 0.9, 60)
    curve = StepCurve.of([*([level] for level in above), *([-9.0, level] for level in below)])
    method = sf.methods.SequentialCurve(-1.0, 1.0, (0.8,), error=ERROR, resolution=0.01)
    claim = of_kind(turning_study(curve, method, seed).run(**QUICK).claims, "curve_set")[0]
    kept = [min(1.0, float(np.sort(side)[24])) for side in (above, -below)]
    return near(claim, sum(kept) / 2)


def noise_study(margins: np.ndarray, method: Any, seed: int) -> sf.Study:
    """Under noise of level s an input is right with probability Φ(margin / s)."""
    return sf.Study(
        sign_model(), normal_inputs(norm.sf(margins)), sf.perturb.GaussianNoise(), method,
        property=sf.properties.TrueLabel(), seed=seed,
    )  # fmt: skip


@world("curve_set", "noise of a fixed draw", ERROR)
def _fixed(seed: int) -> Outcome:
    """The claim is about these draws: truth is a scan of the same draws at many levels."""
    margins = np.random.default_rng([seed, 23]).uniform(0.2, 1.6, 40)
    method = curve_of(0.75, 2.0, assume="monotone", fixed_draws=True)
    claim = of_kind(noise_study(margins, method, seed).run(**QUICK).claims, "curve_set")[0]
    assert claim.random is Randomness.FIXED
    scan = sf.methods.UniformCurve(0.0, 2.0, (0.75,), levels=401)
    points = noise_study(margins, scan, seed).run(**QUICK).details.curve.points
    last = max(point.level for point in points if point.value >= 0.75)
    if claim.interval is None or last == 2.0:
        return Outcome(1, 0, 1)
    inside = claim.interval.low - 0.006 <= last <= claim.interval.high + 0.006
    return Outcome(1, int(not inside), 0, (claim.interval.width,))


@world("curve_set", "the expectation over fresh draws", ERROR)
def _fresh(seed: int) -> Outcome:
    """The expected curve of a linear model is known in closed form."""
    margins = np.random.default_rng([seed, 45]).uniform(0.8, 3.0, 40)
    truth = brentq(lambda s: float(norm.cdf(margins / s).mean()) - 0.85, 0.05, 9.0)
    method = curve_of(0.85, 4.0, assume="one-crossing", resolution=0.05)
    claim = of_kind(noise_study(margins, method, seed).run(**QUICK).claims, "curve_set")[0]
    assert claim.random is Randomness.FRESH
    return near(claim, truth)


def population_claim(study: sf.Study, truth: float) -> Outcome:
    """The claim of one study of a sample."""
    return missed(of_kind(study.run(**QUICK).claims, "curve_population")[0], truth)


@world("curve_population", "critical levels uniform", ERROR)
def _population(seed: int) -> Outcome:
    critical = np.random.default_rng([seed, 25]).uniform(0.0, 1.0, 150)
    return population_claim(shift_study(critical, curve_of(0.7, scope="population"), seed), 0.3)


@world("curve_population", "critical levels uniform, by ranks", ERROR)
def _population_by_ranks(seed: int) -> Outcome:
    critical = np.random.default_rng([seed, 47]).uniform(0.0, 1.0, 80)
    method = curve_of(0.7, scope="population", assume="monotone")
    return population_claim(shift_study(critical, method, seed), 0.3)


@world("curve_population", "an atom at one level, one crossing", ERROR)
def _population_atom(seed: int) -> Outcome:
    """A third of the inputs fail at 0.4, the others later: there the curve jumps across."""
    rng = np.random.default_rng([seed, 49])
    critical = np.where(rng.random(150) < 1 / 3, 0.4, rng.uniform(0.4, 2.0, 150))
    method = curve_of(0.8, scope="population", assume="one-crossing")
    return population_claim(shift_study(critical, method, seed), 0.4)


@world("curve_population", "noise on a sample", ERROR)
def _population_noise(seed: int) -> Outcome:
    """Margins are normal, so the accuracy at level s is Φ(1 / sqrt(1/4 + s²))."""
    margins = np.random.default_rng([seed, 51]).normal(1.0, 0.5, 150)
    truth = float(np.sqrt(norm.ppf(0.8) ** -2 - 0.25))
    method = curve_of(0.8, 3.0, scope="population", assume="one-crossing")
    return population_claim(noise_study(margins, method, seed), truth)
