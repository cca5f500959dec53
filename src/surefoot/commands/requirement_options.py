"""What is required of a result: of the population, of each class, of these inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from surefoot.commands.option import option
from surefoot.commands.values import ClassShares, Number, class_shares, share

if TYPE_CHECKING:
    from surefoot.study import Result, Study

_EACH_HELP = "Require the same of every class: 0.9; or of the classes named: stop=0.99,parking=0.9."


@dataclass(frozen=True)
class RequirementOptions:
    """Requirements of the population and of each class."""

    require: Number | None = option(
        None,
        "Require that at least this share of perturbations is kept, on average over the "
        "population: 0.95.",
    )
    require_each: ClassShares | None = option(None, _EACH_HELP)

    def __bool__(self) -> bool:
        """Whether anything is required."""
        return self.require is not None or self.require_each is not None

    def check(self) -> None:
        """Refuse what is not a share, before hours of work."""
        self._shares()

    def check_classes(self, study: Study) -> None:
        """Refuse classes that the inputs do not have, before hours of work."""
        from surefoot.conclude.sampling_requirements import check_classes

        _, each = self._shares()
        if each is not None:
            check_classes(study, each)

    def apply(self, result: Result) -> Result:
        """The result with the verdict on each requirement."""
        if not self:
            return result
        least, least_of_each = self._shares()
        return result.require(least, of_each_class=least_of_each)

    def _shares(self) -> tuple[float | None, float | dict[str, float] | None]:
        least = None if self.require is None else share("require", self.require)
        each = self.require_each
        of_each = None if each is None else class_shares("require_each", each)
        return least, of_each


@dataclass(frozen=True)
class DecisionRequirementOptions:
    """Requirements of decisions: of every one of these inputs, of a share of them, and others."""

    require: Number | None = option(
        None,
        "Require that at least this share of the population fails under at most kappa: 0.95; or "
        "all: that every one of these inputs does.",
    )
    require_these: Number | None = option(
        None, "Require it of at least this share of these inputs: 0.95."
    )
    require_each: ClassShares | None = option(None, _EACH_HELP)

    def __bool__(self) -> bool:
        """Whether anything is required."""
        return any(v is not None for v in (self.require, self.require_these, self.require_each))

    def check(self) -> None:
        """Refuse what is not a share, before hours of work."""
        self._shares()
        self._of_these()

    def check_classes(self, study: Study) -> None:
        """Refuse classes that the inputs do not have, before hours of work."""
        from surefoot.conclude.sampling_requirements import check_classes

        _, each = self._shares()
        if each is not None:
            check_classes(study, each)

    def apply(self, result: Result) -> Result:
        """The result with the verdict on each requirement."""
        if not self:
            return result
        least, least_of_each = self._shares()
        return result.require(least, of_each_class=least_of_each, of_these=self._of_these())

    def _shares(self) -> tuple[float | None, float | dict[str, float] | None]:
        from surefoot.conclude.sampling_requirements import EVERY

        least = self.require
        if least is not None:
            least = None if least == EVERY else share("require", least)
        each = self.require_each
        of_each = None if each is None else class_shares("require_each", each)
        return least, of_each

    def _of_these(self) -> float | None:
        from surefoot.conclude.sampling_requirements import EVERY, share_of_all

        these = self.require_these
        least = None if these is None else share("require_these", these)
        return share_of_all(EVERY, least) if self.require == EVERY else least
