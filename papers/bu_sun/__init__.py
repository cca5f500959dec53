"""Bu & Sun: the probability that a label is kept, with a fixed width and few trials."""

from papers.paper import Paper, Part

_HERE = "papers.bu_sun"
_PAIRS = ("0.05,0.05", "0.03,0.03", "0.01,0.01", "0.003,0.001", "0.002,0.001", "0.001,0.001")
_GLASS, _FOG, _GAUSSIAN = "glass:5,size=small", "fog:5,size=small", "gaussian:0.1"
"""The constants of the paper: glass blur (0.4, 1, 2) and fog (1.5, 1.75) are severity 5 of small
images, Gaussian noise has a standard deviation of 0.1."""
_CONTRAST = "contrast:0.5..1"
"""A factor of the contrast between 0 and 0.5, at random: the level is what is taken away."""
_CONFIGURATIONS = {
    "perturb": (
        _CONTRAST, _FOG, _GAUSSIAN, _GLASS, _CONTRAST, "impulse:0.06", "shot:20photons", "linf:0.8",
    ),
    "pairs": (
        "0.005,0.001", "0.01,0.01", "0.02,0.02", "0.05,0.05",
        "0.01,0.01", "0.02,0.02", "0.05,0.05", "0.03,0.03",
    ),
}  # fmt: skip
"""The eight rows of Table II, in order; shot noise 20 is a level of 1/√20."""
_PARTS = (
    Part(
        "table 1",
        "Trials of an estimate over Okamoto's number, for six widths and errors",
        f"{_HERE}.table_1:make",
        options={"pairs": _PAIRS, "repeats": 100},
        quick={"pairs": _PAIRS[:3], "repeats": 20},
        needs=(),
    ),
    Part(
        "table 2",
        "Okamoto, Bu & Sun and the exact sequential method on the same images",
        f"{_HERE}.table_2:make",
        options={**_CONFIGURATIONS, "images": (100,)},
        quick={"perturb": (_GAUSSIAN,), "pairs": ("0.1,0.1",), "images": (12,)},
    ),
    Part(
        "table 3",
        "Means over few images, correlated with the standard method",
        f"{_HERE}.table_3:make",
        options={
            "perturb": (_CONTRAST, _FOG, _GAUSSIAN, _GLASS),
            "images": (10,), "width": 0.05, "confidence": 0.95, "repeats": 25,
        },
        quick={"perturb": (_GAUSSIAN,), "images": (5,), "width": 0.1, "repeats": 5},
    ),
    Part(
        "figure 1",
        "Probabilities of being kept, over the images",
        f"{_HERE}.figure_1:make",
        options={"perturb": (_GLASS,), "images": (250,), "width": 0.05, "confidence": 0.95},
        quick={"images": (40,), "width": 0.1},
    ),
    Part(
        "figure 2",
        "Okamoto's bound and theorem 3 against p",
        f"{_HERE}.figure_2:make",
        options={"draws": 500, "width": 0.05},
        needs=(),
    ),
    Part(
        "figure 3",
        "Trials of an estimate against p",
        f"{_HERE}.figure_3:make",
        options={"pairs": ("0.05,0.05", "0.01,0.01"), "repeats": 100},
        quick={"repeats": 20},
        needs=(),
    ),
    Part(
        "figure 4",
        "Correlation with the standard method against the number of images",
        f"{_HERE}.table_3:figure_4",
        options={
            "perturb": (_CONTRAST, _FOG, _GAUSSIAN),
            "images": (10, 20, 30, 40, 50), "width": 0.05, "confidence": 0.95, "repeats": 25,
        },
        quick={"perturb": (_GAUSSIAN,), "images": (2, 5), "width": 0.1, "repeats": 5},
    ),
)  # fmt: skip

PAPER = Paper(
    name="bu-sun",
    authors="Hao Bu and Meng Sun",
    title=(
        "Measuring Robustness of Deep Neural Networks from the Lens of Statistical Model Checking"
    ),
    published="IJCNN 2023",
    summary=(
        "Estimates how often the label of one image is kept, to a fixed width, with fewer "
        "trials than Okamoto's bound; and compares networks by their mean over few images."
    ),
    parts=_PARTS,
)
