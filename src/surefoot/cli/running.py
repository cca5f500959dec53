"""What every measuring command shares: its options, the study they make, and how it ends."""

from __future__ import annotations

import json as jsonlib
import shlex
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surefoot.cli import options as o
from surefoot.cli.progress import progress_on_stderr
from surefoot.cli.screen import exit_code, show_record

if TYPE_CHECKING:
    from surefoot.results import Decision, Undecided
    from surefoot.store.records import Source
    from surefoot.study import Assessment, Study


@dataclass(frozen=True)
class Running:
    """What is disturbed and how, and where the outcome goes."""

    perturb: Annotated[
        str,
        typer.Option(
            help="linf, l2, l1, gaussian or uniform (one-sided), with a level: linf:8/255"
        ),
    ]
    prop: Annotated[
        str,
        typer.Option("--property", help="What must hold: same, true, topk:5, confident:0.6."),
    ] = "same"
    seed: Annotated[int, typer.Option(help="Names the random numbers.")] = 1
    report: Annotated[str | None, typer.Option(help="Write the page here.")] = None
    store: o.StoreOption = o.DEFAULT_STORE
    json: o.Json = False
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Worker threads (default: as many as help).", rich_help_panel=o.RUNNING
        ),
    ] = None
    batch: Annotated[
        int | None,
        typer.Option(min=1, help="Trials a batch (default: measured).", rich_help_panel=o.RUNNING),
    ] = None

    def study(self, reading: o.Reading, procedure: Any) -> tuple[Study, Source]:  # noqa: ANN401
        """The study, and what the store remembers of how it was asked for."""
        from surefoot.study import Study
        from surefoot.study.registry import parse_perturbation, parse_property

        o.check_folder(self.report)
        perturbation, held = parse_perturbation(self.perturb), parse_property(self.prop)
        model, inputs = reading.load(self.seed)
        study = Study(model, inputs, perturbation, procedure, property=held, seed=self.seed)
        command = "surefoot " + shlex.join(sys.argv[1:])
        return study, reading.source(command=command, perturb=self.perturb, property=self.prop)


def conclude(
    study: Study,
    source: Source,
    running: Running,
    claim: Callable[[Assessment], Decision | Undecided | None],
) -> int:
    """Run, write the page, print; the exit code says whether what was claimed holds."""
    from surefoot.report.html import write_report
    from surefoot.report.words import verdict

    store = running.store
    with progress_on_stderr() as watch:
        found = study.run(
            store, workers=running.workers, batch=running.batch, watch=watch, source=source
        )
    decision = claim(found)
    said = "" if decision is None else verdict(decision)
    if found.from_store:
        sys.stderr.write(
            f"run {study.digest[:12]} was finished before: this is its result from {store}\n"
        )
    if running.report is not None:
        write_report(found.record, Path(running.report), store, said)
        sys.stderr.write(f"report written to {running.report}\n")
    if running.json:
        whole = {**jsonlib.loads(found.to_json()), "requirement": decision and asdict(decision)}
        typer.echo(jsonlib.dumps(whole, ensure_ascii=False))
    else:
        show_record(found.record)
        if decision is not None:
            typer.echo(f"\n{said}")
    sys.stderr.write(f"evidence kept in {store}, run {study.digest[:12]}\n")
    return exit_code(decision)
