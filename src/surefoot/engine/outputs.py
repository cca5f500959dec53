"""Outputs for clean inputs: run in batches, compared with each other, the same after an attack."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from surefoot.core.reasons import Reason
from surefoot.errors import InvalidArgument, ModelChanged, ModelFailed, OutOfMemory
from surefoot.models.scores import refuse_regressor
from surefoot.records.record import CleanAnswers
from surefoot.subject.items import split_numbers
from surefoot.subject.protocols import Item, Model, Outputs, Scores, to_host
from surefoot.system.memory_limits import rows_together


class CheckStatus(StrEnum):
    """How a check ended. A warning is shown beside the result; a failed check stops the run."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


Finding = tuple[CheckStatus, str]
"""How a check ended, and what to tell the user."""


@dataclass(frozen=True)
class Check:
    """One check: its name, how it ended, the finding in words, and what it counted when clean.

    `doubt` is why no requirement can pass, where clean answers are not the reason.
    """

    name: str
    status: CheckStatus
    finding: str
    clean: CleanAnswers | None = None
    doubt: Reason | None = None


def checked(
    name: str,
    check: Callable[[], Finding | tuple[CheckStatus, str, CleanAnswers | None, Reason | None]],
) -> Check:
    """The check of this name; what it raises on purpose is a finding as well."""
    try:
        return Check(name, *check())
    except (ModelFailed, OutOfMemory, InvalidArgument) as error:
        return Check(name, CheckStatus.FAILED, str(error))


ROUNDING = 1e-4
"""Relative difference of scores that single precision explains, whatever kernel or batch size."""
LARGEST_DIFFERENCE = 1e-2
"""Relative difference of scores that no arithmetic explains: the check fails."""


def largest_difference(a: Outputs, b: Outputs) -> float:
    """The largest difference of two outputs, relative where they are large.

    Of whole numbers, such as masks of classes, the share that differs. Of objects the largest
    difference of their numbers; where some inputs get objects of another structure, such as a
    box more, it is at least the share of these inputs above one half.
    """
    if isinstance(a, list):
        return _of_objects(a, list(b))
    if np.issubdtype(a.dtype, np.integer):
        return float(np.mean(a != b))
    return _relative(a, b)


def _relative(a: NDArray[np.floating], b: NDArray[np.floating]) -> float:
    return float(np.max(np.abs(a - b) / (1 + np.abs(a)), initial=0.0))


def _of_objects(a: list[Item], b: list[Item]) -> float:
    """A single box that rounding adds or drops is no proof that inputs mix; most of them are."""
    largest, other = 0.0, 0
    for one, two in zip(a, b, strict=True):
        (structure, numbers), (again, others) = split_numbers(one), split_numbers(two)
        if structure != again:
            other += 1
        else:
            largest = max(largest, _relative(numbers, others))
    return max(largest, 2 * other / len(a) - 1)


def same_outputs(difference: float, ok: str, failed: str, way_out: str = "") -> Finding:
    """What a check says of two outputs that should be the same.

    Rounding differs a little between kernels and batch sizes; more than that is an error.
    """
    if difference > LARGEST_DIFFERENCE:
        allowed = f"(allowed {LARGEST_DIFFERENCE:g})"
        return CheckStatus.FAILED, f"{failed} by {difference:.2g} {allowed}{way_out}"
    if difference > ROUNDING:
        return CheckStatus.WARNING, (
            f"{ok} to within {difference:.1g}, more than rounding in single precision: the result "
            "of a trial that is as close to a tie as this may change from run to run"
        )
    return CheckStatus.OK, f"{ok} to within {difference:.1g}"


def unit_of(model: Model) -> str:
    """What the model gives, in a word."""
    return "scores" if model.signature.scores.of_classes else "outputs"


_BATCH = 256
"""Inputs of a batch: most models run it quickly, and most machines have room for it."""


def clean_batches(
    model: Model, x: NDArray[np.float32], batch: int | None = None
) -> Iterator[tuple[int, Outputs]]:
    """The first row and the outputs of each batch, in main memory.

    Without `batch` as many inputs as most machines have room for go into one. Batches are halved
    while they do not fit into memory. Batches and outputs are copied, because a
    model may write to either.
    """
    batch = batch or clean_batch_size(x)
    start = 0
    while start < len(x):
        try:
            outputs = model.predict(model.place(x[start : start + batch].copy()))
        except OutOfMemory:
            if batch == 1:
                raise
            batch //= 2
            continue
        yield start, outputs if isinstance(outputs, list) else to_host(outputs).copy()
        start += batch


def clean_batch_size(x: NDArray[np.float32]) -> int:
    """Inputs that are classified together: as many as most machines have room for."""
    return min(_BATCH, len(x), rows_together(x.nbytes // max(1, len(x)))) or 1


def joined(parts: list[Outputs]) -> Outputs:
    """Arrays or lists one after the other."""
    if isinstance(parts[0], list):
        return [one for part in parts for one in part]
    return np.concatenate(parts)


def clean_outputs(model: Model, x: NDArray[np.float32], batch: int | None = None) -> Outputs:
    """What the model gives for the clean inputs: an array, or a list of objects."""
    return joined([outputs for _, outputs in clean_batches(model, x, batch)])


def clean_labels(
    model: Model, x: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The label that each clean input gets, and whether it alone has the highest score."""
    return labels_of(checked_scores(model, clean_outputs(model, x)))


def labels_of(scores: NDArray[np.floating]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The label of the highest score, and whether no other has it: a tie counts as wrong."""
    alone = (scores == scores.max(axis=1, keepdims=True)).sum(axis=1) == 1
    return scores.argmax(axis=1).astype(np.int64), alone


def checked_scores(model: Model, scores: Outputs) -> NDArray[np.floating]:
    """Scores of clean inputs; an error if any is NaN or infinite, or no score of two classes.

    One column within [0, 1] is a probability; where the data show other numbers, it is none.
    """
    known: NDArray[np.floating] = scores
    refuse_infinite(known)
    if model.signature.scores is Scores.PROBABILITIES and model.signature.classes == 2:
        refuse_regressor(known[:, 1])
    return known


def refuse_infinite(outputs: Outputs) -> None:
    """Refuse NaN and infinity among the outputs of clean inputs; objects are checked when read."""
    if not isinstance(outputs, list) and not np.isfinite(outputs).all():
        raise ModelFailed(
            "scores must be finite, but the model returns NaN or infinity for clean inputs: check "
            "its weights and the scale of the inputs"
        )


def answers(model: Model, x: NDArray[np.float32]) -> NDArray[np.floating]:
    """What the model gives for these inputs, in memory that nobody else writes to."""
    return to_host(model.predict(model.place(x.copy()))).copy()


def check_unchanged(
    model: Model, x: NDArray[np.float32], before: NDArray[np.floating], attack: str
) -> None:
    """Refuse a model that answers the clean inputs otherwise than it did before the attack.

    Rounding is allowed, and of a model that does not repeat itself what the checks before a run
    allow.
    """
    after = answers(model, x)
    if np.array_equal(before, after, equal_nan=True):
        return
    apart = largest_difference(before, after)
    if apart <= ROUNDING:
        return
    repeats = largest_difference(after, answers(model, x)) == 0
    if repeats or not apart <= LARGEST_DIFFERENCE:
        raise changed(attack)


def changed(attack: str) -> ModelChanged:
    """The error of an attack after which the model is another."""
    return ModelChanged(
        f"{attack} changed the model, which answers clean inputs otherwise than before, so that "
        "its points count for nothing: let the attack work on a copy of the model, and load the "
        "model again"
    )
