"""Functions of one's own on the command line and in Python: levels, ranges, refusals, trust."""

import json
import os
import sys
from dataclasses import replace

import pytest
from typer.testing import CliRunner

import surefoot as sf
from surefoot.catalogue.parse import at_level, parse_perturbation, parse_range, written_level
from surefoot.cli.main import app
from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument
from surefoot.perturb import Batched, Chain, Mixture, OneByOne, RandomLevel
from surefoot.records.record import Source, named_code
from surefoot.study.read_store import read_study, study_of
from tests.refusals import raised, refused

CODE = '''
"""Perturbations of the tests."""
import surefoot as sf
from pathlib import Path
with Path("runs.txt").open("a") as file:
    file.write("run ")

def halve(x, rng, level):
    """Less light: values times 1 minus a random part of the level."""
    return x * (1 - level * rng.random())

def dim(x, u, level):
    return x * (1 - level * u)

def swap(text, rng, level):
    return "".join("#" if rng.random() < level else c for c in text)

def classify(texts):
    return [[t.count("#") - 0.5, 0.5 - t.count("#")] for t in texts]

ready = sf.perturb.custom(halve, 0.25)
between = sf.perturb.custom(halve, (0.1, 0.2))
NUMBER = 3
def odd(x, noise, level): return x
def few(x): return x
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(CODE)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "random.py").write_text(CODE)  # the name of a module of Python
    (tmp_path / "texts.jsonl").write_text('{"text": "abcd"}\n{"text": "ef"}\n')
    return tmp_path


def command(*words, code=0):
    done = CliRunner().invoke(app, words, standalone_mode=False)
    if code == 0:
        assert done.exception is None, done.exception
    return done


def test_a_function_of_a_file_takes_levels_and_ranges_like_a_built_in_one(folder):
    one = parse_perturbation("mine.py:halve:0.5")
    assert isinstance(one, OneByOne) and one.level == 0.5 and one.kind == "halve"
    assert isinstance(parse_perturbation("mine.py:dim:1/2"), Batched)
    drawn = parse_perturbation("mine.py:halve:0.2..0.8")
    assert isinstance(drawn, RandomLevel) and (drawn.level, drawn.lowest) == (0.8, 0.25)
    assert parse_perturbation("mine.py:ready").level == 0.25
    assert parse_perturbation("mine.py:ready:0.5").level == 0.5
    chain = parse_perturbation("linf:0.1+mine.py:halve:0.5+./mine.py:dim:1")
    assert isinstance(chain, Chain) and [p.kind for p in chain.parts] == ["linf", "halve", "dim"]
    assert isinstance(parse_perturbation("mine.py:dim:1|linf:1e+0"), Mixture)
    absolute = parse_perturbation(f"{folder}/sub/random.py:halve:0.5")
    assert absolute.function.__name__ == "halve"
    import random

    assert hasattr(random, "gauss")


def test_a_class_of_ones_own_takes_its_level(folder):
    (folder / "shapes.py").write_text(
        "from dataclasses import dataclass\n"
        "from tests.claims.parts import Shift\n"
        "@dataclass(frozen=True)\nclass Needy(Shift):\n    more: int = 0\n    less: str = ''\n"
    )
    assert parse_perturbation("shapes.py:Shift:0.5").level == 0.5
    assert parse_range("shapes.py:Needy:0..2")[1] == Interval(0, 2)


def test_a_range_of_a_curve_leaves_the_level_open(folder):
    for text, span in (
        ("mine.py:halve:0..1", Interval(0, 1)),
        ("mine.py:halve:0.5", Interval(0, 0.5)),
        ("mine.py:halve:0.1..0.5", Interval(0.1, 0.5)),
        ("mine.py:ready", Interval(0, 0.25)),
    ):
        perturbation, levels = parse_range(text)
        assert perturbation.level is None and levels == span


def test_levels_replace_the_level_of_a_function(folder):
    assert at_level("mine.py:halve", 0.5) == "mine.py:halve:0.5"
    assert at_level("mine.py:halve:0.1", 0.5) == "mine.py:halve:0.5"
    assert at_level("@mine:halve:0..1", 0.5) == "@mine:halve:0.0..0.5"
    assert written_level("mine.py:halve:0..1") == "0..1" and written_level("mine.py:halve") == ""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("mine.py:halve", "needs a level: write mine.py:halve:0.1"),
        ("mine.py:halve:", "needs a level"),
        ("mine.py:halve:x", "'x' is not a number"),
        ("mine.py:halve:-1", "level must be finite and ≥ 0"),
        ("mine.py:halve:1..0", "from its lowest to its highest"),
        ("mine.py:halve:-1..1", "from its lowest to its highest"),
        ("mine.py:halve:1,edge=2", "takes the level only, got 'edge=2'"),
        ("mine.py:none:1", "mine.py has no function none"),
        ("none.py:halve:1", "there is no file none.py"),
        ("mine.py:NUMBER:1", "is int, not a perturbation"),
        ("mine.py:odd:1", r"odd takes \(x, noise, level\): write it as function\(x, rng, level\)"),
        ("mine.py:few:1", r"few takes \(x\)"),
        ("mine.py:between:1", "has levels of its own"),
        ("broken.py:f:1", "its module raised ZeroDivisionError"),
    ],
)
def test_a_mistake_is_one_sentence_with_the_way_out(folder, text, says):
    (folder / "broken.py").write_text("1 / 0")
    refused(says, parse_perturbation, text)


def test_a_range_without_an_end_is_refused(folder):
    for text in ("mine.py:halve", "mine.py:halve:1..0", "mine.py:halve:0"):
        refused(r"0\.\.1", parse_range, text)


def test_a_file_runs_once_and_again_when_it_has_changed(folder):
    first = parse_perturbation("mine.py:halve:0.5")
    parse_perturbation("mine.py:halve:0.2")
    assert (folder / "runs.txt").read_text() == "run "
    (folder / "mine.py").write_text(CODE.replace("1 - level * rng", "1 - 0.5 * level * rng"))
    second = parse_perturbation("mine.py:halve:0.5")
    assert first.describe()["function"]["sha256"] != second.describe()["function"]["sha256"]


def test_in_python_a_function_takes_a_level_a_range_or_none():
    def halve(x, rng, level):
        return x / 2

    assert sf.perturb.custom(halve, level=0.5).level == 0.5
    assert sf.perturb.custom(halve).level is None
    assert sf.perturb.custom(halve, level=(0.2, 0.8)).lowest == 0.25
    assert sf.perturb.custom(level=0.5)(halve) == sf.perturb.custom(halve, 0.5)
    assert sf.perturb.custom((0, 0.5))(halve) == sf.perturb.custom(halve, (0, 0.5))
    assert isinstance(sf.perturb.custom(halve, 0.5, draws=2), Batched)
    for wrong in ((0.8, 0.2), (-1, 1), (1, 1)):
        refused("from a lower to a higher", sf.perturb.custom, halve, wrong)
    refused("takes no parameters that can be read", sf.perturb.custom, dict, 0.5)


@pytest.mark.parametrize(
    ("source", "code"),
    [
        (Source("model.onnx", "d", perturb="linf:0.1"), ()),
        (Source("a:b", "d", perturb="linf:0.1+fog:s3"), ("a:b",)),
        (Source("./x/y.py:b", "d"), ("./x/y.py:b",)),
        (Source("m.joblib", "d", {"trust": True}), ("m.joblib",)),
        (Source("m.onnx", "d", perturb="@a:b"), ("@a:b",)),
        (Source("m.onnx", "d", perturb="blur:1 + @a:b:1"), ("blur:1 + @a:b:1",)),
        (Source("m.onnx", "d", perturb="linf:1|a b/c.py:f:1"), ("linf:1|a b/c.py:f:1",)),
        (Source("m.onnx", "d", models=("m.onnx", "a:b")), ("a:b",)),
        (Source("m.onnx", "d", property="@a:b"), ("@a:b",)),
        (Source("m.onnx", "d", property="close:5%,of=true"), ()),
    ],
)
def test_what_a_record_names_as_code_is_known(source, code):
    assert named_code(source) == code


def test_a_stored_run_never_runs_code_without_trust(folder):
    """A store may come from someone else: replay does not run the files that it names."""
    words = ("estimate", "mine.py:classify", "texts.jsonl", "--each", "0.2", "--report", "r.html")
    command(*words, "--perturb", "mine.py:swap:0.3", "--store", "s.db")
    os.remove("runs.txt")
    (folder / "mine.py").write_text(CODE + "# changed, so that it would be run again\n")
    refused(r"names code to run .mine.py:classify, mine.py:swap", read_study, "s.db")
    assert not (folder / "runs.txt").exists()
    (folder / "mine.py").write_text(CODE)
    again = command("replay", "latest", "0", "1", "--store", "s.db", "--trust", "--json")
    answer = json.loads(again.stdout)
    assert set(answer) >= {"before", "after", "kept"} and answer["before"] == "“abcd”"
    shown = command("replay", "latest", "0", "1", "--store", "s.db", "--trust", "--save", "p.txt")
    assert f"after: “{(folder / 'p.txt').read_text()}”" in shown.stdout
    assert "--store s.db --trust" in (folder / "r.html").read_text()


def test_a_changed_function_is_another_study_and_no_replay(folder):
    words = ("estimate", "mine.py:classify", "texts.jsonl", "--each", "0.2", "--store", "s.db")
    command(*words, "--perturb", "mine.py:swap:0.3")
    (folder / "mine.py").write_text(CODE.replace('"#" if', '"##" if'))
    raised(sf.errors.StoreFailed, "digests differ", read_study, "s.db", trust=True)


def test_a_store_that_was_tampered_with_runs_no_code(folder, monkeypatch):
    words = ("estimate", "mine.py:classify", "texts.jsonl", "--each", "0.2")
    command(*words, "--perturb", "mine.py:swap:0.3", "--store", "s.db")
    os.remove("runs.txt")
    monkeypatch.delitem(sys.modules, "mine")  # an import would run it again
    record = sf.read_result("s.db").record
    harmless = replace(record.source, model="m.onnx", models=(), perturb="linf:0.1")
    for change in (
        {"property": "@mine:classify"},
        {"perturb": " @mine:swap:0.3"},
        {"model": "mine:classify"},
        {"model": "mine:classify\n"},
    ):
        tampered = replace(record, source=replace(harmless, **change))
        with pytest.raises(InvalidArgument):  # quotes the name as it is
            study_of(tampered)
        assert not (folder / "runs.txt").exists()
