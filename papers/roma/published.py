"""Numbers that the paper prints, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.statistics.tail import box_cox_of


@dataclass(frozen=True)
class Example:
    """One of the paper's examples: the fit that it prints, its z and its failure probability."""

    name: str
    mean: float
    deviation: float
    limit: float
    power: float | None
    published_z: float
    published_failure: float

    @property
    def moved_limit(self) -> float:
        """The limit, transformed as the scores were."""
        return self.limit if self.power is None else box_cox_of(self.limit, self.power)

    @property
    def z(self) -> float:
        """Recomputed, with its sign."""
        return (self.moved_limit - self.mean) / self.deviation

    @property
    def plr(self) -> float:
        """Recomputed: the probability to stay below the limit."""
        from scipy.special import ndtr

        return float(ndtr(self.z))

    @property
    def failure(self) -> float:
        """Recomputed: the probability to reach it."""
        from scipy.special import ndtr

        return float(ndtr(-self.z))


FIGURE_1 = Example("Figure 1", 0.473, 0.053, 0.6, None, 2.396, 0.008288)
"""Section 3.2: N(0.473, 0.053²), δ = 0.6; printed plr 0.991712."""
FIGURE_2B = Example("Figure 2b", -0.33, 0.020, 0.6, 0.257, 7.45, 4.66e-14)
"""Section 3.3: λ = 0.257, N(−0.33, 0.020²); printed Z-score 7.45 and plr 1 − 4.66e-14."""


@dataclass(frozen=True)
class ClassRow:
    """A line of Table 2; `failure` is 1 less the printed average."""

    category: str
    samples: int
    failure: float
    variance: float


TABLE_2 = tuple(
    ClassRow(category, 1000, failure, variance)
    for category, failure, variance in (
        ("Airplane", 2.8894e-4, 1.1362e-5),
        ("Automotive", 8.3363e-5, 1.0430e-6),
        ("Bird", 1.1877e-4, 1.5064e-6),
        ("Cat", 7.0537e-5, 7.8409e-7),
        ("Deer", 1.3545e-4, 1.9256e-6),
        ("Dog", 7.1440e-6, 3.8810e-9),
        ("Frog", 6.6058e-5, 6.0929e-7),
        ("Horse", 2.5776e-4, 7.9067e-6),
        ("Ship", 1.6059e-4, 3.0538e-6),
        ("Truck", 2.7746e-4, 6.8932e-6),
    )
)
"""Table 2: VGG16-10 on the 10,000 CIFAR10 test images, δ = 0.6, ε = 0.04."""
TABLE_1 = (
    ("Resnet-10", 0.72, 1.07),
    ("Resnet-100", 0.91, 0.4456),
    ("VGG16-10", 0.73, 0.8329),
    ("VGG16-200", 0.76, 2.7082),
    ("Densenet", 0.93, 0.5335),
)
"""Table 1: accuracy and loss of the paper's networks on CIFAR10."""
COMPLETENESS = {
    "VGG16-10": 0.77,
    "VGG16-200": 0.26,
    "Resnet-10": 0.70,
    "Resnet-100": 0.57,
    "Densenet": 0.30,
}
"""Section 4.3: the share of inputs that could be fitted."""
