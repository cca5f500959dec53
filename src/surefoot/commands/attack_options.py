"""The options of an attack in addition to the measurement."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from surefoot.commands.option import option, option_name
from surefoot.commands.values import Number, as_number
from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.region import AnyAttack

_OWN_FUNCTION = re.compile(r"(?:.*\.py|@[A-Za-z_][\w.]*):[A-Za-z_][\w.]*", re.DOTALL)
"""mine.py:attack or @module:attack, as for perturbations."""


@dataclass(frozen=True)
class AttackOptions:
    """An attack in addition to the measurement."""

    attack: bool | object = option(
        False,
        "Also run an attack and print its failure rate (linf and l2; PyTorch models and ONNX "
        "files).",
    )
    attack_method: str | None = option(
        None,
        "Attack to run: margin, pgd (Madry et al.) or your own function, mine.py:attack (default: "
        "margin).",
    )
    attack_step: Number | None = option(
        None, "For pgd: length of a step, 2/255 (default: 2.5 radius/iterations)."
    )
    attack_starts: int | None = option(
        None, "Starts: of margin for each target class (default: 2), of pgd (default: 1).", least=1
    )
    attack_iterations: int | None = option(None, "Gradient steps per start (default: 20).", least=1)

    def method(self) -> AnyAttack | None:
        """The attack, or None without one."""
        from surefoot.region import as_attack

        effort = self._effort()
        if isinstance(self.attack, str):
            raise InvalidArgument(
                f"attack must be True, False, an attack of sf.methods or a function, got "
                f"{self.attack!r}: write attack_method={self.attack!r}"
            )
        named = self.attack_method is not None
        if not isinstance(self.attack, bool):
            if named or effort:
                name = "method" if named else next(iter(effort))
                raise InvalidArgument(
                    f"{option_name(f'attack_{name}')} is for an attack by name: leave it out, or "
                    "give it to the attack that you pass"
                )
            return as_attack(self.attack)
        if not self.attack and not named:
            if effort:
                name = next(iter(effort))
                raise InvalidArgument(
                    f"{option_name(f'attack_{name}')} {effort[name]} needs attack=True (--attack): "
                    "add it"
                )
            return None
        return _named(self.attack_method or "margin", effort)

    def _effort(self) -> dict[str, Any]:
        values = {
            "step": self.attack_step,
            "starts": self.attack_starts,
            "iterations": self.attack_iterations,
        }
        return {name: value for name, value in values.items() if value is not None}


def _named(name: str, effort: dict[str, Any]) -> AnyAttack:
    """The attack of this name; what it does not take is refused."""
    from surefoot.region import PGD, Attack, AttackFunction

    if name == "margin" and "step" not in effort:
        return Attack(**effort)
    if name == "pgd":
        if "step" in effort:
            effort = {**effort, "step": as_number("attack_step", effort["step"])}
        return PGD(**effort)
    if _OWN_FUNCTION.fullmatch(name):
        if effort:
            first = next(iter(effort))
            raise InvalidArgument(
                f"{option_name(f'attack_{first}')} is for margin and pgd: let {name} have its own "
                "defaults"
            )
        from surefoot.models.python import import_object

        return AttackFunction(import_object(name.removeprefix("@")), name)
    if name == "margin":
        raise InvalidArgument(
            f"{option_name('attack_step')} {effort['step']} is for pgd, and margin chooses its "
            "steps itself: add attack_method (--attack-method pgd), or leave it out"
        )
    raise InvalidArgument(
        f"there is no attack {name!r}: choose margin or pgd, or name a function of your own, "
        "mine.py:attack or @module:attack"
    )
