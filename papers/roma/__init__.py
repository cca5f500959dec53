"""RoMA: a rare confident mistake, extrapolated from the scores."""

from papers.paper import Paper, Part

_HERE = "papers.roma"
_ONE = {"perturb": ("linf:0.04",), "limit": 0.6, "draws": 10_000, "images": (100,), "input": None}
_QUICK = {"perturb": ("linf:0.15",), "draws": 100, "images": (20,)}
_PARTS = (
    Part(
        "figure 1",
        "Scores of an input that are normal as they are",
        f"{_HERE}.figures_1_and_2:figure_1",
        options=_ONE,
        quick=_QUICK,
    ),
    Part(
        "figure 2",
        "Scores of an input that are normal only after Box-Cox",
        f"{_HERE}.figures_1_and_2:figure_2",
        options=_ONE,
        quick=_QUICK,
    ),
    Part(
        "table 1",
        "Accuracy and loss of the models",
        f"{_HERE}.table_1:make",
        options={"confidence": 0.95},
    ),
    Part(
        "figure 3",
        "Extrapolated and counted failure probability against the level",
        f"{_HERE}.figure_3:make",
        options={
            "perturb": ("linf",),
            "levels": (0.01, 0.02, 0.03, 0.04, 0.05, 0.06),
            "limit": 0.6,
            "draws": 10_000,
            "images": (100,),
            "confidence": 0.95,
        },
        quick={"levels": (0.05, 0.1, 0.2), "draws": 100, "images": (8,)},
    ),
    Part(
        "figure 4",
        "Models side by side",
        f"{_HERE}.figure_4:make",
        options={
            "perturb": ("linf:0.04",),
            "limit": 0.6,
            "draws": 10_000,
            "images": (100,),
            "confidence": 0.95,
        },
        quick={"perturb": ("linf:0.15",), "draws": 150, "images": (10,)},
    ),
    Part(
        "table 2",
        "Results by class: average, variance and completeness, beside the count",
        f"{_HERE}.table_2:make",
        options={
            "perturb": ("linf:0.04",),
            "limit": 0.6,
            "draws": 1000,
            "images": None,
            "confidence": 0.95,
        },
        quick={"perturb": ("linf:0.15",), "draws": 60, "images": (40,)},
    ),
)

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
