"""The studies of an evidence file made again from models and data, and compared with the file."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from surefoot.catalogue.methods import METHODS
from surefoot.catalogue.parse import parse_perturbation, parse_range
from surefoot.catalogue.registry import PROPERTIES, parse_property, perturbation_of
from surefoot.conclude.comparison import LEVELS
from surefoot.conclude.facts import StudyFacts
from surefoot.core.procedure import Needs
from surefoot.engine.progress import Progress
from surefoot.errors import InvalidArgument
from surefoot.evidence.answers import Check, Status, any_is, of_part
from surefoot.evidence.check import verify_command
from surefoot.evidence.check_words import command_words
from surefoot.evidence.recompute import NotRecomputed, facts_of
from surefoot.evidence.statement import Evidence, first_difference
from surefoot.inputs import fit
from surefoot.perturb._ops.arrays import at_level
from surefoot.records.json_records import decisive_json
from surefoot.records.options import FileOptions
from surefoot.records.record import Comparison
from surefoot.records.spec import StudySpec
from surefoot.study.load_files import load_files
from surefoot.study.study import Study
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Model, Perturbation, Property, Scores
from surefoot.system.text import Json

PROOFS = 3
"""Proofs that are done again, where nothing else is said: each may take as long as in the run."""
_NO_TIME = 1e-9
"""Seconds: a limit that is over before anything is run."""


@dataclass(frozen=True, eq=False)
class RerunRequest:
    """What a second party has and wants to run again.

    `models` has one, or those of a comparison in any order. `perturb` and `property` are needed
    where they are code of the user's own, which is not in the file. `seed` is the second party's
    own. Without a `share`, enough is run again to notice who altered one trial in twenty
    (`draw_trials`).
    """

    models: tuple[Any, ...]
    data: Any
    seed: int
    files: FileOptions = field(default_factory=FileOptions)
    share: float | None = None
    proofs: int = PROOFS
    perturb: Any = None
    property: Any = None
    time_limit: float | None = None
    on_progress: Callable[[Progress], None] = lambda _: None
    announce: Callable[[str], None] = lambda _: None

    def since(self, begun: float) -> RerunRequest:
        """The same with what is left of its time after `begun`, on the monotonic clock."""
        if self.time_limit is None:
            return self
        left = max(begun + self.time_limit - time.monotonic(), _NO_TIME)
        return replace(self, time_limit=left)


_BROKEN = (ArithmeticError, LookupError, TypeError, ValueError, AttributeError)
"""What a class raises for options that it does not have."""


@dataclass(frozen=True, eq=False)
class RebuiltRun:
    """A run of the file and its study made again; `name` is empty where there is only one run."""

    name: str
    evidence: Evidence
    study: Study


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """Whether these are models and data of the file, and the runs of which everything is the same.

    No runs where something is not.
    """

    checks: tuple[Check, ...]
    runs: tuple[RebuiltRun, ...] = ()


def rebuild(evidence: Evidence, request: RerunRequest) -> Rebuilt:
    """Read models and data, compare their digests with the file, and make the studies again."""
    parts = evidence.members_here
    checks: list[Check] = []
    for name in evidence.members.keys() - parts.keys():
        reason = "it was run on other inputs than these; check the evidence of that run by itself"
        checks.append(Status.OPEN.of(f"Nothing of {name} can be run again: {reason}."))
    recorded: dict[str, StudyFacts] = {}
    for name, part in parts.items():
        try:
            recorded[name] = facts_of(part.record, part.entries)
        except NotRecomputed as error:
            of = f" of {name}" if name else ""
            checks.append(Status.OPEN.of(f"Nothing{of} can be run again: {error}."))
        program = part.study.method.text("verifier")
        if program and not request.files.trust:  # never started only because a file names it
            raise InvalidArgument(
                f"the proofs of this file are those of a program that it names ({program[:80]!r}): "
                "pass --trust (trust=True) to run it here"
            )
    if not recorded:
        return Rebuilt(tuple(checks))
    known = {name: parts[name] for name in recorded}

    @cache
    def load(seed: int, needs: Scores | None) -> tuple[list[Model], Inputs]:
        return load_files(request.files, list(request.models), request.data, seed, needs)

    own: dict[str, tuple[Model, Inputs]] = {}
    models: list[Model] = []
    for name, part in known.items():
        models, inputs = load(part.study.seed, _property(part.study, request).needs)
        model = model_of(part, known, models)
        if model is not None:
            own[name] = model, inputs
    checks += compare_models(known, models)
    again = verify_command(evidence)
    if not any_is(Status.REFUTED, checks):
        checks += dict.fromkeys(compare_data(known[n], *one, again) for n, one in own.items())
    if any_is(Status.REFUTED, checks):
        return Rebuilt(tuple(checks))
    details = evidence.record.details
    by_level = isinstance(details, Comparison) and details.along == LEVELS
    runs = []
    for name, (model, inputs) in own.items():
        spec = known[name].study
        perturbation = _perturbation(spec, request, inputs, model)
        level = spec.perturbation.number("level") if by_level else None
        study = Study(
            model,
            inputs,
            perturbation if level is None else at_level(perturbation, level),
            recorded[name].method,
            property=_property(spec, request),
            population=recorded[name].population,
            seed=spec.seed,
            by_class=spec.by_class,
        )
        other = other_difference(known[name], study, again)
        if other is None:
            runs.append(RebuiltRun(name, known[name], study))
        else:
            checks.append(of_part(name, other))
    return Rebuilt(tuple(checks), () if any_is(Status.REFUTED, checks) else tuple(runs))


def compare_models(parts: Mapping[str, Evidence], models: Sequence[Model]) -> list[Check]:
    """One check for each model of the file, or one for each that is none of the file's."""
    named: dict[str, list[str]] = {}
    for name, part in parts.items():
        named.setdefault(part.study.model.digest, []).append(name)
    given = [model.signature.digest for model in models]
    if strange := [digest for digest in given if digest not in named]:
        return [_stranger(digest, named) for digest in strange]
    checks = []
    for spec in {p.study.model.digest: p.study.model for p in parts.values()}.values():
        names = named[spec.digest]
        model = "Model" if len(names) == len(parts) else f"Model ({and_words(names)})"
        if spec.digest in given:
            covers = spec.covers or "the model"
            words = f"{model}: yes, its SHA-256 is {spec.digest} ({covers})."
            checks.append(Status.FOLLOWS.of(words))
            continue
        words = (
            f"{model}: it was not given, so that nothing of its run is run again. The file names "
            f"SHA-256 {spec.digest}: pass every model of the comparison (--model A --model B); "
            "inputs that were chosen for all of them together (--correct-only) need them all."
        )
        checks.append(Status.OPEN.of(words))
    return checks


