"""What every perturbation must do."""

from __future__ import annotations

from dataclasses import is_dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.engine.streams import stream
from surefoot.results import Interval
from surefoot.subject import Perturbation
from surefoot.testing.expect import expect

_ROWS = 16


def check_perturbation(perturbation: Perturbation, shape: tuple[int, ...]) -> None:
    """Identity at level 0, pure, clipped, batch-free, and of one dtype."""
    unit = Interval(0.0, 1.0)
    expect(is_dataclass(perturbation), "a perturbation is a frozen dataclass")
    expect(perturbation.__hash__ is not None, "a perturbation is frozen, so it can be hashed")
    expect(perturbation.level in perturbation.levels(None), "its own level is out of its levels")
    expect(perturbation.levels(unit).low == 0, "levels begin at 0, the identity")
    expect("{level}" in perturbation.phrase, "the phrase does not say the level")
    x = np.random.default_rng(5).random((_ROWS, *shape), dtype=np.float32)
    kept = x.copy()
    drawn = _drawn(perturbation, x, block=0)
    params = drawn.copy()
    identity = perturbation.apply(x, drawn, 0.0, unit)
    expect(np.array_equal(identity, x), "level 0 must give back the input, value for value")
    out = perturbation.apply(x, drawn, perturbation.level, unit)
    expect(np.array_equal(x, kept), "apply changed its input")
    expect(np.array_equal(drawn, params), "apply changed what was drawn")
    expect(out.shape == x.shape and out.dtype == np.float32, f"apply gave {out.shape} {out.dtype}")
    expect(bool((out >= 0).all() and (out <= 1).all()), "apply left the bounds")
    again = _drawn(perturbation, x, block=0)
    expect(np.array_equal(drawn, again), "the same stream must give the same draws")
    other = _drawn(perturbation, x, block=1)
    expect(not np.array_equal(drawn, other), "another block must give other draws")
    for i in (0, _ROWS - 1):
        alone = perturbation.apply(x[i : i + 1], drawn[i : i + 1], perturbation.level, unit)
        expect(np.array_equal(alone[0], out[i]), "a row depends on the rest of the batch")
    shared = perturbation.apply(x[:1], drawn, perturbation.level, unit)
    expect(shared.shape == x.shape, "one input must meet many perturbations")


def _drawn(perturbation: Perturbation, x: NDArray[np.float32], block: int) -> NDArray[np.floating]:
    source = stream(3, "subject", perturbation.kind, block, x)
    drawn: NDArray[np.floating] = perturbation.draw(source, len(x), x.shape[1:])
    return drawn
