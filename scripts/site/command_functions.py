"""The functions of the commands on the pages of the API: their options are made when imported.

`sf.estimate` and the others take every option of their command, which no text of the source lists:
the signature is short, and a table has each option with its default and its help.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

import griffe

from surefoot.commands.option import Groups

MODULE = "surefoot.commands.functions"
COMMANDS = ("estimate", "certify", "tail", "curve", "critical", "compare", "plan", "doctor")
_POSITIONAL = griffe.ParameterKind.positional_or_keyword
_PROGRESS = "Show progress: True, False, or None for a notebook and a terminal alone."


class CommandFunctions(griffe.Extension):
    """Replaces what reading the source says of these functions by what Python says."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:  # noqa: ANN401  of griffe
        """Once the package is read."""
        if pkg.path == "surefoot":
            module = pkg["commands.functions"]
            for name in COMMANDS:
                module.set_member(name, _documented(name, module))


def _documented(name: str, module: griffe.Module) -> griffe.Function:
    function = getattr(import_module(MODULE), name)
    signature = inspect.signature(function)
    positional = [p for p in signature.parameters.values() if p.kind is not p.KEYWORD_ONLY]
    parameters = [
        griffe.Parameter(
            p.name, kind=_POSITIONAL, default=None if p.default is p.empty else repr(p.default)
        )
        for p in positional
    ]
    options = griffe.Parameter("options", kind=griffe.ParameterKind.var_keyword)
    text = f"{inspect.getdoc(function)}\n\n{_table(function, signature)}"
    return griffe.Function(
        name,
        parameters=griffe.Parameters(*parameters, options),
        docstring=griffe.Docstring(text),
        parent=module,
    )


def _table(function: Callable[..., Any], signature: inspect.Signature) -> str:
    """The options in Markdown, in the order of `help()`."""
    options = Groups.of(inspect.unwrap(function)).options()
    helps = {p.name: p.option.text for p in options if p.option}
    lines = ["| option | default | meaning |", "|---|---|---|"]
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY:
            text = _PROGRESS if parameter.name == "progress" else helps.get(parameter.name, "")
            meaning = text.replace("|", "\\|").replace("<", "&lt;")
            lines.append(f"| `{parameter.name}` | `{parameter.default!r}` | {meaning} |")
    return "\n".join(lines)
