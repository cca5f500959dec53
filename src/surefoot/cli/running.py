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
from surefoot.cli.requiring import Requiring
from surefoot.cli.screen import exit_code, show_each, show_record

if TYPE_CHECKING:
    from surefoot.engine.attacking import Attack
    from surefoot.results import Decision, Undecided
    from surefoot.store.records import Source
    from surefoot.study import Assessment, Study


PropertyOption = Annotated[
    str, typer.Option("--property", help="What must hold: same, true, topk:5, confident:0.6.")
]


SeedOption = Annotated[int, typer.Option(help="Names the random numbers.")]
ReportOption = Annotated[str | None, typer.Option(help="Write the page here.")]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        min=1, help="Worker threads (default: as many as help).", rich_help_panel=o.RUNNING
    ),
]
BatchOption = Annotated[
    int | None,
    typer.Option(min=1, help="Trials a batch (default: measured).", rich_help_panel=o.RUNNING),
]


@dataclass(frozen=True)
class Asked:
    """What a command was asked to study: one model or several, one property, one method."""

    data: str
    prop: str
    procedure: Any


@dataclass(frozen=True)
class Running:
    """What is disturbed and how, and where the outcome goes."""

    perturb: Annotated[
        str,
        typer.Option(
            help="What disturbs: linf:8/255, rotation:-10..10, fog:s3, blur:1+jpeg:0.5; "
            "`surefoot perturb --list` shows all."
        ),
    ]
    seed: SeedOption = 1
    report: ReportOption = None
    store: o.StoreOption = o.DEFAULT_STORE
    json: o.Json = False
    workers: WorkersOption = None
    batch: BatchOption = None

    def study(self, reading: o.Reading, model: str, asked: Asked) -> tuple[Study, Source]:
        """The study, and what the store remembers of how it was asked for."""
        from surefoot.study import Study
        from surefoot.study.notation import parse_perturbation
        from surefoot.study.registry import parse_property

        o.check_file(self.report)
        held = parse_property(asked.prop)
        parse_perturbation(self.perturb)  # a mistake in it is found before files are read
        loaded, inputs = reading.load(model, asked.data, self.seed)
        perturbation = parse_perturbation(self.perturb, inputs.frame)
        study = Study(loaded, inputs, perturbation, asked.procedure, property=held, seed=self.seed)
        command = "surefoot " + shlex.join(sys.argv[1:])
        told = {"command": command, "perturb": self.perturb, "property": asked.prop}
        return study, reading.source(model, asked.data, **told)


def conclude(
    study: Study,
    source: Source,
    running: Running,
    requiring: Requiring,
    otherwise: Callable[[Assessment], Decision | Undecided] | None = None,
    attack: Attack | None = None,
) -> int:
    """Run, write the page, print; the exit code says whether what was claimed holds.

    `otherwise` is what is claimed where nothing is required.
    """
    from surefoot.report.html import write_report
    from surefoot.report.phrases import verdict

    store = running.store
    with progress_on_stderr() as watch:
        found = study.run(
            store,
            workers=running.workers,
            batch=running.batch,
            watch=watch,
            source=source,
            attack=attack,
        )
    claims = requiring.claims(found)
    if not claims and otherwise is not None:
        claims = [otherwise(found)]
    said = [verdict(claim) for claim in claims]
    if found.from_store:
        sys.stderr.write(
            f"run {study.digest[:12]} was finished before: this is its result from {store}\n"
        )
    if running.report is not None:
        write_report(found.record, Path(running.report), store, " ".join(said))
        sys.stderr.write(f"report written to {running.report}\n")
    each = requiring.each(found)
    if running.json:
        told = jsonlib.loads(found.to_json())
        told["requirements"] = [asdict(claim) for claim in claims]
        told["required_of_each"] = each and {k: asdict(v) for k, v in each.classes.items()}
        typer.echo(jsonlib.dumps(told, ensure_ascii=False))
    else:
        show_record(found.record)
        if each is not None:
            show_each(each)
        for line in said:
            typer.echo(f"\n{line}")
    sys.stderr.write(f"evidence kept in {store}, run {study.digest[:12]}\n")
    return exit_code(claims)
