"""Tables and figures of a paper, made on the models and data of the user, or on the embedded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from papers import embedded
from papers.catalogue import PAPERS
from papers.options import PaperOptions, SourceOptions
from papers.paper import Paper, Part
from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from papers.exhibit import Exhibit
    from surefoot.commands.caller import Caller
    from surefoot.records.options import FileOptions


def paper_named(name: str) -> Paper:
    """The paper of this name."""
    if name not in PAPERS:
        raise InvalidArgument(f"there is no paper {name!r}: choose one of {', '.join(PAPERS)}")
    return PAPERS[name]


def make(
    paper: str,
    table: str | int | None = None,
    figure: str | int | None = None,
    models: Any = (),  # noqa: ANN401  any kinds of models
    *,
    sources: SourceOptions,
    values: PaperOptions,
    inputs: FileOptions,
    caller: Caller,
) -> Exhibit:
    """Make one table or figure of a paper with surefoot.

    `models`: one or several, in a list or by name in a dict. `papers.PAPERS` lists what there is.

    Example: papers.make("asap", table=1, models=["model.onnx"], data="test.npz")
    """
    known = paper_named(paper)
    if (table is None) == (figure is None):
        raise InvalidArgument("choose either a table (--table 1) or a figure (--figure 1)")
    part = known.part(table, figure)
    return _made(part, _named(models), sources, values, inputs, caller)


def make_all(
    paper: str,
    models: Any = (),  # noqa: ANN401  any kinds of models
    *,
    sources: SourceOptions,
    values: PaperOptions,
    inputs: FileOptions,
    caller: Caller,
) -> Iterator[Exhibit]:
    """Every table and figure of a paper that can be made from what is given, one after the other.

    Each takes those of the options that it reads.
    """
    named = _named(models)
    given = {name: value for name, value in vars(values).items() if value is not None}
    for part in paper_named(paper).parts:
        if not _missing(part, named, sources):
            caller.announce(f"{part.name}: {part.title}")
            own = PaperOptions(**{n: v for n, v in given.items() if n in part.options})
            yield _made(part, named, sources, own, inputs, caller)


def _made(
    part: Part,
    models: Mapping[str, Any],
    sources: SourceOptions,
    values: PaperOptions,
    inputs: FileOptions,
    caller: Caller,
) -> Exhibit:
    from papers.request import Request, chosen_options

    missing = _missing(part, models, sources)
    if missing:
        raise InvalidArgument(
            f"{part.name} needs {' and '.join(missing)}: add "
            + " ".join(_HOW[what] for what in missing)
            + ", or --quick (quick=True) for the embedded networks"
        )
    data = sources.data
    if sources.quick and not models and data is None:
        models, data, inputs = embedded.MODELS, embedded.IMAGES, _embedded_files(inputs)
    request = Request(
        part=part,
        models=models,
        data=data,
        brackets=sources.brackets,
        options=chosen_options(part, vars(values), quick=sources.quick),
        files=inputs,
        seed=sources.seed,
        store=sources.store,
        workers=sources.workers,
        quick=sources.quick,
        caller=caller,
    )
    module, name = part.function.split(":")
    exhibit: Exhibit = getattr(import_module(module), name)(request)
    return replace(exhibit, command=caller.command)


_HOW = {
    "models": "--models model.onnx (models=…)",
    "data": "--data test.npz (data=…)",
    "brackets": "--brackets results.csv (brackets=…), or models and data to prove them",
}


def _missing(part: Part, models: Mapping[str, Any], sources: SourceOptions) -> list[str]:
    """What the part is made from and was not given."""
    given = {"models": bool(models), "data": sources.data is not None}
    if sources.quick and not any(given.values()):
        given = dict.fromkeys(given, True)
    given["brackets"] = sources.brackets is not None or sources.quick or all(given.values())
    return [what for what in part.needs if not given[what]]


def _embedded_files(inputs: FileOptions) -> FileOptions:
    return replace(inputs, bounds=embedded.BOUNDS) if inputs.bounds is None else inputs


def _named(models: Any) -> dict[str, Any]:  # noqa: ANN401  any kinds of models
    """Models by name; one alone is named like its file."""
    if isinstance(models, Sequence) and not isinstance(models, str) and not models:
        return {}
    from surefoot.commands.request import named_models

    named = named_models(models)
    if list(named) == [""]:
        only = named[""]
        return {Path(only).name if isinstance(only, str | Path) else "model": only}
    return named
