"""VNN-LIB 1.0: "a box around x, label y" for other provers, and back.

A written property asks for a counterexample: inputs X in the box and outputs Y where another score
is at least the label's. Bounds are rounded outwards, so that a proof of the file proves the box.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.graph.network import Floats

_DIGITS = 17
"""Decimal digits that give back any float64."""
_BOUND = re.compile(r"\(assert\s+\((<=|>=)\s+X_(\d+)\s+([-+.\deE]+)\s*\)\s*\)")
_OUTPUT = re.compile(r"\(\s*(<=|>=)\s+Y_(\d+)\s+Y_(\d+)\s*\)")
_COUNT = re.compile(r"\(declare-const\s+([XY])_(\d+)\s+Real\s*\)")


@dataclass(frozen=True, eq=False)
class BoxProperty:
    """No input between `lower` and `upper` may give another label than `label`."""

    lower: Floats
    upper: Floats
    label: int
    classes: int


@dataclass(frozen=True)
class Instance:
    """A line of instances.csv: a network's file, a property's file, seconds allowed."""

    network: str
    property: str
    seconds: float


def box_property(
    x: NDArray[np.floating],
    label: int,
    radius: float,
    classes: int,
    *,
    low: float = 0.0,
    high: float = 1.0,
) -> BoxProperty:
    """The box of `radius` about x within [low, high], rounded outwards but never out of it."""
    flat = np.asarray(x, np.float64).reshape(-1)
    lower = np.maximum(np.nextafter(flat - radius, -np.inf), low)
    upper = np.minimum(np.nextafter(flat + radius, np.inf), high)
    return BoxProperty(lower, upper, label, classes)


def write_property(box: BoxProperty) -> str:
    """The text of a VNN-LIB file."""
    lines = [f"; label {box.label} is kept in the box: unsat means proved"]
    lines += [f"(declare-const X_{i} Real)" for i in range(len(box.lower))]
    lines += [f"(declare-const Y_{j} Real)" for j in range(box.classes)]
    for i, (lower, upper) in enumerate(zip(box.lower, box.upper, strict=True)):
        lines.append(f"(assert (>= X_{i} {_decimal(float(lower))}))")
        lines.append(f"(assert (<= X_{i} {_decimal(float(upper))}))")
    beaten = [f"    (and (>= Y_{j} Y_{box.label}))" for j in range(box.classes) if j != box.label]
    return "\n".join([*lines, "(assert (or", *beaten, "))", ""])


def _decimal(value: float) -> str:
    """Decimal digits that read back as the very same number."""
    return f"{value:.{_DIGITS}g}"


def read_property(text: str) -> BoxProperty:
    """A property of the form `write_property` writes; anything else is refused."""
    plain = re.sub(r";[^\n]*", "", text)
    names = {(kind, int(i)) for kind, i in _COUNT.findall(plain)}
    inputs = sum(kind == "X" for kind, _ in names)
    classes = len(names) - inputs
    lower, upper = np.full(inputs, -math.inf), np.full(inputs, math.inf)
    for relation, index, number in _BOUND.findall(plain):
        i, value = int(index), float(number)
        if i >= inputs:
            raise InvalidArgument(
                f"X_{i} is bounded but not declared: add (declare-const X_{i} Real)"
            )
        if relation == ">=":
            lower[i] = max(lower[i], value)
        else:
            upper[i] = min(upper[i], value)
    if not (inputs and np.isfinite(lower).all() and np.isfinite(upper).all()):
        raise InvalidArgument(
            "every input of a property needs a lower and an upper bound, got some without: add them"
        )
    return BoxProperty(lower, upper, _label(plain, classes), classes)


def _label(plain: str, classes: int) -> int:
    rest = _COUNT.sub("", _BOUND.sub("", plain))
    pairs = [
        (int(b), int(a)) if rel == ">=" else (int(a), int(b)) for rel, a, b in _OUTPUT.findall(rest)
    ]
    labels = {label for label, _ in pairs}
    others = sorted(other for _, other in pairs)
    shape = re.sub(r"\s+", " ", _OUTPUT.sub("", rest)).strip()
    left_over = re.sub(r"\(assert|\(or|\(and|[() ]", "", shape)
    label = labels.pop() if len(labels) == 1 else -1
    if label < 0 or left_over or others != [j for j in range(classes) if j != label]:
        raise InvalidArgument(
            "only properties of the form 'no other score reaches that of the one label' are read: "
            "this one differs; write the file with surefoot critical --vnnlib"
        )
    if classes > 2 and "(or" not in shape:
        raise InvalidArgument(
            "the property must ask for any score above the label's, got all at once: join them "
            "by (or …)"
        )
    return label


def write_instances(instances: list[Instance]) -> str:
    """The text of instances.csv."""
    return "".join(f"{i.network},{i.property},{i.seconds:g}\n" for i in instances)
