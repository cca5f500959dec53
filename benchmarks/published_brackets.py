"""The published brackets of MNIST networks (Bosman et al., the `fomlas` rows)."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path

FIRST_OF_OTHERS = {"mnist_relu_3_100": 77, "mnist-net_256x4": 61, "mnist_relu_9_200": 61}
"""From here on the published rows are those of other images: their times count, not their ends."""


@dataclass(frozen=True)
class Published:
    """A bracket of others: an empty lower end is 0, an empty upper end nothing."""

    low: float
    high: float
    seconds: float
    same_image: bool = True


def published_brackets(data: Path, network: str) -> dict[int, Published]:
    """The published brackets of the first test images."""
    with (data / "critical_epsilon.csv").open() as file:
        return {
            int(row["image"]): Published(
                float(row["lower"] or 0),
                float(row["upper"] or math.inf),
                float(row["runtime_s"] or math.nan),
                int(row["image"]) < FIRST_OF_OTHERS.get(network, math.inf),
            )
            for row in csv.DictReader(file)
            if (row["network"], row["split"], row["source"]) == (network, "test", "fomlas")
        }
