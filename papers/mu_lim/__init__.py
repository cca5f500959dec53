"""Mu & Lim: is the failure probability below kappa, and for which share of inputs."""

from papers.paper import Paper, Part

_HERE = "papers.mu_lim"
_PARTS = (
    Part(
        "table 1",
        "Accuracy, attack failure rate, and the share of inputs that fail under at most kappa",
        f"{_HERE}.table_1:make",
        options={
            "perturb": ("linf:8/255",),
            "kappa": (1e-4,),
            "confidence": 0.95,
            "images": None,
            "property": "true",
            "attack_step": None,
            "attack_iterations": 10,
            "attack_starts": 1,
        },
        quick={"kappa": (0.1, 0.01), "images": (30,)},
    ),
)

PAPER = Paper(
    name="mu-lim",
    authors="Wenchuan Mu and Kwan Hui Lim",
    title="Towards Precise Observations of Neural Model Robustness in Classification",
    published="ICSE Companion 2024",
    summary=(
        "Tests of each input whether it fails under at most kappa, by the exact binomial test, "
        "and states the share of inputs that do."
    ),
    parts=_PARTS,
)
