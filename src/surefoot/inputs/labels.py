"""Class numbers from labels: numbers stay as they are, each name gets a number."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument, refusing
from surefoot.subject.protocols import HostArray, Item

GivenLabels = Any
"""True labels as users have them: an array, names or numbers, a file, the heading of a column."""
Targets = Any
"""True outputs of a model without classes, one an input, in the form of its outputs."""
Data = Any
"""Whatever `load_inputs` takes: arrays, paths, tables, data sets, lists of items."""

_MOST_BYTES = 16 * 2**20
"""Of a file of class names: a million names fit, and reading it cannot fill the memory."""
_FILE_SUFFIXES = (".txt", ".json", ".csv", ".names")
_CODED = re.compile(r"(?P<code>n\d{8})[\s,:]+(?P<name>\S.*)", re.ASCII)
"""A WordNet id before the name, as in ImageNet's synset_words.txt."""
_NUMBERED = re.compile(r"(?P<number>\d{1,9})\s*[\s,:]\s*(?P<name>\S.*)", re.ASCII)
_FORMS = 'one name a line, a JSON list, or {"0": "name"}'


@dataclass(frozen=True)
class ClassNames:
    """One name an output of the model; `codes`, such as WordNet ids, name the classes too."""

    names: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()


def read_class_names(given: Any) -> ClassNames:  # noqa: ANN401  names in any form
    """Class names from a list, `{0: name}`, a text `cat,dog`, or the name of a file.

    A text without a comma that names a file, or ends like one, is a file.
    """
    if isinstance(given, ClassNames):
        return given
    if isinstance(given, str | Path):
        text = str(given)
        is_file = isinstance(given, Path) or (
            "," not in text and text.lower().endswith(_FILE_SUFFIXES)
        )
        with suppress(OSError, ValueError):  # no name of a file
            is_file = is_file or (bool(text) and Path(text).exists())
        if is_file:
            return _from_file(Path(given))
        return _of_list(text.split(",") if text else (), "the class names")
    if isinstance(given, Mapping):
        return _of_mapping(dict(given), "the class names")
    return _of_list(list(() if given is None else given), "the class names")


