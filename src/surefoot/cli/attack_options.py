"""Whether a command also attacks the model, and with how much effort."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.region import Attack


@dataclass(frozen=True)
class AttackOptions:
    """A gradient attack in addition to the measurement."""

    attack: Annotated[
        bool,
        typer.Option(
            "--attack",
            help="Also run a gradient attack and print its failure rate (linf and l2; PyTorch "
            "models and ONNX files).",
        ),
    ] = False
    attack_starts: Annotated[
        int | None, typer.Option(min=1, help="Starts per target class (default: 2).")
    ] = None
    attack_iterations: Annotated[
        int | None, typer.Option(min=1, help="Gradient steps per start (default: 20).")
    ] = None

    def method(self) -> Attack | None:
        """The attack, or None without --attack."""
        from surefoot.region import Attack

        values = {"starts": self.attack_starts, "iterations": self.attack_iterations}
        effort = {name: value for name, value in values.items() if value is not None}
        if self.attack:
            return Attack(**effort)
        if effort:
            name = next(iter(effort))
            raise InvalidArgument(f"--attack-{name} {effort[name]} needs --attack: add it")
        return None
