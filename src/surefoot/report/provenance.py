"""Model, inputs and method of a run, and what its preflight found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from surefoot.core.claims import About, Claim, Verdict
from surefoot.records.input_table import groups_of
from surefoot.records.record import COLUMNS, Record
from surefoot.report.clauses import capitalised, perturbation_at_level
from surefoot.report.formatting import file_name, with_full_stop
from surefoot.report.tables import Table
from surefoot.report.view import Caution, Section, View
from surefoot.statistics.counted import rung

Provenance = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
"""Runs by name, each line by line: what it is, and its words."""
_NAMED = 3
"""Models or perturbations by name in a title, runs in a note; of more, their number."""
_TABLES = 3
"""Runs with a table of their own; more have a row each, or they would fill sheets of paper."""


@dataclass(frozen=True)
class Shown:
    """A record that is to be shown: its parts by name, its verdicts, what repeats it, its store."""

    record: Record
    parts: Mapping[str, Record]
    verdicts: tuple[Claim, ...] = ()
    command: str = ""
    store: str = ""

    @property
    def members(self) -> Mapping[str, Record]:
        """The parts, or the record itself without a name."""
        return self.parts or {"": self.record}

    @property
    def provenance(self) -> Provenance:
        """Of each record."""
        return tuple((name, tuple(provenance(part))) for name, part in self.members.items())

    def view(self, **own: Any) -> View:  # noqa: ANN401  fields of a view
        """What all pages show, in place of it or beside it what is the `own` of one."""
        return View(**({"verdicts": self.verdicts, "command": self.command} | own))

    def view_of_run(self, **own: Any) -> View:  # noqa: ANN401  fields of a view
        """The same of one run; its checks come last."""
        record, sections = self.record, own.pop("sections")
        shared: dict[str, Any] = {
            "title": page_title({"": record}),
            "headline": record.claims[:1],
            "about": about_run(record),
            "warnings": preflight_cautions(record),
            "claims": record.claims[1:],
            "provenance": self.provenance,
        }
        return self.view(**(shared | own), sections=(*sections, findings_section(record)))


def models_in(records: Mapping[str, Record]) -> list[str]:
    """The models of these runs, each once: the names of their files, or of the runs."""
    named = (
        file_name(r.source.model) if r.source else name or "a model in memory"
        for name, r in records.items()
    )
    return list(dict.fromkeys(named))


def page_title(records: Mapping[str, Record], under: Iterable[str] = ()) -> str:
    """Which models, under which perturbations, in a few words; `under` where levels are open."""
    models = models_in(records)
    met = dict.fromkeys(under or (perturbation_at_level(r.study) for r in records.values()))
    named = ", ".join(models) if len(models) <= _NAMED else f"{len(models):,} models"
    perturbations = ", ".join(met) if len(met) <= _NAMED else f"{len(met):,} perturbations"
    return f"{named} under {perturbations}"


def about_run(record: Record) -> str:
    """Which model, which inputs, which perturbation, and what counts as failed."""
    model = file_name(record.source.model) if record.source else "a model in memory"
    inputs, words = record.study.inputs, record.study.words
    return (
        f"{model} on {file_name(words.source)}: {inputs.selection} ({inputs.reading}); "
        f"{words.perturbation}; {_failing(record)}."
    )


def what_fails(record: Record) -> str:
    """What a failure is, where it is something else than another label; else empty."""
    return "" if record.study.property.kind == "same" else capitalised(f"{_failing(record)}.")


def _failing(record: Record) -> str:
    return f"perturbed inputs must {record.study.words.property}, else they fail"


def rung_facts(record: Record, verdicts: Iterable[Claim]) -> list[str]:
    """How many runs of the same question came before, and what that costs; where a verdict is
    undecided, a caution says so.
    """
    return [] if rung_cautions(record, verdicts) else _rung_lines(record)


def rung_cautions(record: Record, verdicts: Iterable[Claim], name: str = "") -> tuple[Caution, ...]:
    """The same, where a verdict is undecided: a smaller error may be why."""
    if not any(claim.verdict is Verdict.UNDECIDED for claim in verdicts):
        return ()
    head = f"{name}: " if name else ""
    return tuple(Caution(f"Note: {head}{line}") for line in _rung_lines(record))


def _rung_lines(record: Record) -> list[str]:
    line = f"Run {record.rung + 1:,} of this question in this store: its verdict spends "
    return [f"{line}{rung(1.0, record.rung):.2g} of the error."] * bool(record.rung)


def group_facts(record: Record) -> list[str]:
    """How many groups there are, and what that means; nothing where single inputs were sampled."""
    sizes = groups_of(record.inputs)
    if not sizes:
        return []
    least, most = min(sizes.values()), max(sizes.values())
    each = f"{least:,} to {most:,} inputs" if most > least else f"{most:,} inputs each"
    each = "1 input each" if most == 1 else each
    number = f"{len(sizes):,} groups of {each}" if len(sizes) > 1 else "one group"
    lines = [f"The {len(record.inputs):,} inputs are in {number}."]
    if any(claim.about.of is About.POPULATION for claim in record.claims):
        lines[0] += (
            " Claims about the population average over the inputs of a group, then over groups: "
            "each group counts the same."
        )
    return lines


def preflight_cautions(record: Record, name: str = "") -> tuple[Caution, ...]:
    """What the preflight found odd, to be read before the result."""
    head = f"{name}: " if name else ""
    return tuple(
        Caution(
            f"Note: {head}{'' if f.blocks else f'{f.name}: '}{with_full_stop(f.finding)}",
            f.is_urgent,
            f.blocks,
            f.blocks is not None or f.name == COLUMNS,
        )
        for f in record.findings
        if f.is_warning
    )


def shared_cautions(parts: Mapping[str, Record]) -> list[Caution]:
    """What the preflights of several runs found odd, each once: of all, or of those it names.

    Columns of a table that a perturbation does not fit are said of the first: each level has its
    own factor.
    """
    found: dict[Caution | str, tuple[Caution, list[str]]] = {}
    for name, part in parts.items():
        for caution in preflight_cautions(part):
            key = COLUMNS if caution.text.startswith(f"Note: {COLUMNS}: ") else caution
            found.setdefault(key, (caution, []))[1].append(name)
    return [
        caution if len(names) == len(parts) else _of(caution, names)
        for caution, names in found.values()
    ]


def _of(caution: Caution, names: Sequence[str]) -> Caution:
    """With the names of the runs that it is of, not all where they are many."""
    some = ", ".join(names[:_NAMED])
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return replace(caution, text=f"Note: {some}{more}: {caution.text.removeprefix('Note: ')}")


def findings_section(record: Record) -> Section:
    """The preflight of a run."""
    rows = tuple((f.name, f.finding) for f in record.findings)
    table = Table("Checks before the run", ("check", "finding"), rows, 2, page_only=True)
    return Section("preflight", table.title, table=table, folded=True)


def findings_sections(parts: Mapping[str, Record]) -> list[Section]:
    """The preflight of one run; of several, in one table that says once what is the same."""
    checked = {name: record for name, record in parts.items() if record.findings}
    if len(checked) < 2:
        return [findings_section(record) for record in checked.values()]
    found: dict[str, dict[str, list[str]]] = {}
    for name, record in checked.items():
        for finding in record.findings:
            found.setdefault(finding.name, {}).setdefault(finding.finding, []).append(name)
    rows = tuple(
        (check, finding, "all" if len(names) == len(checked) else "; ".join(names))
        for check, findings in found.items()
        for finding, names in findings.items()
    )
    headings = ("check", "finding", "of")
    table = Table("Checks before the runs", headings, rows, 3, page_only=True, visible_rows=20)
    return [Section("preflight", table.title, table=table, folded=True)]


def shared_provenance(parts: Provenance) -> Provenance:
    """What all runs have in common once, then what is each run's own: in a row, of many runs."""
    if len(parts) < 2:
        return parts
    first, *others = (dict(rows) for _, rows in parts)
    common = {k: v for k, v in first.items() if all(own.get(k) == v for own in others)}
    own = [(name, [row for row in rows if row[0] not in common]) for name, rows in parts]
    all_runs = (("All runs", tuple(common.items())),) if common else ()
    if len(parts) <= _TABLES:
        return (*all_runs, *((name, tuple(rows)) for name, rows in own))
    each = tuple((name, "; ".join(f"{k}: {v}" for k, v in rows)) for name, rows in own)
    return (*all_runs, ("Each run", each))


