"""The first lines that run: a signal is answered while the rest is still being imported."""

from __future__ import annotations

from surefoot.cli.interrupts import end_before_start


def main() -> None:
    """Run the command line."""
    end_before_start()
    from surefoot.cli.main import main as run

    run()
