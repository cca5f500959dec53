"""Kielhöfer, on Bosman et al.: the distribution of critical radii and its quantile."""

from papers.paper import Paper, Part

_HERE = "papers.sigma"
_OPTIONS = {
    "repeats": 100,
    "gamma": 0.002,
    "quantile": 0.05,
    "confidence": 0.95,
    "split": "test",
    "seconds": 60.0,
}
"""100 runs a network, γ = .002 and the 5 % quantile, as in the thesis; the rest is ours."""


def _part(name: str, title: str, function: str) -> Part:
    return Part(
        name, title, f"{_HERE}.{function}", _OPTIONS, {"repeats": 20, "seconds": 0.5}, _NEEDS
    )


_NEEDS = ("brackets",)
_PARTS = (
    _part("figure 3.1", "The posterior of algorithm 1 and the ground truth", "figures:posterior"),
    _part(
        "table 4.1", "Overlap of algorithm 1's intervals with the ground truth", "table_4_1:make"
    ),
    _part("table 4.2", "Algorithm 1's intervals, and how often they are right", "table_4_2:make"),
    _part("table 4.3", "Runtime of algorithm 1 and of all inputs", "table_4_3:make"),
    _part("figure 4.1", "How often a radius is inside the intervals", "figures:inside"),
    _part("figure 4.2", "Cumulative runtime of algorithm 1", "figures:runtimes"),
)

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
