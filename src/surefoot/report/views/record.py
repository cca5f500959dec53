"""The view and the main figure of a record, chosen by the kind of its details."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from surefoot.core.claims import Claim
from surefoot.records.record import (
    AttackSummary,
    Certificates,
    Comparison,
    Curves,
    Radii,
    RareFailures,
    Record,
    Samples,
    Tally,
)
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
from surefoot.report.views.sampling_figures import inputs_chart

_Shown = tuple[Callable[[tuple[Claim, ...], str], View], Callable[[], "alt.ChartType"]]
"""How to make the view, of verdicts and a command, and how to draw the figure."""


def view_of_record(
    record: Record,
    parts: Mapping[str, Record],
    verdicts: tuple[Claim, ...] = (),
    command: str = "",
    store: str = "",
) -> View:
    """The outcome in its parts; `parts` are the records of a comparison, by name."""
    view, _ = _shown(record, parts, store)
    return view(verdicts, command)


def chart_of_record(record: Record, parts: Mapping[str, Record]) -> alt.ChartType:
    """The main figure, for the same cases."""
    _, draw = _shown(record, parts)
    return draw()


def _shown(record: Record, parts: Mapping[str, Record], store: str = "") -> _Shown:
    """Curves, radii and tallies are shown alike alone and side by side; the others are not."""
    details, members = record.details, parts or {"": record}
    first = next(iter(members.values())).details
    match details:
        case Samples():
            view = partial(sampling.view, record, details, store)
            return view, partial(inputs_chart, record)
        case AttackSummary():
            return partial(attack.view, record, details), partial(attack.attack_chart, record)
        case Comparison() if not isinstance(first, Curves | Radii | Tally):
            draw = partial(comparison.comparison_chart, record, details)
            view = partial(comparison.view, record, details, parts)
            if details.along == "cell":
                draw = partial(suite.suite_chart, record, details, parts)
                view = partial(suite.view, record, details, parts)
            return view, draw
        case RareFailures():
            view = partial(splitting.view, record, details, store)
            return view, partial(splitting.levels_chart, record)
    shown: _Shown = partial(tally.view, record, members), partial(tally.tally_chart, record)
    if isinstance(details, Certificates):
        draw = partial(smoothing.certified_chart, record, details)
        shown = partial(smoothing.view, record, details), draw
    elif isinstance(first, Curves):
        draw = partial(curve.curves_chart, members)
        shown = partial(curve.view, record, members), draw
    elif isinstance(first, Radii):
        shown = partial(radii.view, record, members), partial(radii.radii_chart, members)
    return shown
