"""The list of bugs stays one of edits that can be made."""

from pathlib import Path

import pytest

from tests.bugs.list import BUGS, Bug

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_bug_is_one_edit_and_its_nearest_tests_are_there(bug: Bug) -> None:
    path, text = bug.apply(ROOT)
    assert text != path.read_text(encoding="utf-8")
    assert all((ROOT / file).is_file() for file in bug.nearest)


def test_there_are_sixty_bugs_of_different_names() -> None:
    assert len({bug.name for bug in BUGS}) == len(BUGS) == 60
