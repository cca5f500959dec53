"""One self-contained page: no script, no network, everything escaped."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from surefoot.errors import ReportFailed
from surefoot.report import words
from surefoot.report.attacks import baseline_table
from surefoot.report.figures import class_intervals, local_results, tails
from surefoot.report.phrases import percent
from surefoot.report.tables import class_table, contrast_table
from surefoot.results import ExtrapolatedMean
from surefoot.store.records import AnyRecord, Record

DEFAULT_STORE = "surefoot.db"


def render(record: Record, store: str = DEFAULT_STORE, verdict: str = "") -> str:
    """The page as text."""
    return page("page.html.j2", verdict=verdict, **_content(record, store))


def page(template: str, **content: Any) -> str:  # noqa: ANN401
    """A page made from its template."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    pages = Environment(
        loader=PackageLoader("surefoot.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return pages.get_template(template).render(**content)


def _content(record: Record, store: str) -> dict[str, Any]:
    extrapolates = isinstance(record.population, ExtrapolatedMean)
    return {
        "record": record,
        "headline": words.headline(record),
        "about": words.about(record),
        "cautions": words.cautions(record),
        "how_sure": words.how_sure(record),
        "assumptions": words.assumptions(record),
        "facts": words.facts(record),
        "selection": words.selection(record),
        "baseline": baseline_table(record),
        "histogram": local_results(record),
        "tails": tails(record) if extrapolates else "",
        "class_figure": class_intervals(record) if record.classes else "",
        "class_caption": "Dot: over the inputs studied. Line: interval for the class's population."
        + (" Diamond: the extrapolated average." if extrapolates else ""),
        "classes": class_table(record) if record.classes else None,
        "differ": contrast_table(record),
        "strongest": words.strongest(record),
        "exhibits": [
            (e, percent(e.robustness), words.replay_command(record, e.id, e.trial, store))
            for e in record.exhibits
        ],
        "again": repeat_command(record, store),
        "provenance": provenance(record),
    }


def repeat_command(record: AnyRecord, store: str) -> str:
    """What to type to repeat the whole run, if it came from the command line."""
    if record.source is None:
        return ""
    command = record.source.options.get("command", "")
    return str(command) if command else f"surefoot show {record.digest[:12]} --store {store}"


def provenance(record: AnyRecord) -> list[tuple[str, str]]:
    """What was run on what, line by line."""
    spec = record.spec
    model, inputs, procedure = spec["model"], spec["inputs"], spec["procedure"]
    rows = [
        ("Study", record.digest),
        ("Model", f"sha256 {model['digest']} (covers {model['covers']})"),
        (
            "Model takes",
            f"shape {tuple(model['shape'])}, gives {model['classes']} {model['scores']}"
            + (f"; inputs {model['preparation']}" if model["preparation"] else ""),
        ),
        ("Inputs", f"sha256 {inputs['digest']}"),
        ("Selection", words.selection(record)),
        ("Perturbation", spec["words"]["perturbation"]),
        ("Holds when perturbed inputs", spec["words"]["property"]),
        ("Method", _method(procedure)),
        ("Random numbers", f"seed {spec['seed']}, generator {spec['generator']}"),
        ("Trials", f"{record.trials:,}"),
        ("Time", f"{record.seconds:.1f} s" if record.seconds else "not kept (no store)"),
        ("Started", record.started or "not kept (no store)"),
        ("Made with", ", ".join(f"{k} {v}" for k, v in record.environment.items())),
    ]
    if record.source is not None:
        rows[1:1] = [("Files", f"{record.source.model}, {record.source.data}")]
    return rows


def _method(procedure: dict[str, Any]) -> str:
    numbers = ", ".join(
        f"{k} {v:g}" for k, v in procedure.items() if isinstance(v, int | float) and k != "size"
    )
    return f"{procedure['kind']} ({numbers})"


def write_report(record: Record, path: Path, store: str = DEFAULT_STORE, verdict: str = "") -> Path:
    """Write the page beside its place, then move it there: whole or not at all."""
    write_whole(path, render(record, store, verdict))
    return path


def write_whole(path: Path, content: str | bytes) -> None:
    """Replace a file in one step."""
    beside = ""
    try:
        handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        Path(beside).chmod(0o666 & ~mask)
        Path(beside).replace(path.resolve())
    except OSError as error:
        if beside:
            Path(beside).unlink(missing_ok=True)
        raise ReportFailed(
            f"{path} cannot be written ({error.strerror or error}): choose another place; "
            "nothing was left half-written"
        ) from error
