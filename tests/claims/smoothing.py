"""Worlds of smoothed models: a sign keeps its class up to a distance that is known exactly.

On the grid the model is the sign of the first value after rounding, which changes half a step above
0: at m steps the class holds below a distance of m - 1/2 steps, and at it the vote is a tie. Of
shifts it is the half of a wide image that has the bright column, and a step is a pixel.
"""

import numpy as np

import surefoot as sf
from surefoot.core.claims import About
from surefoot.subject.protocols import Perturbation
from tests.claims.parts import QUICK, sign_model
from tests.claims.worlds import Outcome, add_up, judged, missed, of_kind, world

GRID = 1 / 16
NOISES = {
    "Gaussian noise": sf.perturb.GaussianGrid(0.25, grid=GRID),
    "uniform noise": sf.perturb.UniformGrid(8.5 * GRID, grid=GRID),
    "shifts": sf.perturb.GaussianShift(4.0),
}
WIDTH = 128
"""Of an image of four rows: 16 deviations from one border between its halves to the other."""


def half_model():
    """Class 1 where the brightest column lies in the right half."""

    def scores(batch: np.ndarray) -> np.ndarray:
        right = batch[:, 0, 0].argmax(axis=1) >= WIDTH // 2
        return np.stack([~right, right], axis=1).astype(np.float32)

    return sf.load_model(scores, shape=(1, 4, WIDTH), bounds=(0, 1), scores="probabilities")


def sign_study(
    steps: np.ndarray, method: object, seed: int, noise: Perturbation = NOISES["Gaussian noise"]
) -> sf.Study:
    """Inputs at so many steps from 0; their true class is the one of positive values."""
    if step_of(noise) == 1:
        model, x = half_model(), np.eye(WIDTH, dtype=np.float32)[WIDTH // 2 - 1 + steps]
        x = np.repeat(x[:, None, None], 4, axis=2)
    else:
        model, x = sign_model(), np.stack([steps * GRID, np.zeros(len(steps))], axis=1)
    inputs = sf.load_inputs(x.astype(np.float32), np.ones(len(x), int))
    return sf.Study(model, inputs, noise, method, seed=seed)


def step_of(noise: Perturbation) -> float:
    """Its length: of shifts in pixels."""
    return 1.0 if noise.kind == "gaussian-shift" else GRID


def distance(steps: float, noise: Perturbation = NOISES["Gaussian noise"]) -> float:
    """Below which the class holds."""
    return float((steps - 0.5) * step_of(noise))


for _name, _noise in NOISES.items():

    @world("smoothed_radius", f"a sign under {_name}", 0.1)
    def _radius(seed: int, noise: Perturbation = _noise) -> Outcome:
        steps = np.array([1, 2, 4, 6, 0, -2])
        method = sf.methods.SmoothedRadius((), 0.1, 200)
        result = sign_study(steps, method, seed, noise).run(**QUICK)
        truths = [max(0.0, distance(m, noise)) for m in steps]
        claims = [result.claim_about(row.id) for row in result.inputs]
        of_each = [missed(c, t) for c, t in zip(claims, truths, strict=True)]
        mean = missed(of_kind(result.claims, "smoothed_radius")[0], float(np.mean(truths)))
        return add_up([*of_each, mean])

    @world("smoothed_radius", f"a radius at which the vote is a tie, {_name}", 0.1)
    def _tie(seed: int, noise: Perturbation = _noise) -> Outcome:
        radii = (distance(3, noise), distance(2, noise))
        method = sf.methods.SmoothedRadius(radii, 0.1, 1500)
        result = sign_study(np.full(5, 3), method, seed, noise).run(**QUICK)
        shown = [radii[0] in row.result.shown for row in result.inputs]
        return Outcome(len(shown), sum(shown))


@world("certified_accuracy", "of these inputs, half of them just not", 0.1)
def _of_these(seed: int) -> Outcome:
    radius = distance(3)
    method = sf.methods.SmoothedRadius((radius,), 0.1, 1500)
    result = sign_study(np.array([3] * 6 + [6] * 6), method, seed).run(**QUICK)
    claim = of_kind(result.claims, "certified_accuracy")[0]
    accept = {"accept_clean_accuracy": True}
    enough = result.require(of_these=0.5, **accept).verdicts[0]
    few = result.require(of_these=7 / 12, **accept).verdicts[0]
    return add_up([missed(claim, 0.5), judged(enough, holds=True), judged(few, holds=False)])


@world("certified_accuracy", "of the population, several radii together", 0.1)
def _of_population(seed: int) -> Outcome:
    share = 0.6
    steps = np.where(np.random.default_rng([seed, 7]).random(40) < share, 8, 2)
    radii = (distance(2), distance(5))
    result = sign_study(steps, sf.methods.SmoothedRadius(radii, 0.1, 800), seed).run(**QUICK)
    found = of_kind(result.claims, "certified_accuracy")
    whole = [claim for claim in found if claim.about.of is About.POPULATION]
    outcomes = [missed(claim, share) for claim in whole]
    return Outcome(1, int(any(one.false for one in outcomes)), 0)
