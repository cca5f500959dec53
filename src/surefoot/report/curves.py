"""Curves as their reader meets them: words, tables, figures, a page, and what is required."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from surefoot.errors import InvalidArgument, ReportFailed
from surefoot.report import curve_words as words
from surefoot.report.curve_figures import class_figure, figures, grouped, whole_figure
from surefoot.report.figures import svg
from surefoot.report.html import page, provenance, write_whole
from surefoot.report.phrases import percent
from surefoot.results import Curve, Decision, Footing, Guarantee, Reading, Undecided
from surefoot.store.records import CurveRecord

_KINDS = (".svg", ".png", ".json")


@dataclass(frozen=True)
class Curves:
    """One curve or several. `print` them, write the `report`, a `figure`, or read their parts."""

    records: Mapping[str, CurveRecord]
    command: str = ""

    @property
    def curve(self) -> Curve:
        """The curve, where there is one."""
        return self._only().curve

    @property
    def classes(self) -> dict[str, Curve]:
        """The curve of each class, where there is one study of it."""
        return {row.name: row.curve for row in self._only().classes}

    def _only(self) -> CurveRecord:
        if len(self.records) != 1:
            raise InvalidArgument(
                f"there are {len(self.records)} curves: choose one of records, "
                + ", ".join(self.records)
            )
        return next(iter(self.records.values()))

    def requires(self, least: float) -> Decision | Undecided:
        """Whether every curve is at or above its thresholds on at least this share of its range."""
        if not 0 <= least <= 1:
            raise InvalidArgument(f"a share of the range lies between 0 and 1, got {least:g}")
        readings = [
            (name, record, reading)
            for name, record in self.records.items()
            for reading in record.curve.readings
        ]
        held = [_requirement(name, record, reading, least) for name, record, reading in readings]
        failed = next((d for d in held if isinstance(d, Decision) and not d.holds), None)
        unsure = next((d for d in held if isinstance(d, Undecided)), None)
        if len(held) == 1 or failed is not None or unsure is not None:
            return failed or unsure or held[0]
        errors = {name: reading.guarantee.error for name, _, reading in readings}
        footing = max((r.guarantee.footing for _, _, r in readings), key=list(Footing).index)
        promise = Guarantee(footing, min(1.0, sum(errors.values())))
        claim = (
            f"all {len(self.records)} curves keep to their thresholds on at least "
            f"{percent(least)} of the range of levels"
        )
        return Decision(claim, True, promise, sum(r.trials for r in self.records.values()))

    def report(self, path: str | Path, verdict: str = "") -> Path:
        """Write the page, whole or not at all."""
        write_whole(Path(path), self._page(verdict))
        return Path(path)

    def figure(self, path: str | Path) -> Path:
        """Write the figure as .svg, .png, or as Vega-Lite .json."""
        where = Path(path)
        check_figure(where.name)
        chart = whole_figure(self.records)
        try:
            if where.suffix == ".svg":
                write_whole(where, svg(chart))
            elif where.suffix == ".json":
                write_whole(where, json.dumps(chart.to_dict()))
            else:
                import vl_convert

                where.write_bytes(vl_convert.svg_to_png(svg(chart), scale=2))
        except OSError as error:
            raise ReportFailed(f"{where} cannot be written ({error.strerror or error})") from error
        return where

    def to_json(self) -> str:
        """Everything, for machines."""
        told = {name: asdict(record) for name, record in self.records.items()}
        return json.dumps({"curves": told}, ensure_ascii=False, allow_nan=False)

    def __str__(self) -> str:
        """The outcome in sentences and tables."""
        return words.text(self.records)

    def _page(self, verdict: str) -> str:
        records = self.records
        return page(
            "curves.html.j2",
            headline=words.headline(records),
            about=words.about(records),
            cautions=words.cautions(records),
            verdict=verdict,
            figures=list(figures(records).items()),
            groups=grouped(records),
            readings=words.reading_table(records),
            how_sure=words.how_sure(records),
            class_figures=[(name, class_figure(r)) for name, r in records.items() if r.classes],
            classes=words.class_table(records),
            strips=[(name, r, r.strip) for name, r in records.items() if r.strip],
            number=words.number,
            command=self.command,
            provenance=[(name, provenance(record)) for name, record in records.items()],
        )


def check_figure(name: str) -> None:
    """Refuse, before hours of work, a figure of a kind that cannot be drawn."""
    if not name.endswith(_KINDS):
        raise InvalidArgument(f"a figure is written as {', '.join(_KINDS)}, got {name}")


def _requirement(
    name: str, record: CurveRecord, reading: Reading, least: float
) -> Decision | Undecided:
    head = f"{name}: " if name else ""
    claim = (
        f"{head}the {words.quantity(record)} is at {percent(reading.threshold)} or more on at "
        f"least {percent(least)} of the range of levels"
    )
    trials = record.trials
    if reading.guarantee.footing is Footing.NONE:
        return Undecided(f"{claim}: this method promises nothing, use sequential or asap", trials)
    if reading.interval.low >= least:
        return Decision(claim, True, reading.guarantee, trials)
    if reading.interval.high < least:
        return Decision(claim, False, reading.guarantee, trials)
    within = reading.interval
    return Undecided(
        f"{claim}: the share is somewhere from {percent(within.low)} to {percent(within.high)}; a "
        "finer --precision or more inputs may tell",
        trials,
    )
