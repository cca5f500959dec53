"""Perturbations: the shared suite, uniformity in the ball, and NumPy and Torch alike."""

import dataclasses
import hashlib
import math
import struct

import numpy as np
import pytest
from scipy.stats import kstest

from surefoot.catalogue.registry import PERTURBATIONS
from surefoot.core.results import Interval
from surefoot.engine.streams import base_of, block_size, generator_for, row_keys, stream
from surefoot.perturb import GaussianNoise, L1Noise, L2Noise, LinfNoise, UniformNoise
from surefoot.subject.protocols import View
from surefoot.testing import check_perturbation
from tests.refusals import refused
from tests.worlds import example

UNIT = Interval(0.0, 1.0)


SHAPES = {
    View.VALUES: [(6,), (3, 8, 8), (28, 28), (1, 1)],
    View.IMAGE: [(3, 66, 70), (3, 8, 8)],  # others: test_perturb_images
    View.SERIES: [(1, 40), (2, 33), (1, 1), (3, 128)],
    View.TEXT: [],
}
OF_ARRAYS = [k for k, made in PERTURBATIONS.items() if made.view in (View.VALUES, View.SERIES)]
"""Those of images have the same laws in test_perturb_images."""
BALLS = ["linf", "l2", "l1", "gaussian", "uniform"]


@pytest.mark.parametrize("kind", PERTURBATIONS)
def test_every_registered_perturbation_conforms(kind):
    made = example(kind)
    if made.view is View.TEXT:
        check_perturbation(
            made, items=["a good film, and a BAD one!", "ok 10", "Gr\u00f6\u00dfe e\u0301t"]
        )
    for shape in [(6,)] if kind == "table" else SHAPES[made.view]:
        if getattr(made, "needs_channels", shape[0]) == shape[0]:
            check_perturbation(made, shape)


@pytest.mark.parametrize("kind", OF_ARRAYS)
def test_numpy_and_torch_agree_over_the_catalogue(torch, kind):
    """Tolerance 2e-4; where a count is drawn, all but one value in a thousand."""
    made = example(kind)
    shape = (6,) if kind == "table" else SHAPES[made.view][1]
    x = np.random.default_rng(0).random((12, *shape), dtype=np.float32)
    tensor = torch.from_numpy(x)
    ours = made.draw(stream(1, "s", made.kind, 0, x), 12, shape)
    theirs = made.draw(stream(1, "s", made.kind, 0, tensor), 12, shape)
    a = made.apply(x, ours, made.level, UNIT)
    b = made.apply(tensor, theirs, made.level, UNIT)
    assert isinstance(b, torch.Tensor)
    assert b.dtype == torch.float32
    apart = np.abs(b.numpy() - a)
    allowed = 1e-3 if kind in ("shot", "impulse") else 0.0
    assert np.mean(apart > 2e-4) <= allowed
    levels = torch.full((12,), made.level)
    levels[::2] = 0
    mixed = made.apply(tensor, theirs, levels, UNIT)
    assert torch.equal(mixed[::2], tensor[::2]) and not torch.equal(mixed[1::2], tensor[1::2])


@pytest.mark.parametrize("kind", OF_ARRAYS)
def test_a_higher_level_changes_more_on_average(kind):
    made = example(kind)
    shape = (6,) if kind == "table" else SHAPES[made.view][1]
    rng = np.random.default_rng(3)
    x = rng.random((24, *shape), np.float32)
    drawn = made.draw(stream(1, "s", made.kind, 0, x), 24, shape)
    moved = [
        float(np.abs(made.apply(x, drawn, made.level * share, UNIT) - x).mean())
        for share in (0.0, 0.25, 1.0)
    ]
    assert moved[0] == 0
    assert moved[1] < moved[2]


def noise(perturbation, n, shape, subject="s"):
    """n perturbations of zero, unclipped: several blocks of the stream, as a run would draw."""
    x = np.zeros((1, *shape), dtype=np.float32)
    size = block_size(shape)
    blocks = []
    for number in range(math.ceil(n / size)):
        drawn = perturbation.draw(stream(1, subject, perturbation.kind, number, x), size, shape)
        blocks.append(perturbation.apply(x, drawn, perturbation.level, None))
    return np.concatenate(blocks)[:n].reshape(n, -1).astype(np.float64)


NORMS = {
    LinfNoise: lambda z: np.abs(z).max(axis=1),
    L2Noise: lambda z: np.sqrt((z**2).sum(axis=1)),
    L1Noise: lambda z: np.abs(z).sum(axis=1),
}


@pytest.mark.parametrize("ball", NORMS)
@pytest.mark.parametrize("dimension", [1, 2, 5, 100])
def test_balls_are_uniform_in_the_radius(ball, dimension):
    """In d dimensions the share of points within radius r is r^d (Kolmogorov-Smirnov, seeded)."""
    radii = NORMS[ball](noise(ball(2.0), 4000, (dimension,))) / 2.0
    assert radii.max() <= 1 + 1e-5
    assert kstest(radii**dimension, "uniform").pvalue > 0.001


