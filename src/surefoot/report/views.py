"""The view and the main figure of a record, by what its method found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surefoot.claims import Claim
from surefoot.report.attack import view as attack_view
from surefoot.report.comparison import view as comparison_view
from surefoot.report.comparison.figures import chart
from surefoot.report.curve import view as curve_view
from surefoot.report.curve.figures import whole_figure
from surefoot.report.figures import attack_chart, local_chart
from surefoot.report.radii import view as radii_view
from surefoot.report.radii.figures import distribution
from surefoot.report.sampling import view as sampling_view
from surefoot.report.view import View
from surefoot.store.records import AttackSummary, Comparison, Details, Record, Samples


def view_of(
    record: Record,
    parts: Mapping[str, Record],
    verdicts: tuple[Claim, ...] = (),
    command: str = "",
    store: str = "",
) -> View:
    """The outcome in its parts."""
    found, several = record.details, parts or {"": record}
    if isinstance(found, Samples):
        return sampling_view.view(record, found, verdicts, command, store)
    if isinstance(found, AttackSummary):
        return attack_view.view(record, found, verdicts, command)
    if isinstance(found, Comparison) and _kind(found, parts) == "samples":
        return comparison_view.view(record, found, parts, verdicts, command)
    if _kind(found, parts) == "curve":
        return curve_view.view(record, several, verdicts, command)
    return radii_view.view(record, several, verdicts, command)


def chart_of(record: Record, parts: Mapping[str, Record]) -> Any:  # noqa: ANN401  an Altair chart
    """The main figure."""
    found, several = record.details, parts or {"": record}
    if isinstance(found, Comparison) and _kind(found, parts) == "samples":
        return chart(record, found)
    drawn = {
        "samples": lambda: local_chart(record),
        "attack": lambda: attack_chart(record),
        "curve": lambda: whole_figure(several),
        "radii": lambda: distribution(several),
    }
    return drawn[_kind(found, parts)]()


def _kind(found: Details, parts: Mapping[str, Record]) -> str:
    """What was found; by each part, where there are several."""
    if isinstance(found, Comparison):
        return next(iter(parts.values())).details.kind
    return found.kind
