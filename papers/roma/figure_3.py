"""Figure 3: the average robustness against the level of the perturbation."""

from __future__ import annotations

from papers.exhibit import Column, Exhibit, Sheet
from papers.request import Request
from papers.roma.averages import COLUMNS, COMPLEMENT, NO_GUARANTEE, row_of, tail, words_of
from surefoot.records.record import Comparison


def make(request: Request) -> Exhibit:
    """One row a model and a level, one figure a model."""
    rows, charts, lines, results = [], {}, [], {}
    levels = tuple(request.options["levels"])
    for name, model in request.models.items():
        result = tail(request, model, request.options["perturb"][0], levels=levels)
        results[name] = result
        charts[
            f"{name}: counted failure probability with its interval, and the extrapolated average"
        ] = result.plot()
        members = result.details.members if isinstance(result.details, Comparison) else ()
        wholes = [(m, m.whole) for m in members if m.whole is not None]
        for member, whole in wholes:
            inputs = len(result.parts[member.name].inputs)
            rows.append({"model": name, "level": member.level, **row_of(whole, inputs)})
        if wholes:
            (first, least), (last, most) = wholes[0], wholes[-1]
            lines.append(f"{name} at {first.name}: {words_of(least)}.")
            lines.append(f"{name} at {last.name}: {words_of(most)}.")
    columns = (Column("model", "model", is_name=True), Column("level", "level"), *COLUMNS)
    return Exhibit(
        name=request.part.name,
        title="Figure 3: robustness against the level",
        lines=(
            *lines,
            NO_GUARANTEE,
            COMPLEMENT,
            "The paper prints the averages alone. Where the completeness falls, the average is of "
            "ever fewer inputs, and those that are left out are not a random part.",
        ),
        sheets=(Sheet("Results by level", columns, tuple(rows)),),
        charts=charts,
        results=results,
    )
