"""An average of extrapolations as a row of a table, always beside the count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from papers.exhibit import Column
from papers.request import Request
from surefoot.core.results import Estimate, ExtrapolatedMean, Interval, Whole
from surefoot.population import sound
from surefoot.report.formatting import percent, percent_range, small_probability, variance
from surefoot.study import Result

NO_GUARANTEE = (
    "Extrapolated numbers come from a normal distribution fitted to the scores: they have no "
    "guarantee. They average over the inputs whose scores a normal fitted, whose share is the "
    "completeness; the counted numbers are of all inputs and hold with the stated confidence."
)
COMPLEMENT = (
    "The paper's Definition 3 and line 11 of its algorithm give the complement of what is meant; "
    "here plr is the probability that no confident mistake happens, as in its text."
)


def plr_words(failure: float) -> str:
    """RoMA's robustness as the paper prints it; 1 only as 1 less something."""
    small = small_probability(failure)
    if small.startswith("below"):
        return f"1 - less than {small.removeprefix('below ')}"
    return f"{1 - failure:.4f}" if failure >= 0.01 else f"1 - {failure:.2g}"


COLUMNS = (
    Column("inputs", "inputs"),
    Column("completeness", "completeness", percent),
    Column("plr, extrapolated", "failure", plr_words),
    Column("variance", "variance", variance),
    Column("counted failure probability", "counted", percent),
    Column("interval of the counted", "interval", percent_range),
)
"""What RoMA prints, and beside it the count with its interval."""


def row_of(whole: Whole, inputs: int) -> dict[str, Any]:
    """The values of the columns; those of the extrapolation are missing where none was made."""
    row: dict[str, Any] = {"inputs": inputs, "completeness": 0.0}
    if isinstance(whole, ExtrapolatedMean):
        row |= {
            "completeness": whole.completeness,
            "failure": whole.failure,
            "variance": whole.variance,
            "fitted": whole.fitted,
            "contradicted": whole.contradicted,
        }
    counted = sound(whole)
    if isinstance(counted, Estimate):
        around = Interval(max(0.0, 1 - counted.interval.high), min(1.0, 1 - counted.interval.low))
        row |= {"counted": 1 - counted.value, "interval": around}
    return row


def tail(request: Request, model: Any, perturb: Any, **more: Any) -> Result:  # noqa: ANN401  handed on as they are
    """`surefoot tail` with the limit, the trials and the inputs of the request."""
    own = {name: request.options[name] for name in ("limit", "draws", "confidence")
           if name in request.options}  # fmt: skip
    return request.run("tail", model, perturb, **{**own, **number_of_inputs(request), **more})


def number_of_inputs(request: Request) -> dict[str, int]:
    """As many first inputs as the option `images` says, of those that the user chose."""
    chosen, images = request.files, request.options.get("images")
    if images is None:
        return {}
    most = int(images[0])
    if chosen.random is not None:
        return {"random": min(chosen.random, most)}
    return {"first": most if chosen.first is None else min(chosen.first, most)}


def words_of(whole: Whole) -> str:
    """One average in words: extrapolated, completeness, counted with its interval."""
    row: Mapping[str, Any] = row_of(whole, 0)
    counted = ""
    if "interval" in row:
        counted = f"by count {percent(row['counted'])} fail ({percent_range(row['interval'])})"
    if "failure" not in row:
        return f"no extrapolation; {counted}"
    return (
        f"extrapolated failure probability {small_probability(row['failure'])} over the "
        f"{percent(row['completeness'])} of inputs that were fitted; {counted}"
    )
