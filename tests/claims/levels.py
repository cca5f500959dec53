"""Worlds of radii: inputs whose critical radius is known."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

import surefoot as sf
from tests.claims.parts import QUICK, line_inputs, linear_model, radius_study
from tests.claims.worlds import (
    Outcome,
    add_up,
    all_missed,
    any_false,
    judged,
    missed,
    of_kind,
    world,
)

RADII = np.array([0.02, 0.12, 0.25, 0.4, -0.1, 0.004])
SLOW: dict[str, object] = {"workers": 1}
ATOM_QUANTILE = 0.4 * (0.25 - 0.1) / 0.9
"""The quantile 0.25 where a tenth of the radii is 0 and the others are uniform up to 0.4."""


@world("radius", "distances to a line", 0.0)
def _radius(seed: int) -> Outcome:
    rng = np.random.default_rng([seed, 27])
    radii = np.concatenate([RADII, rng.uniform(0.0, 0.45, 4)])
    inputs = line_inputs(radii)
    truths = np.maximum(inputs.x[:, 0].astype(float) - 0.5, 0.0)
    result = radius_study(sf.methods.CriticalLevel(0.01, 2.0, samples=20), inputs, seed).run(**SLOW)
    claims = [result.claim_about(row.id) for row in result.inputs]
    return all_missed(claims, truths.tolist())


WIDTHS = tuple(
    sf.perturb.Feature(f"x{i}", noise, shape="uniform") for i, noise in enumerate((1, 3))
)
for _name, _noise, _share in (
    ("L2 distances to a diagonal", sf.perturb.L2Noise(), 0.5**0.5),
    ("L1 distances to a diagonal", sf.perturb.L1Noise(), 1.0),
    ("a diagonal, widths of features", sf.perturb.TableNoise(None, WIDTHS), 0.25),
):

    @world("radius", _name, 0.0)
    def _norm(seed: int, noise: sf.Perturbation = _noise, share: float = _share) -> Outcome:
        """Class 1 where the sum of both values exceeds 1."""
        rng = np.random.default_rng([seed, 61])
        x = (0.5 + rng.uniform(-0.05, 0.2, (5, 2))).astype(np.float32)
        model = linear_model(np.array([[-1, 1], [-1, 1]], "f4"), np.array([1, -1], "f4"))
        return _radii_of(
            model, x, noise, sf.properties.TrueLabel(), x.sum(1, float) - 1, share, seed
        )


@world("radius", "scores that float32 rounds in coarse steps", 0.0)
def _as_run(seed: int) -> Outcome:
    """Scores beside a large bias: as run they are a rising step function of the first value."""
    rng = np.random.default_rng([seed, 71])
    base, slope = 2.0 ** rng.integers(4, 16), 2.0**-4
    weights, bias = np.array([[0, slope], [0, 0]], "f4"), np.array([base + slope / 2, base], "f4")
    model = linear_model(weights, bias)
    low, high = (int(np.float32(end).view(np.int32)) for end in (0.0, 1.0))
    while high - low > 1:  # the last number with another label, among all float32 numbers
        middle = (low + high) // 2
        point = np.array([[np.int32(middle).view(np.float32), 0.5]], np.float32)
        kept = int(np.argmax(model.predict(point)[0])) == 1
        low, high = (low, middle) if kept else (middle, high)
    x = rng.uniform(0.3, 1.0, (5, 2)).astype(np.float32)
    above = x[:, 0].astype(float) - float(np.int32(low).view(np.float32))
    prop, noise = sf.properties.TrueLabel(), sf.perturb.LinfNoise()
    return _radii_of(model, x, noise, prop, above, 1.0, seed)


@world("radius", "two rivals pass one after the other", 0.0)
def _second_best(seed: int) -> Outcome:
    """Class 1 scores 0; the others pass it where the first value falls to 0.7 and to 0.5."""
    rng = np.random.default_rng([seed, 67])
    x = rng.uniform(0.45, 0.95, (5, 2)).astype(np.float32)
    model = linear_model(np.array([[-1, 0, -1], [0, 0, 0]], "f4"), np.array([0.7, 0, 0.5], "f4"))
    above = x[:, 0].astype(float) - 0.5
    return _radii_of(model, x, sf.perturb.LinfNoise(), sf.properties.TopK(2), above, 1.0, seed)


def _radii_of(model, x, noise, prop, above, share, seed) -> Outcome:
    inputs = sf.load_inputs(x, np.ones(len(x), int))
    method = sf.methods.CriticalLevel(0.01, 2.0, samples=20)
    result = sf.Study(model, inputs, noise, method, property=prop, seed=seed).run(**SLOW)
    claims = [result.claim_about(row.id) for row in result.inputs]
    truths = share * np.maximum(above, 0.0)
    # As run a sum just above the border is rounded onto it and fails: by so much a failure may be
    # nearer than in real arithmetic. Never farther, so a proved end is held to the real distance.
    found = np.array([claim.interval.high for claim in claims])
    rounded = (truths > found) & (truths - found < 2.0**-23)
    return all_missed(claims, np.where(rounded, found, truths).tolist())


PROOFS = sf.methods.CriticalLevel(0.05, 2.0, samples=0)
for _name, _stream, _more, _method in (
    ("an attack on known radii", 29, 6, sf.methods.Attack()),
    ("PGD on known radii", 39, 6, sf.methods.PGD()),
    ("proofs and counterexamples of known radii", 37, 2, PROOFS),
):

    @world("robust_accuracy", _name, 0.0)
    def _robust_accuracy(
        seed: int, stream: int = _stream, more: int = _more, method: object = _method
    ) -> Outcome:
        rng = np.random.default_rng([seed, stream])
        inputs = line_inputs(np.concatenate([RADII, rng.uniform(0.0, 0.45, more)]))
        truth = float((inputs.x[:, 0].astype(float) - 0.5 > 0.1).mean())
        if method is PROOFS:
            result = radius_study(method, inputs, seed).run(**SLOW).at_radius(0.1)
        else:
            result = radius_study(method, inputs, seed, level=0.1).run(**QUICK)
        return missed(of_kind(result.claims, "robust_accuracy")[0], truth)


@lru_cache(maxsize=32)
def _atom_result(seed: int) -> sf.Result:
    """A tenth of the radii is 0, the others are uniform. Two worlds share the study."""
    rng = np.random.default_rng([seed, 31])
    radii = np.where(rng.random(24) < 0.1, -0.1, rng.uniform(0.0, 0.4, 24))
    method = sf.methods.CriticalLevel(0.05, 2.0, quantile=0.25, error=0.1, samples=0)
    return radius_study(method, line_inputs(radii), seed).run(**SLOW)


@world("radius_quantile", "uniform radii with an atom at 0", 0.1)
def _quantile(seed: int) -> Outcome:
    return missed(of_kind(_atom_result(seed).claims, "radius_quantile")[0], ATOM_QUANTILE)


@world("radius_quantile", "a requirement at the truth", 0.1)
def _quantile_required(seed: int) -> Outcome:
    result = _atom_result(seed)
    below = judged(
        result.require(ATOM_QUANTILE - 0.0001, accept_clean_accuracy=True).verdicts[0], holds=True
    )
    above = judged(
        result.require(ATOM_QUANTILE + 0.0001, accept_clean_accuracy=True).verdicts[0], holds=False
    )
    return any_false([below, above]) if below.false and above.false else add_up([below, above])


@world("quantile_difference", "independent radii, the same distribution", 0.1)
def _quantile_difference(seed: int) -> Outcome:
    rng = np.random.default_rng([seed, 35])
    inputs = line_inputs(*rng.uniform(0.0, 0.4, (2, 24)))
    method = sf.methods.CriticalLevel(0.05, 2.0, quantile=0.25, error=0.1, samples=0)
    studies = {name: radius_study(method, inputs, seed, i) for i, name in enumerate("ab")}
    result = sf.compare(studies, workers=1)
    return missed(of_kind(result.claims, "quantile_difference")[0], 0.0)
