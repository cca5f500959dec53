"""Where an input had few trials: what was counted, in place of how often it fails."""

from __future__ import annotations

from statistics import median

from surefoot.core.results import Bracket, Estimate, InputResult
from surefoot.records.record import Record

_FEW = 10
"""Trials of one input below which its interval says little: 0.06 % to 58.5 % after one failure in
nine (confidence 99 %)."""
FAILED_ONCE = "failed in its only trial"


def counted_of(result: InputResult) -> Estimate | None:
    """The estimate from an input's own trials, with its guarantee."""
    if isinstance(result, Bracket):
        return None
    return result if isinstance(result, Estimate) else result.counted


def is_from_few(estimate: Estimate) -> bool:
    """Whether so few trials were counted that they say next to nothing of how often it fails."""
    whole_count = estimate.unbiased_from in (None, estimate.trials)
    return estimate.trials < _FEW and estimate.guarantee.error > 0 and whole_count


def count_words(estimate: Estimate) -> str:
    """In how many of its trials an input failed."""
    if estimate.from_one_trial and estimate.value < 1:
        return FAILED_ONCE
    failed = round((1 - estimate.value) * estimate.trials)
    return f"failed in {failed:,} of its {estimate.trials:,} trials"


def is_count(words: str) -> bool:
    """Whether words on an input are such a count."""
    return words.startswith("failed in ")


def tried_estimates(record: Record) -> list[Estimate]:
    """What was counted of each input that had a trial."""
    every = (counted_of(row.result) for row in record.inputs)
    return [one for one in every if one is not None and one.trials]


def few_trials_words(record: Record) -> str:
    """How many trials inputs had and what these cannot say; empty where most had enough."""
    if record.study.method.number("kappa") is not None:
        return ""
    tried = tried_estimates(record)
    if not tried or 2 * sum(map(is_from_few, tried)) <= len(tried):
        return ""
    least, most = min(one.trials for one in tried), max(one.trials for one in tried)
    if least == most == 1:
        return "One trial of each input: it says nothing of how often that input fails."
    typical = f"{median(one.trials for one in tried):g}"
    between = f"{least:,}" if least == most else f"{least:,} to {most:,} (median {typical})"
    each = f"{between} trials of each input"
    return f"{each}: too few to say how often a single input fails."


def count_inputs(record: Record) -> dict[str, int]:
    """How many inputs failed in no trial, and how many in at least one."""
    tried = tried_estimates(record)
    never = sum(one.value == 1 for one in tried)
    if all(one.trials == 1 for one in tried):
        return {"kept in its trial": never, "failed in its trial": len(tried) - never}
    return {"failed in no trial": never, "failed at least once": len(tried) - never}
