"""Further facts about a study that sampled: counts of inputs and trials, not claims."""

from __future__ import annotations

from surefoot.core.claims import About
from surefoot.core.results import Decision, Estimate, ExtrapolatedMean, Undecided
from surefoot.records.record import Record, Samples
from surefoot.report.clean_faults import ties_clause
from surefoot.report.formatting import confidence, percent, variance, with_full_stop
from surefoot.report.provenance import group_facts
from surefoot.report.tables import loss_cell


def facts_of(record: Record, samples: Samples) -> list[str]:
    """Further facts about the run; counts, not claims."""
    method, lines = record.study.method, []
    error = method.number("error") or 0.0
    if (width := method.number("width")) is not None:
        lines.append(
            f"Each input has an interval of its own, ± {width:g} around its estimate or narrower "
            f"(confidence {confidence(error)}, each input by itself)."
        )
    decided = [r.result for r in record.inputs if isinstance(r.result, Decision)]
    if method.number("kappa") is not None:
        lines.append(
            f"Each of {len(decided):,} decisions is right with confidence {confidence(error)}, by "
            "itself."
        )
    elif isinstance(samples.whole, ExtrapolatedMean):
        lines += _tail_facts(record, samples.whole)
    else:
        never_failed = sum(
            isinstance(r.result, Estimate) and r.result.value == 1 for r in record.inputs
        )
        untried = sum(row.result.trials == 0 for row in record.inputs)
        tried = len(record.inputs) - untried
        inputs = f"{tried:,} inputs with a trial" if untried else f"{tried:,} inputs"
        lines.append(f"{never_failed:,} of {inputs} failed in no trial.")
        if untried:
            lines.append(_untried_words(record, untried))
    labelled = [row for row in record.inputs if row.label is not None]
    if labelled:
        right = sum(row.label == row.predicted for row in labelled)
        lines.append(
            f"When clean, {right:,} of {len(labelled):,} inputs get their true label"
            f"{ties_clause(record)}."
        )
    lines.append(f"{record.trials:,} trials on {_tried_inputs(record)}.")
    lines += group_facts(record)
    if _groups_cross_classes(record):
        lines.append(
            "Nothing is said of classes: some groups have inputs of several classes, and which of "
            "these a group has here depends on the inputs that were drawn."
        )
    if record.extends:
        lines.append(
            f"The inputs of run {record.extends[:12]} are among these; its trials were reused."
        )
    return lines


def page_facts_of(samples: Samples) -> tuple[str, ...]:
    """Facts that a page has room for."""
    if samples.clean_loss is None:
        return ()
    return (
        f"Over these {samples.clean_loss.inputs:,} clean inputs the mean cross-entropy loss is "
        f"{loss_cell(samples.clean_loss)}; a loss has no upper bound, so that there is no "
        "interval for it.",
    )


def _tried_inputs(record: Record) -> str:
    """How many inputs had a trial, of how many."""
    every = len(record.inputs)
    tried = sum(row.result.trials > 0 for row in record.inputs)
    return f"{every:,} inputs" if tried == every else f"{tried:,} of {every:,} inputs"


def _untried_words(record: Record, untried: int) -> str:
    """How inputs without a trial are part of what is claimed."""
    every, none = len(record.inputs), f"{untried:,} of {len(record.inputs):,} inputs had no trial"
    if record.study.method.number("precision") is None:
        return f"{none}."
    if record.claims[0].about.of is About.POPULATION:
        return f"{none}: inputs are taken in random order until the mean is known."
    return (
        f"{none}: which inputs have a trial is drawn at random, so that the average is over all "
        f"{every:,}, and its interval accounts for the draw."
    )


def _groups_cross_classes(record: Record) -> bool:
    """Whether classes were wanted and some group has inputs of several."""
    classes: dict[str, set[int | None]] = {}
    for row in record.inputs:
        if row.group:
            label = row.predicted if row.label is None else row.label
            classes.setdefault(row.group, set()).add(label)
    return record.study.by_class and any(len(labels) > 1 for labels in classes.values())


def _tail_facts(record: Record, whole: ExtrapolatedMean) -> list[str]:
    spread = "" if whole.variance is None else f", with variance {variance(whole.variance)}"
    lines = [
        f"A normal distribution fitted the scores of {whole.fitted:,} of {whole.inputs:,} inputs "
        f"(completeness {percent(whole.completeness)}); the extrapolated average is over these "
        f"alone{spread}."
    ]
    failed = [row for row in record.inputs if isinstance(row.result, Undecided)]
    if failed and isinstance(failed[0].result, Undecided):
        lines.append(
            f"Not fitted, for example {failed[0].id}: {with_full_stop(failed[0].result.reason)}"
        )
    return lines
