"""ASAP and ROBY: the share of a range of levels on which the accuracy is high enough."""

from surefoot.papers.paper import Paper, Part

_HERE = "surefoot.papers.asap"
_PARTS: tuple[Part, ...] = ()

PAPER = Paper(
    name="asap",
    authors="Paolo Arcaini, Andrea Bombarda, Silvia Bonfanti and Angelo Gargantini",
    title="Efficient Computation of Robustness of Convolutional Neural Networks",
    published="AITest 2021",
    summary=(
        "Computes on which share of the levels of a perturbation the accuracy stays above a "
        "threshold, at few levels."
    ),
    parts=_PARTS,
)
