"""Runs that ask one question of several versions of a model, over time."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from surefoot.core import claims
from surefoot.core.claims import Height
from surefoot.core.results import UNIT
from surefoot.errors import SurefootError
from surefoot.report import alt
from surefoot.report.clauses import capitalised
from surefoot.report.figures import INK, STEADY, WEAK, Row, interval_row, marks
from surefoot.report.formatting import confidence, exact_percent, percent, percent_range
from surefoot.report.sentences import measured_claims
from surefoot.report.view import Figure
from surefoot.serve.runs import ListedRun, headline, with_headlines
from surefoot.serve.stores import ServedStore
from surefoot.store.runs import RunLine

_Failed = claims.MeanSet | claims.MeanPopulation
Trended = claims.AccuracySet | claims.AccuracyPopulation | claims.SuiteMean | _Failed
"""Claims whose numbers make a trend: shares of trials, kept or failed."""
_TURNED = 4
"""Names below the axis beyond which they are turned, so that none covers the next."""


@dataclass(frozen=True)
class Trend:
    """The runs, the oldest first, each with the one claim that is shown; `required` of each."""

    runs: tuple[ListedRun, ...]
    required: float | None

    @property
    def last(self) -> ListedRun:
        """The newest run."""
        return self.runs[-1]

    @property
    def figure(self) -> Figure:
        """Named by their files, or by their times where these do not tell them apart."""
        names = [run.model for run in self.runs]
        if len(set(names)) < len(names):
            names = [f"{run.started} {run.line.digest[:4]}" for run in self.runs]
        shown = (claim for run in self.runs for claim in run.claims if isinstance(claim, Trended))
        clean = [run.ending.clean.get("") for run in self.runs]
        return _figure(dict(zip(names, shown, strict=True)), clean, self.required)


def trends(
    stores: Sequence[ServedStore], problems: list[str], question: str | None = None
) -> list[Trend]:
    """The questions that several versions answered, or this one; the last answered first."""
    found: dict[str, tuple[ServedStore, RunLine]] = {}
    versions: dict[str, set[str]] = {}
    for store in stores:
        try:
            lines = store.lines()
            cells = store.cells(lines)
        except SurefootError as error:
            problems.append(str(error))
            continue
        for line in lines:
            wanted = line.question if question in (None, line.question) else ""
            if wanted and line.finished and line.digest not in cells:
                found[line.digest] = store, line
                versions.setdefault(wanted, set()).add(line.version)
    several = [pair for pair in found.values() if len(versions[pair[1].question]) > 1]
    groups: dict[Hashable, list[ListedRun]] = {}
    for run in sorted(with_headlines(several, problems), key=lambda run: run.line.started):
        claim = _shown_claim(run)
        if claim is not None:
            own = replace(run, claims=(claim,))
            groups.setdefault(_asked(own, claim), []).append(own)
    made = []
    for runs in groups.values():
        if len({run.line.version for run in runs}) > 1:
            verdicts = (v for v in runs[0].ending.verdicts if measured_claims(v, runs[0].claims))
            required = next((v.requirement.number for v in verdicts if v.requirement), None)
            made.append(Trend(tuple(runs), required))
    return sorted(made, key=lambda trend: trend.last.line.started, reverse=True)


def _shown_claim(run: ListedRun) -> Trended | None:
    """The claim that the requirement is measured by, without one that of the headline."""
    decided = [c for verdict in run.ending.verdicts for c in measured_claims(verdict, run.claims)]
    for claim in (*decided, headline(run.claims)):
        if not isinstance(claim, Trended) or claim.names or claim.value is None:
            continue
        around = claim.interval  # a list checks no seal
        if around and 0 <= around.low <= claim.value <= around.high <= 1:
            return claim
    return None


def _asked(run: ListedRun, claim: Trended) -> Hashable:
    """What must be the same beside the question of their specs, so that versions of one model are
    together: the name of their study in a file of studies, else that of the model's file."""
    about, ends = claim.about, run.ending
    numbers = (v.requirement and v.requirement.number for v in ends.verdicts)
    required = tuple((v.kind, v.about, n) for v, n in zip(ends.verdicts, numbers, strict=True))
    named = run.line.study or run.model
    same = named, claim.kind, about.of, about.name, about.only, claim.guarantee.error
    return run.line.question, *same, tuple(sorted(ends.cells)), required


def _figure(
    versions: Mapping[str, Trended], clean: Sequence[float | None], required: float | None
) -> Figure:
    """The versions from left to right; all of them are claims of one kind at one confidence."""
    first = next(iter(versions.values()))
    fails = isinstance(first, _Failed)
    kept = first.height if isinstance(first, claims.SuiteMean) else Height.ACCURACY
    quantity = "failure probability" if fails else str(kept)
    limit = 1 - required if fails and required is not None else required
    rows = [
        interval_row("version", name, one.value or 0.0, one.interval or UNIT)
        | {"clean": None if share is None or quantity != Height.ACCURACY else 100 * share}
        for (name, one), share in zip(versions.items(), clean, strict=True)
    ]
    sure = confidence(first.guarantee.error) if first.guarantee.error else ""
    words = [
        f"{capitalised(quantity)} when perturbed, each interval by itself"
        f"{f' at confidence {sure}' if sure else ''}",
        "Diamonds: clean accuracy" if any(row["clean"] is not None for row in rows) else "",
        ""
        if limit is None
        else f"Dashed: at {'most' if fails else 'least'} {exact_percent(limit)} required",
        "Whether two versions differ is what surefoot compare measures.",
    ]
    numbers = [
        f"{name}: {percent(one.value or 0.0)} ({percent_range(one.interval or UNIT)})"
        for name, one in versions.items()
    ]
    draw = partial(_chart, rows, f"{quantity} (%)", limit)
    return Figure(draw, ". ".join(filter(None, words)), "trend", "; ".join(numbers))


def _chart(rows: Sequence[Row], title: str, limit: float | None) -> alt.LayerChart:
    angle = -35 if len(rows) > _TURNED else 0
    names = alt.Axis(title=None, labelAngle=angle, labelLimit=110, labelOverlap=True, grid=False)
    x = alt.X("version:N", sort=[str(row["version"]) for row in rows], axis=names)
    y = alt.Y("value:Q", title=title, scale=alt.Scale(zero=False, nice=True, padding=6))
    base = marks(rows)
    ends = base.mark_rule(color=STEADY, strokeWidth=3, opacity=0.5)
    clean = base.transform_filter("datum.clean != null")
    layers = [
        base.mark_line(color=STEADY, strokeWidth=1, opacity=0.5).encode(x=x, y=y),
        ends.encode(x=x, y="low:Q", y2="high:Q"),
        base.mark_circle(color=STEADY, size=70, opacity=1).encode(x=x, y=y),
        clean.mark_point(shape="diamond", color=INK, size=60).encode(x=x, y="clean:Q"),
    ]
    if limit is not None:
        line = marks([{"limit": 100 * limit}])
        layers.append(line.mark_rule(color=WEAK, strokeDash=[5, 4]).encode(y="limit:Q"))
    return alt.LayerChart(layer=layers).properties(height=260)
