"""Critical ε of MNIST networks: processor seconds, closed brackets, contradictions with others.

Every bracket is compared with the published one of the same image (Bosman et al., the `fomlas` rows
of critical_epsilon.csv). Two kinds of contradiction are kept apart: a radius proved here above a
counterexample of theirs would be our error and must not occur; a counterexample found here below a
radius they call proved is run once more through onnxruntime on the original file and printed
(docs/decisions/published-brackets.md says what is behind them). Their search ran on a grid of .002,
so brackets are closed to .002 here too; their time is the wall clock of a cluster's node, ours the
processor time of one thread. Proofs hold for runs in float32; `float32_violations` counts points
near ties within a proved radius that onnxruntime labels otherwise, and the table of losses says how
much smaller a radius proved without branching is than in real arithmetic. The last line is about
mnist-net_256x2.

    python benchmarks/critical.py --data DIR [--quick] [--networks A,B] [--images N] [--seconds S]
        [--workers K] [--marabou N] [--convolution] [--device cuda]

`--convolution` measures the convolutional network CONVOLUTION instead: the median radius proved,
the median width, the largest share of the limit that was spent, and the nodes per second of trees
just beyond the proved radius. With `--device` trees are searched on that device of PyTorch, which
all workers share, and seconds are those on the wall. Of the convolution's images first radii are
then made there in one batch: their median, each proved once more on the processor, and the seconds
from the images to the last proof, the device being warm (`first_radius`, `first_seconds`), and the
same on the processor alone (`first_radius_cpu`, in CPU seconds).
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import importlib.util
import json
import math
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from processor import print_processor
from published_brackets import Published, published_brackets
from tables import print_table

from surefoot.core.assumptions import Arithmetic
from surefoot.core.counts import closed_to
from surefoot.core.results import UNIT
from surefoot.errors import InvalidArgument
from surefoot.graph.network import margin_question
from surefoot.subject.protocols import CPU
from surefoot.verify import (
    BracketResult,
    ExternalVerifier,
    Network,
    bracket_radius,
    bracket_radius_externally,
    branch_and_bound,
    check_reader,
    find_contradiction,
    read_network,
    run_verifier,
)
from surefoot.verify.ball import Box, InputSpace
from surefoot.verify.bracket import BracketState, one_blas_thread
from surefoot.verify.bracket_search import bounds_alone
from surefoot.verify.branch_and_bound import DEFAULT_SETTINGS, TreeWatch, prove_by_branching
from surefoot.verify.counterexample_search import attack_problem
from surefoot.verify.first_bounds import InputBatch, first_radii
from surefoot.verify.layer_bounds import bound_layers
from surefoot.verify.vnnlib import box_property

NETWORKS = (
    "mnist-net_256x2",
    "mnist-net_256x4",
    "mnist_relu_3_50",
    "mnist_relu_3_100",
    "mnist_relu_9_200",
)
CONVOLUTION = "convSmallRELU__PGDK"
CONVOLUTION_IMAGES = 16
CONVOLUTION_SECONDS = 12.0
BEYOND = 1.04
"""Share of the proved radius at which nodes are counted: bounds alone do not prove it."""
COUNTED_IMAGES = 4
TOLERANCE = 0.002
"""Width of a closed bracket, in radius: the grid of the published search."""
ROUNDING = 1e-6
"""Slack in radius when brackets are compared: the table has few digits."""
TIME_LIMITED = 2800.0
"""Seconds above which a published search may have met its own limit (published-brackets.md)."""
LOSS_PRECISION = 1e-4
"""Of a radius without branching, as a share of it: the losses are 4e-4 to 2e-3."""
LOSS_IMAGES = 3
REAL_AND_RUN = (Arithmetic.REAL, Arithmetic.FLOAT32)
MARABOU = Path(__file__).parents[1] / "examples" / "verifiers" / "marabou.py"


@dataclass(frozen=True)
class Job:
    """One image of one network."""

    data: Path
    name: str
    image: int
    seconds: float
    where: str = CPU


@dataclass(frozen=True)
class Row:
    """One image: our bracket and the published one."""

    image: int
    details: BracketResult
    published: Published | None
    replayed: bool
    violated: bool

    @property
    def closed(self) -> bool:
        """Whether the bracket is closed to the tolerance."""
        return closed_to(self.details.low, self.details.high, TOLERANCE)

    @property
    def proved_too_far(self) -> bool:
        """Whether we proved a radius beyond their counterexample."""
        return self._compared and self.details.low > self._theirs.high + ROUNDING

    @property
    def refutes(self) -> bool:
        """Whether our counterexample, run through the file again, lies within their proof."""
        below = self._compared and self.details.high < self._theirs.low - ROUNDING
        return below and self.replayed

    @property
    def _compared(self) -> bool:
        return self._theirs.same_image and self.details.reason != "misclassified"

    @property
    def _theirs(self) -> Published:
        return self.published or Published(0.0, math.inf, math.nan)

    def line(self, name: str) -> str:
        """What is said of an image that is not simply closed."""
        ours, theirs = self.details, self._theirs
        text = (
            f"  {name} {self.image}: [{ours.low:.4f}, {ours.high:.4f}] {ours.seconds:.1f} s, "
            f"{ours.nodes} nodes, {ours.reason}; published [{theirs.low:g}, {theirs.high:g}] "
            f"{theirs.seconds:.0f} s"
        )
        if not theirs.same_image:
            text += " (of another image)"
        if self.proved_too_far:
            text += "; WE PROVED BEYOND THEIR COUNTEREXAMPLE"
        if self.refutes:
            text += "; our counterexample, replayed, lies within their proof"
        return text


@cache
def images(data: Path) -> NDArray[np.float64]:
    """Labels and pixels of the test images."""
    return np.loadtxt(data / "mnist_test_100.csv", delimiter=",")


@cache
def read_and_open(data: Path, name: str) -> tuple[Network, Callable[[NDArray[np.float64]], int]]:
    """The layers, compared with the file; and the label that onnxruntime gives a point."""
    path = data / "nets" / f"{name}.onnx"
    network = read_network(path)
    check_reader(network, path)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = session.get_inputs()[0]

    def label(x: NDArray[np.float64]) -> int:
        batch = x.astype(np.float32).reshape(feed.shape)
        return int(session.run(None, {feed.name: batch})[0].argmax())

    return network, label


def clock_of(where: str) -> Callable[[], float]:
    """Processor seconds; beside a device those on the wall, once its libraries are loaded."""
    if where == CPU:
        return time.process_time
    load_libraries(where)
    return time.monotonic


@cache
def load_libraries(where: str) -> None:
    """One product in each precision."""
    import torch

    for kind in (torch.float32, torch.float64):
        some = torch.ones(64, 64, dtype=kind, device=where)
        (some @ some).sum().item()


def measure_image(job: Job) -> Row:
    """The bracket of one image."""
    network, label = read_and_open(job.data, job.name)
    truth, x = int(images(job.data)[job.image][0]), images(job.data)[job.image][1:] / 255
    bracket = bracket_radius(
        network,
        x,
        truth,
        tolerance=TOLERANCE,
        seconds=job.seconds,
        replay=label,
        clock=clock_of(job.where),
        where=job.where,
    )
    witness = bracket.witness
    replayed = (
        witness is not None
        and bool((witness >= 0).all() and (witness <= 1).all())
        and bool((witness == witness.astype(np.float32)).all())
        and float(np.abs(witness - x).max()) <= bracket.high
        and label(witness) != truth
    )

    def labels(points: NDArray[np.float32]) -> NDArray[np.int64]:
        return np.array([label(one) for one in points.astype(np.float64)])

    violation = None
    if bracket.low > 0:
        violation = find_contradiction(network, labels, x, truth, bracket.low, UNIT, job.image)
    published = published_brackets(job.data, job.name).get(job.image)
    return Row(job.image, bracket, published, replayed, violation is not None)


def first_radius(network: Network, x: NDArray[np.float64], label: int, how: Arithmetic) -> float:
    """The largest radius that one bound without branching proves, to 1e-4 of it."""
    question = margin_question(network, label, arithmetic=how)
    low, high = 0.0, 0.2
    while high - low > LOSS_PRECISION * high:
        middle = (low + high) / 2
        bounds = bound_layers(question, Box(x, middle, 0.0, 1.0), lambda: False)
        settings = branch_and_bound.DEFAULT_SETTINGS
        roots = branch_and_bound.root_nodes(bounds)
        nodes = branch_and_bound.bound_nodes(bounds, roots, settings.root_steps)
        low, high = (middle, high) if nodes.radius.min() >= middle else (low, middle)
    return low


def radius_losses(data: Path, name: str, count: int) -> list[float]:
    """Shares of the radius that proofs for float32 lose, of the first images."""
    network, _ = read_and_open(data, name)
    losses = []
    for row in images(data)[:count]:
        truth, x = int(row[0]), row[1:] / 255
        if network.label(x) == truth:
            real, run = (first_radius(network, x, truth, how) for how in REAL_AND_RUN)
            losses.append(1 - run / real if real else 0.0)
    return losses


def measure(
    data: Path, name: str, count: int, seconds: float, pool: ProcessPoolExecutor | None, where: str
) -> list[Row]:
    """The brackets of the first images of one network."""
    jobs = [Job(data, name, image, seconds, where) for image in range(count)]
    rows = []
    for row in (pool.map if pool else map)(measure_image, jobs):
        rows.append(row)
        if not row.closed or row.proved_too_far or row.refutes:
            print(row.line(name), flush=True)
    return rows


def speedup(rows: list[Row]) -> float:
    """Their seconds over ours, summed over the same images."""
    both = [r for r in rows if r.published is not None and r.published.seconds > 0]
    ours = sum(r.details.seconds for r in both)
    return sum(r.published.seconds for r in both if r.published) / ours if ours else math.nan


def closed_within_10_s(rows: list[Row]) -> float:
    """The share of brackets closed within 10 s."""
    return sum(r.closed and r.details.seconds <= 10 for r in rows) / len(rows)


def share_closed(rows: list[Row]) -> float:
    """The share of brackets that are closed."""
    return sum(row.closed for row in rows) / len(rows)


def median_width(rows: list[Row]) -> float:
    """The median of upper less lower end."""
    return statistics.median(row.details.high - row.details.low for row in rows)


def summary(name: str, rows: list[Row]) -> list[str]:
    """One line of the table."""
    times = [row.details.seconds for row in rows]
    refuted = [row for row in rows if row.refutes]
    slow = sum(r.published is not None and r.published.seconds > TIME_LIMITED for r in refuted)
    return [
        name,
        str(len(rows)),
        f"{share_closed(rows):.0%}",
        f"{closed_within_10_s(rows):.0%}",
        f"{max(r.details.high - r.details.low for r in rows):.4f}",
        f"{statistics.median(times):.2f}",
        f"{statistics.fmean(times):.2f}",
        f"{speedup(rows):.0f}",
        str(sum(r.proved_too_far for r in rows)),
        f"{len(refuted)} ({slow})",
    ]


def count_nodes(job: Job, radius: float) -> float:
    """Nodes per second of one image's tree at this radius."""
    network, _ = read_and_open(job.data, job.name)
    truth, x = int(images(job.data)[job.image][0]), images(job.data)[job.image][1:] / 255
    question, space = margin_question(network, truth), InputSpace()
    bracket = BracketState(network, x, truth, space, None, lambda low, high: None)
    with one_blas_thread():
        bounds = bound_layers(question, Box(x, radius, 0.0, 1.0), lambda: False)
        clock = clock_of(job.where)
        begun = clock()
        watch = TreeWatch(lambda: clock() > begun + job.seconds, on_nodes=bracket.count_nodes)
        problem = attack_problem(question, x, space)
        prove_by_branching(
            bounds, problem, bracket, 0.0, TOLERANCE, watch, DEFAULT_SETTINGS, job.where
        )
        return bracket.nodes / (clock() - begun)


