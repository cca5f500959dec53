"""Checks of a perturbation on the inputs of a study, before it runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from surefoot.core.counts import Counts
from surefoot.core.tasks import Task
from surefoot.engine.check_status import CheckStatus, Finding
from surefoot.engine.function_checks import items_changed, same_input, trials_repeat
from surefoot.engine.sampling_bench import SamplingBench
from surefoot.engine.table_check import column_problems, largest_change, uneven_changes
from surefoot.perturb._ops.levels import level_of
from surefoot.perturb.table.columns import describe_misfits
from surefoot.properties import SameLabel
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Model, Perturbation, to_host
from surefoot.system.memory_limits import pieces, rows_together

SAMPLE = 16
"""Inputs of the checks that run the model several times."""
TRIALS = 4
"""Trials of each input in the checks that perturb."""
_LEAST_CHANGE = 1 / 1000
"""Part of the data's range that a perturbation should move a value by; below it the level is
probably in another unit."""


def bench_for_checks(
    inputs: Inputs, model: Model, perturbation: Perturbation
) -> SamplingBench[Counts]:
    """A bench that perturbs; what counts as failed plays no part."""
    labels = np.zeros(len(inputs), np.int64)
    return SamplingBench(inputs, labels, model, perturbation, SameLabel(), Counts, seed=0)


def check_strength(inputs: Inputs, model: Model, perturbation: Perturbation) -> Finding:
    """Whether the perturbation changes the inputs noticeably."""
    bench = bench_for_checks(inputs, model, perturbation)
    if inputs.holds_items:
        changed, finding = items_changed(bench, level_of(perturbation), SAMPLE)
        return (CheckStatus.OK if changed else CheckStatus.WARNING), finding
    subject, change = inputs.subjects()[0], 0.0
    for trials in pieces(TRIALS, inputs.row_bytes):
        task = Task(subject, level_of(perturbation), trials.start, trials.stop)
        perturbed = to_host(bench.perturbed(task))
        moved = perturbed - inputs.x[:1]
        change = max(change, float(moved.max()), -float(moved.min()))
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


def check_repeats(inputs: Inputs, model: Model, perturbation: Perturbation) -> Finding:
    """Whether a trial run again is the same."""
    bench = bench_for_checks(inputs, model, perturbation)
    repeats, finding = trials_repeat(bench, level_of(perturbation), SAMPLE)
    return (CheckStatus.OK if repeats else CheckStatus.FAILED), finding


def check_features(inputs: Inputs, perturbation: Any) -> Finding:  # noqa: ANN401  any perturbation
    """Whether the columns of the data are as the perturbation describes them."""
    wrong = describe_misfits(perturbation.features, inputs.x)
    if wrong:
        return CheckStatus.WARNING, "; ".join(wrong[:3])
    return CheckStatus.OK, f"all rows are as described for {len(perturbation.features)} features"


def check_columns(inputs: Inputs, model: Model, perturbation: Perturbation | None) -> Finding:
    """Whether the columns of a table stay what they are, and how the model gets them."""
    perturbed = clean = inputs.x[:SAMPLE]
    if perturbation is not None and perturbation.level:
        tasks = [Task(s, perturbation.level, 0, TRIALS) for s in inputs.subjects()[:SAMPLE]]
        perturbed = to_host(bench_for_checks(inputs, model, perturbation).perturbed_all(tasks))
        clean = np.repeat(clean, TRIALS, axis=0)
    wrong, doubts = column_problems(inputs, model, perturbation, perturbed)
    if wrong:
        return CheckStatus.FAILED, wrong
    found = [doubts, uneven_changes(inputs, perturbation, perturbed - clean)]
    if any(found):
        return CheckStatus.WARNING, "; ".join(filter(None, found))
    return CheckStatus.OK, f"{len(inputs.features)} columns, each of the type that the data have"


def check_identity(inputs: Inputs, model: Model, perturbation: Perturbation) -> Finding:
    """Whether level 0 leaves inputs as they are."""
    bench = bench_for_checks(inputs, model, perturbation)
    subjects, trials = inputs.subjects()[:SAMPLE], min(2, rows_together(inputs.row_bytes))
    for row, subject in enumerate(subjects):
        x = to_host(bench.perturbed(Task(subject, 0.0, 0, trials)))
        if not same_input(x[0], inputs.x[row], inputs):
            return CheckStatus.FAILED, (
                f"level 0 must leave inputs unchanged, but it changes input {subject.name}: "
                "let it return its input there"
            )
    return CheckStatus.OK, f"{perturbation.kind} at level 0 leaves every input unchanged"
