"""A few of the kept results, and all help texts, are the same today.

`python -m tests.equality` compares all of them.
"""

import pytest

from tests.equality import collect, studies
from tests.equality.canonical import RESULTS, canonical, differences, read_lines
from tests.equality.files import write_files


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("equality")
    write_files(made)
    return made


@pytest.fixture(scope="module")
def kept():
    return {kind: read_lines(RESULTS / f"{kind}.json") for kind in collect.KINDS}


def test_every_result_is_kept_under_its_name(kept):
    assert {kind: set(names) for kind, (_, names) in collect.KINDS.items()} == {
        kind: set(results) for kind, results in kept.items()
    }


@pytest.mark.parametrize("name", collect.help_names())
def test_help_is_the_same(name, kept, folder):
    assert list(differences(kept["helps"][name], collect.help_text(name, folder))) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", studies.FAST)
def test_a_study_gives_the_same_result(name, kept, folder):
    assert list(differences(kept["studies"][name], collect.study(name, folder))) == []


def test_times_and_machines_are_left_out():
    assert canonical({"started": "now", "seconds": 1.5, "trials": 3}) == {"trials": 3}


def test_a_difference_is_named_by_its_place():
    old = {"a": [1.0, "x"], "b": "one\ntwo"}
    assert list(differences(old, {"a": [1.0 + 1e-12, "x"], "b": "one\ntwo"})) == []
    new = {"a": [1.001, "x"], "b": "one\nthree", "c": None}
    assert [line.split(":")[0] for line in differences(old, new)] == [".a[0]", ".b[1]", ".c"]
    assert list(differences({"a": 1}, {"a": True})) == [".a: 1 became true"]
