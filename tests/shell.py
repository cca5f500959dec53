"""The command line in this process."""

from click.testing import Result
from typer.testing import CliRunner

from surefoot.cli.main import app


def in_shell(*words: str) -> Result:
    """What a command gives back or raises, and what it prints."""
    return CliRunner().invoke(app, list(words), standalone_mode=False)


def done_in_shell(*words: str) -> Result:
    """The same of one that must end without an error."""
    done = in_shell(*words)
    assert done.exception is None, done.exception
    return done
