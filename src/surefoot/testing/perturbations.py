"""The checks that every perturbation must pass; each says what to change where it does not."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import is_dataclass
from itertools import cycle, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.core.results import UNIT, Interval
from surefoot.engine.devices import draw_rows
from surefoot.engine.perturbation_checks import functions_of
from surefoot.engine.streams import stream
from surefoot.errors import InvalidArgument
from surefoot.perturb._ops.arrays import level_of
from surefoot.perturb.custom import InputFormat
from surefoot.subject.items import as_item_array, copy_item, same_item
from surefoot.subject.protocols import Additive, Drawn, Level, Perturbation, View
from surefoot.testing.expect import expect

_ROWS = 16
_TINY = 1e-12
"""The level next to 0, as a share of the perturbation's own."""
_UNCHANGED, _UNCHANGED_BYTES = 1e-4, 1 / 256
"""Mean change that rounding explains: of single precision, and of 256 values a pixel."""
_SCALE = "scale the change with the level, such as x + level * u, and return the input at level 0"
_OWN_RANDOMNESS = "take every random number from rng, or from u, and keep nothing between calls"
_OWN_ROW = "compute row i from row i of x and of u alone, without sums or sorting over axis 0"


def check_perturbation(
    perturbation: Perturbation,
    shape: tuple[int, ...] | None = None,
    *,
    items: Sequence[Any] | None = None,
) -> None:
    """Raise where a perturbation breaks a rule: identity at level 0, no side effects, clipping, …

    Also: float32, the same result twice and in any batch, no global randomness, and a level for
    each row. `shape` is that of one row in the layout of its view: (channels, height, width) for
    images. `items`: a few inputs in place of a shape, for a function of texts, bytes or others.
    The error says which rule is broken and what to change.
    """
    _check_definition(perturbation)
    expect(
        (shape is None) != (items is None),
        "give the shape=(…) of one input, or items=[…], a few inputs as the data have them",
    )
    if items is not None:
        _check_items(perturbation, items)
        return
    x = np.random.default_rng(5).random((_ROWS, *(shape or ())), dtype=np.float32)
    before = x.copy()
    drawn = _drawn(perturbation, x, block=0)
    drawn_before = _copied(drawn)
    level = level_of(perturbation)
    identity = _apply(perturbation, x, drawn, 0.0, UNIT)
    expect(np.array_equal(identity, x), f"level 0 must return the input, value for value: {_SCALE}")
    expect(identity is not x, "apply must return a fresh array: return x.copy() at level 0")
    with _no_global_randomness():
        out = _apply(perturbation, x, drawn, level, UNIT)
    expect(np.array_equal(x, before), "apply changed its input: begin with x = x.copy()")
    expect(_same(drawn, drawn_before), "apply changed what was drawn: write u = u * 2, not u *= 2")
    expect(
        out.shape == x.shape and out.dtype == np.float32,
        f"apply must return float32 of shape {x.shape}, got {out.dtype} of shape {out.shape}: "
        "return as many values as it was given, with astype(np.float32)",
    )
    expect(
        bool(np.isfinite(out).all()),
        "apply returned NaN or infinite values: look for a division by 0 or a root below 0",
    )
    expect(bool((out >= 0).all() and (out <= 1).all()), "apply must clip to the bounds: np.clip")
    again = _drawn(perturbation, x, block=0)
    expect(_same(drawn, again), "the same stream must give the same draws: draw from it alone")
    repeated = _apply(perturbation, x, drawn, level, UNIT)
    expect(np.array_equal(repeated, out), f"the same draws give two results: {_OWN_RANDOMNESS}")
    _check_rows(perturbation, x, drawn, out)
    _check_near_zero(perturbation, x, drawn)
    additive: Additive | None = getattr(perturbation, "additive", None)
    if additive is not None:
        noisy = x + np.float32(level) * (drawn * additive.factor + additive.shift)
        expect(
            np.allclose(np.clip(noisy, 0, 1), out, atol=1e-6),
            "apply is not its additive noise: correct `additive`, or leave it out",
        )


def _check_definition(perturbation: Perturbation) -> None:
    expect(
        is_dataclass(perturbation) and perturbation.__hash__ is not None,
        "a perturbation is a frozen dataclass: write @dataclass(frozen=True), or use "
        "sf.perturb.custom",
    )
    expect(isinstance(perturbation.view, View), "its view must be a View, such as View.VALUES")
    level = level_of(perturbation)
    expect(
        level in perturbation.levels(None), "its own level is outside its levels: correct either"
    )
    expect(
        perturbation.levels(UNIT).low == 0, "its levels must begin at 0, the identity: correct them"
    )
    expect(
        "{level}" in perturbation.phrase,
        "its phrase must contain {level}, where the report writes the level: add it",
    )


