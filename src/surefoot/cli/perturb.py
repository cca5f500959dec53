"""`surefoot perturb`: what the catalogue holds, and what a perturbation looks like."""

from __future__ import annotations

import json as jsonlib
import re
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli import options as o
from surefoot.cli.terminal import HOLDS, open_console, show_table
from surefoot.errors import InvalidArgument, ReportFailed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from surefoot.subject import Perturbation


def perturb(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="rotation:30, fog, blur:0..2, …")
    ] = None,
    image: Annotated[
        str | None, typer.Argument(metavar="[IMAGE]", help="An image, or test.npz (its first).")
    ] = None,
    every: Annotated[bool, typer.Option("--list", help="List the catalogue.")] = False,
    sheet: Annotated[str, typer.Option(help="Where to write the contact sheet.")] = "sheet.png",
    samples: Annotated[int, typer.Option(min=1, max=50, help="Rows of the sheet.")] = 4,
    levels: Annotated[str | None, typer.Option(help="Columns: 0,0.5,1.")] = None,
    seed: Annotated[int, typer.Option(help="Names the random numbers.")] = 1,
    json: o.Json = False,
) -> int:
    """List the perturbations, define one, or show it on an image: levels across, samples down.

    Without a level the sheet shows the published severities 1 to 5.

    Example: surefoot perturb rotation:30 cat.png --sheet sheet.png
    """
    if every or name is None:
        _list(json)
        return HOLDS
    if image is None:
        _define(name)
        return HOLDS
    from surefoot.study.draw_sheet import perturbation_and_levels, read_image
    from surefoot.study.registry import number

    o.check_file(sheet)
    pixels = read_image(image)
    wanted = None if levels is None else [number(part) for part in levels.split(",")]
    shown, columns = perturbation_and_levels(name, pixels.shape[1:], wanted)
    _write(pixels, shown, columns, samples, seed, sheet)
    typer.echo(
        f"{shown.phrase.replace('{level}', 'the level above each column')}\n"
        f"{len(columns)} levels, {samples} samples: {sheet}"
    )
    return HOLDS


def _list(as_json: bool) -> None:
    from surefoot.report.tables import Table
    from surefoot.study.perturbation_catalogue import entries

    found = entries()
    if as_json:
        typer.echo(jsonlib.dumps([e.__dict__ for e in found], ensure_ascii=False))
        return
    rows = tuple((e.kind, e.of, e.levels, e.severities, e.options) for e in found)
    headings = ("name", "of", "levels", "severities 1-5, small and large images", "options")
    note = "A level below 0 is the other direction; it is written in a range, as rotation:-10..10."
    show_table(open_console(), Table("Perturbations", headings, rows, 5, note))


def _define(name: str) -> None:
    from surefoot.study.parse_perturbation import parse_perturbation
    from surefoot.study.perturbation_catalogue import entries

    if name.startswith("@"):
        typer.echo(parse_perturbation(name).phrase.replace("{level}", "its level"))
        return
    found = next((e for e in entries() if e.kind == name.partition(":")[0]), None)
    if found is None or not re.fullmatch(r"[^+|]*", name):
        parse_perturbation(name)  # says what is wrong, if something is
        raise InvalidArgument(f"{name} is built from several: ask for one of them by its name")
    lines = [f"{found.kind}, of {found.of}; levels {found.levels}", "", found.definition]
    if found.severities:
        lines += ["", f"published severities 1 to 5, small; large images: {found.severities}"]
    if found.options:
        lines += ["", f"options: {found.options}"]
    typer.echo("\n".join(lines))


def _write(
    image: NDArray[np.float32],
    shown: Perturbation,
    levels: list[float],
    samples: int,
    seed: int,
    path: str,
) -> None:
    from surefoot.study.contact_sheet import sheet as drawn

    whole = drawn(image, shown, levels, samples, seed)
    try:
        whole.save(path)
    except (OSError, ValueError) as error:
        raise ReportFailed(f"{path} cannot be written ({error})") from error
