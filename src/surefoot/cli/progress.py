"""Progress on stderr, with the time left."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from surefoot.cli.interrupts import raise_if_stopped
from surefoot.commands.caller import Watch
from surefoot.commands.progress import printed_lines, terminal_bar

if TYPE_CHECKING:
    from surefoot.engine.progress import Progress


@contextmanager
def progress_on_stderr(unit: str = "inputs") -> Iterator[Watch]:
    """A bar on a terminal, a line every few seconds elsewhere; `unit` is what is counted."""
    display = terminal_bar if sys.stderr.isatty() else printed_lines
    part = 0
    with display(unit) as watch:

        def watch_or_stop(now: Progress) -> None:
            nonlocal part
            raise_if_stopped()
            if now.part != part and now.trials:  # the first report comes before the first batch
                sys.stderr.write(f"goes on from {now.trials:,} {now.unit} that are in the store\n")
            part = now.part
            watch(now)

        yield watch_or_stop
