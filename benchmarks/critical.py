"""Critical ε of MNIST networks: processor seconds, closed brackets, contradictions with others.

Every bracket is held against the published one of the same image (Bosman et al., the `fomlas` rows
of critical_epsilon.csv): a proved lower end above their counterexample, or a counterexample below
their proved end, is a contradiction. Their search ran on a grid of .002, so brackets are closed to
.002 here too; their time is the wall clock of a cluster's node. One thread; processor time.

    python benchmarks/critical.py --data DIR [--quick] [--networks A,B] [--images N] [--seconds S]
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import csv
import json
import math
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tables import print_table

from surefoot.verify import Found, check_reader, critical, read_network

NETWORKS = (
    "mnist-net_256x2",
    "mnist-net_256x4",
    "mnist_relu_3_50",
    "mnist_relu_3_100",
    "mnist_relu_9_200",
)
TOLERANCE = 0.002
ROUNDING = 1e-6


@dataclass(frozen=True)
class Published:
    """A bracket of others: an empty lower end is 0, an empty upper end nothing."""

    low: float
    high: float
    seconds: float


@dataclass(frozen=True)
class Row:
    """One image: what we found and what was published."""

    image: int
    found: Found
    published: Published | None

    @property
    def closed(self) -> bool:
        """Whether the bracket is as narrow as asked."""
        return self.found.high - self.found.low <= TOLERANCE * (1 + 1e-6)

    @property
    def contradicts(self) -> bool:
        """Whether one of the two brackets must be wrong."""
        theirs = self.published
        if theirs is None or self.found.reason == "misclassified":
            return False
        return self.found.low > theirs.high + ROUNDING or self.found.high < theirs.low - ROUNDING


def published_brackets(data: Path, network: str) -> dict[int, Published]:
    """The published brackets of the first test images."""
    with (data / "critical_epsilon.csv").open() as file:
        return {
            int(row["image"]): Published(
                float(row["lower"] or 0),
                float(row["upper"] or math.inf),
                float(row["runtime_s"] or math.nan),
            )
            for row in csv.DictReader(file)
            if (row["network"], row["split"], row["source"]) == (network, "test", "fomlas")
        }


def measure(data: Path, name: str, images: int, seconds: float) -> list[Row]:
    """The brackets of the first images of one network."""
    path = data / "nets" / f"{name}.onnx"
    network = read_network(path)
    check_reader(network, path)
    published = published_brackets(data, name)
    table = np.loadtxt(data / "mnist_test_100.csv", delimiter=",")[:images]
    rows = []
    for image, (label, *pixels) in enumerate(table):
        found = critical(
            network,
            np.array(pixels) / 255,
            int(label),
            tolerance=TOLERANCE,
            seconds=seconds,
            clock=time.process_time,
        )
        rows.append(Row(image, found, published.get(image)))
        if not rows[-1].closed or rows[-1].contradicts:
            print(
                f"  {name} {image}: [{found.low:.4f}, {found.high:.4f}] {found.seconds:.1f} s, "
                f"{found.nodes} nodes, {found.reason}; published {published.get(image)}",
                flush=True,
            )
    return rows


def speedup(rows: list[Row]) -> float:
    """Their time over ours, the median over images."""
    shares = [
        row.published.seconds / row.found.seconds
        for row in rows
        if row.published is not None and row.found.nodes and row.published.seconds > 0
    ]
    return statistics.median(shares) if shares else math.nan


def summary(name: str, rows: list[Row]) -> list[str]:
    """One line of the table."""
    times = [row.found.seconds for row in rows]
    theirs = [r.published.seconds for r in rows if r.published and r.published.seconds > 0]
    return [
        name,
        str(len(rows)),
        f"{sum(r.closed for r in rows) / len(rows):.0%}",
        f"{sum(r.closed and r.found.seconds <= 10 for r in rows) / len(rows):.0%}",
        f"{max(r.found.high - r.found.low for r in rows):.4f}",
        f"{statistics.median(times):.2f}",
        f"{statistics.fmean(times):.2f}",
        f"{statistics.median(theirs):.0f}" if theirs else "",
        str(sum(r.contradicts for r in rows)),
    ]


def main() -> None:
    """Measure and print; the last line is JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--images", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60.0)
    args = parser.parse_args()
    names = [NETWORKS[0]] if args.quick else args.networks.split(",")
    images = 10 if args.quick else args.images
    measured = {name: measure(args.data, name, images, args.seconds) for name in names}
    header = ["network", "images", "closed", "within 10 s", "widest", "median s", "mean s"]
    print_table(
        [*header, "published median s", "contradictions"],
        [summary(name, rows) for name, rows in measured.items()],
    )
    rows = [row for part in measured.values() for row in part]
    last = {
        "closed_share": sum(r.closed for r in rows) / len(rows),
        "median_seconds": statistics.median(r.found.seconds for r in rows),
        "contradictions": sum(r.contradicts for r in rows),
        "speedup_vs_published": speedup(rows),
    }
    print(json.dumps(last))


if __name__ == "__main__":
    main()
