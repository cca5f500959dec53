"""A property of the user's own: a function of two outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.properties.reference_outputs import few_words, reference_named
from surefoot.subject.items import on_host, split_numbers
from surefoot.subject.protocols import Outputs, Reference, Scores
from surefoot.system.user_code import describe_function, named_errors

_BETWEEN = 0.5
"""The limit of a severity that is 0 or 1."""
_MOST_TEXT = 60
"""Characters of an output or an error that are shown: what fits on a line."""


@dataclass(frozen=True)
class Kept:
    """What a function of two outputs says: `function(reference, output)`, each of one input.

    The reference is the output for the clean input, or with `of="true"` the target in the data.
    Without `below` the function returns True where the output is kept; with it a number that is
    higher the worse the output is, and the output is kept while the number is below it. The same
    outputs must get the same answer.
    """

    function: Callable[[Any, Any], Any]
    name: str = ""
    below: float | None = None
    of: str = "predicted"
    kind: ClassVar[str] = "kept"
    needs: ClassVar[Scores | None] = Scores.OBJECTS
    provable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidArgument(
                f"kept.function must be a function of two outputs, got {self.function!r}"
            )
        if self.below is not None and not math.isfinite(self.below):
            raise InvalidArgument(f"kept.below must be a finite number, got {self.below}")
        reference_named(self.kind, self.of)
        if not self.name:
            own = getattr(self.function, "__name__", type(self.function).__name__)
            object.__setattr__(self, "name", own)

    @property
    def phrase(self) -> str:
        """What holds."""
        against = "true output" if self.of == "true" else "output for the clean input"
        below = "" if self.below is None else f", below {self.below:g}"
        return f"pass {self.name}, against the {against}{below}"

    @property
    def yes_or_no(self) -> bool:
        """Whether the function gives no number."""
        return self.below is None

    @property
    def limit(self) -> float:
        """The severity at which it fails."""
        return _BETWEEN if self.below is None else self.below

    @property
    def reference(self) -> Reference:
        """Which output it is about."""
        return Reference(self.of)

    def describe(self) -> dict[str, Any]:
        """Its fields, the function by its name, its source and its settings."""
        function = describe_function(self.function)
        return {"function": function, "name": self.name, "below": self.below, "of": self.of}

    def references(
        self, outputs: Outputs, targets: Sequence[Any], names: Sequence[str]
    ) -> list[Any]:
        """The clean outputs or the targets, one by one."""
        return list(targets) if targets else list(outputs)

    def severity(self, outputs: Outputs, references: list[Any]) -> NDArray[np.float64]:
        """0 where it is kept and 1 where it is not, or the number."""
        pairs = zip(references, on_host(outputs), strict=True)
        return np.array([self._one(one, output) for one, output in pairs], dtype=np.float64)

    def _one(self, reference: Any, output: Any) -> float:  # noqa: ANN401  an output or a target
        with named_errors(self.name):
            answer = self.function(reference, output)
        answer = answer.item() if hasattr(answer, "item") and np.size(answer) == 1 else answer
        if self.below is None:
            if isinstance(answer, bool):
                return 0.0 if answer else 1.0
            raise InvalidArgument(
                f"{self.name} must return True or False, got {answer!r}: for a number state its "
                "limit, Kept(function, below=0.5)"
            )
        if isinstance(answer, bool) or not isinstance(answer, int | float):
            raise InvalidArgument(
                f"{self.name} must return a number, got {answer!r}: leave out below for True or "
                "False"
            )
        if not math.isfinite(answer):
            raise InvalidArgument(f"{self.name} must return a finite number, got {answer}")
        return float(answer)

    def words(self, output: Any) -> str:  # noqa: ANN401  an output or a target
        """The object where it is short, else the first of its numbers."""
        text = " ".join(str(output).split())
        if len(text) <= _MOST_TEXT:
            return text
        numbers = split_numbers(output)[1].tolist()
        return f"{type(output).__name__} of {few_words(numbers)}" if numbers else text[:_MOST_TEXT]
