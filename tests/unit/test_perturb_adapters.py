"""Transforms of other libraries as perturbations.

The fakes have the signatures their libraries document; none of the libraries is needed.
"""

import functools
import json
import random
from dataclasses import replace

import numpy as np
import pytest
from PIL import ImageOps

from surefoot.core.results import Interval
from surefoot.engine.devices import draw_rows
from surefoot.engine.streams import stream
from surefoot.errors import InvalidArgument
from surefoot.perturb.adapters import (
    from_albumentations,
    from_maite,
    from_nrtk,
    from_torchvision,
    restored_global_generators,
    seed_generators,
)
from surefoot.perturb.own_function import InputFormat
from surefoot.testing import check_image_perturbation
from tests.refusals import refused

torch = pytest.importorskip("torch")

UNIT = Interval(0, 1)


class Albumentation:
    """Called with image=…, gives a dict; its generators are its own, as in version 1.4.19 on."""

    def __init__(self, p=0.5):
        self.p = p
        self.random_generator = np.random.default_rng()
        self.py_random = random.Random()

    def __call__(self, *, image):
        assert image.dtype == np.float32 and image.shape[-1] in (1, 3)
        flipped = image[:, ::-1] if self.py_random.random() < self.p else image
        return {"image": flipped * np.float32(self.random_generator.uniform(0.5, 1.0))}


class GlobalAlbumentation:
    """As before: random numbers from the global state of `random`, NumPy and Torch."""

    def __call__(self, *, image):
        flipped = image[::-1] if random.random() < 0.5 else image
        noise = np.random.normal(size=image.shape) * float(torch.rand(()))  # noqa: NPY002
        return {"image": np.clip(flipped + 0.1 * noise, 0, 1).astype(np.float32)}


class Compose:
    """Holds transforms, which hold generators."""

    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, *, image):
        for transform in self.transforms:
            image = transform(image=image)["image"]
        return {"image": image}


class PerturberWithBoxes:
    """NRTK from 0.20 on: keywords only, image and boxes come back."""

    def __init__(self, seed=None):
        self._rng = np.random.default_rng(seed)

    def __call__(self, *, image, boxes=None, **_):
        assert image.dtype == np.uint8 and image.shape[2:] in ((), (3,))
        return np.uint8(image * self._rng.uniform(0.5, 1.0)), boxes


