"""Functions of users as perturbations, one input at a time or a batch, and the values they take."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, fields
from enum import StrEnum
from numbers import Real
from typing import Any, ClassVar, overload

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray
from PIL import Image

from surefoot.core.results import UNIT, Interval
from surefoot.errors import InvalidArgument
from surefoot.perturb._ops.arrays import clip, copy_rows, level_per_row
from surefoot.perturb._ops.definition import ANY_LEVEL, perturbation
from surefoot.perturb.compose import RandomLevel
from surefoot.subject.items import as_item_array, copy_item, is_image
from surefoot.subject.protocols import (
    Array,
    HostArray,
    Item,
    Level,
    Perturbation,
    Stream,
    View,
    to_host,
)
from surefoot.system.user_code import describe_function, named_errors

Function = Callable[..., Item]
"""What a user gives: of an input or a batch, its random numbers and the level."""


class InputFormat(StrEnum):
    """In which values a function takes an input, and returns it."""

    MODEL = "model"
    """float32, as the model takes them."""
    UNIT = "unit"
    """float32 in [0, 1]."""
    BYTES = "bytes"
    """uint8 from 0 to 255: smaller differences are lost."""
    PILLOW = "pillow"
    """A Pillow image of 256 levels."""


def to_format(row: NDArray[np.float32], input_format: InputFormat, bounds: Interval) -> Item:
    """A copy of the row in this format."""
    if input_format is InputFormat.MODEL:
        return np.array(row, dtype=np.float32, order="C")
    unit = np.ascontiguousarray((row - np.float32(bounds.low)) / np.float32(bounds.width))
    if input_format is InputFormat.UNIT:
        return unit
    pixels = np.clip(np.round(unit * 255), 0, 255).astype(np.uint8)
    if input_format is InputFormat.BYTES:
        return pixels
    return Image.fromarray(pixels[0] if len(pixels) == 1 else np.moveaxis(pixels, 0, -1))


def channels_first(image: Item) -> HostArray:
    """A grey image, or one with its channels last."""
    pixels = np.asarray(image)
    return pixels[None] if pixels.ndim == 2 else np.moveaxis(pixels, -1, 0)


def as_array(out: Item) -> Item:
    """What a function returned, as an array in main memory with channels first."""
    if isinstance(out, Image.Image):
        return channels_first(out)
    return to_host(out) if hasattr(out, "detach") else out


def from_format(
    result: HostArray, input_format: InputFormat, bounds: Interval
) -> NDArray[np.float32]:
    """The values as the model takes them."""
    values = np.asarray(result).astype(np.float32)
    if input_format is InputFormat.MODEL:
        return values
    if input_format is not InputFormat.UNIT or result.dtype == np.uint8:
        values /= np.float32(255)
    values *= np.float32(bounds.width)
    values += np.float32(bounds.low)
    return values


@dataclass(frozen=True)
class _OfUser:
    """What perturbations share that are a function of the user."""

    level: float | None
    function: Function = field(hash=False)
    name: str = "custom"

    @property
    def kind(self) -> str:
        """Its name."""
        return self.name

    def describe(self) -> dict[str, Any]:
        """The fields as JSON can hold them: the function by its name and a digest of its source."""
        described = {own.name: getattr(self, own.name) for own in fields(self)}
        for name, value in described.items():
            if isinstance(value, tuple | StrEnum):
                described[name] = list(value) if isinstance(value, tuple) else str(value)
        return {**described, "function": describe_function(self.function)}


@perturbation
class Batched(_OfUser):
    """function(x, u, level) returns the perturbed rows; u is its only source of randomness.

    x is (n, …), a copy that it may write into. u holds independent uniform numbers in [0, 1): one
    for each value of x when `draws` is 0, one for each row, shaped to multiply x, when it is 1,
    otherwise (n, draws), or (n, *draws) for a tuple. Row i of the result may depend on row i of x
    and u only. `level` is a number, or an array with one for each row, shaped to multiply x. The
    function is not called at level 0.
    """

    draws: int | tuple[int, ...] = 0
    view: View = View.VALUES
    levels = ANY_LEVEL

    def __post_init__(self) -> None:
        _check_definition(self.name, self.function, self.view)
        if isinstance(self.draws, list):
            object.__setattr__(self, "draws", tuple(self.draws))
        sizes = (self.draws or 1,) if isinstance(self.draws, int) else self.draws
        if not isinstance(sizes, tuple) or any(not isinstance(d, int) or d < 1 for d in sizes):
            raise InvalidArgument(
                f"{self.name}: draws must be how many uniform numbers a row gets, or their shape, "
                f"or 0 for one each value, got {self.draws!r}"
            )

    @property
    def phrase(self) -> str:
        """Its name: only the function knows what it does."""
        return f"{_escape_braces(self.name)}, a function of the user, at level {{level}}"

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """Uniform in [0, 1)."""
        each = tuple(1 for _ in shape) if self.draws == 1 else self.draws or tuple(shape)
        return stream.uniform((n, *((each,) if isinstance(each, int) else each)))

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """The result of the function, checked and clipped."""
        xp = array_namespace(x)
        rows = copy_rows(x, len(drawn))
        if isinstance(drawn, np.ndarray):
            drawn = drawn.view()
            drawn.flags.writeable = False
        strength = level_per_row(level, rows)
        with named_errors(self.name):
            out = self.function(rows, drawn, strength)
        _check_shape(self.name, out, (len(drawn), *x.shape[1:]))
        out = xp.astype(out, xp.float32)
        _check_finite(self.name, bool(xp.all(xp.isfinite(out))), level)
        if not isinstance(level, int | float):
            out = xp.where(strength == 0, x, out)
        return clip(out, bounds)


@perturbation
class OneByOne(_OfUser):
    """function(image, rng, level) returns the perturbed image; on the CPU, one row at a time.

    `image` is one row in the layout of `view` and the values of `input_format`, (channels, height,
    width) for an image: a copy that it may write into. With `View.VALUES` it is the input as the
    data have it: an array, or a text, bytes or another item, of which it returns one of the same
    type. `rng` is a NumPy generator of this row and trial alone. `only` lists the levels there are,
    when not all mean something. The function is
    not called at level 0. If it has a method `around`, a batch is done within that context.
    """

    seeds_generator: ClassVar[bool] = True
    view: View = View.IMAGE
    input_format: InputFormat = InputFormat.MODEL
    only: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        _check_definition(self.name, self.function, self.view)
        self._check_only(self.level)
        if self.input_format is InputFormat.PILLOW and self.view is not View.IMAGE:
            raise InvalidArgument(
                f"{self.name}: view must be View.IMAGE for Pillow images, got View.{self.view.name}"
            )

    @property
    def takes_items(self) -> bool:
        """Whether it can be given text, bytes and other items: inputs as the data have them."""
        return self.view is View.VALUES and self.input_format is InputFormat.MODEL

    @property
    def phrase(self) -> str:
        """Its name, and that it is slow."""
        what = "image" if self.view is View.IMAGE else "input"
        return f"{_escape_braces(self.name)} (CPU, one {what} at a time) at level {{level}}"

    def levels(self, bounds: Interval | None) -> Interval:
        """Any, or up to the highest of the only ones there are."""
        return Interval(0.0, max(self.only)) if self.only else ANY_LEVEL(bounds)

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """Two uniform numbers a trial: the seed of its generator."""
        return stream.uniform((n, 2))

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Row after row."""
        n = len(drawn)
        one = isinstance(level, int | float)
        levels = [level] * n if one else [float(value) for value in to_host(level)]
        for value in dict.fromkeys(levels):
            self._check_only(value)
        rows = to_host(x)
        of_items = rows.dtype == object
        out = []
        with getattr(self.function, "around", nullcontext)():
            for i, (halves, value) in enumerate(zip(to_host(drawn), levels, strict=True)):
                row = rows[i if len(rows) == n else 0]
                if value:
                    rng = row_generator(halves)
                    of_row = self._perturb_item if of_items else self._perturb_row
                    row = of_row(row, rng, value, bounds or UNIT)
                out.append(row)
        if of_items:
            return as_item_array(out)
        done = np.asarray(out, dtype=np.float32).reshape(n, *rows.shape[1:])
        return clip(array_namespace(x).asarray(done, device=device(x)), bounds)

    def _perturb_row(
        self, row: HostArray, rng: np.random.Generator, level: float, bounds: Interval
    ) -> Item:
        image = to_format(row, self.input_format, bounds)
        with named_errors(self.name):
            result = as_array(self.function(image, rng, level))
        _check_shape(self.name, result, row.shape)
        perturbed = from_format(result, self.input_format, bounds)
        _check_finite(self.name, bool(np.isfinite(perturbed).all()), level)
        return perturbed

    def _perturb_item(
        self, item: Item, rng: np.random.Generator, level: float, bounds: Interval
    ) -> Item:
        with named_errors(self.name):
            result = self.function(copy_item(item), rng, level)
        if not isinstance(result, type(item)) and not (is_image(result) and is_image(item)):
            raise InvalidArgument(
                f"{self.name} must return {type(item).__name__}, as it was given, got "
                f"{type(result).__name__}"
            )
        return result

    def _check_only(self, level: float | None) -> None:
        if self.only and level is not None and level not in self.only:
            raise InvalidArgument(
                f"{self.name}: level must be one of "
                f"{', '.join(f'{known:g}' for known in self.only)}, got {level:g}; "
                "0 leaves the input as it is"
            )


