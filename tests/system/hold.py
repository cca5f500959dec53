"""Commands that cannot end before a test lets them: it needs no luck to meet them while they run.

While the folder has a file `hold` with a number in it, a command that is started with this writes
no more than so many batches to its journal. `python hold.py estimate …` is such a command.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
FILE = "hold"
SECONDS = 600.0
"""For what a test waits for, on the busiest machine: longer, and it does not happen."""


def hold(folder: Path, batches: int) -> None:
    """Let each command in this folder write so many batches, and then wait."""
    (folder / FILE).write_text(str(batches))


def release(folder: Path) -> None:
    (folder / FILE).unlink()


def is_held(batches: int) -> bool:
    """Whether a command that has written so many batches has to wait."""
    try:
        return batches >= int(Path(FILE).read_text() or 0)
    except FileNotFoundError:
        return False


def wait_for(condition: Callable[[], T]) -> T:
    """What it gives once that is true."""
    until = time.monotonic() + SECONDS
    while not (value := condition()):
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.02)
    return value


def hold_journal() -> None:
    """From now on in this process a batch is written when it may be."""
    from surefoot.store.sql import SqlJournal

    append, written = SqlJournal.append, 0

    def append_when_allowed(journal, answers):
        nonlocal written
        while is_held(written):
            time.sleep(0.01)
        append(journal, answers)
        written += 1

    SqlJournal.append = append_when_allowed


if __name__ == "__main__":
    from surefoot.cli.start import main

    hold_journal()
    sys.argv[0] = "surefoot"
    main()
