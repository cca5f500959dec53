"""What must be true before a run means anything: checked, and said in plain words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.engine.clean_predictions import clean_labels, clean_scores
from surefoot.engine.input_layout import refuse_unsuited
from surefoot.engine.label_check import WAY_OUT, label_doubt, names_doubt
from surefoot.engine.sampling_bench import SamplingBench
from surefoot.errors import InvalidArgument, ModelFailed, OutOfMemory
from surefoot.evidence import Counts
from surefoot.perturb._ops.levels import level_of
from surefoot.perturb.table.columns import describe_misfits
from surefoot.properties import SameLabel
from surefoot.subject import Inputs, Model, Perturbation, Scores, to_host
from surefoot.tasks import Task

_SAMPLE = 16
_ROUNDING, _TOO_FAR = 1e-4, 1e-2
_CHUNK = 256


class Verdict(StrEnum):
    """How a check ended."""

    GOOD = "good"
    ODD = "odd"
    BAD = "bad"


@dataclass(frozen=True)
class Check:
    """One thing looked at, and what was found."""

    name: str
    verdict: Verdict
    finding: str


def refuse_bad_inputs(inputs: Inputs, model: Model, perturbation: Perturbation) -> None:
    """Raise on what makes every later number meaningless; cheap, no forward pass."""
    signature = model.signature
    bounds = signature.bounds
    if bounds is not None and (inputs.x.min() < bounds.low or inputs.x.max() > bounds.high):
        raise InvalidArgument(
            f"{inputs.source} holds values from {inputs.x.min():g} to {inputs.x.max():g}, outside "
            f"the bounds [{bounds.low:g}, {bounds.high:g}]: scale the data or state other bounds"
        )
    if inputs.labels is not None and inputs.labels.max() >= signature.classes:
        raise InvalidArgument(
            f"{inputs.source} holds label {inputs.labels.max()}, but the model has "
            f"{signature.classes} classes (0 to {signature.classes - 1}): {WAY_OUT}"
        )
    refuse_unsuited(inputs, perturbation)
    for part in (*getattr(perturbation, "parts", ()), *filter(None, [_inner(perturbation)])):
        refuse_bad_inputs(inputs, model, part)
    levels, level = perturbation.levels(bounds), perturbation.level
    if level is not None and level not in levels:
        hint = f" (did you mean {level:g}/255?)" if level >= 1 else ""
        raise InvalidArgument(
            f"{perturbation.kind}: level {level:g} is outside "
            f"[{levels.low:g}, {levels.high:g}], the range for these bounds{hint}"
        )


def _inner(perturbation: Perturbation) -> Perturbation | None:
    found: Perturbation | None = getattr(perturbation, "inner", None)
    return found


def examine(inputs: Inputs, model: Model, perturbation: Perturbation | None) -> Iterator[Check]:
    """Every check, one after the other; a failing one does not stop the rest."""
    sample = inputs.x[:: max(1, len(inputs) // _SAMPLE)][:_SAMPLE]
    yield _check("the model does not change its input", lambda: _unchanged(model, sample))
    yield _check("output is finite", lambda: _finite(model, sample))
    yield _check("answers repeat", lambda: _repeats(model, sample))
    yield _check("row order is irrelevant", lambda: _order(model, sample))
    yield _check("a batch of one equals a batch of many", lambda: _batches(model, sample))
    yield _check("inputs are within bounds", lambda: _bounds(inputs, model))
    yield _check("kind of scores", lambda: _scores(model))
    yield _check("labels and clean accuracy", lambda: _accuracy(inputs, model))
    full: Model | None = getattr(model, "full", None)
    if full is not None:
        yield _check("half precision", lambda: _half(inputs, model, full, perturbation))
    if perturbation is not None and perturbation.level:
        yield _check("strength of the perturbation", lambda: _strength(inputs, model, perturbation))
    if getattr(perturbation, "features", ()):
        yield _check("features are as described", lambda: _features(inputs, perturbation))
    if perturbation is not None:
        yield _check("level 0 changes nothing", lambda: _identity(inputs, model, perturbation))


def _check(name: str, look: Callable[[], tuple[Verdict, str]]) -> Check:
    try:
        return Check(name, *look())
    except (ModelFailed, OutOfMemory, InvalidArgument) as error:
        return Check(name, Verdict.BAD, str(error))


def _unchanged(model: Model, x: NDArray[np.float32]) -> tuple[Verdict, str]:
    placed = model.place(x.copy())
    before = to_host(placed).copy()
    try:
        model.predict(placed)
    except OutOfMemory:
        if len(x) == 1:
            raise
        return _unchanged(model, x[: len(x) // 2])
    if not np.array_equal(to_host(placed), before):
        return Verdict.BAD, (
            "a prediction changes the batch it is given, so that later numbers are about other "
            "inputs: let the model copy its batch first"
        )
    if getattr(model, "private", False):
        return Verdict.GOOD, "the model writes to its batch: it is given a copy of its own"
    return Verdict.GOOD, "a batch is the same after a prediction"


def _finite(model: Model, x: NDArray[np.float32]) -> tuple[Verdict, str]:
    scores = clean_scores(model, x)
    if not np.isfinite(scores).all():
        return Verdict.BAD, "the model returns NaN or infinite scores for clean inputs"
    return (
        Verdict.GOOD,
        f"{scores.shape[1]} finite scores an input, {scores.min():.3g} to {scores.max():.3g}",
    )


def _apart(a: NDArray[np.floating], b: NDArray[np.floating]) -> float:
    return float(np.max(np.abs(a - b) / (1 + np.abs(a))))


def _compared(gap: float, good: str, bad: str) -> tuple[Verdict, str]:
    """Rounding differs a little between kernels and batch sizes; more than that is a fault."""
    if gap > _TOO_FAR:
        return Verdict.BAD, f"{bad} by {gap:.2g} (allowed {_TOO_FAR:g})"
    if gap > _ROUNDING:
        return Verdict.ODD, (
            f"{good} to within {gap:.1g}, more than rounding in single precision: a trial that is "
            "a tie to within this may come out either way"
        )
    return Verdict.GOOD, f"{good} to within {gap:.1g}"


def _repeats(model: Model, x: NDArray[np.float32]) -> tuple[Verdict, str]:
    return _compared(
        _apart(clean_scores(model, x), clean_scores(model, x)),
        "the same input scores the same twice",
        "use evaluation mode: the same input scored twice differs",
    )


def _order(model: Model, x: NDArray[np.float32]) -> tuple[Verdict, str]:
    return _compared(
        _apart(clean_scores(model, x), clean_scores(model, x[::-1].copy())[::-1]),
        "a reversed batch scores the same",
        "inputs mix: scores change with the order of the batch",
    )


def _batches(model: Model, x: NDArray[np.float32]) -> tuple[Verdict, str]:
    alone = np.concatenate([clean_scores(model, x[i : i + 1]) for i in range(len(x))])
    return _compared(
        _apart(clean_scores(model, x), alone),
        "an input alone scores the same as among others",
        "inputs mix: scores change with the size of the batch",
    )


def _bounds(inputs: Inputs, model: Model) -> tuple[Verdict, str]:
    bounds, low, high = model.signature.bounds, inputs.x.min(), inputs.x.max()
    if bounds is None and low >= 0 and high >= 100:
        return Verdict.ODD, (
            f"no bounds stated, and values run from {low:g} to {high:g}: if these are pixels of a "
            "model that takes 0 to 1, say --scale 255 --bounds 0,1"
        )
    if bounds is None:
        return Verdict.ODD, (
            f"no bounds stated; values run from {low:g} to {high:g}; perturbed inputs are not "
            "clipped: state bounds if the model has a valid range"
        )
    if low < bounds.low or high > bounds.high:
        where = f"[{bounds.low:g}, {bounds.high:g}]"
        return Verdict.BAD, f"values run from {low:g} to {high:g}, outside {where}"
    if (high - low) * 50 < bounds.width:
        return Verdict.ODD, (
            f"values run from {low:g} to {high:g}, a small part of [{bounds.low:g}, "
            f"{bounds.high:g}]: is the scale right?"
        )
    return (
        Verdict.GOOD,
        f"values run from {low:g} to {high:g}, within [{bounds.low:g}, {bounds.high:g}]",
    )


def _scores(model: Model) -> tuple[Verdict, str]:
    kind = model.signature.scores
    how = "rows add up to 1" if kind is Scores.PROBABILITIES else "rows do not add up to 1"
    return Verdict.GOOD, f"{model.signature.classes} classes, read as {kind} ({how})"


def _accuracy(inputs: Inputs, model: Model) -> tuple[Verdict, str]:
    labels = clean_labels(model, inputs.x)
    if inputs.labels is None:
        return Verdict.ODD, "the data hold no labels: clean accuracy is unknown"
    if inputs.labels.max() >= model.signature.classes:
        return Verdict.BAD, (
            f"label {inputs.labels.max()} in the data, but the model has "
            f"{model.signature.classes} classes"
        )
    accuracy = float((labels == inputs.labels).mean())
    finding = f"{100 * accuracy:.1f} % of {len(inputs)} clean inputs get their label"
    classes = model.signature.classes
    doubt = label_doubt(inputs.labels, labels, classes)
    doubt += names_doubt(len(inputs.class_names), classes)
    return (Verdict.ODD if doubt else Verdict.GOOD), finding + doubt


def _strength(inputs: Inputs, model: Model, perturbation: Perturbation) -> tuple[Verdict, str]:
    bench = SamplingBench(
        inputs, np.zeros(len(inputs), np.int64), model, perturbation, SameLabel(), Counts, seed=0
    )
    moved = to_host(bench.perturbed(Task(inputs.subjects()[0], level_of(perturbation), 0, 4)))
    usual = float(np.abs(moved - inputs.x[:1]).max())
    span = float(inputs.x.max() - inputs.x.min())
    finding = f"values move by up to {usual:.2g}; the data span {span:.3g}"
    if usual == 0:
        return Verdict.ODD, "it changes nothing in these inputs: choose another or a higher level"
    if usual * 1000 < span:
        return Verdict.ODD, finding + ": hardly a change, is the level in the data's unit?"
    return Verdict.GOOD, finding


def _features(inputs: Inputs, perturbation: Any) -> tuple[Verdict, str]:  # noqa: ANN401
    """Whether the rows keep to what is said of their columns."""
    wrong = describe_misfits(perturbation.features, inputs.x)
    if wrong:
        return Verdict.ODD, "; ".join(wrong[:3])
    return Verdict.GOOD, f"all rows keep to what is said of {len(perturbation.features)} features"


def _half(
    inputs: Inputs, model: Model, full: Model, perturbation: Perturbation | None
) -> tuple[Verdict, str]:
    """How often a label in half precision is not the one in full."""
    x = model.place(inputs.x[:_CHUNK])
    what = "clean inputs"
    if perturbation is not None and perturbation.level is not None:
        subjects = inputs.subjects()[:_CHUNK]
        bench = SamplingBench(
            inputs, np.zeros(len(inputs), np.int64), model, perturbation, SameLabel(), Counts, 0
        )
        tasks = [Task(s, perturbation.level, 0, 4) for s in subjects]
        x, what = bench.perturbed_all(tasks), "perturbed inputs"
    mine, theirs = (to_host(m.predict(x)).argmax(axis=1) for m in (model, full))
    apart = int((mine != theirs).sum())
    finding = f"on {apart} of {len(mine)} {what} the label differs from full precision"
    return (Verdict.ODD if apart else Verdict.GOOD), finding


def _identity(inputs: Inputs, model: Model, perturbation: Perturbation) -> tuple[Verdict, str]:
    labels = clean_labels(model, inputs.x[:_SAMPLE])
    bench = SamplingBench(inputs, labels, model, perturbation, SameLabel(), Counts, seed=0)
    subjects = inputs.subjects()[:_SAMPLE]
    for row, subject in enumerate(subjects):
        x = to_host(bench.perturbed(Task(subject, 0.0, 0, 2)))
        if not np.array_equal(x[0], inputs.x[row]):
            return Verdict.BAD, f"level 0 changes input {subject.name}: it must be the identity"
    return Verdict.GOOD, f"{perturbation.kind} at level 0 gives back every input unchanged"