def _check_definition(name: str, function: Function, view: View) -> None:
    if not isinstance(name, str) or not name or not name.isprintable():
        raise InvalidArgument(f"the name of a perturbation must be a word, got {name!r}")
    if not callable(function):
        raise InvalidArgument(f"{name}: function must be callable, got {function!r}")
    if not isinstance(view, View):
        raise InvalidArgument(
            f"{name}: view must be one of {', '.join(f'View.{v.name}' for v in View)}, got {view!r}"
        )


def _check_shape(name: str, out: Item, shape: tuple[int, ...]) -> None:
    got = getattr(out, "shape", None)
    if got is None or tuple(got) != tuple(shape):
        what = type(out).__name__ if got is None else f"shape {tuple(got)}"
        raise InvalidArgument(f"{name} must return shape {tuple(shape)}, got {what}")


def _check_finite(name: str, finite: bool, level: Level) -> None:
    if not finite:
        raise InvalidArgument(
            f"{name} returned NaN or infinite values at level {level}: let it return finite numbers"
        )


def _escape_braces(name: str) -> str:
    return name.replace("{", "{{").replace("}", "}}")


def row_generator(halves: NDArray[np.float32]) -> np.random.Generator:
    """The generator of a trial, from 48 bits: 24 of each of its two uniform numbers."""
    high, low = (int(half * 2.0**24) for half in halves.tolist())
    return np.random.default_rng((high << 24) | low)


