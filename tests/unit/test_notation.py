"""How a command line writes perturbations, and what is built from several."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kstest

from surefoot.catalogue.parse import at_level, level_reader, parse_perturbation, parse_range
from surefoot.catalogue.registry import entries
from surefoot.core.results import Interval
from surefoot.engine.streams import stream
from surefoot.perturb import Chain, GaussianNoise, LinfNoise, Mixture, RandomLevel, Rotation
from surefoot.perturb.signal import Gain
from surefoot.subject.protocols import View
from surefoot.testing import check_image_perturbation, check_perturbation
from tests.refusals import refused
from tests.unit.test_perturb_weather import images

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
        ("rotaton:10", r"do you mean rotation:10\?"),
        ("gausian:0.1,x=2", r"do you mean gaussian:0.1,x=2\?"),
        ("gaussian=0.1", r"do you mean gaussian:0.1\?"),
        ("linf:0.1+gausian 0.2", r"do you mean gaussian:0.2\?"),
        ("gaussian,edge=2", r"needs a level: write gaussian:0.08,edge=2"),
        ("fogg", r"do you mean fog\?"),
        ("=0.1", "one that exists"),
        ("qqq:1", "one that exists"),
        ("linf", "needs a level"),
        ("blur", "needs a level: write blur:0.7, or blur:s3 for a published severity"),
        ("linf:", "needs a level"),
        ("linf:x", "'x' is not a number"),
        ("linf:-0.1..0.2", "from its lowest to its highest"),
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


UNIT = Interval(0.0, 1.0)
WIDE = RandomLevel(20.0, Rotation(20.0), lowest=-1.0)
COMBINED = [
    RandomLevel(0.1, LinfNoise(0.1), lowest=0.2),
    RandomLevel(0.1, GaussianNoise(0.1), law="normal"),
    RandomLevel(0.1, LinfNoise(0.1), lowest=0.1, law="log-uniform"),
    Chain((LinfNoise(0.1), GaussianNoise(0.05))),
    Mixture((LinfNoise(0.1), GaussianNoise(0.05)), weights=(3.0, 1.0)),
]


@pytest.mark.parametrize("perturbation", COMBINED, ids=lambda m: m.phrase[:30])
@pytest.mark.parametrize("shape", [(6,), (3, 8, 8)])
def test_what_is_built_from_parts_conforms(perturbation, shape):
    check_perturbation(perturbation, shape)


@pytest.mark.parametrize(
    "perturbation", [WIDE, Chain((WIDE, LinfNoise(0.1))), Mixture((WIDE, LinfNoise(0.1)))]
)
def test_images_conform_too(perturbation):
    check_image_perturbation(perturbation)


def strengths(perturbation, n=4000):
    """How far each of n rows moved: noise of one value whose draw is known."""

    class Probe(LinfNoise):
        signed = True

        def apply(self, x, drawn, level, bounds):
            return np.asarray(level)

    probe = RandomLevel(
        perturbation.level, Probe(perturbation.level), perturbation.lowest, perturbation.law
    )
    x = np.zeros((1, 1), np.float32)
    drawn = probe.draw(stream(1, "s", probe.kind, 0, x), n, (1,))
    return probe.apply(x, drawn, perturbation.level, None)


def test_a_uniform_strength_is_uniform_between_its_ends():
    drawn_levels = strengths(RandomLevel(20.0, Rotation(20.0), lowest=-1.0))
    assert kstest(drawn_levels, "uniform", args=(-20, 40)).pvalue > 0.001
    above = strengths(RandomLevel(2.0, LinfNoise(2.0), lowest=0.5))
    assert kstest(above, "uniform", args=(1, 1)).pvalue > 0.001


def test_a_log_uniform_strength_is_uniform_in_its_logarithm():
    drawn_levels = np.log(
        strengths(RandomLevel(1.0, LinfNoise(1.0), lowest=0.01, law="log-uniform"))
    )
    assert kstest(drawn_levels, "uniform", args=(math.log(0.01), -math.log(0.01))).pvalue > 0.001


def test_a_normal_strength_has_the_level_as_its_deviation():
    drawn_levels = strengths(RandomLevel(0.3, LinfNoise(0.3), law="normal"))
    assert kstest(drawn_levels / 0.3, "norm").pvalue > 0.001


def test_a_range_scales_with_the_level():
    x = np.random.default_rng(0).random((1, 1, 8, 8), dtype=np.float32)
    drawn = WIDE.draw(stream(1, "s", WIDE.kind, 0, x), 4, x.shape[1:])
    half = WIDE.apply(x, drawn, 10.0, UNIT)
    inner = Rotation(20.0).apply(x, drawn[1], 10.0 * (2 * drawn[0] - 1), UNIT)
    np.testing.assert_allclose(half, inner, atol=1e-6)


def test_a_chain_is_its_parts_one_after_the_other():
    perturbation = Chain((LinfNoise(0.1), GaussianNoise(0.05)))
    x = np.random.default_rng(0).random((5, 6), dtype=np.float32)
    drawn = perturbation.draw(stream(1, "s", perturbation.kind, 0, x), 5, (6,))
    first = LinfNoise(0.1).apply(x, drawn[0], 0.1, UNIT)
    both = GaussianNoise(0.05).apply(first, drawn[1], 0.05, UNIT)
    np.testing.assert_array_equal(perturbation.apply(x, drawn, 1.0, UNIT), both)


def test_a_mixture_takes_each_part_as_often_as_its_weight_says():
    perturbation = Mixture((LinfNoise(0.0), LinfNoise(1.0)), weights=(1.0, 3.0))
    x = np.full((1, 4), 0.5, np.float32)
    drawn = perturbation.draw(stream(1, "s", perturbation.kind, 0, x), 4000, (4,))
    moved = (perturbation.apply(x, drawn, 1.0, None) != 0.5).any(axis=1)
    assert abs(moved.mean() - 0.75) < 4 * math.sqrt(0.75 * 0.25 / 4000)


@pytest.mark.parametrize("perturbation", [*COMBINED, WIDE])
def test_numpy_and_torch_agree(torch, perturbation):
    x = np.random.default_rng(0).random((6, 3, 8, 8), dtype=np.float32)
    tensor = torch.from_numpy(x)
    ours = perturbation.draw(stream(1, "s", perturbation.kind, 0, x), 6, x.shape[1:])
    theirs = perturbation.draw(stream(1, "s", perturbation.kind, 0, tensor), 6, x.shape[1:])
    a = perturbation.apply(x, ours, perturbation.level, UNIT)
    b = perturbation.apply(tensor, theirs, perturbation.level, UNIT)
    np.testing.assert_allclose(b.numpy(), a, atol=1e-4)


def test_words_tell_the_law_and_the_parts():
    assert "uniformly between -{level} and {level}" in WIDE.phrase
    chain = Chain((LinfNoise(8 / 255), GaussianNoise(0.05)))
    assert chain.phrase.startswith("first noise drawn uniformly from the L∞ ball of radius 8/255")
    assert "75 %:" in Mixture((LinfNoise(0.1), WIDE), weights=(3, 1)).phrase
    assert Chain((LinfNoise(0.1), WIDE)).view is View.IMAGE


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: RandomLevel(1.0, LinfNoise(1.0), lowest=-1.0), "from 0 to below 1"),
        (lambda: RandomLevel(1.0, Rotation(1.0), lowest=1.0), "from -1 to below 1"),
        (
            lambda: RandomLevel(1.0, LinfNoise(1.0), law="cauchy"),
            "law must be one of .* got 'cauchy'",
        ),
        (lambda: RandomLevel(1.0, LinfNoise(1.0), law="log-uniform"), "above 0"),
        (lambda: Chain(()), "at least one perturbation"),
        (lambda: Chain((Rotation(1.0), Gain(1.0))), "cannot be combined"),
        (lambda: Mixture((LinfNoise(0.1),), weights=(1, 2)), "each of the 1 parts, got 2 weights"),
        (lambda: Mixture((LinfNoise(0.1),), weights=(0,)), "above 0"),
        (lambda: Chain((LinfNoise(0.1),), level=-1), r"level must be in \[0, 1\]"),
    ],
)
def test_what_makes_no_sense_is_refused(make, sentence):
    refused(sentence, make)


PAGE = Path(__file__).parents[2] / "docs" / "papers" / "perturbations.md"
TEXTS = (
    "contrast:0.5..1",
    "fog:5,size=small",
    "gaussian:0.1",
    "glass:5,size=small",
    "impulse:0.06",
    "shot:20photons",
    "uniform:0.8",
)


def perturbed(text, x, n=None):
    """What was drawn for n trials, and the images under the perturbation of this text."""
    made = parse_perturbation(text)
    drawn = made.draw(stream(1, "s", made.kind, 0, x), n or len(x), tuple(x.shape[1:]))
    return drawn, made.apply(x, drawn, made.level, UNIT)


def test_the_page_has_these_texts_and_every_text_of_the_page_is_one():
    page = PAGE.read_text()
    table = page[page.index("## Bu & Sun") : page.index("## ROBY")]
    assert re.findall(r"^\|[^|]*\|[^|]*\| `([^`]+)` \|", table, re.MULTILINE) == list(TEXTS)
    for text in re.findall(r"`([a-z0-9-]+:[^` ]+)`", page):
        parse_perturbation(text, (32, 32))


def test_contrast_is_a_uniform_factor_about_the_mean_of_each_channel():
    x = images(1, (3, 16, 16))
    _, out = perturbed("contrast:0.5..1", x, 2000)
    means = x.mean(axis=(2, 3), keepdims=True)
    factors = ((out - means) * (x - means)).sum(axis=(1, 2, 3)) / ((x - means) ** 2).sum()
    np.testing.assert_allclose(out, (x - means) * factors[:, None, None, None] + means, atol=1e-5)
    assert kstest(factors / 0.5, "uniform").pvalue > 0.001


def test_photons_are_a_unit_of_shot_noise():
    assert parse_perturbation("shot:20photons").level == pytest.approx(20**-0.5)
    assert level_reader("shot:0.1")("100photons") == pytest.approx(0.1)
    for text, says in (
        ("shot:0photons", "photons must be at least 1, got 0"),
        ("shot:manyphotons", "'many' is not a number"),
        ("gaussian:20photons", "'20photons' is not a number"),
    ):
        refused(says, parse_perturbation, text)