def first_proofs(batch: InputBatch, device: str, clock: Callable[[], float]) -> tuple[float, float]:
    """The median first radius of a batch, and the seconds until the last is proved."""
    begun = clock()
    radii = first_radii(batch, device)

    def proved(i: int) -> float:
        known = (float(radii[i]), None) if device == CPU else (0.0, None)
        candidate = 0.0 if device == CPU else float(radii[i])
        bracket = bracket_radius(
            batch.network,
            batch.x[i],
            int(batch.labels[i]),
            clock=time.thread_time,
            known=known,
            narrow=bounds_alone(candidate),
        )
        return bracket.low

    with one_blas_thread(), ThreadPoolExecutor(1 if device == CPU else os.cpu_count()) as threads:
        lows = list(threads.map(proved, range(len(radii))))
    return statistics.median(lows), clock() - begun


def measure_first(data: Path, device: str) -> dict[str, float]:
    """First radii of the convolution's images, on a device and on one core."""
    network, _ = read_and_open(data, CONVOLUTION)
    some = images(data)[:CONVOLUTION_IMAGES]
    batch = InputBatch(network, some[:, 1:] / 255, some[:, 0].astype(np.int64), InputSpace())
    first_radii(batch.take([0]), device)  # loads the device's libraries
    radius, seconds = first_proofs(batch, device, time.monotonic)
    on_cpu, cpu_seconds = first_proofs(batch, CPU, time.process_time)
    return {
        "first_radius": radius,
        "first_seconds": seconds,
        "first_radius_cpu": on_cpu,
        "first_seconds_cpu": cpu_seconds,
    }


