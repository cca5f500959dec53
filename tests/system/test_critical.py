"""`surefoot critical` as a user meets it."""

import json
import signal
import sys

import numpy as np
import pytest

from tests.system.hold import SECONDS, hold
from tests.system.test_interruption import wait_for_evidence
from tests.unit.test_radii_study import LINEAR, write


def brackets_in(stdout):
    """Both ends of every input's bracket, by id; None where one is open."""
    return {
        row["id"]: (row["result"]["interval"]["low"], row["result"]["interval"]["high"])
        for row in json.loads(stdout)["inputs"]
    }


@pytest.fixture
def small(workspace):
    """Class 0 where two values add up to more than 1: every radius is known."""
    write(workspace.folder / "small.onnx", LINEAR)
    x = np.random.default_rng(1).random((12, 2)).astype(np.float32)
    workspace.save("points.npz", x=x, y=(x.sum(axis=1) <= 1).astype(np.int64))
    return workspace


RUN = ("critical", "small.onnx", "points.npz", "--bounds", "0,1", "--seconds-per-input", "600")


def test_brackets_quantile_and_page(small):
    done = small.succeed(*RUN, "--report", "c.html", "--figure", "c.png", "--explain")
    few = "12 inputs are too few to bound the 5 % quantile from below, so the lower end is 0"
    assert few in done.stdout.partition("Further claims")[2]
    assert "The claim above" not in done.stdout  # the mean leads, the table is of the quantile
    assert "12 of 12 brackets are closed" in done.stdout
    assert (small.folder / "c.png").stat().st_size > 1000
    assert 'id="distribution"' in (small.folder / "c.html").read_text()
    again = small.run(*RUN, "--explain")
    assert (
        again.stdout.rpartition("surefoot critical")[0]
        == done.stdout.rpartition("surefoot critical")[0]
        != ""
    )
    assert "was already finished" in again.stderr
    assert small.run("show", "--explain").stdout == done.stdout
    ends = brackets_in(small.run(*RUN, "--json").stdout)
    assert len(ends) == 12
    assert all(low <= high for low, high in ends.values())


def test_a_requirement_decides_the_exit_code(small):
    assert small.run(*RUN, "--require", "0.9").returncode == 1
    easy = small.succeed(*RUN, "--quantile", "0.5", "--confidence", "0.8", "--require", "0.001")
    assert "PASS: all but 50 % of inputs of this kind" in easy.stdout
    open_ = small.run(*RUN, "--require", "0.001")
    assert open_.returncode == 2
    assert "UNDECIDED" in open_.stdout


def proofs_kept(workspace):
    """What the store holds for each input, one try after the other."""
    from surefoot.store.sql import SqlStore

    store = SqlStore(f"sqlite:///{workspace.folder}/surefoot.db")
    (run,) = store.runs()
    kept = store.journal(run.digest).replay()
    store.close()
    return {name: [entry.evidence for entry in entries] for name, entries in kept.items()}


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_run_loses_no_bracket(small, sent):
    """All have a radius after the first batch; the seconds of a bracket tell of a second search."""
    hold(small.folder, 3)
    process = small.start(*RUN, "--workers", "1", held=True)
    wait_for_evidence(small.folder, process, 13)
    process.send_signal(sent)
    out, err = process.communicate(timeout=SECONDS)
    before = proofs_kept(small)
    assert len(before) == 12
    assert all(first.low > 0 for first, *_ in before.values())
    searched = {name: sum(rest, first) for name, (first, *rest) in before.items() if rest}
    assert 1 < len(searched) < 12
    if sent == signal.SIGINT:
        assert process.returncode == 3
        assert "Interrupted. The brackets so far" in out
        assert "the same command continues the run" in err
    again = small.succeed(*RUN, "--json")
    ends = brackets_in(again.stdout)
    assert len(ends) == 12
    seconds = {row["id"]: row["result"]["seconds"] for row in json.loads(again.stdout)["inputs"]}
    for name, proof in searched.items():
        assert (*ends[name], seconds[name]) == (proof.low, proof.high, proof.seconds)


