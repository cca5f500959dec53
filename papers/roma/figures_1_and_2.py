"""Figures 1 and 2: scores of one input, raw and after Box-Cox, with the fit and the limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from papers.exhibit import Column, Exhibit, Sheet
from papers.request import Request
from papers.roma.averages import COMPLEMENT, number_of_inputs, tail
from papers.roma.published import FIGURE_1, FIGURE_2B, Example
from surefoot.core.results import Extrapolation, Undecided
from surefoot.errors import InvalidArgument
from surefoot.records.options import FileOptions
from surefoot.records.record import InputRow
from surefoot.report.formatting import (
    p_bound,
    percent_range,
    small_probability,
    three_digits,
)
from surefoot.report.views.sampling_figures import (
    caption_of,
    failing,
    fits_of,
    outcome_words,
    score_chart,
    transform_name,
)
from surefoot.study import Result

_COLUMNS = (
    Column("model", "model", is_name=True),
    Column("input", "input", is_name=True),
    Column("transform", "transform", is_name=True),
    Column("mean", "mean", three_digits),
    Column("deviation", "deviation", three_digits),
    Column("z", "z", three_digits),
    Column("A²", "statistic", three_digits),
    Column("p", "p"),
    Column("extrapolated", "failure", small_probability),
    Column("interval of the counted", "interval", percent_range),
)
_PAPER_COLUMNS = (
    Column("example", "name", is_name=True),
    Column("mean", "mean"),
    Column("deviation", "deviation"),
    Column("limit, transformed", "limit"),
    Column("z, recomputed", "z"),
    Column("z, published", "published_z"),
    Column("plr, recomputed", "plr", lambda plr: f"{plr:.5g}"),
    Column("plr, published", "published_failure", lambda failure: f"1 - {failure:.4g}"),
)
_NOTE = (
    "A²: Anderson and Darling's statistic; p: of normality. An extrapolation has no guarantee; the "
    "interval of the count holds with the stated confidence, for this input by itself."
)
_OTHER_NETWORK = "The paper's example is of another network; it is recomputed from its own numbers."


def figure_1(request: Request) -> Exhibit:
    """The first input whose scores are normal as they are."""
    return _make(request, FIGURE_1, lambda row: fits_of(row)[0].accepted, "normal as they are")


def figure_2(request: Request) -> Exhibit:
    """The first input whose scores are normal after Box-Cox and not before."""
    return _make(
        request,
        FIGURE_2B,
        lambda row: not fits_of(row)[0].accepted and fits_of(row)[-1].accepted,
        "normal after Box-Cox alone",
    )


def _make(
    request: Request, example: Example, fits: Callable[[InputRow], bool], kind: str
) -> Exhibit:
    charts, rows, lines, results = {}, [], [], {}
    for name, model in request.models.items():
        row, result, other = _shown(request, model, fits)
        note = f" No input studied here has scores that are {kind}." if other else ""
        lines.append(f"{name}: input {row.id}. {outcome_words(row)}{note}")
        results[name] = result
        if not fits_of(row):
            continue
        charts[f"{name}, {caption_of(row)}"] = score_chart(row)
        rows += _rows(name, row)
    return Exhibit(
        name=request.part.name,
        title=f"{request.part.name.capitalize()}: {request.part.title}",
        lines=(*lines, _of_paper(example), COMPLEMENT),
        sheets=(
            Sheet("Fits", _COLUMNS, tuple(rows), _NOTE),
            Sheet("The paper's example, recomputed", _PAPER_COLUMNS, (_paper_row(example),),
                  _OTHER_NETWORK),
        ),
        charts=charts,
        results=results,
    )  # fmt: skip


def _shown(
    request: Request,
    model: Any,  # noqa: ANN401  any kind of model
    fits: Callable[[InputRow], bool],
) -> tuple[InputRow, Result, bool]:
    """The input named, or the first that fits; and whether it is one that does not."""
    perturb, wanted, missing = request.options["perturb"][0], request.options["input"], False
    single = replace(request, models={"": model})
    if wanted is None:
        searched = tail(single, model, perturb).inputs
        usable = [row for row in searched if fits_of(row)] or list(searched)
        fitting = [row for row in usable if fits_of(row) and fits(row)]
        nearest = max(usable, key=lambda row: max((f.p_value for f in fits_of(row)[:1]), default=0))
        missing, wanted = not fitting, (fitting or [nearest])[0].id
        first = number_of_inputs(single).get("first", single.files.first)
        single = replace(single, files=replace(single.files, first=first))
    loaded, inputs = single.load()
    if wanted not in inputs.ids:
        raise InvalidArgument(
            f"there is no input {wanted!r} among the {len(inputs):,} chosen: the first is "
            f"{inputs.ids[0]}; name one of them"
        )
    one = inputs.subset([inputs.ids.index(wanted)])
    alone = replace(single, data=one, files=FileOptions(), store=None)
    result = tail(alone, loaded[""], perturb, first=None)
    return result.inputs[0], result, missing


def _rows(model: str, row: InputRow) -> list[dict[str, Any]]:
    counted = row.result.counted if isinstance(row.result, Extrapolation | Undecided) else None
    shared = {"model": model, "input": row.id}
    rows = []
    for fit in fits_of(row):
        values: dict[str, Any] = {k: v for k, v in vars(fit).items() if k != "scores"}
        values |= {
            "transform": transform_name(fit),
            "p": p_bound(fit.p_value, is_bound=fit.p_is_bound),
        }
        if fit.accepted and isinstance(row.result, Extrapolation):
            values["failure"] = row.result.failure
        if counted is not None:
            values["interval"] = failing(counted)
        rows.append({**shared, **values})
    return rows


def _paper_row(example: Example) -> dict[str, Any]:
    return {
        **vars(example),
        "limit": example.moved_limit,
        "z": example.z,
        "plr": example.plr,
        "failure": example.failure,
    }


def _of_paper(example: Example) -> str:
    """What the paper's own numbers give."""
    if example.power is None:
        return (
            f"The paper's example has mean {example.mean:g}, deviation {example.deviation:g} and "
            f"limit {example.limit:g}: z = {example.z:.3f} and plr {example.plr:.5f}; the paper "
            f"prints {1 - example.published_failure:.6f}, from the rounded z."
        )
    return (
        f"The paper's example has λ = {example.power:g}, mean {example.mean:g} and deviation "
        f"{example.deviation:g}: the limit {example.limit:g} becomes {example.moved_limit:.4f}, "
        f"z = {example.z:.2f} and plr {example.plr:.1g}; the paper prints z = "
        f"{example.published_z:g} and plr 1 - {example.published_failure:g}, which needs the other "
        "sign: with its own numbers nearly every perturbation is a confident mistake."
    )
