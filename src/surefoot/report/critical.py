"""Critical levels as their reader meets them: words, tables, figures, a page, a requirement."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from surefoot.errors import InvalidArgument
from surefoot.report import critical_tables as tables
from surefoot.report import critical_words as words
from surefoot.report.critical_figures import distribution, times
from surefoot.report.figures import svg, write_figure
from surefoot.report.html import page, provenance, write_whole
from surefoot.report.phrases import percent
from surefoot.report.told import Told
from surefoot.results import Decision, Footing, Undecided
from surefoot.store.records import CriticalRecord


@dataclass(frozen=True)
class Criticals:
    """Critical levels of one network or of several on the same inputs."""

    records: Mapping[str, CriticalRecord]
    command: str = ""

    def requires(self, least: float) -> Decision | Undecided:
        """Whether the quantile of every network is at least this radius."""
        if not least >= 0:
            raise InvalidArgument(f"a radius is a number of at least 0, got {least}")
        held = [_requirement(n, r, least) for n, r in self.records.items()]
        failed = next((d for d in held if isinstance(d, Decision) and not d.holds), None)
        unsure = next((d for d in held if isinstance(d, Undecided)), None)
        return failed or unsure or held[0]

    def report(self, path: str | Path, verdict: str = "") -> Path:
        """Write the page, whole or not at all."""
        write_whole(Path(path), self._page(verdict))
        return Path(path)

    def figure(self, path: str | Path) -> Path:
        """Write the figure as .svg, .png, or as Vega-Lite .json."""
        return write_figure(distribution(self.records), Path(path))

    def to_json(self) -> str:
        """Everything, for machines."""
        told = {name: asdict(record) for name, record in self.records.items()}
        return json.dumps({"critical": told}, ensure_ascii=False, allow_nan=False)

    def __str__(self) -> str:
        """The outcome in sentences and tables."""
        return self.told().text()

    def told(self) -> Told:
        """The outcome in its parts."""
        return words.told(self.records)

    def _page(self, verdict: str) -> str:
        records = self.records
        return page(
            "critical.html.j2",
            headline=words.headline(records),
            about=words.about(records),
            cautions=words.cautions(records),
            verdict=verdict,
            figure=svg(distribution(records)),
            quantiles=tables.quantile_table(records),
            pairs=tables.pair_table(records),
            classes=tables.class_table(records),
            how_sure=words.how_sure(records),
            times=[
                (name, times(record))
                for name, record in records.items()
                if any(row.seconds is not None for row in record.rows)
            ],
            brackets=[tables.bracket_table(record, name) for name, record in records.items()],
            sampled=[tables.sampled_table(record, name) for name, record in records.items()],
            examples=[(name, record.examples) for name, record in records.items()],
            command=self.command,
            provenance=[(name, _origin(record)) for name, record in records.items()],
        )


def _origin(record: CriticalRecord) -> list[tuple[str, str]]:
    """What was run on what; for brackets of others, which rows of which file."""
    if not words.published(record) or record.source is None:
        return provenance(record)
    selection = record.spec["inputs"]["selection"]
    return [
        ("File", record.source.data),
        ("Rows", f"network {record.source.model}, {selection}: {len(record.rows):,}"),
        ("Of file and choice", f"sha256 {record.digest}"),
    ]


def _requirement(name: str, record: CriticalRecord, least: float) -> Decision | Undecided:
    whole = record.quantiles[0]
    head = f"{name}: " if name else ""
    claim = (
        f"{head}the critical radius that {percent(whole.share)} of inputs do not exceed is at "
        f"least {least:g}"
    )
    if any(row.contradicted for row in record.rows):
        return Undecided(f"{claim}: a proof was contradicted by a point drawn", record.trials)
    if whole.guarantee.footing is Footing.NONE:
        return Undecided(f"{claim}: {whole.note}", record.trials)
    if whole.low >= least:
        return Decision(claim, True, whole.guarantee, record.trials)
    if whole.high is not None and whole.high < least:
        return Decision(claim, False, whole.guarantee, record.trials)
    return Undecided(
        f"{claim}: it is {tables.between(whole.low, whole.high)}; more inputs or more seconds may "
        "tell",
        record.trials,
    )
