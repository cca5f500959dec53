"""Perturbations: the shared suite, the ball, NumPy and Torch alike; a broken rule is named."""

import dataclasses
import hashlib
import math
import random
import struct

import numpy as np
import pytest
from scipy.stats import kstest

import surefoot as sf
from surefoot.catalogue.registry import PERTURBATIONS
from surefoot.core.results import Interval
from surefoot.engine.outputs import CheckStatus
from surefoot.engine.perturbation_checks import check_repeats
from surefoot.engine.streams import base_of, block_size, generator_for, row_keys, stream
from surefoot.perturb import GaussianNoise, L1Noise, L2Noise, LinfNoise, OneByOne, UniformNoise
from surefoot.subject.protocols import View
from surefoot.testing import check_perturbation
from tests.claims.parts import Shift
from tests.refusals import raised, refused
from tests.worlds import example, linear_model

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


calls = []


def counting(x, rng, level):
    calls.append(1)
    return x * (1 - level * (len(calls) % 7 / 7))


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda x, u, level: x * 0.5, "next to level 0.*scale the change with the level"),
        (lambda x, u, level: x + level * u.mean(axis=0), "rest of the batch: compute row i from"),
        (lambda x, u, level: x + level * np.random.rand(), "np.random or random.*from rng"),  # noqa: NPY002
        (lambda x, rng, level: x * (1 - level * random.random()), "np.random or random.*from rng"),
        (lambda x, u, level: x + np.nan * u, "NaN or infinite values"),
        (lambda x, u, level: x[:, :2], r"must return shape \(16, 6\), got shape \(16, 2\)"),
        (lambda x, rng, level: x[:2], r"must return shape \(6,\), got shape \(2,\)"),
        (counting, "the same draws give two results: take every random number from rng"),
        (lambda x, rng, level: x / [], "raised ValueError"),
    ],
)
def test_a_broken_rule_is_one_sentence_with_the_way_out(function, says):
    with pytest.raises(AssertionError, match=says) as caught:
        check_perturbation(sf.perturb.custom(function, 0.5, name="mine"), (6,))
    assert "\n" not in str(caught.value)


def changed_in_place(x, drawn, level, bounds):
    x -= np.reshape(level, (-1, 1))
    return np.broadcast_to(x, (len(drawn), *x.shape[1:])).copy()


def test_a_class_that_changes_its_input_or_does_not_clip_is_told_what_to_write():
    for name, apply, says in (
        ("InPlace", changed_in_place, "x = x.copy"),
        ("Wide", lambda x, d, level, b: (x - np.reshape(level, (-1, 1))).astype("f4"), "np.clip"),
        ("Double", lambda x, d, level, b: (x + 0.0).astype("f8"), "astype.np.float32"),
        ("Same", lambda x, d, level, b: x, "return x.copy"),
        ("Always", lambda x, d, level, b: x * 0.5, "level 0 must return the input"),
    ):
        parts = {
            "apply": lambda self, *a, apply=apply: apply(*a),
            "levels": lambda self, bounds: Interval(0.0, 10.0),
        }
        own = type(name, (Shift,), parts)
        with pytest.raises(AssertionError, match=says):
            check_perturbation(own(0.5), (6,))


def shout(text, rng, level):
    return text.upper() if rng.random() < level else text


def turn(data, rng, level):
    return data[::-1] if rng.random() < level else data


TEXTS = ["one", "two words", "", "ünï"]


