"""The commands that need no model of the user: the demo, the perturbations, the designs."""

from __future__ import annotations

import io
import json as jsonlib
import math
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli import options as o
from surefoot.cli.terminal import (
    HOLDS,
    open_console,
    present,
    print_table,
    prints_to_stderr,
    progress_on_stderr,
    say_files,
    say_what_is_from_store,
)
from surefoot.commands.caller import Caller
from surefoot.commands.methods import estimate_method
from surefoot.commands.option import Groups
from surefoot.commands.output_files import check_file, check_text_file
from surefoot.commands.values import Given, as_numbers
from surefoot.errors import InvalidArgument, MissingPackage, ReportFailed
from surefoot.records.options import option_name
from surefoot.system.whole_file import write_whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.table import Table

    from surefoot.commands.caller import Caller
    from surefoot.report.page import Collection
    from surefoot.report.views.design import Cost
    from surefoot.statistics.designs import Design
    from surefoot.study import Result
    from surefoot.subject.protocols import Perturbation


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
    from surefoot.report.page import Chapter, Collection

    chapters = [
        Chapter(name, STEPS[name].question, result.view, STEPS[name].about)
        for name, result in results.items()
    ]
    return Collection(_TITLE, _LINES, tuple(chapters), _CLOSING)


def _print_sentences(results: Mapping[str, Result]) -> None:
    """The question and what is claimed first, for each method."""

    console = open_console()
    for name, result in results.items():
        console.print(f"{name}: {STEPS[name].question}", style="bold", markup=False)
        for line in result.view.headings:
            console.print(f"{line}\n", markup=False)


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")


_EMBEDDED = Path(str(files("surefoot") / "data"))
_CNN, _NEW = _EMBEDDED / "fashion_cnn.onnx", _EMBEDDED / "fashion_mlp_noise.onnx"
IMAGES = _EMBEDDED / "fashion_test.npz"
"""300 test images of Fashion-MNIST, the first 30 of each class."""
_NOISE = "linf:32/255"
FILES = (_CNN, _NEW, IMAGES)
"""The files that the commands of all steps name."""


@dataclass(frozen=True)
class Step:
    """One command on the embedded files, with its options as in Python, and what it answers."""

    command: str
    question: str
    about: str
    models: tuple[Path, ...] = (_CNN,)
    perturb: str = _NOISE
    options: Mapping[str, Given] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """The command as it is typed in a folder that has the files."""
        words = ["surefoot", self.command, *(path.name for path in (*self.models, IMAGES))]
        words += ["--perturb", self.perturb] if self.perturb else []
        for name, value in self.options.items():
            words.append("--" + name.replace("_", "-"))
            words += [] if value is True else [str(value)]
        return shlex.join(words)

    def run(self, store: str, caller: Caller, report: str | None = None) -> Result:
        """The result, from the store where the run is finished already."""
        function = getattr(import_module(f"surefoot.commands.{self.command}"), self.command)
        values = {**self.options, "store": store, "report": report}
        chosen = Groups.of(function).build(values)
        if values:
            raise TypeError(f"{self.command} has no {option_name(next(iter(values)))}")
        models = [str(path) for path in self.models]
        subjects = [models if len(models) > 1 else models[0], str(IMAGES)]
        perturb = [self.perturb] if self.perturb else []
        result: Result = function(*subjects, *perturb, **chosen, caller=caller)
        return result


STEPS = {
    step.command: step
    for step in (
        Step(
            "estimate",
            "How often does random noise change the label?",
            "fashion_cnn.onnx, noise of up to 32/255 per pixel",
            options={"width": 0.05},
        ),
        Step(
            "certify",
            "How many images fail under more than 1 in 10 random perturbations?",
            "fashion_cnn.onnx, noise of up to 32/255 per pixel",
            options={"kappa": 0.1, "first": 100},
        ),
        Step(
            "tail",
            "How rare are confident mistakes?",
            "fashion_cnn.onnx, noise of up to 32/255 per pixel; a trial fails if another label "
            "gets a confidence of 0.6 or more",
            options={"limit": 0.6, "first": 20},
        ),
        Step(
            "curve",
            "Up to which blur are 80 % of the images classified correctly?",
            "fashion_cnn.onnx, blur of 0 to 2 pixels",
            perturb="blur:0..2",
            options={"threshold": 0.8},
        ),
        Step(
            "critical",
            "Up to which size is no perturbation a failure, for all but 20 % of such images?",
            "fashion_mlp_noise.onnx, proofs for 20 images",
            models=(_NEW,),
            perturb="",
            options={"first": 20, "correct_only": True, "quantile": 0.2},
        ),
        Step(
            "compare",
            "Does the new version fail less often than the old one?",
            "fashion_mlp_noise.onnx and fashion_cnn.onnx, noise of up to 32/255 per pixel",
            models=(_NEW, _CNN),
        ),
    )
}
"""By command, in the order of the page. `compare` measures the old network as `estimate` does, so
that its trials come from the store."""


