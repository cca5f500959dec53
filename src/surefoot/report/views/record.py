"""The view and the main figure of a record, chosen by the kind of its details."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from surefoot.core.claims import Claim
from surefoot.records.record import AttackSummary, Comparison, Curves, Radii, Record, Samples, Tally
from surefoot.report.view import View
from surefoot.report.views import attack as attack_view
from surefoot.report.views import comparison as comparison_view
from surefoot.report.views import curve as curve_view
from surefoot.report.views import radii as radii_view
from surefoot.report.views import sampling as sampling_view
from surefoot.report.views import tally as tally_view
from surefoot.report.views.attack import attack_chart
from surefoot.report.views.comparison import comparison_chart
from surefoot.report.views.curve_figures import curves_chart
from surefoot.report.views.radii import radii_chart
from surefoot.report.views.sampling_figures import inputs_chart
from surefoot.report.views.tally import tally_chart

if TYPE_CHECKING:
    from altair.typing import ChartType


def view_of_record(
    record: Record,
    parts: Mapping[str, Record],
    verdicts: tuple[Claim, ...] = (),
    command: str = "",
    store: str = "",
) -> View:
    """The outcome in its parts; `parts` are the records of a comparison, by name."""
    details, members = record.details, parts or {"": record}
    first = next(iter(members.values())).details
    if isinstance(details, Curves) or isinstance(first, Curves):
        return curve_view.view(record, members, verdicts, command)
    if isinstance(details, Radii) or isinstance(first, Radii):
        return radii_view.view(record, members, verdicts, command)
    if isinstance(details, Tally) or isinstance(first, Tally):
        return tally_view.view(record, members, verdicts, command)
    match details:
        case Samples():
            return sampling_view.view(record, details, verdicts, command, store)
        case AttackSummary():
            return attack_view.view(record, details, verdicts, command)
        case Comparison():
            return comparison_view.view(record, details, parts, verdicts, command)


def chart_of_record(record: Record, parts: Mapping[str, Record]) -> ChartType:
    """The main figure, for the same cases."""
    details, members = record.details, parts or {"": record}
    first = next(iter(members.values())).details
    if isinstance(details, Curves) or isinstance(first, Curves):
        return curves_chart(members)
    if isinstance(details, Radii) or isinstance(first, Radii):
        return radii_chart(members)
    if isinstance(details, Tally) or isinstance(first, Tally):
        return tally_chart(record)
    match details:
        case Samples():
            return inputs_chart(record)
        case AttackSummary():
            return attack_chart(record)
        case Comparison():
            return comparison_chart(record, details)