def _stranger(digest: str, named: Mapping[str, Sequence[str]]) -> Check:
    if len(named) == 1:
        words = f"Its SHA-256 is {digest}, the file names {next(iter(named))}."
        return Status.REFUTED.of(f"No: this is not the model of the run. {words}")
    those = ", ".join(f"{known} ({and_words(names)})" for known, names in named.items())
    return Status.REFUTED.of(
        f"No: a model that was given is that of none of the {len(named)}. Its SHA-256 is {digest}, "
        f"the file names {those}.",
    )


def model_of(
    part: Evidence, parts: Mapping[str, Evidence], models: Sequence[Model]
) -> Model | None:
    """The one of this run: of several with its digest the one at its place, else the first."""
    kinds = {(p.study.model.digest, p.study.model.answers): None for p in parts.values()}
    spec = part.study.model
    place = list(kinds).index((spec.digest, spec.answers))
    in_order = [*models[place : place + 1], *models]
    return next((model for model in in_order if model.signature.digest == spec.digest), None)


def compare_data(part: Evidence, model: Model, inputs: Inputs, again: str) -> Check:
    """Whether these are the inputs of a run; `again` is the command that checks the file."""
    spec = part.study.inputs
    try:
        here = fit(inputs, model.signature.shape).digest()
    except InvalidArgument as error:
        return Status.REFUTED.of(f"No: these are not the data of the run: {error}.")
    if here == spec.digest:
        return Status.FOLLOWS.of(f"Data: yes, {spec.number:,} inputs with digest {here}.")
    return Status.REFUTED.of(
        f"No: these are not the inputs of the run. Here are {len(inputs):,} with digest {here} "
        f"({inputs.selection or 'all inputs'}), the file names {spec.number:,} with digest "
        f"{spec.digest} ({spec.selection or 'all inputs'}).",
        f"If the data are the same, read and choose the inputs as the run did: {again}.",
    )


