"""A perturbation of one's own, as a function: batched, or one input at a time on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray
from PIL import Image

from surefoot.errors import InvalidArgument, SurefootError
from surefoot.perturb._ops.function_source import describe_function
from surefoot.perturb._ops.levels import (
    ANY_LEVEL,
    check_level,
    clip,
    copy_rows,
    is_zero,
    level_per_row,
)
from surefoot.results import UNIT, Interval
from surefoot.subject import Array, Level, Stream, View


@dataclass(frozen=True)
class Batched:
    """function(x, u, level) gives perturbed rows; it has no other source of randomness than u.

    x is (n, …), a copy it may write into. u holds independent uniform numbers in [0, 1): one for
    each value of x when `draws` is 0, one for each row, shaped to multiply x, when it is 1, else
    (n, draws), or (n, *draws) when that is a tuple. Row i
    of what it gives may depend on row i of x and u only. `level` is a number, or an array with one
    for each row, shaped to multiply x. It is not called at level 0.
    """

    level: float | None
    function: Callable[..., Any] = field(hash=False)
    name: str = "custom"
    draws: int | tuple[int, ...] = 0
    view: View = View.VALUES

    def __post_init__(self) -> None:
        _check_custom(self.name, self.level, self.function, self.view)
        if isinstance(self.draws, list):
            object.__setattr__(self, "draws", tuple(self.draws))
        known = (self.draws or 1,) if isinstance(self.draws, int) else self.draws
        if not isinstance(known, tuple) or any(not isinstance(d, int) or d < 1 for d in known):
            raise InvalidArgument(
                f"{self.name}: draws is how many uniform numbers a row gets, or their shape; 0 is "
                f"one for each value; got {self.draws!r}"
            )

    @property
    def kind(self) -> str:
        """Its name."""
        return self.name

    @property
    def phrase(self) -> str:
        """What it is; only the function knows what it does."""
        return f"{_escape_braces(self.name)}, a function of the user's own, at level {{level}}"

    def describe(self) -> dict[str, Any]:
        """The fields as JSON can hold them: the function by its name and a digest of its source."""
        draws = self.draws if isinstance(self.draws, int) else list(self.draws)
        return {
            "level": self.level,
            "function": describe_function(self.function),
            "name": self.name,
            "draws": draws,
            "view": str(self.view),
        }

    def levels(self, bounds: Interval | None) -> Interval:
        """Any: the function knows what it means."""
        return ANY_LEVEL

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """Uniform in [0, 1)."""
        each = tuple(1 for _ in shape) if self.draws == 1 else self.draws or tuple(shape)
        return stream.uniform((n, *((each,) if isinstance(each, int) else each)))

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """What the function gives, checked and clipped."""
        xp = array_namespace(x)
        given = copy_rows(x, len(drawn))
        if is_zero(level):
            return given
        if isinstance(drawn, np.ndarray):
            drawn = drawn.view()
            drawn.flags.writeable = False
        strength = level_per_row(level, given)
        with _named_errors(self.name):
            out = self.function(given, drawn, strength)
        _check_result(self.name, out, (len(drawn), *x.shape[1:]))
        out = xp.astype(out, xp.float32)
        if not bool(xp.all(xp.isfinite(out))):
            raise InvalidArgument(f"{self.name} gave NaN or infinite values at level {level}")
        if not isinstance(level, int | float):
            out = xp.where(strength == 0, x, out)
        return clip(out, bounds)


@contextmanager
def _named_errors(name: str) -> Iterator[None]:
    """What the user's function raises, as one sentence."""
    try:
        yield
    except SurefootError:
        raise
    except Exception as error:
        told = " ".join(str(error).split())[:200]
        raise InvalidArgument(f"{name} raised {type(error).__name__}: {told}") from error


def custom(
    level: float,
    *,
    name: str = "",
    draws: int | tuple[int, ...] = 0,
    view: View = View.VALUES,
) -> Callable[[Callable[..., Any]], Batched]:
    """`custom(0.1)(lambda x, u, level: x + level * u)`, or `@custom(0.1)` above a function."""

    def made(function: Callable[..., Any]) -> Batched:
        known = str(getattr(function, "__name__", "custom")).replace("_", "-")
        return Batched(level, function, name or known.replace("<lambda>", "custom"), draws, view)

    return made


class InputFormat(StrEnum):
    """In which values a function takes an input, and gives it back."""

    MODEL = "model"
    """float32, as the model takes them."""
    UNIT = "unit"
    """float32 in [0, 1]."""
    BYTES = "bytes"
    """uint8 from 0 to 255: finer steps are lost."""
    PILLOW = "pillow"
    """A Pillow image: 256 steps too."""


