"""Names of classes in the order of the model's outputs: as a list, or from a file."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidArgument

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


def _class_text(value: Any) -> str:  # noqa: ANN401  what the data hold
    """A class as text; a number without a fraction as an integer: 3 and 3.0 are one class."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value)


def read_class_names(given: Any) -> ClassNames:  # noqa: ANN401  names in any form
    """Class names from a list, `{0: name}`, a text `cat,dog`, or the name of a file.

    A text without a comma that names a file, or ends like one, is a file.
    """
    if isinstance(given, ClassNames):
        return given
    if isinstance(given, str | Path):
        return _of_text(given)
    if isinstance(given, Mapping):
        return _of_mapping(dict(given), "the class names")
    return _of_list(list(() if given is None else given), "the class names")


def _of_text(given: str | Path) -> ClassNames:
    text = str(given)
    like_a_file = "," not in text and text.lower().endswith(_FILE_SUFFIXES)
    if isinstance(given, Path) or like_a_file or _exists(text):
        return _from_file(Path(given))
    return _of_list(text.split(",") if text else (), "the class names")


def _exists(text: str) -> bool:
    try:
        return bool(text) and Path(text).exists()
    except (OSError, ValueError):
        return False


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
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(
            f"{path} cannot be read as class names ({error}): save it as UTF-8 text"
        ) from error
    if text.lstrip()[:1] in ("{", "["):
        value = _parsed(text, path)
        return (
            _of_mapping(value, str(path)) if isinstance(value, dict) else _of_list(value, str(path))
        )
    return _of_lines(text.rstrip().splitlines(), str(path))


def _parsed(text: str, path: Path) -> Any:  # noqa: ANN401  what a file holds
    """JSON, or the Python literal in which lists of ImageNet's classes are passed on."""
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
    return value


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
    names = tuple(_class_text(entry).strip() for entry in entries)
    wrong += [i for i, name in enumerate(names) if not name]
    if wrong:
        raise InvalidArgument(
            f"{source}: class {wrong[0]} has no name (it is {entries[wrong[0]]!r}): give {_FORMS}"
        )
    return names
