"""What a command may require of the outcome, and how several requirements end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from surefoot.population import Each
    from surefoot.results import Decision, Undecided
    from surefoot.study import Assessment


@dataclass(frozen=True)
class Requiring:
    """Requirements of the whole population and of every class: exit 0 met, 1 refuted, 2 open."""

    require: Annotated[
        str | None,
        typer.Option(help="Claim that the population's quantity is at least this (0.9)."),
    ] = None
    require_each: Annotated[
        str | None, typer.Option(help="Claim that every class's quantity is at least this.")
    ] = None

    def __bool__(self) -> bool:
        """Whether anything is required."""
        return self.require is not None or self.require_each is not None

    def check(self) -> None:
        """Refuse what is no share before hours of work."""
        from surefoot.study.registry import share

        for name, text in (("--require", self.require), ("--require-each", self.require_each)):
            if text is not None:
                share(name, text)

    def claims(self, found: Assessment) -> list[Decision | Undecided]:
        """The outcome of each requirement."""
        from surefoot.study.registry import number

        made: list[Decision | Undecided] = []
        if self.require is not None:
            made.append(found.requires(number(self.require)))
        if (each := self.each(found)) is not None:
            made.append(each.together)
        return made

    def each(self, found: Assessment) -> Each | None:
        """The outcome class by class."""
        from surefoot.study.registry import number

        if self.require_each is None:
            return None
        return found.requires_of_each_class(number(self.require_each))
