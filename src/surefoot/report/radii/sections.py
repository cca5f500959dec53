"""The sections of a page of critical radii."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from surefoot.records.record import Counterexample, Record
from surefoot.report.figures import svg
from surefoot.report.formatting import four_digits
from surefoot.report.provenance import findings_sections
from surefoot.report.radii.descriptions import describe_accuracy, describe_radii, describe_times
from surefoot.report.radii.figures import accuracy_chart, radii_chart, times_figure
from surefoot.report.radii.summaries import (
    accuracy_table,
    means_table,
    severity_table,
    times_table,
)
from surefoot.report.radii.tables import (
    bracket_table,
    brackets_of,
    class_table,
    column_of_parts,
    counted_unit,
    pair_table,
    points_table,
    quantile_table,
    radii_in,
)
from surefoot.report.view import Card, Figure, LabelledImage, Section

_CAPTION = (
    "Solid line: inputs with a counterexample within the radius. Dashed: inputs not proved within "
    "it. The truth lies between the two. Diamond and bar: the quantile and its interval."
)

_ACCURACY_CAPTION = (
    "Solid line: inputs that are not refuted at the radius. Dashed: inputs that are proved up to "
    "it. The robust accuracy of these inputs lies between the two. Bars, at the radii that were "
    "named: its interval for the population."
)


def radii_sections(record: Record, parts: Mapping[str, Record]) -> tuple[Section, ...]:
    """The distribution first, then robust accuracy, examples, tables and times."""
    drawn = Figure(lambda: svg(radii_chart(parts)), _CAPTION, description=describe_radii(parts))
    title = f"Share of {counted_unit(parts.values())} refuted within a radius"
    sections = [
        Section("distribution", title, (), (drawn,), quantile_table(parts, column_of_parts(record)))
    ]
    curve = Figure(
        lambda: svg(accuracy_chart(record, parts)),
        _ACCURACY_CAPTION,
        description=describe_accuracy(parts),
    )
    sections.append(
        Section("accuracy", "Robust accuracy", (), (curve,), accuracy_table(record, parts))
    )
    for name, part in parts.items():
        if examples := radii_in(part).examples:
            sections.append(_examples(name, examples))
    for section, table in (
        ("pairs", pair_table(record)),
        ("classes", class_table(record)),
        ("severity", severity_table(record, parts)),
        ("means", means_table(record, parts)),
        ("time", times_table(record, parts)),
    ):
        if table is not None:
            sections.append(Section(section, table.title, table=table))
    for name, part in parts.items():
        for kind, table in (
            ("brackets", bracket_table(part, name)),
            ("points", points_table(part, name)),
        ):
            if table is not None:
                sections.append(
                    Section(f"{kind}-{name}" if name else kind, table.title, table=table)
                )
    for name, part in parts.items():
        if any(b.seconds is not None for _, b in brackets_of(part)):
            heading = f"Time per input, {name}" if name else "Time per input"
            label = f"times-{name}" if name else "times"
            figure = Figure(partial(times_figure, part), description=describe_times(part))
            sections.append(Section(label, heading, (), (figure,)))
    return (*sections, *findings_sections(parts))


def _examples(name: str, examples: tuple[Counterexample, ...]) -> Section:
    title = f"Nearest counterexamples, {name}" if name else "Nearest counterexamples"
    cards = tuple(
        Card(
            title="" if e.image else e.id,
            text=""
            if e.image
            else f"{e.clean_class}; at {four_digits(e.distance)}: {e.failed_class}",
            images=(
                LabelledImage(e.image, f"{e.id}, clean", f"{e.id}: ", e.clean_class),
                LabelledImage(
                    e.perturbed,
                    f"{e.id}, counterexample at {four_digits(e.distance)}",
                    f"at {four_digits(e.distance)}: ",
                    e.failed_class,
                    True,
                ),
            )
            if e.image
            else (),
        )
        for e in examples
    )
    return Section(f"examples-{name}" if name else "examples", title, cards=cards)
