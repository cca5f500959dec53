"""Figure 1: how the probability of being kept is distributed over the images."""

from __future__ import annotations

import numpy as np

from papers.bu_sun.pairs import one_number, with_images
from papers.exhibit import Column, Exhibit, Row, Sheet
from papers.request import Request
from surefoot.core.results import Estimate
from surefoot.report.formatting import percent
from surefoot.report.line_chart import histogram
from surefoot.study import Result

EDGES = tuple(round(0.05 * i, 2) for i in range(21))
"""Bars of a twentieth."""
NEAR = 0.05
"""What counts as near 0 or 1; the paper does not say it."""


def make(request: Request) -> Exhibit:
    """A histogram for each model and perturbation."""
    options = request.options
    loaded = with_images(request, one_number(options["images"]))
    rows: list[Row] = []
    charts, results, lines = {}, {}, []
    for name, model in loaded.models.items():
        for perturb in options["perturb"]:
            result = loaded.run(
                "estimate", model, perturb, width=options["width"], confidence=options["confidence"]
            )
            kept = estimates(result)
            counts = np.histogram(kept, EDGES)[0].tolist()
            title = f"{name}, {perturb}"
            rows += [
                {"model": name, "perturb": perturb, "low": low, "high": high, "images": count}
                for low, high, count in zip(EDGES[:-1], EDGES[1:], counts, strict=True)
            ]
            results[title] = result
            charts[f"Estimated probability of being kept of {len(kept):,} images: {title}."] = (
                histogram(counts, EDGES, "estimated probability of being kept", title=title)
            )
            lines.append(_summary(title, kept))
    return Exhibit(
        name=request.part.name,
        title="Figure 1: the probability of being kept, over the images",
        lines=(*lines, *_departures(options["width"], options["confidence"])),
        sheets=(Sheet("Images by estimated probability of being kept", _COLUMNS, tuple(rows)),),
        charts=charts,
        results=results,
    )


def estimates(result: Result) -> list[float]:
    """The estimated probability of being kept of each image."""
    return [row.result.value for row in result.inputs if isinstance(row.result, Estimate)]


def _summary(title: str, kept: list[float]) -> str:
    low, high = sum(p <= NEAR for p in kept), sum(p >= 1 - NEAR for p in kept)
    return (
        f"{title}: the estimate of {low + high:,} of {len(kept):,} images "
        f"({percent((low + high) / len(kept))}) is near 0 or 1: {low:,} at most {NEAR:g}, {high:,} "
        f"at least {1 - NEAR:g}."
    )


def _departures(width: float, confidence: float) -> tuple[str, ...]:
    return (
        f"The bars count estimates, each within {width:g} of its truth with confidence "
        f"{percent(confidence)} by itself, not for all images together; a bar is no claim about "
        "the true number of images in it.",
        "In the paper about half of 250 CIFAR-10 images are near 0 or 1 (DenseNet121, glass blur); "
        "images are those that every given model classifies correctly when clean.",
    )


_COLUMNS = (
    Column("model", "model", is_name=True),
    Column("perturbation", "perturb", is_name=True),
    Column("from", "low"),
    Column("to", "high"),
    Column("images", "images"),
)