@dataclass(frozen=True)
class OneByOne:
    """function(image, rng, level) gives the perturbed image; on the CPU, one row at a time.

    `image` is one row as `view` and `sees` say, (channels, height, width) for an image: a copy it
    may write into. `rng` is a NumPy generator of this row and trial alone. `only` lists the levels
    there are, when not all mean something. It is not called at level 0. If it has a method
    `around`, that gives a context in which a batch is done.
    """

    level: float | None
    function: Callable[..., Any] = field(hash=False)
    name: str = "custom"
    view: View = View.IMAGE
    sees: InputFormat = InputFormat.MODEL
    only: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        _check_custom(self.name, self.level, self.function, self.view)
        self._check_known(self.level)
        if self.sees is InputFormat.PILLOW and self.view is not View.IMAGE:
            raise InvalidArgument(f"{self.name}: sees=PILLOW needs images, not {self.view}")

    @property
    def kind(self) -> str:
        """Its name."""
        return self.name

    @property
    def phrase(self) -> str:
        """What it is, and that it is slow."""
        what = "image" if self.view is View.IMAGE else "input"
        return f"{_escape_braces(self.name)} (CPU, one {what} at a time) at level {{level}}"

    def describe(self) -> dict[str, Any]:
        """The fields as JSON can hold them: the function by its name and a digest of its source."""
        return {
            "level": self.level,
            "function": describe_function(self.function),
            "name": self.name,
            "view": str(self.view),
            "sees": str(self.sees),
            "only": list(self.only),
        }

    def levels(self, bounds: Interval | None) -> Interval:
        """Any, or between the only ones there are."""
        return Interval(0.0, max(self.only)) if self.only else ANY_LEVEL

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """Two uniform numbers a trial: the seed of its generator."""
        return stream.uniform((n, 2))

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Row after row."""
        n = len(drawn)
        if is_zero(level):
            return copy_rows(x, n)
        one = isinstance(level, int | float)
        levels = [level] * n if one else [float(value) for value in _on_host(level)]
        for value in dict.fromkeys(levels):
            self._check_known(value)
        rows = _on_host(x)
        out = np.empty((n, *rows.shape[1:]), dtype=np.float32)
        with getattr(self.function, "around", nullcontext)():
            for i, (halves, value) in enumerate(zip(_on_host(drawn), levels, strict=True)):
                row = rows[i if len(rows) == n else 0]
                out[i] = self._one(row, _seed(halves), value, bounds) if value else row
        xp = array_namespace(x)
        return clip(xp.asarray(out, device=device(x)), bounds)

    def _one(
        self, row: NDArray[np.float32], seed: int, level: float, bounds: Interval | None
    ) -> NDArray[np.float32]:
        given = _to_function(row, self.sees, bounds or UNIT)
        with _named_errors(self.name):
            back = _as_array(self.function(given, np.random.default_rng(seed), level))
        _check_result(self.name, back, row.shape)
        found = _from_function(back, self.sees, bounds or UNIT)
        if not np.isfinite(found).all():
            raise InvalidArgument(f"{self.name} gave NaN or infinite values at level {level}")
        return found

    def _check_known(self, level: float | None) -> None:
        if self.only and level is not None and level not in self.only:
            raise InvalidArgument(
                f"{self.name} has no level {level:g}: choose one of "
                f"{', '.join(f'{known:g}' for known in self.only)}, 0 leaves the input as it is"
            )


def _check_custom(name: str, level: float | None, function: Any, view: Any) -> None:  # noqa: ANN401
    if not isinstance(name, str) or not name or not name.isprintable():
        raise InvalidArgument(f"a perturbation's name is a word, got {name!r}")
    check_level(name, level)
    if not callable(function):
        raise InvalidArgument(f"{name}: the function cannot be called, got {function!r}")
    if not isinstance(view, View):
        raise InvalidArgument(
            f"{name}: the view is one of {', '.join(f'View.{v.name}' for v in View)}, got {view!r}"
        )


def _check_result(name: str, out: Any, shape: tuple[int, ...]) -> None:  # noqa: ANN401
    got = getattr(out, "shape", None)
    if got is None or tuple(got) != tuple(shape):
        what = type(out).__name__ if got is None else f"shape {tuple(got)}"
        raise InvalidArgument(f"{name} must give back shape {tuple(shape)}, got {what}")


def _escape_braces(name: str) -> str:
    return name.replace("{", "{{").replace("}", "}}")


def _seed(halves: NDArray[np.float32]) -> int:
    """48 bits, 24 from each uniform number."""
    high, low = (int(half * 2.0**24) for half in halves.tolist())
    return (high << 24) | low


def _on_host(x: Array) -> NDArray[Any]:
    return x if isinstance(x, np.ndarray) else np.asarray(x.detach().cpu())


def _to_function(row: NDArray[np.float32], sees: InputFormat, bounds: Interval) -> Any:  # noqa: ANN401
    """A copy of the row in the values that the function sees."""
    if sees is InputFormat.MODEL:
        return np.array(row, dtype=np.float32, order="C")
    unit = np.ascontiguousarray((row - np.float32(bounds.low)) / np.float32(bounds.width))
    if sees is InputFormat.UNIT:
        return unit
    whole = np.clip(np.round(unit * 255), 0, 255).astype(np.uint8)
    if sees is InputFormat.BYTES:
        return whole
    return Image.fromarray(whole[0] if len(whole) == 1 else np.moveaxis(whole, 0, -1))


def _as_array(out: Any) -> Any:  # noqa: ANN401
    """What a function gave, as an array in main memory with channels first."""
    if isinstance(out, Image.Image):
        image = np.asarray(out)
        return image[None] if image.ndim == 2 else np.moveaxis(image, -1, 0)
    return np.asarray(out.detach().cpu()) if hasattr(out, "detach") else out


def _from_function(back: NDArray[Any], sees: InputFormat, bounds: Interval) -> NDArray[np.float32]:
    """In the values of the model again."""
    found = np.asarray(back).astype(np.float32)
    if sees is InputFormat.MODEL:
        return found
    if sees is not InputFormat.UNIT or back.dtype == np.uint8:
        found /= np.float32(255)
    found *= np.float32(bounds.width)
    found += np.float32(bounds.low)
    return found