@pytest.mark.parametrize("ball", NORMS)
def test_balls_are_uniform_in_the_plane(ball):
    """Cells of equal area inside the ball get equal shares (chi-square on a 2-D grid, seeded)."""
    z = noise(ball(1.0), 40_000, (2,))
    edges = np.linspace(-1, 1, 9)
    counts, _, _ = np.histogram2d(z[:, 0], z[:, 1], bins=[edges, edges])
    low, high = edges[:-1], edges[1:]
    far = np.maximum(np.abs(low), np.abs(high))
    corner = np.stack(np.meshgrid(far, far, indexing="ij"), axis=-1).reshape(-1, 2)
    inside = (NORMS[ball](corner) <= 1 + 1e-9).reshape(8, 8)
    area = {LinfNoise: 4.0, L2Noise: math.pi, L1Noise: 2.0}[ball]
    expected = 40_000 * 0.0625 / area
    seen = counts[inside]
    assert len(seen) >= 24
    statistic = ((seen - expected) ** 2 / expected).sum()
    assert statistic < len(seen) + 5 * math.sqrt(2 * len(seen))


def test_gaussian_noise_has_the_stated_deviation():
    z = noise(GaussianNoise(0.3), 3000, (20,)).reshape(-1)
    assert kstest(z / 0.3, "norm").pvalue > 0.001


@pytest.mark.parametrize("lowest", [0.0, -1.0, -0.25, 0.5])
def test_uniform_noise_spans_what_it_says(lowest):
    z = noise(UniformNoise(0.8, lowest), 3000, (20,)).reshape(-1)
    assert kstest((z / 0.8 - lowest) / (1 - lowest), "uniform").pvalue > 0.001


@pytest.mark.parametrize("kind", BALLS)
def test_a_level_scales_the_same_draw(kind):
    made, shape = PERTURBATIONS[kind](0.2), (5,)
    x = np.zeros((4, *shape), dtype=np.float32)
    drawn = made.draw(stream(1, "s", kind, 0, x), 4, shape)
    weak, strong = made.apply(x, drawn, 0.1, None), made.apply(x, drawn, 0.3, None)
    np.testing.assert_allclose(strong, 3 * weak, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("level", [-0.1, math.nan, math.inf])
def test_a_level_that_is_no_strength_is_refused(level):
    for kind in PERTURBATIONS:
        says = rf"{kind}: level must be (in|finite).*got {level}"
        refused(says, dataclasses.replace, example(kind), level=level)


NAMES = [(1, "a", "linf", 0), (2, "a", "linf", 0), (1, "b", "linf", 0), (1, "a", "l2", 0)]


@pytest.mark.parametrize("other", [*NAMES[1:], (1, "a", "linf", 1)])
def test_every_part_of_a_name_matters(other):
    like = np.zeros((1, 4), dtype=np.float32)
    assert not np.array_equal(
        stream(*NAMES[0], like).uniform((64,)), stream(*other, like).uniform((64,))
    )


def sfc64(state):
    """Doty-Humphrey's generator, written out: 64-bit words."""
    mask = 2**64 - 1
    a, b, c, count = state
    while True:
        word = (a + b + count) & mask
        count = (count + 1) & mask
        a = b ^ (b >> 11)
        b = (c + (c << 3)) & mask
        c = (((c << 24) | (c >> 40)) + word) & mask
        yield word


def test_a_stream_is_the_generator_it_names_started_from_the_hash_of_its_name():
    """A change here changes every published result: it needs a new generator name."""
    like = np.zeros((1, 4), dtype=np.float32)
    name = "surefoot-1\0" + "1\0linf\0" + "3\0test-00017"
    key = hashlib.blake2b(name.encode(), digest_size=24).digest()
    words = sfc64((*struct.unpack("<3Q", key), 1))
    halves = (half for word in words for half in (word & 0xFFFFFFFF, word >> 32))
    expected = [(next(halves) >> 8) / 2**24 for _ in range(50)]
    assert stream(1, "test-00017", "linf", 3, like).uniform((50,)).tolist() == expected
    assert generator_for(like) == "sfc64"


@pytest.mark.parametrize(
    ("shape", "size"), [((784,), 64), ((3, 32, 32), 16), ((3, 224, 224), 1), ((6,), 1024)]
)
def test_blocks_depend_on_the_shape_alone(shape, size):
    assert block_size(shape) == size


def test_neighbouring_blocks_and_subjects_are_uncorrelated():
    like = np.zeros((1, 4), dtype=np.float32)
    rows = [
        stream(1, f"s{s}", "linf", b, like).uniform((5000,)) for s in range(8) for b in range(8)
    ]
    correlation = np.corrcoef(np.array(rows)) - np.eye(64)
    assert np.abs(correlation).max() < 5 / math.sqrt(5000)


def splitmix(base, number):
    """Steele, Lea & Flood's mixer, written out: 64-bit words."""
    mask = 2**64 - 1
    z = (number * 0x9E3779B97F4A7C15 + base) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def test_the_key_of_a_trial_is_splitmix_of_its_name_in_either_namespace(torch):
    base, trials = base_of(1, "p0", "linf"), np.arange(5, 300, dtype=np.int64)
    bases = np.full(len(trials), base, dtype=np.int64)
    keys = row_keys(bases, trials)
    assert [int(k) % 2**64 for k in keys] == [splitmix(base % 2**64, int(i)) for i in trials]
    theirs = row_keys(torch.from_numpy(bases), torch.from_numpy(trials))
    np.testing.assert_array_equal(theirs.numpy(), keys)
    assert len(set(keys.tolist())) == len(keys)
    assert base_of(1, "p0", "l2") != base != base_of(2, "p0", "linf")
