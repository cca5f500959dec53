"""What a command may require of the result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli.numbers import share

if TYPE_CHECKING:
    from surefoot.study import Result


@dataclass(frozen=True)
class RequirementOptions:
    """Requirements of the population and of each class: exit code 0 met, 1 refuted, 2 undecided."""

    require: Annotated[
        str | None,
        typer.Option(
            help="Require that at least this share of perturbations is kept, on average over the "
            "population: 0.95. With certify: this share of inputs below kappa."
        ),
    ] = None
    require_each: Annotated[str | None, typer.Option(help="Require the same of every class.")] = (
        None
    )

    def __bool__(self) -> bool:
        """Whether anything is required."""
        return self.require is not None or self.require_each is not None

    def check(self) -> None:
        """Refuse what is not a share, before hours of work."""
        self._shares()

    def apply(self, result: Result) -> Result:
        """The result with the verdict on each requirement."""
        if not self:
            return result
        least, least_of_each = self._shares()
        return result.require(least, of_each_class=least_of_each)

    def _shares(self) -> tuple[float | None, float | None]:
        least = None if self.require is None else share("--require", self.require)
        each = None if self.require_each is None else share("--require-each", self.require_each)
        return least, each
