"""Whether an input gets the same outputs in a batch of any size that a run uses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from surefoot.core.tasks import Task
from surefoot.engine.check_status import CheckStatus, Finding
from surefoot.engine.clean_predictions import clean_outputs, joined
from surefoot.engine.large_batch import SMALL_BATCH, compare_batches
from surefoot.engine.output_difference import largest_difference, same_outputs, unit_of
from surefoot.engine.perturbation_checks import SAMPLE, TRIALS, bench_for_checks
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Array, Model, Perturbation
from surefoot.system.memory_limits import rows_together

BATCHES = "a batch of one equals a batch of many"
"""Name of the check."""
BY_ITSELF = ": let the model answer each input by itself, as in evaluation mode"


def check_clean_batches(
    model: Model, x: NDArray[np.float32], names: Sequence[str], size: int
) -> Finding:
    """Alone, in one batch, and in one of the size in which all clean inputs are classified."""
    alone = joined([clean_outputs(model, x[i : i + 1]) for i in range(len(x))])
    found = same_outputs(
        largest_difference(clean_outputs(model, x, len(x)), alone),
        f"an input gets the same {unit_of(model)} alone and in a batch",
        f"inputs of a batch must not mix, but {unit_of(model)} change with the batch size",
        BY_ITSELF,
    )
    if found[0] is not CheckStatus.OK:
        return found
    large = _in_large_batch(model, model.place(x.copy()), names, size, BY_ITSELF)
    return found if large[0] is CheckStatus.OK else large


def check_trial_batch(
    inputs: Inputs, model: Model, perturbation: Perturbation | None, size: int
) -> Finding:
    """Trials of a few inputs within a batch of the size that a run uses."""
    subjects = inputs.subjects()[:: max(1, len(inputs) // SAMPLE)][:SAMPLE]
    x, trials = model.place(inputs.x[[subject.rows[0] for subject in subjects]]), 1
    if perturbation is not None and perturbation.level:
        trials = min(TRIALS, rows_together(len(subjects) * inputs.row_bytes))
        bench = bench_for_checks(inputs, model, perturbation)
        x = bench.perturbed_all([Task(s, perturbation.level, 0, trials) for s in subjects])
    names = [subject.name for subject in subjects for _ in range(trials)]
    small = min(SMALL_BATCH, len(names))
    smaller = f", or run batches of {small} (batch={small}, --batch {small})"
    return _in_large_batch(model, x, names, size, BY_ITSELF + smaller)


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
