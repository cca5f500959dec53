"""From whatever a model returns to rows of scores, and from logits to probabilities."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.core.results import Interval
from surefoot.errors import INTERRUPTS, InvalidArgument, ModelFailed, OutOfMemory, SurefootError
from surefoot.graph.gradient import as_rows
from surefoot.models.call_limit import within_program
from surefoot.subject.items import digest_of_object, on_host
from surefoot.subject.protocols import Array, HostArray, Item, Model, Outputs, Scores, Signature
from surefoot.system.memory_limits import pieces
from surefoot.system.user_code import error_text, raised_words

_MEMORY_WORDS = (
    "out of memory", "allocate memory", "failed to allocate", "bad_alloc", "bad allocation",
)  # fmt: skip
PROBES = 8
"""Inputs of the first run, which tells classes and scores: enough that logits do not look like
probabilities by chance."""
_SLACK = 1e-3
"""How far probabilities may be from [0, 1], and their sum from 1: rounding, also in half
precision."""
_DRAWN_TOGETHER = 2**18
"""Values of the first run drawn at a time: in float64 all of a large input would take twice it."""
_PROBE_SEED = 20240607
"""Part of the digest of models in memory: another value would name them anew."""


@contextmanager
def model_errors(way_out: str = "") -> Iterator[None]:
    """Turn whatever the model raises into one of our two errors."""
    try:
        with within_program():
            yield
    except (SurefootError, *INTERRUPTS):
        raise
    except BaseException as error:
        text = error_text(error)  # of Python, PyTorch, ONNX Runtime or a C++ library
        if isinstance(error, MemoryError) or any(sign in text.lower() for sign in _MEMORY_WORDS):
            raise OutOfMemory(text) from error
        raise ModelFailed(
            f"the model {raised_words(error).rstrip('.:')}: "
            f"{way_out or 'correct it, or give it inputs that it takes'}"
        ) from error


def softmax(logits: Array) -> Array:
    """Rows that add up to 1."""
    xp = array_namespace(logits)
    shifted = xp.exp(logits - xp.max(logits, axis=1, keepdims=True))
    return shifted / xp.sum(shifted, axis=1, keepdims=True)


def both_classes(rows: Outputs, scores: Scores) -> Outputs:
    """One column is the score of the second of two classes: give the first its own."""
    if not scores.of_classes or rows.shape[1] > 1:
        return rows
    xp = array_namespace(rows)
    first = 1 - rows if scores is Scores.PROBABILITIES else xp.zeros_like(rows)
    return xp.concat([first, rows], axis=1)


class OfRows:
    """What models share that give rows: they take NumPy's arrays unless they say otherwise."""

    signature: Signature

    def place(self, x: HostArray) -> Array:
        """NumPy it is."""
        return x

    def rows(self, x: Array) -> Outputs:
        """What the model gives for a batch."""
        raise NotImplementedError

    def predict(self, x: Array) -> Array:
        """Scores of a batch."""
        return both_classes(self.rows(x), self.signature.scores)


def looks_like_probabilities(rows: NDArray[np.floating]) -> bool:
    """Whether every row is non-negative and adds up to one, or is one column within [0, 1]."""
    if rows.shape[1] == 1:
        return bool((rows >= -_SLACK).all() and (rows <= 1 + _SLACK).all())
    return bool((rows >= 0).all() and np.allclose(rows.sum(axis=1), 1, atol=_SLACK))


def probe(shape: tuple[int, ...], bounds: Interval | None) -> NDArray[np.float32]:
    """A few arbitrary inputs to see what a model returns; always the same ones."""
    rows: NDArray[np.float32] = _joined(list(_probes(shape, bounds)))
    return rows


def _probes(shape: tuple[int, ...], bounds: Interval | None) -> Iterator[NDArray[np.float32]]:
    """The same in batches, as many of them at a time as the memory has room for."""
    rng = np.random.default_rng(_PROBE_SEED)
    low, high = (bounds.low, bounds.high) if bounds else (0.0, 1.0)
    for rows in pieces(PROBES, 4 * math.prod(shape)):
        values = np.empty((rows.stop - rows.start, *shape), dtype=np.float32)
        flat = values.reshape(-1)
        for start in range(0, len(flat), _DRAWN_TOGETHER):
            part = flat[start : start + _DRAWN_TOGETHER]
            part[...] = rng.uniform(low, high, len(part))
        yield values