def measure_convolution(
    data: Path, pool: ProcessPoolExecutor | None, where: str
) -> dict[str, float]:
    """What is proved through convolutions, and how fast."""
    rows = measure(data, CONVOLUTION, CONVOLUTION_IMAGES, CONVOLUTION_SECONDS, pool, where)
    jobs = [Job(data, CONVOLUTION, row.image, CONVOLUTION_SECONDS, where) for row in rows]
    radii = [BEYOND * row.details.low for row in rows]
    pairs = (part[:COUNTED_IMAGES] for part in (jobs, radii))
    rates = (pool.map if pool else map)(count_nodes, *pairs)
    return {
        "conv_radius": statistics.median(row.details.low for row in rows),
        "width_conv": median_width(rows),
        "conv_overrun": max(row.details.seconds for row in rows) / CONVOLUTION_SECONDS,
        "conv_nodes_per_second": statistics.median(rates),
    }


def compare_with_marabou(data: Path, name: str, rows: list[Row], seconds: float) -> None:
    """One question of Marabou's for each bracket: is the radius that we proved, proved?"""
    if importlib.util.find_spec("maraboupy") is None:
        print("Marabou is not installed: pip install 'surefoot[marabou]'")
        return
    tool = ExternalVerifier(
        f"{sys.executable} {MARABOU} {{onnx}} {{vnnlib}} {{seconds}} {{result}}"
    )
    network, label = read_and_open(data, name)
    lines = []
    for row in rows:
        truth, x = int(images(data)[row.image][0]), images(data)[row.image][1:] / 255
        box = box_property(x, truth, row.details.low, network.classes)
        begun = time.monotonic()
        verdict = run_verifier(tool, data / "nets" / f"{name}.onnx", box, seconds, label)
        spent = time.monotonic() - begun
        ours = [f"{row.details.low:.4f}", f"{row.details.seconds:.1f}"]
        lines.append([str(row.image), *ours, f"{spent:.1f}", type(verdict).__name__])
    print_table(["image", "proved here", "whole bracket s", "Marabou s", "Marabou says"], lines)


