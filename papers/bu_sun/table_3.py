"""Table 3 and Figure 4: global robustness from few images, against the standard method.

The published correlations are about other networks: they stand in a table of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from papers.bu_sun.global_means import (
    KEYS,
    LEAST_MODELS,
    NAMES,
    GlobalMeans,
    choose,
    kept,
    measure,
)
from papers.bu_sun.pairs import image_numbers
from papers.exhibit import Column, Exhibit, Row, Sheet
from papers.request import Request
from surefoot.core.results import Interval
from surefoot.report.figures import QUIET, STEADY
from surefoot.report.formatting import percent, percent_range
from surefoot.report.line_chart import ORANGE, Curve, line_chart
from surefoot.study import Result

PUBLISHED: tuple[Row, ...] = (
    {"perturb": "contrast", "theirs": 0.9631, "baseline": 0.8264},
    {"perturb": "fog", "theirs": 0.9139, "baseline": 0.7963},
    {"perturb": "Gaussian noise", "theirs": 0.9835, "baseline": 0.9539},
    {"perturb": "glass blur", "theirs": 0.9473, "baseline": 0.8424},
)
"""Bu & Sun, Table III, as printed: eight CIFAR-10 networks, 10 images, 25 repeats."""
_COLOURS = {"ours": STEADY, "bu_sun": ORANGE, "baseline": QUIET}


def make(request: Request) -> Exhibit:
    """Correlations of a mean over few images with the standard method, for each perturbation."""
    every = _measure_all(request)
    correlations = _correlation_rows(every, request)
    published = Sheet("Published (their networks, Pearson)", _PUBLISHED, PUBLISHED)
    return Exhibit(
        name=request.part.name,
        title="Table 3: robustness of models from few images",
        lines=(_summary(every, correlations), *_departures(every, request)),
        sheets=(*_sheets(every, correlations, request), published),
        results=_results(every),
    )


def figure_4(request: Request) -> Exhibit:
    """The same correlations against the number of images."""
    every = _measure_all(request)
    correlations = _correlation_rows(every, request)
    return Exhibit(
        name=request.part.name,
        title="Figure 4: correlation with the standard method against the number of images",
        lines=(_summary(every, correlations), *_departures(every, request)),
        sheets=_sheets(every, correlations, request),
        charts=_charts(correlations),
        results=_results(every),
    )


def _sheets(
    every: Sequence[GlobalMeans], correlations: tuple[Row, ...], request: Request
) -> tuple[Sheet, ...]:
    """Correlations where there are enough models; means always."""
    means = _mean_rows(every, request)
    with_standard = "with the standard method, mean over the repeats"
    first = (
        Sheet(f"Pearson correlation {with_standard} and range", _PEARSON, correlations),
        Sheet(f"Spearman correlation {with_standard}", _SPEARMAN, correlations),
    )
    return (
        *(first if correlations else ()),
        Sheet("Share of perturbations kept, mean over few images and repeats", _MEANS, means),
        Sheet("Range of these means over the repeats", _RANGES, means),
        Sheet("Mean over all images that came up (exact sequential)", _POOL, _pool_rows(every)),
    )


def _measure_all(request: Request) -> list[GlobalMeans]:
    options = request.options
    choices = choose(request, image_numbers(options["images"]), options["repeats"])
    width, confidence = options["width"], options["confidence"]
    return [measure(choices, perturb, width, confidence) for perturb in options["perturb"]]


def _correlation_rows(every: Sequence[GlobalMeans], request: Request) -> tuple[Row, ...]:
    if len(every[0].models) < LEAST_MODELS:
        return ()
    rows = []
    for one in every:
        for images in image_numbers(request.options["images"]):
            row: dict[str, object] = {"perturb": one.perturb, "images": images}
            for key in KEYS:
                known = one.correlations(key, images)
                row[f"{key}_repeats"] = len(known)
                if known:
                    pearson = [c.pearson for c in known]
                    row |= {
                        f"{key}_pearson": float(np.mean(pearson)),
                        f"{key}_range": Interval(min(pearson), max(pearson)),
                        f"{key}_spearman": float(np.mean([c.spearman for c in known])),
                    }
            rows.append(row)
    return tuple(rows)


def _mean_rows(every: Sequence[GlobalMeans], request: Request) -> tuple[Row, ...]:
    rows = []
    for one in every:
        for images in image_numbers(request.options["images"]):
            for i, (name, model) in enumerate(one.models.items()):
                row: dict[str, object] = {"perturb": one.perturb, "model": name, "images": images}
                for key in KEYS:
                    means = one.means(key, images)[:, i]
                    row[key] = float(means.mean())
                    row[f"{key}_range"] = Interval(float(means.min()), float(means.max()))
                row["standard"], row["standard_interval"] = kept(model.standard)
                rows.append(row)
    return tuple(rows)


def _pool_rows(every: Sequence[GlobalMeans]) -> tuple[Row, ...]:
    """All images that came up in any repeat, with the interval of their mean."""
    rows = []
    for one in every:
        for name, model in one.models.items():
            value, interval = kept(model.whole)
            images = len(one.choices.request.data)
            rows.append(
                {"perturb": one.perturb, "model": name, "images": images, "kept": value,
                 "interval": interval}
            )  # fmt: skip
    return tuple(rows)


def _charts(rows: Sequence[Row]) -> dict[str, object]:
    """One chart a perturbation: mean correlation over the repeats against the number of images."""
    charts = {}
    for perturb in dict.fromkeys(row["perturb"] for row in rows):
        own = [row for row in rows if row["perturb"] == perturb]
        curves = {
            NAMES[key]: Curve(
                [(row["images"], row[f"{key}_pearson"]) for row in own if f"{key}_pearson" in row],
                _COLOURS[key],
            )
            for key in KEYS
        }
        charts[
            f"Mean Pearson correlation with the standard method over the repeats: {perturb}."
        ] = line_chart(curves, "images", "mean Pearson correlation", title=perturb, dots=True)
    return charts


def _results(every: Sequence[GlobalMeans]) -> dict[str, Result]:
    return {
        f"{name}, {one.perturb}: {what}": result
        for one in every
        for name, model in one.models.items()
        for what, result in model.results.items()
    }


def _summary(every: Sequence[GlobalMeans], rows: Sequence[Row]) -> str:
    models = len(every[0].models)
    if not rows:
        are = "is 1 model" if models == 1 else f"are {models} models"
        return (
            f"There {are}, and a correlation needs {LEAST_MODELS} or more: only the means are "
            "shown."
        )
    parts = [
        f"{row['perturb']}, {row['images']} images: "
        + ", ".join(
            f"{NAMES[key]} {row[f'{key}_pearson']:.3f}" for key in KEYS if f"{key}_pearson" in row
        )
        for row in rows
    ]
    return (
        f"Mean Pearson correlation of {models} models with the standard method: {'; '.join(parts)}."
    )


def _departures(every: Sequence[GlobalMeans], request: Request) -> tuple[str, ...]:
    choices, options = every[0].choices, request.options
    repeats, pool, whole = options["repeats"], len(choices.request.data), len(choices.every.data)
    return (
        f"Each of {repeats:,} repeats takes its images at random from those that every model "
        f"classifies correctly when clean; {pool:,} images came up, each estimated once to a "
        f"width of {options['width']:g} (confidence {percent(options['confidence'])}, each image "
        "by itself). The range is from the least to the greatest of the repeats: repeats share "
        "images and models, so it is no confidence interval, neither for other images nor for "
        "other models.",
        f"Standard method: accuracy on one perturbed image of each of the {whole:,} images given, "
        "with an interval for these images (Clopper-Pearson). The paper's is on 50,000 images of "
        "CIFAR-10-C or 250,000 of ImageNet-C, all five severities. Baseline: one perturbed image "
        "of each image of the repeat, with other draws than the standard method.",
        "The mean is over images that all models classify correctly, as the authors do; the "
        "standard method counts mistakes on clean images too, so that the two may order models of "
        "different clean accuracy differently.",
        "Added: Spearman's correlation (of three or more models), the ranges, all intervals, and "
        "the mean over all images that came up.",
    )


def _three(value: float) -> str:
    return f"{value:.3f}"


def _range(interval: Interval) -> str:
    return f"{interval.low:.2f} to {interval.high:.2f}"


_PEARSON = (
    Column("perturbation", "perturb", is_name=True),
    Column("images", "images"),
    *(
        column
        for key in KEYS
        for column in (
            Column(NAMES[key], f"{key}_pearson", _three),
            Column("range", f"{key}_range", _range),
        )
    ),
)
_SPEARMAN = (
    Column("perturbation", "perturb", is_name=True),
    Column("images", "images"),
    *(
        column
        for key in KEYS
        for column in (
            Column(NAMES[key], f"{key}_spearman", _three),
            Column("repeats", f"{key}_repeats"),
        )
    ),
)
_OF_A_MODEL = (
    Column("perturbation", "perturb", is_name=True),
    Column("model", "model", is_name=True),
    Column("images", "images"),
)
_MEANS = (
    *_OF_A_MODEL,
    *(Column(f"kept, {NAMES[key]}", key, percent) for key in KEYS),
    Column("accuracy, standard method", "standard", percent),
    Column("interval", "standard_interval", percent_range),
)
_RANGES = (
    *_OF_A_MODEL,
    *(Column(NAMES[key], f"{key}_range", percent_range) for key in KEYS),
)
_POOL = (
    Column("perturbation", "perturb", is_name=True),
    Column("model", "model", is_name=True),
    Column("images", "images"),
    Column("kept", "kept", percent),
    Column("interval", "interval", percent_range),
)
_PUBLISHED = (
    Column("perturbation", "perturb", is_name=True),
    Column("Bu & Sun", "theirs", lambda value: f"{value:.4f}"),
    Column("baseline", "baseline", lambda value: f"{value:.4f}"),
)
