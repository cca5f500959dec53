"""Table 2: robustness by class."""

from __future__ import annotations

from typing import Any

from papers.exhibit import Column, Exhibit, Sheet
from papers.request import Request
from papers.roma.averages import (
    COLUMNS,
    COMPLEMENT,
    NO_GUARANTEE,
    plr_words,
    row_of,
    tail,
    words_of,
)
from papers.roma.published import TABLE_2
from surefoot.records.record import Samples
from surefoot.report.formatting import p_value, points, variance
from surefoot.report.sentences import sentences
from surefoot.study import Result

_PAIRS = (
    Column("model", "model", is_name=True),
    Column("class", "first", is_name=True),
    Column("and class", "second", is_name=True),
    Column("fails more (points)", "difference", points),
    Column("permutation p", "permutation", p_value),
    Column("Welch p", "welch", p_value),
)
_PUBLISHED = (
    Column("class", "category", is_name=True),
    Column("inputs", "samples"),
    Column("plr, published", "failure", plr_words),
    Column("variance, published", "variance", variance),
)


def make(request: Request) -> Exhibit:
    """One row a model and a class, then every pair of classes."""
    rows: list[dict[str, Any]] = []
    pairs: list[dict[str, Any]] = []
    lines, results = [], {}
    for name, model in request.models.items():
        result = tail(request, model, request.options["perturb"][0])
        results[name] = result
        details = result.details
        if not isinstance(details, Samples):
            continue
        rows += [{"model": name, "class": c.name, **row_of(c.result, c.inputs)}
                 for c in details.classes]  # fmt: skip
        rows.append({"model": name, "class": "all", **row_of(details.whole, len(result.inputs))})
        pairs += [
            {"model": name, "first": c.first, "second": c.second, "difference": -c.difference,
             "permutation": c.permutation, "welch": c.welch}
            for c in sorted(details.contrasts, key=lambda c: c.permutation)
        ]  # fmt: skip
        lines += [f"{name}: {line}" for line in _lines(result, details)]
    columns = (
        Column("model", "model", is_name=True),
        Column("class", "class", is_name=True),
        *COLUMNS,
    )
    return Exhibit(
        name=request.part.name,
        title="Table 2: results by class",
        lines=(*lines, NO_GUARANTEE, COMPLEMENT, dog_line(), _BINOMIAL),
        sheets=(
            Sheet("Results by class", columns, tuple(rows), _TOGETHER),
            *([Sheet("Do classes differ?", _PAIRS, tuple(pairs), _HOLM)] if pairs else []),
            Sheet(
                "Published: VGG16-10 on CIFAR10, another network and other images",
                _PUBLISHED,
                tuple(vars(row) for row in TABLE_2),
            ),
        ),
        results=results,
    )


_TOGETHER = "The intervals hold for the classes and all inputs of a model together."
_HOLM = (
    "p-values are adjusted for all pairs (Holm). The permutation test is exact where two classes "
    "have the same distribution of values."
)
_BINOMIAL = (
    "The paper's binomial test between two classes is not made: trials of the same input are no "
    "sample of its class, so that it calls classes different that are alike; relabelling whole "
    "inputs does not."
)


def _lines(result: Result, details: Samples) -> list[str]:
    """What is claimed of classes, and the whole in words."""
    differ = sentences([claim for claim in result.claims if claim.kind == "classes"])
    return [*differ, f"{words_of(details.whole)}."]


def dog_line() -> str:
    """Which class of the paper's table is the most robust."""
    best = min(TABLE_2, key=lambda row: row.failure)
    bird = next(row for row in TABLE_2 if row.category == "Bird")
    return (
        f"In the paper's table {best.category} is the most robust class, 1 - plr = "
        f"{best.failure:.2g}; that of Bird is {bird.failure / best.failure:.0f} times as large, "
        "where the text says that the robustness of Bird is more than ten times that of Dog."
    )
