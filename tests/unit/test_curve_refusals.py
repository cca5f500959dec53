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


EVERYWHERE = {
    "low": (1.0, 2.0, math.nan, -math.inf),
    "high": (math.inf,),
    "thresholds": ((), (0.0,), (1.0,), (80.0,), (0.8, -0.1), (math.nan,), (0.8, 0.7, 0.8)),
    "size": (0, -3),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in EVERYWHERE.items() for v in vs])
def test_every_curve_refuses_what_makes_no_sense(kind, name, value):
    words = refusal(kind, **{name: value})
    if isinstance(value, tuple):
        twice = len(set(value)) < len(value)
        assert (str(list(value)) if twice else f"got {value[-1]:g}" if value else "0.8") in words
    else:
        assert f"{value:g}" in words.partition("got ")[2]


COMPARED = (UniformCurve, RandomCurve, QuadCurve)
ALONE = [
    ((AdaptiveCurve,), "curvature", (0.0, -128.0, math.inf, math.nan), "try 128"),
    ((AdaptiveCurve,), "grid", (1, 0, -5, 2**20 + 1), "try 1024"),
    ((AdaptiveCurve,), "step", (0.0, -0.1, 0.51, 1e-7, 1.0, math.nan, math.inf), "try 0.001"),
    (COMPARED, "levels", (1, 0, -2, 100_001), "levels"),
    ((SequentialCurve,), "error", (0.0, 1.0, math.nan), "try 0.05"),
    ((SequentialCurve,), "resolution", (0.0, 0.6, 9e-6, math.nan), "try 0.001"),
    ((SequentialCurve,), "clean", (math.inf,), "try 0"),
]


@pytest.mark.parametrize(("kinds", "name", "values", "way_out"), ALONE)
def test_a_number_that_makes_no_sense_is_refused_with_the_way_out(kinds, name, values, way_out):
    for kind in kinds:
        for value in values:
            words = refusal(kind, **{name: value})
            assert way_out in words
            assert f"got {value:g}" in words or f"got {value}" in words


@pytest.mark.parametrize(
    ("kind", "settings", "words"),
    [
        (AdaptiveCurve, {"step": 0.001, "grid": 512}, "got both: 0.001 and 512"),
        (QuadCurve, {"levels": 41, "thresholds": (0.7, 0.8)}, "got 41 for 2"),
        (SequentialCurve, {"scope": "world"}, "the set or the population, got 'world'"),
        (SequentialCurve, {"measure": "loss"}, "accuracy or confidence, got 'loss'"),
        (SequentialCurve, {"assume": "smooth"}, "'smooth': choose bounded-rise"),
        (SequentialCurve, {"scope": "population", "assume": "curvature:60"}, "is not for a popul"),
        (
            SequentialCurve,
            {"scope": "population", "assume": "monotone", "measure": "confidence"},
            "not about confidence",
        ),
        (SequentialCurve, {"size": 0, "scope": "population"}, "got 0: give size"),
    ],
)
def test_what_does_not_go_together_is_refused(kind, settings, words):
    assert words in refusal(kind, **settings)


@pytest.mark.parametrize("kind", KINDS)
def test_the_widest_of_what_is_allowed_is_taken(kind):
    Session(kind(-1e6, 1e6, (1 - 1e-9, 1e-9), size=1))
    Session(kind(0.0, 1e-9, (0.5,), size=1))
    Session(QuadCurve(0.0, 1.0, (0.7, 0.8), levels=42, size=1))
    for step in (1e-6, 0.5):
        Session(AdaptiveCurve(0.0, 1.0, step=step, size=1))
