"""Folders of images and sounds, class names and models, as a user has them: on the command line."""

import json
import wave

import numpy as np
import pytest
from PIL import Image

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
