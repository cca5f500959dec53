"""A perturbation from a function of the user: its second parameter says what it is given."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from numbers import Real
from typing import Any, overload

from surefoot.errors import InvalidArgument
from surefoot.perturb.custom import Batched, OneByOne
from surefoot.perturb.random_level import RandomLevel
from surefoot.subject.protocols import Perturbation, View

Function = Callable[..., Any]
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
    if callable(function):
        return _perturbation(function, level, name, draws, view)
    if function is not None and level is not None:
        raise InvalidArgument(f"custom: the function must be callable, got {function!r}: {_FORMS}")
    chosen = level if function is None else function
    _check_levels("custom", chosen)

    def to_perturbation(own: Function) -> Perturbation:
        return _perturbation(own, chosen, name, draws, view)

    return to_perturbation


def _perturbation(
    function: Function,
    level: LevelRange,
    name: str,
    draws: int | tuple[int, ...] | None,
    view: View,
) -> Perturbation:
    own = str(getattr(function, "__name__", "custom")).replace("_", "-")
    name = name or own.replace("<lambda>", "custom")
    _check_levels(name, level)
    low, high = level if isinstance(level, tuple | list) else (None, level)
    inner: Perturbation
    if draws is not None or second_parameter(function, name) == "u":
        inner = Batched(high, function, name, draws or 0, view)
    else:
        inner = OneByOne(high, function, name, view)
    if low is None or high is None:
        return inner
    if not 0 <= low < high:
        raise InvalidArgument(
            f"{name}: a range of levels runs from a lower to a higher one, at least 0, got "
            f"({low:g}, {high:g}): write (0, 1)"
        )
    return RandomLevel(high, inner, round(low / high, 12))


def _check_levels(name: str, level: Any) -> None:  # noqa: ANN401  whatever the caller passed
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
