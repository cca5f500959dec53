"""Whether a command attacks the model as well, and how hard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.search import Attack


@dataclass(frozen=True)
class Attacking:
    """The options of an attack beside the measurement."""

    attack: Annotated[
        bool,
        typer.Option(
            "--attack",
            help="The failure rate of a gradient attack as well, beside accuracy and robustness "
            "(linf and l2; PyTorch models and ONNX files).",
        ),
    ] = False
    attack_starts: Annotated[
        int | None, typer.Option(min=1, help="Descents towards each target class (default: 2).")
    ] = None
    attack_iterations: Annotated[
        int | None, typer.Option(min=1, help="Gradient steps of a descent (default: 20).")
    ] = None

    def method(self) -> Attack | None:
        """The attack, if one is wanted."""
        from surefoot.search import Attack

        told = {"starts": self.attack_starts, "iterations": self.attack_iterations}
        given = {name: value for name, value in told.items() if value is not None}
        if self.attack:
            return Attack(**given)
        if given:
            name = next(iter(given))
            raise InvalidArgument(f"--attack-{name} {given[name]} is for an attack: say --attack")
        return None
