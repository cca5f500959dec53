"""The view and the main figure of a record, chosen by the kind of its details."""

from __future__ import annotations

from collections.abc import Mapping

from surefoot.core.claims import Claim
from surefoot.records import record as records
from surefoot.report import alt
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
    details, members = record.details, parts or {"": record}
    match next(iter(members.values())).details:
        case records.Curves():
            return curve.view(record, members, verdicts, command)
        case records.Radii():
            return radii.view(record, members, verdicts, command)
        case records.Tally():
            return tally.view(record, members, verdicts, command)
    match details:
        case records.Samples():
            return sampling.view(record, details, store, verdicts, command)
        case records.AttackSummary():
            return attack.view(record, details, verdicts, command)
        case records.RareFailures():
            return splitting.view(record, details, store, verdicts, command)
        case records.Certificates():
            return smoothing.view(record, details, verdicts, command)
        case records.Comparison(along="cell"):
            return suite.view(record, details, parts, verdicts, command)
        case records.Comparison():
            return comparison.view(record, details, parts, verdicts, command)
    raise TypeError(f"there is no view of {type(details).__name__} of such parts")


def chart_of_record(record: records.Record, parts: Mapping[str, records.Record]) -> alt.ChartType:
    """The main figure; of curves and of a suite with all of its panels."""
    details, members = record.details, parts or {"": record}
    if isinstance(next(iter(members.values())).details, records.Curves):
        return curve.curves_chart(members)
    if isinstance(details, records.Comparison) and details.along == "cell":
        return suite.suite_chart(record, details, parts)
    return view_of_record(record, parts).sections[0].figures[0].draw()
