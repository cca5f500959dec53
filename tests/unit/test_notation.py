"""How a command line writes perturbations."""

import pytest

from surefoot.catalogue.parse import at_level, level_reader, parse_perturbation, parse_range
from surefoot.catalogue.registry import entries
from surefoot.core.results import Interval
from surefoot.perturb import Chain, GaussianNoise, LinfNoise, Mixture, RandomLevel, Rotation
from tests.refusals import refused

mine = LinfNoise(0.25)
SMALL, LARGE = (3, 32, 32), (3, 224, 224)


@pytest.mark.parametrize(
    ("text", "perturbation"),
    [
        ("linf:8/255", LinfNoise(8 / 255)),
        ("rotation:10", Rotation(10.0)),
        ("rotation:10,edge=black", Rotation(10.0, edge="black")),
        ("rotation:-10..10", RandomLevel(10.0, Rotation(10.0), lowest=-1.0)),
        ("linf:0.1..0.2", RandomLevel(0.2, LinfNoise(0.2), lowest=0.5)),
        ("linf:0.1+gaussian:0.2", Chain((LinfNoise(0.1), GaussianNoise(0.2)))),
        ("linf:1e-1 + gaussian:2e+0", Chain((LinfNoise(0.1), GaussianNoise(2.0)))),
        ("linf:0.1|gaussian:0.2", Mixture((LinfNoise(0.1), GaussianNoise(0.2)))),
        ("gaussian:s1", GaussianNoise(0.08)),
        ("gaussian:s1.5", GaussianNoise(0.1)),
        ("gaussian:s1..s3", RandomLevel(0.18, GaussianNoise(0.18), lowest=round(0.08 / 0.18, 12))),
        ("@tests.unit.test_notation:mine", mine),
    ],
)
def test_a_text_is_a_perturbation(text, perturbation):
    assert parse_perturbation(text) == perturbation


def test_severities_follow_the_size_of_the_image():
    assert parse_perturbation("gaussian:s3", SMALL).level == 0.08
    assert parse_perturbation("gaussian:s3", LARGE).level == 0.18
    assert parse_perturbation("gaussian:s0.5", SMALL).level == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("rotaton:10", "rotation"),
        ("qqq:1", "one that exists"),
        ("linf", "needs a level"),
        ("blur", "needs a level: write blur:0.7, or blur:s3 for a published severity"),
        ("linf:", "needs a level"),
        ("linf:x", "'x' is not a number"),
        ("linf:-0.1..0.2", "from 0 to below 1"),
        ("linf:0.3..0.2", "from its lowest to its highest"),
        ("linf:s3", "no published severities"),
        ("gaussian:s7", "from s1 to s5"),
        ("linf:0.1,edge=2", "has no option"),
        ("@tests.unit.test_notation:nothing", "nothing that can be imported"),
        ("@tests.unit.test_notation:SMALL", "not a perturbation"),
        ("@no.such.module:x", "nothing that can be imported"),
        ("table:1,features=missing.toml", "missing.toml"),
        ("table:1", "features=features.toml"),
        ("fog", "fog:s3"),
        ("fog:s3+", "ends with"),
        ("rotation:5..5", "from its lowest to its highest"),
    ],
)
def test_a_mistake_is_named_with_the_way_out(text, sentence):
    refused(sentence, parse_perturbation, text)


@pytest.mark.parametrize(
    ("text", "level"),
    [("snr:20dB", 0.1), ("snr:0db", 1.0), ("snr:-20 dB", 10.0), ("snr:0.3x", 0.3), ("snr:0x", 0.0)],
)
def test_a_signal_to_noise_ratio_is_in_decibels_or_a_ratio_as_written(text, level):
    assert parse_perturbation(text).level == pytest.approx(level)
    assert parse_perturbation(at_level(text, 0.123)).level == 0.123


@pytest.mark.parametrize("text", ["snr:10", "snr:0.1", "snr:0", "snr:10..20", "snr:0..20dB", "snr"])
def test_a_bare_signal_to_noise_ratio_is_refused_with_the_way_out(text):
    refused("20dB", parse_perturbation, text)
    if text != "snr:0":
        refused("20dB", parse_range, text)


def test_a_range_of_signal_to_noise_ratios_begins_at_the_weaker_noise():
    perturbation, span = parse_range("snr:40dB..20dB")
    assert (span.low, span.high) == pytest.approx((0.01, 0.1))
    assert parse_range("snr:20dB")[1].low == 0
    assert perturbation.level is None
    drawn = parse_perturbation("snr:40dB..20dB")
    assert (drawn.level, drawn.lowest) == pytest.approx((0.1, 0.1))
    refused("from a lower to a higher", parse_range, "snr:20dB..40dB")


def test_several_ratios_are_written_with_their_unit():
    assert [level_reader("snr")(part) for part in ["20dB", "0.5x"]] == [0.1, 0.5]
    assert level_reader("linf:0.1")("8/255") == 8 / 255
    refused("needs a unit", level_reader("snr"), "10")
    refused("leave out the range", at_level, "snr:40dB..20dB", 0.1)


def test_levels_replace_the_level_and_keep_the_rest():
    assert at_level("linf", 0.1) == "linf:0.1"
    assert at_level("linf:0.3", 0.1) == "linf:0.1"
    assert at_level("rotation:3,edge=black", 5.0) == "rotation:5.0,edge=black"
    assert at_level("rotation,edge=black", 5.0) == "rotation:5.0,edge=black"
    assert at_level("rotation:-10..10", 5.0) == "rotation:-5.0..5.0"
    refused("one perturbation", at_level, "linf:0.1+gaussian:0.2", 0.1)


LISTED = [entry for entry in entries() if entry.kind != "table"]  # it needs its features too


@pytest.mark.parametrize("entry", LISTED, ids=lambda entry: entry.kind)
def test_the_catalogue_says_the_levels_that_a_range_may_have(entry):
    within = entry.levels.replace("the width of the bounds, if any", "1")
    low, _, high = within.replace("0 and above", "0 to 1").partition(" to ")
    unit = "x" if entry.kind == "snr" else ""
    perturbation, span = parse_range(f"{entry.kind}:{low}{unit}..{high}{unit}")
    assert (span.low, span.high) == (float(low), float(high))
    assert perturbation.levels(Interval(0.0, 1.0)).high >= span.high
    if float(low) < 0:
        assert parse_perturbation(f"{entry.kind}:-{high}..{high}").lowest == -1
        refused("is written in a range: write", parse_perturbation, f"{entry.kind}:-{high}")
    else:
        refused("has no direction", parse_range, f"{entry.kind}:-0.5{unit}..0.5{unit}")
