"""A whole accuracy curve, evaluated once by the public API, on which settings are tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from papers.asap.perturbations import name_of
from papers.asap.runs import CurveRun, CurveRuns
from surefoot.core.results import Curve
from surefoot.curves.published import Accuracy, Published, lines_through, replay, share_of_lines

if TYPE_CHECKING:
    from papers.request import Request

NOTE = (
    "All inputs are evaluated once at {levels:,} even levels, and the curve is taken as straight "
    "between them: on it every setting is tried. So levels are counted exactly, and what the "
    "network does between those levels is not shown."
)


@dataclass(frozen=True, eq=False)
class WholeCurve:
    """The curve of one model under one perturbation."""

    model: str
    perturb: str
    run: CurveRun
    accuracy: Accuracy

    @property
    def name(self) -> str:
        """The paper's name of the perturbation."""
        return name_of(self.perturb)

    @property
    def span(self) -> tuple[float, float]:
        """The ends of the range."""
        return self.run.curve.span.low, self.run.curve.span.high

    @property
    def size(self) -> int:
        """Inputs."""
        return self.run.curve.size

    def robustness(self, threshold: float) -> float:
        """Of the straight lines between its levels, exactly."""
        return share_of_lines(self.run.curve.points, threshold, self.size)

    def by(self, method: Published) -> Curve:
        """What a published method concludes of it."""
        return replay(method, self.accuracy)


def whole_curves(request: Request) -> Iterator[WholeCurve]:
    """One for every perturbation and model."""
    runs = CurveRuns(request)
    levels, thresholds = request.options["oracle"], request.options["threshold"]
    for name, model, perturb in runs.each():
        run = runs.run(model, perturb, method="uniform", levels=levels, threshold=thresholds)
        yield WholeCurve(name, perturb, run, lines_through(run.curve.points))


def note_on(curves: list[WholeCurve]) -> str:
    """How the figure was made."""
    return NOTE.format(levels=curves[0].run.levels)
