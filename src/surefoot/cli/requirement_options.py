"""What a command may require of the outcome, and how several requirements end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from surefoot.study import Result


@dataclass(frozen=True)
class Requiring:
    """Requirements of the whole population and of every class: exit 0 met, 1 refuted, 2 open."""

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
        """Refuse what is no share before hours of work."""
        from surefoot.study.registry import share

        for name, text in (("--require", self.require), ("--require-each", self.require_each)):
            if text is not None:
                share(name, text)

    def applied(self, found: Result) -> Result:
        """The result with the outcome of each requirement."""
        from surefoot.study.registry import number

        if not self:
            return found
        least = None if self.require is None else number(self.require)
        each = None if self.require_each is None else number(self.require_each)
        return found.require(least, of_each_class=each)
