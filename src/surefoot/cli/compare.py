"""`surefoot compare`: several models on the same inputs and the same perturbations."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from surefoot.cli.attack_options import Attacking
from surefoot.cli.certify import method_for as test_for
from surefoot.cli.estimate import method_for as estimate_for
from surefoot.cli.levels_option import announced, shown
from surefoot.cli.options import Reading, check_file, expanded
from surefoot.cli.output import command_line
from surefoot.cli.progress import progress_on_stderr
from surefoot.cli.run_options import Asked, PropertyOption, Running
from surefoot.cli.tail import method_for as tail_for
from surefoot.errors import InvalidArgument


@expanded
def compare(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="MODEL MODEL... DATA", help="Two models or more, then the data."),
    ],
    *,
    reading: Reading,
    width: Annotated[str, typer.Option(help="How far each input's estimate may be off.")] = "0.05",
    kappa: Annotated[
        str | None,
        typer.Option(help="Compare the share of inputs that fail at most this often instead."),
    ] = None,
    limit: Annotated[
        str | None, typer.Option(help="Compare RoMA's tails at this confidence instead.")
    ] = None,
    confidence: Annotated[str, typer.Option(help="How sure to be of the whole outcome.")] = "0.95",
    reference: Annotated[
        str | None,
        typer.Option(
            help="Accuracies to correlate with: 0.91,0.88 in the order of the models, or a .csv "
            "of model,value lines."
        ),
    ] = None,
    not_worse: Annotated[
        str | None,
        typer.Option(
            help="Require that the first model fails at most so much more often than each of the "
            "others: 0.01."
        ),
    ] = None,
    prop: PropertyOption = "same",
    attacking: Attacking,
    running: Running,
) -> int:
    """Rank models by how often they fail, with intervals; "not shown to differ" is an answer.

    All meet the same inputs and the same perturbations, so that differences are seen input by
    input. With --correct-only just the inputs that all of them classify correctly.

    Example: surefoot compare model.onnx old.onnx test.npz --perturb linf:8/255 --not-worse 0.01
    """
    from surefoot.study import Study
    from surefoot.study import compare as run_all
    from surefoot.study.parse_perturbation import parse_perturbation
    from surefoot.study.registry import parse_property, share

    *models, data = paths
    if len(models) < 2:
        raise InvalidArgument(
            "compare takes two models or more, then the data: a.onnx b.onnx x.npz"
        )
    if kappa is not None and limit is not None:
        raise InvalidArgument("say either --kappa or --limit, not both")
    attack = attacking.method()
    check_file(running.report)
    names = names_of(models)
    margin = None if not_worse is None else share("--not-worse", not_worse)
    given = None if reference is None else _reference(reference, names, models)
    asked = _asked(data, prop, width, kappa, limit, confidence)
    held = parse_property(asked.prop)
    parse_perturbation(running.perturb)
    loaded, inputs = reading.load_all(models, data, running.seed)
    perturbation = parse_perturbation(running.perturb, inputs.frame)
    studies = {
        name: Study(one, inputs, perturbation, asked.method, property=held, seed=running.seed)
        for name, one in zip(names, loaded, strict=True)
    }
    sources = {
        name: reading.source(
            path,
            data,
            command=command_line(),
            perturb=running.perturb,
            property=asked.prop,
            models=tuple(models),
        )
        for name, path in zip(names, models, strict=True)
    }
    with progress_on_stderr() as watch:
        found = run_all(
            studies,
            reference=given,
            store=running.store,
            workers=running.workers,
            batch=running.batch,
            on_progress=watch,
            attack=attack,
            sources=sources,
            on_start=announced("model", len(studies)),
        )
    if margin is not None:
        found = found.require(not_worse=(names[0], margin))
    return shown(found, running)


def _asked(
    data: str, prop: str, width: str, kappa: str | None, limit: str | None, confidence: str
) -> Asked:
    if limit is not None:
        return Asked(data, f"confident:{limit}", tail_for(1000, confidence))
    made: Any = (
        estimate_for("exact-sequential", width, confidence)
        if kappa is None
        else test_for("kappa-test", kappa, None, confidence, None)
    )
    return Asked(data, prop, made)


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:  # too long for a name
        return False


def names_of(models: Sequence[str]) -> list[str]:
    """File names, or whole paths where these are not enough."""
    last = [Path(m).name for m in models]
    found = last if len(set(last)) == len(last) else list(models)
    if len(set(found)) < len(found):
        raise InvalidArgument("the same model is named twice: compare different ones")
    return found


def _reference(text: str, names: Sequence[str], models: Sequence[str]) -> dict[str, float]:
    """One number for each model, from the option itself or from a file."""
    from surefoot.study.registry import number

    if not _is_file(text):
        values = [number(part) for part in text.split(",")]
        if len(values) != len(names):
            raise InvalidArgument(
                f"--reference holds {len(values)} numbers for {len(names)} models: one for each"
            )
        return dict(zip(names, values, strict=True))
    try:
        with Path(text).open(newline="", encoding="utf-8") as file:
            lines = {row[0].strip(): row[1] for row in csv.reader(file) if len(row) > 1}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidArgument(f"{text} cannot be read as a list of values ({error})") from error
    found = {}
    for name, path in zip(names, models, strict=True):
        told = lines.get(name, lines.get(path, lines.get(Path(path).stem)))
        if told is None:
            raise InvalidArgument(f"{text} has no line for {name}: write {name},0.91")
        found[name] = number(told)
    return found
