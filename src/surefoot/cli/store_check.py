"""`show --check` and `show --repair`: whether a store is sound, and what is kept of it."""

from __future__ import annotations

import json as jsonlib
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.store import RunCheck

SOUND, DAMAGED = 0, 3
_LATEST = "latest"


def print_check(store: str, as_json: bool) -> int:
    """One line for each run, and what to do; the exit code says whether all are sound."""
    from surefoot.store.locations import public_location
    from surefoot.store.outcomes import check_store

    checks, where = check_store(store), public_location(store)
    damaged = [check for check in checks if check.problem]
    if as_json:
        typer.echo(jsonlib.dumps([_fields(check) for check in checks]))
        return DAMAGED if damaged else SOUND
    for check in checks:
        typer.echo(_line(check))
    runs = len([check for check in checks if check.digest])
    typer.echo(f"{where}: {runs} {'run' if runs == 1 else 'runs'}, {len(damaged)} damaged")
    for check in damaged:
        if check.digest:
            typer.echo(_way_out(check, where))
    return DAMAGED if damaged else SOUND


def print_repair(store: str, run: str, as_json: bool) -> int:
    """What was wrong with a run, and what is kept of it."""
    from surefoot.store.outcomes import repair_run

    if run == _LATEST:
        raise InvalidArgument(
            "--repair needs the name of a run: surefoot show --check lists those that are damaged"
        )
    check = repair_run(store, run)
    if as_json:
        typer.echo(jsonlib.dumps(_fields(check)))
    elif not check.problem:
        typer.echo(f"{_line(check)}: nothing to repair")
    elif check.readable:
        typer.echo(
            f"run {check.digest[:12]} keeps {check.sound:,} of {check.rows:,} rows: the command "
            "that began it goes on from them"
        )
    else:
        typer.echo(f"run {check.digest[:12]} is removed: the command that began it starts afresh")
    return SOUND


def _fields(check: RunCheck) -> dict[str, Any]:
    """As JSON, with the key that `--list` has for the run's name."""
    fields = asdict(check)
    return {"run": fields.pop("digest"), **fields}


def _line(check: RunCheck) -> str:
    if check.problem:
        return f"damaged: {check.problem}"
    return f"run {check.digest[:12]} is sound: {check.rows:,} rows"


def _way_out(check: RunCheck, where: str) -> str:
    kept = (
        f"keeps the {check.sound:,} rows before the damage, and the command that began it goes on"
        if check.readable
        else "removes it"
    )
    return f"surefoot show {check.digest[:12]} --repair --store {where} {kept}"
