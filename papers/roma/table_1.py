"""Table 1: accuracy and cross-entropy loss of the models on the clean inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from papers.exhibit import Column, Exhibit, Sheet
from papers.request import Request
from papers.roma.published import TABLE_1
from surefoot.commands.values import error_from
from surefoot.core.counts import Counts
from surefoot.engine.outputs import finite_scores
from surefoot.errors import InvalidArgument
from surefoot.inputs import fit
from surefoot.report.formatting import confidence, percent, percent_range
from surefoot.statistics import clopper_pearson
from surefoot.study.measure import mean_loss

_COLUMNS = (
    Column("model", "model", is_name=True),
    Column("inputs", "inputs"),
    Column("accuracy", "accuracy", percent),
    Column("interval of the accuracy", "interval", percent_range),
    Column("loss", "loss", lambda loss: f"{loss:.4g}"),
    Column("inputs of infinite loss", "infinite"),
)
_PUBLISHED = (
    Column("model", "model", is_name=True),
    Column("accuracy, published", "accuracy", percent),
    Column("loss, published", "loss"),
)


def make(request: Request) -> Exhibit:
    """One row a model: no trials, the clean inputs alone."""
    request.refuse_correct_only()
    models, inputs = request.load()
    error = error_from(request.options["confidence"])
    rows: list[dict[str, Any]] = []
    for name, model in models.items():
        fitted = fit(inputs, model.signature.shape)
        if fitted.labels is None or not model.signature.classes:
            raise InvalidArgument(
                f"accuracy and loss of {name} need labels and a model with class scores: add "
                "labels to the data"
            )
        scores = finite_scores(model, fitted.x)
        right = int((scores.argmax(axis=1) == fitted.labels).sum())
        loss = mean_loss(scores, fitted.labels, model.signature.scores)
        rows.append(
            {
                "model": name,
                "inputs": len(fitted),
                "accuracy": right / len(fitted),
                "interval": clopper_pearson(Counts(len(fitted), right), error),
                "loss": None if loss is None else loss.mean,
                "infinite": None if loss is None or not loss.infinite else loss.infinite,
            }
        )
    published = tuple({"model": m, "accuracy": a, "loss": loss} for m, a, loss in TABLE_1)
    return Exhibit(
        name=request.part.name,
        title="Table 1: accuracy and loss of the models",
        lines=(
            _best(rows),
            f"The interval of the accuracy is Clopper and Pearson's (confidence "
            f"{confidence(error)}, each model by itself, if the inputs are an independent random "
            "sample). A loss has no upper bound, so that no sample gives an interval for its mean "
            "without a further assumption.",
        ),
        sheets=(
            Sheet("Models", _COLUMNS, tuple(rows)),
            Sheet("Published: other networks, on CIFAR10", _PUBLISHED, published),
        ),
    )


def _best(rows: Sequence[Mapping[str, Any]]) -> str:
    """The model that is right most often, or all that are; nothing is said of the population."""
    most = max(row["accuracy"] for row in rows)
    *others, last = (row["model"] for row in rows if row["accuracy"] == most)
    right = f"right on {percent(most)} of {rows[0]['inputs']:,} clean inputs"
    if len(rows) == 1:
        return f"{last} is {right}."
    if not others:
        return f"{last} is {right}, the most of these models."
    names = f"{', '.join(others)} and {last}"
    if len(others) + 1 == len(rows):
        return f"{names} are equal: each is {right}."
    return f"{names} are each {right}, the most of these models."
