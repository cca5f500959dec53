"""How far the model as run is from the real arithmetic of its proofs: information, no assurance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from surefoot.records.record import Finding
from surefoot.study.setup import Setup
from surefoot.study.verifiers import bounds_of, read_checked_network
from surefoot.subject.protocols import to_host

_INPUTS = 8
"""Inputs around which margins are compared. Chosen by hand; it is information only."""
_RADIUS_SHARE = 0.01
"""Radius as a share of the range of values: about where radii of image classifiers lie."""


def real_arithmetic(study: Setup) -> Finding:
    """Margins as run against margins in real arithmetic, around some of the inputs."""
    from surefoot.verify.float32 import margin_difference

    def outputs(points: NDArray[np.float32]) -> NDArray[np.floating]:
        return to_host(study.model.predict(study.model.place(points)))

    bounds = bounds_of(study)
    some = study.fitted.x[:: max(1, len(study.fitted) // _INPUTS)][:_INPUTS]
    difference = margin_difference(
        read_checked_network(study).network,
        outputs,
        some,
        _RADIUS_SHARE * bounds.width,
        bounds,
        seed=study.seed,
    )
    return Finding("real arithmetic", "warning" if difference.labels else "ok", difference.sentence)
