"""A file of studies is read strictly, and its requirements share one error."""

import os
import shlex
from fractions import Fraction
from pathlib import Path

import pytest

import surefoot as sf
from surefoot.commands.run import GateOptions
from surefoot.commands.values import error_from
from surefoot.errors import EvidenceFailed, InvalidArgument
from surefoot.gate import GateStudy, Regression, read_gate
from surefoot.gate.read_gate import (
    COMMANDS,
    OF_CLEAN,
    comparison_error,
    confidence_for,
    is_requirement,
    shell_command,
    with_shares,
)
from tests.refusals import raised, refused

STUDY = """
[[study]]
name = "noise"
command = "estimate"
model = "model.onnx"
data = "test.npz"
perturb = "linf:8/255"
require = 0.9
"""


@pytest.fixture
def write(cwd):
    """A study file in a folder of its own, beside the files that it names."""
    folder = cwd / "gate"
    folder.mkdir()
    for name in ("model.onnx", "old.onnx", "test.npz", "noise.evidence.json", "mine.py"):
        (folder / name).touch()

    def written(text):
        (folder / "study.toml").write_text(text)
        return "gate/study.toml"

    return written


def spent(studies):
    """What all verdicts may spend: of the commands as they read their confidence, exactly."""
    total = Fraction(0)
    for study in studies:
        if study.requirements:
            confidence = confidence_for(study) or study.options["confidence"]
            total += study.parts * Fraction(error_from(confidence))
        if study.regression is not None:
            total += Fraction(study.share)
    return total


def test_a_number_that_python_would_not_print_is_refused(write):
    for line in ("error = 0x", "[[study]]\nseed = 0x", "[[study]]\nlevels = [1, 0x"):
        end = "]" if "[1" in line else ""
        with pytest.raises(InvalidArgument, match="more than 1024 bits: write a shorter one"):
            read_gate(write(f"{line}{'f' * 5_000}{end}\n"))


@pytest.mark.parametrize("error", [0.05, 0.01, 0.3, 1e-6])
@pytest.mark.parametrize("number", [1, 3, 7, 20, 41])
def test_the_shares_of_all_requirements_never_exceed_the_error_of_the_file(error, number):
    """So the probability that any verdict is wrong does not either (union bound)."""
    studies = [
        GateStudy(
            f"s{i}",
            ("estimate", "curve")[i % 2],
            {"confidence": 1 - error / 100} if i % 5 == 4 else {},
            requirements=1 if i % 2 else 1 + i % 3,
            regression=Regression(0.01, "old.onnx") if i % 4 == 0 else None,
            parts=1 + (i % 2) * (i % 3),
        )
        for i in range(number)
    ]
    shared = with_shares(studies, error)
    assert spent(shared) <= Fraction(error) * (1 + Fraction(1, 10**12))
    assert spent(shared) >= Fraction(error) * Fraction(99, 100)
    assert len({s.share for s in shared}) == 1
    own = [s for s in shared if "confidence" not in s.options]
    assert all(s.error == s.requirements * s.share for s in own)


def test_two_curves_that_are_compared_divide_what_their_comparison_may_spend():
    def curve(**options):
        return GateStudy("c", "curve", options, 1, Regression(0.01, "old.onnx"), parts=2)

    (shared,) = with_shares([curve()], 0.04)
    each = error_from(confidence_for(shared))
    assert (each, comparison_error(shared)) == (pytest.approx(0.01), 0.02)
    own, other = with_shares([curve(confidence=0.99), GateStudy("t", "tail", {}, 1)], 0.04)
    assert (comparison_error(own), other.share) == (pytest.approx(0.02), pytest.approx(0.02))


def test_an_error_that_does_not_suffice_is_refused():
    greedy = GateStudy("s", "estimate", {"confidence": 0.9}, requirements=1)
    refused(r"spend 0\.1, more than the error of the file, 0\.05", with_shares, [greedy], 0.05)
    with pytest.raises(InvalidArgument, match=r"leaves 0 for each of 1 requirements"):
        with_shares([greedy, GateStudy("t", "estimate", {}, requirements=1)], 0.1)


