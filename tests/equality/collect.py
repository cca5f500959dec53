"""Run everything, each command in a process of its own, and keep what it gave."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import typer.main
from typer.testing import CliRunner

from surefoot.cli.main import app
from surefoot.report.sentences import sentence
from tests.equality import studies
from tests.equality.canonical import canonical_evidence, canonical_output, canonical_text, tampered
from tests.system import forked
from tests.unit.example_claims import CLAIMS_IN_WORDS

_SECONDS = 300
os.environ.update(COLUMNS="100", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")


def run(command: str, folder: Path) -> dict[str, Any]:
    """What a command prints, and its exit code."""
    ended = forked.run(studies.words(command), folder, _SECONDS)
    return {
        "command": command,
        "exit_code": ended.returncode,
        "out": canonical_output(ended.stdout, folder),
        "err": canonical_text(ended.stderr, folder),
    }


def study(name: str, folder: Path) -> dict[str, Any]:
    """A study as text, then its record as JSON."""
    command = studies.STUDIES[name]
    if command.split()[0] not in studies.STORELESS:
        command += f" --store {name}.db"
    return {"text": run(command, folder), "json": run(f"{command} --json", folder)}


def evidence(name: str, folder: Path) -> dict[str, Any]:
    """The evidence of a run, and what checking it says: as it is, changed, with model and data."""
    file, false = folder / f"{name}.json", folder / f"{name}-false.json"
    written = run(f"evidence latest --store {name}.db -o {name}.json", folder)
    text = file.read_text()
    false.write_text(tampered(text))
    checked = {"verify": f"{name}.json", "json": f"{name}.json --json", "false": false.name}
    if studies.EVIDENCE[name]:
        checked["again"] = f"{name}.json {studies.EVIDENCE[name]}"
    return {
        "written": written,
        "payload": canonical_evidence(text),
        **{kind: run(f"verify {rest}", folder) for kind, rest in checked.items()},
    }


def command(name: str, folder: Path) -> dict[str, Any]:
    """Another command."""
    return run(studies.COMMANDS[name], folder)


def help_text(name: str, folder: Path) -> dict[str, Any]:
    """What --help prints, and of a command --help-all: in this process, as it changes nothing."""

    def printed(command: str) -> dict[str, Any]:
        done = CliRunner().invoke(app, studies.words(command))
        texts = {"out": done.stdout, "err": done.stderr}
        return {
            "command": command,
            "exit_code": done.exit_code,
            **{name: canonical_text(text, folder) for name, text in texts.items()},
        }

    return {**printed(f"{name} --help"), **({"all": printed(f"{name} --help-all")} if name else {})}


def help_names() -> list[str]:
    """Every command, and the empty name: the program itself."""
    return ["", *sorted(typer.main.get_command(app).commands)]


ALONE = ("sentences", "helps")
"""Kinds that may be named as a whole: they need no other."""
KINDS: dict[str, tuple[Callable[[str, Path], Any], Iterable[str]]] = {
    "sentences": (lambda name, _: sentence(CLAIMS_IN_WORDS[name]), CLAIMS_IN_WORDS),
    "helps": (help_text, help_names()),
    "studies": (study, studies.STUDIES),
    "commands": (command, studies.COMMANDS),
    "refusals": (run, studies.REFUSALS),
    "evidence": (evidence, studies.EVIDENCE),
}
"""How results of each kind are made, and their names; the last three need the studies."""
