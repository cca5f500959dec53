"""What every measuring command shares: its options, the study they make, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surefoot.cli import options as o
from surefoot.cli.output import command_line, present, say_from_store
from surefoot.cli.progress import progress_on_stderr
from surefoot.cli.requirement_options import Requiring

if TYPE_CHECKING:
    from surefoot.search import Attack
    from surefoot.store.records import Source
    from surefoot.study import Study


PropertyOption = Annotated[
    str, typer.Option("--property", help="What must hold: same, true, topk:5, confident:0.6.")
]


SeedOption = Annotated[int, typer.Option(help="Random seed.")]
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
    method: Any


@dataclass(frozen=True)
class Running:
    """The perturbation, and where the outcome goes."""

    perturb: Annotated[
        str,
        typer.Option(
            help="Perturbation and level, for example linf:8/255, rotation:-10..10, fog:s3, "
            "blur:1+jpeg:0.5; `surefoot perturb --list` shows all."
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
        from surefoot.study.parse_perturbation import parse_perturbation
        from surefoot.study.registry import parse_property

        o.check_file(self.report)
        held = parse_property(asked.prop)
        parse_perturbation(self.perturb)  # a mistake in it is found before files are read
        loaded, inputs = reading.load(model, asked.data, self.seed)
        perturbation = parse_perturbation(self.perturb, inputs.frame)
        study = Study(loaded, inputs, perturbation, asked.method, property=held, seed=self.seed)
        return study, reading.source(
            model,
            asked.data,
            command=command_line(),
            perturb=self.perturb,
            property=asked.prop,
        )


def conclude(
    study: Study,
    source: Source,
    running: Running,
    requiring: Requiring,
    attack: Attack | None = None,
) -> int:
    """Run, write the page, print; the exit code says whether what was required holds."""
    from dataclasses import replace

    with progress_on_stderr() as watch:
        found = study.run(
            running.store,
            workers=running.workers,
            batch=running.batch,
            on_progress=watch,
            source=source,
            attack=attack,
        )
    say_from_store(found, running.store)
    found = requiring.applied(replace(found, command=command_line()))
    return present(found, report=running.report, as_json=running.json, kept_in=running.store)
