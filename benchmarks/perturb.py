"""Images a second for every perturbation of the catalogue, beside other packages.

Ours draws and applies in batches, on NumPy arrays and on Torch tensors (CPU, one thread); OpenCV
and scikit-image work image by image, kornia in batches. The ratio is ours (the faster of the
two) over the fastest peer that has the operation. Peers that are not installed are left out:
pip install 'surefoot[bench]'

    python benchmarks/perturb.py [--quick] [--only KIND]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import peers
from prerequisites import need_package
from processor import print_processor
from tables import print_table

from surefoot.catalogue.registry import PERTURBATIONS
from surefoot.core.results import Interval
from surefoot.engine.streams import stream
from surefoot.subject.protocols import Perturbation, View

SIZES = {"32": (128, 32), "224": (8, 224)}
UNIT = Interval(0.0, 1.0)
LEVELS = {
    "linf": 0.1, "uniform": 0.1, "l2": 2.0, "l1": 20.0, "gaussian": 0.1, "impulse": 0.1,
    "speckle": 0.2, "shot": 0.2, "brightness": 0.3, "contrast": 0.6, "hue": 20.0, "gamma": 0.3,
    "pixelate": 0.5, "jpeg": 0.75, "occlusion": 0.09, "dropout": 0.1, "rotation": 10.0,
    "translate-x": 0.1, "translate-y": 0.1, "zoom": 0.2, "shear": 10.0, "perspective": 0.2,
    "zoom-blur": 0.2, "dead-pixels": 0.01, "dead-lines": 0.1, "banding": 0.2, "bayer": 0.5,
    "condensation": 0.3, "dirt": 0.1, "broken-lens": 0.5, "flare": 0.5, "vignetting": 0.5,
    "lens-distortion": 0.1, "chromatic-aberration": 0.02, "white-balance": 0.2,
}  # fmt: skip


OPTIONS: dict[str, dict[str, float]] = {"zoom-blur": {"step": 0.02}}
"""As the peers do it."""


def images(n: int, size: int) -> np.ndarray:
    """Smooth random images (n, 3, size, size): a few waves each."""
    rng = np.random.default_rng(1)
    grid = np.linspace(0, 1, size, dtype=np.float32)
    waves = sum(
        np.sin(
            2 * np.pi * (rng.uniform(0, 4, (n, 3, 1, 1)) * grid[:, None] + rng.random((n, 3, 1, 1)))
        )
        * np.cos(2 * np.pi * (rng.uniform(0, 4, (n, 3, 1, 1)) * grid[None, :]))
        for _ in range(3)
    )
    return np.ascontiguousarray(0.5 + waves / 7, dtype=np.float32)


def level_of(kind: str, size: int) -> float:
    """A middling strength."""
    presets = getattr(PERTURBATIONS[kind], "presets", None)
    if kind == "blur":
        return 3.0 if size > 64 else 0.7
    if kind in LEVELS:
        return LEVELS[kind]
    return presets["large" if size > 64 else "small"][2] if presets else 1.0


def ours(perturbation: Perturbation, x: Any) -> Callable[[], object]:  # noqa: ANN401
    """Draw and apply, the blocks of a run one after the other."""
    numbers = iter(range(10**9))

    def run() -> object:
        source = stream(1, "s", perturbation.kind, next(numbers), x)
        draws = perturbation.draw(source, len(x), tuple(x.shape[1:]))
        return perturbation.apply(x, draws, perturbation.level, UNIT)

    return run


def rate(run: Callable[[], object], images: int, seconds: float) -> float:
    """Images a second of the one thread at work: the best of a few turns.

    Time on the processor, not on the clock, so that a busy machine does not matter.
    """
    run()
    turns, best, end = 0, float("inf"), time.thread_time() + seconds
    while turns < 3 or time.thread_time() < end:
        begun = time.thread_time()
        run()
        best = min(best, time.thread_time() - begun)
        turns += 1
    return images / best


def known_peers() -> dict[str, tuple[dict[str, peers.Each], bool]]:
    """By name: their operations, and whether they take batches of tensors."""
    installed: dict[str, tuple[dict[str, peers.Each], bool]] = {}
    for name, make, batches in (
        ("OpenCV", peers.opencv, False),
        ("scikit-image", peers.scikit_image, False),
        ("published", peers.published, False),
        ("kornia", peers.kornia_batches, True),
    ):
        try:
            installed[name] = (make(), batches)
        except ImportError:
            continue
    return installed


def line(kind: str, size: str, seconds: float, others: Any) -> dict[str, float]:  # noqa: ANN401
    """Rates of one operation at one size, by who does it."""
    n, edge = SIZES[size]
    torch, x = need_package("torch"), images(n, edge)
    perturbation = PERTURBATIONS[kind](level=level_of(kind, edge), **OPTIONS.get(kind, {}))
    rates = {
        "NumPy": rate(ours(perturbation, x), n, seconds),
        "Torch": rate(ours(perturbation, torch.from_numpy(x)), n, seconds),
    }
    single = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    for name, (operations, batches) in others.items():
        if kind not in operations or (kind == "glass" and edge > 64):
            continue
        run = operations[kind]
        few = 2 if kind == "glass" else n
        task = (
            (lambda run=run: run(torch.from_numpy(x)))
            if batches
            else (lambda run=run, few=few: [run(image) for image in single[:few]])
        )
        rates[name] = rate(task, few, seconds)
    return rates


def with_one_thread() -> None:
    """Begin again with the libraries limited to one thread, unless they were."""
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    if any(os.environ.get(name) != "1" for name in one_thread):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **one_thread})  # noqa: S606


def main() -> None:
    """Print the table, then one JSON object."""
    with_one_thread()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under a minute or two")
    parser.add_argument("--only", help="one kind")
    options = parser.parse_args()
    print_processor()
    warnings.simplefilter("ignore")
    torch = need_package("torch")
    torch.set_num_threads(1)
    others = known_peers()
    kinds = [
        kind
        for kind, perturbation in PERTURBATIONS.items()
        if getattr(perturbation, "view", None) in (View.VALUES, View.IMAGE)
        and kind not in ("table", "chain", "mixture", "random-level")
        and options.only in (None, kind)
    ]
    seconds = 0.05 if options.quick else 0.4
    columns = ["NumPy", "Torch", *others]
    rows, ratios, numpy_ratios = [], [], []
    for kind in kinds:
        for size in SIZES:
            rates = line(kind, size, seconds, others)
            best = max(rates["NumPy"], rates["Torch"])
            peer = max((rates[name] for name in others if name in rates), default=None)
            cells = [f"{rates[c]:,.0f}" if c in rates else "" for c in columns]
            ratio = "" if peer is None else f"{best / peer:.2f}"
            rows.append([kind, size, *cells, ratio])
            if peer is not None:
                ratios.append(best / peer)
                numpy_ratios.append(rates["NumPy"] / peer)
    print_table(["perturbation", "size", *columns, "ours/peer"], rows)
    print("images a second; target: no ratio below 0.5, and 0.6 of them above 1")
    figures: dict[str, float] = {"compared": len(ratios)}
    if ratios:
        figures = {
            "worst_vs_peer": round(min(ratios), 3),
            "share_ahead": round(float(np.mean(np.array(ratios) > 1)), 3),
            "worst_numpy_vs_peer": round(min(numpy_ratios), 3),
            **figures,
        }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
