"""How each column of a table may change, from Python, a dict or a TOML file."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from surefoot.core.limits import Limit, check_fields, limit, one_of
from surefoot.errors import InvalidArgument, refusing
from surefoot.subject.protocols import Item

_YES_OR_NO = limit(lambda value: isinstance(value, bool), "be true or false", shown="{!r}")
_WORD = limit(lambda value: isinstance(value, str), "be a word", shown="{!r}")


def _list_of(what: str, read: Callable[[Item], Item]) -> Limit:
    return limit(lambda v: isinstance(v, list | tuple), f"be a list of {what}", "", "{!r}", read)


def _texts(names: Sequence[Item]) -> tuple[str, ...]:
    return tuple(map(str, names))


@dataclass(frozen=True)
class Feature:
    """One column: how much it changes at level 1, and which values it may take.

    `noise` is a standard deviation (`shape` normal) or a half width (uniform) in the units of the
    feature; 0 means that the column never changes, and so does None unless the noise is relative
    to the spread of the columns. `low` and `high` are the ends of its range; a value that lies
    outside already is not moved further out. With `whole`, the noise is rounded to the nearest
    whole number, so a small noise may change nothing. With `values`, the column is a code: it
    takes another of these, each with the same probability, with probability `noise`; `categories`
    are the names of these values, and alone the names of 0, 1, 2 and so on. `unit` is shown.
    """

    name: str
    noise: float | None = None
    low: float | None = None
    high: float | None = None
    whole: bool = field(default=False, metadata=_YES_OR_NO)
    values: tuple[float, ...] = field(default=(), metadata=_list_of("numbers", tuple))
    shape: str = field(default="normal", metadata=one_of("normal", "uniform"))
    unit: str = field(default="", metadata=_WORD)
    categories: tuple[str, ...] = field(default=(), metadata=_list_of("names", _texts))

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_noise(self.name, self.noise)
        check_fields(self, f"{self.name}: ")
        self._read_categories()
        object.__setattr__(self, "low", _range_end(self.name, "low", self.low, -math.inf))
        object.__setattr__(self, "high", _range_end(self.name, "high", self.high, math.inf))
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise InvalidArgument(
                f"{self.name}: low must be less than high, got {self.low:g} and {self.high:g}"
            )
        for end in (self.low, self.high):
            if self.whole and end is not None and end != round(end):
                raise InvalidArgument(
                    f"{self.name} is whole, so low and high are whole numbers too, got {end:g}: "
                    "round it, or leave out whole"
                )
        if self.values:
            self._check_values()

    def _read_categories(self) -> None:
        """Names of values, or the values themselves."""
        names = self.categories
        if names and not self.values:
            object.__setattr__(self, "values", tuple(map(float, range(len(names)))))
        if len(set(names)) != len(names) or (names and len(self.values) != len(names)):
            raise InvalidArgument(
                f"{self.name}: categories must be one different name for each of the "
                f"{len(self.values)} values, got {', '.join(names)}"
            )

    def _check_values(self) -> None:
        for value in self.values:
            _check_number(self.name, "one of the values", value)
        different = len(np.unique(np.asarray(self.values, np.float32)))
        if different != len(self.values) or different < 2:
            raise InvalidArgument(
                f"{self.name}: values must be at least two different numbers, got {self.values}"
            )
        _check_chance(self.name, self.noise or 0.0)
        if self.low is not None or self.high is not None or self.whole:
            raise InvalidArgument(
                f"{self.name} takes one of its values {self.values}: leave out low, high and whole"
            )

    @property
    def words(self) -> str:
        """How it changes at level 1."""
        noise = 0.0 if self.noise is None else self.noise
        if self.values:
            codes = ", ".join(self.categories or [f"{value:g}" for value in self.values])
            return f"{self.name} to another of {codes} with probability {noise:g}"
        amount = f"{_short(noise)} {self.unit}".rstrip()
        parts = [f"uniform ±{amount}" if self.shape == "uniform" else f"sd {amount}"]
        if self.whole:
            parts.append("whole numbers")
        if self.low is not None:
            parts.append(f"at least {self.low:g}")
        if self.high is not None:
            parts.append(f"at most {self.high:g}")
        return f"{self.name} {', '.join(parts)}"


def _short(amount: float) -> str:
    """Three digits of an amount that was computed; one with four or fewer, as it was stated."""
    stated = f"{amount:.4g}"
    return stated if float(stated) == amount else f"{float(f'{amount:.3g}'):g}"


@dataclass(frozen=True)
class OneHot:
    """A category as neighbouring columns, one for each value; the 1 moves to another column.

    It does so with probability `noise` at level 1, to each other column with equal probability.
    What moves is the largest value: it is swapped with the value of the other column.
    """

    names: tuple[str, ...]
    noise: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.names, str) or not isinstance(self.names, list | tuple):
            raise InvalidArgument(
                f"the names of a one-hot group must be a list, got {self.names!r}"
            )
        object.__setattr__(self, "names", tuple(self.names))
        for name in self.names:
            _check_name(name)
        if len(self.names) < 2:
            raise InvalidArgument(
                f"a one-hot group must have at least two columns, got {self.names}"
            )
        _check_noise(self.name, self.noise)
        _check_chance(self.name, self.noise)

    @property
    def name(self) -> str:
        """Its columns."""
        return "/".join(self.names)

    @property
    def words(self) -> str:
        """How it changes at level 1."""
        return f"{self.name} to another column with probability {self.noise:g}"


Column = Feature | OneHot


def load_features(source: str | Path | Mapping[str, Item]) -> tuple[Column, ...]:
    """The features that a TOML file or a dict describes.

    A file has one `[[feature]]` for each column, with the fields of `Feature`; one with `names`
    instead of `name` is a `OneHot` of as many columns. A dict has the same by the name of the
    column, or only the noise: `{"age": 2.0, "income": {"noise": 500, "unit": "€"}}`. Where the data
    name their columns, the order does not matter and columns may be left out.
    """
    if isinstance(source, Mapping):
        stated = {n: e if isinstance(e, Mapping) else {"noise": e} for n, e in source.items()}
        return tuple(_read_feature({**e, "name": n}, f"features, {n}") for n, e in stated.items())
    path = source
    what, way_out = f"the features cannot be read from {path}", "give a UTF-8 file of features"
    with refusing(what, way_out, OSError, UnicodeDecodeError):
        text = Path(path).read_text(encoding="utf-8")
    way_out = "write [[feature]] and name = … for every column"
    # of TOML, or a number of thousands of digits
    with refusing(
        f"{path} is no TOML file", way_out, ValueError, RecursionError, words=_words_of_toml
    ):
        content = tomllib.loads(text)
    entries = content.get("feature")
    if not isinstance(entries, list) or not entries:
        raise InvalidArgument(f"{path} describes no features: {way_out}")
    others = sorted(set(content) - {"feature"})
    if others:
        raise InvalidArgument(f"{path} must hold [[feature]] only, got an entry {others[0]!r}")
    return tuple(_read_feature(entry, f"{path}, feature {i}") for i, entry in enumerate(entries, 1))


def _words_of_toml(error: BaseException) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def _read_feature(entry: Item, place: str) -> Column:
    if not isinstance(entry, dict):
        raise InvalidArgument(f"{place}: write [[feature]] and name = …, got {entry!r}")
    definition = OneHot if "names" in entry else Feature
    allowed = [field.name for field in fields(definition)]
    unknown = sorted(set(entry) - set(allowed))
    if unknown:
        raise InvalidArgument(
            f"{place} ({entry.get('name', '')}): there is no {unknown[0]} = {entry[unknown[0]]!r}: "
            f"it takes {', '.join(allowed)}; use one of them"
        )
    if not {"name", "names"} & set(entry):
        raise InvalidArgument(f"{place}: it has no name, got {entry}: add name = …")
    try:
        return definition(**entry)
    except InvalidArgument as error:
        raise InvalidArgument(f"{place}: {error}") from None


def describe_misfits(features: tuple[Column, ...], x: NDArray[np.floating]) -> tuple[str, ...]:
    """Sentences on rows whose values contradict the features; empty when all rows fit."""
    sentences: list[str] = []
    column = 0  # of the first that is not described yet
    wide = sum(len(f.names) if isinstance(f, OneHot) else 1 for f in features)
    if x.ndim != 2 or x.shape[1] != wide:
        return (f"they describe {wide} columns, but a row has shape {x.shape[1:]}",)
    for feature in features:
        if isinstance(feature, OneHot):
            column += len(feature.names)
            continue
        values = x[:, column].astype(np.float32)
        column += 1
        wrong = np.zeros(len(values), dtype=bool)
        if feature.values:
            wrong |= ~np.isin(values, np.asarray(feature.values, np.float32))
        if feature.whole:
            wrong |= values != np.round(values)
        if feature.low is not None:
            wrong |= values < np.float32(feature.low)
        if feature.high is not None:
            wrong |= values > np.float32(feature.high)
        if wrong.any():
            first = values[np.argmax(wrong)]
            sentences.append(f"{feature.name} is {first:g}, which is not what its description says")
    return tuple(sentences)


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not name:
        raise InvalidArgument(f"the name of a feature must be a word, got {name!r}")


def _check_number(name: str, what: str, value: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidArgument(f"{name}: {what} must be a number, got {value!r}")


def _check_noise(name: str, noise: float | None) -> None:
    if noise is None:
        return
    _check_number(name, "noise", noise)
    if noise < 0:
        raise InvalidArgument(f"{name}: noise must be ≥ 0, got {noise}: with 0 it never changes")


def _check_chance(name: str, noise: float) -> None:
    if noise > 1:
        raise InvalidArgument(
            f"{name}: the noise of a category must be a probability, at most 1, got {noise}"
        )


def _range_end(name: str, what: str, value: float | None, open_end: float) -> float | None:
    """An end of the range; None where there is none, so that it can be written as JSON."""
    if value is None or value == open_end:
        return None
    _check_number(name, what, value)
    return float(value)
