"""`surefoot compare`: several models on the same inputs and the same perturbations."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from surefoot.cli import options as o
from surefoot.cli.attack_options import AttackOptions
from surefoot.cli.input_options import InputOptions
from surefoot.cli.methods import estimate_method, kappa_method, tail_method
from surefoot.cli.numbers import number, number_list, share
from surefoot.cli.run_options import RunOptions, StudyRequest
from surefoot.cli.side_by_side import names_of, run_side_by_side
from surefoot.errors import InvalidArgument

_DEFAULT_WIDTH = "0.05"
"""Wider than for `estimate`: every model is measured, and differences need many inputs first."""
_DEFAULT_PROPERTY = "same"


@o.expand_options
def compare(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="MODEL MODEL... DATA", help="Two or more models, then the data."),
    ],
    *,
    inputs: InputOptions,
    perturb: o.PerturbOption,
    width: Annotated[
        str | None,
        typer.Option(
            help=f"How far each estimate may be from the truth (default: {_DEFAULT_WIDTH})."
        ),
    ] = None,
    kappa: Annotated[
        str | None,
        typer.Option(help="Compare the share of inputs that fail at most this often instead."),
    ] = None,
    limit: Annotated[
        str | None,
        typer.Option(help="Compare confident mistakes above this confidence instead (see tail)."),
    ] = None,
    confidence: o.ConfidenceOption = o.DEFAULT_CONFIDENCE,
    reference: Annotated[
        str | None,
        typer.Option(
            help="Correlate with these numbers, such as accuracies: 0.91,0.88 in the order of the "
            "models, or a .csv file with lines model,value."
        ),
    ] = None,
    not_worse: Annotated[
        str | None,
        typer.Option(
            help="Require that the first model fails at most this much more often than each "
            "other: 0.01."
        ),
    ] = None,
    prop: Annotated[
        str | None,
        typer.Option(
            "--property",
            help="When an output counts as kept: same, true, topk:5, confident:0.6 "
            f"(default: {_DEFAULT_PROPERTY}). Not with --limit.",
        ),
    ] = None,
    attack: AttackOptions,
    options: RunOptions,
) -> int:
    """Rank models by how often they fail on the same perturbed inputs, with intervals.

    All models get the same inputs and the same perturbations, so that differences are measured
    input by input. "Not shown to differ" is a possible answer. With --correct-only, only inputs
    that all models classify correctly.

    Example: surefoot compare model.onnx old.onnx test.npz --perturb linf:8/255 --not-worse 0.01
    """
    from surefoot.study import compare as run_all

    *models, data = paths
    if len(models) < 2:
        raise InvalidArgument(
            "compare needs two or more models, then the data: a.onnx b.onnx x.npz"
        )
    gradient_attack = attack.method()
    options.check()
    names = names_of(models)
    margin = None if not_worse is None else share("--not-worse", not_worse)
    values = None if reference is None else _reference(reference, names, models)
    method, checked_property = _method(width, kappa, limit, prop, confidence)
    request = StudyRequest(inputs, data, perturb, checked_property, method)
    studies, sources = request.studies(dict(zip(names, models, strict=True)), options.seed)
    run = partial(run_all, studies, reference=values, attack=gradient_attack)
    result = run_side_by_side(run, sources, options, part="model")
    if margin is not None:
        result = result.require(not_worse=(names[0], margin))
    return options.finish(result)


def _method(
    width: str | None, kappa: str | None, limit: str | None, prop: str | None, confidence: str
) -> tuple[Any, str]:
    """The method that --width, --kappa or --limit names, and the property it measures."""
    quantities = {"--width": width, "--kappa": kappa, "--limit": limit}
    named = [name for name, value in quantities.items() if value is not None]
    if len(named) > 1:
        raise InvalidArgument(f"give either {' or '.join(named)}: each is a quantity of its own")
    if limit is not None:
        if prop is not None:
            raise InvalidArgument(
                f"--limit {limit} is about confident mistakes: leave out --property {prop}"
            )
        return tail_method(confidence), f"confident:{limit}"
    if kappa is not None:
        return kappa_method("kappa-test", kappa, confidence), prop or _DEFAULT_PROPERTY
    method = estimate_method("exact-sequential", width or _DEFAULT_WIDTH, confidence)
    return method, prop or _DEFAULT_PROPERTY


def _reference(text: str, names: Sequence[str], models: Sequence[str]) -> dict[str, float]:
    """One number for each model, from the option itself or from a file."""
    if not _is_file(text):
        values = number_list("--reference", text)
        if len(values) != len(names):
            raise InvalidArgument(
                f"--reference has {len(values)} numbers for {len(names)} models: give one for each"
            )
        return dict(zip(names, values, strict=True))
    lines = _read_lines(text)
    reference = {}
    for name, path in zip(names, models, strict=True):
        value = lines.get(name, lines.get(path, lines.get(Path(path).stem)))
        if value is None:
            raise InvalidArgument(f"{text} has no line for {name}: write {name},0.91")
        reference[name] = number(text, value)
    return reference


def _read_lines(path: str) -> dict[str, str]:
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            return {row[0].strip(): row[1] for row in csv.reader(file) if len(row) > 1}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidArgument(f"{path} cannot be read as a list of values ({error})") from error


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:  # too long for a file name
        return False
