"""`surefoot curve` as a user meets it."""

import json
import re
import shutil

import pytest

METHODS = ("sequential", "asap", "uniform", "quad")
FILES = ("curve", "model.onnx", "more.npz")
BLUR = (*FILES, "--perturb", "blur:0..3")
JUMP = """
from surefoot.perturb import custom

@custom(1.0, draws=1)
def shift(x, u, level):
    return x + 0.3 + level * u
"""


@pytest.fixture
def full(workspace):
    workspace.save("more.npz", x=workspace.x[:80], y=workspace.y[:80])
    return workspace


def test_a_curve_says_up_to_which_level_and_how_sure(full):
    words = (*BLUR, "--threshold", "0.8,0.6", "--resolution", "0.02", "--explain")
    done = full.succeed(*words, "--report", "c.html", "--figure", "c.svg")
    first = done.stdout.splitlines()[0]
    assert re.search(r"[\d.]+ pixels \([\d.]+ to [\d.]+, confidence", first)
    page = (full.folder / "c.html").read_text()
    assert 'id="strips"' in page
    assert "surefoot curve model.onnx more.npz" in page
    assert (full.folder / "c.svg").read_text().startswith("<svg")
    again = full.run(*words)
    said, repeated = (run.stdout.rpartition("surefoot curve")[0] for run in (done, again))
    assert repeated == said != ""
    assert "was already finished" in again.stderr
    assert full.run("show", "--explain").stdout == done.stdout
    assert full.run("replay", "", "0", "0").returncode == 3  # it has no trials of one level


def test_several_perturbations_models_and_classes_in_one_call(full):
    shutil.copy(full.folder / "model.onnx", full.folder / "twin.onnx")
    done = full.succeed("curve", "model.onnx", "twin.onnx", "more.npz", "--perturb", "blur:0..3",
                    "--perturb", "rotation:-40..40", "--by-class", "--report", "c.html",
                    "--json", "--resolution", "0.1", "--first", "40")  # fmt: skip
    parts = json.loads(done.stdout)["parts"]
    assert set(parts) == {f"{m}.onnx, {a}" for m in ("model", "twin")
                         for a in ("blur:0..3", "rotation:-40..40")}  # fmt: skip
    one, two = (parts[f"{m}.onnx, blur:0..3"]["details"] for m in ("model", "twin"))
    assert one["curve"] == two["curve"]  # the same network meets the same noise
    assert len(one["classes"]) == 10
    page = (full.folder / "c.html").read_text()
    assert page.count("<svg") == 12  # one a perturbation, one of classes each, and for phones


@pytest.mark.parametrize("method", ["asap", "uniform", "random", "quad"])
def test_the_paper_and_what_it_was_compared_with(full, method):
    more = ("--grid", "64", "--as-printed") if method == "asap" else ("--levels", "23")
    done = full.succeed(*BLUR, "--method", method, *more, "--first", "12", "--json")
    found = json.loads(done.stdout)
    footing = found["details"]["curve"]["readings"][0]["guarantee"]["footing"]
    assert footing == ("conditional" if method == "asap" else "none")
    options = found["spec"]["method"]["options"]
    given = {"as_printed": True, "grid": 64, "curvature": None} if method == "asap" else {}
    assert given.items() <= options.items()


def test_methods_side_by_side_have_a_row_each(full):
    done = full.succeed(*BLUR, "--first", "12", "--compare-methods", "--levels", "21")
    rows = {
        name: [cell.strip() for cell in line.split("│")]
        for name in METHODS
        for line in done.stdout.splitlines()
        if line.startswith(f"│ blur:0..3, {name}")
    }
    assert set(rows) == set(METHODS)
    assert [name for name, row in rows.items() if "no guarantee" in row] == ["uniform", "quad"]
    for row in rows.values():
        *_, evaluations, seconds, _ = row
        assert int(evaluations.replace(",", "")) >= 2
        assert float(seconds) >= 0


