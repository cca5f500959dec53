"""Tables and figures of the sigma thesis, on a small made-up file of brackets."""

import numpy as np
import pytest

import papers
import surefoot as sf
from papers.exhibit import published
from papers.sigma import (
    Drawing,
    Network,
    of_thesis,
    resample,
    thesis_interval,
)
from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument
from surefoot.population import AlgorithmOne, OrderStatistics
from tests.exhibits import checked
from tests.quantiles import brackets, on_grid

LOCAL = tuple(on_grid(np.exp(np.random.default_rng(1).normal(-3, 0.5, 60))))
HEAD = "network,split,image,lower,upper,runtime_s,source\n"


def rows_of(name, count, *, source="a", seconds="3600", spread=0.5):
    rng = np.random.default_rng(len(name))
    local = on_grid(np.exp(rng.normal(-2.8, spread, count)))
    return "".join(
        f"{name},test,{i},{b.low:.3f},{b.high:.3f},{seconds},{source}\n"
        for i, b in enumerate(local)
    )


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("sigma") / "brackets.csv"
    text = rows_of("mnist_nn", 76) + rows_of("mine", 80) + rows_of("mine", 8, source="b")
    path.write_text(HEAD + text, encoding="utf-8")
    return path


def exhibit(file, *, repeats=4, source="a", **part):
    own = {"brackets": file, "repeats": repeats, "source": source, "progress": False}
    return checked(papers.make("sigma", **part, **own))


def test_the_thesis_ranks_are_one_too_high():
    """Of 100 inputs the right ranks are 1 and 11; the thesis takes the 2nd and the 12th."""
    lows = 0.001 + 0.002 * np.arange(100)
    local = brackets(lows, lows + 0.002)
    right = OrderStatistics().conclude(local, 0.05).interval
    assert (right.low, right.high) == pytest.approx((0.001, 0.023))
    theirs = thesis_interval(local, 0.05, 0.05)
    assert (theirs.low, theirs.high) == pytest.approx((0.003, 0.025))


def test_the_thesis_takes_inputs_without_a_proof_for_the_most_robust():
    lows = [0.0] * 5 + list(0.01 + 0.002 * np.arange(95))
    local = brackets(lows, np.array(lows) + 0.002)
    assert thesis_interval(local, 0.05, 0.05).low == pytest.approx(0.012)
    assert OrderStatistics().conclude(local, 0.05).interval.low == 0


def test_the_thesis_has_no_interval_of_a_few_inputs():
    assert thesis_interval(on_grid([0.05, 0.06]), 0.05, 0.05) is None


def test_the_coverage_counts_intervals_and_allows_for_the_bracket():
    draws, refusals = resample(LOCAL, AlgorithmOne(), Drawing(5, 1))
    network = Network("net", LOCAL, AlgorithmOne(), None, draws, refusals, Interval(0, 1), None)
    first = network.coverage()[0]
    third = sorted(b.low for b in LOCAL)[2]  # of 60 inputs: ranks are counted from 1
    assert network.quantile.low == third
    middle = (network.quantile.low + network.quantile.high) / 2
    assert first["coverage"] == sum(middle in draw.interval for draw in draws) / 5
    assert (first["estimator"], first["given"]) == ("algorithm-1", 5)
    assert first["coverage"] in first["between"]


def test_table_4_3_adds_the_times_of_the_inputs(file):
    rows = {row["network"]: row for row in exhibit(file, table="4.3").sheets[0].rows}
    assert rows["mine"]["all_inputs"] == pytest.approx(80)
    assert rows["mine"]["least"] <= rows["mine"]["mean"] <= rows["mine"]["most"]
    assert rows["mine"]["ratio"] == pytest.approx(rows["mine"]["share"])  # one hour an input
    assert rows["mnist_nn"]["published_mean"] == 11.52


