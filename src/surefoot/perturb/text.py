"""Perturbations of texts: typing errors, case, spaces, look-alikes, words; one `apply` for all.

Each cuts a text into pieces and says what a piece may become. A piece that may become something
changes with the probability `level`, independently of all others: the level is the expected share
of such pieces that change, in texts of any length. A piece that changes at one level changes to the
same at every higher one.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from string import ascii_lowercase
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from surefoot.core.limits import one_of
from surefoot.core.results import Interval
from surefoot.perturb._ops.arrays import levels_on_host
from surefoot.perturb._ops.definition import Levels, perturbation
from surefoot.perturb.own_function import row_generator
from surefoot.subject.items import as_item_array
from surefoot.subject.protocols import Array, Level, Stream, View, to_host

_JOINER = "\u200d"
_EXTENDS = re.compile("[\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\u200c\u200d]")
"""What belongs to the character before it and is no mark: shades of emoji, tags, joiners."""
_TWO_IN_ONE = re.compile("\r\n|[\ud800-\udbff][\udc00-\udfff]|[\U0001f1e6-\U0001f1ff]{2}")
"""A line break, a surrogate pair, a flag."""
_CACHED_TEXTS = 1024
"""Texts whose pieces are kept: a run comes back to each of its inputs."""

Pieces = list[str]
"""The text, cut; joined they are the text again."""


class Cut(Protocol):
    """Cuts a text; the number says in which of several ways, where there are some."""

    def __call__(self, text: str, way: int, /) -> Pieces:
        """The pieces."""


def characters(text: str, _: int = 0) -> Pieces:
    """The characters as a reader counts them: marks stay with their letter, emoji stay whole."""
    if text.isascii() and "\r" not in text:
        return list(text)
    pieces: Pieces = []
    for character in text:
        if pieces and _belongs(pieces[-1], character):
            pieces[-1] += character
        else:
            pieces.append(character)
    return pieces


def _belongs(before: str, character: str) -> bool:
    """Whether a code point is a part of the character before it."""
    return (
        unicodedata.category(character).startswith("M")
        or before.endswith(_JOINER)
        or _EXTENDS.match(character) is not None
        or _TWO_IN_ONE.fullmatch(before + character) is not None
    )


def words(text: str, _: int = 0) -> Pieces:
    """Words, each with the spaces after it; spaces at the beginning are a piece of their own."""
    return re.findall(r"\S+\s*|\s+", text)


def _pairs(text: str, start: int) -> Pieces:
    """The characters of a word two by two, from its first or from its second one."""
    pieces: Pieces = []
    for word in words(text):
        whole = characters(word)
        cuts = sorted({0, *range(start, len(whole), 2), len(whole)})
        pieces += ["".join(whole[a:b]) for a, b in pairwise(cuts)]
    return pieces


def _shapes(text: str, _: int = 0) -> Pieces:
    """Two characters where a scanner may take them for one, and all others by themselves."""
    pieces: Pieces = []
    for character in characters(text):
        if pieces and len(pieces[-1]) == 1 and pieces[-1] + character in _CONFUSED:
            pieces[-1] += character
        else:
            pieces.append(character)
    return pieces


@dataclass(frozen=True)
class OfTexts:
    """What perturbations of texts share: pieces, what each may become, and how one is chosen."""

    level: float | None = None
    view: ClassVar[View] = View.TEXT
    takes_items: ClassVar[bool] = True
    kind: ClassVar[str]
    cut: ClassVar[Cut] = staticmethod(characters)
    ways_to_cut: ClassVar[int] = 1
    """Where there are several, one is drawn for each trial."""
    keeps_one: ClassVar[bool] = False
    """Whether one of the pieces always stays, so that a text never gets empty."""

    def becomes(self, piece: str) -> tuple[str, ...]:
        """What the piece may become, all equally likely; empty: it stays as it is."""
        raise NotImplementedError

    def can_change(self, text: str) -> bool:
        """Whether there is a draw that changes this text."""
        return any(
            len(_cut(self, text, way)[1]) > self.keeps_one for way in range(self.ways_to_cut)
        )

    def draw(self, stream: Stream, n: int, shape: tuple[int, ...]) -> Array:
        """Two uniform numbers a trial: the seed of its generator, whatever the length of a text."""
        return stream.uniform((n, 2))

    def apply(self, x: Array, drawn: Array, level: Level, bounds: Interval | None) -> Array:
        """Text after text."""
        seeds = to_host(drawn)
        levels = np.broadcast_to(levels_on_host(level), len(seeds))
        texts = [x[i if len(x) == len(seeds) else 0] for i in range(len(seeds))]
        rows = zip(texts, seeds, levels.tolist(), strict=True)
        return as_item_array([self._changed(*row) if row[2] else row[0] for row in rows])

    def _changed(self, text: str, seed: NDArray[np.float32], level: float) -> str:
        rng = row_generator(seed)
        pieces, places = _cut(self, text, int(rng.random() * self.ways_to_cut))
        whether, which = rng.random((2, len(places)))
        change = whether < level
        if self.keeps_one and change.all() and len(places):
            change[whether.argmax()] = False
        changed = list(pieces)
        for i in np.flatnonzero(change).tolist():
            options = self.becomes(pieces[places[i]])
            changed[places[i]] = options[int(which[i] * len(options))]
        return "".join(changed)


@lru_cache(maxsize=_CACHED_TEXTS)
def _cut(perturbation: OfTexts, text: str, way: int) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """The pieces of a text, and the places of those that may become something."""
    pieces = tuple(perturbation.cut(text, way))
    places = [i for i, piece in enumerate(pieces) if perturbation.becomes(piece)]
    return pieces, np.array(places, dtype=np.int32)


_KEYBOARDS = {
    "qwerty": ("1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm"),
    "qwertz": ("1234567890ß", "qwertzuiopü", "asdfghjklöä", "yxcvbnm"),
    "azerty": ("1234567890", "azertyuiop", "qsdfghjklm", "wxcvbn"),
}


@lru_cache
def _neighbouring_keys(keyboard: str) -> dict[str, tuple[str, ...]]:
    """The keys around each key; a row lies half a key to the right of the one above it."""
    keys = {(r, c): key for r, row in enumerate(_KEYBOARDS[keyboard]) for c, key in enumerate(row)}
    around = ((0, -1), (0, 1), (-1, 0), (-1, 1), (1, -1), (1, 0))
    beside = {
        key: tuple(keys[r + i, c + j] for i, j in around if (r + i, c + j) in keys)
        for (r, c), key in keys.items()
    }
    large = {key: tuple(map(_capital, others)) for key, others in beside.items()}
    return {_capital(key): others for key, others in large.items()} | beside


def _capital(key: str) -> str:
    """The key with shift, where it is a letter that stays one letter."""
    return key.upper() if len(key.upper()) == 1 else key


@perturbation
class Typos(OfTexts):
    """A letter or digit becomes that of a neighbouring key, each with probability `level`.

    Case stays. `keyboard` is qwerty, qwertz or azerty; characters without a key on it stay.
    """

    keyboard: str = field(default="qwerty", metadata=one_of(*_KEYBOARDS))
    kind = "typos"
    levels = Levels(1.0, "share of the letters and digits")
    phrase = (
        "each letter and digit becomes that of a neighbouring key ({self.keyboard}) with "
        "probability {level}"
    )

    def becomes(self, piece: str) -> tuple[str, ...]:
        """The keys around it."""
        return _neighbouring_keys(self.keyboard).get(piece, ())


@perturbation
class Swaps(OfTexts):
    """Neighbouring characters of a word swap places, each pair with probability `level`.

    Pairs do not overlap: they begin with the first or with the second character of every word,
    drawn for each trial. Letters and digits that differ swap; other pairs stay.
    """

    kind = "swaps"
    phrase = "the characters of each word in pairs, each of which swaps with probability {level}"
    levels = Levels(1.0, "share of the pairs of neighbouring characters")
    cut = staticmethod(_pairs)
    ways_to_cut = 2

    def becomes(self, piece: str) -> tuple[str, ...]:
        """The pair the other way round."""
        first, *second = characters(piece)
        others = all(c[0].isalnum() for c in (first, *second))
        return (second[0] + first,) if second and others and second[0] != first else ()


@perturbation
class Deletions(OfTexts):
    """A character is left out, each with probability `level`; spaces stay, and one character."""

    kind = "deletions"
    phrase = "each character but spaces is left out with probability {level}; one always stays"
    levels = Levels(1.0, "share of the characters")
    keeps_one = True

    def becomes(self, piece: str) -> tuple[str, ...]:
        """Nothing."""
        return () if piece.isspace() else ("",)


@perturbation
class Insertions(OfTexts):
    """After a character comes a random letter from a to z, each with probability `level`.

    Not after spaces; the letter is a capital after a capital.
    """

    kind = "insertions"
    phrase = "a random letter is inserted after each character but spaces with probability {level}"
    levels = Levels(1.0, "share of the characters")

    def becomes(self, piece: str) -> tuple[str, ...]:
        """The character and one more."""
        letters = ascii_lowercase.upper() if piece.isupper() else ascii_lowercase
        return () if piece.isspace() else tuple(piece + letter for letter in letters)


@perturbation
class Case(OfTexts):
    """A letter changes between small and capital, each with probability `level`."""

    kind = "case"
    phrase = "each letter changes between small and capital with probability {level}"
    levels = Levels(1.0, "share of the letters")

    def becomes(self, piece: str) -> tuple[str, ...]:
        """The other case, where a letter has one and stays one letter."""
        other = piece.swapcase()
        return (other,) if other != piece and len(other) == len(piece) else ()


@perturbation
class Spaces(OfTexts):
    """The spaces of a word change, each word with probability `level`.

    The space after it is left out, or doubled, or one comes in between two of its characters, all
    three equally likely where they are possible.
    """

    kind = "spaces"
    phrase = "each word loses its space, gets a second or one within it, with probability {level}"
    levels = Levels(1.0, "share of the words")
    cut = staticmethod(words)

    def becomes(self, piece: str) -> tuple[str, ...]:
        """The word without its space, with two, or in two parts."""
        word = piece.rstrip()
        after, whole = piece[len(word) :], characters(word)
        split = tuple(
            "".join(whole[:i]) + " " + "".join(whole[i:]) + after for i in range(1, len(whole))
        )
        if not word or not after:
            return split
        return (word, word + 2 * after[0] + after[1:]) * max(1, len(split)) + split


_MARKS = ".,;:!?"


@perturbation
class Punctuation(OfTexts):
    """A word loses the marks at its end, or gets one if it has none, with probability `level`.

    The marks are . , ; : ! and ?, which are equally likely.
    """

    kind = "punctuation"
    phrase = "each word loses the marks at its end, or gets one, with probability {level}"
    levels = Levels(1.0, "share of the words")
    cut = staticmethod(words)

    def becomes(self, piece: str) -> tuple[str, ...]:
        """Without its marks, or with one."""
        word = piece.rstrip()
        after, bare = piece[len(word) :], word.rstrip(_MARKS)
        if not bare:
            return ()
        return (bare + after,) if bare != word else tuple(word + mark + after for mark in _MARKS)


_LATIN = "aceijopsxyhdqwgvlABCEHIJKMNOPSTXYZ"
_ALIKE = (
    "\u0430\u0441\u0435\u0456\u0458\u043e\u0440\u0455\u0445\u0443\u04bb\u0501\u051b\u051d\u0261"
    "\u03bd\u04cf\u0410\u0412\u0421\u0415\u041d\u0406\u0408\u041a\u041c\u039d\u041e\u0420\u0405"
    "\u0422\u0425\u03a5\u0396"
)
"""Letters of the Cyrillic and Greek alphabets (and one of phonetics) that look like the Latin."""
_HOMOGLYPHS = {a: (b,) for a, b in zip(_LATIN + _ALIKE, _ALIKE + _LATIN, strict=True)}


@perturbation
class Homoglyphs(OfTexts):
    """A letter becomes one of another alphabet that looks alike, each with probability `level`.

    Latin letters become Cyrillic or Greek ones, and these become Latin.
    """

    kind = "homoglyphs"
    phrase = "each letter with a look-alike in another alphabet becomes it with probability {level}"
    levels = Levels(1.0, "share of the letters that have a look-alike")

    def becomes(self, piece: str) -> tuple[str, ...]:
        """Its look-alike."""
        return _HOMOGLYPHS.get(piece, ())


_ALIKE_IN_PRINT = (
    "0 O o", "1 l I", "2 Z", "5 S", "6 b", "8 B", "9 g q", "rn m", "cl d", "vv w", "ii u", "c e",
    "f t", "h b", "i j", "u v", ". ,",
)  # fmt: skip
_CONFUSED = {
    one: tuple(
        other
        for group in map(str.split, _ALIKE_IN_PRINT)
        if one in group
        for other in group
        if other != one
    )
    for one in " ".join(_ALIKE_IN_PRINT).split()
}
"""What a scanner may take each shape for, in both directions: m for rn, and rn for m."""


@perturbation
class OCR(OfTexts):
    """A shape is read as another that looks alike in print, each with probability `level`.

    0 for O, 1 for l, m for rn, d for cl, and so on, in both directions.
    """

    kind = "ocr"
    phrase = "each shape that scanners confuse is read as another with probability {level}"
    levels = Levels(1.0, "share of the shapes that scanners confuse")
    cut = staticmethod(_shapes)

    def becomes(self, piece: str) -> tuple[str, ...]:
        """What it is taken for."""
        return _CONFUSED.get(piece, ())


@perturbation
class WordDrop(Deletions):
    """A word is left out with the spaces after it, each with probability `level`; one stays."""

    kind = "word-drop"
    phrase = "each word is left out with probability {level}; one always stays"
    levels = Levels(1.0, "share of the words")
    cut = staticmethod(words)


@perturbation
class WordRepeat(OfTexts):
    """A word is written twice, each with probability `level`."""

    kind = "word-repeat"
    phrase = "each word is written twice with probability {level}"
    levels = Levels(1.0, "share of the words")
    cut = staticmethod(words)

    def becomes(self, piece: str) -> tuple[str, ...]:
        """The word, a space and the word."""
        return () if piece.isspace() else (f"{piece.rstrip()} {piece}",)
