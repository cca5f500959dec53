"""VNN-LIB files: what is written is read back, and never smaller than the box."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from surefoot.errors import InvalidArgument
from surefoot.verify.vnnlib import (
    Instance,
    box_property,
    read_property,
    write_instances,
    write_property,
)
from tests.unit.vnnlib_instances import read_instances


def test_a_property_is_read_back_bit_by_bit() -> None:
    x = np.random.default_rng(0).uniform(0, 1, 20)
    box = box_property(x, 3, 1 / 30, 5)
    read = read_property(write_property(box))
    assert (read.lower == box.lower).all()
    assert (read.upper == box.upper).all()
    assert (read.label, read.classes) == (3, 5)


def test_the_written_box_holds_the_exact_box() -> None:
    x = np.random.default_rng(1).uniform(0, 1, 50)
    radius = 0.1
    box = box_property(x, 0, radius, 2)
    for lower, upper, centre in zip(box.lower, box.upper, x, strict=True):
        assert Fraction(lower) <= max(Fraction(centre) - Fraction(radius), 0)
        assert Fraction(upper) >= min(Fraction(centre) + Fraction(radius), 1)
    assert (box.lower >= 0).all()
    assert (box.upper <= 1).all()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("label", [0, 1])
def test_small_properties(classes: int, label: int) -> None:
    read = read_property(write_property(box_property(np.array([0.5]), label, 0.1, classes)))
    assert (read.label, read.classes) == (label, classes)


def test_a_negative_tiny_bound_survives() -> None:
    box = box_property(np.array([1e-12]), 0, 1e-9, 2, low=-1.0)
    assert (read_property(write_property(box)).lower == box.lower).all()


def test_other_writers_order_is_read() -> None:
    text = """
    (declare-const X_0 Real) (declare-const Y_0 Real) (declare-const Y_1 Real)
    (assert (<= X_0 0.5)) (assert (>= X_0 0.25)) ; a comment
    (assert (or (and (<= Y_1 Y_0))))
    """
    read = read_property(text)
    assert (read.lower[0], read.upper[0], read.label) == (0.25, 0.5, 1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("(<= X_0", "(<= X_7"), "not declared"),
        (("(assert (<= X_0 0.5))", ""), "lower and an upper"),
        (("(>= Y_0 Y_1)", "(>= Y_0 0.5)"), "one label"),
        (("(>= Y_2 Y_1)", "(>= Y_2 Y_0)"), "one label"),
        (("(and (>= Y_2 Y_1))", ""), "one label"),
        (("(assert (or", "(assert (and"), "any"),
    ],
)
def test_other_properties_are_refused(change: tuple[str, str], words: str) -> None:
    text = """
    (declare-const X_0 Real)
    (declare-const Y_0 Real) (declare-const Y_1 Real) (declare-const Y_2 Real)
    (assert (<= X_0 0.5)) (assert (>= X_0 0.25))
    (assert (or (and (>= Y_0 Y_1)) (and (>= Y_2 Y_1)) ))
    """
    assert read_property(text).label == 1
    with pytest.raises(InvalidArgument, match=words):
        read_property(text.replace(*change))


def test_instances_are_read_back() -> None:
    lines = [Instance("a.onnx", "p/0.vnnlib", 60.0), Instance("b.onnx", "p/1.vnnlib", 0.5)]
    assert read_instances(write_instances(lines)) == lines