LevelRange = float | tuple[float, float] | None
"""One level, the lowest and the highest of a random one, or None: open, for curves."""
_FORMS = (
    "write it as function(x, rng, level), one input at a time and a NumPy generator, or as "
    "function(x, u, level), a batch and uniform numbers"
)


@overload
def custom(
    function: Function,
    level: LevelRange = None,
    *,
    name: str = "",
    draws: int | tuple[int, ...] | None = None,
    view: View = View.VALUES,
) -> Perturbation: ...
@overload
def custom(
    function: LevelRange = None,
    level: LevelRange = None,
    *,
    name: str = "",
    draws: int | tuple[int, ...] | None = None,
    view: View = View.VALUES,
) -> Callable[[Function], Perturbation]: ...
def custom(
    function: Function | LevelRange = None,
    level: LevelRange = None,
    *,
    name: str = "",
    draws: int | tuple[int, ...] | None = None,
    view: View = View.VALUES,
) -> Perturbation | Callable[[Function], Perturbation]:
    """A perturbation from a function: `custom(swap_letters, level=0.1)`, `@custom(0.1)` above one.

    The name of its second parameter says what it is given. `rng`: one input at a time, as the data
    have it (an array, a text, bytes, …), and a NumPy generator (`OneByOne`). `u`: a batch of arrays
    and uniform numbers (`Batched`; `draws` says how many). `level` is a number, two for a level
    drawn uniformly between them in each trial, or left open for curves.
    """
    if not callable(function) and function is not None and level is not None:
        raise InvalidArgument(f"custom: the function must be callable, got {function!r}: {_FORMS}")
    chosen = level if callable(function) or function is None else function

    def to_perturbation(own: Function) -> Perturbation:
        title = str(getattr(own, "__name__", "custom")).replace("_", "-")
        kind = name or title.replace("<lambda>", "custom")
        _check_levels(kind, chosen)
        low, high = chosen if isinstance(chosen, tuple | list) else (None, chosen)
        inner: Perturbation
        if draws is not None or second_parameter(own, kind) == "u":
            inner = Batched(high, own, kind, draws or 0, view)
        else:
            inner = OneByOne(high, own, kind, view)
        if low is None or high is None:
            return inner
        if not 0 <= low < high:
            raise InvalidArgument(
                f"{kind}: a range of levels runs from a lower to a higher one, at least 0, got "
                f"({low:g}, {high:g}): write (0, 1)"
            )
        return RandomLevel(high, inner, round(low / high, 12))

    if callable(function):
        return to_perturbation(function)
    _check_levels("custom", chosen)  # where the decorator is written, before it meets a function
    return to_perturbation


def _check_levels(name: str, level: LevelRange) -> None:
    """Refuse a level that is no number, and no pair of them."""
    ends = level if isinstance(level, tuple | list) else (level, level)
    numbers = all(isinstance(end, Real) and not isinstance(end, bool) for end in ends)
    if level is None or (len(ends) == 2 and numbers):
        return
    raise InvalidArgument(
        f"{name}: level must be a number such as 0.1, two such as (0, 0.5), or left out, "
        f"got {level!r}"
    )


def second_parameter(function: Function, name: str) -> str:
    """`rng` or `u`; refused where it is neither."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        names = []
    second = names[1] if len(names) > 1 else ""
    if len(names) < 3 or second not in ("rng", "generator", "u"):
        got = f"({', '.join(names)})" if names else "no parameters that can be read"
        raise InvalidArgument(f"{name} takes {got}: {_FORMS}")
    return "u" if second == "u" else "rng"