_SHEET, _SAMPLES = "sheet.png", 4


def perturb(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="rotation:30, fog, blur:0..2, mine.py:halve:0.5"),
    ] = None,
    image: Annotated[
        str | None,
        typer.Argument(metavar="[IMAGE]", help="An image file, or test.npz (its first image)."),
    ] = None,
    every: Annotated[bool, typer.Option("--list", help="List all perturbations.")] = False,
    sheet: Annotated[
        str | None, typer.Option(help=f"Write the contact sheet here (default: {_SHEET}).")
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(min=1, max=50, help=f"Rows of the sheet: samples (default: {_SAMPLES})."),
    ] = None,
    levels: Annotated[
        str | None, typer.Option(help="Columns of the sheet: levels, such as 0,0.5,1.")
    ] = None,
    seed: o.SeedOption = 1,
    json: o.Json = False,
) -> int:
    """List all perturbations, explain one, or show it on an image.

    Without arguments: the list. With a name: its definition. With a name and an image: a contact
    sheet, one column per level and one row per sample; without a level it shows the published
    severities 1 to 5.

    Example: surefoot perturb rotation:30 test.npz --sheet sheet.png
    """
    if every or name is None or image is None:
        _refuse_without_image({"--sheet": sheet, "--samples": samples, "--levels": levels})
        if every or name is None:
            _list_perturbations(json)
        else:
            _explain_perturbation(name, json)
        return HOLDS
    path, rows = sheet or _SHEET, samples or _SAMPLES
    check_file(path)
    from surefoot.study.draw_sheet import perturbation_and_levels, read_image

    pixels = read_image(image)
    chosen = None if levels is None else as_numbers("levels", levels)
    with prints_to_stderr():
        perturbation, columns = perturbation_and_levels(name, pixels.shape[1:], chosen)
        _write_sheet(pixels, perturbation, columns, rows, seed, path)
    if json:
        typer.echo(jsonlib.dumps({"sheet": path, "levels": columns, "samples": rows}))
        return HOLDS
    typer.echo(
        f"{perturbation.phrase.replace('{level}', 's')}\n"
        f"{len(columns)} levels s (above the columns), {rows} samples (rows): {path}"
    )
    return HOLDS


def _refuse_without_image(options: dict[str, object]) -> None:
    for option, value in options.items():
        if value is not None:
            raise InvalidArgument(f"{option} {value} needs an image: surefoot perturb fog cat.png")


def _list_perturbations(as_json: bool) -> None:
    from surefoot.catalogue.words import entries
    from surefoot.report.tables import Table

    catalogue = entries()
    if as_json:
        typer.echo(jsonlib.dumps([e.__dict__ for e in catalogue], ensure_ascii=False))
        return
    rows = tuple((e.kind, e.of, e.levels, e.severities, e.options) for e in catalogue)
    headings = ("name", "of", "levels", "severities 1-5, small and large images", "options")
    note = "A negative level is the other direction; write it in a range: rotation:-10..10."
    print_table(open_console(), Table("Perturbations", headings, rows, 5, note))


def _explain_perturbation(name: str, as_json: bool) -> None:
    from surefoot.catalogue.parse import explain_own, own_text, parse_perturbation
    from surefoot.catalogue.words import entries

    if (own := own_text(name)) is not None:
        definition = explain_own(own)
        typer.echo(jsonlib.dumps({"definition": definition}) if as_json else definition)
        return
    entry = next((e for e in entries() if e.kind == name.partition(":")[0]), None)
    if entry is None or not re.fullmatch(r"[^+|]*", name):
        parse_perturbation(name)  # refuses an unknown name, with close ones
        raise InvalidArgument(f"{name} combines several perturbations: give the name of one")
    if as_json:
        typer.echo(jsonlib.dumps(entry.__dict__, ensure_ascii=False))
        return
    lines = [f"{entry.kind}, of {entry.of}; levels {entry.levels}", "", entry.definition]
    if entry.severities:
        lines += ["", f"published severities 1 to 5, small; large images: {entry.severities}"]
    if entry.options:
        lines += ["", f"options: {entry.options}"]
    typer.echo("\n".join(lines))


