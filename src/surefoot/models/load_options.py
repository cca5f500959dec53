"""What a user says about a model that is loaded, checked once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.core.limits import check_fields, limit
from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument, ModelFailed
from surefoot.models.call_limit import USUAL_SECONDS
from surefoot.subject.inputs import Feature
from surefoot.subject.protocols import LARGEST_NUMBER, Array, Scores, Signature

_FINITE = limit(lambda numbers: all(map(math.isfinite, numbers)), "be finite")
_ABOVE_0 = limit(lambda numbers: all(0 < n < math.inf for n in numbers), "be finite and above 0")


@dataclass(frozen=True)
class Normalise:
    """(x - mean) / std, per channel or with one number for all."""

    mean: tuple[float, ...] = field(default=(0.0,), metadata=_FINITE)
    std: tuple[float, ...] = field(default=(1.0,), metadata=_ABOVE_0)

    def __post_init__(self) -> None:
        if len(self.mean) != len(self.std):
            raise InvalidArgument(
                f"mean has {len(self.mean)} numbers and std {len(self.std)}: give as many of each"
            )
        check_fields(self)
        small = 1 / LARGEST_NUMBER
        if any(abs(m) > LARGEST_NUMBER for m in self.mean) or not all(
            small <= s <= LARGEST_NUMBER for s in self.std
        ):
            raise InvalidArgument(
                f"mean {self.mean} and std {self.std} are beyond float32: give those with which "
                "the model was trained"
            )

    @property
    def is_identity(self) -> bool:
        """Whether it changes nothing."""
        return set(self.mean) == {0.0} and set(self.std) == {1.0}

    def description(self) -> str:
        """What it does, for the record."""
        mean, std = (", ".join(map(str, numbers)) for numbers in (self.mean, self.std))
        return "" if self.is_identity else f"normalised with mean {mean} and std {std}"

    def check(self, shape: tuple[int, ...]) -> None:
        """Refuse a number of channels that the shape does not have."""
        _spread(self.mean, shape)

    def __call__(self, x: Array) -> Array:
        """Normalise a batch."""
        if self.is_identity:
            return x
        shape = x.shape[1:]
        mean, std = _spread(self.mean, shape), _spread(self.std, shape)
        if isinstance(x, np.ndarray):
            return (x - mean) / std
        xp = array_namespace(x)
        return (x - xp.asarray(mean, device=x.device)) / xp.asarray(std, device=x.device)

    def before(self, x: NDArray[np.floating]) -> NDArray[np.floating]:
        """What it makes into this batch."""
        shape = x.shape[1:]
        before: NDArray[np.floating] = x * _spread(self.std, shape) + _spread(self.mean, shape)
        return before

    def gradient_before(self, gradient: NDArray[np.floating]) -> NDArray[np.floating]:
        """The gradient in what was normalised."""
        return gradient if self.is_identity else gradient / _spread(self.std, gradient.shape[1:])


def _spread(numbers: tuple[float, ...], shape: tuple[int, ...]) -> np.ndarray:
    """One number a channel, shaped to fit rows of `shape`."""
    values = np.asarray(numbers, dtype=np.float32)
    if len(values) == 1:
        return values.reshape(())
    if len(shape) >= 2 and shape[0] == len(values):
        return values.reshape(-1, *(1 for _ in shape[1:]))
    if shape and shape[-1] == len(values):
        return values
    raise InvalidArgument(
        f"mean and std have {len(values)} numbers, but no axis of the input {shape} is that long: "
        "give one number, or one for each channel"
    )


Source = Any
"""What a user gives as a model: a file, an address, a name, a module, an estimator, a function."""
Numbers = Sequence[float] | float | None
Dtype = type[np.generic] | None


@dataclass(frozen=True)
class LoadOptions:
    """The options of `load_model`, each in its own type."""

    bounds: Interval | None
    normalise: Normalise
    scores: Scores | None
    shape: tuple[int, ...] | None
    output: str | None = None
    device: str | None = None
    half: bool = False
    trust: bool = False
    features: tuple[Feature, ...] = ()
    data_shape: tuple[int, ...] | None = None
    token_variable: str | None = None
    call_limit: float = USUAL_SECONDS

    def input_shape(self, own: Sequence[int | None] | None, what: str) -> tuple[int, ...]:
        """The shape of one input: the model's `own` where it states one, else as the user says.

        Where the model leaves lengths open and the user says nothing, that of the data counts.
        """
        if own is None:
            shape = self.shape or self.data_shape
            if shape is None:
                raise InvalidArgument(
                    f"{what} does not say the shape of its input: pass shape=(…) of one input"
                )
            return shape
        words = f"({', '.join('?' if n is None else str(n) for n in own)})"
        if self.shape is not None and not _fits(self.shape, own):
            raise InvalidArgument(
                f"{what} takes inputs of shape {words}, got {self.shape}: leave out --shape "
                "(shape=), or pass one that fits"
            )
        known = [n for n in own if n is not None]
        if len(known) == len(own):
            return tuple(known)
        stated = [self.shape] if self.shape is not None else _layouts(self.data_shape)
        for shape in stated:
            if _fits(shape, own):
                return shape
        why = "" if self.data_shape is None else f", and the data of shape {self.data_shape} do not"
        raise InvalidArgument(
            f"{what} leaves its input shape {words} open{why}: pass shape=(…) of one input"
        )

    def draft(
        self, shape: tuple[int, ...], digest: str = "", covers: str = "", dtype: Dtype = None
    ) -> Signature:
        """What is known of a model before it has answered; `dtype` of its input, where it has one.

        Models that state a type take several threads at a time.
        """
        rounded = dtype is not None and bool(np.issubdtype(dtype, np.integer))
        preparation = [
            self.normalise.description(),
            f"answers from output {self.output}" if self.output is not None else "",
            f"rounded to whole numbers ({np.dtype(dtype).name})" if rounded else "",
        ]
        return Signature(
            shape=shape,
            classes=0,
            scores=self.scores or Scores.LOGITS,
            digest=digest,
            covers=covers,
            bounds=self.bounds,
            whole_numbers=rounded,
            thread_safe=dtype is not None,
            preparation=", ".join(filter(None, preparation)),
        )

    def chosen_output(
        self, where: str, outputs: Mapping[str, str], kinds: tuple[str, ...], whole: tuple[str, ...]
    ) -> str:
        """The output that holds scores: the one named, else the first whose type begins as one of
        `kinds`, in their order.

        Values that are no class scores may be `whole` numbers too, such as a mask of classes.
        """
        if self.output is not None and self.output not in outputs:
            raise InvalidArgument(
                f"{where} has no output {self.output!r}: it has {', '.join(outputs)}; name one of "
                "them"
            )
        no_classes = self.scores is not None and not self.scores.of_classes
        begins: Sequence[str | tuple[str, ...]] = (*kinds, whole) if no_classes else kinds
        for kind in begins:
            for name, dtype in outputs.items():
                if self.output == name or (self.output is None and dtype.startswith(kind)):
                    return name
        stated = ", ".join(f"{name} {dtype}" for name, dtype in outputs.items())
        raise ModelFailed(
            f"{where} has no output of scores: it has {stated}; let it give the scores of the "
            "classes"
        )

    def refuse_output(self) -> None:
        """For every model that is neither an ONNX file nor behind HTTP."""
        if self.output is not None:
            raise InvalidArgument(
                f"output {self.output!r}: only an ONNX file and a model behind HTTP have outputs "
                "to choose from; leave it out"
            )

    def refuse_device(self) -> None:
        """For every model that is neither PyTorch's nor an ONNX file."""
        if self.device is not None:
            raise InvalidArgument(
                f"device {self.device!r}: only PyTorch models and ONNX files can be "
                "moved to a device: leave it out"
            )
        if self.half:
            raise InvalidArgument("half precision is for PyTorch models: leave it out")


