"""Checks before a run: is the model deterministic, are inputs, labels and level plausible?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from surefoot.core.reasons import Why
from surefoot.core.tasks import Task
from surefoot.engine.devices import memory_errors, on_device_of
from surefoot.engine.input_check import WAY_OUT
from surefoot.engine.label_check import label_doubt, names_doubt, preparation_doubt, right_share
from surefoot.engine.outputs import (
    ROUNDING,
    Check,
    CheckStatus,
    Finding,
    checked,
    checked_scores,
    clean_batch_size,
    clean_outputs,
    joined,
    labels_of,
    largest_difference,
    same_outputs,
    unit_of,
)
from surefoot.engine.perturbation_checks import (
    SAMPLE,
    TRIALS,
    bench_for_checks,
    examine_perturbation,
)
from surefoot.errors import InvalidArgument, ModelFailed, OutOfMemory
from surefoot.inputs.labels import ALPHABETICAL, LOOKED_UP, NUMBERS
from surefoot.population.groups import copies, copies_note
from surefoot.records.record import CLEAN, SELECTION, CleanAnswers
from surefoot.subject.inputs import Classified, Inputs
from surefoot.subject.protocols import Array, Model, Outputs, Perturbation, Scores, to_host
from surefoot.system.memory_limits import rows_together

SMALL_BATCH = 16
"""Inputs of the small batches, which are compared with batches of one before a run."""


@dataclass(frozen=True)
class BatchDifference:
    """How far outputs are apart between batches of two sizes, and where most.

    `row` is that of the inputs, `place` the one in the large batch, from 0.
    """

    difference: float
    row: int
    place: int
    small: int
    large: int


def compare_batches(model: Model, x: Array, size: int) -> BatchDifference | None:
    """The inputs, evenly spread from the first to the last place of a batch of this size.

    The other places are filled with the same inputs. Sizes are halved while they do not fit into
    memory; None where no batch is larger than a small one.
    """
    small = min(SMALL_BATCH, len(x))
    while size > small:
        places = np.unique(np.linspace(0, size - 1, min(size, len(x))).astype(np.int64))
        index = np.arange(size) % len(x)
        index[places] = np.arange(len(places))
        try:
            with memory_errors():
                large = _outputs_at(model, x[on_device_of(x, index)], places)
        except (OutOfMemory, MemoryError):
            size //= 2
            continue
        rows = [slice(i, min(i + small, len(places))) for i in range(0, len(places), small)]
        alone = joined([_outputs_at(model, x[part]) for part in rows])
        apart = [largest_difference(alone[i : i + 1], large[i : i + 1]) for i in range(len(places))]
        row = int(np.argmax(apart))
        difference = largest_difference(alone, large)
        return BatchDifference(difference, row, int(places[row]), small, size)
    return None


def _outputs_at(model: Model, x: Array, places: np.ndarray | None = None) -> Outputs:
    """The outputs at these places of a batch, or all, in memory that nobody else writes to."""
    outputs = model.predict(x)
    if isinstance(outputs, list):
        return outputs if places is None else [outputs[i] for i in places.tolist()]
    return to_host(outputs if places is None else outputs[on_device_of(outputs, places)]).copy()


COPIES, BOUNDS = "copies among the inputs", "bounds of the inputs"
"""Names of the checks that the data alone decide."""
HOW_RUN = "how the file is run"
"""Name of the check that says what runs the model on this device."""
BATCHES = "a batch of one equals a batch of many"
"""Name of the check."""
BY_ITSELF = ": let the model answer each input by itself, as in evaluation mode"


def check_clean_batches(
    model: Model, x: NDArray[np.float32], names: Sequence[str], size: int
) -> Finding:
    """Alone, in one batch, and in one of the size in which all clean inputs are classified."""
    alone = joined([clean_outputs(model, x[i : i + 1]) for i in range(len(x))])
    found = _alone(model, largest_difference(clean_outputs(model, x, len(x)), alone))
    if found[0] is not CheckStatus.OK:
        return found
    large = _in_large_batch(model, model.place(x.copy()), names, size, BY_ITSELF)
    return found if large[0] is CheckStatus.OK else large


def examine_batch(
    inputs: Inputs, model: Model, perturbation: Perturbation | None, size: int
) -> Check:
    """The check of batches again: trials of a few inputs within a batch as large as a run's."""
    if size <= SMALL_BATCH:
        return Check(BATCHES, CheckStatus.OK, "batches of a run are small")
    subjects = inputs.subjects()[:: max(1, len(inputs) // SAMPLE)][:SAMPLE]
    x, trials = model.place(inputs.x[[subject.rows[0] for subject in subjects]]), 1
    if perturbation is not None and perturbation.level:
        trials = min(TRIALS, rows_together(len(subjects) * inputs.row_bytes))
        bench = bench_for_checks(inputs, model, perturbation)
        x = bench.perturbed_all([Task(s, perturbation.level, 0, trials) for s in subjects])
    names = [subject.name for subject in subjects for _ in range(trials)]
    small = min(SMALL_BATCH, len(names))
    smaller = f", or run batches of {small} (batch={small}, --batch {small})"
    return Check(BATCHES, *_in_large_batch(model, x, names, size, BY_ITSELF + smaller))


def _in_large_batch(
    model: Model, x: Array, names: Sequence[str], size: int, way_out: str
) -> Finding:
    """What is found of these inputs, whose names are given."""
    found = compare_batches(model, x, size)
    unit = unit_of(model)
    if found is None or not np.isfinite(found.difference):  # the run itself refuses NaN
        return CheckStatus.OK, f"no batch is larger than those in which {unit} were compared"
    return same_outputs(
        found.difference,
        f"an input gets the same {unit} in small and in large batches",
        f"the {unit} of input {names[found.row]} change with the batch size: at row "
        f"{found.place + 1:,} of a batch of {found.large:,} they differ from those in a batch of "
        f"{found.small}",
        way_out,
    )


_LEAST_PIXEL_MAXIMUM = 100
"""Values without bounds that reach this are probably pixels from 0 to 255."""
_LEAST_RANGE = 1 / 50
"""Part of the bounds that values should span; below it the scale is probably wrong."""
_HALF_PRECISION_INPUTS = 256
"""Inputs on which labels in half and in full precision are compared."""


def examine(
    inputs: Inputs,
    model: Model,
    perturbation: Perturbation | None,
    clean: Callable[[], Outputs] | None = None,
) -> Iterator[Check]:
    """Every check, one after the other; a failed one does not stop the rest.

    `clean` gives the outputs of all clean inputs where these are needed anyway: then the checks of
    a model that passes them ask it about few inputs more.
    """
    yield from examine_model(inputs, model, clean)
    yield from examine_trials(inputs, model, perturbation)


def examine_model(
    inputs: Inputs, model: Model, clean: Callable[[], Outputs] | None = None
) -> Iterator[Check]:
    """Those that no perturbation has a part in."""
    of_classes, size = model.signature.scores.of_classes, clean_batch_size(inputs.x)
    # Outputs without classes may be large: those of one batch are enough.
    x = inputs.x if of_classes else inputs.x[:size]
    number = min(SAMPLE, max(2, rows_together(inputs.row_bytes)))  # two can still mix
    rows = range(0, len(x), max(1, len(x) // number))[:number]
    every = cache(clean or partial(clean_outputs, model, x))
    reverse = cache(partial(_in_reverse, model, x[rows]))
    yield checked("the model does not change its input", lambda: _unchanged(model, reverse))
    yield checked(f"{unit_of(model)} are finite", lambda: _finite(model, every(), rows))
    yield from _examine_answers(model, x, rows, every, reverse, inputs.ids)
    if inputs.selection_doubt:
        yield Check(SELECTION, CheckStatus.WARNING, inputs.selection_doubt)
    yield checked(COPIES, lambda: _copies(inputs))
    if not inputs.holds_items:
        yield checked(BOUNDS, lambda: _bounds(inputs, model))
    yield checked(f"kind of {unit_of(model)}", lambda: _scores(model))
    if of_classes:
        yield checked(CLEAN, lambda: _accuracy(inputs, model, every()))
    else:
        yield Check(CLEAN, CheckStatus.OK, "not checked: the model gives no scores of classes")
    well, how = getattr(model, "run_note", (True, ""))
    if how:
        yield Check(HOW_RUN, CheckStatus.OK if well else CheckStatus.WARNING, how)
    caution: str = getattr(model, "caution", "")
    if caution:
        yield Check("the model may change", CheckStatus.WARNING, caution)


def examine_trials(
    inputs: Inputs, model: Model, perturbation: Perturbation | None
) -> Iterator[Check]:
    """Those of perturbed inputs."""
    full: Model | None = getattr(model, "full", None)
    if full is not None:
        yield checked("half precision", lambda: _half(inputs, model, full, perturbation))
    yield from examine_perturbation(inputs, model, perturbation)


@dataclass(frozen=True)
class _Reverse:
    """Outputs of inputs that were classified in reverse order, in the order of the inputs."""

    outputs: Outputs
    unchanged: bool
    """Whether the batch is as it was before."""


def _in_reverse(model: Model, x: NDArray[np.float32]) -> _Reverse:
    """Of fewer inputs, the first ones, while a batch does not fit into memory."""
    try:
        placed = model.place(x[::-1].copy())
        before = None if x.dtype == object else to_host(placed).copy()
        outputs = _outputs_at(model, placed)
    except OutOfMemory:
        if len(x) == 1:
            raise
        return _in_reverse(model, x[: len(x) // 2])
    same = before is None or np.array_equal(to_host(placed), before)
    return _Reverse(outputs[::-1], bool(same))


def _unchanged(model: Model, reverse: Callable[[], _Reverse]) -> Finding:
    if not model.signature.shape:
        return CheckStatus.OK, "the model gets copies of the items"
    if not reverse().unchanged:
        return CheckStatus.FAILED, (
            "the model changes the batch it is given, so later results would be about "
            "other inputs: let the model copy its batch first"
        )
    if getattr(model, "private", False):
        return CheckStatus.OK, "the model writes to its batch, so it gets a copy"
    return CheckStatus.OK, "a prediction leaves its batch unchanged"


def _finite(model: Model, clean: Outputs, rows: range) -> Finding:
    if isinstance(clean, list):
        return CheckStatus.OK, f"one {type(clean[0]).__name__} for each input"
    if not np.isfinite(clean).all():
        return CheckStatus.FAILED, (
            f"{unit_of(model)} must be finite, but the model returns NaN or infinity for clean "
            "inputs: check its weights and the scale of the inputs"
        )
    kind, some = "scores" if model.signature.classes else "values", clean[rows]
    return CheckStatus.OK, (
        f"{' × '.join(f'{n:,}' for n in some.shape[1:])} finite {kind} for each input, from "
        f"{some.min():.3g} to {some.max():.3g}"
    )


_ALONE = 6
"""Inputs that are classified each in a batch of its own, the last one among them."""


def _examine_answers(
    model: Model,
    x: NDArray[np.float32],
    rows: range,
    clean: Callable[[], Outputs],
    reverse: Callable[[], _Reverse],
    names: Sequence[str],
) -> Iterator[Check]:
    """Whether answers repeat, and are the same whatever the order and the size of the batch.

    Where a few inputs in reverse order and alone get the outputs that they get among all others,
    all of that holds. Only where they do not, the model runs again, to find which it is.
    """
    alone = [*rows[:: -(-len(rows) // _ALONE)], len(x) - 1]
    turned = single = np.nan
    with suppress(ModelFailed, OutOfMemory, InvalidArgument):
        each = joined([clean_outputs(model, x[row : row + 1]) for row in alone])
        single = largest_difference(_at(clean(), alone), each)
        answers = reverse().outputs
        turned = largest_difference(_at(clean(), rows[: len(answers)]), answers)
    if turned <= ROUNDING and single <= ROUNDING:
        yield Check(_REPEAT, *_repeats(model, turned))
        yield Check(_ORDER, *_order(model, turned))
        yield Check(BATCHES, *_alone(model, single))
        return
    sample, size = x[rows], clean_batch_size(x)
    twice = partial(clean_outputs, model, sample)
    at_once = partial(clean_outputs, model, batch=len(sample))
    found = [
        checked(_REPEAT, lambda: _repeats(model, largest_difference(twice(), twice()))),
        checked(
            _ORDER,
            lambda: _order(
                model, largest_difference(at_once(x=sample), at_once(x=sample[::-1])[::-1])
            ),
        ),
        checked(
            BATCHES, lambda: check_clean_batches(model, sample, [names[r] for r in rows], size)
        ),
    ]
    if all(check.status is CheckStatus.OK for check in found) and max(turned, single) > ROUNDING:
        found[0] = Check(_REPEAT, *_repeats(model, max(turned, single)))
    yield from found


def _at(outputs: Outputs, rows: Sequence[int]) -> Outputs:
    return [outputs[row] for row in rows] if isinstance(outputs, list) else outputs[rows]


_REPEAT, _ORDER = "answers repeat", "row order is irrelevant"


def _repeats(model: Model, difference: float) -> Finding:
    return same_outputs(
        difference,
        f"the same input gets the same {unit_of(model)} twice",
        f"use evaluation mode: {unit_of(model)} of the same input differ between two runs",
    )


def _order(model: Model, difference: float) -> Finding:
    return same_outputs(
        difference,
        f"a batch in reverse order gets the same {unit_of(model)}",
        f"inputs of a batch must not mix, but {unit_of(model)} change with their order",
        BY_ITSELF,
    )


def _alone(model: Model, difference: float) -> Finding:
    return same_outputs(
        difference,
        f"an input gets the same {unit_of(model)} alone and in a batch",
        f"inputs of a batch must not mix, but {unit_of(model)} change with the batch size",
        BY_ITSELF,
    )


def _copies(inputs: Inputs) -> Finding:
    found = copies(inputs.content_digests(), inputs.groups)
    if found.narrows:
        return CheckStatus.WARNING, copies_note(found, "input")
    return CheckStatus.OK, f"{found.copies:,} of {found.number:,} inputs repeat another one"


def _bounds(inputs: Inputs, model: Model) -> Finding:
    bounds, low, high = model.signature.bounds, inputs.least, inputs.largest
    if bounds is None and inputs.features:
        return CheckStatus.OK, "no bounds given: each column of the table has a range of its own"
    if bounds is None and low >= 0 and high >= _LEAST_PIXEL_MAXIMUM:
        return CheckStatus.WARNING, (
            f"no bounds given, and values range from {low:g} to {high:g}: if these are pixels and "
            "the model takes values from 0 to 1, pass --scale 255 --bounds 0,1"
        )
    if bounds is None:
        around = f"{min(0, math.floor(low))},{max(1, math.ceil(high))}"
        return CheckStatus.WARNING, (
            f"no bounds given; values range from {low:g} to {high:g}; perturbed inputs are not "
            f"clipped: pass the valid range of the model, for example --bounds {around}"
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


_LEAST_ALIKE = 10
"""Inputs of one predicted class that are worth a word where no labels say whether that is right."""


def _accuracy(
    inputs: Inputs, model: Model, clean: Outputs
) -> Finding | tuple[CheckStatus, str, CleanAnswers, None]:
    predicted, alone = labels_of(checked_scores(model, clean))
    misnamed = names_doubt(len(inputs.class_names), model.signature.classes)
    if misnamed:
        return CheckStatus.FAILED, misnamed
    if inputs.labels is None:
        hint = ""
        if inputs.features:
            last = inputs.features[-1].name
            hint = f": if a column holds them, name it, such as labels={last!r} (--labels {last})"
        if len(predicted) >= _LEAST_ALIKE and len(np.unique(predicted)) == 1:
            hint += (
                f"; the model gives all {len(predicted):,} inputs class {predicted[0]}, and an "
                "answer that is always the same never changes"
            )
        return CheckStatus.WARNING, f"the data have no labels, so clean accuracy is unknown{hint}"
    if inputs.labels.max() >= model.signature.classes:
        return CheckStatus.FAILED, (
            f"labels must be below {model.signature.classes}, the number of classes of the model, "
            f"got {inputs.labels.max()}: {WAY_OUT}"
        )
    seen = Classified(inputs.x, inputs.labels, predicted, alone & (predicted == inputs.labels))
    seen = inputs.classified.get(model.signature.digest, seen)
    right, number = int(seen.right.sum()), len(seen.labels)
    finding = f"{100 * right / number:.1f} % of {number:,} clean inputs get their true label"
    # The labels as the data write them; empty: numbers as text; None: they are numbers.
    texts: tuple[str, ...] | None = () if NUMBERS in inputs.reading else None
    if LOOKED_UP in inputs.reading or ALPHABETICAL in inputs.reading:
        texts = inputs.class_names
    doubt = label_doubt(seen.labels, seen.predicted, model.signature.classes, texts)
    prepared = preparation_doubt(seen, inputs.frame, model, table=bool(inputs.features))
    renamed = doubt if doubt and doubt.why is Why.LABELS_READ_OTHERWISE else None
    # of two cures the one with which more are right
    if prepared and not (renamed and right_share(renamed) > right_share(prepared)):
        doubt = prepared
    status = CheckStatus.WARNING if doubt else CheckStatus.OK
    return status, finding, CleanAnswers(right, number, doubt), None


def _half(inputs: Inputs, model: Model, full: Model, perturbation: Perturbation | None) -> Finding:
    """How often half precision gives another label than full precision."""
    number = min(_HALF_PRECISION_INPUTS, rows_together(TRIALS * inputs.row_bytes))
    x = model.place(inputs.x[:number])
    what = "clean inputs"
    if perturbation is not None and perturbation.level is not None:
        subjects = inputs.subjects()[:number]
        bench = bench_for_checks(inputs, model, perturbation)
        tasks = [Task(s, perturbation.level, 0, TRIALS) for s in subjects]
        x, what = bench.perturbed_all(tasks), "perturbed inputs"
    both: list[Outputs] = [
        outputs if isinstance(outputs, list) else to_host(outputs)
        for outputs in (m.predict(x) for m in (model, full))
    ]
    in_half, in_full = both
    if not model.signature.scores.of_classes:
        return same_outputs(
            largest_difference(in_full, in_half),
            f"half precision gives the same outputs for {what}",
            "half precision gives other outputs than full precision",
            ": leave it out",
        )
    differing = int((in_half.argmax(axis=1) != in_full.argmax(axis=1)).sum())
    finding = f"on {differing} of {len(in_half)} {what} the label differs from full precision"
    return (CheckStatus.WARNING if differing else CheckStatus.OK), finding
