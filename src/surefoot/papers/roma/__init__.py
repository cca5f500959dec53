"""RoMA: a rare confident mistake, extrapolated from the scores."""

from surefoot.papers.paper import Paper, Part

_HERE = "surefoot.papers.roma"
_PARTS: tuple[Part, ...] = ()

PAPER = Paper(
    name="roma",
    authors="Natan Levy and Guy Katz",
    title="RoMA: a Method for Neural Network Robustness Measurement and Assessment",
    published="arXiv:2110.11088, 2021",
    summary=(
        "Fits a normal distribution to the scores of perturbed inputs and extrapolates the "
        "probability of a confident mistake."
    ),
    parts=_PARTS,
)