def and_words(names: Sequence[str]) -> str:
    """a, b and c."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _perturbation(
    spec: StudySpec, request: RerunRequest, inputs: Inputs, model: Model
) -> Perturbation:
    own, part = request.perturb, spec.perturbation
    if own is not None and not isinstance(own, str):
        given: Perturbation = own
        return given
    if own is not None:
        if METHODS[spec.method.kind].needs is Needs.LEVELS:
            return parse_range(own, inputs.frame, model.signature.bounds)[0]
        return parse_perturbation(own, inputs.frame)
    try:
        return perturbation_of(part.kind, part.options)
    except _BROKEN as error:
        raise InvalidArgument(
            f"the perturbation {part.kind} is code of its user, which is not in this file: pass it "
            "as in the run (--perturb mine.py:name:0.1, perturb=)"
        ) from error


def _property(spec: StudySpec, request: RerunRequest) -> Property:
    own, part = request.property, spec.property
    if own is not None:
        parsed: Property = parse_property(own) if isinstance(own, str) else own
        return parsed
    try:
        prop: Property = PROPERTIES[part.kind](**part.options)
    except _BROKEN as error:
        raise InvalidArgument(
            f"the property {part.kind} is code of its user, which is not in this file: pass it as "
            "in the run (--property @module:name, property=)"
        ) from error
    return prop


def other_difference(evidence: Evidence, study: Study, again: str) -> Check | None:
    """What else of the study is not as in the file; None where its digest is the run's name.

    `again` is the command that checks the file.
    """
    if study.digest == evidence.record.digest:
        return None
    here, there = (json.loads(decisive_json(spec)) for spec in (study.spec, evidence.study))
    name = first_difference(here, there, exactly=True) or "a part of the study"
    if name in ("generator", "block"):
        return Status.OPEN.of(
            f"The trials cannot be run again here: the run drew its random numbers with "
            f"{there['generator']}, and this model draws them with {here['generator']}: run it on "
            "the same kind of device (--device).",
        )
    if name == "model.answers":
        return Status.REFUTED.of(
            "No: the digest covers only a part of this model, and it answers the clean inputs "
            "otherwise than in the run.",
        )
    if name == "format":
        raise InvalidArgument(
            f"the run has trials of format {there['format']}, and this surefoot runs those of "
            f"{here['format']}: use the version that wrote the file"
        )
    raise InvalidArgument(
        f"{name} of the study is {_at(here, name)} here and {_at(there, name)} in the file: "
        f"{_way_out(name.split('.')[0], evidence, again)}"
    )


def _way_out(name: str, evidence: Evidence, again: str) -> str:
    """What to add to the command that checks the file."""
    own = {"perturbation": "perturb", "property": "property"}.get(name)
    if own is not None:
        return f"pass it as in the run (--{own}){command_words(evidence)}"
    bounds = evidence.study.bounds
    if name == "bounds" and bounds is not None:
        ends = ",".join(repr(end).removesuffix(".0") for end in (bounds.low, bounds.high))
        return f"add --bounds {ends}: {again}"
    return f"read model and data as the run did: {again}"


def _at(plain: Json, name: str) -> str:
    """The part of this name, shortly."""
    for part in name.split("."):
        if isinstance(plain, list) and part.isdecimal() and int(part) < len(plain):
            plain = plain[int(part)]
        elif isinstance(plain, dict) and part in plain:
            plain = plain[part]
        else:
            return "missing"
    return json.dumps(plain)[:80]