def test_a_source_is_chosen_and_another_is_refused(file, tmp_path):
    rows = exhibit(file, table="4.1", source="b,a", repeats=2).sheets[0].rows
    assert {row["network"]: row["inputs"] for row in rows} == {"mnist_nn": 76, "mine": 8}
    with pytest.raises(InvalidArgument, match=r"choose source \(--source\) a or b"):
        exhibit(file, table="4.1", source="c")


def test_an_input_with_two_sources_is_refused_in_the_words_of_the_command(file):
    with pytest.raises(InvalidArgument) as ours:
        exhibit(file, table="4.1", source=None)
    with pytest.raises(InvalidArgument) as theirs:
        sf.brackets(file, split="test")
    assert str(ours.value) == str(theirs.value)
    assert "choose by source (--source) a or b" in str(ours.value)


def test_the_hours_of_the_thesis_are_those_of_all_calls_of_all_splits(tmp_path):
    head = HEAD.replace("source", "source,query_seconds")
    test = rows_of("mnist_nn", 76).replace(",a\n", ",a,1800\n")
    path = tmp_path / "calls.csv"
    path.write_text(head + test + test.replace(",test,", ",train,"), encoding="utf-8")
    (row,) = exhibit(path, table="4.3", repeats=2).sheets[0].rows
    assert row["calls"] == pytest.approx(76)
    assert row["all_inputs"] == pytest.approx(76)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """40 inputs, one of which is wrong when clean; another took nearly all of the time."""
    path = tmp_path_factory.mktemp("small") / "brackets.csv"
    text = rows_of("net", 40).replace("net,test,0,", "net,test,0,0,0,9e9,a\nnet,test,40,")
    path.write_text(HEAD + text, encoding="utf-8")
    return path


@pytest.mark.parametrize("table", ["4.1", "4.2"])
def test_runs_without_an_interval_are_counted_as_such(small, table):
    made = exhibit(small, table=table, repeats=8)
    row = made.sheets[-1].rows[0]
    assert row["runs"] == 8 > row["given"] > 0
    refused = f"net: {8 - row['given']} of 8 runs gave no interval"
    assert any(line.startswith(refused) and "level of 0" in line for line in made.lines)


@pytest.mark.parametrize(
    ("rows", "part", "says"),
    [
        (rows_of("net", 20, seconds=""), {"table": "4.3"}, "runtime_s"),
        (rows_of("net", 20, seconds=""), {"figure": "4.2"}, "runtime_s"),
        (
            rows_of("net", 20),
            {"table": "4.2", "split": "train"},
            "split train, .*choose split test",
        ),
        ("net,test,1,0,0,1,a\n", {"table": "4.2"}, "level of 0, which no log-normal has"),
    ],
)
def test_a_file_that_lacks_what_a_part_needs_is_refused_with_what_it_lacks(
    rows, part, says, tmp_path
):
    path = tmp_path / "brackets.csv"
    path.write_text(HEAD + rows, encoding="utf-8")
    with pytest.raises(InvalidArgument, match=says):
        exhibit(path, **part)


def test_published_numbers_stand_beside_the_same_number_of_inputs_only():
    assert of_thesis("4.2", "mnist-net_256x4", 1000)["published_upper"] == 0.0306
    assert of_thesis("4.2", "mnist-net_256x4", 99) == {}
    assert of_thesis("4.3", "mnist_relu_3_50", 98)["published_all_inputs"] == 827.41
    assert of_thesis("4.1", "other", 1000) == {}
    names = [[row["network"] for row in published(f"sigma table 4.{i}")] for i in (1, 2, 3)]
    assert names[1] == names[2] and names[0] == names[1][:3]
    intervals = published("sigma table 4.2")
    sizes = [row["truth"].width for row in intervals]  # the last column of table 4.2
    assert sizes == pytest.approx(
        [0.008, 0.008, 0.008, 0.014, 0.028, 0.01, 0.026, 0.02, 0.018, 0.028, 0.018, 0.024]
    )
    assert all(row["shortest"] < row["length"] < row["longest"] for row in intervals)