def _check_rows(
    perturbation: Perturbation, x: NDArray[np.float32], drawn: Drawn, out: NDArray[np.float32]
) -> None:
    """A row is the same alone, in any batch and beside rows of other levels."""
    level = level_of(perturbation)
    for i in (0, _ROWS - 1):
        alone = _apply(perturbation, x[i : i + 1], draw_rows(drawn, i, i + 1), level, UNIT)
        expect(
            np.array_equal(alone[0], out[i]), f"a row depends on the rest of the batch: {_OWN_ROW}"
        )
    shared = _apply(perturbation, x[:1], drawn, level, UNIT)
    expect(
        shared.shape == x.shape,
        "one input must be accepted for many draws: return a row for each row of the draws",
    )
    expect(
        np.allclose(shared[0], out[0], atol=1e-5),
        f"one input for many draws changes a row: {_OWN_ROW}",
    )
    each = _apply(perturbation, x, drawn, np.full(_ROWS, level, np.float32), UNIT)
    expect(
        np.allclose(each, out, atol=2e-4),
        "the same level for each row gives another result than one level for all: let the level "
        "be a number or an array with one for each row",
    )
    levels = np.full(_ROWS, level, np.float32)
    levels[::2] = 0
    mixed = _apply(perturbation, x, drawn, levels, UNIT)
    expect(
        np.array_equal(mixed[::2], x[::2]), f"a row of level 0 must be returned as it is: {_SCALE}"
    )
    expect(
        np.array_equal(mixed[1::2], each[1::2]),
        f"a row depends on the levels of other rows: {_OWN_ROW}",
    )


def _check_near_zero(perturbation: Perturbation, x: NDArray[np.float32], drawn: Drawn) -> None:
    """A function of the user is not called at level 0; next to it, it must change nothing."""
    functions = functions_of(perturbation)
    if not functions or any(getattr(part, "only", ()) for part in functions):
        return
    formats = {getattr(part, "input_format", None) for part in functions}
    in_bytes = bool(formats & {InputFormat.BYTES, InputFormat.PILLOW})
    near = _apply(perturbation, x, drawn, _TINY * level_of(perturbation), UNIT)
    change = float(np.abs(near - x).mean())
    expect(
        change <= (_UNCHANGED_BYTES if in_bytes else _UNCHANGED),
        f"next to level 0 the function changes its input by {change:.2g} on average, so that a "
        f"curve would begin with a jump: {_SCALE}",
    )


def _check_items(perturbation: Perturbation, items: Sequence[Any]) -> None:
    """The same rules for a function of one item; an item of the same type comes back."""
    expect(len(items) > 0, "items must hold at least one input: give a few as the data have them")
    expect(
        all(getattr(part, "takes_items", False) for part in functions_of(perturbation) or [None]),
        f"{perturbation.kind} is for arrays: give a function of (item, rng, level) to "
        "sf.perturb.custom",
    )
    x = as_item_array(list(islice(cycle(items), max(_ROWS, len(items)))))
    before = as_item_array([copy_item(item) for item in x])
    drawn = _drawn(perturbation, x, block=0)
    level = level_of(perturbation)
    identity = _apply(perturbation, x, drawn, 0.0, None)
    expect(_same_items(identity, before), f"level 0 must return every item as it is: {_SCALE}")
    with _no_global_randomness():
        out = _apply(perturbation, x, drawn, level, None)
    expect(_same_items(x, before), "the function changed the item it was given: copy it first")
    repeated = _apply(perturbation, x, drawn, level, None)
    expect(_same_items(repeated, out), f"the same rng gives two results: {_OWN_RANDOMNESS}")
    for i in (len(x) - 1, 0):
        alone = _apply(perturbation, x[i : i + 1], draw_rows(drawn, i, i + 1), level, None)
        expect(
            _same_items(alone, out[i : i + 1]),
            f"an item depends on the calls before it: {_OWN_RANDOMNESS}",
        )
    near = _apply(perturbation, x, drawn, _TINY * level, None)
    expect(
        _same_items(near, before),
        "next to level 0 the function changes an item, so that a curve would begin with a jump: "
        "let it change less as the level falls, and nothing at 0",
    )


def check_image_perturbation(perturbation: Perturbation) -> None:
    """`check_perturbation` on grey and colour images, odd sizes, one pixel and long edges.

    A perturbation of colours (`needs_channels`) meets colour images alone.
    """
    for shape in ((1, 8, 8), (3, 8, 8), (3, 9, 13), (1, 1, 1), (3, 1, 6), (3, 32, 32)):
        if getattr(perturbation, "needs_channels", shape[0]) == shape[0]:
            check_perturbation(perturbation, shape)


def _apply(
    perturbation: Perturbation, x: NDArray[Any], drawn: Drawn, level: Level, bounds: Interval | None
) -> NDArray[Any]:
    """What it returns; a refusal of the package is a broken rule here."""
    try:
        out: NDArray[Any] = perturbation.apply(x, drawn, level, bounds)
    except InvalidArgument as error:
        raise AssertionError(f"{error}: correct what the function returns or does") from error
    return out


@contextmanager
def _no_global_randomness() -> Iterator[None]:
    """Refuse a function that draws from the random numbers that all of a program share."""
    before = _global_state()
    yield
    expect(
        _global_state() == before,
        f"it uses global random numbers (np.random or random): {_OWN_RANDOMNESS}",
    )


def _global_state() -> tuple[object, ...]:
    """Where the random numbers of NumPy and of Python that a whole program shares are."""
    numpy_state: Any = np.random.get_state()  # noqa: NPY002  code of others draws from it
    return numpy_state[1].tobytes(), numpy_state[2:], random.getstate()


def _drawn(perturbation: Perturbation, x: NDArray[Any], block: int) -> Drawn:
    source = stream(3, "subject", perturbation.kind, block, x)
    return perturbation.draw(source, len(x), x.shape[1:])


def _copied(drawn: Drawn) -> Drawn:
    return tuple(map(_copied, drawn)) if isinstance(drawn, tuple) else drawn.copy()


def _same(a: Drawn, b: Drawn) -> bool:
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    return bool(np.array_equal(a, b))


def _same_items(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return len(a) == len(b) and all(map(same_item, a, b))
