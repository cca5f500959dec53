"""Suites: tables of perturbations × levels, built in or in a TOML file of one's own."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot.catalogue.parse import at_level, level_reader, parse_perturbation
from surefoot.catalogue.registry import PERTURBATIONS
from surefoot.errors import InvalidArgument
from surefoot.perturb.catalogue import TEXTS
from surefoot.records.record import cell_name
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Perturbation
from surefoot.system.text import level_words

_SEVERITIES = ("s1", "s2", "s3", "s4", "s5")
_SIGNAL_LENGTH = 256
"""Values along the longest axis from which inputs that are neither images nor tables are taken for
signals; rows of fewer numbers are measurements of any kind, and their user says which suite."""
_NAMED_KINDS = 4
"""Perturbations that are the name of a suite of them: more would make its sentence long."""
_MOST_BYTES = 1_000_000
_MOST_CELLS = 1000
"""Of a file: beyond it the shared error leaves next to nothing for each cell."""


@dataclass(frozen=True)
class Row:
    """A perturbation at several levels, by the name of its column: as text, or one in memory."""

    name: str
    cells: dict[str, Any]


@dataclass(frozen=True)
class Suite:
    """Rows under a name; `left_out` says in words what does not fit the inputs."""

    name: str
    rows: tuple[Row, ...]
    left_out: str = ""

    @property
    def texts(self) -> dict[str, Any]:
        """The perturbation of every cell as it was given, by its name: glass s5."""
        return {
            cell_name(row.name, column): text
            for row in self.rows
            for column, text in row.cells.items()
        }

    def perturbations(self, frame: tuple[int, ...] = ()) -> dict[str, Perturbation]:
        """Every cell read; a severity means another level on small images than on large ones."""
        return {
            name: parse_perturbation(given, frame) if isinstance(given, str) else given
            for name, given in self.texts.items()
        }


def suite_of(perturbations: Sequence[Any]) -> Suite:
    """These perturbations, each with its level: a row for each kind, a column for each level."""
    rows: dict[str, dict[str, Any]] = {}
    known: set[str] = set()
    for given in perturbations:
        read = parse_perturbation(given) if isinstance(given, str) else given
        kind, level = read.kind, "" if read.level is None else level_words(read.level)
        if isinstance(given, str):
            kind, _, level = given.strip().partition(":")
        column = "".join(level.split()) or "–"
        if repr(read) in known or column in rows.get(kind, {}):
            raise InvalidArgument(
                f"the perturbation {cell_name(kind, column)} is given twice: leave one out",
                option="perturb",
                value=given,
            )
        known.add(repr(read))
        rows.setdefault(kind, {})[column] = given
    name = ", ".join(rows) if len(rows) <= _NAMED_KINDS else f"{len(rows)} perturbations"
    return Suite(name, tuple(Row(kind, cells) for kind, cells in rows.items()))


def _published(*names: str) -> tuple[Row, ...]:
    return tuple(Row(name, {s: f"{name}:{s}" for s in _SEVERITIES}) for name in names)


def _at(text: str, *levels: str, name: str = "") -> Row:
    """A row whose levels stand in for the braces of a text."""
    return Row(name or text.partition(":")[0], {s: text.replace("{}", s) for s in levels})


def _around(name: str, *levels: str) -> Row:
    """Drawn uniformly from minus to plus each level."""
    return Row(name, {f"±{s}": f"{name}:-{s}..{s}" for s in levels})


_FIFTEEN = (
    "gaussian", "shot", "impulse", "defocus", "glass", "motion", "zoom-blur", "snow", "frost",
    "fog", "brightness", "contrast", "elastic", "pixelate", "jpeg",
)  # fmt: skip
_EXTRA = ("speckle", "blur", "spatter", "saturate")
_SHARES = ("0.01", "0.02", "0.05", "0.1", "0.2")
SUITES: dict[str, tuple[Row, ...]] = {
    "corruptions": _published(*_FIFTEEN),
    "corruptions-extra": _published(*_FIFTEEN, *_EXTRA),
    "noise": _published("gaussian", "shot", "impulse", "speckle"),
    "weather": _published("snow", "frost", "fog", "spatter", "brightness"),
    "geometry": (
        _around("rotation", "5", "10", "15", "20", "30"),
        _around("translate-x", "0.05", "0.1", "0.15", "0.2", "0.3"),
        _around("translate-y", "0.05", "0.1", "0.15", "0.2", "0.3"),
        _around("zoom", "0.05", "0.1", "0.2", "0.3", "0.4"),
        _around("shear", "5", "10", "15", "20", "30"),
        _around("perspective", "0.05", "0.1", "0.2", "0.3", "0.4"),
        *_published("elastic"),
    ),
    "sensor": (
        _at("dead-pixels:{}", *_SHARES),
        _at("dead-lines:{}", *_SHARES),
        _at("banding:{}", "0.05", "0.1", "0.2", "0.3", "0.5"),
        _at("bayer:{}", "0.2", "0.4", "0.6", "0.8", "1"),
        _at("vignetting:{}", "0.2", "0.4", "0.6", "0.8", "1"),
        _at("flare:{}", "0.1", "0.2", "0.3", "0.4", "0.6"),
        _at("dirt:{}", *_SHARES),
        _at("lens-distortion:{}", "0.05", "0.1", "0.15", "0.2", "0.3"),
        _at("chromatic-aberration:{}", "0.01", "0.02", "0.04", "0.06", "0.1"),
        _at("white-balance:{}", "0.1", "0.2", "0.3", "0.5", "0.7"),
        *_published("gaussian", "shot"),
    ),
    "text": tuple(_at(f"{one.kind}:{{}}", *_SHARES) for one in TEXTS),
    "table": (_at("table:{}sd", "0.05", "0.1", "0.2", "0.3", "0.5", name="noise-in-sd"),),
    "audio": (
        _at("snr:{}dB", "30", "20", "15", "10", "5"),
        _at("gain:{}", "3", "6", "9", "12", "18"),
        _at("clip:{}", "0.2", "0.4", "0.6", "0.8", "0.9"),
        _at("band-pass:{}", "0.2", "0.4", "0.6", "0.8", "0.9"),
        _at("time-shift:{}", "0.02", "0.05", "0.1", "0.2", "0.3"),
        _around("speed", "0.02", "0.05", "0.1", "0.15", "0.2"),
        _at("dropouts:{}", "0.02", "0.05", "0.1", "0.2", "0.3"),
    ),
}
"""The built-in suites. `corruptions` are the fifteen of ImageNet-C (Hendrycks & Dietterich 2019) at
their five severities, `corruptions-extra` these and its four further ones."""


def choose_suite(given: object, inputs: Inputs) -> Suite:
    """The suite of this name, of this file, or the one that suits the inputs."""
    if isinstance(given, Suite):
        return given
    name = _suiting(inputs) if given is None else str(given)
    if name in SUITES:
        return _that_fit(Suite(name, SUITES[name]), inputs)
    if name.endswith(".toml"):
        return read_suite(name)
    raise InvalidArgument(
        f"there is no suite {name!r}: choose one of {', '.join(SUITES)}, or name a file, mine.toml",
        option="suite",
        value=name,
    )


def _suiting(inputs: Inputs) -> str:
    if inputs.frame:
        return "corruptions"
    if inputs.features:
        return "table"
    if inputs.holds_items and isinstance(inputs.x[0], str):
        return "text"
    if not inputs.holds_items and max(inputs.x.shape[1:], default=0) >= _SIGNAL_LENGTH:
        return "audio"
    raise InvalidArgument(
        f"no suite is made for {inputs.source} ({inputs.content}): name one, suite='noise' "
        "(--suite noise), or a file of your own (--suite mine.toml)",
        option="suite",
        value=None,
    )


def _that_fit(suite: Suite, inputs: Inputs) -> Suite:
    """Without the rows that need images in colour, where these are grey."""
    frame = inputs.frame
    colour = len(frame) == 3 and 3 in (frame[0], frame[-1])
    grey = [
        row
        for row in suite.rows
        if not colour and hasattr(PERTURBATIONS[_kind(row)], "needs_channels")
    ]
    if not frame or not grey:
        return suite
    names = ", ".join(row.name for row in grey)
    rest = tuple(row for row in suite.rows if row not in grey)
    return Suite(suite.name, rest, f"left out: {names} (for images in colour)")


def _kind(row: Row) -> str:
    return str(next(iter(row.cells.values()))).partition(":")[0]


_KEYS = {"name", "perturb", "levels", "severities"}


def read_suite(path: str | Path) -> Suite:
    """The suite of a TOML file: a name, and a table [[row]] for each perturbation.

    A row has `perturb`, the text of a perturbation, and `severities` (1 to 5) or `levels`; without
    both the text has its level. `name` is by default the perturbation.
    """
    file = Path(path)
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise ValueError(f"it has more than {_MOST_BYTES:,} bytes")
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidArgument(
            f"{path} cannot be read as a suite ({error}): give a TOML file", option="suite"
        ) from error
    rows = content.get("row")
    unknown = sorted(content.keys() - {"name", "row"})
    if unknown or not isinstance(rows, list) or not rows:
        what = f"has {unknown[0]!r}, which a suite does not" if unknown else "has no [[row]]"
        raise InvalidArgument(
            f'{path} {what}: write name = "mine" and for each perturbation [[row]] with perturb = '
            '"gaussian" and severities = [1, 3, 5] or levels = [0.1, 0.2]'
        )
    named: dict[str, Row] = {}
    cells: dict[str, str] = {}
    for number, one in enumerate(rows, 1):
        row = _read_row(path, number, one)
        if row.name in named:
            raise InvalidArgument(
                f"{path} has two rows named {row.name!r}: give one of them another name"
            )
        named[row.name] = row
        for column, text in row.cells.items():
            cell = cell_name(row.name, column)
            same = repr(parse_perturbation(text))  # 0.2 and 0.20 are the same level
            if same in cells:
                raise InvalidArgument(
                    f"{path}: {cell} and {cells[same]} are the same perturbation, {text}: leave "
                    "one out"
                )
            cells[same] = cell
    if len(cells) > _MOST_CELLS:
        raise InvalidArgument(
            f"{path} has {len(cells):,} cells, and a suite at most {_MOST_CELLS:,}: they share one "
            "error; make several suites of it"
        )
    return Suite(str(content.get("name") or Path(path).stem), tuple(named.values()))


def _read_row(path: str | Path, number: int, given: Any) -> Row:  # noqa: ANN401  whatever stands there
    where = f"{path}, row {number}"
    if not isinstance(given, dict) or not isinstance(given.get("perturb"), str):
        raise InvalidArgument(f'{where} has no perturbation: write perturb = "gaussian"')
    text = given["perturb"].strip()
    unknown = sorted(given.keys() - _KEYS)
    if unknown:
        raise InvalidArgument(
            f"{where} ({text}) has {unknown[0]!r}: remove it, or write one of "
            f"{', '.join(sorted(_KEYS))}"
        )
    if "levels" in given and "severities" in given:
        raise InvalidArgument(f"{where} ({text}) has levels and severities: give one of them")
    name = "-".join(str(given.get("name", text.partition(":")[0])).split())
    try:
        cells = _read_cells(text, given)
        for one in cells.values():
            parse_perturbation(one)
    except InvalidArgument as error:
        raise InvalidArgument(f"{where}: {error}") from error
    return Row(name or text, cells)


def _read_cells(text: str, given: dict[str, Any]) -> dict[str, str]:
    """The text of each cell by its column."""
    key = next((key for key in ("levels", "severities") if key in given), None)
    if key is None:
        rest = text.partition(":")[2]
        several = "name" in given and ":" in rest  # what stands before it is in no name
        return {"".join((text if several else rest).split()) or "–": text}
    values = given[key]
    if not isinstance(values, list) or not values:
        raise InvalidArgument(f"{text} needs a list of {key}, such as [1, 3, 5], got {values!r}")
    cells: dict[str, str] = {}
    for value in values:
        if key == "severities":
            if "+" in text or isinstance(value, bool) or not isinstance(value, int | float):
                raise InvalidArgument(
                    f"{text}: severities are numbers from 1 to 5 of one perturbation, got "
                    f"{value!r}: of several, blur:s3+jpeg:s3, write each as a row of its own"
                )
            column = f"s{value}"
            kind, _, rest = text.partition(",")
            one = f"{kind.partition(':')[0]}:{column}{',' * bool(rest)}{rest}"
        else:
            level = level_reader(text)(value) if isinstance(value, str) else _number(text, value)
            column = value if isinstance(value, str) else level_words(level)
            one = at_level(text, level)
        if column in cells:
            raise InvalidArgument(f"{text} has {column} twice: leave one out")
        cells["".join(column.split())] = one
    return cells


def _number(text: str, value: Any) -> float:  # noqa: ANN401  whatever stands there
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidArgument(
            f"{text}: {value!r} is no level: write a number, or a text such as '20dB'"
        )
    return float(value)
