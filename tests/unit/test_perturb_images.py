"""What holds of every perturbation of images: a table of them, and the laws."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import ndimage

from surefoot import perturb
from surefoot.catalogue.registry import PERTURBATIONS
from surefoot.core.results import Interval
from surefoot.engine.devices import draw_rows
from surefoot.engine.streams import stream
from surefoot.errors import InvalidArgument
from surefoot.subject.protocols import View
from surefoot.testing.conformance import check_image_perturbation
from tests.refusals import refused

UNIT = Interval(0.0, 1.0)
LEVELS = {
    "shot": 0.2, "impulse": 0.1, "speckle": 0.2,
    "blur": 1.3, "defocus": 3.4, "motion": 2.5, "zoom-blur": 0.153, "glass": 3.5,
    "snow": 3.3, "frost": 3.3, "fog": 3.3, "spatter": 3.3,
    "brightness": 0.2, "contrast": 0.4, "saturate": 4.5, "desaturate": 0.6, "hue": 70.0,
    "gamma": 0.8, "pixelate": 0.4, "jpeg": 0.6,
    "rotation": 12.0, "translate-x": 0.15, "translate-y": 0.15, "zoom": 0.3, "shear": 10.0,
    "perspective": 0.4, "elastic": 3.0,
    "occlusion": 0.2, "dropout": 0.2,
    "lens-distortion": 0.18, "chromatic-aberration": 0.12,
}  # fmt: skip
"""Middling ones; of a camera 0.6 where nothing is stated."""
OF_IMAGES = [k for k, made in PERTURBATIONS.items() if k in LEVELS or made.view is View.IMAGE]
CASES = [PERTURBATIONS[kind](LEVELS.get(kind, 0.6)) for kind in OF_IMAGES]
GEOMETRY = {"rotation", "translate-x", "translate-y", "zoom", "shear", "perspective", "elastic"}
OPTICS = {"lens-distortion", "chromatic-aberration", "broken-lens", "dirt", "condensation"}
SKIES = (perturb.Fog, perturb.Frost, perturb.Snow, perturb.Spatter)
OTHERS = [
    perturb.GaussianBlur(0.3), perturb.DefocusBlur(5.0, "large"), perturb.GlassBlur(3.5, "large"),
    perturb.MotionBlur(4.0, angle=20.0), perturb.MotionBlur(5.0, size="large"),
    perturb.ShotNoise(0.05), perturb.ShotNoise(0.6), perturb.Saturate(1.5),
    perturb.Saturate(5.0, "large"), perturb.Pixelate(0.003), perturb.Pixelate(1.0),
    perturb.JPEG(0.005), perturb.JPEG(0.99), perturb.Occlusion(1.0, 0.0),
    perturb.Occlusion(0.9, 1.0), perturb.Dropout(1.0), perturb.Rotation(180.0, "black"),
    perturb.Zoom(9.0), perturb.Shear(80.0), perturb.Perspective(1.0), perturb.Elastic(5.0),
    perturb.DeadPixels(1.0), perturb.DeadLines(1.0, "columns"), perturb.BrokenLens(1.0),
    perturb.LensDistortion(0.3), *(sky(level) for sky in SKIES for level in (0.5, 2.0, 5.0)),
    *(sky(2.5, "large") for sky in SKIES),
]  # fmt: skip
"""Ends of ranges, and other options."""


def kinds(perturbations):
    return pytest.mark.parametrize("made", perturbations, ids=lambda made: made.kind)


every = kinds(CASES)
shapes = pytest.mark.parametrize("shape", [(3, 17, 21), (3, 80, 72)], ids=["small", "large"])


def scene(n=4, shape=(3, 32, 32), seed=0):
    """Smooth shapes with sharp edges that use most of [0, 1], a few black, grey and pure pixels."""
    rough = np.random.default_rng(seed).random((n, *shape), dtype=np.float32)
    soft = ndimage.gaussian_filter(rough, (0, 0, 2, 2))
    x = np.where(soft > 0.5, 0.9 * soft + 0.1, 0.5 * rough).astype(np.float32)
    if min(shape[1:]) > 3:
        x[:, :, 0, :3] = 0.0, 0.5, 1.0
        x[:, 0, 0, 3], x[:, 1:, 0, 3] = 1, 0
    return x


def drawn_for(made, x, n=None):
    return made.draw(stream(1, "s", made.kind, 0, x), n or len(x), tuple(x.shape[1:]))


def perturbed(made, x, level=None, bounds=UNIT, n=None):
    return made.apply(x, drawn_for(made, x, n), made.level if level is None else level, bounds)


def close(found, truth, atol, share=0.0):
    """All but a share of the values are so near; the others are counts, thresholds and cracks."""
    far = np.abs(np.asarray(found) - np.asarray(truth)) > atol
    assert far.mean() <= share, (far.mean(), np.abs(np.asarray(found) - truth).max())


@kinds([*CASES, *OTHERS])
def test_it_conforms(made):
    check_image_perturbation(made)


@every
@shapes
def test_numpy_and_torch_give_the_same_image(torch, made, shape):
    x = scene(6, shape)
    tensor, levels = torch.from_numpy(x), np.linspace(0, made.level, 6, dtype=np.float32)
    allowed = {"shot": (2e-6, 1e-3)}.get(made.kind, (2e-6, 0))
    if made.kind in GEOMETRY | OPTICS or isinstance(made, SKIES):
        allowed = (1e-4, 1e-3)
    for level in (0.37 * made.level, made.level):
        theirs = perturbed(made, tensor, level)
        assert theirs.dtype == torch.float32
        close(theirs, perturbed(made, x, level), *allowed)
    theirs = perturbed(made, tensor, torch.from_numpy(levels))
    close(theirs, perturbed(made, x, levels), max(allowed[0], 2e-5), max(allowed[1], 1e-4))


@every
@pytest.mark.parametrize("bounds", [None, Interval(0.0, 255.0), Interval(-1.0, 1.0)])
def test_other_bounds_show_the_same_image(made, bounds):
    x, span = scene(), bounds or UNIT
    truth = perturbed(made, x)
    out = perturbed(made, (x * span.width + span.low).astype(np.float32), bounds=bounds)
    assert out.dtype == np.float32
    if bounds is not None:
        assert bounds.low <= out.min() and out.max() <= bounds.high
    found = np.clip((out - span.low) / span.width, 0, 1)
    rough = made.kind in GEOMETRY | OPTICS or isinstance(made, SKIES)
    atol = 2e-5 if made.kind == "saturate" else 1e-5 if rough else 3e-6
    close(found, truth, atol, 1e-3 if made.kind == "shot" else 0)


@every
def test_a_hair_of_the_level_changes_a_hair_and_more_changes_more(made):
    """But for severities that were published as of another kind, not always as stronger."""
    x = scene(8)
    faint, weak, *more = (
        np.abs(perturbed(made, x, share * made.level) - x).mean()
        for share in (1e-6, 1e-3, 0.1, 0.3, 0.6, 1.0)
    )
    assert faint < 2e-5 and weak < 5e-3
    if made.kind not in ("saturate", "glass", "elastic", "spatter"):
        assert weak <= more[0] and all(a < b for a, b in pairwise(more)), more


@kinds([made for made in CASES if made.kind not in ("pixelate", "jpeg")])
@shapes
def test_a_small_step_of_the_level_is_a_small_step_of_the_image(made, shape):
    """Nowhere, the published severities included, does it jump; pixels and codes go by steps."""
    x, whole = scene(2, shape), made.levels(UNIT).high == 5
    highest = 5.0 if whole else made.level
    for share in (0.2, 0.31, 0.4, 0.6, 0.77, 0.8, 0.95):
        below, above = (perturbed(made, x, highest * (share + s)) for s in (-2e-4, 2e-4))
        assert np.abs(above - below).mean() < 5e-3


@every
@shapes
def test_one_image_meets_many_and_neither_batch_nor_place_in_memory_matters(made, shape):
    x = scene(1, shape)
    drawn = drawn_for(made, x, 5)
    copies = made.apply(np.repeat(x, 5, axis=0), drawn, made.level, UNIT)
    close(made.apply(x, drawn, made.level, UNIT), copies, 1e-6)
    x = scene(5, shape)
    out = made.apply(x, drawn, made.level, UNIT)
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    found = made.apply(last, drawn, made.level, UNIT)
    close(found, out, 1e-6 if made.kind == "contrast" else 0)  # a mean is summed in another order
    alone = made.apply(x[2:3], draw_rows(drawn, 2, 3), made.level, UNIT)
    np.testing.assert_array_equal(alone, out[2:3])


@kinds([made for made in CASES if made.kind in ("brightness", "contrast", "desaturate", "hue",
                                                "gamma", "white-balance")])  # fmt: skip
def test_a_negative_level_goes_the_other_way(made):
    x = scene() * 0.5 + 0.25
    x[:, 1] *= 0.9
    step = 0.05 * made.levels(UNIT).high
    there, back = (perturbed(made, x, level) - x for level in (step, -step))
    assert (there * back).sum() < 0
    assert np.abs(there + back).mean() < 0.5 * np.abs(there).mean()


@kinds([made for made in CASES if hasattr(made, "presets")])
def test_published_severities_are_levels_that_grow(made):
    for levels in made.presets.values():
        assert len(levels) == 5 and sorted(levels) == list(levels)
        assert all(level in made.levels(UNIT) for level in levels)


@kinds([made for made in CASES if hasattr(made, "size")])
def test_the_longer_edge_decides_which_constants_are_meant(made):
    for edge, size in ((64, "small"), (65, "large")):
        x, sized = scene(1, (3, 20, edge)), type(made)(made.level, size=size)
        np.testing.assert_array_equal(perturbed(made, x), perturbed(sized, x))


class Elsewhere:
    """Numbers without values, on a device that refuses arrays of main memory."""

    def __init__(self, torch):
        self.torch = torch

    def uniform(self, shape):
        return self.torch.empty(shape, device="meta")

    normal = uniform


CAMERA = (
    "dead-pixels", "dead-lines", "banding", "bayer", "condensation", "dirt", "broken-lens",
    "flare", "vignetting", "lens-distortion", "chromatic-aberration", "white-balance",
)  # fmt: skip


@kinds([made for made in CASES if made.kind in CAMERA])
def test_on_a_device_nothing_is_mixed_with_arrays_of_main_memory(torch, made):
    x = torch.empty((4, 3, 24, 20), device="meta")
    drawn = made.draw(Elsewhere(torch), 4, (3, 24, 20))
    for level in (0.1, torch.full((4,), 0.1, device="meta")):
        for images_there in (x, x[:1]):
            out = made.apply(images_there, drawn, level, UNIT)
            assert out.shape == x.shape and out.device.type == "meta"


@pytest.mark.parametrize("kind", ["bayer", "chromatic-aberration", "white-balance"])
def test_colours_need_three_channels(kind):
    with pytest.raises(InvalidArgument, match=f"{kind} needs images of 3 channels .* have 1"):
        perturbed(PERTURBATIONS[kind](0.1), scene(2, (1, 8, 8)))


@pytest.mark.parametrize(
    ("kind", "options", "says"),
    [
        *((kind, {"level": 5.5}, r"in \[0, 5\] \(severity\), got 5.5") for kind in ("fog", "snow")),
        *((made.kind, {"size": "huge"}, "one of empty, small, large, got 'huge'")
          for made in CASES if hasattr(made, "size")),
        *((kind, {"fill": fill}, f"{kind}: fill must .* got {fill}")
          for kind in ("occlusion", "dropout", "dead-pixels", "dead-lines")
          for fill in (-0.1, 1.5, math.nan)),
        ("motion", {"angle": 60.0}, "got 60"),
        ("zoom-blur", {"step": 0.0}, "got 0"),
        ("rotation", {"level": 200.0}, r"in \[0, 180\] \(degrees\), got 200"),
        ("translate-x", {"level": 1.5}, r"in \[0, 1\] \(share of the width\), got 1.5"),
        ("zoom", {"level": 10.0}, r"in \[0, 9\] .* got 10"),
        ("rotation", {"edge": "wrap"}, "one of mirror, symmetric, nearest, black, got 'wrap'"),
        ("dead-lines", {"lines": "diagonals"}, "one of rows, columns, got 'diagonals'"),
        ("banding", {"lines": ""}, "one of rows, columns, got ''"),
        ("dirt", {"spots": 0}, "spots must be an integer from 1 to 100, got 0"),
        ("dirt", {"spots": 2.5}, "got 2.5"),
        ("broken-lens", {"cracks": 51}, "cracks must be an integer from 1 to 50, got 51"),
        ("lens-distortion", {"level": 0.4}, r"in \[0, 0.3\] .*, got 0.4"),
    ],
)  # fmt: skip
def test_what_means_nothing_is_refused_with_its_value(kind, options, says):
    refused(says, PERTURBATIONS[kind], **{"level": 0.1, **options})
