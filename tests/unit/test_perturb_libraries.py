"""The adapters on the libraries themselves: Albumentations, NRTK, and MAITE through NRTK.

There is no Torchvision for processors alone: `test_perturb_adapters` has a stand-in.
"""

import json

import numpy as np
import pytest

from surefoot.core.results import Interval
from surefoot.engine.devices import draw_rows
from surefoot.engine.streams import stream
from surefoot.errors import InvalidArgument
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


def darker(image, **_):
    return image / 2


def photometric(kind):
    pytest.importorskip("nrtk")
    from nrtk.impls.perturb_image.photometric import blur, enhance

    return (
        blur.GaussianBlurPerturber(ksize=3)
        if kind == "blur"
        else enhance.BrightnessPerturber(factor=0.5)
    )


def translation():
    pytest.importorskip("nrtk")
    from nrtk.impls.perturb_image.geometric.random import RandomTranslationPerturber

    return RandomTranslationPerturber()


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


def test_albumentations_is_described_by_what_it_would_save(alb):
    """Its objects also hold what was drawn last, and tables in an order of the process."""
    told = [
        json.dumps(from_albumentations(alb.Compose([alb.Affine(rotate=(-20, most))])).describe())
        for most in (20, 20, 30)
    ]
    assert told[0] == told[1] != told[2]
    assert "rotate: [-20.0, 20.0]" in told[0] and "_key2func" not in told[0]
    nameless = from_albumentations(alb.Lambda(image=darker))
    assert "darker" in json.dumps(nameless.describe())


def test_albumentations_does_what_it_does_alone(alb):
    x = images()
    out, _ = applied(from_albumentations(alb.VerticalFlip(p=1.0)), x)
    assert np.array_equal(out, x[:, :, ::-1])
    out, _ = applied(from_albumentations(alb.GaussNoise(p=1.0)), x[:1], 16)
    assert len({row.tobytes() for row in out}) == 16


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("kind", ["blur", "brightness"])
def test_nrtk_is_adapted(kind, channels):
    made = from_nrtk(photometric(kind))
    check_as_any_other(made, images(channels))
    if kind == "brightness":
        x = np.rint(images(channels) * 255) / np.float32(255)
        np.testing.assert_allclose(applied(made, x)[0], x / 2, atol=1 / 255)


def test_nrtk_draws_what_is_random_anew_for_each_row():
    x = images()
    made = from_nrtk(translation())
    check_as_any_other(made, x)
    assert len({row.tobytes() for row in applied(made, x[:1], 16)[0]}) > 4


@pytest.mark.parametrize("input_format", [InputFormat.MODEL, InputFormat.BYTES])
def test_maite_is_adapted(input_format):
    """NRTK's own augmentation; a grey image comes back from it without its axis of channels."""
    made = from_maite(as_maite(photometric("blur")), input_format=input_format)
    assert made.kind.endswith("maite-image-classification-augmentation")
    check_as_any_other(made, images())
    grey, _ = applied(made, images(1))
    colour, _ = applied(made, images(1).repeat(3, axis=1))
    np.testing.assert_allclose(grey, colour[:, :1], atol=1 / 255)


def test_what_a_library_cannot_do_is_told_with_its_own_words():
    """NRTK's augmentation hands Pillow a grey image with three axes."""
    made = from_maite(as_maite(photometric("brightness")), input_format=InputFormat.BYTES)
    with pytest.raises(InvalidArgument, match="raised TypeError: Cannot handle this data type"):
        applied(made, images(1))
