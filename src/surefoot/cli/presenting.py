"""How curves and critical levels are shown: figure, page, words or JSON, and an exit code."""

from __future__ import annotations

import json as jsonlib
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from surefoot.cli.screen import exit_code, show_told

if TYPE_CHECKING:
    from surefoot.report.critical import Criticals
    from surefoot.report.curves import Curves


def present(
    found: Curves | Criticals,
    least: float | None,
    figure: str | None,
    report: str | None,
    store: str | None,
    *,
    as_json: bool,
) -> int:
    """Write figure and page, print; the exit code says whether what was claimed holds."""
    from surefoot.report.phrases import verdict

    claims = [] if least is None else [found.requires(least)]
    said = " ".join(verdict(claim) for claim in claims)
    for path, write in ((figure, found.figure), (report, lambda at: found.report(at, said))):
        if path is not None:
            write(path)
            sys.stderr.write(f"written: {path}\n")
    if as_json:
        told = jsonlib.loads(found.to_json())
        told["requirements"] = [asdict(claim) for claim in claims]
        typer.echo(jsonlib.dumps(told, ensure_ascii=False))
    else:
        show_told(found.told())
        if said:
            typer.echo(f"\n{said}")
    if store is not None:
        digests = [record.digest[:12] for record in found.records.values()]
        sys.stderr.write(f"evidence kept in {store}, run {', '.join(digests)}\n")
    return exit_code(claims)
