"""Transforms of other libraries as perturbations: on the CPU, one image at a time.

None of these libraries is needed: a transform is called as its library documents. The level is 1,
the transform as it is, or 0, the image as it is. Before each call every random generator that a
transform can use is seeded for this row: the global ones of `random`, `numpy.random` and, where
loaded, Torch (restored afterwards) and OpenCV (which cannot be restored), and those within the
transform.
"""

from __future__ import annotations

import functools
import random
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from surefoot.perturb.own_function import InputFormat, OneByOne, channels_first
from surefoot.subject.protocols import HostArray, Item, View
from surefoot.system.user_code import cell_content, describe_function, describe_value

if TYPE_CHECKING:
    import torch

Transform = Callable[..., Item]
"""An object of another library, called as that library documents."""
Generator: TypeAlias = (
    "np.random.Generator | np.random.RandomState | random.Random | torch.Generator"
)
_GLOBAL = threading.RLock()
_DEPTH = 8
"""Levels of attributes that are searched for generators."""


def from_albumentations(
    transform: Transform,
    level: float = 1.0,
    *,
    name: str = "",
    input_format: InputFormat = InputFormat.UNIT,
) -> OneByOne:
    """An Albumentations transform or Compose: transform(image=…)["image"], channels last.

    It gets float32 in [0, 1]; pass `input_format=InputFormat.BYTES` for one that needs uint8.
    """
    return _adapted("albumentations", transform, _call_albumentations, level, name, input_format)


def from_torchvision(
    transform: Transform,
    level: float = 1.0,
    *,
    name: str = "",
    input_format: InputFormat = InputFormat.UNIT,
) -> OneByOne:
    """A torchvision transform, called with a tensor (channels, height, width) of [0, 1].

    `input_format=InputFormat.BYTES` makes that uint8, `InputFormat.PILLOW` a Pillow image.
    """
    return _adapted("torchvision", transform, _call_torchvision, level, name, input_format)


def from_nrtk(perturber: Transform, level: float = 1.0, *, name: str = "") -> OneByOne:
    """An NRTK PerturbImage: perturber(image=…), uint8 with channels last, or two axes for grey.

    It may return an image, or an image and boxes.
    """
    return _adapted("nrtk", perturber, _call_nrtk, level, name, InputFormat.BYTES)


def from_maite(
    augmentation: Transform,
    level: float = 1.0,
    *,
    name: str = "",
    input_format: InputFormat = InputFormat.MODEL,
) -> OneByOne:
    """A MAITE Augmentation, called with a batch of one: ([image], [target], [metadata]).

    The image has channels first and the values of the model; the target is a placeholder 0. A grey
    image may be returned with two axes.
    """
    return _adapted("maite", augmentation, _call_maite, level, name, input_format)


@dataclass(frozen=True)
class Adapted:
    """A transform as a function of an image and a generator."""

    library: str
    transform: Transform = field(hash=False)
    call: Callable[[Transform, Item], Item]

    def __call__(self, image: Item, rng: np.random.Generator, level: float) -> Item:
        """The transformed image; call it within `around`."""
        seed_generators(rng, self.transform)
        return self.call(self.transform, image)

    def around(self) -> AbstractContextManager[None]:
        """The context in which a batch is done."""
        return restored_global_generators()

    def describe(self) -> dict[str, str]:
        """The transform, and through which library it is called."""
        described = dict(describe_function(self.transform))
        if hasattr(self.transform, "to_dict"):
            # Settings as Albumentations saves them: other attributes of its objects change with
            # every call and from process to process. It saves no function without a name.
            with suppress(NotImplementedError, ValueError):
                described["settings"] = describe_value(self.transform.to_dict())
        return {**described, "library": self.library}


