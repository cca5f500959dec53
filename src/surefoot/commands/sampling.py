"""Sampling at one level, or at several: the run that `estimate`, `certify` and `tail` share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from surefoot.catalogue.parse import at_level, written_level
from surefoot.commands.caller import Caller
from surefoot.commands.option import option_name
from surefoot.commands.options import (
    BatchOptions,
    LevelsOptions,
    RunOptions,
    chosen_levels,
)
from surefoot.commands.requirement_options import DecisionRequirementOptions, RequirementOptions
from surefoot.commands.subjects import Subjects, read_subjects
from surefoot.commands.values import as_perturbation, as_property
from surefoot.engine.progress import Progress
from surefoot.errors import InvalidArgument
from surefoot.records.record import Source
from surefoot.region import AnyAttack
from surefoot.study import Result, Study, sweep
from surefoot.study.comparison import studies_by_level
from surefoot.study.load_files import FileOptions


@dataclass(frozen=True, eq=False)
class SamplingRequest:
    """What is to be sampled: model, data and perturbation as given, the method already built."""

    model: Any
    data: Any
    perturb: Any
    inputs: FileOptions
    property: Any
    method: Any

    def study(self, seed: int, caller: Caller) -> tuple[Study, Source | None]:
        """The study, and what a store remembers of how it was requested."""
        prop = as_property(self.property)
        as_perturbation(self.perturb)  # refuses a mistake before files are read
        subjects = read_subjects({"": self.model}, self.data, self.inputs, seed, prop.needs)
        study = self.of_model("", subjects, prop, seed)
        return study, subjects.source("", caller, self.perturb, self.property)

    def of_model(self, name: str, subjects: Subjects, prop: Any, seed: int) -> Study:  # noqa: ANN401  any property
        """The study of one of the models."""
        perturbation = as_perturbation(self.perturb, subjects.inputs.frame)
        model = subjects.models[name]
        return Study(model, subjects.inputs, perturbation, self.method, property=prop, seed=seed)


def run_sampling(
    request: SamplingRequest,
    levels: LevelsOptions,
    requirement: RequirementOptions | DecisionRequirementOptions,
    running: RunOptions,
    batches: BatchOptions,
    caller: Caller,
    attack: AnyAttack | None = None,
) -> Result:
    """Run at the level of the perturbation, or at every one of `levels`; write the files."""
    requirement.check()
    levels.check()
    running.check()
    more = {**running.arguments(), **batches.arguments(), "attack": attack}
    if levels.levels is not None:
        if requirement:
            raise InvalidArgument(
                "a requirement is about one level: leave out levels (--levels), or leave out "
                "require (--require) and require_each (--require-each)"
            )
        result = _sweep(
            request, chosen_levels(levels.levels, request.perturb), running.seed, caller, more
        )
        return running.write(result, caller.command, levels.figure)
    study, source = request.study(running.seed, caller)
    requirement.check_classes(study)
    with caller.display("inputs") as watch:
        result = study.run(
            on_progress=watch,
            on_interrupt=caller.on_interrupt,
            on_workers=caller.on_workers,
            source=source,
            **more,
        )
    return running.write(requirement.apply(result), caller.command)


def _sweep(
    request: SamplingRequest,
    levels: tuple[float, ...],
    seed: int,
    caller: Caller,
    more: dict[str, Any],
) -> Result:
    """The same study at every level."""
    text = request.perturb
    rising = sorted(set(levels))
    first = at_level(text, rising[0]) if isinstance(text, str) else replace(text, level=rising[0])
    study, source = replace(request, perturb=first).study(seed, caller)
    names = list(studies_by_level(study, levels))  # refuses bad levels before anything is said
    if isinstance(text, str) and (written := written_level(text)):
        each = option_name("levels")
        use = f"is scaled to each of {each}" if ".." in written else f"is not used with {each}"
        caller.remark(f"{written} in {option_name('perturb')} {text} {use}")
    sources = None
    if source is not None:
        texts = [at_level(text, level) for level in rising]
        sources = {n: replace(source, perturb=t) for n, t in zip(names, texts, strict=True)}
    run = partial(sweep, study, levels)
    return run_each(run, names, sources, caller, part="level", **more)


def run_each(
    run: Any,  # noqa: ANN401  `compare` or `sweep`, with its studies bound
    names: list[str],
    sources: dict[str, Source] | None,
    caller: Caller,
    *,
    part: str,
    unit: str = "inputs",
    **more: Any,  # noqa: ANN401  handed on as they are
) -> Result:
    """Several studies one after the other, each announced, shown as one result."""
    place = 0

    def announce(name: str) -> None:
        nonlocal place
        place += 1
        if len(names) > 1:
            caller.announce(f"{part} {name} ({place} of {len(names)})")

    with caller.display(unit) as watch:

        def watch_part(now: Progress) -> None:
            if len(names) > 1:
                doing = f"{part} {place} of {len(names)}, {now.doing}"
                now = replace(now, part=place, parts=len(names), doing=doing)
            watch(now)

        result: Result = run(
            on_progress=watch_part,
            sources=sources,
            on_start=announce,
            on_workers=caller.on_workers,
            **more,
        )
    return result