def compare_brackets(
    data: Path, name: str, rows: list[Row], verifier: str, seconds: float
) -> dict[str, object]:
    """The brackets of another prover on the same images, in as many seconds, beside ours."""
    try:
        tool = ExternalVerifier(verifier)
    except InvalidArgument as missing:
        print(missing)
        return {}
    network, label = read_and_open(data, name)
    lines, lows = [], []
    for row in rows:
        truth, x = int(images(data)[row.image][0]), images(data)[row.image][1:] / 255
        path, classes = data / "nets" / f"{name}.onnx", network.classes
        theirs = bracket_radius_externally(tool, path, x, truth, classes, label, seconds=seconds)
        ours = row.details
        lows.append((ours.low, theirs.low))
        cells = [f"{b.low:.4f} to {b.high:.4f} in {b.seconds:.0f} s" for b in (ours, theirs)]
        lines.append([str(row.image), *cells, theirs.reason[:60]])
    print_table(["image", "ours", tool.name, "why it ended"], lines)
    return {
        "verifier": tool.name,
        "verifier_images": len(rows),
        "our_low_higher": sum(a > b for a, b in lows),
        "their_low_higher": sum(a < b for a, b in lows),
    }


def main() -> None:
    """Measure and print; the last line is JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--images", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--marabou", type=int, default=0, help="ask Marabou about N images too")
    parser.add_argument("--verifier", default="neuralsat", help="or abcrown=PATH, neuralsat=PATH")
    parser.add_argument("--beside", type=int, default=0, help="images on which it is run too")
    parser.add_argument("--convolution", action="store_true", help=f"measure {CONVOLUTION}")
    parser.add_argument("--device", default=CPU, help="where trees are searched: cuda")
    args = parser.parse_args()
    print_processor()
    names = [NETWORKS[0]] if args.quick else args.networks.split(",")
    count = 10 if args.quick else args.images
    pool = ProcessPoolExecutor(args.workers, get_context("spawn")) if args.workers > 1 else None
    if args.convolution:
        first = measure_first(args.data, args.device) if args.device != CPU else {}
        print(json.dumps(first | measure_convolution(args.data, pool, args.device)))
        return
    how = args.seconds, pool, args.device
    rows_by_network = {name: measure(args.data, name, count, *how) for name in names}
    header = ["network", "images", "closed", "within 10 s", "widest", "median s", "mean s"]
    together = [row for part in rows_by_network.values() for row in part]
    total = [("all", together)] if len(rows_by_network) > 1 else []
    print_table(
        [*header, "times faster", "proved too far", f"refutes (> {TIME_LIMITED:.0f} s)"],
        [summary(name, rows) for name, rows in (*rows_by_network.items(), *total)],
    )
    if args.marabou:
        compare_with_marabou(
            args.data, names[0], rows_by_network[names[0]][: args.marabou], args.seconds
        )
    losses = {name: radius_losses(args.data, name, LOSS_IMAGES) for name in names}
    print_table(
        ["network", "median loss in float32", "largest"],
        [[n, f"{statistics.median(part):.2%}", f"{max(part):.2%}"] for n, part in losses.items()],
    )
    rows = rows_by_network[names[0]]
    beside = rows[: args.beside]
    theirs = (
        compare_brackets(args.data, names[0], beside, args.verifier, args.seconds) if beside else {}
    )
    last = {
        "network": names[0],
        "closed_share": closed_within_10_s(rows),
        "median_seconds": statistics.median(r.details.seconds for r in rows),
        "contradictions": sum(r.proved_too_far or r.refutes for r in rows),
        "speedup_vs_published": speedup(rows),
        "speedup_of_all": speedup(together),
        "closed": {n: share_closed(part) for n, part in rows_by_network.items()},
        "width": {n: median_width(part) for n, part in rows_by_network.items()},
        "float32_violations": sum(r.violated for r in together),
        "float32_loss": {n: statistics.median(part) for n, part in losses.items()},
        "proved_too_far": sum(r.proved_too_far for r in together),
        "refuted_proofs": {n: sum(r.refutes for r in part) for n, part in rows_by_network.items()},
        **theirs,
    }
    print(json.dumps(last))


if __name__ == "__main__":
    main()
