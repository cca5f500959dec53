"""What was run on what, and what the checks before the run found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from surefoot.report.formatting import ended, short
from surefoot.report.tables import Table
from surefoot.report.view import Section
from surefoot.store.records import Record


def about_run(record: Record, *, failing: bool = True) -> str:
    """Which model met which inputs, perturbed how, and what failing means."""
    model = short(record.source.model) if record.source else "a model in memory"
    inputs, words = record.spec["inputs"], record.spec["words"]
    fails = f"; perturbed inputs must {words['property']}, else they fail" if failing else ""
    return (
        f"{model} on {short(words['source'])}: {inputs['selection']} ({inputs['reading']}); "
        f"{words['perturbation']}{fails}."
    )


def odd_findings(record: Record, name: str = "") -> tuple[str, ...]:
    """What the preflight found odd: read before believing."""
    head = f"{name}: " if name else ""
    return tuple(
        f"Look: {head}{f.name}: {ended(f.finding)}" for f in record.findings if f.is_warning
    )


def findings_section(record: Record) -> Section:
    """The checks before the run."""
    rows = tuple((f.name, f.finding) for f in record.findings)
    table = Table("Checked before the run", ("check", "finding"), rows, 2, page_only=True)
    return Section("preflight", table.title, table=table)


def findings_sections(parts: Mapping[str, Record]) -> list[Section]:
    """The checks before each of several runs."""
    return [
        replace(section, id=f"preflight-{name}", title=f"{section.title}, {name}")
        if name
        else section
        for name, record in parts.items()
        if record.findings
        for section in [findings_section(record)]
    ]


def selection(record: Record) -> str:
    """Which inputs."""
    inputs, words = record.spec["inputs"], record.spec["words"]
    return f"{words['source']}: {inputs['selection']} ({inputs['number']:,}; {inputs['reading']})"


def provenance(record: Record) -> list[tuple[str, str]]:
    """What was run on what, line by line."""
    spec = record.spec
    model, inputs, method = spec["model"], spec["inputs"], spec["method"]
    rows = [
        ("Study", record.digest),
        ("Model", f"sha256 {model['digest']} (covers {model['covers']})"),
        (
            "Model takes",
            f"shape {tuple(model['shape'])}, gives {model['classes']} {model['scores']}"
            + (f"; inputs {model['preparation']}" if model["preparation"] else ""),
        ),
        ("Inputs", f"sha256 {inputs['digest']}"),
        ("Selection", selection(record)),
        ("Perturbation", spec["words"]["perturbation"]),
        ("Kept when perturbed inputs", spec["words"]["property"]),
        ("Method", _method(method)),
        ("Random numbers", f"seed {spec['seed']}, generator {spec['generator']}"),
        ("Trials", f"{record.trials:,}"),
        ("Time", f"{record.seconds:.1f} s" if record.seconds else "not kept (no store)"),
        ("Started", record.started or "not kept (no store)"),
        ("Made with", ", ".join(f"{k} {v}" for k, v in record.environment.items())),
    ]
    if record.source is not None:
        rows[1:1] = [("Files", f"{record.source.model}, {record.source.data}")]
    return rows


def _method(method: dict[str, Any]) -> str:
    numbers = ", ".join(
        f"{k} {v:g}" for k, v in method.items() if isinstance(v, int | float) and k != "size"
    )
    return f"{method['kind']} ({numbers})"