def test_draws_are_fresh_unless_they_are_fixed(full):
    words = ("curve", "model.onnx", "more.npz", "--first", "20", "--threshold", "0.6",
             "--perturb", "gaussian:0..0.6", "--resolution", "0.5")  # fmt: skip
    fresh, fixed = full.run(*words, "--time-limit", "0.1"), full.run(*words, "--fixed-draws")
    assert "these draws" not in fresh.stdout.splitlines()[0]
    assert "for these draws of the noise (seed 1)" in fixed.stdout.splitlines()[0]


def test_a_contradicted_assumption_is_said_beside_the_result(full):
    words = ("--perturb", "rotation:-60..60", "--assume", "monotone", "--resolution", "0.2")
    done = full.succeed(*FILES, *words, "--first", "20")
    assert "contradict the assumption monotone" in done.stdout
    assert "it is assumed instead" in done.stdout


def test_a_sequence_goes_from_nothing_to_all_of_it(full):
    words = (
        "curve",
        "model.onnx",
        "more.npz",
        "--first",
        "20",
        "--resolution",
        "0.05",
        "--perturb",
    )
    done = full.succeed(*words, "blur:0..3+jpeg:0.5")
    assert " of blur + jpeg " in done.stdout.splitlines()[0]
    same = full.run(*words, "blur:3+jpeg:0.5")
    assert "was already finished" in same.stderr


def test_population_confidence_and_unlabelled_data(full):
    full.save("plain.npz", x=full.x[:60])
    for words in (("--scope", "population"), ("--measure", "confidence", "--threshold", "0.5")):
        full.succeed(*BLUR, *words, "--json", "--resolution", "0.05", "--first", "60")
    plain = ("curve", "model.onnx", "plain.npz", "--perturb", "blur:0..3", "--resolution", "0.05")
    done = full.succeed(*plain)
    assert done.stdout.splitlines()[0].startswith("Share of labels kept on these 60 inputs")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("blur:3..0", "goes from a lower to a higher"),
        ("blur:-1..1", "blur has no direction"),
        ("fogg:0..1", "there is no perturbation 'fogg'"),
        ("rotation:0..400", "in [0, 180] (degrees)"),
        ("gaussian:0..2", "levels go from 0 to 1, not from 0 to 2"),
        ("rotation:-9..9+jpeg:0.5", "give the highest level alone"),
        ("@jump:shift", "let it return its input at level 0"),
        ("blur:0..2 --perturb blur:0..2", "given twice"),
        ("blur:0..2 --threshold 80", "got 80"),
        ("blur:0..2 --time-limit 0", "got 0"),
        ("blur:0..2 --require 2", "not a level: for level 2 of blur:0..2 write 1"),
        ("blur:0..2 --method best", "there is no method 'best'"),
        ("blur:0..2 --levels 9", "use uniform or random or quad"),
        ("blur:0..2 --curvature 8", "(--curvature) is not for"),
        ("blur:0..2 --as-printed", "(--as-printed) is not for method sequential"),
        ("blur:0..2 --method asap --scope population", "(--scope) is not"),
        ("blur:0..2 --method asap --resolution 0.1", "use sequential"),
        ("blur:0..2 --method quad --confidence 0.9", "use sequential"),
        ("blur:0..2 --method asap --fixed-draws", "use sequential"),
        ("blur:0..2 --method asap --assume monotone", "use sequential"),
        ("blur:0..2 --compare-methods --scope population", "leave out"),
        ("blur:0..2 --compare-methods --require 0.5", "for one method"),
        ("blur:0..2 --figure no/f.svg", "there is no folder"),
        ("blur:0..2 --figure f.gif", ".svg, .png, .pdf, .json"),
    ],
)
def test_bad_input_gets_one_sentence(full, refusal, words, said):
    (full.folder / "jump.py").write_text(JUMP)
    assert said in refusal(*FILES, "--perturb", *words.split())