def test_a_function_of_items_that_keeps_the_rules_passes():
    check_perturbation(sf.perturb.custom(shout, 0.5), items=TEXTS)
    check_perturbation(sf.perturb.custom(shout, (0, 0.5)), items=TEXTS)
    check_perturbation(sf.perturb.custom(turn, 0.5), items=[b"", b"ab"])
    check_perturbation(sf.perturb.Chain((sf.perturb.custom(shout, 0.5),)), items=TEXTS)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda text, rng, level: text + "!", "next to level 0 the function changes an item"),
        (lambda text, rng, level: text + str(random.random()), "np.random or random"),
        (lambda text, rng, level: text.encode(), "must return str, as it was given, got bytes"),
        (lambda text, rng, level: None, "got NoneType"),
        (lambda text, u, level: text, "is for arrays"),
        (lambda text, rng, level: text[9:][0], "raised IndexError"),
    ],
)
def test_a_broken_rule_of_items_is_one_sentence_with_the_way_out(function, says):
    with pytest.raises(AssertionError, match=says) as caught:
        check_perturbation(sf.perturb.custom(function, 0.5, name="mine"), items=TEXTS)
    assert "\n" not in str(caught.value)


def test_a_function_that_remembers_is_noticed():
    texts = []

    def remembers(text, rng, level):
        texts.append(text)
        return text + "!" * (level > 1e-6 and len(texts) % 3)

    with pytest.raises(AssertionError, match="two results: take every random number"):
        check_perturbation(sf.perturb.custom(remembers, 0.5), items=["a"])


def test_a_shape_or_items_are_given_and_not_both():
    for more in ({}, {"shape": (3,), "items": TEXTS}, {"items": []}):
        with pytest.raises(AssertionError, match=r"give the shape=|at least one"):
            check_perturbation(sf.perturb.custom(shout, 0.5), **more)
    with pytest.raises(AssertionError, match="is for arrays"):
        check_perturbation(sf.perturb.LinfNoise(0.1), items=TEXTS)
    with pytest.raises(AssertionError, match="is for arrays"):
        check_perturbation(sf.perturb.OneByOne(0.1, shout, view=View.IMAGE), items=TEXTS)


X = np.random.default_rng(3).uniform(0.1, 0.9, (6, 2)).astype(np.float32)


def checked(perturbation, x=X):
    return check_repeats(sf.load_inputs(x, [0] * len(x)), linear_model(), perturbation)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, u, level: x * (1 - level * u.mean()),
        lambda x, u, level: x + level * np.sort(u, axis=0),
        lambda x, u, level: x + level * (x - x.mean(axis=0)),
        lambda x, u, level: x * (1 - level / len(x)),
    ],
)
def test_a_row_that_depends_on_the_batch_is_refused_with_the_way_out(function):
    status, finding = checked(sf.perturb.custom(function, 0.5, name="mine"))
    assert status is CheckStatus.FAILED
    assert "row i of the result depend on row i of x and u only" in finding


def test_a_function_that_returns_the_first_input_it_ever_had_is_refused():
    kept = []

    def first_ever(x, rng, level):
        kept.append(x)
        return kept[0]

    status, finding = checked(OneByOne(0.5, first_ever, "mine", View.VALUES))
    assert status is CheckStatus.FAILED and "every input becomes 0, the first one" in finding


@pytest.mark.parametrize(
    "function",
    [
        lambda x, u, level: x * (1 - level * u),
        lambda x, u, level: x + level * (u - u.mean(axis=1, keepdims=True)),
        lambda x, u, level: x @ np.array([[0.9, 0.1], [0.2, 0.8]], np.float32),
        lambda x, rng, level: x * (1 - level * rng.random()),
        lambda x, rng, level: x * 0,
        lambda x, rng, level: x,
    ],
)
@pytest.mark.parametrize("x", [X, X[:1], np.zeros((2, 2), np.float32), np.eye(2, dtype="f4") * 0.5])
def test_a_function_of_its_own_row_passes(function, x):
    status, finding = checked(sf.perturb.custom(function, 0.5, name="mine"), x)
    assert status is CheckStatus.OK, finding


def test_a_study_with_such_a_function_does_not_run():
    own = sf.perturb.custom(lambda x, u, level: x * (1 - level * u.mean()), 0.5, name="mine")
    method = sf.methods.ExactSequential(width=0.5, error=0.05)
    model = sf.load_model(lambda x: x, shape=(2,), bounds=(0, 1), scores="logits")
    study = sf.Study(model, sf.load_inputs(X), own, method)
    raised(sf.errors.SurefootError, "row i of the result", study.run)
