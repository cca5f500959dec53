"""The command with which a second party runs trials of an evidence file again."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields

from surefoot.evidence.statement import Evidence
from surefoot.study.load_files import FileOptions
from surefoot.system.text import escape_unprintable

_NEVER = ("trust", "token_variable")
"""Options that a file of a stranger shall not make anybody type."""
_FLAGS = {f"--{f.name.replace('_', '-')}": f.type == "bool" for f in fields(FileOptions)}
"""How model and data are read and chosen, and whether the option has no value."""
_TRUST = re.compile(r"(?<!\S)--trust(?!\S)|\btrust=True\b")
"""In a command of a shell or in Python."""
_LONGEST = 300
"""Characters of a command in a sentence."""


def verify_command(evidence: Evidence) -> str:
    """`surefoot verify` with models, data and the options that the run read them with.

    Those of a run in Python, which are no options of a shell, are named without their values. That
    a model runs code when it is read is for the reader to accept.
    """
    parts = tuple(evidence.members_here.values())
    words = ["surefoot", "verify", "FILE"]
    models = {(p.study.model.digest, p.study.model.answers): p.model for p in parts}
    for model in models.values():
        words += ["--model", model]
    words += ["--data", parts[0].data]
    command = evidence.command or parts[0].command
    options = reading_options(command)
    more = "" if options is not None or not command else " and the options of the run"
    text = shlex.join([*words, *(options or ())]) + more
    trusted = any(_TRUST.search(one.command) for one in (evidence, *parts))
    accept = " (and --trust, if you trust the model: it is a file that can run code)" * trusted
    return escape_unprintable(text)[:_LONGEST] + accept


def reading_options(command: str) -> list[str] | None:
    """The words of a shell command that say how files are read; None where it is none of ours."""
    if not command.startswith("surefoot "):
        return None
    try:
        words = shlex.split(command)
    except ValueError:  # an evidence file may call anything a command
        return None
    never = [f"--{name.replace('_', '-')}" for name in _NEVER]
    options: list[str] = []
    for i, word in enumerate(words):
        flag, equal, _ = word.partition("=")
        if flag in _FLAGS and flag not in never:
            alone = _FLAGS[flag] or bool(equal)
            options += words[i : i + (1 if alone else 2)]
    return options
