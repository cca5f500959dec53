"""Splitting in the corner of a cube, beside the truth and RoMA; and what it costs."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

import surefoot as sf
from figures.panels import DASHED, DOTTED, Axis, Curve, Drawing, beside, panel
from surefoot.core.results import RareFailure
from surefoot.report.figures import INK, STEADY, WEAK

DIMENSIONS, FAILING = 8, 1e-9
REACH = 2 * (FAILING * math.factorial(DIMENSIONS)) ** (1 / DIMENSIONS)
"""The corner beyond this distance from it, along the diagonal, has the volume of the failures."""


def splitting() -> str:
    """The share above each severity by four runs; trials against the failure probability."""
    return beside(_levels(), _costs())


def _levels() -> Drawing:
    result = _result()
    runs = [
        Curve("runs", [(one.severity, one.probability) for one in run.levels], STEADY, thick=1.2)
        for run in result.runs
    ]
    reach = np.linspace(REACH, 2, 30).tolist()
    truth = [(REACH - r, (r / 2) ** DIMENSIONS / math.factorial(DIMENSIONS)) for r in reach]
    curves = [*runs[:1], Curve("truth, near the corner", truth, INK, DASHED)]
    if (fit := result.fit) is not None:
        tail = [(s, float(ndtr((fit.mean - s) / fit.deviation))) for s in np.linspace(-12, 0, 40)]
        curves.append(Curve("RoMA's normal distribution", tail, WEAK, DOTTED))
    return panel(
        "Share of perturbations above a severity",
        curves,
        Axis("severity (0: it fails)", (-8, 0)),
        Axis("share (log scale)", (1e-10, 1), "log", ".0e", (1e-9, 1e-6, 1e-3, 1)),
        columns=1,
    )


def _result() -> RareFailure:
    def scores(batch: np.ndarray) -> np.ndarray:
        margin = batch.sum(axis=1, dtype=np.float64) - (DIMENSIONS - REACH)
        return np.stack([-margin / 2, margin / 2], axis=1)

    model = sf.load_model(scores, shape=(DIMENSIONS,), scores="logits")
    inputs = sf.load_inputs(np.zeros((1, DIMENSIONS), np.float32))
    noise = sf.perturb.LinfNoise(1.0)
    study = sf.Study(model, inputs, noise, sf.methods.Splitting(), sf.properties.SameLabel())
    found = study.run(workers=1, batch=256).inputs[0].result
    if not isinstance(found, RareFailure):
        raise TypeError(f"undecided: {found}")
    return found


def _costs() -> Drawing:
    powers = np.linspace(1, 12, 45)
    method = sf.methods.Splitting()
    ours = [
        (10**-p, 1000 + method.walkers * method.chain * p * math.log(10)) for p in powers.tolist()
    ]
    counting = [(10**-p, 9 * 10**p) for p in powers.tolist()]
    return panel(
        "Trials for an interval from half to twice",
        [Curve("splitting", ours, STEADY), Curve("counting", counting, WEAK, DOTTED)],
        Axis("failure probability (log scale)", (1e-12, 0.1), "log", ".0e", (1e-12, 1e-8, 1e-4)),
        Axis("trials (log scale)", (100, 1e13), "log", ".0e", (1e3, 1e6, 1e9, 1e12)),
        columns=2,
    )
