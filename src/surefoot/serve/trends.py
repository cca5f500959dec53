"""Runs that ask one question of several versions of a model, over time."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from surefoot.errors import SurefootError
from surefoot.report.sentences import measured_claims
from surefoot.report.trend import Trended, trend_figure
from surefoot.report.view import Figure
from surefoot.serve.runs import ListedRun, headline, with_headlines
from surefoot.serve.stores import ServedStore
from surefoot.store.runs import RunLine


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
        claims = (claim for run in self.runs for claim in run.claims if isinstance(claim, Trended))
        clean = [run.ending.clean.get("") for run in self.runs]
        return trend_figure(dict(zip(names, claims, strict=True)), clean, self.required)


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
    """What must be the same of all versions, beside the question of their specs."""
    about, ends = claim.about, run.ending
    numbers = (v.requirement and v.requirement.number for v in ends.verdicts)
    required = tuple((v.kind, v.about, n) for v, n in zip(ends.verdicts, numbers, strict=True))
    same = claim.kind, about.of, about.name, about.only, claim.guarantee.error
    return run.line.question, *same, tuple(sorted(ends.cells)), required
