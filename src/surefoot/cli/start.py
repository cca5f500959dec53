"""The first lines that run: a signal is answered while the rest is still being imported."""

from __future__ import annotations

from surefoot.cli.interrupts import end_before_start


def main() -> None:
    """Run the command line, and end the program with its exit code."""
    end_before_start()
    from surefoot.cli.exit_codes import ERROR, end_program
    from surefoot.cli.main import main as run

    code: object = ERROR
    try:
        run()
    except SystemExit as ended:
        code = ended.code
    end_program(code if isinstance(code, int) else ERROR)