def provenance(record: Record) -> list[tuple[str, str]]:
    """Model, inputs, perturbation, method, random numbers and software, line by line."""
    spec = record.study
    model, inputs, words = spec.model, spec.inputs, spec.words
    prepared = f"; inputs {model.preparation}" if model.preparation else ""
    groups = f" in {inputs.groups:,} groups" if inputs.groups else ""
    selected = f"{inputs.selection} ({inputs.number:,}{groups}; {inputs.reading})"
    rows = [
        ("Study", record.digest),
        ("Model", f"sha256 {model.digest} (covers {model.covers})"),
        ("Model input", f"shape {model.shape}{prepared}"),
        ("Model output", f"{model.classes} {model.scores}" if model.classes else model.scores),
        ("Inputs", f"sha256 {inputs.digest}"),
        ("Selection", f"{words.source}: {selected}"),
        ("Perturbation", words.perturbation),
        ("Property", f"perturbed inputs must {words.property}"),
        ("Method", spec.method.chosen),
        ("Random numbers", f"seed {spec.seed}, generator {spec.generator}"),
        ("Trials", f"{record.trials:,}{', stopped by the time limit' * record.stopped_early}"),
        ("Time", f"{record.seconds:.1f} s" if record.seconds else "not recorded"),
        ("Started", record.started or "not recorded (no store)"),
        ("Software", ", ".join(f"{k} {v}" for k, v in record.environment.items())),
    ]
    if record.source is not None:
        rows[1:1] = [("Files", f"{record.source.model}, {record.source.data}")]
    return rows
