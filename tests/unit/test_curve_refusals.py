"""What the curve methods refuse, each time with the value and a way out."""

import math

import pytest

from surefoot.core.procedure import Session
from surefoot.curves import SequentialCurve
from surefoot.curves.published import AdaptiveCurve, QuadCurve, RandomCurve, UniformCurve
from surefoot.errors import InvalidArgument

KINDS = [AdaptiveCurve, UniformCurve, RandomCurve, QuadCurve, SequentialCurve]


def refusal(kind, **settings):
    with pytest.raises(InvalidArgument) as refused:
        Session(kind(**{"low": 0.0, "high": 1.0, "size": 10, **settings}))
    return str(refused.value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"low": 1.0}, "got 1 to 1"),
        ({"low": 2.0}, "got 2 to 1"),
        ({"low": math.nan}, "got nan to 1"),
        ({"high": math.inf}, "got 0 to inf"),
        ({"low": -math.inf}, "got -inf to 1"),
        ({"thresholds": ()}, "0.8 gives the levels at which 80 % are still right"),
        ({"thresholds": (0.0,)}, "above 0 and below 1, got 0: write 0.8"),
        ({"thresholds": (1.0,)}, "above 0 and below 1, got 1: write 0.8"),
        ({"thresholds": (80.0,)}, "got 80: write 0.8 for 80 %"),
        ({"thresholds": (0.8, -0.1)}, "got -0.1"),
        ({"thresholds": (math.nan,)}, "got nan"),
        ({"thresholds": (0.8, 0.7, 0.8)}, "[0.8, 0.7, 0.8] name one of them twice"),
        ({"size": 0}, "got 0: give size"),
        ({"size": -3}, "got -3: give size"),
    ],
)
def test_every_curve_refuses_what_makes_no_sense(kind, settings, words):
    assert words in refusal(kind, **settings)


@pytest.mark.parametrize("value", [0.0, -128.0, math.inf, math.nan])
@pytest.mark.parametrize("as_printed", [False, True])
def test_curvature_is_a_positive_number(value, as_printed):
    words = refusal(AdaptiveCurve, curvature=value, as_printed=as_printed)
    assert f"got {value:g}: try 128" in words


@pytest.mark.parametrize("value", [1, 0, -5, 2**20 + 1])
def test_a_grid_is_a_sensible_number_of_levels(value):
    assert f"got {value}: try 1024" in refusal(AdaptiveCurve, grid=value)


@pytest.mark.parametrize("value", [0.0, -0.1, 0.51, 1e-7, 1.0, math.nan, math.inf])
def test_a_step_is_a_share_of_the_range(value):
    assert f"got {value:g}: try 0.001" in refusal(AdaptiveCurve, step=value)


def test_a_step_and_a_grid_are_not_both_taken():
    assert "got both: 0.001 and 512" in refusal(AdaptiveCurve, step=0.001, grid=512)
    for step in (1e-6, 0.5):
        Session(AdaptiveCurve(0.0, 1.0, step=step, size=1))


@pytest.mark.parametrize("kind", [UniformCurve, RandomCurve, QuadCurve])
@pytest.mark.parametrize("value", [1, 0, -2, 100_001])
def test_a_number_of_levels_is_a_sensible_one(kind, value):
    assert f"got {value}" in refusal(kind, levels=value)


def test_quad_needs_one_rule_for_every_threshold():
    assert "got 41 for 2" in refusal(QuadCurve, levels=41, thresholds=(0.7, 0.8))
    Session(QuadCurve(0.0, 1.0, (0.7, 0.8), levels=42, size=1))


@pytest.mark.parametrize("kind", KINDS)
def test_the_widest_of_what_is_allowed_is_taken(kind):
    Session(kind(-1e6, 1e6, (1 - 1e-9, 1e-9), size=1))
    Session(kind(0.0, 1e-9, (0.5,), size=1))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"error": 0.0}, "error must lie between 1e-9 and 1, got 0.0: it is 1 - confidence, try"),
        ({"error": 1.0}, "got 1.0: it is 1 - confidence, try 0.05"),
        ({"error": math.nan}, "got nan: it is 1 - confidence"),
        ({"resolution": 0.0}, "a share of the range between 1e-05 and 0.5, got 0: try 0.001"),
        ({"resolution": 0.6}, "got 0.6: try 0.001"),
        ({"resolution": 9e-6}, "got 9e-06: try 0.001"),
        ({"resolution": math.nan}, "got nan: try 0.001"),
        ({"scope": "world"}, "a curve is about the set or the population, got 'world'"),
        ({"measure": "loss"}, "a curve is of accuracy or confidence, got 'loss'"),
        ({"clean": math.inf}, "clean is the level of the clean input, got inf: try 0"),
        ({"assume": "smooth"}, "there is no assumption 'smooth': choose wiggle:0.01"),
        (
            {"scope": "population", "assume": "curvature:60"},
            "'curvature:60' is not for a population: use wiggle:0.01, one-crossing or monotone",
        ),
        (
            {"scope": "population", "assume": "monotone", "measure": "confidence"},
            "monotone is about inputs that fail, not about confidence: use wiggle:0.01",
        ),
    ],
)
def test_the_default_curve_refuses_what_makes_no_sense(settings, words):
    assert words in refusal(SequentialCurve, **settings)


@pytest.mark.parametrize("scope", ["set", "population"])
def test_a_curve_of_no_inputs_is_refused_before_anything_is_asked(scope):
    assert "got 0: give size" in refusal(SequentialCurve, size=0, scope=scope)
