"""The study of an evidence file made again from model and data, and compared with the file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from surefoot.engine.progress import Progress
from surefoot.errors import InvalidArgument
from surefoot.evidence_file.differences import first_difference
from surefoot.evidence_file.statement import Evidence
from surefoot.input_set import Inputs
from surefoot.inputs import fit
from surefoot.methods import METHODS
from surefoot.procedure import Needs
from surefoot.store.json_records import decisive_json
from surefoot.store.spec import StudySpec
from surefoot.study.evidence_answers import Check, Status
from surefoot.study.load_files import FileOptions
from surefoot.study.parse_perturbation import parse_perturbation, parse_range
from surefoot.study.recompute import NotRecomputed, recorded_study
from surefoot.study.recorded_perturbation import perturbation_of
from surefoot.study.recorded_study import method_of
from surefoot.study.registry import PROPERTIES, parse_property
from surefoot.study.study import Study
from surefoot.subject import Model, Perturbation, Property

PROOFS = 3
"""Proofs that are done again, where nothing else is said: each may take as long as in the run."""
_BROKEN = (ArithmeticError, LookupError, TypeError, ValueError, AttributeError)
"""What a class raises for options that it does not have."""


@dataclass(frozen=True, eq=False)
class RerunRequest:
    """What a second party has and wants to run again.

    `perturb` and `property` are needed where they are code of the user's own, which is not in the
    file. `seed` is the second party's own. Without a `share`, enough is run again to notice who
    altered one trial in twenty (`draw_trials`).
    """

    model: Any
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

    def __post_init__(self) -> None:
        if self.share is not None and not 0 < self.share <= 1:
            raise InvalidArgument(
                f"share (--share) is the part of the trials to run again, above 0 and at most 1, "
                f"got {self.share:g}: try 0.01"
            )
        if self.proofs < 0:
            raise InvalidArgument(
                f"proofs (--proofs) are at least 0, got {self.proofs}: try {PROOFS}"
            )
        if self.seed < 0:
            raise InvalidArgument(
                f"seed (--seed) is an integer of at least 0, got {self.seed}: leave it out for a "
                "fresh one"
            )


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """Whether these are model and data of the file, and the study, where everything is the same."""

    checks: tuple[Check, ...]
    study: Study | None = None


def rebuild(evidence: Evidence, request: RerunRequest) -> Rebuilt:
    """Read model and data, compare their digests with the file, and make the study again."""
    spec, files = evidence.study, request.files
    try:
        recorded = recorded_study(evidence.record, evidence.entries)
    except NotRecomputed as error:
        return Rebuilt((Check(Status.OPEN, f"Nothing can be run again: {error}."),))
    _refuse_named_program(spec, files.trust)
    prop = _property(spec, request)
    [model], inputs = files.load([request.model], request.data, spec.seed, prop.needs)
    checks = (_model_check(evidence, model), _data_check(evidence, model, inputs))
    if any(check.status is Status.REFUTED for check in checks):
        return Rebuilt(checks)
    study = Study(
        model,
        inputs,
        _perturbation(spec, request, inputs, model),
        method_of(spec),
        property=prop,
        population=None if spec.population is None else recorded.aggregate,
        seed=spec.seed,
        by_class=spec.by_class,
    )
    other = _other_difference(evidence, study)
    return Rebuilt((*checks, other)) if other is not None else Rebuilt(checks, study)


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


def _refuse_named_program(spec: StudySpec, trust: bool) -> None:
    """Never start a program because a file names it: only with `trust`."""
    program = spec.method.text("verifier")
    if program and not trust:
        raise InvalidArgument(
            f"the proofs of this file are those of a program that it names ({program[:80]!r}): "
            "pass --trust (trust=True) to run it here"
        )


def _model_check(evidence: Evidence, model: Model) -> Check:
    here, there = model.signature.digest, evidence.study.model.digest
    if here != there:
        return Check(
            Status.REFUTED,
            f"No: this is not the model of the run. Its SHA-256 is {here}, the file names {there}.",
        )
    covers = evidence.study.model.covers or "the model"
    return Check(Status.FOLLOWS, f"Model: yes, its SHA-256 is {here} ({covers}).")


def _data_check(evidence: Evidence, model: Model, inputs: Inputs) -> Check:
    spec = evidence.study.inputs
    try:
        here = fit(inputs, model.signature.shape).digest()
    except InvalidArgument as error:
        return Check(Status.REFUTED, f"No: these are not the data of the run: {error}.")
    if here == spec.digest:
        return Check(Status.FOLLOWS, f"Data: yes, {spec.number:,} inputs with digest {here}.")
    return Check(
        Status.REFUTED,
        f"No: these are not the inputs of the run. Here are {len(inputs):,} with digest {here} "
        f"({_chosen(inputs.selection)}), the file names {spec.number:,} with digest {spec.digest} "
        f"({_chosen(spec.selection)}).",
        f"If the data are the same, read and choose the inputs as the run did{_command(evidence)}.",
    )


def _chosen(selection: str) -> str:
    return selection or "all inputs"


def _command(evidence: Evidence) -> str:
    """The command of the run, without what a hostile file could steer a terminal with."""
    text = "".join(letter for letter in evidence.command if letter.isprintable())
    return f": {text[:300]}" if text else ""


def _other_difference(evidence: Evidence, study: Study) -> Check | None:
    """What else of the study is not as in the file; None where its digest is the run's name."""
    if study.digest == evidence.record.digest:
        return None
    here, there = (json.loads(decisive_json(spec)) for spec in (study.spec, evidence.study))
    name = first_difference(here, there, exactly=True) or "a part of the study"
    if name in ("generator", "block"):
        return Check(
            Status.OPEN,
            f"The trials cannot be run again here: the run drew its random numbers with "
            f"{there['generator']}, and this model draws them with {here['generator']}: run it on "
            "the same kind of device (--device).",
        )
    if name == "model.answers":
        return Check(
            Status.REFUTED,
            "No: the digest covers only a part of this model, and it answers the clean inputs "
            "otherwise than in the run.",
        )
    if name == "format":
        raise InvalidArgument(
            f"the run has trials of format {there['format']}, and this surefoot runs those of "
            f"{here['format']}: use the version that wrote the file"
        )
    own = {"perturbation": "perturb", "property": "property"}.get(name.split(".")[0])
    way_out = f"pass it as in the run (--{own})" if own else "pass the options of the run"
    raise InvalidArgument(
        f"{name} of the study is {_at(here, name)} here and {_at(there, name)} in the file: "
        f"{way_out}{_command(evidence)}"
    )


def _at(plain: Any, name: str) -> str:  # noqa: ANN401  what JSON holds
    """The part of this name, shortly."""
    for part in name.split("."):
        if isinstance(plain, list) and part.isdecimal() and int(part) < len(plain):
            plain = plain[int(part)]
        elif isinstance(plain, dict) and part in plain:
            plain = plain[part]
        else:
            return "missing"
    return json.dumps(plain)[:80]


def other_versions(evidence: Evidence, here: Mapping[str, str]) -> str:
    """Versions that are not those of the run, in words; empty where all are."""
    there = evidence.record.environment
    names = [name for name in here.keys() | there.keys() if here.get(name) != there.get(name)]
    return ", ".join(
        f"{name} {here.get(name, 'none')} instead of {there.get(name, 'none')}"
        for name in sorted(names)
    )
