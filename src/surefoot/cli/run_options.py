"""What the measuring commands share: a request, the studies it becomes, the run and its end."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from surefoot.cli import options as o
from surefoot.cli.input_options import InputOptions
from surefoot.cli.numbers import duration
from surefoot.cli.output import command_line, present, say_what_is_from_store
from surefoot.cli.output_files import check_page_file
from surefoot.cli.progress import progress_on_stderr
from surefoot.cli.requirement_options import RequirementOptions

if TYPE_CHECKING:
    from surefoot.region import Attack
    from surefoot.store.records import Source
    from surefoot.study import Result, Study


@dataclass(frozen=True)
class RunOptions:
    """The seed, where the result goes, and how the work is divided."""

    seed: o.SeedOption = 1
    report: o.ReportOption = None
    store: o.StoreOption = o.DEFAULT_STORE
    json: o.Json = False
    workers: o.WorkersOption = None
    batch: o.BatchOption = None
    time_limit: o.TimeLimitOption = None

    def check(self) -> None:
        """Refuse what cannot be written or is no time, before anything is read."""
        check_page_file("--report", self.report)
        self.seconds()

    def seconds(self) -> float | None:
        """The time limit, if there is one."""
        return None if self.time_limit is None else duration("--time-limit", self.time_limit)

    def finish(self, result: Result, figure: str | None = None) -> int:
        """Write and print the result; the exit code."""
        return present(
            result, report=self.report, figure=figure, as_json=self.json, store=self.store
        )


@dataclass(frozen=True)
class StudyRequest:
    """What is to be studied: data and perturbation as typed, the method already built."""

    inputs: InputOptions
    data: str
    perturb: str
    property: str
    method: Any

    def study(self, model: str, seed: int) -> tuple[Study, Source]:
        """The study of one model, and what the store remembers of how it was requested."""
        studies, sources = self.studies({"": model}, seed)
        return studies[""], sources[""]

    def studies(
        self, models: dict[str, str], seed: int
    ) -> tuple[dict[str, Study], dict[str, Source]]:
        """The studies of several models on the same inputs, by name."""
        from surefoot.study import Study
        from surefoot.study.parse_perturbation import parse_perturbation
        from surefoot.study.registry import parse_property

        prop = parse_property(self.property)
        parse_perturbation(self.perturb)  # refuses a mistake before files are read
        loaded, inputs = self.inputs.load_all(list(models.values()), self.data, seed)
        perturbation = parse_perturbation(self.perturb, inputs.frame)
        studies = {
            name: Study(model, inputs, perturbation, self.method, property=prop, seed=seed)
            for name, model in zip(models, loaded, strict=True)
        }
        return studies, {name: self._source(path, models.values()) for name, path in models.items()}

    def _source(self, model: str, models: Collection[str]) -> Source:
        together = {"models": list(models)} if len(models) > 1 else {}
        return self.inputs.source(
            model,
            self.data,
            command=command_line(),
            perturb=self.perturb,
            property=self.property,
            **together,
        )


def run_study(
    request: StudyRequest,
    model: str,
    options: RunOptions,
    requirement: RequirementOptions,
    attack: Attack | None = None,
) -> int:
    """Run, write the report, print; the exit code says whether the requirement holds."""
    options.check()
    study, source = request.study(model, options.seed)
    with progress_on_stderr() as watch:
        result = study.run(
            options.store,
            workers=options.workers,
            batch=options.batch,
            on_progress=watch,
            source=source,
            attack=attack,
            time_limit=options.seconds(),
        )
    say_what_is_from_store(result, options.store)
    return options.finish(requirement.apply(replace(result, command=command_line())))
