"""The adapters on the libraries themselves: Albumentations, NRTK, and MAITE through NRTK.

There is no Torchvision for processors alone: `test_perturb_adapters` has a stand-in.
"""

import json

import numpy as np
import pytest

from surefoot.core.results import Interval
from surefoot.engine.devices import draw_rows
from surefoot.engine.streams import stream
from surefoot.perturb.adapters import from_albumentations, from_maite, from_nrtk
from surefoot.perturb.own_function import InputFormat
from surefoot.testing import check_image_perturbation

torch = pytest.importorskip("torch")

UNIT = Interval(0, 1)
pytestmark = pytest.mark.filterwarnings("default")  # what these libraries warn of is theirs


@pytest.fixture
def alb(monkeypatch):
    monkeypatch.setenv("NO_ALBUMENTATIONS_UPDATE", "1")  # it would ask the network for a newer one
    return pytest.importorskip("albumentations")


def photometric(kind):
    pytest.importorskip("nrtk")
    from nrtk.impls.perturb_image.photometric import blur, enhance

    return (
        blur.GaussianBlurPerturber(ksize=3)
        if kind == "blur"
        else enhance.BrightnessPerturber(factor=0.5)
    )


def as_maite(perturber):
    pytest.importorskip("maite")
    from maite.protocols.image_classification import Augmentation
    from nrtk.interop import MAITEImageClassificationAugmentation

    made = MAITEImageClassificationAugmentation(augment=perturber, augment_id="disturbed")
    assert isinstance(made, Augmentation)
    return made


def applied(made, x, n=None):
    n = n or len(x)
    drawn = made.draw(stream(5, "s", made.kind, 0, x), n, tuple(x.shape[1:]))
    return made.apply(x, drawn, 1.0, UNIT), drawn


def check_as_any_other(made, x):
    """The shared suite; rows that know nothing of each other; a description without state."""
    told = json.dumps(made.describe(), allow_nan=False)
    check_image_perturbation(made)
    out, drawn = applied(made, x)
    assert (out != x).any()
    for i in (len(x) - 1, 0):
        alone = made.apply(x[i : i + 1], draw_rows(drawn, i, i + 1), 1.0, UNIT)
        assert np.array_equal(alone[0], out[i])
    theirs, _ = applied(made, torch.from_numpy(x))
    assert isinstance(theirs, torch.Tensor) and np.array_equal(theirs.numpy(), out)
    assert json.dumps(made.describe(), allow_nan=False) == told and "0x" not in told


def images(channels=3):
    return np.random.default_rng(1).random((5, channels, 12, 10), dtype=np.float32)


@pytest.mark.parametrize(
    ("which", "input_format"),
    [
        ("noise", InputFormat.UNIT),
        ("flip", InputFormat.UNIT),
        ("affine", InputFormat.UNIT),
        ("chain", InputFormat.BYTES),
    ],
)
def test_albumentations_is_adapted(alb, which, input_format):
    transform = {
        "noise": alb.GaussNoise(p=1.0),
        "flip": alb.HorizontalFlip(p=0.5),
        "chain": alb.Compose([alb.RandomBrightnessContrast(p=1.0), alb.GaussianBlur(p=1.0)]),
        "affine": alb.Affine(rotate=(-20, 20), p=1.0),
    }[which]
    check_as_any_other(from_albumentations(transform, input_format=input_format), images())


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("kind", ["blur", "brightness"])
def test_nrtk_is_adapted(kind, channels):
    made = from_nrtk(photometric(kind))
    check_as_any_other(made, images(channels))
    if kind == "brightness":
        x = np.rint(images(channels) * 255) / np.float32(255)
        np.testing.assert_allclose(applied(made, x)[0], x / 2, atol=1 / 255)


@pytest.mark.parametrize("input_format", [InputFormat.MODEL, InputFormat.BYTES])
def test_maite_is_adapted(input_format):
    """NRTK's own augmentation; a grey image comes back from it without its axis of channels."""
    made = from_maite(as_maite(photometric("blur")), input_format=input_format)
    assert made.kind.endswith("maite-image-classification-augmentation")
    check_as_any_other(made, images())
    grey, _ = applied(made, images(1))
    colour, _ = applied(made, images(1).repeat(3, axis=1))
    np.testing.assert_allclose(grey, colour[:, :1], atol=1 / 255)
