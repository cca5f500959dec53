"""`perturb`: the perturbations there are, one explained, or one shown on an image or a text."""

from __future__ import annotations

import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from surefoot.commands import options as o
from surefoot.commands.caller import Answer
from surefoot.commands.values import as_numbers, check_file
from surefoot.errors import InvalidArgument, ReportFailed
from surefoot.records.options import Option, option, same_option
from surefoot.system.whole_file import write_whole

_SHEET = "sheet.png"
SAMPLES = 4


@dataclass(frozen=True)
class SheetOptions:
    """What the contact sheet shows, and where it goes."""

    every: bool = option(False, "List all perturbations.", names=("--list",))
    sheet: str | None = option(None, f"Write the contact sheet here (default: {_SHEET}).")
    samples: int | None = option(
        None, f"Rows of the sheet: samples (default: {SAMPLES}).", least=1, most=50
    )
    levels: str | None = option(None, "Columns of the sheet: levels, such as 0,0.5,1.")
    seed: int = same_option(o.RunOptions, "seed")


def perturb(
    name: Annotated[
        str | None,
        Option("rotation:30, fog, blur:0..2, mine.py:halve:0.5", metavar="[NAME]", argument=True),
    ] = None,
    image: Annotated[
        str | None,
        Option(
            "An image file, or test.npz, reviews.jsonl (the first image, the first text).",
            metavar="[IMAGE]",
            argument=True,
        ),
    ] = None,
    *,
    options: SheetOptions,
) -> Answer:
    """The list; with a name, its definition; with an image or a text, samples of it."""
    if options.every or name is None or image is None:
        for option_ in ("sheet", "samples", "levels"):
            value = getattr(options, option_)
            if value is not None:
                raise InvalidArgument(
                    f"--{option_} {value} needs an image: surefoot perturb fog cat.png"
                )
        return _listed() if options.every or name is None else _explained(name)
    from surefoot.catalogue.registry import open_phrase
    from surefoot.inputs.items import is_text_path
    from surefoot.study.draw_sheet import perturbation_and_levels, read_image, sheet

    if is_text_path(image):
        return _on_text(name, image, options)
    path, rows = options.sheet or _SHEET, options.samples or SAMPLES
    check_file(path)
    pixels = read_image(image)
    chosen = None if options.levels is None else as_numbers("levels", options.levels)
    perturbation, columns = perturbation_and_levels(name, pixels.shape[1:], chosen)
    drawn, file = sheet(pixels, perturbation, columns, rows, options.seed), io.BytesIO()
    file.name = path  # by which Pillow knows the format
    try:
        drawn.save(file)
    except (OSError, ValueError) as error:
        raise ReportFailed(f"{path} cannot be written ({error}): name it {_SHEET}") from error
    write_whole(Path(path), file.getvalue())
    lines = (
        open_phrase(perturbation.phrase),
        f"{len(columns)} levels s (above the columns), {rows} samples (rows): {path}",
    )
    return Answer(lines, json.dumps({"sheet": path, "levels": columns, "samples": rows}))


def _on_text(name: str, path: str, options: SheetOptions) -> Answer:
    """The first text of a file at several levels: samples on lines, the clean text first."""
    from surefoot.catalogue.registry import open_phrase
    from surefoot.report.tables import Table
    from surefoot.study.draw_sheet import perturbation_and_levels, text_samples
    from surefoot.system.text import level_words

    if options.sheet is not None:
        raise InvalidArgument(f"--sheet {options.sheet} is for images: leave it out")
    chosen = None if options.levels is None else as_numbers("levels", options.levels)
    perturbation, levels = perturbation_and_levels(name, (), chosen)
    samples = text_samples(path, perturbation, levels, options.samples or SAMPLES, options.seed)
    rows = tuple((level_words(level), text) for level, text in samples)
    table = Table("Samples", ("level", "text"), rows, 2)
    return Answer(
        [open_phrase(perturbation.phrase), table], json.dumps(samples, ensure_ascii=False)
    )


def _listed() -> Answer:
    from surefoot.catalogue.registry import entries
    from surefoot.report.tables import Table

    catalogue = entries()
    rows = tuple((e.kind, e.of, e.levels, e.unit, e.about.replace("`", "")) for e in catalogue)
    headings = ("name", "of", "levels", "unit", "what it does")
    note = (
        "A negative level is the other direction; write it in a range: rotation:-10..10. Options "
        "and published severities of one: surefoot perturb NAME."
    )
    every = json.dumps([asdict(e) for e in catalogue], ensure_ascii=False)
    return Answer([Table("Perturbations", headings, rows, 5, note)], every)


def _explained(name: str) -> Answer:
    from surefoot.catalogue.parse import explain_own, own_text, parse_perturbation
    from surefoot.catalogue.registry import entries

    if (own := own_text(name)) is not None:
        definition = explain_own(own)
        return Answer([definition], json.dumps({"definition": definition}))
    entry = next((e for e in entries() if e.kind == name.partition(":")[0]), None)
    if entry is None or "+" in name or "|" in name:
        parse_perturbation(name)  # refuses an unknown name, with close ones
        raise InvalidArgument(f"{name} combines several perturbations: give the name of one")
    lines = [
        f"{entry.kind}, of {entry.of}; levels {entry.levels} ({entry.unit})",
        "",
        entry.definition,
    ]
    if entry.severities:
        lines += ["", f"published severities 1 to 5, small; large images: {entry.severities}"]
    if entry.options:
        lines += ["", f"options: {entry.options}"]
    return Answer(lines, json.dumps(asdict(entry), ensure_ascii=False))
