"""The seven perturbations of the paper, and what stands for each of them here."""

from __future__ import annotations

from dataclasses import dataclass

NOISE, COMPRESSION, VERTICAL, HORIZONTAL = "gaussian", "jpeg", "translate-y", "translate-x"
BLUR, BRIGHTNESS, ZOOM = "blur", "brightness", "zoom"


@dataclass(frozen=True)
class Published:
    """A perturbation of the paper: its name, its range there, and the range that we declare.

    `scale` says what the paper's level 1 is in the authors' tool, ROBY.
    """

    name: str
    levels: str
    ours: str
    scale: str


PUBLISHED = {
    NOISE: Published(
        "Gaussian noise", "[0, 1]", "gaussian:0..0.1", "variance 0.01 of values in [0, 1]"
    ),
    COMPRESSION: Published("Compression", "[0, 1]", "jpeg:0..0.99", "JPEG of quality 0"),
    VERTICAL: Published(
        "Vertical translation", "[-1, 1]", "translate-y:-0.1..0.1", "a tenth of the height"
    ),
    HORIZONTAL: Published(
        "Horizontal translation", "[-1, 1]", "translate-x:-0.1..0.1", "a tenth of the width"
    ),
    BLUR: Published("Blur", "[0, 1]", "blur:0..2", "a standard deviation of 2 pixels"),
    BRIGHTNESS: Published(
        "Brightness", "[-0.5, 0.5]", "brightness:-0.5..0.5", "values times 1.5; here half is added"
    ),
    ZOOM: Published("Zoom", "[0, 1]", "zoom:0..1", "twice the size"),
}
"""By our kind. The scales are those of ROBY's source, github.com/fmselab/roby, and its MNIST
example; its levels of noise are proportional to the variance, ours to the standard deviation."""
ALL = tuple(one.ours for one in PUBLISHED.values())
"""What the tables are made of."""


def name_of(perturb: str) -> str:
    """The paper's name for a perturbation as text, or the text's own kind."""
    kind = perturb.partition(":")[0]
    return PUBLISHED[kind].name if kind in PUBLISHED else kind
