"""`surefoot perturb`: what the catalogue holds, and what a perturbation looks like."""

from __future__ import annotations

import json as jsonlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surefoot.cli import options as o
from surefoot.cli.terminal import HOLDS, open_console, show_table
from surefoot.errors import InvalidArgument, ReportFailed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from surefoot.subject import Perturbation

_COLUMNS = 5


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
    o.check_file(sheet)
    pixels = _read_image(image)
    shown, columns = _shown(name, pixels.shape[1:], levels)
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


def _read_image(path: str) -> NDArray[np.float32]:
    import numpy as np

    if Path(path).suffix.lower() in (".npz", ".npy"):
        return _first(path)
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as opened:
            pixels = np.asarray(opened.convert("RGB"), dtype=np.float32) / np.float32(255)
    except (OSError, UnidentifiedImageError) as error:
        raise InvalidArgument(f"{path} cannot be read as an image ({error})") from error
    return np.ascontiguousarray(np.moveaxis(pixels, -1, 0))


def _first(path: str) -> NDArray[np.float32]:
    import numpy as np

    from surefoot.engine.input_layout import to_view
    from surefoot.inputs import load_inputs
    from surefoot.subject import View

    inputs = load_inputs(path)
    if not inputs.frame:
        raise InvalidArgument(f"{path} holds no images but rows of shape {inputs.x.shape[1:]}")
    found: NDArray[np.float32] = to_view(inputs.x[:1], inputs, View.IMAGE)[0]
    if found.min() < 0 or found.max() > 1:
        raise InvalidArgument(
            f"{path} holds values from {found.min():g} to {found.max():g}: save images in 0 to 1"
        )
    return np.ascontiguousarray(found)


def _shown(
    name: str, frame: tuple[int, ...], levels: str | None
) -> tuple[Perturbation, list[float]]:
    """The perturbation and the levels of the columns, 0 first."""
    from surefoot.perturb._ops.levels import level_of
    from surefoot.study.parse_perturbation import parse_perturbation
    from surefoot.study.registry import number

    wanted = None if levels is None else [number(part) for part in levels.split(",")]
    if ":" in name or name.startswith("@"):
        made = parse_perturbation(name, frame)
        return made, wanted or [level_of(made) * i / _COLUMNS for i in range(_COLUMNS + 1)]
    if wanted:
        return parse_perturbation(f"{name}:{max(wanted)!r}", frame), wanted
    found: list[Any] = [parse_perturbation(f"{name}:s{i}", frame) for i in range(1, 6)]
    return found[-1], [0.0, *(p.level for p in found)]


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
