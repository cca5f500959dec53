"""`surefoot perturb`: the catalogue, and what a perturbation does to an image."""

from __future__ import annotations

import io
import json as jsonlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli import options as o
from surefoot.cli.terminal import HOLDS, open_console, print_table, prints_to_stderr
from surefoot.commands.output_files import check_file
from surefoot.commands.values import as_numbers
from surefoot.errors import InvalidArgument, ReportFailed
from surefoot.system.whole_file import write_whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from surefoot.subject.protocols import Perturbation

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
            _list(json)
        else:
            _explain(name, json)
        return HOLDS
    path, rows = sheet or _SHEET, samples or _SAMPLES
    check_file(path)
    from surefoot.study.draw_sheet import perturbation_and_levels, read_image

    pixels = read_image(image)
    chosen = None if levels is None else as_numbers("levels", levels)
    with prints_to_stderr():
        perturbation, columns = perturbation_and_levels(name, pixels.shape[1:], chosen)
        _write(pixels, perturbation, columns, rows, seed, path)
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


def _list(as_json: bool) -> None:
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


def _explain(name: str, as_json: bool) -> None:
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


def _write(
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
