r"""A label from the name of a file, by a regular expression such as (?P<label>[a-z]+)_\d+ ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from surefoot.errors import InvalidArgument
from surefoot.inputs.bounded_pattern import BoundedPattern

_EXAMPLE = r'write one such as "(?P<label>[a-z]+)_\d+"'


@dataclass(frozen=True)
class LabelPattern:
    """A pattern that the whole name of a file, with or without its suffix, must match.

    The group `label`, or the only group, is the label.
    """

    text: str

    def __post_init__(self) -> None:
        compiled = self._pattern.compiled
        if "label" not in compiled.groupindex and compiled.groups != 1:
            raise InvalidArgument(
                f"label pattern {self.text!r} has no group called label: {_EXAMPLE}"
            )

    def label(self, file: Path) -> str:
        """The label of a file."""
        pattern = self._pattern
        match = pattern.fullmatch(file.stem) or pattern.fullmatch(file.name)
        if match is None:
            raise InvalidArgument(
                f"{file}: the name does not match the label pattern {self.text!r}, which must fit "
                "the whole name without its suffix: change the pattern, or leave the file out"
            )
        label = match["label"] if "label" in pattern.compiled.groupindex else match[1]
        return label or ""

    @cached_property
    def _pattern(self) -> BoundedPattern:
        return BoundedPattern(self.text, "label pattern", _EXAMPLE)
