"""Bu & Sun: the probability that a label is kept, with a fixed width and few trials."""

from surefoot.papers.paper import Paper, Part

_HERE = "surefoot.papers.bu_sun"
_PARTS: tuple[Part, ...] = ()

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
