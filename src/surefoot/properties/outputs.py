"""Properties of an output beside its reference: how close it is, or what a function says."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.subject.items import on_host, split_numbers
from surefoot.subject.protocols import Array, HostArray, Item, Outputs, Reference, Scores
from surefoot.system.user_code import describe_function, named_errors

_MOST_VALUES = 6
"""Values of an output that are written out: more do not fit beside an image."""
_SHARE_ROUNDING = 1e-12
"""What a mean of overlaps may lose in double precision; less than one pixel in any mask."""
CLEAN = "the clean input"
ROUNDING_SHARE = 0.01
"""Part of a stated limit that the rounding of an output may explain: more would hide failures."""


def at_most(value: float) -> float:
    """The limit of a severity that may be `value` itself, but nothing above it."""
    return math.nextafter(value, math.inf)


def all_but(share: float) -> float:
    """The limit of a share that is lost, where `share` itself may be what is left."""
    return 1 - share + _SHARE_ROUNDING


def check_share(name: str, value: float) -> None:
    """Refuse what is no share above 0."""
    if not 0 < value <= 1:
        raise InvalidArgument(f"{name} must lie above 0 and at most 1, got {value}")


def _target_array(target: Item, shape: tuple[int, ...], name: str) -> NDArray[np.float64]:
    """The true output of one input, as an array of this shape."""
    values = np.asarray(on_host(target))
    if values.dtype.kind not in "fiub":
        raise InvalidArgument(
            f"the target of input {name} is {target!r}: numbers are needed; give an array of them"
        )
    if values.size == math.prod(shape) == 1:
        values = values.reshape(shape)
    if values.shape != shape:
        raise InvalidArgument(
            f"the target of input {name} has shape {values.shape}, and the output of the model "
            f"{shape}: give targets in the shape of the output"
        )
    if not np.isfinite(values).all():
        raise InvalidArgument(f"the target of input {name} holds NaN or infinity: leave it out")
    return values.astype(np.float64)


def target_arrays(
    targets: Sequence[Item], shape: tuple[int, ...], names: Sequence[str]
) -> NDArray[np.float64]:
    """The true outputs of all inputs, each of this shape."""
    pairs = zip(targets, names, strict=True)
    return np.stack([_target_array(target, shape, name) for target, name in pairs])


def rows_of(array: Array) -> Array:
    """All values of each input in one row, in double precision."""
    xp = array_namespace(array)
    return xp.reshape(xp.astype(array, xp.float64), (array.shape[0], -1))


def relative_rounding(array: Array) -> float:
    """Part of a number that is lost at most where it is rounded to the type of the array."""
    xp = array_namespace(array)
    rounded = xp.isdtype(array.dtype, "real floating")
    epsilon = float(xp.finfo(array.dtype).eps) if rounded else 0.0
    return max(epsilon, float(np.finfo(np.float64).eps)) / 2


def threshold_in(array: Array, threshold: float) -> float:
    """The number nearest to a threshold in the type of the array, so that 0.7 is at least 0.7.

    The threshold itself where that type holds none within `ROUNDING_SHARE` of it.
    """
    xp = array_namespace(array)
    if not xp.isdtype(array.dtype, "real floating"):
        return threshold
    if abs(threshold) > float(xp.finfo(array.dtype).max):
        return threshold
    nearest = float(xp.asarray(threshold, dtype=array.dtype))
    return nearest if abs(nearest - threshold) <= ROUNDING_SHARE * abs(threshold) else threshold


def few_words(values: Sequence[Item]) -> str:
    """The first values, the rest as three dots."""
    texts = [f"{v:.4g}" if isinstance(v, float) else str(v) for v in values[:_MOST_VALUES]]
    return ", ".join(texts) + (", …" if len(values) > _MOST_VALUES else "")


class Compared:
    """What properties share that compare with the output for the clean input, or with the target.

    Which of the two is their field `of`.
    """

    of: str
    kind: ClassVar[str]
    provable: ClassVar[bool] = False

    @property
    def reference(self) -> Reference:
        """Which output it is about."""
        return Reference(self.of)

    def check_reference(self) -> None:
        """Refuse another word than those for the two."""
        if self.of not in tuple(Reference):
            known = " or ".join(Reference)
            raise InvalidArgument(f"{self.kind}.of must be {known}, got {self.of!r}")


@dataclass(frozen=True)
class Close(Compared):
    """Every value of the output is at most `tolerance` away from its reference.

    With `share` in its place at most that share of the reference: 0.05 is 5 %. The reference is
    the output for the clean input, or with `of="true"` the target in the data.
    """

    tolerance: float | None = None
    share: float | None = None
    of: str = "predicted"
    kind = "close"
    needs: ClassVar[Scores | None] = Scores.VALUES

    def __post_init__(self) -> None:
        if (self.tolerance is None) == (self.share is None):
            raise InvalidArgument(
                "close needs one tolerance: give a distance, close:0.5 (Close(0.5)), or a share of "
                "the output, close:5% (Close(share=0.05))"
            )
        for name, value in (("tolerance", self.tolerance), ("share", self.share)):
            if value is not None and not 0 <= value < math.inf:
                raise InvalidArgument(f"close.{name} must be a finite number ≥ 0, got {value}")
        self.check_reference()

    @property
    def phrase(self) -> str:
        """What holds."""
        within = f"{self.tolerance:g}" if self.share is None else f"{100 * self.share:g} %"
        truth = "the true value" if self.of == "true" else f"its value for {CLEAN}"
        return f"keep the output within {within} of {truth}"

    @property
    def limit(self) -> float:
        """The severity at which it fails: the next number above the tolerance."""
        return at_most((self.tolerance if self.share is None else self.share) or 0.0)

    def references(
        self, outputs: HostArray, targets: Sequence[Item], names: Sequence[str]
    ) -> NDArray[np.float64]:
        """The clean outputs or the targets; a share of 0 is refused."""
        values = outputs.astype(np.float64)
        if targets:
            values = target_arrays(targets, outputs.shape[1:], names)
        zero = (values == 0).reshape(len(values), -1).any(axis=1)
        if self.share is not None and zero.any():
            what = "target" if targets else "clean output"
            raise InvalidArgument(
                f"the {what} of input {names[int(np.argmax(zero))]} holds a 0, and a share of 0 is "
                "no tolerance: state a distance, such as close:0.5"
            )
        return values

    def severity(self, outputs: Array, references: Array) -> Array:
        """The largest distance over all values, or the largest share.

        Beyond the tolerance what rounding in the type of the outputs explains does not count, as
        far as that is at most `ROUNDING_SHARE` of the tolerance.
        """
        xp = array_namespace(outputs)
        given, expected = rows_of(outputs), rows_of(references)
        unit = xp.ones_like(expected) if self.share is None else xp.abs(expected)
        stated = (self.tolerance if self.share is None else self.share) or 0.0
        distance, allowed = xp.abs(given - expected), stated * unit
        rounding = relative_rounding(outputs) * (xp.abs(given) + xp.abs(expected))
        most = allowed + xp.minimum(rounding, ROUNDING_SHARE * allowed)
        moved = distance / unit
        return xp.max(xp.where((moved > stated) & (distance <= most), stated, moved), axis=1)

    def words(self, output: Item) -> str:
        """The values."""
        return few_words(np.asarray(on_host(output), dtype=np.float64).reshape(-1).tolist())


_BETWEEN = 0.5
"""The limit of a severity that is 0 or 1."""
_MOST_TEXT = 60
"""Characters of an output or an error that are shown: what fits on a line."""


@dataclass(frozen=True)
class Kept(Compared):
    """What a function of two outputs says: `function(reference, output)`, each of one input.

    The reference is the output for the clean input, or with `of="true"` the target in the data.
    Without `below` the function returns True where the output is kept; with it a number that is
    higher the worse the output is, and the output is kept while the number is below it. The same
    outputs must get the same answer.
    """

    function: Callable[[Item, Item], Item]
    name: str = ""
    below: float | None = None
    of: str = "predicted"
    kind = "kept"
    needs: ClassVar[Scores | None] = Scores.OBJECTS

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidArgument(
                f"kept.function must be a function of two outputs, got {self.function!r}"
            )
        if self.below is not None and not math.isfinite(self.below):
            raise InvalidArgument(f"kept.below must be a finite number, got {self.below}")
        self.check_reference()
        if not self.name:
            own = getattr(self.function, "__name__", type(self.function).__name__)
            object.__setattr__(self, "name", own)

    @property
    def phrase(self) -> str:
        """What holds."""
        against = "true output" if self.of == "true" else "output for the clean input"
        below = "" if self.below is None else f", below {self.below:g}"
        return f"pass {self.name}, against the {against}{below}"

    @property
    def yes_or_no(self) -> bool:
        """Whether the function gives no number."""
        return self.below is None

    @property
    def limit(self) -> float:
        """The severity at which it fails."""
        return _BETWEEN if self.below is None else self.below

    def describe(self) -> dict[str, Any]:
        """Its fields, the function by its name, its source and its settings."""
        function = describe_function(self.function)
        return {"function": function, "name": self.name, "below": self.below, "of": self.of}

    def references(
        self, outputs: Outputs, targets: Sequence[Item], names: Sequence[str]
    ) -> list[Item]:
        """The clean outputs or the targets, one by one."""
        return list(targets) if targets else list(outputs)

    def severity(self, outputs: Outputs, references: list[Item]) -> NDArray[np.float64]:
        """0 where it is kept and 1 where it is not, or the number."""
        pairs = zip(references, on_host(outputs), strict=True)
        return np.array([self._one(one, output) for one, output in pairs], dtype=np.float64)

    def _one(self, reference: Item, output: Item) -> float:
        with named_errors(self.name):
            answer = self.function(reference, output)
        answer = answer.item() if hasattr(answer, "item") and np.size(answer) == 1 else answer
        if self.below is None:
            if isinstance(answer, bool):
                return 0.0 if answer else 1.0
            raise InvalidArgument(
                f"{self.name} must return True or False, got {answer!r}: for a number state its "
                "limit, Kept(function, below=0.5)"
            )
        if isinstance(answer, bool) or not isinstance(answer, int | float):
            raise InvalidArgument(
                f"{self.name} must return a number, got {answer!r}: leave out below for True or "
                "False"
            )
        if not math.isfinite(answer):
            raise InvalidArgument(f"{self.name} must return a finite number, got {answer}")
        return float(answer)

    def words(self, output: Item) -> str:
        """The object where it is short, else the first of its numbers."""
        text = " ".join(str(output).split())
        if len(text) <= _MOST_TEXT:
            return text
        numbers = split_numbers(output)[1].tolist()
        return f"{type(output).__name__} of {few_words(numbers)}" if numbers else text[:_MOST_TEXT]