def test_every_option_that_requires_something_is_counted():
    """A new one that is named otherwise would spend error that nobody counts."""
    for name, command in COMMANDS.items():
        options = [p for p in command.parameters.values() if p.option is not None]
        words = [p.name for p in options if p.option.text.startswith("Require")]
        assert words, name
        assert all(is_requirement(word) for word in words if word not in OF_CLEAN), name


def test_paths_are_relative_to_the_file_and_defaults_are_for_all(write):
    text = STUDY.replace('model = "model.onnx"\n', "")
    more = STUDY.replace("noise", "mine").replace("linf:8/255", "blur:1+mine.py:halve:0.5")
    gate = read_gate(
        write('error = 0.02\n[defaults]\nmodel = "model.onnx"\nseed = 3\nkappa = 0.1' + text + more
              + STUDY.replace("noise", "rare").replace('"estimate"', '"certify"'))
    )  # fmt: skip
    noise, mine, rare = gate.studies
    assert noise.options["model"] == "gate/model.onnx"
    assert noise.store == "gate/surefoot.db"
    assert mine.options["perturb"] == "blur:1+gate/mine.py:halve:0.5"
    assert {s.options["seed"] for s in gate.studies} == {3}
    assert "kappa" not in noise.options
    assert rare.options["kappa"] == 0.1
    assert "share an error of 0.02 (each 0.00667)" in gate.budget


BAD = {
    "sted = 1": "has no option sted: do you mean std or seed",
    'perturbation = "linf:1"': "has no option perturbation: do you mean perturb",
    "kappa = 0.1": r"study noise \(estimate\) has no option kappa",
    "seed = 1.5": "seed = 1.5 is of another kind",
    "seed = -1": "study noise: seed must be an integer ≥ 0",
    "report = 3": "report = 3 is of another kind than report takes: Write the HTML report",
    "trust = 1": "trust = 1 is of another kind than trust takes: it is true or false",
    "first = 2026-01-01": "first = datetime.date",
    "require-each = 0.9\nrequire_each = 0.8": "has require_each twice, with - and with _",
    'not-worse-than = "no.json"': "there is no gate/no.json for not-worse-than",
    "previous-model = 3": "previous-model must be a path in quotes",
    'previous-model = "old.onnx"\nnot-worse-than = "noise.evidence.json"': "has both",
    'previous-model = "old.onnx"\nprecision = 0.1': "precision leaves no results",
    'previous-model = "old.onnx"\nprecision = 0.1\nabout = "population"': (
        r"write each = 0\.1 in place of precision and about, or compare"
    ),
    'previous-model = "old.onnx"\nmargin = 5': r"margin \(--margin\) must be between",
    "margin = 0.1": "margin is for a comparison with an earlier model",
    "confidence = 0.9": "more than the error of the file",
}


@pytest.mark.parametrize("line", BAD)
def test_what_a_study_cannot_mean_is_refused(write, line):
    refused(BAD[line], read_gate, write(STUDY + line))


BAD_FILES = {
    "": "has no study",
    "study = 3": "has no study",
    "[[study]": "cannot be read as TOML",
    "\udce4": "cannot be read as TOML",
    "errors = 0.1" + STUDY: "has no option errors: do you mean error",
    "error = 1" + STUDY: "error must lie between 0 and 1, got 1",
    "error = true" + STUDY: "error must lie between 0 and 1, got True",
    "[defaults]\nrequire = 0.9" + STUDY: "require belongs to one study",
    "[defaults]\nkappa = 0.9" + STUDY: "has no option kappa",
    "defaults = 3" + STUDY: "must be a table of options",
    STUDY.replace('"noise"', '"../x"'): "needs a name",
    STUDY.replace('"noise"', "3"): "needs a name",
    STUDY.replace('"noise"', f'"{"x" * 300}"'): "at most 100 bytes",
    STUDY.replace('"estimate"', "[]"): "needs a command",
    STUDY + 'store = "a\\u0000b"': "has a zero character",
    STUDY + STUDY.replace("noise", "NOISE"): "two studies are called NOISE",
    STUDY.replace('"estimate"', '"doctor"'): "got 'doctor': choose one of estimate, certify",
    STUDY.replace('"estimate"', '"curv"'): "got 'curv': do you mean curve?",
    STUDY.replace('"model.onnx"', '["model.onnx"]'): "model of estimate must be text in quotes",
    STUDY.replace("model.onnx", "modell.onnx"): "there is no gate/modell.onnx for model",
    STUDY.replace('data = "test.npz"', ""): "study noise has no data",
}