def _from_file(path: Path) -> ClassNames:
    if not path.exists():
        raise InvalidArgument(
            f"there is no file {path} of class names: check the path, or write the names with "
            "commas between them"
        )
    if not path.is_file() or path.stat().st_size > _MOST_BYTES:
        raise InvalidArgument(
            f"{path} is no file of class names (a plain file of at most {_MOST_BYTES // 2**20} "
            f"MiB): give {_FORMS}"
        )
    what, way_out = f"{path} cannot be read as class names", "save it as UTF-8 text"
    with refusing(what, way_out, OSError, UnicodeDecodeError):
        text = path.read_text(encoding="utf-8-sig")
    if text.lstrip()[:1] not in ("{", "["):
        return _of_lines(text.rstrip().splitlines(), str(path))
    # JSON, or the Python literal in which lists of ImageNet's classes are passed on.
    try:
        value = json.loads(text, object_pairs_hook=_distinct)
    except InvalidArgument as error:
        raise InvalidArgument(f"{path} {error}") from error
    except (ValueError, RecursionError):
        try:
            value = ast.literal_eval(text.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            value = None
    if not isinstance(value, dict | list):
        raise InvalidArgument(f"{path} cannot be read as class names: give {_FORMS}")
    return _of_mapping(value, str(path)) if isinstance(value, dict) else _of_list(value, str(path))


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    whole = dict(pairs)
    if len(whole) < len(pairs):
        raise InvalidArgument("has a key twice: give each class one name")
    return whole


def _of_mapping(by_key: dict[Any, Any], source: str) -> ClassNames:
    """`{number: name}`, `{number: [code, name]}`, or `{name: number}`."""
    numbers = list(by_key.values())
    if all(type(n) is int for n in numbers) and len(set(numbers)) == len(numbers):
        by_key = {number: str(name) for name, number in by_key.items()}
    try:
        by_number = {int(str(key).strip()): value for key, value in by_key.items()}
    except ValueError:
        by_number = {}
    if not by_number or sorted(by_number) != list(range(len(by_key))):
        raise InvalidArgument(
            f"{source}: the classes must be numbered 0, 1, 2 and so on without a gap, got "
            f"{', '.join(map(str, list(by_key)[:4])) or 'none'}: give {_FORMS}"
        )
    return _of_list([by_number[i] for i in range(len(by_number))], source)


def _of_lines(lines: list[str], source: str) -> ClassNames:
    """One name a line; a WordNet id or the number of the class may stand before it."""
    coded = [_CODED.fullmatch(line.strip()) for line in lines]
    if lines and all(coded):
        return _of_list([[m["code"], m["name"]] for m in coded if m], source)
    numbered = [_NUMBERED.fullmatch(line.strip()) for line in lines]
    if lines and all(numbered):
        by_number = {int(m["number"]): m["name"] for m in numbered if m}
        if sorted(by_number) == list(range(len(lines))):
            return _of_mapping(by_number, source)
    return _of_list(lines, source)


def _of_list(entries: Sequence[Any], source: str) -> ClassNames:
    """Names, or pairs of a code and a name."""
    pairs = [e for e in entries if isinstance(e, list | tuple) and len(e) == 2]
    if pairs and len(pairs) == len(entries):
        codes = tuple(str(code).strip() for code, _ in pairs)
        if len(set(codes)) < len(codes):
            again = next(code for code in codes if codes.count(code) > 1)
            raise InvalidArgument(f"{source}: {again} stands there twice: give each class its own")
        return ClassNames(_checked([name for _, name in pairs], source), codes)
    return ClassNames(_checked(entries, source))


def _checked(entries: Sequence[Any], source: str) -> tuple[str, ...]:
    wrong = [i for i, entry in enumerate(entries) if isinstance(entry, list | tuple | dict)]
    # A number without a fraction as an integer: 3 and 3.0 are one class.
    whole = [int(e) if isinstance(e, float) and e.is_integer() else e for e in entries]
    names = tuple(str(entry).strip() for entry in whole)
    wrong += [i for i, name in enumerate(names) if not name]
    if wrong:
        raise InvalidArgument(
            f"{source}: class {wrong[0]} has no name (it is {entries[wrong[0]]!r}): give {_FORMS}"
        )
    return names


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_MISSING = ("", "nan")
_LARGEST = 2**31 - 1
"""No classifier has more classes; above it float labels would lose digits sooner or later."""
_SMALL = "number the classes 0, 1, 2 and so on"
_LIST = "the class names in the order of the model's outputs (--class-names, class_names=)"
BY_CODE = "labels are ids of the list of classes, numbered in its order"
LOOKED_UP = "labels are names of the list of classes, numbered in its order"
ALPHABETICAL = "class names numbered alphabetically"
NUMBERS = "labels are numbers and read as such"
"""How labels that are texts were read; class names in another order would number them anew."""
Where = Callable[[int], str]


@dataclass(frozen=True)
class Labels:
    """One class number an input, the names of the classes, and how one came from the other."""

    numbers: NDArray[np.int64]
    names: tuple[str, ...] = ()
    reading: str = ""


def read_labels(
    labels: GivenLabels,
    source: str,
    class_names: Sequence[Any] | ClassNames = (),
    where: Where = "index {}".format,
) -> Labels:
    """Class numbers from numbers, or from names.

    Numbers are class numbers, also when written as text. Names are looked up in `class_names`, or
    numbered alphabetically where there is no such list. Whatever could mean two things is refused.
    """
    if np.ma.is_masked(labels):
        raise InvalidArgument(f"{source}: some labels are masked: leave those inputs out")
    what = f"{source}: labels must be one class number or class name an input"
    with refusing(what, "give a flat list", ValueError):
        column = np.asarray(labels)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1 or column.dtype.kind not in "biufUSTO":
        raise InvalidArgument(
            f"{what}, got shape {column.shape} of {column.dtype}: for a one-hot table give "
            "y.argmax(axis=1)"
        )
    listed = read_class_names(class_names)
    if column.dtype.kind in "biuf":
        return Labels(_whole(column, column.tolist(), source, where), listed.names)
    texts = [_text(value, source, where(i)) for i, value in enumerate(column.tolist())]
    distinct, first, back = np.unique(
        np.array(texts, dtype=str), return_index=True, return_inverse=True
    )
    of_distinct = _of_texts(distinct.tolist(), source, listed, lambda i: where(int(first[i])))
    return replace(of_distinct, numbers=of_distinct.numbers[back])


def _text(value: Item, source: str, where: str) -> str:
    """One label as stripped text; whole floats without a point."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", errors="replace")
    if isinstance(value, bool | np.bool_):
        value = int(value)
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    if value is not None and not isinstance(value, str | int | float | np.integer | np.floating):
        raise InvalidArgument(
            f"{source}, {where}: a label is {type(value).__name__}: give class numbers or names"
        )
    if isinstance(value, int) and abs(value) > _LARGEST:
        raise InvalidArgument(
            f"{source}, {where}: a label is too large for a class number: {_SMALL}"
        )
    text = "" if value is None else str(value).strip()
    if text.lower() in _MISSING:
        raise InvalidArgument(
            f"{source}, {where} has no label (it is {value!r}): give every input one, or leave "
            "out all labels"
        )
    return text


def _of_texts(texts: list[str], source: str, listed: ClassNames, where: Where) -> Labels:
    """The class number of each of these different texts."""
    names = listed.names
    numbers = [name for name in names if _NUMBER.fullmatch(name)]
    for i, text in enumerate(texts):  # a number as the list writes it, 3.0 as 3
        if text not in names and _NUMBER.fullmatch(text):
            equal = [name for name in numbers if float(name) == float(text)]
            texts[i] = equal[0] if len(equal) == 1 else text
    for known, reading in ((listed.codes, BY_CODE), (names, LOOKED_UP)):
        if any(text in known for text in texts):
            return Labels(_looked_up(texts, source, known, where), names, reading)
    plain = [bool(_NUMBER.fullmatch(text)) for text in texts]
    if all(plain):
        return Labels(_of_numbers(texts, source, where), names, NUMBERS)
    word = plain.index(False)
    if any(plain):
        number = plain.index(True)
        raise InvalidArgument(
            f"{source} mixes numbers and words as labels: {texts[number]!r} ({where(number)}) and "
            f"{texts[word]!r} ({where(word)}): use class numbers throughout, or give {_LIST}"
        )
    if names:
        _refuse_unlisted(texts[word], source, names, where(word))
    ends = f"0 is {texts[0]}" + (f", {len(texts) - 1} is {texts[-1]}" if len(texts) > 1 else "")
    return Labels(np.arange(len(texts)), tuple(texts), f"{ALPHABETICAL} ({ends})")


def _looked_up(
    texts: list[str], source: str, names: tuple[str, ...], where: Where
) -> NDArray[np.int64]:
    for i, text in enumerate(texts):
        if text not in names:
            _refuse_unlisted(text, source, names, where(i))
        if names.count(text) > 1:
            raise InvalidArgument(
                f"the class names hold {text!r} {names.count(text)} times: {where(i)} of {source} "
                "could be any of them; give each class a name of its own"
            )
    return np.array([names.index(text) for text in texts], dtype=np.int64)


def _refuse_unlisted(text: str, source: str, names: tuple[str, ...], where: str) -> NoReturn:
    some = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    raise InvalidArgument(
        f"{source}, {where}: label {text!r} is none of the class names ({some}): give {_LIST}"
    )


def _of_numbers(texts: list[str], source: str, where: Where) -> NDArray[np.int64]:
    """Texts that are numbers; the same number written in two ways may mean two things."""
    whole = _whole(np.array([float(text) for text in texts]), texts, source, where)
    index_of: dict[int, int] = {}
    for i, number in enumerate(whole.tolist()):
        if number in index_of:
            raise InvalidArgument(
                f"{source} writes class {number} in two ways, {texts[index_of[number]]!r} "
                f"({where(index_of[number])}) and {texts[i]!r} ({where(i)}): use one of them"
            )
        index_of[number] = i
    return whole


def _whole(
    values: HostArray, texts: Sequence[object], source: str, where: Where
) -> NDArray[np.int64]:
    """These numbers as class numbers, each one checked."""
    with np.errstate(invalid="ignore"):
        kinds = (
            (np.isnan(values), "is missing: give every input a label, or leave out all labels"),
            (values != np.floor(values), "is no whole number: give class numbers or names"),
            (values < 0, "is negative: classes count from 0; leave out inputs without a class"),
            (values > _LARGEST, f"is too large for a class number: {_SMALL}"),
        )
    for wrong, why in kinds:
        if wrong.any():
            i = int(np.argmax(wrong))
            raise InvalidArgument(f"{source}, {where(i)}: label {str(texts[i])[:40]} {why}")
    return values.astype(np.int64)
