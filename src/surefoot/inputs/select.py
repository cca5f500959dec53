"""Select the part of the data to study, and the groups that it was sampled in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.core.limits import check_fields, whole
from surefoot.errors import InvalidArgument, refusing
from surefoot.inputs.bounded_pattern import BoundedPattern
from surefoot.inputs.files import read_npy
from surefoot.inputs.items import csv_rows
from surefoot.inputs.labels import Data
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Item
from surefoot.system.text import escape_unprintable

_ERROR = 0.001
"""Probability of a doubt, by each of two tests, where the data are in random order."""


def composition_doubt(
    labels: NDArray[np.int64], first: int, unit: str, class_name: Callable[[int], str]
) -> str:
    """Why the first of these are no random choice of all; empty if they may be one.

    By class: either a class has more or fewer among them than a random choice would give it
    (hypergeometric tails, shared over the classes), or all data are in the order of their classes
    and the first leave some out.
    """
    from scipy.special import gammaln

    classes, counts = np.unique(labels, return_counts=True)
    taken = np.array([(labels[:first] == one).sum() for one in classes])
    missing = int((taken == 0).sum())
    if first >= len(labels) or len(classes) == 1:
        return ""
    # For each class the hypergeometric tail beyond its number, times the number of tails.
    total = int(counts.sum())
    tails = []
    for seen, count in zip(taken.tolist(), counts.tolist(), strict=True):
        k = np.arange(max(0, first - (total - count)), min(count, first) + 1)
        ways = _log_choose(count, k) + _log_choose(total - count, first - k)
        chance = np.exp(ways - _log_choose(total, np.array(first)))
        tails.append(min(chance[k <= seen].sum(), chance[k >= seen].sum()))
    improbable = 2 * len(counts) * np.array(tails)
    # Each class in one piece, which a random order would hardly give.
    pieces = 1 + int((labels[1:] != labels[:-1]).sum())
    log_chance = gammaln(len(counts) + 1) + gammaln(counts + 1).sum() - gammaln(len(labels) + 1)
    in_order = pieces == len(counts) and bool(log_chance < np.log(_ERROR))
    if improbable.min() > _ERROR and not (missing and in_order):
        return ""
    if missing == len(classes) - 1:
        found = f"are all of class {class_name(int(labels[0]))}, and the data have"
        found += f" {len(classes)} classes"
    elif missing:
        found = f"are of {len(classes) - missing} of the {len(classes)} classes of the data"
    else:
        odd = int(improbable.argmin())
        found = (
            f"hold {taken[odd]} of class {class_name(int(classes[odd]))}, where a random choice "
            f"would hold about {first * counts[odd] / len(labels):.0f}"
        )
    return (
        f"the first {first} {unit} {found}: no random sample of the data; use random={first} "
        f"(--random {first}), or name the classes that you mean (classes=, --classes)"
    )


def _log_choose(n: int, k: NDArray[np.intp]) -> NDArray[np.float64]:
    from scipy.special import gammaln

    ways: NDArray[np.float64] = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return ways


Predicted = Callable[[NDArray[np.intp]], NDArray[np.int64]]
"""The label predicted for each of these rows; -1 where several models do not agree."""
_CORRECT = "keeping only correctly classified inputs"
_BATCH = 256
"""Inputs classified at a time, so that few more than needed are run."""


@dataclass(frozen=True)
class Selection:
    """Which inputs of a set are studied: the first n, or n at random, of some classes.

    First the classes, then the order, then (if asked) what the model gets right, then n.

    Where the inputs have groups, n whole groups are taken: single inputs would take large groups
    more often than small ones.
    """

    classes: tuple[int, ...] = ()
    first: int | None = field(default=None, metadata=whole(1))
    random: int | None = field(default=None, metadata=whole(1))
    seed: int = field(default=1, metadata=whole(0))
    correct_only: bool = False

    def __post_init__(self) -> None:
        if self.first is not None and self.random is not None:
            raise InvalidArgument("choose either first or random, not both")
        check_fields(self)


def select(
    inputs: Inputs, selection: Selection, predicted: Predicted, who: str = "the model classifies"
) -> Inputs:
    """The chosen inputs. `predicted` is only called where correctness matters."""
    order = np.arange(len(inputs))
    words: list[str] = []
    if selection.classes:
        labels = _labels(inputs, "choosing classes")
        missing = sorted(set(selection.classes) - set(labels.tolist()))
        if missing:
            raise InvalidArgument(
                f"{inputs.source} holds no input of class {missing[0]}: it has "
                f"{', '.join(map(str, np.unique(labels)))}; choose among them"
            )
        order = np.flatnonzero(np.isin(labels, selection.classes))
        names = ", ".join(inputs.class_name(c) for c in selection.classes)
        words.append(f"classes {names}")
    _check_groups(inputs, order, selection)
    taken = (
        _whole_groups(inputs, order, selection)
        if inputs.groups
        else _single_inputs(inputs, order, selection, predicted)
    )
    doubt = inputs.selection_doubt
    if selection.random is not None:
        words.append(f"{taken.words} drawn at random (seed {selection.seed})")
    elif selection.first is not None:
        words.append(f"the first {taken.words}")
        doubt = doubt or _doubt_of_first(inputs, order, taken)
        if selection.first > taken.available:
            words.append(f"which are all, fewer than {selection.first}")
    if selection.correct_only:
        words.append(f"only the {len(taken.rows)} of {taken.examined} that {who} correctly")
        inputs = replace(inputs, only=f"that {who} correctly")
    if not words:
        return inputs
    description = f"{len(taken.rows)} of {len(inputs)} inputs: " + ", ".join(words)
    known = set[int]()  # the classes that have an input or a name
    if inputs.labels is not None:
        known = {*inputs.labels.tolist(), *range(len(inputs.class_names))}
    classes = tuple(sorted(selection.classes or inputs.classes or known))
    chosen = replace(inputs, selection=description, classes=classes, selection_doubt=doubt)
    return chosen.subset(taken.rows)


def _check_groups(inputs: Inputs, order: NDArray[np.intp], selection: Selection) -> None:
    """Refuse what takes single inputs out of groups.

    A group with few inputs left would count as much as a whole one, and one without any not at
    all: what remains is no random sample of groups, and its mean not that of the inputs chosen.
    """
    if not inputs.groups:
        return
    if selection.correct_only:
        raise InvalidArgument(
            "correct_only (--correct-only) takes inputs out of their groups, and what remains is "
            "no random sample of groups: leave it out (the property true counts inputs that are "
            "wrong when clean as failures), or load the inputs without groups",
            option="correct_only",
            value=True,
        )
    chosen = {inputs.groups[row] for row in order.tolist()}
    whole = sum(group in chosen for group in inputs.groups)
    if whole > len(order):
        raise InvalidArgument(
            f"classes (--classes) takes inputs out of {len(chosen):,} groups that have inputs of "
            "other classes too, and what remains is no random sample of groups: leave it out, or "
            "load the inputs without groups",
            option="classes",
            value=",".join(map(str, selection.classes)),
        )


@dataclass(frozen=True)
class _Taken:
    """The rows chosen, how many inputs and units (inputs or groups) were examined for them.

    `available` is how many units there are.
    """

    rows: NDArray[np.intp]
    examined: int
    units: int
    available: int
    words: str


def _doubt_of_first(inputs: Inputs, order: NDArray[np.intp], taken: _Taken) -> str:
    """Why the first units are no random choice, by their classes; empty if they may be one."""
    if inputs.labels is None:
        return ""
    labels = inputs.labels[order]
    if not inputs.groups:
        return composition_doubt(labels, taken.units, "inputs", inputs.class_name)
    class_of: dict[str, int] = {}
    for row, label in zip(order.tolist(), labels.tolist(), strict=True):
        if class_of.setdefault(inputs.groups[row], label) != label:
            return ""  # groups of several classes have no class to count
    of_groups = np.array(list(class_of.values()), dtype=np.int64)
    return composition_doubt(of_groups, taken.units, "groups", inputs.class_name)


def _single_inputs(
    inputs: Inputs, order: NDArray[np.intp], selection: Selection, predicted: Predicted
) -> _Taken:
    if selection.random is not None:
        order = np.random.default_rng(selection.seed).permutation(order)
    count = selection.first or selection.random or len(order)
    if selection.correct_only:
        rows, examined = _correct(inputs, order, count, predicted)
    else:
        rows, examined = order[:count], min(count, len(order))
    return _Taken(rows, examined, examined, len(order), str(examined))


def _whole_groups(inputs: Inputs, order: NDArray[np.intp], selection: Selection) -> _Taken:
    """The same by whole groups."""
    rows_of: dict[str, list[int]] = {}
    for row in order.tolist():
        rows_of.setdefault(inputs.groups[row], []).append(row)
    groups = list(rows_of)
    if selection.random is not None:
        shuffled = np.random.default_rng(selection.seed).permutation(len(groups))
        groups = [groups[i] for i in shuffled]
    drawn = groups[: selection.first or selection.random or len(groups)]
    rows = np.array([row for group in drawn for row in rows_of[group]], dtype=np.intp)
    words = "1 group" if len(drawn) == 1 else f"{len(drawn)} groups"
    return _Taken(rows, len(rows), len(drawn), len(groups), words)


def _labels(inputs: Inputs, why: str) -> NDArray[np.int64]:
    if inputs.labels is None:
        raise InvalidArgument(
            f"{inputs.source} holds no labels, and {why} needs them: add labels (labels=, "
            "--labels), or leave that out"
        )
    return inputs.labels


def _correct(
    inputs: Inputs, order: NDArray[np.intp], count: int, predicted: Predicted
) -> tuple[NDArray[np.intp], int]:
    """The first `count` inputs that are classified correctly, and how many were examined."""
    labels = _labels(inputs, _CORRECT)
    correct: list[int] = []
    for start in range(0, len(order), _BATCH):
        rows = order[start : start + _BATCH]
        right = predicted(rows) == labels[rows]
        for offset, (row, ok) in enumerate(zip(rows, right, strict=True)):
            if ok:
                correct.append(int(row))
            if len(correct) == count:
                return np.array(correct, dtype=np.intp), start + offset + 1
    return np.array(correct, dtype=np.intp), len(order)


PATTERN = "pattern:"
"""Before a regular expression that is searched in the id of each input."""
_ARRAY = "groups"
"""The array of an .npz file that holds groups, where none is named."""


def with_groups(inputs: Inputs, groups: Any, source: Any = None) -> Inputs:  # noqa: ANN401  groups in any form
    """The inputs with the group of each.

    `groups`: a name for each input, in their order; or text: the column of a table or CSV, the
    array of an .npz file, an .npy file, or pattern: and a regular expression for the ids. `source`
    is what the inputs were loaded from. None: the array `groups` of an .npz file, if it has one.
    """
    if isinstance(groups, str):
        return _from_text(inputs, groups, source)
    if groups is not None:
        return _named(inputs, groups, "")
    stored = _npz_array(source, _ARRAY, needed=False) if _is_file(source, ".npz") else None
    return inputs if stored is None else _named(inputs, stored, f"array {_ARRAY}")


def _as_text(value: Item) -> str:
    """A number without a fraction is written as an integer: 7 and 7.0 are the same group."""
    if value is None or str(value) in ("nan", "NaT", "<NA>"):
        return ""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return text.strip()


def _named(inputs: Inputs, values: Item, where: str) -> Inputs:
    lists = (getattr(values, name, None) for name in ("tolist", "to_list"))  # polars: the second
    column = next((as_list() for as_list in lists if as_list is not None), values)
    plain_list = isinstance(column, list | tuple)
    if not plain_list or any(isinstance(one, list | tuple | dict | set) for one in column):
        raise InvalidArgument(
            f"{inputs.source}: groups must be a list with one name for each input, got "
            f"{type(values).__name__}"
        )
    if len(column) != len(inputs):
        raise InvalidArgument(
            f"{inputs.source} holds {len(inputs)} inputs but {len(column)} groups: give one for "
            "each input"
        )
    names = tuple(escape_unprintable(_as_text(value)) for value in column)
    if "" in names:
        raise InvalidArgument(
            f"{inputs.source}: input {names.index('') + 1} of {len(names)} has no group: name one "
            "for every input"
        )
    words = f"groups from {where}" if where else "groups given"
    reading = "; ".join(filter(None, [inputs.reading, words]))
    return replace(inputs, groups=names, reading=reading)


def _from_text(inputs: Inputs, text: str, source: Data) -> Inputs:
    """What `--group` names."""
    if text.startswith(PATTERN):
        return _named(inputs, _matches(inputs, text.removeprefix(PATTERN)), text)
    if hasattr(source, "columns"):
        if text not in source.columns:
            names = ", ".join(map(str, source.columns))
            raise InvalidArgument(f"there is no column {text!r} for groups: choose one of {names}")
        return _named(inputs, source[text], f"column {text}")
    if Path(text).suffix == ".npy":
        return _named(inputs, read_npy(Path(text)), f"file {Path(text).name}")
    if _is_file(source, ".npz"):
        return _named(inputs, _npz_array(source, text, needed=True), f"array {text}")
    if _is_file(source, ".csv"):
        return _named(inputs, _csv_column(inputs, Path(source), text), f"column {text}")
    raise InvalidArgument(
        f"{inputs.source} has no column {text!r} for groups: use --group 'pattern:(patient[0-9]+)' "
        "(groups='pattern:…') for the names of the inputs, or a file of groups in .npy"
    )


def _matches(inputs: Inputs, pattern: str) -> list[str]:
    """What the first bracket of the pattern matches in each id; without brackets, all it matches.

    A bracket called `group` goes before the others.
    """
    bounded = BoundedPattern(pattern, "group pattern", f"try --group '{PATTERN}(patient[0-9]+)'")
    expression = bounded.compiled
    part: str | int = min(1, expression.groups)
    part = "group" if "group" in expression.groupindex else part
    names = []
    for name in inputs.ids:
        match = bounded.search(name)
        if match is None or not (match[part] or "").strip():
            raise InvalidArgument(
                f"--group {PATTERN}{pattern} names no group in {name!r} of {inputs.source}: every "
                "input needs one; change the pattern, or leave those inputs out"
            )
        names.append(match[part])
    return names


def _is_file(source: Data, suffix: str) -> bool:
    return isinstance(source, str | Path) and Path(source).suffix.lower() == suffix


def _npz_array(source: Data, name: str, *, needed: bool) -> Data:
    """The array of this name; None where there is none and none is needed."""
    what = f"{source}: the array {name} holds Python objects"
    with (
        refusing(what, "save text or integers", ValueError),
        np.load(source, allow_pickle=False) as stored,
    ):
        keys = {key.lower(): key for key in stored.files}
        if name.lower() in keys:
            return stored[keys[name.lower()]]
    if not needed:
        return None
    raise InvalidArgument(
        f"there is no array {name!r} for groups in {source}: it holds {', '.join(keys.values())}"
        "; name one of them"
    )


def _csv_column(inputs: Inputs, path: Path, column: str) -> list[str]:
    """The column of a CSV: by the file of each input, or by rows where it names no files."""
    first, rows = csv_rows(path)
    header = [name.strip() for name in first]
    if header.count(column) != 1:
        raise InvalidArgument(
            f"{path} has no column {column!r} for groups, or has it twice: it has the columns "
            f"{', '.join(header)}; name one of them"
        )
    at = header.index(column)
    cells = [row[at] if at < len(row) else "" for row in rows]
    if "file" not in header:
        return cells
    of = header.index("file")
    by_file = {escape_unprintable(row[of]): cell for row, cell in zip(rows, cells, strict=True)}
    missing = next((name for name in inputs.ids if name not in by_file), None)
    if missing is not None:
        raise InvalidArgument(
            f"{path}: there is no row of file {missing!r} to read its group from: add one"
        )
    return [by_file[name] for name in inputs.ids]
