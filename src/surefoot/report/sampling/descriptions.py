"""What the figures of a study that sampled show, in numbers, for readers who do not see them."""

from __future__ import annotations

from surefoot.core.claims import About
from surefoot.core.results import Extrapolation
from surefoot.records.record import Record
from surefoot.report.clauses import class_word
from surefoot.report.formatting import percent, percent_range, small_probability
from surefoot.report.sampling.few_trials import count_inputs, few_trials_words
from surefoot.report.sampling.figures import count_decisions, failure_shares
from surefoot.report.tables import quantity_heading


def describe_inputs(record: Record) -> str:
    """How many inputs failed never, and how often the others; or how each was decided."""
    if record.study.method.number("kappa") is not None:
        counts = count_decisions(record)
        words = ", ".join(f"{number:,} {kind}" for kind, number in counts.items())
        return f"Of {len(record.inputs):,} inputs: {words}."
    if few := few_trials_words(record):
        counts = count_inputs(record)
        words = ", ".join(f"{number:,} {kind}" for kind, number in counts.items())
        return f"Of {sum(counts.values()):,} inputs with a trial: {words}. {few}"
    shares = failure_shares(record)
    failed = shares[shares > 0]
    with_trial = " with a trial" if len(shares) < len(record.inputs) else ""
    line = (
        f"Of {len(shares):,} inputs{with_trial} {len(shares) - len(failed):,} failed in no trial."
    )
    if not len(failed):
        return line
    often = int((failed > 1 / 2).sum())
    return (
        f"{line} {len(failed):,} failed at least once, the weakest under "
        f"{percent(float(failed.max()))} of the perturbations; {often:,} under more than half of "
        "them."
    )


def describe_classes(record: Record) -> str:
    """The lowest and the highest class, with their intervals."""
    word = class_word(*record.claims)
    rows = [
        (claim.value, claim.about.name, claim.interval)
        for claim in record.claims
        if claim.about.of is About.CLASS and claim.interval is not None and claim.value is not None
    ]
    if not rows:
        return f"No {word} is decided."
    low, high = min(rows, key=lambda row: row[0]), max(rows, key=lambda row: row[0])
    ends = " to ".join(
        f"{percent(value)} in {word} {name} (interval {percent_range(around)})"
        for value, name, around in (low, high)
    )
    return f"{quantity_heading(record).capitalize()} of {len(rows):,} {word}es, from {ends}."


def describe_tails(record: Record) -> str:
    """Between which values the extrapolations lie."""
    fitted = [r.result for r in record.inputs if isinstance(r.result, Extrapolation)]
    if not fitted:
        return "No input has an extrapolation."
    values = sorted(result.failure for result in fitted)
    wrong = sum(result.contradicted for result in fitted)
    return (
        f"Extrapolated failure probabilities of {len(fitted):,} inputs, from "
        f"{small_probability(values[-1])} down to {small_probability(values[0])}, each over the "
        f"interval of its count; {wrong:,} contradict their count."
    )
