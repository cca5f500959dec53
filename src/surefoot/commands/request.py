"""What a command was asked for: models and inputs as its options say, and the runs they share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from surefoot.catalogue.methods import PublishedDoubling
from surefoot.catalogue.parse import at_level, level_reader, written_level
from surefoot.commands import options as o
from surefoot.commands import values as v
from surefoot.commands.caller import Caller
from surefoot.engine.progress import Progress
from surefoot.errors import InvalidArgument
from surefoot.models.endpoint_connection import is_address, read_address
from surefoot.records.options import FileOptions, option_name, refused_value
from surefoot.records.record import Source
from surefoot.region.attack_method import AnyAttack
from surefoot.study import Result, Study, sweep
from surefoot.study.load_files import load_files
from surefoot.study.study import studies_by_level
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Model, Property


@dataclass(frozen=True, eq=False)
class Subjects:
    """Models by name, the inputs chosen for all of them, and what the user gave for them.

    `kept_if` is the property as it was given, or what labels allow.
    """

    models: Mapping[str, Model]
    inputs: Inputs
    given: Mapping[str, v.AnyModel]
    data: v.AnyData
    reading: FileOptions
    kept_if: v.Given

    @property
    def property(self) -> Property:
        """When an output counts as kept."""
        return v.as_property(self.kept_if)

    def source(self, name: str, caller: Caller, perturb: v.AnyPerturbation) -> Source | None:
        """What a store remembers of the request; None where a part of it is in memory."""
        texts = [*self.given.values(), self.data, perturb, self.kept_if]
        if not all(isinstance(text, str | Path) for text in texts):
            return None
        reading = {f.name: getattr(self.reading, f.name) for f in fields(FileOptions)}
        if not all(map(v.is_plain, reading.values())):
            return None
        paths = [str(path) for path in self.given.values()]
        return Source(
            str(self.given[name]),
            str(self.data),
            {name: value for name, value in reading.items() if value is not None},
            command=caller.command,
            perturb=perturb,
            property=self.kept_if,
            models=tuple(paths) if len(paths) > 1 else (),
            study=caller.study,
        )


def read_subjects(
    models: Mapping[str, v.AnyModel],
    data: v.AnyData,
    reading: FileOptions,
    seed: int,
    kept_if: v.Given = None,
) -> Subjects:
    """Load the models, as the property reads them, and the inputs that are chosen for all."""
    needs = None if kept_if is None else v.as_property(kept_if).needs
    loaded, inputs = load_files(reading, list(models.values()), data, seed, needs)
    named = dict(zip(models, loaded, strict=True))
    return Subjects(named, inputs, models, data, reading, v.property_for(kept_if, inputs))


def load(
    models: v.AnyModel, data: v.AnyData, *, seed: int = 1, inputs: FileOptions
) -> tuple[v.AnyModel, Inputs]:
    """Models, and the inputs chosen for all of them, read as the commands read them.

    For a `sf.Study` of your own: bounds, shapes and classes of model and data are made to fit.
    `models`: one, or several in a list or by name in a dict; they come back in the same way. The
    options are those of `sf.estimate` about reading model and data and choosing inputs; the seed
    is for a random choice.

    Example: model, inputs = sf.load("model.onnx", "test.npz", first=100)
    """
    if isinstance(models, Mapping):
        loaded, chosen = load_files(inputs, list(models.values()), data, seed)
        return dict(zip(models, loaded, strict=True)), chosen
    alone = not isinstance(models, list | tuple)
    loaded, chosen = load_files(inputs, [models] if alone else models, data, seed)
    return (loaded[0] if alone else loaded), chosen


def named_models(models: v.AnyModel) -> dict[str, v.AnyModel]:
    """Several models by name: of a mapping its keys, of files their names, else a number."""
    if isinstance(models, Mapping):
        return {str(name): model for name, model in models.items()}
    if not isinstance(models, list | tuple):
        return {"": models}
    if len(models) == 1:
        return {"": models[0]}
    return dict(zip(_names(models), models, strict=True))


def _names(models: Sequence[v.AnyModel]) -> list[str]:
    """File names, or whole paths where file names are ambiguous; `model 2` of one in memory.

    A model behind an address has its own name; its version and its host are added where two would
    be called the same.
    """
    paths = [str(m) if isinstance(m, str | Path) else f"model {i}" for i, m in enumerate(models, 1)]
    for detail in range(3):
        names = [_name(path, detail) for path in paths]
        if len(set(names)) == len(names):
            return names
    if len(set(paths)) < len(paths):
        raise InvalidArgument("the same model is named twice: compare different models")
    return paths


def _name(path: str, detail: int) -> str:
    if not is_address(path):
        return path if detail == 2 else Path(path).name
    address = read_address(path, None)
    version = f" version {address.version}" if detail and address.version is not None else ""
    host = f" on {address.server.partition('://')[2]}" if detail == 2 else ""
    return f"{address.name}{version}{host}"


@dataclass(frozen=True, eq=False)
class SamplingRequest:
    """What is to be sampled: model, data and perturbation as given, the method already built."""

    model: v.AnyModel
    data: v.AnyData
    perturb: v.AnyPerturbation
    inputs: FileOptions
    property: v.Given
    method: v.AnyMethod
    anytime: bool | int = False
    by_class: bool = False

    def study(self, seed: int, caller: Caller) -> tuple[Study, Source | None]:
        """The study, and what a store remembers of how it was requested."""
        v.as_perturbation(self.perturb)  # refuses a mistake before files are read
        subjects = read_subjects({"": self.model}, self.data, self.inputs, seed, self.property)
        study = self.of_model("", subjects, seed)
        return study, subjects.source("", caller, self.perturb)

    def of_model(self, name: str, subjects: Subjects, seed: int) -> Study:
        """The study of one of the models."""
        perturbation = v.as_perturbation(self.perturb, subjects.inputs.frame)
        study = Study(
            subjects.models[name], subjects.inputs, perturbation, self.method,
            property=subjects.property, seed=seed, by_class=self.by_class or None,
        )  # fmt: skip
        if not self.anytime:
            return study
        over: Any = study.aggregate
        return replace(study, population=replace(over, anytime=self.anytime))


def run_sampling(
    request: SamplingRequest,
    levels: o.LevelsOptions,
    requirement: o.RequirementOptions | o.DecisionRequirementOptions,
    running: o.BatchOptions,
    caller: Caller,
    attack: AnyAttack | None = None,
) -> Result:
    """Run at the level of the perturbation, or at every one of `levels`; write the files."""
    wanted = o.required(requirement)
    levels.check()
    running.check()
    demands = wanted != o.Required() or running.clean_accuracy is not None
    if isinstance(request.method, PublishedDoubling) and (demands or levels.levels is not None):
        raise refused_value(
            "method",
            "published-doubling",
            "promises nothing, so that no requirement and no comparison of levels can rest on it: "
            "use kappa-test (--method kappa-test), or leave out require (--require) and levels "
            "(--levels)",
        )
    more = {**running.arguments(), "attack": attack}
    if levels.levels is not None:
        if demands:
            raise InvalidArgument(
                "a requirement is about one level: leave out levels (--levels), or leave out "
                "require (--require) and require_each (--require-each)"
            )
        result = _sweep(request, levels.levels, running.seed, caller, more)
        return running.finish(result, caller.command, levels.figure)
    study, source = request.study(running.seed, caller)
    wanted.check_classes(study)
    running.check_clean(study.inputs)
    result = run_one(study, source, caller, **more)
    return running.finish(result, caller.command, **vars(wanted))


def run_one(study: Study, source: Source | None, caller: Caller, **more: v.Given) -> Result:
    """One study, its progress shown."""
    with caller.display("inputs") as watch:
        return study.run(
            on_progress=watch,
            on_interrupt=caller.on_interrupt,
            on_workers=caller.on_workers,
            source=source,
            **more,
        )


def _sweep(
    request: SamplingRequest, given: v.Numbers, seed: int, caller: Caller, more: dict[str, v.Given]
) -> Result:
    """The same study at every level; a level may have the unit of the perturbation: 20dB."""
    text = request.perturb
    if isinstance(given, str) and isinstance(text, str):
        levels = tuple(map(level_reader(text), given.split(",")))
    else:
        levels = v.as_numbers("levels", given)
    rising = sorted(set(levels))
    first = at_level(text, rising[0]) if isinstance(text, str) else replace(text, level=rising[0])
    study, source = replace(request, perturb=first).study(seed, caller)
    names = list(studies_by_level(study, levels))  # refuses bad levels before anything is said
    if isinstance(text, str) and (written := written_level(text)):
        each = option_name("levels")
        use = f"is scaled to each of {each}" if ".." in written else f"is not used with {each}"
        caller.remark(f"{written} in {option_name('perturb')} {text} {use}")
    sources = {
        name: None if source is None else replace(source, perturb=at_level(text, level))
        for name, level in zip(names, rising, strict=True)
    }
    run = partial(sweep, study, levels)
    return run_each(run, sources, caller, part="level", **more)


def run_each(
    run: Callable[..., Result],
    sources: Mapping[str, Source | None],
    caller: Caller,
    *,
    part: str,
    unit: str = "inputs",
    **more: v.Given,
) -> Result:
    """Several studies one after the other, each announced, shown as one result.

    `sources`, one for each study, are kept only where all of them have one.
    """
    place, number = 0, len(sources)
    known = {name: source for name, source in sources.items() if source is not None}

    def announce(name: str) -> None:
        nonlocal place
        place += 1
        if number > 1:
            caller.announce(f"{part} {name} ({place} of {number})")

    with caller.display(unit) as watch:

        def watch_part(now: Progress) -> None:
            if number > 1:
                doing = f"{part} {place} of {number}, {now.doing}"
                now = replace(now, part=place, parts=number, doing=doing)
            watch(now)

        return run(
            on_progress=watch_part,
            sources=known if len(known) == number else None,
            on_start=announce,
            on_workers=caller.on_workers,
            **more,
        )
