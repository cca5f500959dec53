"""A few of the kills of `python -m tests.kills`; CONTRIBUTING.md says how to run many."""

from pathlib import Path

import pytest

from tests.kills.__main__ import main

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
KILLS = 1


def test_commands_that_are_killed_at_random_moments_end_as_if_nothing_had_happened(capsys):
    figures = main(["--kills", str(KILLS), "--seed", "39", "--stores", "sqlite", "--jobs", "1",
                    "--studies", "estimate", "--executors", "threads,processes"])  # fmt: skip
    assert figures.well, capsys.readouterr().out
    assert figures.kills >= KILLS
    assert figures.identical == figures.resumed > 0
