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
            "population: 0.95."
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
        return _share("--require", self.require), _share("--require-each", self.require_each)


@dataclass(frozen=True)
class DecisionRequirementOptions(RequirementOptions):
    """The same of decisions, of which every one, or a share of these inputs, may be required."""

    require: Annotated[
        str | None,
        typer.Option(
            help="Require that at least this share of the population fails under at most kappa: "
            "0.95; or all: that every one of these inputs does."
        ),
    ] = None
    require_these: Annotated[
        str | None, typer.Option(help="Require it of at least this share of these inputs: 0.95.")
    ] = None

    def __bool__(self) -> bool:
        """Whether anything is required."""
        return super().__bool__() or self.require_these is not None

    def apply(self, result: Result) -> Result:
        """The result with the verdict on each requirement."""
        if not self:
            return result
        least, least_of_each = self._shares()
        return result.require(least, of_each_class=least_of_each, of_these=self._of_these())

    def check(self) -> None:
        """Refuse what is not a share, before hours of work."""
        super().check()
        self._of_these()

    def _shares(self) -> tuple[float | None, float | None]:
        from surefoot.study.decision_requirements import EVERY

        of_population = None if self.require == EVERY else self.require
        return _share("--require", of_population), _share("--require-each", self.require_each)

    def _of_these(self) -> float | None:
        from surefoot.study.decision_requirements import EVERY, share_of_all

        of_these = _share("--require-these", self.require_these)
        return share_of_all(EVERY, of_these) if self.require == EVERY else of_these


def _share(name: str, text: str | None) -> float | None:
    return None if text is None else share(name, text)