@pytest.mark.parametrize("text", BAD_FILES)
def test_a_file_that_is_no_study_file_is_refused(write, text):
    path = write("")
    with open(path, "wb") as file:
        file.write(text.encode("utf-8", "surrogateescape"))
    refused(BAD_FILES[text], read_gate, path)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    refused("is no plain file", read_gate, tmp_path / "pipe.json")
    raised(EvidenceFailed, "is no plain file", sf.check_evidence, tmp_path / "pipe.json")


def test_a_comparison_may_be_stated_beside_the_file(write):
    two = write(STUDY + STUDY.replace("noise", "other"))
    by_name = read_gate(
        two, GateOptions(not_worse_than=["gate/noise.evidence.json"], margin="0.02")
    )
    evidence = by_name.studies[0].regression
    assert (evidence.evidence, evidence.margin) == ("gate/noise.evidence.json", 0.02)
    assert by_name.studies[1].regression is None
    both = read_gate(two, GateOptions(previous_model=["gate/old.onnx"]))
    assert [s.regression.model for s in both.studies] == ["gate/old.onnx"] * 2
    assert both.requirements == 4
    default = write('[defaults]\nprevious-model = "old.onnx"' + STUDY)
    (inherited,) = read_gate(default, GateOptions(margin=0)).studies
    assert inherited.regression.margin == 0
    two = write(STUDY + STUDY.replace("noise", "other"))
    with pytest.raises(InvalidArgument, match=r"names none of the studies .* write NAME=gate/test"):
        read_gate(two, GateOptions(not_worse_than=["gate/test.npz"]))
    for path in ("gate/noise.evidence.jsn", "nois=gate/noise.evidence.json"):
        with pytest.raises(InvalidArgument, match=r"jso?n: there is no such file: .*noise, other"):
            read_gate(two, GateOptions(not_worse_than=[path]))
    with pytest.raises(InvalidArgument, match="gate has no evidence of other: name the files"):
        read_gate(two, GateOptions(not_worse_than=["gate"]))
    Path("gate/other.evidence.json").touch()
    of_folder = read_gate(two, GateOptions(not_worse_than=["gate"])).studies
    assert [s.regression.evidence for s in of_folder] == [
        "gate/noise.evidence.json", "gate/other.evidence.json",
    ]  # fmt: skip
    one, other = read_gate(two, GateOptions(not_worse_than=["noise=gate"])).studies
    assert (one.regression.evidence, other.regression) == ("gate/noise.evidence.json", None)
    refused(r"margin \(--margin\) 0.1 is for a comparison", read_gate, two, GateOptions(margin=0.1))


def test_the_command_of_a_study_says_how_files_were_read_and_can_be_typed():
    values = {
        "model": "my model.joblib", "data": "t.csv", "perturb": "linf:8/255", "labels": "state",
        "trust": True, "half": False, "mean": [-1, 0.5], "size": [4, 5], "seed": 1,
        "confidence": 0.9875, "store": "postgresql://ann:secret@db.example.org/x",
    }  # fmt: skip
    line = shell_command(COMMANDS["estimate"], values)
    assert shlex.split(line)[:4] == ["surefoot", "estimate", "my model.joblib", "t.csv"]
    assert "--perturb linf:8/255" in line
    for words in ("--labels state", "--trust", "--mean=-1,0.5", "--size 4x5", "--confidence 0.98"):
        assert words in line
    assert "secret" not in line and "--half" not in line and "--seed" not in line


def test_the_page_prints_the_example_file():
    root = Path(__file__).parents[2]
    page = (root / "docs" / "how-to" / "use-in-ci.md").read_text()
    assert f"```toml\n{(root / 'examples' / 'study.toml').read_text()}```" in page
