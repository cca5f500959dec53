"""`surefoot perturb`, the catalogue, and folders of images and sounds, on the command line."""

import json
import wave

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


LOUD = """
import numpy as np
def scores(batch):
    power = (batch.reshape(len(batch), -1) ** 2).mean(axis=1)
    return np.stack([0.05 - power, power - 0.05], axis=1)
"""


@pytest.fixture
def photos(workspace):
    """Ten grey images of different sizes in no class folders; the file names begin with a label."""
    folder = workspace.folder / "photos"
    folder.mkdir()
    for i in range(10):
        image = Image.fromarray(workspace.x[i])
        image.resize((28 + i, 28)).save(folder / f"{workspace.y[i]}_{i}.png")
    return workspace


def estimate(workspace, data, *words, perturb="linf:0.02"):
    return workspace.run(
        "estimate", "model.onnx", data, "--perturb", perturb, "--each", "0.2", "--explain", *words
    )


def refused(done):
    assert done.returncode == 3, done.stdout
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_stored_run_of_resized_images_is_replayed(photos):
    done = estimate(photos, "photos", "--report", "r.html", "--json")
    assert "resized to 28 × 28" in (photos.folder / "r.html").read_text()
    run = json.loads(done.stdout)["digest"][:12]
    photos.succeed("replay", run, f"{photos.y[3]}_3.png", "0")


def test_sounds_are_estimated_and_need_one_length(workspace):
    (workspace.folder / "loud.py").write_text(LOUD)
    for name, level in (("a", 0.2), ("b", 0.9)):
        (workspace.folder / "sounds").mkdir(exist_ok=True)
        samples = np.arange(400 if name == "a" else 500)
        tone = level * np.sin(2 * np.pi * samples / 20)
        with wave.open(str(workspace.folder / "sounds" / f"{name}.wav"), "wb") as file:
            file.setparams((1, 2, 1000, 0, "NONE", ""))
            file.writeframes((tone * 32767).astype("<i2").tobytes())
    words = ("estimate", "loud:scores", "sounds", "--each", "0.2", "--perturb")
    assert "--length SECONDS" in refused(workspace.run(*words, "snr:10dB"))
    done = workspace.succeed(*words, "snr:10dB", "--length", "0.45", "--explain")
    assert "10 dB SNR" in done.stdout
    assert "clipped to [-1, 1]" in done.stdout
    assert "needs a unit: write snr:20dB" in refused(workspace.run(*words, "snr:10"))
    workspace.succeed(*words, "snr", "--length", "0.45", "--levels", "20dB,0dB")
    assert "needs a unit" in refused(workspace.run(*words, "snr", "--levels", "20,10"))
