"""The view and the main figure of a record, chosen by the kind of its details."""

from __future__ import annotations

from collections.abc import Mapping

from surefoot.core.claims import Claim
from surefoot.records import record as records
from surefoot.report import alt
from surefoot.report.provenance import Shown
from surefoot.report.view import View
from surefoot.report.views import (
    attack,
    comparison,
    curve,
    radii,
    sampling,
    smoothing,
    splitting,
    suite,
    tally,
)


def view_of_record(  # noqa: PLR0911  one for each kind
    record: records.Record,
    parts: Mapping[str, records.Record],
    verdicts: tuple[Claim, ...] = (),
    command: str = "",
    store: str = "",
) -> View:
    """The outcome in its parts; `parts` are the records of a comparison, by name.

    Curves, radii and tallies are shown alike alone and side by side; the others are not.
    """
    shown = Shown(record, parts, verdicts, command, store)
    match next(iter(shown.members.values())).details:
        case records.Curves():
            return curve.view(shown)
        case records.Radii():
            return radii.view(shown)
        case records.Tally():
            return tally.view(shown)
    match record.details:
        case records.Samples() as details:
            return sampling.view(shown, details)
        case records.AttackSummary() as details:
            return attack.view(shown, details)
        case records.RareFailures() as details:
            return splitting.view(shown, details)
        case records.Certificates() as details:
            return smoothing.view(shown, details)
        case records.Comparison(along="cell") as details:
            return suite.view(shown, details)
        case records.Comparison() as details:
            return comparison.view(shown, details)
    raise TypeError(f"there is no view of {type(record.details).__name__} of such parts")


def chart_of_record(record: records.Record, parts: Mapping[str, records.Record]) -> alt.ChartType:
    """The main figure; of curves and of a suite with all of its panels."""
    details, members = record.details, parts or {"": record}
    if isinstance(next(iter(members.values())).details, records.Curves):
        return curve.curves_chart(members)
    if isinstance(details, records.Comparison) and details.along == "cell":
        return suite.suite_chart(record, details, parts)
    return view_of_record(record, parts).sections[0].figures[0].draw()
