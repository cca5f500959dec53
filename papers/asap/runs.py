"""Curves of a request: one method on one model and perturbation, its robustness and its cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from surefoot.core.results import Curve, Reading
from surefoot.errors import InvalidArgument
from surefoot.store import store_exists
from surefoot.store.outcomes import runs

if TYPE_CHECKING:
    from papers.request import Request
    from surefoot.study import Result

QUICK_IMAGES, QUICK_BATCH = 32, 64
"""Of a quick run. No accuracy of 32 images is 80 %, so that there is no tie; batches of a fixed
size save the time in which it is measured."""


@dataclass(frozen=True, eq=False)
class CurveRun:
    """One study. `seconds` is None where an earlier run had begun it: they would flatter it."""

    result: Result
    curve: Curve
    seconds: float | None

    def reading(self, threshold: float) -> Reading:
        """What it states for this threshold."""
        return next(r for r in self.curve.readings if r.threshold == threshold)

    @property
    def levels(self) -> int:
        """The paper's #p: levels evaluated."""
        return len(self.curve.points)

    @property
    def passes(self) -> float:
        """Evaluations for each input."""
        return self.curve.trials / self.curve.size

    @property
    def timeout(self) -> bool:
        """Whether the levels or the time ran out before it was done."""
        return self.result.record.stopped_early or any("had not settled" in n for n in self.notes)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was noticed on the way."""
        return self.curve.notes


@dataclass(frozen=True, eq=False)
class CurveRuns:
    """Runs the curves of a request, and keeps the results by name.

    Each study has evidence of its own, also in a store: no method profits from the levels of
    another.
    """

    request: Request
    results: dict[str, Result] = field(default_factory=dict)

    def each(self) -> Iterator[tuple[str, Any, str]]:
        """Every perturbation with every model: name, model, perturbation."""
        for perturb in self.request.options["perturb"]:
            for name, model in self.request.models.items():
                yield name, model, perturb

    def run(self, model: Any, perturb: str, **options: Any) -> CurveRun:  # noqa: ANN401  handed on as they are
        """One curve by `surefoot.curve`."""
        request, chosen = self.request, dict(options)
        if request.quick:
            chosen["batch"] = QUICK_BATCH
            if request.files.first is None and request.files.random is None:
                chosen["first"] = QUICK_IMAGES
        if "time_limit" in request.options:
            chosen["time_limit"] = request.options["time_limit"]
        unfinished = self._unfinished()
        result = request.run("curve", model, perturb, **chosen)
        details: Any = result.details
        resumed = result.record.digest in unfinished
        return CurveRun(result, details.curve, None if resumed else result.record.seconds)

    def keep(self, name: str, run: CurveRun) -> None:
        """Show the claims of this study on the page, and its record in JSON."""
        self.results[name] = run.result

    def _unfinished(self) -> set[str]:
        """Studies that the store holds only in part."""
        store = self.request.store
        if store is None or not store_exists(str(store)):
            return set()
        return {run.digest for run in runs(str(store)) if not run.finished or run.stopped}


def whole_number(value: float, name: str, least: int) -> int:
    """A number of levels."""
    if value != int(value) or value < least:
        raise InvalidArgument(f"{name} (--{name}) must be an integer ≥ {least}, got {value:g}")
    return int(value)


def only(values: tuple[float, ...], name: str) -> float:
    """The value of an option of which this table takes one."""
    if len(values) != 1:
        raise InvalidArgument(
            f"{name} (--{name}) takes one number here, got {len(values)}: make one table for each"
        )
    return values[0]