CSV = """network,split,image,lower,upper,runtime_s
a,test,0,0.01,0.012,1
a,test,1,0.02,0.022,2
b,test,0,,0.012,1
b,test,1,0.03,,2
"""
VERONA = """,network_path,image_id,epsilon_value,smallest_sat_value,total_time,verifier
0,nets/a.onnx,0,0.01,0.012,1,abcrown
1,nets/a.onnx,1,0.02,undefined,2,abcrown
"""


def test_brackets_of_others_are_read(workspace):
    (workspace.folder / "r.csv").write_text(CSV)
    (workspace.folder / "v.csv").write_text(VERONA)
    done = workspace.succeed(
        "brackets", "r.csv", "--quantile", "0.5", "--report", "b.html", "--explain"
    )
    assert "were not checked here" in done.stdout
    assert "Pairs of networks" in done.stdout
    assert "r.csv" in (workspace.folder / "b.html").read_text()
    ends = brackets_in(workspace.run("brackets", "v.csv", "--json").stdout)
    assert ends == {"0": (0.01, 0.012), "1": (0.02, None)}
    twice = CSV + "a,train,0,0.1,0.2,1\n"
    (workspace.folder / "r.csv").write_text(twice)
    refused = workspace.run("brackets", "r.csv", "--networks", "a")
    assert refused.returncode == 3
    assert "choose by split (--split) test or train" in refused.stderr
    none = workspace.run("brackets", "r.csv", "--networks", "c")
    assert "no rows of network 'c'" in none.stderr


def test_counterexamples_and_properties_are_handed_out(small):
    from surefoot.verify.vnnlib import read_property

    small.succeed(*RUN, "--counterexamples", "ce.npz", "--vnnlib", "props")
    with np.load(small.folder / "ce.npz") as found:
        x, points = found["x"], found["counterexample"]
        assert np.allclose(np.abs(points - x).max(axis=1), found["distance"], atol=1e-6)
        assert (found["predicted"] != found["label"]).all()
        assert (((points.sum(axis=1) <= 1).astype(int)) == found["predicted"]).all()
    listed = (small.folder / "props" / "instances.csv").read_text().splitlines()
    assert len(listed) == 24
    for network, box, _ in (line.split(",") for line in listed):
        assert (small.folder / "props" / network).exists()
        read_property((small.folder / "props" / box).read_text())
    bad = small.run(*RUN, "--counterexamples", "ce.txt")
    assert bad.returncode == 3
    assert "must be a .npz file" in bad.stderr


OTHER = r"""
import re, sys

_, model, question, seconds, result = sys.argv
text = open(question).read()
values = r" X_\d+ ([^)]+)\)"
ends = {end: [float(v) for v in re.findall(end + values, text)] for end in ("<=", ">=")}
label = int(re.search(r"label (\d)", text)[1])
corner = ends[">="] if label == 0 else ends["<="]
broken = sum(corner) <= 1 if label == 0 else sum(corner) >= 1
point = "".join(f"(X_{i} {v!r})" for i, v in enumerate(corner))
open(result, "w").write(f"sat ({point})" if broken else "unsat")
"""


def test_another_prover_in_place_of_ours(small):
    (small.folder / "other.py").write_text(OTHER)
    command = f"{sys.executable} other.py {{onnx}} {{vnnlib}} {{seconds}} {{result}}"
    command = command.replace("other.py", str(small.folder / "other.py"))
    done = small.succeed(*RUN, "--first", "3", "--verifier", command, "--json")
    points = np.load(small.folder / "points.npz")["x"][:3]
    for (low, high), point in zip(brackets_in(done.stdout).values(), points, strict=True):
        known = abs(float(point.sum(dtype=float)) - 1) / 2
        assert low - 1e-6 <= known <= high + 1e-6
        assert high - low <= 0.00201
    plain = small.run(*RUN, "--first", "3", "--verifier", command, "--explain")
    assert "in its own arithmetic, and were not checked here" in plain.stdout
    for words, said in (
        (("--verifier", "tool {onnx}"), "must name {onnx} and {vnnlib}"),
        (("--verifier", command, "--within", "0.1"), "leave out quantile_only (--quantile-only)"),
        (("--verifier", command, "--mean", "0.5", "--std", "0.5"), "normalises by itself"),
        (("--verifier", "/no/such {onnx} {vnnlib}"), "cannot be started"),
    ):
        refused = small.run(*RUN, *words)
        assert refused.returncode == 3
        assert said in refused.stderr
