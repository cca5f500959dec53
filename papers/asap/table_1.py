"""Table I: time and robustness by the oracle, ASAP, an integrator, even levels, and ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from papers.asap.perturbations import name_of
from papers.asap.published import TABLE_1, printed_shares_that_are_none
from papers.asap.runs import CurveRun, CurveRuns, only, whole_number
from papers.exhibit import Column, Exhibit, Row, Sheet
from papers.request import Request
from surefoot.core.claims import Randomness
from surefoot.core.results import Footing, Interval
from surefoot.curves.levels import FIRST_LOOK
from surefoot.report.formatting import percent, percent_range, points

ORACLE, ASAP, INTEGRAL, UNIFORM = "oracle", "ASAP", "numerical integration", "uniform, same #p"
OURS, OURS_FRESH = "ours", "ours, fresh draws"
_COMPARED = (ORACLE, ASAP, OURS)
_INSIDE, _WITHIN = "oracle inside", "oracle within its own step"
TIMEOUT = "timeout"
"""The paper's word, where levels or time ran out before a value."""


def make(request: Request) -> Exhibit:
    """A row for each perturbation, model, threshold and method; each method by itself."""
    runs, rows = CurveRuns(request), []
    for name, model, perturb in runs.each():
        rows += _rows(runs, name, model, perturb)
    return Exhibit(
        name=request.part.name,
        title=f"Table 1: {request.part.title}",
        lines=(_summary(rows), *_few_inputs(rows), *_DEPARTURES),
        sheets=(_sheet(request, rows), _as_published()),
        results=runs.results,
    )


def _rows(runs: CurveRuns, name: str, model: Any, perturb: str) -> list[Row]:  # noqa: ANN401  any kind of model
    """All methods on one model and perturbation; the oracle serves all thresholds."""
    options = runs.request.options
    n = whole_number(only(options["points"], "points"), "points", 21)
    bend = only(options["curvature"], "curvature")
    oracle = runs.run(model, perturb, method="uniform", levels=n, threshold=options["threshold"])
    rows: list[Row] = []
    for threshold in options["threshold"]:
        at = {"threshold": threshold}
        asap = runs.run(
            model, perturb, method="asap", as_printed=True, curvature=bend, grid=n, **at
        )
        methods = {
            ORACLE: oracle,
            ASAP: asap,
            INTEGRAL: runs.run(model, perturb, method="quad", levels=n, **at),
            UNIFORM: runs.run(model, perturb, method="uniform", levels=max(asap.levels, 2), **at),
            OURS: runs.run(model, perturb, fixed_draws=_draws(oracle), **at),
        }
        if _draws(oracle) and not runs.request.quick:
            methods[OURS_FRESH] = runs.run(model, perturb, **at)
        name_and_range = f"{name_of(perturb)} {perturb.partition(':')[2]}"
        head = {"perturbation": name_and_range, "model": name, **at}
        for method, run in methods.items():
            rows.append({**head, "method": method, **_cells(method, run, oracle, threshold)})
            if method in (ASAP, OURS, OURS_FRESH):
                runs.keep(f"{name}, {perturb}, {threshold:g}, {method}", run)
    return rows


def _sheet(request: Request, rows: Sequence[Row]) -> Sheet:
    """The threshold is in the title, where there is one."""
    thresholds = request.options["threshold"]
    if len(thresholds) == 1:
        title = f"Table 1, threshold {percent(thresholds[0])}"
        return Sheet(title, COLUMNS, tuple(rows), note=_NOTE)
    threshold = Column("threshold", "threshold", percent)
    return Sheet("Table 1", (*COLUMNS[:3], threshold, *COLUMNS[3:]), tuple(rows), note=_NOTE)


def _draws(oracle: CurveRun) -> bool:
    """Whether the perturbation draws: a published method then fixes one draw for each input."""
    return oracle.result.claims[0].random is Randomness.FIXED


def _cells(method: str, run: CurveRun, oracle: CurveRun, threshold: float) -> Row:
    reading, truth = run.reading(threshold), oracle.reading(threshold).value
    cells: dict[str, Any] = {"points": run.levels, "passes": run.passes, "seconds": run.seconds}
    cells["inputs"] = run.curve.size
    if run.timeout:
        why = "; ".join(run.curve.notes) or "time ran out"
        return {**cells, "value": TIMEOUT, "outcome": why}
    cells |= {"value": reading.value}
    if method != ORACLE and not oracle.timeout:
        cells["error"] = reading.value - truth
        if run.seconds is not None and oracle.seconds:
            cells["saved"] = run.seconds / oracle.seconds - 1
    if reading.guarantee.footing is not Footing.NONE:
        cells["interval"] = reading.interval
        if not oracle.timeout:
            cells["outcome"] = _where(truth, reading.interval, oracle, threshold)
    else:
        cells["outcome"] = "no guarantee"
    return cells


def _where(truth: float, interval: Interval, oracle: CurveRun, threshold: float) -> str:
    """Whether the oracle is in the interval; it is off by up to a step for each crossing itself."""
    crossings = len(oracle.reading(threshold).crossings)
    step = (crossings + 1) / (oracle.levels - 1)
    if truth in interval:
        return _INSIDE
    if interval.low - step <= truth <= interval.high + step:
        return _WITHIN
    return "oracle outside"


