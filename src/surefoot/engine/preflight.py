"""Checks before a run: is the model deterministic, are inputs, labels and level plausible?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.engine.clean_predictions import clean_labels, clean_outputs, joined
from surefoot.engine.function_checks import functions_of, items_changed, same_input, trials_repeat
from surefoot.engine.label_check import WAY_OUT, label_doubt, names_doubt
from surefoot.engine.output_difference import largest_difference
from surefoot.engine.sampling_bench import SamplingBench
from surefoot.engine.table_check import column_problems, largest_change
from surefoot.errors import InvalidArgument, ModelFailed, OutOfMemory
from surefoot.evidence import Counts
from surefoot.input_set import Inputs
from surefoot.perturb._ops.levels import level_of
from surefoot.perturb.table.columns import describe_misfits
from surefoot.properties import SameLabel
from surefoot.subject import Model, Outputs, Perturbation, Scores, to_host
from surefoot.tasks import Task

_SAMPLE = 16
"""Inputs of the checks that run the model several times."""
_ROUNDING = 1e-4
"""Relative difference of scores that single precision explains, whatever kernel or batch size."""
_LARGEST_DIFFERENCE = 1e-2
"""Relative difference of scores that no arithmetic explains: the check fails."""
_LEAST_PIXEL_MAXIMUM = 100
"""Values without bounds that reach this are probably pixels from 0 to 255."""
_LEAST_RANGE = 1 / 50
"""Part of the bounds that values should span; below it the scale is probably wrong."""
_LEAST_CHANGE = 1 / 1000
"""Part of the data's range that a perturbation should move a value by; below it the level is
probably in another unit."""
_HALF_PRECISION_INPUTS = 256
"""Inputs on which labels in half and in full precision are compared."""
_TRIALS = 4
"""Trials of each input in the checks that perturb."""


class CheckStatus(StrEnum):
    """How a check ended. A warning is shown beside the result; a failed check stops the run."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True)
class Check:
    """One check: its name, how it ended, and the finding in words."""

    name: str
    status: CheckStatus
    finding: str


Finding = tuple[CheckStatus, str]
"""How a check ended, and what to tell the user."""


