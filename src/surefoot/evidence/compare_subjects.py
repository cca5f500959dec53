"""Whether models and data that somebody gives are those that an evidence file names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from surefoot.errors import InvalidArgument
from surefoot.evidence.answers import Check, Status
from surefoot.evidence.statement import Evidence
from surefoot.inputs import fit
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Model
from surefoot.system.text import escape_unprintable

_LONGEST = 300
"""Characters of a command in a sentence."""


def compare_models(parts: Mapping[str, Evidence], models: Sequence[Model]) -> list[Check]:
    """One check for each model of the file, or one for each that is none of the file's."""
    named: dict[str, list[str]] = {}
    for name, part in parts.items():
        named.setdefault(part.study.model.digest, []).append(name)
    strange = [digest for model in models if (digest := model.signature.digest) not in named]
    if strange:
        return [_stranger(digest, named) for digest in strange]
    return [
        _known(named[part.study.model.digest], part, parts, models)
        for part in {part.study.model.digest: part for part in parts.values()}.values()
    ]


def _stranger(digest: str, named: Mapping[str, Sequence[str]]) -> Check:
    if len(named) == 1:
        words = f"Its SHA-256 is {digest}, the file names {next(iter(named))}."
        return Check(Status.REFUTED, f"No: this is not the model of the run. {words}")
    those = ", ".join(f"{known} ({and_words(names)})" for known, names in named.items())
    return Check(
        Status.REFUTED,
        f"No: a model that was given is that of none of the {len(named)}. Its SHA-256 is {digest}, "
        f"the file names {those}.",
    )


def _known(
    names: Sequence[str], part: Evidence, parts: Mapping[str, Evidence], models: Sequence[Model]
) -> Check:
    spec = part.study.model
    of = "" if len(names) == len(parts) else f" ({and_words(names)})"
    if any(model.signature.digest == spec.digest for model in models):
        covers = spec.covers or "the model"
        return Check(Status.FOLLOWS, f"Model{of}: yes, its SHA-256 is {spec.digest} ({covers}).")
    return Check(
        Status.OPEN,
        f"Model{of}: it was not given, so that nothing of its run is run again. The file names "
        f"SHA-256 {spec.digest}: pass every model of the comparison (--model A --model B); inputs "
        "that were chosen for all of them together (--correct-only) need them all.",
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
        return Check(Status.REFUTED, f"No: these are not the data of the run: {error}.")
    if here == spec.digest:
        return Check(Status.FOLLOWS, f"Data: yes, {spec.number:,} inputs with digest {here}.")
    return Check(
        Status.REFUTED,
        f"No: these are not the inputs of the run. Here are {len(inputs):,} with digest {here} "
        f"({inputs.selection or 'all inputs'}), the file names {spec.number:,} with digest "
        f"{spec.digest} ({spec.selection or 'all inputs'}).",
        f"If the data are the same, read and choose the inputs as the run did: {again}.",
    )


def command_words(evidence: Evidence) -> str:
    """The command of the run, one line, whatever a hostile file wrote."""
    text = escape_unprintable(evidence.command)
    return f": {text[:_LONGEST]}" if text else ""


def and_words(names: Sequence[str]) -> str:
    """a, b and c."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
