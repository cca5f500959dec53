"""The checks that every perturbation must pass."""

from __future__ import annotations

from dataclasses import is_dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.engine.device_arrays import draw_rows
from surefoot.engine.streams import stream
from surefoot.perturb._ops.levels import level_of
from surefoot.results import UNIT
from surefoot.subject import Additive, Drawn, Perturbation, View
from surefoot.testing.expect import expect

_ROWS = 16


def check_perturbation(perturbation: Perturbation, shape: tuple[int, ...]) -> None:
    """Raise where a perturbation breaks a rule: identity at level 0, no side effects, clipping, …

    Also: float32, the same result in any batch, and a level for each row. `shape` is that of one
    row in the layout of its view: (channels, height, width) for images.
    """
    expect(is_dataclass(perturbation), "a perturbation is a frozen dataclass")
    expect(perturbation.__hash__ is not None, "a perturbation is frozen, so it can be hashed")
    expect(isinstance(perturbation.view, View), "its view must be a View")
    level = level_of(perturbation)
    expect(level in perturbation.levels(None), "its own level is outside its levels")
    expect(perturbation.levels(UNIT).low == 0, "its levels must begin at 0, the identity")
    expect("{level}" in perturbation.phrase, "its phrase must contain {level}")
    x = np.random.default_rng(5).random((_ROWS, *shape), dtype=np.float32)
    before = x.copy()
    drawn = _drawn(perturbation, x, block=0)
    drawn_before = _copied(drawn)
    identity = perturbation.apply(x, drawn, 0.0, UNIT)
    expect(np.array_equal(identity, x), "level 0 must return the input, value for value")
    expect(identity is not x, "apply must return a fresh array")
    out = perturbation.apply(x, drawn, level, UNIT)
    expect(np.array_equal(x, before), "apply changed its input")
    expect(_same(drawn, drawn_before), "apply changed what was drawn")
    expect(
        out.shape == x.shape and out.dtype == np.float32,
        f"apply must return float32 of shape {x.shape}, got {out.dtype} of shape {out.shape}",
    )
    expect(bool((out >= 0).all() and (out <= 1).all()), "apply must clip to the bounds")
    expect(bool(np.isfinite(out).all()), "apply returned NaN or infinite values")
    again = _drawn(perturbation, x, block=0)
    expect(_same(drawn, again), "the same stream must give the same draws")
    _check_rows(perturbation, x, drawn, out)
    additive: Additive | None = getattr(perturbation, "additive", None)
    if additive is not None:
        noisy = x + np.float32(level_of(perturbation)) * (drawn * additive.factor + additive.shift)
        expect(np.allclose(np.clip(noisy, 0, 1), out, atol=1e-6), "apply is not its additive noise")


def _check_rows(
    perturbation: Perturbation, x: NDArray[np.float32], drawn: Drawn, out: NDArray[np.float32]
) -> None:
    """A row is the same alone, in any batch and beside rows of other levels."""
    level = level_of(perturbation)
    for i in (0, _ROWS - 1):
        alone = perturbation.apply(x[i : i + 1], draw_rows(drawn, i, i + 1), level, UNIT)
        expect(np.array_equal(alone[0], out[i]), "a row depends on the rest of the batch")
    shared = perturbation.apply(x[:1], drawn, level, UNIT)
    expect(shared.shape == x.shape, "one input must be accepted for many draws")
    expect(np.allclose(shared[0], out[0], atol=1e-5), "one input for many draws changes a row")
    each = perturbation.apply(x, drawn, np.full(_ROWS, level, np.float32), UNIT)
    expect(np.allclose(each, out, atol=2e-4), "the same level for each row gives another result")
    levels = np.full(_ROWS, level, np.float32)
    levels[::2] = 0
    mixed = perturbation.apply(x, drawn, levels, UNIT)
    expect(np.array_equal(mixed[::2], x[::2]), "a row of level 0 must be returned as it is")
    expect(np.array_equal(mixed[1::2], each[1::2]), "a row depends on the levels of other rows")


def check_image_perturbation(perturbation: Perturbation) -> None:
    """`check_perturbation` on grey and colour images, odd sizes, one pixel and long edges."""
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