def complete_signature(
    draft: Signature,
    run: Callable[[NDArray[np.float32]], Outputs],
    stated: Scores | None,
    *,
    digest_answers: bool = False,
) -> Signature:
    """Complete a signature from one run: number of classes, kind of scores.

    One column that is no probability is refused unless `stated` says that it is a logit. `run`
    gives the rows before `both_classes`. `digest_answers`: the digest covers them too, for models
    in memory, where state can hide that no digest of code or weights sees.
    """
    parts = [run(batch) for batch in _probes(draft.shape, draft.bounds)]
    return signature_of_answers(draft, _joined(parts), stated, digest_answers=digest_answers)


def _joined(parts: list[Outputs]) -> Outputs:
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], list):
        return [one for part in parts for one in part]
    return array_namespace(parts[0]).concat(parts, axis=0)


def signature_of_answers(
    draft: Signature, rows: Outputs, stated: Scores | None, *, digest_answers: bool = True
) -> Signature:
    """The same, of answers to the inputs of `probe` that are there already."""
    if not draft.scores.of_classes:
        return _named(draft, digest_of_object(rows)) if digest_answers else draft
    signed = signature_of_rows(draft, rows, stated)
    if not digest_answers:
        return signed
    values = np.asarray(rows if isinstance(rows, np.ndarray) else rows.cpu(), dtype=np.float64)
    return _named(signed, ",".join(f"{v:.5e}" for v in values.ravel()))


def signature_of_rows(draft: Signature, rows: Array, stated: Scores | None) -> Signature:
    """The signature with what a few rows of the model tell: number of classes, kind of scores."""
    values = np.asarray(rows if isinstance(rows, np.ndarray) else rows.cpu(), dtype=np.float64)
    observed = Scores.PROBABILITIES if looks_like_probabilities(values) else Scores.LOGITS
    if stated is Scores.PROBABILITIES and observed is Scores.LOGITS and np.isfinite(values).all():
        raise ModelFailed(
            "scores is 'probabilities', but the rows of the model add up to "
            f"{values.sum(axis=1).min():.3g} to {values.sum(axis=1).max():.3g}: "
            "pass scores=logits instead"
        )
    if stated is None and values.shape[1] == 1:
        refuse_regressor(values)
    return replace(draft, classes=max(2, rows.shape[1]), scores=stated or observed)


def _named(draft: Signature, answers: str) -> Signature:
    """The signature with a digest that covers the answers too."""
    digest = hashlib.sha256(f"{draft.digest}\0{answers}".encode()).hexdigest()
    parts, comma, left_out = draft.covers.partition(", not ")
    covers = f"{parts}, and the answers to {PROBES} fixed inputs{comma}{left_out}"
    return replace(draft, digest=digest, covers=covers)


def refuse_regressor(column: NDArray[np.floating]) -> None:
    """Refuse one number an input that is no probability: most likely it is no class score."""
    low, high = float(column.min()), float(column.max())
    if np.isfinite([low, high]).all() and not -_SLACK <= low <= high <= 1 + _SLACK:
        raise InvalidArgument(
            f"the model gives one number for each input, here from {low:.3g} to {high:.3g}, which "
            "is no probability: for a regressor state a tolerance (--property close:10, "
            'property="close:10") or, where no property is given, --scores values '
            '(scores="values"); for a classifier with one logit pass --scores logits '
            '(scores="logits")'
        )


@dataclass(frozen=True)
class SoftmaxModel:
    """A model of logits, read as probabilities."""

    model: Model

    @property
    def signature(self) -> Signature:
        """As the model's, but for the scores."""
        return replace(self.model.signature, scores=Scores.PROBABILITIES)

    @property
    def replicas(self) -> tuple[SoftmaxModel, ...]:
        """Of the model's copies on further devices."""
        return tuple(map(SoftmaxModel, getattr(self.model, "replicas", ())))

    def place(self, x: NDArray[np.float32]) -> Array:
        """As the model does."""
        return self.model.place(x)

    def predict(self, x: Array) -> Array:
        """Softmax of the logits."""
        return softmax(self.model.predict(x))