def _fits(shape: Sequence[int], own: Sequence[int | None]) -> bool:
    return len(shape) == len(own) and all(
        n is None or n == m for n, m in zip(own, shape, strict=True)
    )


def _layouts(shape: tuple[int, ...] | None) -> list[tuple[int, ...]]:
    """The shapes into which data are brought without a choice: as they are, with channels moved,
    with an axis of length one added or dropped.
    """
    if shape is None:
        return []
    bare = tuple(n for n in shape if n != 1)
    moved = [(shape[2], *shape[:2]), (*shape[1:], shape[0])] if len(shape) == 3 else []
    return [shape, *moved, bare, (1, *bare), (*bare, 1)]


CONSTANTS = {
    "imagenet": Normalise((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "cifar10": Normalise((0.4914, 0.4822, 0.4465), (0.247, 0.2435, 0.2616)),
}
"""Normalisations by name, of values from 0 to 1: as torchvision's models have it, and the mean and
standard deviation of the training images of CIFAR-10."""


def named_normalisation(text: str) -> Normalise:
    """The normalisation of this name, or of MEAN/STD: 0.5/0.5, or several numbers each."""
    if text in CONSTANTS:
        return CONSTANTS[text]
    try:
        mean, std = ([float(n) for n in part.split(",")] for part in text.split("/"))
    except ValueError:
        raise InvalidArgument(
            f"normalise (--normalise) {text!r}: choose {' or '.join(CONSTANTS)}, or write MEAN/STD "
            "as 0.5/0.5 or 0.49,0.48,0.45/0.25,0.24,0.26",
            option="normalise",
            value=text,
        ) from None
    return normalisation(mean, std)


def normalisation(mean: Numbers, std: Numbers, name: str | None = None) -> Normalise:
    """By its name, or from a mean, a std or both; one number stands for all channels."""
    if name is not None:
        if mean is not None or std is not None:
            raise InvalidArgument(
                f"normalise (--normalise) {name} is mean and std in one: leave out mean (--mean) "
                "and std (--std), or normalise",
                option="normalise",
                value=name,
            )
        return named_normalisation(name)
    shift, divisor = _numbers(mean, 0.0), _numbers(std, 1.0)
    return Normalise(
        shift * len(divisor) if mean is None else shift,
        divisor * len(shift) if std is None else divisor,
    )


def _numbers(values: Numbers, default: float) -> tuple[float, ...]:
    if values is None:
        return (default,)
    return tuple(float(v) for v in np.atleast_1d(np.asarray(values)))


def interval(bounds: Sequence[float] | Interval | None) -> Interval | None:
    """The range of input values."""
    if bounds is None or isinstance(bounds, Interval):
        return bounds
    if len(bounds) != 2 or not -math.inf < bounds[0] < bounds[1] < math.inf:
        raise InvalidArgument(
            f"bounds are two finite numbers, the lower first, got {tuple(bounds)}: write 0,1"
        )
    if bounds[0] < -LARGEST_NUMBER or bounds[1] > LARGEST_NUMBER:
        raise InvalidArgument(
            f"bounds must lie within ±{LARGEST_NUMBER:g}, got {tuple(bounds)}: give the range that "
            "the values can have, or leave bounds out"
        )
    return Interval(float(bounds[0]), float(bounds[1]))


def scores_kind(name: str | None) -> Scores | None:
    """What the model's output is said to be."""
    if name is None:
        return None
    try:
        return Scores(name)
    except ValueError:
        raise InvalidArgument(
            "scores are 'logits', 'probabilities', 'values' (numbers that are no class scores) or "
            f"'objects' (such as boxes), got {name!r}: choose one of them"
        ) from None