def examine(inputs: Inputs, model: Model, perturbation: Perturbation | None) -> Iterator[Check]:
    """Every check, one after the other; a failed one does not stop the rest."""
    sample = inputs.x[:: max(1, len(inputs) // _SAMPLE)][:_SAMPLE]
    yield _check("the model does not change its input", lambda: _unchanged(model, sample))
    yield _check(f"{_unit(model)} are finite", lambda: _finite(model, sample))
    yield _check("answers repeat", lambda: _repeats(model, sample))
    yield _check("row order is irrelevant", lambda: _order(model, sample))
    yield _check("a batch of one equals a batch of many", lambda: _batches(model, sample))
    if not inputs.holds_items:
        yield _check("inputs are within bounds", lambda: _bounds(inputs, model))
    yield _check(f"kind of {_unit(model)}", lambda: _scores(model))
    if model.signature.scores.of_classes:
        yield _check("labels and clean accuracy", lambda: _accuracy(inputs, model))
    full: Model | None = getattr(model, "full", None)
    if full is not None:
        yield _check("half precision", lambda: _half(inputs, model, full, perturbation))
    if perturbation is not None and perturbation.level:
        yield _check("strength of the perturbation", lambda: _strength(inputs, model, perturbation))
    if getattr(perturbation, "features", ()):
        yield _check("features are as described", lambda: _features(inputs, perturbation))
    if inputs.features and inputs.x.ndim == 2:
        yield _check("columns of the table", lambda: _columns(inputs, model, perturbation))
    if perturbation is not None and perturbation.level and functions_of(perturbation):
        yield _check("the perturbation repeats", lambda: _repeat(inputs, model, perturbation))
    if perturbation is not None:
        yield _check("level 0 changes nothing", lambda: _identity(inputs, model, perturbation))


def bench_for_checks(
    inputs: Inputs, model: Model, perturbation: Perturbation
) -> SamplingBench[Counts]:
    """A bench that perturbs; what counts as failed plays no part."""
    labels = np.zeros(len(inputs), np.int64)
    return SamplingBench(inputs, labels, model, perturbation, SameLabel(), Counts, seed=0)


def _check(name: str, check: Callable[[], Finding]) -> Check:
    try:
        return Check(name, *check())
    except (ModelFailed, OutOfMemory, InvalidArgument) as error:
        return Check(name, CheckStatus.FAILED, str(error))


def _unchanged(model: Model, x: NDArray[np.float32]) -> Finding:
    if x.dtype == object:
        return CheckStatus.OK, "the model gets copies of the items"
    placed = model.place(x.copy())
    before = to_host(placed).copy()
    try:
        model.predict(placed)
    except OutOfMemory:
        if len(x) == 1:
            raise
        return _unchanged(model, x[: len(x) // 2])
    if not np.array_equal(to_host(placed), before):
        return CheckStatus.FAILED, (
            "the model changes the batch it is given, so later results would be about other "
            "inputs: let the model copy its batch first"
        )
    if getattr(model, "private", False):
        return CheckStatus.OK, "the model writes to its batch, so it gets a copy"
    return CheckStatus.OK, "a prediction leaves its batch unchanged"


def _finite(model: Model, x: NDArray[np.float32]) -> Finding:
    scores = clean_outputs(model, x)
    if isinstance(scores, list):
        return CheckStatus.OK, f"one {type(scores[0]).__name__} for each input"
    if not np.isfinite(scores).all():
        return CheckStatus.FAILED, (
            f"{_unit(model)} must be finite, but the model returns NaN or infinity for clean "
            "inputs: check its weights and the scale of the inputs"
        )
    kind = "scores" if model.signature.classes else "values"
    return CheckStatus.OK, (
        f"{' × '.join(map(str, scores.shape[1:]))} finite {kind} for each input, from "
        f"{scores.min():.3g} to {scores.max():.3g}"
    )


def _unit(model: Model) -> str:
    return "scores" if model.signature.scores.of_classes else "outputs"


def _same_scores(difference: float, ok: str, failed: str) -> Finding:
    """Rounding differs a little between kernels and batch sizes; more than that is an error."""
    if difference > _LARGEST_DIFFERENCE:
        allowed = f"(allowed {_LARGEST_DIFFERENCE:g})"
        return CheckStatus.FAILED, f"{failed} by {difference:.2g} {allowed}"
    if difference > _ROUNDING:
        return CheckStatus.WARNING, (
            f"{ok} to within {difference:.1g}, more than rounding in single precision: the result "
            "of a trial that is as close to a tie as this may change from run to run"
        )
    return CheckStatus.OK, f"{ok} to within {difference:.1g}"


def _repeats(model: Model, x: NDArray[np.float32]) -> Finding:
    return _same_scores(
        largest_difference(clean_outputs(model, x), clean_outputs(model, x)),
        f"the same input gets the same {_unit(model)} twice",
        f"use evaluation mode: {_unit(model)} of the same input differ between two runs",
    )


def _order(model: Model, x: NDArray[np.float32]) -> Finding:
    return _same_scores(
        largest_difference(clean_outputs(model, x), clean_outputs(model, x[::-1].copy())[::-1]),
        f"a batch in reverse order gets the same {_unit(model)}",
        f"inputs of a batch must not mix, but {_unit(model)} change with their order",
    )


def _batches(model: Model, x: NDArray[np.float32]) -> Finding:
    alone = joined([clean_outputs(model, x[i : i + 1]) for i in range(len(x))])
    return _same_scores(
        largest_difference(clean_outputs(model, x), alone),
        f"an input gets the same {_unit(model)} alone and in a batch",
        f"inputs of a batch must not mix, but {_unit(model)} change with the batch size",
    )


def _bounds(inputs: Inputs, model: Model) -> Finding:
    bounds, low, high = model.signature.bounds, inputs.x.min(), inputs.x.max()
    if bounds is None and inputs.features:
        return CheckStatus.OK, "no bounds given: each column of the table has a range of its own"
    if bounds is None and low >= 0 and high >= _LEAST_PIXEL_MAXIMUM:
        return CheckStatus.WARNING, (
            f"no bounds given, and values range from {low:g} to {high:g}: if these are pixels and "
            "the model takes values from 0 to 1, pass scale=255, bounds=(0, 1) "
            "(--scale 255 --bounds 0,1)"
        )
    if bounds is None:
        return CheckStatus.WARNING, (
            f"no bounds given; values range from {low:g} to {high:g}; perturbed inputs are not "
            "clipped: pass the valid range of the model, for example bounds=(0, 1) (--bounds 0,1)"
        )
    if low < bounds.low or high > bounds.high:
        where = f"[{bounds.low:g}, {bounds.high:g}]"
        return CheckStatus.FAILED, (
            f"values range from {low:g} to {high:g}, outside {where}: scale the data (scale=, "
            "--scale) or pass other bounds (bounds=, --bounds)"
        )
    if high - low < _LEAST_RANGE * bounds.width:
        return CheckStatus.WARNING, (
            f"values range from {low:g} to {high:g}, a small part of [{bounds.low:g}, "
            f"{bounds.high:g}]: is the scale right?"
        )
    return (
        CheckStatus.OK,
        f"values range from {low:g} to {high:g}, within [{bounds.low:g}, {bounds.high:g}]",
    )


def _scores(model: Model) -> Finding:
    kind = model.signature.scores
    if not kind.of_classes:
        return CheckStatus.OK, f"no classes: outputs are read as {kind}"
    reason = "they add up to 1" if kind is Scores.PROBABILITIES else "they do not add up to 1"
    return CheckStatus.OK, f"{model.signature.classes} classes, read as {kind} ({reason})"


def _accuracy(inputs: Inputs, model: Model) -> Finding:
    labels = clean_labels(model, inputs.x)
    misnamed = names_doubt(len(inputs.class_names), model.signature.classes)
    if misnamed:
        return CheckStatus.FAILED, misnamed
    if inputs.labels is None:
        return CheckStatus.WARNING, "the data have no labels, so clean accuracy is unknown"
    if inputs.labels.max() >= model.signature.classes:
        return CheckStatus.FAILED, (
            f"labels must be below {model.signature.classes}, the number of classes of the model, "
            f"got {inputs.labels.max()}: {WAY_OUT}"
        )
    accuracy = float((labels == inputs.labels).mean())
    finding = f"{100 * accuracy:.1f} % of {len(inputs)} clean inputs get their true label"
    doubt = label_doubt(inputs.labels, labels, model.signature.classes)
    return (CheckStatus.WARNING if doubt else CheckStatus.OK), finding + doubt


def _strength(inputs: Inputs, model: Model, perturbation: Perturbation) -> Finding:
    bench = bench_for_checks(inputs, model, perturbation)
    if inputs.holds_items:
        changed, finding = items_changed(bench, level_of(perturbation), _SAMPLE)
        return (CheckStatus.OK if changed else CheckStatus.WARNING), finding
    task = Task(inputs.subjects()[0], level_of(perturbation), 0, _TRIALS)
    perturbed = to_host(bench.perturbed(task))
    change = float(np.abs(perturbed - inputs.x[:1]).max())
    span = float(inputs.x.max() - inputs.x.min())
    finding = f"values change by up to {change:.2g}; the data range over {span:.3g}"
    if inputs.features and inputs.x.ndim == 2 and change > 0:
        change, span = largest_change(inputs, perturbed), 1.0
        finding = f"a value changes by up to {100 * change:.2g} % of the range of its column"
    if change == 0:
        return CheckStatus.WARNING, (
            "the perturbation changes nothing in these inputs: choose another one or a higher level"
        )
    if change < _LEAST_CHANGE * span:
        return CheckStatus.WARNING, (
            finding + ": hardly a change; is the level in the unit of the data?"
        )
    return CheckStatus.OK, finding


def _repeat(inputs: Inputs, model: Model, perturbation: Perturbation) -> Finding:
    bench = bench_for_checks(inputs, model, perturbation)
    repeats, finding = trials_repeat(bench, level_of(perturbation), _SAMPLE)
    return (CheckStatus.OK if repeats else CheckStatus.FAILED), finding


def _features(inputs: Inputs, perturbation: Any) -> Finding:  # noqa: ANN401
    """Whether the columns of the data are as the perturbation describes them."""
    wrong = describe_misfits(perturbation.features, inputs.x)
    if wrong:
        return CheckStatus.WARNING, "; ".join(wrong[:3])
    return CheckStatus.OK, f"all rows are as described for {len(perturbation.features)} features"


def _columns(inputs: Inputs, model: Model, perturbation: Perturbation | None) -> Finding:
    """Whether the columns of a table stay what they are, and how the model gets them."""
    perturbed = inputs.x[:_SAMPLE]
    if perturbation is not None and perturbation.level:
        tasks = [Task(s, perturbation.level, 0, _TRIALS) for s in inputs.subjects()[:_SAMPLE]]
        perturbed = to_host(bench_for_checks(inputs, model, perturbation).perturbed_all(tasks))
    wrong, doubts = column_problems(inputs, model, perturbation, perturbed)
    if wrong or doubts:
        return (CheckStatus.FAILED if wrong else CheckStatus.WARNING), wrong or doubts
    return CheckStatus.OK, f"{len(inputs.features)} columns, each of the type that the data have"


def _half(inputs: Inputs, model: Model, full: Model, perturbation: Perturbation | None) -> Finding:
    """How often half precision gives another label than full precision."""
    x = model.place(inputs.x[:_HALF_PRECISION_INPUTS])
    what = "clean inputs"
    if perturbation is not None and perturbation.level is not None:
        subjects = inputs.subjects()[:_HALF_PRECISION_INPUTS]
        bench = bench_for_checks(inputs, model, perturbation)
        tasks = [Task(s, perturbation.level, 0, _TRIALS) for s in subjects]
        x, what = bench.perturbed_all(tasks), "perturbed inputs"
    if not model.signature.scores.of_classes:
        return _same_scores(
            largest_difference(*(_on_host(m.predict(x)) for m in (full, model))),
            f"half precision gives the same outputs for {what}",
            "half precision gives other outputs than full precision",
        )
    in_half, in_full = (to_host(m.predict(x)).argmax(axis=1) for m in (model, full))
    differing = int((in_half != in_full).sum())
    finding = f"on {differing} of {len(in_half)} {what} the label differs from full precision"
    return (CheckStatus.WARNING if differing else CheckStatus.OK), finding


def _on_host(outputs: Outputs) -> Outputs:
    return outputs if isinstance(outputs, list) else to_host(outputs)


def _identity(inputs: Inputs, model: Model, perturbation: Perturbation) -> Finding:
    bench = bench_for_checks(inputs, model, perturbation)
    subjects = inputs.subjects()[:_SAMPLE]
    for row, subject in enumerate(subjects):
        x = to_host(bench.perturbed(Task(subject, 0.0, 0, 2)))
        if not same_input(x[0], inputs.x[row], inputs):
            return CheckStatus.FAILED, (
                f"level 0 must leave inputs unchanged, but it changes input {subject.name}"
            )
    return CheckStatus.OK, f"{perturbation.kind} at level 0 leaves every input unchanged"
