"""A sequential design in sentences: what is guaranteed, and when it looks."""

from __future__ import annotations

import math

from surefoot.report.formatting import confidence, error_odds
from surefoot.statistics.designs import Design


def design_sentences(design: Design) -> tuple[str, ...]:
    """The number of trials, the guarantee, the looks, and what is proved."""
    first, last = design.looks[0], design.looks[-1]
    trials = f"{last:,} trials" if first == last else f"{first:,} to {last:,} trials"
    looks = (
        f"One look, at {last:,} trials"
        if first == last
        else f"{len(design.looks)} looks, from {first:,} to {last:,} trials"
    )
    return (
        f"{trials} (confidence {confidence(design.error)}): what the estimate of an input takes.",
        f"An estimate within {design.width:g} of the truth, whatever the truth is "
        f"({error_odds(design.error)}).",
        f"{looks}; z = {design.z:.5f}.",
        f"Proved for every p: a miss has probability at most {_rounded_up(design.proved)}.",
    )


def _rounded_up(probability: float) -> str:
    """Six digits, rounded up: the sentence says no more than was proved."""
    unit = 10.0 ** (math.floor(math.log10(probability)) - 5)
    return f"{math.ceil(probability / unit) * unit:.6g}"
