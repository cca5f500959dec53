"""How far the model as run is from the real arithmetic of its proofs: information, no assurance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from surefoot.engine.device_arrays import to_numpy
from surefoot.store.records import Finding
from surefoot.study.setup import Setup
from surefoot.study.verifiers import bounds_of, read_model

_INPUTS = 8
_RADIUS = 0.01
"""As a share of the range of values: about where radii of image classifiers lie."""


def real_arithmetic(study: Setup) -> Finding:
    """Margins as run against margins in real arithmetic, around some of the inputs."""
    from surefoot.verify.float32 import distance_from_real

    def outputs(points: NDArray[np.float32]) -> NDArray[np.floating]:
        return to_numpy(study.model.predict(study.model.place(points)))

    bounds = bounds_of(study)
    some = study.fitted.x[:: max(1, len(study.fitted) // _INPUTS)][:_INPUTS]
    found = distance_from_real(
        read_model(study).network, outputs, some, _RADIUS * bounds.width, bounds, seed=study.seed
    )
    return Finding("real arithmetic", "warning" if found.labels else "ok", found.sentence)
