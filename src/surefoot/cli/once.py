"""A command that refuses what loses something: a value given twice, a file written over."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand

from surefoot.commands.output_files import check_distinct

UsageError: Any = typer.BadParameter.__mro__[1]
"""Click's own class, or the copy inside typer."""


class OnceCommand(TyperCommand):
    """Every option at most once, but for those that take several values; outputs apart."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  of click
        """As click does, after counting."""
        before = args[: args.index("--")] if "--" in args else args
        words = [word.split("=", 1)[0] for word in before]
        for parameter in self.params:
            names = set(getattr(parameter, "opts", ()))
            single = not getattr(parameter, "multiple", False) and parameter.nargs == 1
            if single and sum(word in names for word in words if word.startswith("--")) > 1:
                name = next(word for word in words if word in names)
                raise UsageError(
                    f"{name} is given twice, and one value would be lost: give it once",
                    ctx=ctx,
                )
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401  of click
        """As click does, unless an output is another file of the command."""
        check_distinct(ctx.params)
        return super().invoke(ctx)
