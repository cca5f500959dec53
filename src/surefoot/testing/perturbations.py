"""What every perturbation must do."""

from __future__ import annotations

from dataclasses import is_dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.engine.device_arrays import draw_rows
from surefoot.engine.streams import stream
from surefoot.perturb._ops.levels import level_of
from surefoot.results import Interval
from surefoot.subject import Additive, Drawn, Perturbation, View
from surefoot.testing.expect import expect

_ROWS = 16
UNIT = Interval(0.0, 1.0)


def check_perturbation(perturbation: Perturbation, shape: tuple[int, ...]) -> None:
    """Identity at level 0, pure, clipped, batch-free, of one dtype, with a level for each row too.

    `shape` is that of one row as the perturbation sees it: (channels, height, width) for images.
    """
    expect(is_dataclass(perturbation), "a perturbation is a frozen dataclass")
    expect(perturbation.__hash__ is not None, "a perturbation is frozen, so it can be hashed")
    expect(isinstance(perturbation.view, View), "its view is no View")
    level = level_of(perturbation)
    expect(level in perturbation.levels(None), "its own level is out of its levels")
    expect(perturbation.levels(UNIT).low == 0, "levels begin at 0, the identity")
    expect("{level}" in perturbation.phrase, "the phrase does not say the level")
    x = np.random.default_rng(5).random((_ROWS, *shape), dtype=np.float32)
    kept = x.copy()
    drawn = _drawn(perturbation, x, block=0)
    params = _copied(drawn)
    identity = perturbation.apply(x, drawn, 0.0, UNIT)
    expect(np.array_equal(identity, x), "level 0 must give back the input, value for value")
    expect(identity is not x, "apply must give a fresh array")
    out = perturbation.apply(x, drawn, level, UNIT)
    expect(np.array_equal(x, kept), "apply changed its input")
    expect(_same(drawn, params), "apply changed what was drawn")
    expect(out.shape == x.shape and out.dtype == np.float32, f"apply gave {out.shape} {out.dtype}")
    expect(bool((out >= 0).all() and (out <= 1).all()), "apply left the bounds")
    expect(bool(np.isfinite(out).all()), "apply made NaN or infinite values")
    again = _drawn(perturbation, x, block=0)
    expect(_same(drawn, again), "the same stream must give the same draws")
    _check_rows(perturbation, x, drawn, out)
    additive: Additive | None = getattr(perturbation, "additive", None)
    if additive is not None:
        moved = x + np.float32(level_of(perturbation)) * (drawn * additive.factor + additive.shift)
        expect(np.allclose(np.clip(moved, 0, 1), out, atol=1e-6), "it is not the noise it says")


def _check_rows(
    perturbation: Perturbation, x: NDArray[np.float32], drawn: Drawn, out: NDArray[np.float32]
) -> None:
    """A row is the same alone, in any batch, beside other levels, and whatever shares its draws."""
    level = level_of(perturbation)
    for i in (0, _ROWS - 1):
        alone = perturbation.apply(x[i : i + 1], draw_rows(drawn, i, i + 1), level, UNIT)
        expect(np.array_equal(alone[0], out[i]), "a row depends on the rest of the batch")
    shared = perturbation.apply(x[:1], drawn, level, UNIT)
    expect(shared.shape == x.shape, "one input must meet many perturbations")
    expect(np.allclose(shared[0], out[0], atol=1e-5), "one input for many rows is another input")
    each = perturbation.apply(x, drawn, np.full(_ROWS, level, np.float32), UNIT)
    expect(np.allclose(each, out, atol=2e-4), "a level for each row means another level")
    levels = np.full(_ROWS, level, np.float32)
    levels[::2] = 0
    mixed = perturbation.apply(x, drawn, levels, UNIT)
    expect(np.array_equal(mixed[::2], x[::2]), "a row of level 0 must be given back as it is")
    expect(np.array_equal(mixed[1::2], each[1::2]), "a row depends on the levels of other rows")


def check_image_perturbation(perturbation: Perturbation) -> None:
    """The shared suite on grey and colour images, odd sizes, one pixel, and either edge long."""
    for shape in ((1, 8, 8), (3, 8, 8), (3, 9, 13), (1, 1, 1), (3, 1, 6), (3, 32, 32)):
        check_perturbation(perturbation, shape)


def _drawn(perturbation: Perturbation, x: NDArray[np.float32], block: int) -> Drawn:
    source = stream(3, "subject", perturbation.kind, block, x)
    return perturbation.draw(source, len(x), x.shape[1:])


def _copied(drawn: Drawn) -> Drawn:
    return tuple(map(_copied, drawn)) if isinstance(drawn, tuple) else drawn.copy()


def _same(a: Drawn, b: Drawn) -> bool:
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    return bool(np.array_equal(a, b))
