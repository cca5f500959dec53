"""Critical radii that others have published, as CSV.

Either network, split, image, lower, upper and runtime_s, or the results of VERONA: network or
network_path, image_id, epsilon_value, smallest_sat_value and total_time.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from surefoot.core.assumptions import Assumed
from surefoot.core.results import Bracket, Footing, Guarantee, Interval
from surefoot.errors import InvalidArgument
from surefoot.inputs.items import no_csv_refused

COLUMNS = ("network", "split", "image", "lower", "upper", "runtime_s")
_VERONA = {
    "image_id": "image",
    "epsilon_value": "lower",
    "smallest_sat_value": "upper",
    "total_time": "runtime_s",
    "original_label": "label",
    "verifier": "source",
}
_TEXTS = ("network", "split", "image", "source", "label", "training")
_EMPTY_WORDS = ("", "nan", "none", "undefined", "inf")


@dataclass(frozen=True)
class PublishedBracket:
    """One row: the network, the image, its bracket, and the seconds where the file has them.

    `source`, `label` and `training` are empty where the file has no such column, `query_seconds`,
    the time of the verifier's own calls, is None.
    """

    network: str
    split: str
    image: str
    bracket: Bracket
    seconds: float | None
    source: str = ""
    label: str = ""
    training: str = ""
    query_seconds: float | None = None


def read_brackets(path: Path | str, source: str | None = None) -> tuple[PublishedBracket, ...]:
    """All rows of the file, or those of these sources, as `surefoot brackets --source` has them.

    An empty `lower` means that nothing was proved: 0. An empty `upper` means that nothing was
    refuted: infinite. An empty `runtime_s` is not known. Nothing is left out.
    """
    file = Path(path)
    with no_csv_refused(file):
        if not file.exists():
            raise InvalidArgument(f"there is no file {file}: check the path")
        with file.open(newline="", encoding="utf-8-sig") as opened:
            reader = csv.DictReader(opened)
            rows = [(reader.line_num, row) for row in reader]
            names = reader.fieldnames or ()
    if "epsilon_value" in names:
        names, rows = COLUMNS, [(line, _from_verona(row)) for line, row in rows]
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise InvalidArgument(
            f"{file} has no column {missing[0]}: brackets need the columns {', '.join(COLUMNS)}; "
            "add it"
        )
    if not rows:
        raise InvalidArgument(
            f"{file} has no rows below its header: brackets need at least one; add one for each "
            "input"
        )
    every = tuple(_published(file, line, row) for line, row in rows)
    return every if source is None else _of_source(file, every, source)


def _of_source(
    file: Path, rows: tuple[PublishedBracket, ...], source: str
) -> tuple[PublishedBracket, ...]:
    """Of each network the rows of the first of these sources that it has."""
    wanted, known = source.split(","), sorted({row.source for row in rows} - {""})
    for name in wanted:
        if name not in known:
            way_out = f"choose source (--source) {' or '.join(known)}" if known else "leave it out"
            raise InvalidArgument(f"{file} has no rows of source {name!r}: {way_out}")
    there = {(row.network, row.source) for row in rows}
    first = {
        network: next((one for one in wanted if (network, one) in there), None)
        for network, _ in there
    }
    return tuple(row for row in rows if row.source == first[row.network])


def _from_verona(row: Mapping[str, str | None]) -> dict[str, str | None]:
    """The row under the names used here."""
    renamed: dict[str, str | None] = {_VERONA.get(name, name): cell for name, cell in row.items()}
    path = renamed.pop("network_path", None)
    if "network" not in renamed and path is not None:
        renamed["network"] = Path(path.replace("\\", "/")).stem
    for name in ("lower", "upper", "runtime_s"):
        cell = renamed.get(name)
        if cell is not None and cell.strip().lower() in _EMPTY_WORDS:
            renamed[name] = ""
    return {"split": "", **renamed}


def _published(file: Path, line: int, row: Mapping[str, str | None]) -> PublishedBracket:
    if any(row.get(name) is None for name in COLUMNS):
        raise InvalidArgument(
            f"{file}, line {line}: there are fewer cells than columns; fill the row or remove it"
        )
    text = {name: str(value).strip() for name, value in row.items() if isinstance(value, str)}
    low = _number(file, line, "lower", text["lower"], 0.0)
    high = _number(file, line, "upper", text["upper"], math.inf)
    if not low <= high:
        raise InvalidArgument(
            f"{file}, line {line}: lower is {low:g} and upper is {high:g}; what is proved cannot "
            "lie above what is refuted: correct the row"
        )
    seconds = _number(file, line, "runtime_s", text["runtime_s"], math.nan)
    calls = _number(file, line, "query_seconds", text.get("query_seconds", ""), math.nan)
    guarantee = Guarantee(Footing.CONDITIONAL, 0.0, (Assumed.PUBLISHED,))
    ended = "" if text["lower"] and text["upper"] else "the search ended early"
    return PublishedBracket(
        bracket=Bracket(Interval(low, high), guarantee, ended),
        seconds=None if math.isnan(seconds) else seconds,
        query_seconds=None if math.isnan(calls) else calls,
        **{name: text.get(name, "") for name in _TEXTS},
    )


def _number(file: Path, line: int, column: str, cell: str, empty: float) -> float:
    if not cell:
        return empty
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    infinite = math.isinf(value) and column != "upper"
    if math.isnan(value) or value < 0 or infinite:
        raise InvalidArgument(
            f"{file}, line {line}: {column} is {cell!r}; give a number of at least 0 or leave the "
            "cell empty"
        )
    return value
