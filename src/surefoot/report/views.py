"""The view and the main figure of a record, by what its method found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surefoot.claims import Claim
from surefoot.report import attack_view, curve_view, radii_view, sample_view, side_view
from surefoot.report.critical_figures import distribution
from surefoot.report.curve_figures import whole_figure
from surefoot.report.figures import attack_chart, local_chart
from surefoot.report.side_figures import chart
from surefoot.report.view import View
from surefoot.store.records import Attacked, Found, Record, Samples, SideBySide


def view_of(
    record: Record,
    parts: Mapping[str, Record],
    verdicts: tuple[Claim, ...] = (),
    command: str = "",
    store: str = "",
) -> View:
    """The outcome in its parts."""
    found, several = record.found, parts or {"": record}
    if isinstance(found, Samples):
        return sample_view.view(record, found, verdicts, command, store)
    if isinstance(found, Attacked):
        return attack_view.view(record, found, verdicts, command)
    if isinstance(found, SideBySide) and _kind(found, parts) == "samples":
        return side_view.view(record, found, parts, verdicts, command)
    if _kind(found, parts) == "curve":
        return curve_view.view(record, several, verdicts, command)
    return radii_view.view(record, several, verdicts, command)


def chart_of(record: Record, parts: Mapping[str, Record]) -> Any:  # noqa: ANN401  an Altair chart
    """The main figure."""
    found, several = record.found, parts or {"": record}
    if isinstance(found, SideBySide) and _kind(found, parts) == "samples":
        return chart(record, found)
    drawn = {
        "samples": lambda: local_chart(record),
        "attack": lambda: attack_chart(record),
        "curve": lambda: whole_figure(several),
        "radii": lambda: distribution(several),
    }
    return drawn[_kind(found, parts)]()


def _kind(found: Found, parts: Mapping[str, Record]) -> str:
    """What was found; by each part, where there are several."""
    if isinstance(found, SideBySide):
        return next(iter(parts.values())).found.kind
    return found.kind
