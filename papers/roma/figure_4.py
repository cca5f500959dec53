"""Figure 4: models side by side."""

from __future__ import annotations

from papers.exhibit import Column, Exhibit, Sheet
from papers.request import Request
from papers.roma.averages import COLUMNS, COMPLEMENT, NO_GUARANTEE, row_of, tail, words_of
from surefoot.records.record import Comparison, Member, Record, Samples
from surefoot.report.sentences import sentences
from surefoot.report.views.comparison import comparison_chart
from surefoot.study import Result
from surefoot.study.comparison import join_results

_ALONG = "model"


def make(request: Request) -> Exhibit:
    """One row a model; two models or more are compared by their counts."""
    perturb = request.options["perturb"][0]
    parts = {name: tail(request, model, perturb) for name, model in request.models.items()}
    if len(parts) > 1:
        whole = join_results(parts, _ALONG)
        chart, results = whole.plot(), {"models side by side": whole}
        claims = [c for c in whole.claims if c.kind in ("best", "difference")]
        lines = sentences(claims)
    else:
        (name, only), *_ = parts.items()
        chart, results = _chart_of_one(name, only.record), dict(parts)
        lines = [f"One model alone is not compared. {name}: {words_of(_samples(only).whole)}."]
    rows = tuple(
        {"model": name, **row_of(_samples(part).whole, len(part.inputs))}
        for name, part in parts.items()
    )
    return Exhibit(
        name=request.part.name,
        title="Figure 4: models side by side",
        lines=(
            *lines,
            NO_GUARANTEE,
            COMPLEMENT,
            "The paper ranks by the extrapolated averages, each over other inputs; here models are "
            "compared by their counts on the same inputs and perturbations.",
        ),
        sheets=(Sheet("Models", (Column("model", "model", is_name=True), *COLUMNS), rows),),
        charts={
            "Dot: counted over the inputs. Line: interval for the population. Diamond: the "
            "extrapolated average, without guarantee.": chart
        },
        results=results,
    )


def _samples(result: Result) -> Samples:
    if not isinstance(result.details, Samples):
        raise TypeError(f"a tail has samples, got {type(result.details).__name__}")
    return result.details


def _chart_of_one(name: str, record: Record) -> object:
    details = record.details
    whole = details.whole if isinstance(details, Samples) else None
    level = record.study.perturbation.number("level")
    member = Member(name, record.digest, level, whole=whole)
    return comparison_chart(record, Comparison(_ALONG, (member,)))