class PerturberOfOld:
    """NRTK before: an image comes back."""

    def __call__(self, image, additional_params=None):
        return np.uint8(image // (1 + np.random.randint(3)))  # noqa: NPY002


class Augmentation:
    """MAITE: a batch of inputs, targets and metadata in, the same three out."""

    def __init__(self):
        self.metadata = {"id": "dim"}
        self.generator = torch.Generator()

    def __call__(self, batch):
        inputs, targets, metadata = batch
        shade = torch.rand((), generator=self.generator)
        return [torch.as_tensor(x) * shade for x in inputs], targets, metadata


def tensor_transform(image):
    return image.flip(-1) * torch.rand(())


def pillow_transform(image):
    return ImageOps.mirror(image) if random.random() < 0.5 else image


ADAPTED = [
    from_albumentations(Albumentation()),
    from_albumentations(GlobalAlbumentation()),
    from_albumentations(Compose([Albumentation(), GlobalAlbumentation(), Albumentation(0.2)])),
    from_torchvision(tensor_transform),
    from_torchvision(pillow_transform, input_format=InputFormat.PILLOW),
    from_torchvision(lambda image: image // 2, input_format=InputFormat.BYTES),
    from_nrtk(PerturberWithBoxes()),
    from_nrtk(PerturberOfOld()),
    from_maite(Augmentation()),
]
every = pytest.mark.parametrize("made", ADAPTED, ids=[p.name for p in ADAPTED])


def drawn_for(made, x, n, shape):
    return made.draw(stream(5, "s", made.kind, 0, x), n, shape)


@every
def test_every_adapted_transform_conforms(made):
    x = np.random.default_rng(1).random((6, 3, 8, 6), dtype=np.float32)
    drawn = drawn_for(made, x, 6, x.shape[1:])
    assert np.array_equal(made.apply(x, drawn, 0.0, UNIT), x)
    out = made.apply(x, drawn, 1.0, UNIT)
    assert out.shape == x.shape and out.dtype == np.float32
    assert (out != x).any() and out.min() >= 0 and out.max() <= 1
    check_image_perturbation(made)


@every
def test_batch_order_and_the_global_state_do_not_matter(made):
    x = np.random.default_rng(1).random((8, 1, 7, 5), dtype=np.float32)
    drawn = drawn_for(made, x, 8, x.shape[1:])
    whole = made.apply(x, drawn, 1.0, UNIT)
    random.seed(99)
    np.random.seed(99)  # noqa: NPY002
    torch.manual_seed(99)
    for i in (5, 0, 7):
        assert np.array_equal(
            made.apply(x[i : i + 1], draw_rows(drawn, i, i + 1), 1.0, UNIT)[0], whole[i]
        )
    turned = made.apply(x[::-1], drawn[::-1], 1.0, UNIT)
    assert np.array_equal(turned[::-1], whole)


@every
def test_torch_inputs_come_back_as_torch(made):
    x = torch.rand((3, 3, 6, 6), generator=torch.Generator().manual_seed(0))
    out = made.apply(x, drawn_for(made, x, 3, (3, 6, 6)), 1.0, UNIT)
    ours = made.apply(x.numpy(), drawn_for(made, x.numpy(), 3, (3, 6, 6)), 1.0, UNIT)
    assert isinstance(out, torch.Tensor) and np.array_equal(out.numpy(), ours)


def test_rows_get_random_numbers_of_their_own():
    made, x = from_albumentations(GlobalAlbumentation()), np.full((1, 1, 6, 6), 0.5, np.float32)
    out = made.apply(x, drawn_for(made, x, 16, x.shape[1:]), 1.0, UNIT)
    assert len({row.tobytes() for row in out}) == 16


def test_the_global_random_state_is_as_before_even_after_a_failure():
    def states():
        return random.random(), np.random.random(), float(torch.rand(()))  # noqa: NPY002

    def begin():
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002
        torch.manual_seed(1)

    def broken(image):
        states()
        raise ZeroDivisionError

    begin()
    expected = states()
    begin()
    x = np.zeros((2, 1, 3, 3), np.float32)
    with pytest.raises(InvalidArgument, match="raised ZeroDivisionError"):
        from_torchvision(broken).apply(x, x[:, 0, 0, :2], 1.0, UNIT)
    from_torchvision(tensor_transform).apply(x, x[:, 0, 0, :2], 1.0, UNIT)
    assert states() == expected


def test_generators_are_found_wherever_a_transform_keeps_them():
    own = np.random.default_rng(), np.random.RandomState(), random.Random()

    def enclosing(image):
        return own[0].random(), own[1].rand(), own[2].random()

    class Object:
        def method(self, image):
            return enclosing(image)

    for holder in (enclosing, functools.partial(enclosing, 1), {"a": [enclosing]}, Object().method):
        found = []
        for _ in range(2):
            with restored_global_generators():
                seed_generators(np.random.default_rng(4), holder)
                found.append(enclosing(None))
        assert found[0] == found[1] and len(set(found[0])) == 3


@pytest.mark.parametrize("level", [0.5, 2.0])
def test_an_adapted_transform_has_the_levels_0_and_1_only(level):
    refused(f"got {level:g}", from_nrtk, PerturberOfOld(), level)
    made, x = from_nrtk(PerturberOfOld()), np.zeros((2, 1, 3, 3), np.float32)
    refused(f"level must be .*got {level:g}", made.apply, x, x[:, 0, 0, :2], level, UNIT)
    refused(f"level must be .*got {level:g}", replace, made, level=level)
    assert made.levels(UNIT) == Interval(0, 1)


def test_a_transform_is_described_by_its_settings_and_not_by_its_state():
    made = from_albumentations(Compose([Albumentation(0.25)]))
    told = json.dumps(made.describe(), allow_nan=False)
    assert "p: 0.25" in told and "0x" not in told
    x = np.zeros((2, 1, 3, 3), np.float32)
    made.apply(x, drawn_for(made, x, 2, (1, 3, 3)), 1.0, UNIT)
    assert json.dumps(made.describe()) == told
    other = from_albumentations(Compose([Albumentation(0.75)]))
    assert json.dumps(other.describe()) != told
