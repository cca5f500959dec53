"""Functions of one's own as perturbations: batched, or one row at a time."""

import functools
import json

import numpy as np
import pytest
from PIL import Image

from surefoot.core.results import Interval
from surefoot.engine.streams import stream
from surefoot.perturb import Batched, InputFormat, OneByOne, custom
from surefoot.subject.protocols import View
from surefoot.system.user_code import describe_function
from surefoot.testing import check_image_perturbation, check_perturbation
from tests.refusals import refused

UNIT = Interval(0, 1)


def brighter(x, u, level):
    return x + level * u


def speckled(image, rng, level):
    return image + level * rng.standard_normal(image.shape).astype(np.float32)


def drawn_for(made, x, n, shape):
    return made.draw(stream(5, "s", made.kind, 0, x), n, shape)


@pytest.mark.parametrize("draws", [0, 2, (2, 3)])
def test_a_function_of_ones_own_conforms(draws):
    def shaded(x, u, level):
        first = u.reshape(len(u), -1)[:, :1].reshape(-1, *(1 for _ in x.shape[1:]))
        return x * (1 - level * first)

    check_perturbation(Batched(0.4, shaded, "shaded", draws), (6,))
    check_image_perturbation(Batched(0.4, shaded, "shaded", draws, View.IMAGE))


def test_one_line_is_enough():
    made = custom(0.1)(lambda x, u, level: x + level * (u - 0.5))
    check_perturbation(made, (3, 8, 8))
    assert made.kind == "custom" and made.level == 0.1

    @custom(0.3, draws=1, view=View.SERIES)
    def slow_drift(x, u, level):
        return x + level * (u - 0.5)

    assert slow_drift.kind == "slow-drift" and slow_drift.view is View.SERIES
    check_perturbation(slow_drift, (2, 30))


def test_the_same_function_serves_numpy_and_torch(torch):
    made, x = (
        Batched(0.3, brighter, "brighter"),
        np.random.default_rng(0).random((4, 5), np.float32),
    )
    tensor = torch.from_numpy(x)
    ours = made.apply(x, drawn_for(made, x, 4, (5,)), 0.3, UNIT)
    theirs = made.apply(tensor, drawn_for(made, tensor, 4, (5,)), 0.3, UNIT)
    assert theirs.dtype == torch.float32
    np.testing.assert_allclose(theirs.numpy(), ours, atol=1e-7)


def test_the_function_gets_the_draws_the_rows_and_the_level_as_stated():
    seen = {}

    def spy(x, u, level):
        seen.update(x=x.shape, u=u.shape, level=level)
        x += 1
        return x

    x = np.zeros((1, 4), dtype=np.float32)
    made = Batched(0.5, spy, "spy", draws=3)
    assert (made.apply(x, drawn_for(made, x, 7, (4,)), 0.5, None) == 1).all()
    assert seen == {"x": (7, 4), "u": (7, 3), "level": 0.5}
    assert not x.any()


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda x, u, level: x[..., :2], r"must return shape \(.*4,?\), got shape \(.*2,?\)"),
        (lambda x, u, level: None, "got NoneType"),
        (lambda x, u, level: x * np.inf, "returned NaN or infinite values at level 0.5"),
    ],
)
def test_a_function_that_gives_something_else_is_refused(function, says):
    x = np.ones((3, 4), dtype=np.float32)
    for made in (Batched(0.5, function, "f"), OneByOne(0.5, function, "f", View.VALUES)):
        refused(says, made.apply, x, x[:, :2] / 2, 0.5, UNIT)


def test_a_function_must_not_write_into_the_draws():
    def careless(x, u, level):
        u *= level
        return x + u

    x = np.zeros((2, 3), dtype=np.float32)
    with pytest.raises(ValueError, match="read-only"):
        Batched(0.5, careless, "careless").apply(x, x.copy(), 0.5, None)


