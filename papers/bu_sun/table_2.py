"""Table 2: Okamoto, Bu & Sun and the exact sequential method on the same images.

The published rows are about other networks and other images: they stand in a table of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from papers.bu_sun.figure_1 import estimates
from papers.bu_sun.pairs import Pair, one_number, read_pairs, with_images
from papers.exhibit import Column, Exhibit, Row, Sheet
from papers.request import Request
from surefoot.errors import InvalidArgument
from surefoot.report.formatting import percent, percent_range
from surefoot.study import Result

METHODS = {"okamoto": "okamoto", "bu_sun": "bu-sun", "ours": "exact-sequential"}
"""The methods of the table, by the key of their columns."""
PUBLISHED: tuple[Row, ...] = tuple(
    dict(
        zip(
            ("data", "perturb", "network", "width", "error", "parameter", "seconds",
             "okamoto_seconds", "ratio", "difference"),
            row, strict=True,
        )
    )
    for row in (
        ("CIFAR-10", "contrast", "VGG16", 0.005, 0.001, "U[0, 0.5]", 17.23, 25.94, 0.664, 0.001035),
        ("CIFAR-10", "fog", "DenseNet121", 0.01, 0.01, "(1.5, 1.75)", 35.38, 60.42, 0.586,
         0.002240),
        ("CIFAR-10", "Gaussian noise", "ResNet101", 0.02, 0.02, "0.1", 3.22, 5.61, 0.575, 0.004450),
        ("CIFAR-10", "glass blur", "MobileNetV2", 0.05, 0.05, "(0.4, 1, 2)", 56.13, 82.17, 0.683,
         0.008850),
        ("ImageNet", "contrast", "ShuffleNetV2", 0.01, 0.01, "U[0, 0.5]", 44.68, 91.89, 0.486,
         0.001495),
        ("ImageNet", "impulse noise", "GoogLeNet", 0.02, 0.02, "0.06", 16.49, 33.91, 0.486,
         0.003086),
        ("ImageNet", "shot noise", "RegNet", 0.05, 0.05, "20", 0.44, 0.60, 0.741, 0.007082),
        ("ImageNet", "L∞", "MNASNet", 0.03, 0.03, "0.8", 7.40, 14.62, 0.506, 0.003614),
    )
)  # fmt: skip
"""Bu & Sun, Table II, as printed: seconds and ratio per image on their machine."""


@dataclass(frozen=True)
class Configuration:
    """A perturbation, and the width and error of its estimates."""

    perturb: str
    pair: Pair


def configurations(perturb: Sequence[str], pairs: Sequence[Pair]) -> list[Configuration]:
    """One pair for each perturbation, in order; a single pair or perturbation serves for all."""
    if len(pairs) != len(perturb) and 1 not in (len(pairs), len(perturb)):
        raise InvalidArgument(
            f"there are {len(perturb)} perturbations and {len(pairs)} pairs: give one pair "
            "(--pairs 0.05,0.05), or one for each perturbation"
        )
    both = zip_longest(
        perturb, pairs, fillvalue=perturb[0] if len(perturb) < len(pairs) else pairs[0]
    )
    return [Configuration(text, pair) for text, pair in both]  # type: ignore[arg-type]


def make(request: Request) -> Exhibit:
    """One row for each model and configuration."""
    options = request.options
    chosen = configurations(options["perturb"], read_pairs(options["pairs"]))
    loaded = with_images(request, one_number(options["images"]))
    rows: list[Row] = []
    results: dict[str, Result] = {}
    for name in loaded.models:
        for one in chosen:
            request.caller.announce(f"{name}, {one.perturb}, {one.pair}")
            by_method = _measure(loaded, name, one)
            rows.append(_row(name, one, by_method))
            results[f"{name}, {one.perturb}, {one.pair}"] = by_method["ours"]
    return Exhibit(
        name=request.part.name,
        title="Table 2: three methods on the same images",
        lines=(_summary(rows), *_DEPARTURES),
        sheets=(
            Sheet("Trials for all images; ratios to Okamoto's", _TRIALS, tuple(rows)),
            Sheet("Seconds for all images; ratios to Okamoto's", _SECONDS, tuple(rows)),
            Sheet(
                "Results: difference of an image from Okamoto's, average and largest",
                _RESULTS,
                tuple(rows),
            ),
            Sheet("Published (their networks, images and machine)", _PUBLISHED, PUBLISHED),
        ),
        results=results,
    )


def _measure(loaded: Request, name: str, one: Configuration) -> dict[str, Result]:
    """Each method with draws of its own, so that their differences are not understated."""
    return {
        key: loaded.run(
            "estimate",
            loaded.models[name],
            one.perturb,
            method=method,
            width=one.pair.width,
            confidence=one.pair.confidence,
            seed=loaded.seed + offset,
        )
        for offset, (key, method) in enumerate(METHODS.items())
    }


def _row(name: str, one: Configuration, by_method: dict[str, Result]) -> Row:
    trials = {key: result.record.trials for key, result in by_method.items()}
    seconds = {key: result.record.seconds for key, result in by_method.items()}
    values = {key: np.array(estimates(result)) for key, result in by_method.items()}
    claim = by_method["ours"].view.headline[0]
    row = {
        "model": name, "perturb": one.perturb, "width": one.pair.width, "error": one.pair.error,
        "images": len(values["okamoto"]), "mean": claim.value, "between": claim.interval,
    }  # fmt: skip
    for key in METHODS:
        row |= {f"{key}_trials": trials[key], f"{key}_seconds": seconds[key]}
        if key != "okamoto":
            apart = np.abs(values[key] - values["okamoto"])
            row |= {
                f"{key}_ratio": trials[key] / trials["okamoto"],
                f"{key}_time": seconds[key] / seconds["okamoto"] if seconds["okamoto"] else None,
                f"{key}_difference": float(apart.mean()),
                f"{key}_largest": float(apart.max()),
            }
    return row


def _summary(rows: Sequence[Row]) -> str:
    theirs, ours = (_span([row[f"{key}_ratio"] for row in rows]) for key in ("bu_sun", "ours"))
    largest = max(max(row["bu_sun_largest"], row["ours_largest"]) / row["width"] for row in rows)
    return (
        f"Of Okamoto's trials Bu & Sun's method takes {theirs} and the exact sequential method "
        f"{ours}; the largest difference from Okamoto's result is {largest:.2f} times the width."
    )


def _span(values: Sequence[float]) -> str:
    low, high = percent(min(values)), percent(max(values))
    return low if low == high else f"{low} to {high}"


_DEPARTURES = (
    "Images are those that every given model classifies correctly when clean. Each method draws "
    "perturbations of its own: with common ones the differences would look smaller than they are.",
    "Two estimates of one image differ by more than twice the width with probability at most twice "
    "the error, each image by itself: a small difference is no proof of either result.",
    "The paper's ratio is of seconds; seconds of a short run here are mostly start-up, so that the "
    "ratio of trials is the one to read. Added: the exact sequential method, the largest "
    "difference, and the mean over these images with its interval.",
)


def _two(value: float) -> str:
    return f"{value:.2f}"


def _three(value: float) -> str:
    return f"{value:.3f}"


def _four(value: float) -> str:
    return f"{value:.4f}"


_NAMES = (
    Column("model", "model", is_name=True),
    Column("perturbation", "perturb", is_name=True),
    Column("width", "width", is_name=True),
    Column("error", "error", is_name=True),
)
_TRIALS = (
    *_NAMES,
    Column("images", "images"),
    Column("Okamoto: trials", "okamoto_trials"),
    Column("Bu & Sun: trials", "bu_sun_trials"),
    Column("ratio", "bu_sun_ratio", _three),
    Column("exact sequential: trials", "ours_trials"),
    Column("ratio", "ours_ratio", _three),
)
_SECONDS = (
    *_NAMES,
    Column("Okamoto: seconds", "okamoto_seconds", _two),
    Column("Bu & Sun: seconds", "bu_sun_seconds", _two),
    Column("ratio", "bu_sun_time", _three),
    Column("exact sequential: seconds", "ours_seconds", _two),
    Column("ratio", "ours_time", _three),
)
_RESULTS = (
    *_NAMES,
    Column("mean failure", "mean", percent),
    Column("interval", "between", percent_range),
    Column("Bu & Sun", "bu_sun_difference", _four),
    Column("largest", "bu_sun_largest", _four),
    Column("exact sequential", "ours_difference", _four),
    Column("largest", "ours_largest", _four),
)
_PUBLISHED = (
    Column("data", "data", is_name=True),
    Column("perturbation", "perturb", is_name=True),
    Column("network", "network", is_name=True),
    Column("width", "width"),
    Column("error", "error"),
    Column("parameter", "parameter"),
    Column("Bu & Sun, s", "seconds", _two),
    Column("Okamoto, s", "okamoto_seconds", _two),
    Column("ratio", "ratio", _three),
    Column("difference", "difference"),
)
