"""`surefoot curve` as a user meets it."""

import json
import shutil
import signal

import pytest

from tests.system.test_interruption import wait_for_evidence

FILES = ("curve", "model.onnx", "more.npz")
BLUR = (*FILES, "--perturb", "blur:0..3")


@pytest.fixture
def full(workspace):
    workspace.save("more.npz", x=workspace.x[:200], y=workspace.y[:200])
    return workspace


def test_a_curve_says_up_to_which_level_and_how_sure(full):
    done = full.run(*BLUR, "--threshold", "0.8,0.6", "--report", "c.html", "--figure", "c.svg")
    assert done.returncode == 0, done.stderr
    for threshold in (80, 60):
        assert f"the level up to which the accuracy is at least {threshold} % is" in done.stdout
    assert "if the curve goes one way" in done.stdout
    page = (full.folder / "c.html").read_text()
    assert 'id="strips"' in page
    assert "surefoot curve model.onnx more.npz" in page
    assert (full.folder / "c.svg").read_text().startswith("<svg")
    again = full.run(*BLUR, "--threshold", "0.8,0.6")
    assert again.stdout == done.stdout
    assert "was already finished" in again.stderr
    assert full.run("show").stdout == done.stdout
    assert full.run("report", "--out", "d.html").returncode == 0
    refused = full.run("replay", "", "0", "0")
    assert refused.returncode == 3
    assert "is a curve or a proof" in refused.stderr


def test_several_perturbations_models_and_classes_in_one_call(full):
    shutil.copy(full.folder / "model.onnx", full.folder / "twin.onnx")
    done = full.run("curve", "model.onnx", "twin.onnx", "more.npz", "--perturb", "blur:0..3",
                    "--perturb", "rotation:-40..40", "--by-class", "--report", "c.html",
                    "--json", "--resolution", "0.01")  # fmt: skip
    assert done.returncode == 0, done.stderr
    parts = json.loads(done.stdout)["parts"]
    assert set(parts) == {f"{m}.onnx, {a}" for m in ("model", "twin")
                         for a in ("blur:0..3", "rotation:-40..40")}  # fmt: skip
    one, two = (parts[f"{m}.onnx, blur:0..3"]["details"] for m in ("model", "twin"))
    assert one["curve"] == two["curve"]  # the same network meets the same noise
    assert len(one["classes"]) == 10
    page = (full.folder / "c.html").read_text()
    assert page.count("<svg") == 6  # one a perturbation, one of classes each


@pytest.mark.parametrize(("least", "code"), [("0.1", 0), ("0.9", 1)])
def test_a_requirement_decides_the_exit_code(full, least, code):
    done = full.run(*BLUR, "--require", least, "--resolution", "0.01")
    assert done.returncode == code, done.stderr
    assert ("PASS" if code == 0 else "FAIL") in done.stdout


@pytest.mark.parametrize("method", ["asap", "uniform", "random", "quad"])
def test_the_paper_and_what_it_was_compared_with(full, method):
    more = () if method == "asap" else ("--levels", "23")
    done = full.run(*BLUR, "--method", method, *more, "--first", "60", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    footing = found["details"]["curve"]["readings"][0]["guarantee"]["footing"]
    assert footing == ("conditional" if method == "asap" else "none")
    assert found["claims"][0]["sentence"].startswith("On " if method == "asap" else "Undecided: ")


def test_population_confidence_and_unlabelled_data(full):
    full.save("plain.npz", x=full.x[:150])
    for words in (("--scope", "population"), ("--measure", "confidence", "--threshold", "0.5")):
        done = full.run(*BLUR, *words, "--json", "--resolution", "0.02")
        assert done.returncode == 0, done.stderr
    done = full.run("curve", "model.onnx", "plain.npz", "--perturb", "blur:0..3",
                    "--resolution", "0.02")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "share of labels kept" in done.stdout


def test_killed_in_the_middle_it_goes_on_and_ends_the_same(full):
    words = (*FILES, "--perturb", "gaussian:0..0.6", "--batch", "8", "--json")
    plain = json.loads(full.run(*words, "--store", "plain.db").stdout)
    process = full.start(*words)
    wait_for_evidence(full, process, 200)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    again = json.loads(full.run(*words).stdout)
    assert again["details"] == plain["details"]
    assert again["claims"] == plain["claims"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--perturb", "blur:3..0"), "goes from a lower to a higher"),
        (("--perturb", "blur:-1..1"), "blur has no direction"),
        (("--perturb", "fogg:0..1"), "there is no perturbation 'fogg'"),
        (("--perturb", "rotation:0..400"), "in [0, 180] (degrees)"),
        (("--perturb", "blur:0..2", "--threshold", "80"), "got 80"),
        (("--perturb", "blur:0..2", "--threshold", "0"), "got 0"),
        (("--perturb", "blur:0..2", "--resolution", "0"), "got 0"),
        (("--perturb", "blur:0..2", "--scope", "world"), "got 'world'"),
        (("--perturb", "blur:0..2", "--method", "best"), "there is no method 'best'"),
        (("--perturb", "blur:0..2", "--levels", "9"), "use uniform or random or quad"),
        (("--perturb", "blur:0..2", "--method", "asap", "--scope", "population"), "--scope is not"),
        (("--perturb", "blur:0..2", "--method", "asap", "--resolution", "0.1"), "use sequential"),
        (("--perturb", "blur:0..2", "--method", "quad", "--confidence", "0.9"), "use sequential"),
        (("--perturb", "blur:0..2", "--perturb", "blur:0..2"), "given twice"),
        (("--perturb", "blur:0..2", "--figure", "no/f.svg"), "there is no folder"),
        (("--perturb", "blur:0..2", "--figure", "f.pdf"), ".svg, .png, .json"),
        (("--perturb", "blur:0..2", "--breaks", "5"), "got 5"),
        (("--perturb", "blur:0..2", "--curvature", "-1"), "got -1"),
        (("--perturb", "blur:0..2", "--require", "2"), "got 2"),
    ],
)
def test_bad_input_gets_one_sentence(full, words, said):
    done = full.run(*FILES, *words)
    assert done.returncode == 3
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
