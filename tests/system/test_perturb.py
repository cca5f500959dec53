"""`surefoot perturb`, and the catalogue through the whole program."""

import json

import numpy as np
import pytest
from PIL import Image

from surefoot.catalogue.registry import PERTURBATIONS

ESTIMATE = ("estimate", "model.onnx", "test.npz", "--first", "3", "--each", "0.3", "--confidence",
            "0.8", "--perturb")  # fmt: skip


@pytest.fixture
def image(workspace):
    pixels = np.random.default_rng(0).integers(0, 255, (40, 50, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(workspace.folder / "cat.png")
    return workspace


def test_the_list_names_every_perturbation(workspace):
    done = workspace.succeed("perturb", "--list")
    assert all(kind in done.stdout for kind in PERTURBATIONS)
    output = json.loads(workspace.run("perturb", "--list", "--json").stdout)
    assert [entry["kind"] for entry in output] == list(PERTURBATIONS)
    assert all(entry["about"] and entry["levels"] for entry in output)


def test_a_name_alone_is_defined(workspace):
    done = workspace.succeed("perturb", "fog")
    assert "plasma fractal" in done.stdout
    assert "published severities" in done.stdout


@pytest.mark.parametrize("name", ["blur:0..2", "linf:0.1+fog:s2"])
def test_a_sheet_shows_six_levels_across_and_samples_down(image, name):
    image.succeed("perturb", name, "cat.png", "--sheet", "s.png", "--samples", "2")
    with Image.open(image.folder / "s.png") as sheet:
        wide, high = sheet.size
    assert wide > 6 * 100
    assert high > 2 * 80


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("rotaton:3 cat.png", "rotation"),
        ("rotation cat.png", "no published severities"),
        ("blur:1 no.png", "there is no image file no.png"),
        ("gain:3 cat.png", "cannot be shown on an image"),
        ("blur:1 cat.png --sheet no/where.png", "no folder"),
        ("blur:1 cat.png --sheet s.odd", "cannot be written"),
        ("linf:1+blur:1", "combines several perturbations"),
        ("fog --samples 3", "--samples 3 needs an image"),
    ],
)
def test_a_mistake_is_one_sentence(image, refusal, words, said):
    assert said in refusal("perturb", *words.split())


@pytest.mark.parametrize(
    ("perturb", "said"),
    [
        ("rotation:-10..10", "drawn uniformly between -10 and 10 for each trial"),
        ("shot:s1+occlusion:0.1", "then"),
        ("blur:0.5|jpeg:0.3", "50 %"),
    ],
)
def test_what_is_sampled_is_said_and_can_be_replayed(workspace, perturb, said):
    done = workspace.succeed(*ESTIMATE, perturb, "--json")
    output = json.loads(done.stdout)
    assert said in output["spec"]["words"]["perturbation"]
    workspace.succeed("replay", output["digest"][:12], output["inputs"][0]["id"], "1")