def _adapted(
    library: str,
    transform: Transform,
    call: Callable[[Transform, Item], Item],
    level: float,
    name: str,
    input_format: InputFormat,
) -> OneByOne:
    title = getattr(transform, "__name__", type(transform).__name__)
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_", "-", str(title))
    words = re.sub(r"[^a-z0-9-]", "", parts.lower()).removeprefix(f"{library}-")
    kind = name or f"{library}-{words}"
    function = Adapted(library, transform, call)
    return OneByOne(level, function, kind, View.IMAGE, input_format, only=(0.0, 1.0))


def _call_albumentations(transform: Transform, image: HostArray) -> Item:
    return channels_first(transform(image=_channels_last(image))["image"])


def _call_torchvision(transform: Transform, image: Item) -> Item:
    if not isinstance(image, np.ndarray):
        return transform(image)
    import torch

    return transform(torch.from_numpy(image))


def _call_nrtk(perturber: Transform, image: HostArray) -> Item:
    out = perturber(image=image[0] if len(image) == 1 else _channels_last(image))
    return channels_first(out[0] if isinstance(out, tuple) else out)


def _call_maite(augmentation: Transform, image: HostArray) -> Item:
    images, _, _ = augmentation(([image], [np.zeros(1, np.float32)], [{"id": 0}]))
    out = images[0] if hasattr(images[0], "detach") else np.asarray(images[0])
    return out[None] if out.ndim == 2 else out


def _channels_last(image: HostArray) -> HostArray:
    return np.ascontiguousarray(np.moveaxis(image, 0, -1))


@contextmanager
def restored_global_generators() -> Iterator[None]:
    """A context after which the global generators are as before; one thread at a time."""
    with _GLOBAL:
        torch = sys.modules.get("torch")
        python_state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002  code of others draws from it
        torch_state = torch.get_rng_state() if torch else None
        try:
            yield
        finally:
            random.setstate(python_state)
            np.random.set_state(numpy_state)  # noqa: NPY002  code of others draws from it
            if torch:
                torch.set_rng_state(torch_state)


def seed_generators(rng: np.random.Generator, holder: Transform) -> None:
    """Seed every generator from `rng`: the global ones and those within `holder`."""
    python_seed, numpy_seed, torch_seed, opencv_seed = rng.integers(2**31, size=4).tolist()
    random.seed(python_seed)
    np.random.seed(numpy_seed)  # noqa: NPY002  code of others draws from it
    torch, opencv = sys.modules.get("torch"), sys.modules.get("cv2")
    if torch:
        torch.default_generator.manual_seed(torch_seed)
    if opencv:
        opencv.setRNGSeed(opencv_seed)
    for generator in _generators_within(holder, set(), _DEPTH):
        seed = int(rng.integers(2**31))
        match generator:
            case np.random.Generator():
                bits = generator.bit_generator
                bits.state = type(bits)(seed).state
            case np.random.RandomState() | random.Random():
                generator.seed(seed)
            case _:
                generator.manual_seed(seed)


def _generators_within(value: Any, visited: set[int], depth: int) -> Iterator[Generator]:  # noqa: ANN401  an object of another library
    """The random generators within an object, each once, in the order of its attributes."""
    if depth < 0 or id(value) in visited or isinstance(value, str | bytes | type | ModuleType):
        return
    visited.add(id(value))
    torch = sys.modules.get("torch")
    kinds = (np.random.Generator, np.random.RandomState, random.Random)
    if isinstance(value, kinds) or (torch and isinstance(value, torch.Generator)):
        yield value
        return
    for part in _parts(value):
        yield from _generators_within(part, visited, depth - 1)


def _parts(value: Any) -> list[Any]:  # noqa: ANN401  an object of another library
    match value:
        case dict():
            return list(value.values())
        case list() | tuple():
            return list(value)
        case functools.partial():
            return [value.func, value.args, value.keywords]
        case MethodType():
            return [value.__self__, value.__func__]
        case FunctionType():
            used = [value.__globals__.get(name) for name in value.__code__.co_names]
            enclosed = [cell_content(cell) for cell in value.__closure__ or ()]
            return [*enclosed, value.__defaults__, value.__kwdefaults__, *used]
        case _:
            return list(getattr(value, "__dict__", {}).values())
