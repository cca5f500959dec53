"""ASAP and ROBY: the share of a range of levels on which the accuracy is high enough."""

from papers.asap.perturbations import ALL, PUBLISHED
from papers.paper import Paper, Part

_HERE = "papers.asap"
_FEW = (PUBLISHED["blur"].ours, PUBLISHED["brightness"].ours)
_TABLE = {"perturb": ALL, "threshold": (0.8,), "points": (1024,), "curvature": (128.0,)}
_BLUR, _NOISE = (PUBLISHED["blur"].ours,), (PUBLISHED["gaussian"].ours,)
_DOUBLING = tuple(2**k for k in range(4, 11))
_BENDS = (2.0, 32.0, 128.0, 256.0)
_WHOLE = {"threshold": (0.8,), "oracle": 1025}
_QUICK_SWEEP = {"oracle": 65, "points": (16, 64, 256, 1024)}
_QUICK = {"perturb": _FEW, "points": (48,)}
_PARTS = (
    Part(
        "table 1",
        "Time and robustness by method",
        f"{_HERE}.table_1:make",
        options={**_TABLE, "time_limit": None},
        quick=_QUICK,
    ),
    Part(
        "table 2",
        "The error of ASAP and the bound of theorem 1",
        f"{_HERE}.table_2:make",
        options=_TABLE,
        quick=_QUICK,
    ),
    Part(
        "figure 2",
        "Even levels that miss what lies between them",
        f"{_HERE}.synthetic:figure_2",
        options={"points": (10,), "curvature": (256.0,)},
        needs=(),
    ),
    Part(
        "figure 5",
        "Robustness of synthetic curves",
        f"{_HERE}.synthetic:figure_5",
        options={"points": (50,), "curvature": (256.0,)},
        needs=(),
    ),
    Part(
        "figure 6",
        "Levels of numerical integration",
        f"{_HERE}.figure_6:make",
        options={**_WHOLE, "perturb": _BLUR, "points": (1024,), "curvature": (128.0,)},
        quick={"oracle": 65},
    ),
    Part(
        "figure 7",
        "Robustness from random levels",
        f"{_HERE}.figure_7:make",
        options={
            **_WHOLE,
            "perturb": (PUBLISHED["translate-y"].ours, PUBLISHED["brightness"].ours),
            "points": (10, 20, 50, 100, 200, 500, 1000),
            "repeats": 100,
        },
        quick={"oracle": 65, "points": (10, 50, 200)},
    ),
    Part(
        "figure 8",
        "Levels that ASAP uses, by perturbation",
        f"{_HERE}.sweeps:figure_8",
        options={**_WHOLE, "perturb": ALL, "points": _DOUBLING, "curvature": (2.0,)},
        quick={**_QUICK_SWEEP, "perturb": _FEW},
    ),
    Part(
        "figure 9",
        "Levels that ASAP uses, by â",
        f"{_HERE}.sweeps:figure_9",
        options={**_WHOLE, "perturb": _NOISE, "points": _DOUBLING, "curvature": _BENDS},
        quick={**_QUICK_SWEEP, "perturb": _BLUR},
    ),
    Part(
        "figure 10",
        "Robustness by n and â",
        f"{_HERE}.sweeps:figure_10",
        options={**_WHOLE, "perturb": _NOISE, "points": _DOUBLING, "curvature": _BENDS},
        quick={**_QUICK_SWEEP, "perturb": _BLUR},
    ),
)

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
