"""`compare`: several models on the same inputs and the same perturbations."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from surefoot.commands import methods
from surefoot.commands import options as o
from surefoot.commands import values as v
from surefoot.errors import InvalidArgument
from surefoot.records.options import option, option_name, refused, refused_value, same_option

if TYPE_CHECKING:
    from surefoot.commands.caller import Caller
    from surefoot.records.record import Source
    from surefoot.study import Result

_WIDTH = 0.05
"""Wider than for `estimate`: every model is measured, and differences need many inputs first."""
Reference = str | Path | Sequence[float] | Mapping[str, float]


@dataclass(frozen=True)
class ComparisonOptions:
    """Which quantity is compared, and what is required of it."""

    each: v.Number | None = option(
        None, f"How far each estimate may be from the truth (default: {_WIDTH}).", common=True
    )
    kappa: v.Number | None = option(
        None, "Compare the share of inputs that are wrong at most this often instead."
    )
    limit: v.Number | None = option(
        None, "Compare confident mistakes above this confidence instead (see tail)."
    )
    confidence: v.Number = same_option(o.EstimateOptions, "confidence")
    method: str | None = same_option(o.EstimateOptions, "method")
    reference: Reference | None = option(
        None,
        "Correlate with these numbers, such as accuracies: 0.91,0.88 in the order of the models, "
        "or a .csv file with lines model,value.",
    )
    not_worse: v.Number | None = option(
        None,
        "Require that the first model is at most so much less accurate than each other: 0.01.",
        common=True,
    )
    property: str | object | None = option(
        None,
        "When an output counts as right: true, same, topk:5, confident:0.6; without classes as for "
        "estimate (default: true, or same without labels). Not with --limit.",
    )

    def chosen(self, stages: methods.BuSunOptions) -> tuple[v.Given, v.Given]:
        """The method that each, kappa or limit names, and the property it measures."""
        quantities = {"each": self.each, "kappa": self.kappa, "limit": self.limit}
        named = [option_name(name) for name, value in quantities.items() if value is not None]
        if len(named) > 1:
            raise InvalidArgument(
                f"give either {' or '.join(named)}: each is a quantity of its own"
            )
        if self.kappa is not None or self.limit is not None:
            methods.refuse_method(self.method, stages, "kappa" if self.limit is None else "limit")
        kept_if = self.property
        if self.limit is not None:
            if self.property is not None:
                raise refused_value(
                    "limit",
                    self.limit,
                    f"is about confident mistakes: leave out "
                    f"{option_name('property')} {self.property}",
                )
            tail = o.TailOptions(limit=self.limit, confidence=self.confidence)
            return methods.tail_method(tail), f"confident:{self.limit}"
        if self.kappa is not None:
            test = o.KappaOptions(kappa=self.kappa, confidence=self.confidence)
            return methods.kappa_method(test), kept_if
        methods.check_each(self.each)
        method = methods.estimate_method(self.each, self.confidence, self.method, stages, _WIDTH)
        return method, kept_if


def compare(
    models: Annotated[
        v.AnyModel, o.several_models("MODEL MODEL... DATA", "Two or more models, then the data.")
    ],
    data: v.AnyData,
    perturb: o.SeveralPerturb,
    *,
    measurement: ComparisonOptions,
    stages: methods.BuSunOptions,
    attack: o.AttackOptions,
    running: o.BatchOptions,
    caller: Caller,
) -> Result:
    """Rank models by their accuracy on the same perturbed inputs, with intervals.

    `models`: two or more, in a list or by name in a dict; data and perturbation as for
    `sf.estimate`; of several perturbations in a list, all pairs of models under each. The options
    are those of `surefoot compare`. Studies that you built yourself are compared by
    `sf.compare({"new": study, "old": other})`, with the arguments of `study.run`; results that you
    have, such as those of a store, by `sf.compare({"new": result, "old": other})`.

    Example: sf.compare(["model.onnx", "old.onnx"], "test.npz", "linf:8/255", not_worse=0.02)
    """
    from functools import partial

    from surefoot.commands.request import SamplingRequest, named_models, read_subjects, run_each
    from surefoot.conclude.comparison import MODELS, PERTURBED
    from surefoot.records.record import under
    from surefoot.study.study import compare as run_all

    several = named_models(models)
    if len(several) < 2:
        raise InvalidArgument(
            f"compare needs two or more models, then the data, got {len(several)}: write "
            "a.onnx b.onnx x.npz (in Python a list of models)"
        )
    gradient_attack = attack.method()
    running.check()
    more = running.arguments()
    margin = None
    if measurement.not_worse is not None:
        margin = v.share("not_worse", measurement.not_worse)
    values = _reference(measurement.reference, several)
    method, kept_if = measurement.chosen(stages)
    if kept_if is not None:
        v.as_property(kept_if)  # refuses a mistake before files are read
    perturbations = o.one_or_several(perturb)
    if len(perturbations) > 1:
        o.refuse_with_several(
            {"reference": measurement.reference, "attack": gradient_attack and "attack"}
        )
    subjects = read_subjects(several, data, running, running.seed, kept_if)
    running.check_clean(subjects.inputs)
    studies: dict[str, v.Given] = {}
    sources: dict[str, Source | None] = {}
    for words, one in _by_words(perturbations).items():
        request = SamplingRequest(None, data, one, running, kept_if, method)
        for name in several:
            key = name if len(perturbations) == 1 else under(name, words)
            studies[key] = request.of_model(name, subjects, running.seed)
            sources[key] = subjects.source(name, caller, one)
    along = MODELS if len(perturbations) == 1 else PERTURBED
    run = partial(run_all, studies, reference=values, attack=gradient_attack, along=along)
    result = run_each(run, sources, caller, part=along, **more)
    not_worse = None if margin is None else (next(iter(several)), margin)
    return running.finish(result, caller.command, not_worse=not_worse)


def _by_words(perturbations: Sequence[v.AnyPerturbation]) -> dict[str, v.AnyPerturbation]:
    """Each by its text; of one in memory by its name and level."""
    named: dict[str, v.AnyPerturbation] = {}
    for one in perturbations:
        words = one.strip() if isinstance(one, str) else f"{one.kind}:{one.level:g}"
        if words in named:
            raise refused_value("perturb", words, "is given twice: leave one out")
        named[words] = one
    return named


def _reference(given: v.Given, models: Mapping[str, v.Given]) -> dict[str, float] | None:
    """One number for each model, from the option itself or from a file."""
    if given is None:
        return None
    if isinstance(given, Mapping) or _is_file(given):
        lines = given if isinstance(given, Mapping) else _read_lines(str(given))
        values = {}
        for name, model in models.items():
            value = lines.get(name, lines.get(str(model), lines.get(Path(str(model)).stem)))
            if value is None:
                raise InvalidArgument(f"{given} has no line for {name}: write {name},0.91")
            values[name] = v.as_number("reference", value)
        return values
    numbers = v.as_numbers("reference", given)
    if len(numbers) != len(models):
        says = f"has {len(numbers)} numbers for {len(models)} models: give one for each"
        raise refused("reference", given, says)
    return dict(zip(models, numbers, strict=True))


def _read_lines(path: str) -> dict[str, str]:
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            return {row[0].strip(): row[1] for row in csv.reader(file) if len(row) > 1}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidArgument(
            f"{path} cannot be read as a list of values ({error}): write lines such as a.onnx,0.91"
        ) from error


def _is_file(given: v.Given) -> bool:
    try:
        return isinstance(given, str | Path) and Path(given).is_file()
    except OSError:  # too long for a file name
        return False
