"""The short form of the fuzzing: a few cases of each kind."""

import pytest

from tests.fuzz.judge import KINDS, judged
from tests.system.hold import SECONDS

CASES = 4


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"torch"}))
def test_odd_files_and_options_end_as_documented(kind):
    for number in range(CASES):
        verdict = judged(kind, number, seed=1, seconds=SECONDS)
        assert not verdict.problem, verdict


@pytest.mark.slow
def test_a_damaged_pytorch_file_ends_as_documented():
    verdict = judged("torch", 0, seed=1, seconds=SECONDS)
    assert not verdict.problem, verdict
