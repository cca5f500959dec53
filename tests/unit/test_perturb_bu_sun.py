"""The perturbations of Bu & Sun, Table II, as texts, against plain definitions of the paper's."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kstest

from surefoot.catalogue.parse import level_reader, parse_perturbation
from surefoot.engine.streams import stream
from tests.refusals import refused
from tests.unit.test_perturb_images import UNIT
from tests.unit.test_perturb_weather import images

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