def _summary(rows: Sequence[Row]) -> str:
    """What is seen, from the rows that have both a value and an oracle."""
    asap = [row for row in rows if row["method"] == ASAP and "error" in row]
    ours = [row for row in rows if row["method"] == OURS and "interval" in row and "outcome" in row]
    if not asap or not ours:
        return "Levels or time ran out before the methods could be compared."
    agree = sum(row["outcome"] in (_INSIDE, _WITHIN) for row in ours)
    most = max(abs(row["error"]) for row in asap)
    return (
        f"ASAP took {_range([row['passes'] for row in asap])} passes over the inputs and is at "
        f"most {100 * most:.2f} points from the oracle; ours took "
        f"{_range([row['passes'] for row in ours])}, and the oracle agrees with its interval in "
        f"{agree} of {len(ours)} rows."
    )


def _few_inputs(rows: Sequence[Row]) -> tuple[str, ...]:
    """What ours costs on a small set, in passes: seconds depend on what else is running."""
    timeout = any(row.get("value") == TIMEOUT for row in rows if row["method"] in _COMPARED)
    if timeout or all(row["inputs"] > FIRST_LOOK for row in rows):
        return ()
    ours = [row["passes"] for row in rows if row["method"] == OURS]
    against = []
    for other in (ORACLE, ASAP):
        theirs = [row["passes"] for row in rows if row["method"] == other]
        more = sum(own > their for own, their in zip(ours, theirs, strict=True))
        fewer = sum(own < their for own, their in zip(ours, theirs, strict=True))
        name = f"{other if other == ASAP else 'the oracle'} ({_range(theirs)})"
        against.append(_compared(more, fewer, len(ours), name))
    return (
        f"Ours looks at up to {FIRST_LOOK} inputs at a level first, and at more only near the "
        f"threshold; there are no more than that here. It took "
        f"{_range(ours)} passes, {' and '.join(against)}.",
    )


def _compared(more: int, fewer: int, rows: int, other: str) -> str:
    """In how many rows ours takes more or fewer passes than another method."""
    for count, word in ((more, "more than"), (fewer, "fewer than")):
        if count == rows:
            return f"{word} {other}"
    if more == fewer == 0:
        return f"as many as {other}"
    return f"more in {more} and fewer in {fewer} of {rows} rows than {other}"


def _range(values: Sequence[float]) -> str:
    low, high = (f"{value:.3g}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _as_published() -> Sheet:
    rows = []
    for line in TABLE_1:
        for method, cell in line.methods.items():
            row: dict[str, Any] = {"benchmark": line.benchmark, "perturbation": line.name}
            row["method"] = method
            if cell is None:
                row["value"] = TIMEOUT
            else:
                row |= {"points": cell.levels, "minutes": cell.minutes, "saved": cell.saved}
                row |= {"value": cell.robustness, "error": cell.error}
                if cell is not line.oracle:
                    row["recomputed"] = 100 * (cell.minutes / line.oracle.minutes - 1)
            rows.append(row)
    odd = ", ".join(f"{line.benchmark}, {line.name}" for line in printed_shares_that_are_none())
    note = (
        "As published: the authors' networks, not yours. Times of the paper and its Δtime do not "
        "always agree, so it is computed again from them. A uniform robustness that is no share of "
        f"its number of levels: {odd}, where 1 of 24 levels is 4.17 %."
    )
    columns = (
        Column("benchmark", "benchmark", is_name=True),
        Column("perturbation", "perturbation", is_name=True),
        Column("method", "method", is_name=True),
        Column("#p", "points"),
        Column("time (min)", "minutes"),
        Column("Δtime (%)", "saved", _two_digits),
        Column("from its times", "recomputed", _two_digits),
        Column("rob (%)", "value", lambda v: v if v == TIMEOUT else f"{v:.2f}"),
        Column("Δrob", "error", _two_digits),
    )
    return Sheet("Table I as published", columns, tuple(rows), note=note)


def _two_digits(value: float) -> str:
    return f"{value:+.2f}"


COLUMNS = (
    Column("perturbation", "perturbation", is_name=True),
    Column("model", "model", is_name=True),
    Column("method", "method", is_name=True),
    Column("#p", "points"),
    Column("passes", "passes", lambda v: f"{v:.3g}" if v < 1000 else f"{v:,.0f}"),
    Column("seconds", "seconds", lambda v: f"{v:.2f}"),
    Column("Δtime", "saved", lambda v: f"{100 * v:+.1f} %"),
    Column("rob", "value", lambda v: v if v == TIMEOUT else percent(v)),
    Column("Δrob", "error", points),
    Column("interval", "interval", percent_range),
    Column("remark", "outcome"),
)
_NOTE = (
    "#p: levels evaluated. Passes: evaluations for each input, which is #p where all inputs are "
    "looked at. Seconds: of this study alone, none where an earlier run had begun it; they depend "
    "on what else the computer does, passes do not. Δ: against the oracle, time in percent, "
    "robustness in points. Interval: of ASAP the bound of theorem 1, if â holds; of ours with its "
    "confidence, if what is assumed holds."
)
_DEPARTURES = (
    "The oracle is itself a sample of levels: it may be off by a step for each crossing, and shows "
    "nothing of what happens between its levels.",
    "The interval column is ours: the paper's table has none. ASAP is run as printed, with levels "
    "as shares of the range: on a range of length 2 the paper's â = 128 is 512 here.",
    "A published method gives each image one draw of the noise, the same at every level. So does "
    "ours here, to be compared; a row with fresh draws counts the noise as sampling.",
)
