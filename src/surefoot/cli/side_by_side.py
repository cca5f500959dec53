"""Several studies of one command: run one after the other, shown as one result."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.cli.output import command_line, say_what_is_from_store
from surefoot.cli.progress import progress_on_stderr
from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.cli.run_options import RunOptions
    from surefoot.store.records import Source
    from surefoot.study import Result


def run_side_by_side(
    run: Callable[..., Result],
    sources: Mapping[str, Source],
    options: RunOptions,
    *,
    part: str,
    unit: str = "inputs",
) -> Result:
    """Run `surefoot.study.compare` or `sweep`, with its studies bound, showing progress.

    `part` is what one study stands for (a model, a level, a curve), `unit` what progress counts.
    """
    with progress_on_stderr(unit) as watch:
        result = run(
            store=options.store,
            workers=options.workers,
            batch=options.batch,
            on_progress=watch,
            sources=sources,
            on_start=_announcer(part, len(sources)),
            time_limit=options.seconds(),
        )
    say_what_is_from_store(result, options.store)
    return replace(result, command=command_line())


def names_of(models: Sequence[str]) -> list[str]:
    """File names, or whole paths where file names are ambiguous."""
    file_names = [Path(m).name for m in models]
    names = file_names if len(set(file_names)) == len(file_names) else list(models)
    if len(set(names)) < len(names):
        raise InvalidArgument("the same model is named twice: compare different models")
    return names


def _announcer(part: str, number: int) -> Callable[[str], None]:
    """Say which one of several studies runs now."""
    place = count(1)

    def announce(name: str) -> None:
        if number > 1:
            sys.stderr.write(f"{part} {name} ({next(place)} of {number})\n")

    return announce
