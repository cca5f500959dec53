"""`surefoot curve` as a user meets it."""

import json
import shutil
import signal

import pytest

from tests.system.test_interruption import wait_for_evidence

FILES = ("curve", "model.onnx", "more.npz")
BLUR = (*FILES, "--alteration", "blur:0..3")


@pytest.fixture
def full(desk):
    desk.save("more.npz", x=desk.x[:200], y=desk.y[:200])
    return desk


def test_a_curve_says_up_to_which_level_and_how_sure(full):
    done = full.run(*BLUR, "--threshold", "0.8,0.6", "--report", "c.html", "--figure", "c.svg")
    assert done.returncode == 0, done.stderr
    assert "is at 80 % or more up to level" in done.stdout
    assert "is at 60 % or more up to level" in done.stdout
    assert "if the curve goes one way" in done.stdout
    page = (full.folder / "c.html").read_text()
    assert 'id="strips"' in page
    assert "surefoot curve model.onnx more.npz" in page
    assert (full.folder / "c.svg").read_text().startswith("<svg")
    again = full.run(*BLUR, "--threshold", "0.8,0.6")
    assert again.stdout == done.stdout
    assert "was finished before" in again.stderr
    assert full.run("show").stdout == done.stdout
    assert full.run("report", "--out", "d.html").returncode == 0
    refused = full.run("replay", "", "0", "0")
    assert refused.returncode == 3
    assert "is a curve" in refused.stderr


def test_several_alterations_models_and_classes_in_one_call(full):
    shutil.copy(full.folder / "model.onnx", full.folder / "twin.onnx")
    done = full.run("curve", "model.onnx", "twin.onnx", "more.npz", "--alteration", "blur:0..3",
                    "--alteration", "rotation:-40..40", "--by-class", "--report", "c.html",
                    "--json", "--precision", "0.01")  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)["curves"]
    assert set(told) == {f"{m}.onnx, {a}" for m in ("model", "twin")
                         for a in ("blur:0..3", "rotation:-40..40")}  # fmt: skip
    one, two = told["model.onnx, blur:0..3"], told["twin.onnx, blur:0..3"]
    assert one["curve"] == two["curve"]  # the same network meets the same noise
    assert len(one["classes"]) == 10
    page = (full.folder / "c.html").read_text()
    assert page.count("<svg") == 6  # one an alteration, one of classes each


@pytest.mark.parametrize(("least", "code"), [("0.1", 0), ("0.9", 1)])
def test_a_requirement_decides_the_exit_code(full, least, code):
    done = full.run(*BLUR, "--require", least, "--precision", "0.01")
    assert done.returncode == code, done.stderr
    assert ("PASS" if code == 0 else "FAIL") in done.stdout


@pytest.mark.parametrize("method", ["asap", "uniform", "random", "quad"])
def test_the_paper_and_what_it_was_compared_with(full, method):
    more = () if method == "asap" else ("--levels", "23")
    done = full.run(*BLUR, "--method", method, *more, "--first", "60", "--json")
    assert done.returncode == 0, done.stderr
    (record,) = json.loads(done.stdout)["curves"].values()
    footing = record["curve"]["readings"][0]["guarantee"]["footing"]
    assert footing == ("conditional" if method == "asap" else "none")


def test_population_confidence_and_unlabelled_data(full):
    full.save("plain.npz", x=full.x[:150])
    for words in (("--of", "population"), ("--measure", "confidence", "--threshold", "0.5")):
        done = full.run(*BLUR, *words, "--json", "--precision", "0.02")
        assert done.returncode == 0, done.stderr
    done = full.run("curve", "model.onnx", "plain.npz", "--alteration", "blur:0..3",
                    "--precision", "0.02")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "share of labels kept" in done.stdout


def test_killed_in_the_middle_it_goes_on_and_ends_the_same(full):
    words = (*FILES, "--alteration", "gaussian:0..0.6", "--batch", "8", "--json")
    plain = json.loads(full.run(*words, "--store", "plain.db").stdout)
    process = full.start(*words)
    wait_for_evidence(full, process, 200)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    again = json.loads(full.run(*words).stdout)
    assert again["curves"][""]["curve"] == plain["curves"][""]["curve"]
    assert again["curves"][""]["strip"] == plain["curves"][""]["strip"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--alteration", "blur:3..0"), "goes from a lower to a higher"),
        (("--alteration", "blur:-1..1"), "blur has no direction"),
        (("--alteration", "fogg:0..1"), "there is no perturbation 'fogg'"),
        (("--alteration", "rotation:0..400"), "at most 180 degrees"),
        (("--alteration", "blur:0..2", "--threshold", "80"), "got 80"),
        (("--alteration", "blur:0..2", "--threshold", "0"), "got 0"),
        (("--alteration", "blur:0..2", "--precision", "0"), "got 0"),
        (("--alteration", "blur:0..2", "--of", "world"), "got 'world'"),
        (("--alteration", "blur:0..2", "--method", "best"), "there is no method 'best'"),
        (("--alteration", "blur:0..2", "--levels", "9"), "chooses its levels itself"),
        (("--alteration", "blur:0..2", "--method", "asap", "--of", "population"), "--of is not"),
        (("--alteration", "blur:0..2", "--alteration", "blur:0..2"), "given twice"),
        (("--alteration", "blur:0..2", "--figure", "no/f.svg"), "there is no folder"),
        (("--alteration", "blur:0..2", "--figure", "f.pdf"), ".svg, .png, .json"),
        (("--alteration", "blur:0..2", "--breaks", "5"), "got 5"),
        (("--alteration", "blur:0..2", "--curvature", "-1"), "got -1"),
        (("--alteration", "blur:0..2", "--require", "2"), "got 2"),
    ],
)
def test_bad_input_gets_one_sentence(full, words, said):
    done = full.run(*FILES, *words)
    assert done.returncode == 3
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
