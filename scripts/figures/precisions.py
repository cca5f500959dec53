"""A mean to a precision: trials against the precision, and where they go."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from figures.panels import DOTTED, OCHRE, Axis, Curve, beside, panel
from surefoot.core.counts import Counts
from surefoot.core.procedure import Session
from surefoot.population import SetMean
from surefoot.report.figures import INK, STEADY, WEAK

Floats = NDArray[np.float64]
ERROR, SEEDS = 0.05, 5
PRECISIONS = (0.003, 0.005, 0.01, 0.02, 0.05)


def failure_probabilities() -> Floats:
    """300 inputs: most never fail, a few do at any rate."""
    rng = np.random.default_rng(20240607)
    return np.where(rng.random(300) < 0.8, 0.0, rng.random(300) ** 2)


def trials_of(p: Floats, precision: float, seed: int) -> NDArray[np.int64]:
    """The trials of each input."""
    rng, session = np.random.default_rng(seed), Session(SetMean(precision, ERROR, len(p), seed))
    while session.question is not None:
        asks = session.question
        failed = rng.binomial([a.units for a in asks], p[[a.subject for a in asks]]).tolist()
        session.tell([Counts(a.units, a.units - k) for a, k in zip(asks, failed, strict=True)])
    return np.array([counts.trials for counts in session.result.counts])


def precision() -> str:
    """Trials in all against the precision, and of each input against how often it fails."""
    p = failure_probabilities()
    ours = [
        (h, float(np.mean([trials_of(p, h, seed).sum() for seed in range(SEEDS)])))
        for h in PRECISIONS
    ]
    single = [(h, 1.96**2 * p.mean() * (1 - p.mean()) / h**2) for h in PRECISIONS]
    neyman = [(h, (1.96 * np.sqrt(p * (1 - p)).mean() / h) ** 2) for h in PRECISIONS]
    each = trials_of(p, 0.003, 1)
    order = np.argsort(p)
    share = [(float(p[i]), float(each[i])) for i in order]
    return beside(
        panel(
            "Trials of all inputs",
            [
                Curve("ours", ours, STEADY),
                Curve("random inputs (normal)", single, OCHRE),
                Curve("known probabilities (normal)", neyman, WEAK, DOTTED),
            ],
            Axis("precision (log scale)", (0.003, 0.05), "log", ".3f", PRECISIONS),
            Axis("trials (log scale)", (5, 50_000), "log", ",d", (10, 100, 1000, 10_000)),
        ),
        panel(
            "Trials of each input at ± 0.003",
            [Curve("an input", share, INK)],
            Axis("failure probability", (0, 1), format=".1f"),
            Axis("trials", (0, float(each.max()) * 1.1), format=",d"),
        ),
    )