def _write_sheet(
    image: NDArray[np.float32],
    perturbation: Perturbation,
    levels: list[float],
    samples: int,
    seed: int,
    path: str,
) -> None:
    from surefoot.study.draw_sheet import sheet

    whole, file = sheet(image, perturbation, levels, samples, seed), io.BytesIO()
    file.name = path  # by which Pillow knows the format
    try:
        whole.save(file)
    except (OSError, ValueError) as error:
        raise ReportFailed(f"{path} cannot be written ({error}): name it {_SHEET}") from error
    write_whole(Path(path), file.getvalue())


_FAILURE_PROBABILITIES = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5)
_ROWS = 12
"""Interim analyses that fit on a screen."""


def design(
    width: o.WidthOption = o.DEFAULT_WIDTH,
    confidence: o.ConfidenceOption = o.DEFAULT_CONFIDENCE,
    every: Annotated[bool, typer.Option("--all", help="Print every interim analysis.")] = False,
    figure: Annotated[str | None, typer.Option(help="Write the figure here: design.svg.")] = None,
    json: o.Json = False,
) -> int:
    """Show when an estimate of a given width stops, what is proved about it, and what it costs.

    This is the design of the method exact-sequential. Common designs come with the package; any
    other one is computed and proved now, and stored. That takes seconds, or minutes for a width
    below 0.002.

    Example: surefoot design --width 0.02 --confidence 0.99 --figure design.svg
    """
    from rich.console import Console

    from surefoot.report.views.design import cost

    _check_figure(figure)
    method = estimate_method(width, confidence)
    with Console(stderr=True).status("computing the design and proving it"):
        stopping_design: Design = method.design
        costs = cost(stopping_design, _FAILURE_PROBABILITIES)
    if figure is not None:
        _draw(stopping_design, figure)
    if json:
        typer.echo(jsonlib.dumps({"design": asdict(stopping_design), "cost": asdict(costs)}))
    else:
        _print_design(stopping_design, costs, len(stopping_design.looks) if every else _ROWS)
    return HOLDS


def _check_figure(figure: str | None) -> None:
    check_text_file(figure)
    if figure is not None and Path(figure).suffix.lower() != ".svg":
        raise InvalidArgument(f"--figure must be an .svg file, got {figure}: write design.svg")


def _draw(stopping_design: Design, figure: str) -> None:
    from surefoot.report.views.design import design_figure
    from surefoot.system.whole_file import write_whole

    write_whole(Path(figure), design_figure(stopping_design))
    sys.stderr.write(f"figure written to {figure}\n")


def _print_design(stopping_design: Design, costs: Cost, rows: int) -> None:
    from rich.console import Console

    from surefoot.report.views.design import design_sentences

    console = Console(highlight=False)
    for line in design_sentences(stopping_design):
        console.print(line, markup=False, soft_wrap=True)
    console.print()
    console.print(_stopping_table(stopping_design, rows))
    console.print()
    console.print(_cost_table(stopping_design, costs))
    console.print(
        f"Okamoto's number of trials is {costs.okamoto:,}; the smallest fixed number for every p"
        " is "
        f"{costs.fixed_size:,}. The limit is what any sound method needs on average when the width "
        "is small.",
        soft_wrap=True,
    )


def _stopping_table(stopping_design: Design, rows: int) -> Table:
    """The first interim analysis, every few, and the last."""
    from rich.table import Table

    last = len(stopping_design.looks) - 1
    step = math.ceil(len(stopping_design.looks) / rows)
    some = f" (every {_ordinal(step)} analysis; --all prints all)" if step > 1 else ""
    table = Table(title=f"When to stop{some}", title_justify="left", title_style="bold")
    for name in (
        "analysis",
        "trials",
        "stop if at most this many are kept, or at most this many failed",
    ):
        table.add_column(name, justify="right")
    for i in sorted({*range(0, last, step), last}):
        limit = "always" if i == last else f"{stopping_design.few[i]:,}"
        table.add_row(str(i + 1), f"{stopping_design.looks[i]:,}", limit)
    return table


def _ordinal(number: int) -> str:
    return {2: "2nd", 3: "3rd"}.get(number, f"{number}th")


def _cost_table(stopping_design: Design, costs: Cost) -> Table:
    from rich.table import Table

    table = Table(title="Expected trials", title_justify="left", title_style="bold")
    for name in ("p or 1 - p", "expected trials", "of Okamoto's number", "limit"):
        table.add_column(name, justify="right")
    for row in costs.expected:
        table.add_row(
            f"{row.p:g}",
            f"{row.trials:,.0f}",
            f"{100 * row.trials / costs.okamoto:.1f} %",
            f"{row.limit:,.0f}",
        )
    return table