def as_probabilities(model: Model) -> Model:
    """The model itself if it returns probabilities, else its softmax."""
    return model if model.signature.scores is Scores.PROBABILITIES else SoftmaxModel(model)


def read_output(raw: Outputs, expected: int, scores: Scores) -> Outputs:
    """The output for `expected` inputs, as the kind of scores says."""
    if scores is Scores.OBJECTS:
        return as_objects(raw, expected)
    if isinstance(raw, Mapping):
        raise ModelFailed(
            f"the model answered with a dict of {', '.join(map(str, raw))}: let it return the "
            "scores alone, or under the name logits"
        )
    array = raw if hasattr(raw, "shape") and hasattr(raw, "dtype") else np.asarray(raw)
    if array.dtype == np.object_:
        raise ModelFailed(
            "the model answered with objects, not with numbers: where each input gets an object, "
            'such as boxes, pass scores="objects" (--scores objects) and a property of objects, '
            "such as boxes:0.5"
        )
    return as_values(array, expected) if scores is Scores.VALUES else as_rows(array, expected)


def as_values(raw: Array, expected: int) -> Array:
    """(n, *shape) of real numbers; one number for each input becomes a column."""
    if raw.ndim == 0 or raw.shape[0] != expected:
        raise ModelFailed(
            f"the model answered {expected} inputs with an output of shape {tuple(raw.shape)}: the "
            "first axis must be the batch; let it give one row for each input"
        )
    if math.prod(raw.shape[1:]) == 0:
        raise ModelFailed(
            f"the model answered with an output of shape {tuple(raw.shape)}: let it return at "
            "least one value for each input"
        )
    if isinstance(raw, np.ndarray) and raw.dtype.kind not in "fiubc":
        raise ModelFailed(
            f"the model answered with {raw.dtype}: numbers are needed; let it return an array of "
            "numbers"
        )
    xp = array_namespace(raw)
    if xp.isdtype(raw.dtype, "complex floating"):
        raise ModelFailed(
            f"the model answered with {raw.dtype}: real numbers are needed; let it return floats"
        )
    if xp.isdtype(raw.dtype, "bool"):
        raw = xp.astype(raw, xp.uint8)
    return xp.reshape(raw, (expected, 1)) if raw.ndim == 1 else raw


def as_objects(raw: Outputs, expected: int) -> list[Item]:
    """One object for each input, in main memory; of an array each row is one."""
    if hasattr(raw, "shape") or (isinstance(raw, Sequence) and not isinstance(raw, str)):
        raw = on_host(raw) if hasattr(raw, "shape") else raw
        if len(raw) == expected:
            return [on_host(one) for one in raw]
        number = f"{len(raw)} objects"
    else:
        number = f"one {type(raw).__name__}"
    raise ModelFailed(
        f"the model answered {expected} inputs with {number}: let it return a list with one object "
        "for each input"
    )


def in_pieces(x: HostArray, size: int, run: Callable[[HostArray], HostArray]) -> HostArray:
    """The answers to a batch from a model that takes exactly `size` inputs at a time.

    The last input is repeated until the last piece is full.
    """
    if len(x) == size:
        return run(x)
    short = -len(x) % size
    padded = np.concatenate([x, np.repeat(x[-1:], short, axis=0)]) if short else x
    pieces = [run(padded[i : i + size]) for i in range(0, len(padded), size)]
    return np.concatenate(pieces)[: len(x)]


def cast_to(x: Array, dtype: type[np.generic]) -> Array:
    """The batch in this type; whole numbers are rounded and kept within their range."""
    xp = array_namespace(x)
    own = getattr(xp, np.dtype(dtype).name)
    if x.dtype == own:
        return x
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(np.dtype(dtype))
        x = xp.clip(xp.round(x), info.min, info.max)
    return xp.astype(x, own)
