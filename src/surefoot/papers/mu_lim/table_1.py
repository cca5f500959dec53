"""Table 1: accuracy, attack failure rate, and the share of inputs that fail rarely."""

from __future__ import annotations

from surefoot.papers.exhibit import Column, Exhibit, Sheet
from surefoot.papers.request import Request
from surefoot.report.formatting import percent, percent_range


def make(request: Request) -> Exhibit:
    """One row a model and a kappa."""
    rows, results = [], {}
    for name, model in request.models.items():
        for kappa in request.options["kappa"]:
            for perturb in request.options["perturb"]:
                result = request.run(
                    "certify", model, perturb, kappa=kappa, confidence=request.options["confidence"]
                )
                claim = result.view.headline[0]
                rows.append(
                    {"model": name, "kappa": kappa, "share": claim.value, "between": claim.interval}
                )
                results[f"{name}, {kappa}"] = result
    columns = (
        Column("model", "model", is_name=True),
        Column("kappa", "kappa"),
        Column("share", "share", percent),
        Column("interval", "between", percent_range),
    )
    return Exhibit(
        name=request.part.name,
        title="Table 1: …",
        lines=(),
        sheets=(Sheet("Share of inputs", columns, tuple(rows)),),
        results=results,
    )
