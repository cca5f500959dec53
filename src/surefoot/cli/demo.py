"""`surefoot demo`: every method on two small networks and 300 images that come with the package."""

from __future__ import annotations

import json as jsonlib
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli import options as o
from surefoot.cli.output import present, say_files, say_what_is_from_store
from surefoot.cli.progress import progress_on_stderr
from surefoot.cli.terminal import HOLDS, open_console
from surefoot.commands.caller import Caller
from surefoot.errors import InvalidArgument, MissingPackage

if TYPE_CHECKING:
    from surefoot.cli.demo_steps import Step
    from surefoot.report.page import Collection
    from surefoot.study import Result

_TITLE = "How robust are two small image classifiers?"
_LINES = (
    "The data: 300 test images of Fashion-MNIST, the first 30 of each of 10 classes of clothes.",
    "The models: fashion_cnn.onnx, a convolutional network (90 % of the 10,000 test images right), "
    "and fashion_mlp_noise.onnx, its new version: smaller, trained on noisy images (86 % right).",
)
_CLOSING = (
    ("The files of these commands, for any folder:", "surefoot demo --files ."),
    ("On your own files: put the names of your model and your data in their place. First check "
     "that they fit together:", "surefoot doctor model.onnx test.npz"),
)  # fmt: skip


def demo(
    out: Annotated[str, typer.Option("--out", help="Folder for report.html and the store.")] = ".",
    only: Annotated[
        str | None,
        typer.Option(help="One method: estimate, certify, tail, curve, critical or compare."),
    ] = None,
    files: Annotated[
        str | None,
        typer.Option(help="Only copy the networks and images of the demo into this folder."),
    ] = None,
    json: o.Json = False,
) -> int:
    """Run every method on an example that comes with the package, and write report.html.

    Two small Fashion-MNIST networks: how often do they fail under random noise, up to which blur
    are they right, and up to which size can no perturbation change a label? It takes about half a
    minute.

    Example: surefoot demo --out .
    """
    from surefoot.cli.demo_steps import STEPS

    if files is not None:
        if only is not None or json:
            raise InvalidArgument("--files only copies files: leave out --only and --json")
        return _copy_files(_folder(files))
    if only is not None and only not in STEPS:
        raise InvalidArgument(f"--only {only}: choose one of {', '.join(STEPS)}")
    folder = _folder(out)
    report, store = str(folder / "report.html"), str(folder / o.DEFAULT_STORE)
    if only is not None:
        return _run_one(STEPS[only], store, report, as_json=json)
    results = {}
    for place, step in enumerate(STEPS.values(), 1):
        _say(f"{place} of {len(STEPS)}, {step.command}: {step.question}")
        try:
            results[step.command] = step.run(store, _caller(step))
        except MissingPackage as error:
            _say(f"{step.command} is left out: {error}")
    _write_page(results, report)
    if json:
        typer.echo(jsonlib.dumps({n: jsonlib.loads(r.to_json()) for n, r in results.items()}))
    else:
        _print_sentences(results)
    _say(f"open {report} in a browser; evidence in {store}")
    return HOLDS


def _folder(path: str) -> Path:
    folder = Path(path)
    if not folder.is_dir():
        raise InvalidArgument(f"there is no folder {path}: create it first")
    return folder


def _copy_files(folder: Path) -> int:
    """Copy the files; one of the same name with another content is not touched."""
    from surefoot.cli.demo_steps import FILES

    for path in FILES:
        place = folder / path.name
        if place.exists() and place.read_bytes() != path.read_bytes():
            raise InvalidArgument(f"{place} exists already and is another file: move it first")
    for path in FILES:
        shutil.copyfile(path, folder / path.name)
        typer.echo(f"written: {folder / path.name}")
    return HOLDS


def _run_one(step: Step, store: str, report: str, *, as_json: bool) -> int:
    """One method with its own full page, as its command would show it."""
    _say(step.question)
    result = step.run(store, _caller(step), report)
    say_what_is_from_store(result, store)
    say_files(report=report)
    code = present(result, as_json=as_json, store=store)
    _say(f"open {report} in a browser")
    return code


def _caller(step: Step) -> Caller:
    return Caller(command=step.line, display=progress_on_stderr, remark=_say)


def _write_page(results: Mapping[str, Result], report: str) -> None:
    from surefoot.report.page import write_page

    write_page(_collection(results), Path(report))


def _collection(results: Mapping[str, Result]) -> Collection:
    """The page: a section for each method."""
    from surefoot.cli.demo_steps import STEPS
    from surefoot.report.page import Chapter, Collection

    chapters = [
        Chapter(name, STEPS[name].question, result.view, STEPS[name].about)
        for name, result in results.items()
    ]
    return Collection(_TITLE, _LINES, tuple(chapters), _CLOSING)


def _print_sentences(results: Mapping[str, Result]) -> None:
    """The question and what is claimed first, for each method."""
    from surefoot.cli.demo_steps import STEPS

    console = open_console()
    for name, result in results.items():
        console.print(f"{name}: {STEPS[name].question}", style="bold", markup=False)
        for line in result.view.headings:
            console.print(f"{line}\n", markup=False)


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")
