"""`surefoot critical` as a user meets it."""

import json

import numpy as np
import pytest

from tests.unit.test_proving import LINEAR, write


@pytest.fixture
def small(desk):
    """Class 0 where two values add up to more than 1: every radius is known."""
    write(desk.folder / "small.onnx", LINEAR)
    x = np.random.default_rng(1).random((12, 2)).astype(np.float32)
    desk.save("points.npz", x=x, y=(x.sum(axis=1) <= 1).astype(np.int64))
    return desk


RUN = ("critical", "small.onnx", "points.npz", "--bounds", "0,1", "--seconds-per-input", "5")


def test_brackets_quantile_and_page(small):
    done = small.run(*RUN, "--report", "c.html", "--figure", "c.png")
    assert done.returncode == 0, done.stderr
    assert "critical L∞ radius" in done.stdout
    assert "12 of 12 brackets are closed" in done.stdout
    assert (small.folder / "c.png").stat().st_size > 1000
    assert 'id="distribution"' in (small.folder / "c.html").read_text()
    again = small.run(*RUN)
    assert again.stdout == done.stdout
    assert "was finished before" in again.stderr
    assert small.run("show").stdout == done.stdout
    told = json.loads(small.run(*RUN, "--json").stdout)["critical"][""]
    assert all(row["low"] <= row["high"] for row in told["rows"])


def test_a_requirement_decides_the_exit_code(small):
    assert small.run(*RUN, "--require", "0.9").returncode == 1
    assert small.run(*RUN, "--require", "0").returncode == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--tolerance", "0"), "got 0"),
        (("--quantile", "2"), "got 2"),
        (("--seconds-per-input", "-1"), "got -1"),
        (("--figure", "f.pdf"), ".svg, .png, .json"),
    ],
)
def test_bad_input_gets_one_sentence(small, words, said):
    done = small.run(*RUN, *words)
    assert done.returncode == 3
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_network_that_is_too_large_is_refused(desk):
    done = desk.run("critical", "model.onnx", "test.npz", "--first", "1")
    assert done.returncode == 3
    assert "proofs are for small networks" in done.stderr
    assert done.stderr.count("\n") == 1