def test_one_by_one_conforms_and_says_that_it_is_slow():
    made = OneByOne(0.2, speckled, "speckled")
    check_image_perturbation(made)
    check_perturbation(OneByOne(0.2, speckled, "speckled", View.VALUES), (7,))
    assert "CPU, one image at a time" in made.phrase


@pytest.mark.parametrize("input_format", list(InputFormat))
@pytest.mark.parametrize("bounds", [UNIT, Interval(-1, 1), Interval(0, 255)])
def test_a_function_sees_the_values_it_asked_for_and_the_model_gets_its_own_back(
    input_format, bounds
):
    kinds = []

    def same(image, rng, level):
        kinds.append(image.mode if isinstance(image, Image.Image) else (image.dtype, image.max()))
        return image

    made = OneByOne(1.0, same, "same", input_format=input_format)
    unit = np.round(np.random.default_rng(0).random((2, 3, 5, 4)) * 255) / 255
    unit[0, 0, 0, 0] = 1.0
    x = (unit * bounds.width + bounds.low).astype(np.float32)
    out = made.apply(x, drawn_for(made, x, 2, x.shape[1:]), 1.0, bounds)
    np.testing.assert_allclose(out, x, atol=1e-6 * bounds.width)
    top = {InputFormat.MODEL: bounds.high, InputFormat.UNIT: 1.0, InputFormat.BYTES: 255}.get(
        input_format
    )
    dtype = np.uint8 if input_format is InputFormat.BYTES else np.float32
    assert kinds[0] == ("RGB" if input_format is InputFormat.PILLOW else (dtype, top))


def adding(amount):
    def added(x, u, level):
        return x + amount * level

    return added


def test_a_function_is_described_by_its_name_its_source_and_what_it_holds():
    told = Batched(0.1, brighter, "brighter", (2, 3)).describe()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert told["function"]["name"].endswith(":brighter")
    assert len(told["function"]["sha256"]) == 64
    digests = {
        json.dumps(Batched(0.1, function, "f").describe())
        for function in (brighter, adding(1), adding(2), functools.partial(brighter, u=0))
    }
    assert len(digests) == 4
    assert Batched(0.1, adding(1), "f").describe() == Batched(0.1, adding(1), "f").describe()
    first, other = (
        Batched(0.1, eval(f"lambda x, u, level: x + {c}"), "f").describe() for c in (1, 2)
    )
    assert first != other  # also where there is no source to read


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Batched(-1.0, brighter, "f"), "level must be finite and ≥ 0, got -1"),
        (lambda: Batched(0.1, 3, "f"), "must be callable, got 3"),
        (lambda: Batched(0.1, brighter, ""), "must be a word, got ''"),
        (lambda: Batched(0.1, brighter, "f", draws=-1), "got -1"),
        (lambda: Batched(0.1, brighter, "f", draws=(2, 0)), r"got \(2, 0\)"),
        (lambda: Batched(0.1, brighter, "f", view="image"), "View.IMAGE.*got 'image'"),
        (lambda: OneByOne(0.1, speckled, "f", View.VALUES, InputFormat.PILLOW), "got View.VALUES"),
    ],
)
def test_what_means_nothing_is_refused_with_its_value(make, says):
    refused(says, make)


def scaled(by):
    return lambda u: by * u


def with_a_helper(by):
    helper = scaled(by)
    return lambda x, u, level: x + level * helper(u)


FACTOR = 1.0


def reads_a_global(x, u, level):
    return x + FACTOR * level * u


def test_what_a_function_does_is_in_its_description(monkeypatch):
    """Else a store would give the result of another one back."""
    up, down = (lambda x, u, level: x + level * u), (lambda x, u, level: x - level * u)
    assert describe_function(up) != describe_function(down)
    assert describe_function(with_a_helper(0.0)) != describe_function(with_a_helper(1.0))
    assert describe_function(with_a_helper(1.0)) == describe_function(with_a_helper(1.0))
    before = describe_function(reads_a_global)
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    assert describe_function(reads_a_global) != before
