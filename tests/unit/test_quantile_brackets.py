"""Published brackets: what empty cells mean, and what a bad file says."""

import json
import math

import pytest

from surefoot.core.results import Footing
from surefoot.inputs import read_brackets
from surefoot.records.spec import BracketFileSpec
from surefoot.report.figures import svg
from surefoot.report.views.radii import times_chart
from surefoot.study.external import brackets
from tests.refusals import refused

HEAD = "network,split,image,lower,upper,runtime_s\n"


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "brackets.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_row_is_read(file):
    (row,) = read_brackets(file(HEAD + "net,test,7,0.013,0.015,12.5\n"))
    assert (row.network, row.split, row.image, row.seconds) == ("net", "test", "7", 12.5)
    assert (row.bracket.low, row.bracket.high) == (0.013, 0.015)
    assert row.bracket.guarantee.footing is Footing.CONDITIONAL
    assert row.source == row.label == ""


def test_empty_cells_mean_nothing_proved_nothing_refuted_and_time_not_known(file):
    (row,) = read_brackets(file(HEAD + "net,test,7,,,\n"))
    assert (row.bracket.low, row.bracket.high) == (0, math.inf)
    assert row.seconds is None
    assert row.bracket.reason


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("network,split,image,lower,runtime_s\n", "has no column upper"),
        ("", "has no column network"),
        (HEAD, "has no rows"),
        (HEAD + "net,test,7,a,0.2,1\n", "line 2: lower is 'a'"),
        (HEAD + "net,test,7,0.1,-1,1\n", "line 2: upper is '-1'"),
        (HEAD + "net,test,7,nan,0.2,1\n", "line 2: lower is 'nan'"),
        (HEAD + "net,test,6,0.1,0.2,1\nnet,test,7,0.3,0.2,1\n", "line 3: lower is 0.3 and upper"),
        (HEAD + "net,test,7,inf,,1\n", "line 2: lower is 'inf'"),
        (HEAD + "\n\nnet,test,7,0.1,inf,inf\n", "line 4: runtime_s is 'inf'"),
        (HEAD + "net,test,7\n", "line 2: there are fewer cells"),
    ],
)
def test_a_bad_file_is_refused_with_the_place(file, text, message):
    refused(message, read_brackets, file(text))


def test_a_missing_file_is_refused(tmp_path):
    refused("there is no file", read_brackets, tmp_path / "none.csv")


def test_a_choice_of_no_rows_is_told_what_there_is(file):
    path = file(f"{HEAD}a,train,1,0.1,0.2,1\n")
    refused("no rows of split test: choose split train", brackets, path, split="test")


def test_no_tolerance_is_made_up_for_networks_of_others(file):
    """One narrow bracket says nothing of how narrow the others were to be."""
    rows = "a,test,1,0,0.001,1\na,test,2,0.05,0.052,2\na,test,3,0.07,,9\nb,test,1,0.01,0.014,1\n"
    found = brackets(file(HEAD + rows))
    for part in found.parts.values():
        assert isinstance(part.record.spec, BracketFileSpec)
    drawn = svg(times_chart(found.parts["a"].record))
    assert "seconds, from the file" in drawn
    assert ">refuted<" in drawn
    assert ">never refuted<" in drawn
    assert "closed" not in drawn
    assert drawn.count(
        'aria-label="proved L∞ radius: 0.05; seconds, from the file: 2; kind: refuted"'
    )


def test_a_time_that_is_not_known_is_not_none_at_all(file):
    found = brackets(file(f"{HEAD}a,test,1,0.05,0.052,2\na,test,2,0.06,0.062,\n"))
    assert [row.result.seconds for row in found.inputs] == [2.0, None]
    assert svg(times_chart(found.record)).count("seconds, from the file: ") == 1
    bare = brackets(file(f"{HEAD}a,test,1,0.05,0.052,\n"))
    assert "Time per input" not in bare.report(file("").with_name("b.html")).read_text()
    assert json.loads(bare.to_json())["inputs"][0]["result"]["seconds"] is None
