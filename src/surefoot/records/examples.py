"""Inputs that a record shows: before and after, as images or in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Change:
    """One value of an input before and after; `names` are those of the two categories."""

    where: str
    before: float
    after: float
    unit: str = ""
    names: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """Before and after, as a table shows them."""
        if self.names:
            return self.names
        return tuple(f"{value:.6g} {self.unit}".rstrip() for value in (self.before, self.after))


@dataclass(frozen=True)
class Example:
    """A trial in which an input failed: images as base64 PNG, the largest changes, or words.

    `before` and `after` show a text, bytes or another item in words that are safe to print. Where
    the model has no classes, the three classes are outputs in words.
    """

    id: str
    trial: int
    failure: float
    true_class: str
    clean_class: str
    failed_class: str
    image: str = ""
    perturbed: str = ""
    changes: tuple[Change, ...] = ()
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class Frame:
    """One input at one level: as base64 PNG, its predicted label, and whether it is kept."""

    level: float
    image: str
    label: str
    kept: bool


@dataclass(frozen=True)
class Strip:
    """One input along the levels."""

    id: str
    true_class: str
    frames: tuple[Frame, ...]


@dataclass(frozen=True)
class Counterexample:
    """An input and the nearest known point that has another label.

    Images as base64 PNG; empty where the inputs are not images.
    """

    id: str
    distance: float
    clean_class: str
    failed_class: str
    image: str
    perturbed: str
