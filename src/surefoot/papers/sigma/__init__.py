"""Kielhöfer, on Bosman et al.: the distribution of critical radii and its quantile."""

from surefoot.papers.paper import Paper, Part

_HERE = "surefoot.papers.sigma"
_PARTS: tuple[Part, ...] = ()

PAPER = Paper(
    name="sigma",
    authors="Lionel Kielhöfer, on Bosman et al.",
    title="Robustness Measure for Deep Neural Networks",
    published="Leiden University, 2024",
    summary=(
        "Brackets the critical radius of each input by proofs and counterexamples, and states "
        "the radius below which only a share sigma of inputs fails."
    ),
    parts=_PARTS,
)
