"""What is applied to an input, in words."""

from __future__ import annotations

from surefoot.level_words import level_words
from surefoot.procedure import Needs
from surefoot.results import Interval
from surefoot.subject import Perturbation


def perturbation_words(
    perturbation: Perturbation, bounds: Interval | None, needs: Needs, *, whole_numbers: bool
) -> str:
    """What is sampled, exactly: the distribution, its parameters, clipping and rounding."""
    if needs in (Needs.REGION, Needs.RADII):
        within = "" if bounds is None else f" inside [{bounds.low:g}, {bounds.high:g}]"
        level = perturbation.level
        radius = "" if level is None else f" of radius {level_words(level)}"
        return f"any point of the {getattr(perturbation, 'ball', '')} ball{radius}{within}"
    open_ = perturbation.level is None and "{level}" in perturbation.phrase
    symbol = "s" if perturbation.level is None else level_words(perturbation.level)
    clip = "" if bounds is None else f", then clipped to [{bounds.low:g}, {bounds.high:g}]"
    clip += ", then rounded to whole numbers" if whole_numbers else ""
    clip += "; s is the level" if open_ else ""
    return perturbation.phrase.replace("{level}", symbol) + clip
