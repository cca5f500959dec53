"""Functions of one's own as perturbations, in Python and on the command line."""

import functools
import json
import os
import sys
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import surefoot as sf
from surefoot.catalogue.parse import at_level, parse_perturbation, parse_range, written_level
from surefoot.core.results import Interval
from surefoot.engine.streams import stream
from surefoot.errors import InvalidArgument
from surefoot.perturb import Batched, Chain, InputFormat, Mixture, OneByOne, RandomLevel, custom
from surefoot.records.record import Source, named_code
from surefoot.study.read_store import read_study, study_of
from surefoot.subject.protocols import View
from surefoot.system.user_code import describe_function
from surefoot.testing import check_image_perturbation, check_perturbation
from tests.refusals import raised, refused
from tests.shell import done_in_shell

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
def folder(cwd, monkeypatch):
    monkeypatch.delitem(sys.modules, "mine", raising=False)  # another test's module of that name
    (cwd / "mine.py").write_text(CODE)
    (cwd / "sub").mkdir()
    (cwd / "sub" / "random.py").write_text(CODE)  # the name of a module of Python
    (cwd / "texts.jsonl").write_text('{"text": "abcd"}\n{"text": "ef"}\n')
    return cwd


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
    done_in_shell(*words, "--perturb", "mine.py:swap:0.3", "--store", "s.db")
    os.remove("runs.txt")
    (folder / "mine.py").write_text(CODE + "# changed, so that it would be run again\n")
    refused(r"names code to run .mine.py:classify, mine.py:swap", read_study, "s.db")
    assert not (folder / "runs.txt").exists()
    (folder / "mine.py").write_text(CODE)
    again = done_in_shell("replay", "latest", "0", "1", "--store", "s.db", "--trust", "--json")
    answer = json.loads(again.stdout)
    assert set(answer) >= {"before", "after", "kept"} and answer["before"] == "“abcd”"
    shown = done_in_shell(
        "replay", "latest", "0", "1", "--store", "s.db", "--trust", "--save", "p.txt"
    )
    assert f"after: “{(folder / 'p.txt').read_text()}”" in shown.stdout
    assert "--store s.db --trust" in (folder / "r.html").read_text()


def test_a_changed_function_is_another_study_and_no_replay(folder):
    words = ("estimate", "mine.py:classify", "texts.jsonl", "--each", "0.2", "--store", "s.db")
    done_in_shell(*words, "--perturb", "mine.py:swap:0.3")
    (folder / "mine.py").write_text(CODE.replace('"#" if', '"##" if'))
    raised(sf.errors.StoreFailed, "digests differ", read_study, "s.db", trust=True)


def test_a_store_that_was_tampered_with_runs_no_code(folder, monkeypatch):
    words = ("estimate", "mine.py:classify", "texts.jsonl", "--each", "0.2")
    done_in_shell(*words, "--perturb", "mine.py:swap:0.3", "--store", "s.db")
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


UNIT = Interval(0, 1)


def brighter(x, u, level):
    return x + level * u


def speckled(image, rng, level):
    return image + level * rng.standard_normal(image.shape).astype(np.float32)


def drawn_for(made, x, n, shape):
    return made.draw(stream(5, "s", made.kind, 0, x), n, shape)


@pytest.mark.parametrize("draws", [0, 2, (2, 3)])
def test_a_function_of_ones_own_conforms(draws):
    def shaded(x, u, level):
        first = u.reshape(len(u), -1)[:, :1].reshape(-1, *(1 for _ in x.shape[1:]))
        return x * (1 - level * first)

    check_perturbation(Batched(0.4, shaded, "shaded", draws), (6,))
    check_image_perturbation(Batched(0.4, shaded, "shaded", draws, View.IMAGE))


def test_one_line_is_enough():
    made = custom(0.1)(lambda x, u, level: x + level * (u - 0.5))
    check_perturbation(made, (3, 8, 8))
    assert made.kind == "custom" and made.level == 0.1

    @custom(0.3, draws=1, view=View.SERIES)
    def slow_drift(x, u, level):
        return x + level * (u - 0.5)

    assert slow_drift.kind == "slow-drift" and slow_drift.view is View.SERIES
    check_perturbation(slow_drift, (2, 30))


def test_the_same_function_serves_numpy_and_torch(torch):
    made, x = (
        Batched(0.3, brighter, "brighter"),
        np.random.default_rng(0).random((4, 5), np.float32),
    )
    tensor = torch.from_numpy(x)
    ours = made.apply(x, drawn_for(made, x, 4, (5,)), 0.3, UNIT)
    theirs = made.apply(tensor, drawn_for(made, tensor, 4, (5,)), 0.3, UNIT)
    assert theirs.dtype == torch.float32
    np.testing.assert_allclose(theirs.numpy(), ours, atol=1e-7)


def test_the_function_gets_the_draws_the_rows_and_the_level_as_stated():
    seen = {}

    def spy(x, u, level):
        seen.update(x=x.shape, u=u.shape, level=level)
        x += 1
        return x

    x = np.zeros((1, 4), dtype=np.float32)
    made = Batched(0.5, spy, "spy", draws=3)
    assert (made.apply(x, drawn_for(made, x, 7, (4,)), 0.5, None) == 1).all()
    assert seen == {"x": (7, 4), "u": (7, 3), "level": 0.5}
    assert not x.any()


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda x, u, level: x[..., :2], r"must return shape \(.*4,?\), got shape \(.*2,?\)"),
        (lambda x, u, level: None, "got NoneType"),
        (lambda x, u, level: x * np.inf, "returned NaN or infinite values at level 0.5"),
    ],
)
def test_a_function_that_gives_something_else_is_refused(function, says):
    x = np.ones((3, 4), dtype=np.float32)
    for made in (Batched(0.5, function, "f"), OneByOne(0.5, function, "f", View.VALUES)):
        refused(says, made.apply, x, x[:, :2] / 2, 0.5, UNIT)


def test_a_function_must_not_write_into_the_draws():
    def careless(x, u, level):
        u *= level
        return x + u

    x = np.zeros((2, 3), dtype=np.float32)
    with pytest.raises(ValueError, match="read-only"):
        Batched(0.5, careless, "careless").apply(x, x.copy(), 0.5, None)


def test_one_by_one_conforms_and_says_that_it_is_slow():
    made = OneByOne(0.2, speckled, "speckled")
    check_image_perturbation(made)
    check_perturbation(OneByOne(0.2, speckled, "speckled", View.VALUES), (7,))
    assert "CPU, one image at a time" in made.phrase


@pytest.mark.parametrize("input_format", list(InputFormat))
@pytest.mark.parametrize("bounds", [UNIT, Interval(-1, 1), Interval(0, 255)])
def test_a_function_sees_the_values_it_asked_for_and_the_model_gets_its_own_back(
    input_format, bounds
):
    kinds = []

    def same(image, rng, level):
        kinds.append(image.mode if isinstance(image, Image.Image) else (image.dtype, image.max()))
        return image

    made = OneByOne(1.0, same, "same", input_format=input_format)
    unit = np.round(np.random.default_rng(0).random((2, 3, 5, 4)) * 255) / 255
    unit[0, 0, 0, 0] = 1.0
    x = (unit * bounds.width + bounds.low).astype(np.float32)
    out = made.apply(x, drawn_for(made, x, 2, x.shape[1:]), 1.0, bounds)
    np.testing.assert_allclose(out, x, atol=1e-6 * bounds.width)
    top = {InputFormat.MODEL: bounds.high, InputFormat.UNIT: 1.0, InputFormat.BYTES: 255}.get(
        input_format
    )
    dtype = np.uint8 if input_format is InputFormat.BYTES else np.float32
    assert kinds[0] == ("RGB" if input_format is InputFormat.PILLOW else (dtype, top))


def adding(amount):
    def added(x, u, level):
        return x + amount * level

    return added


def test_a_function_is_described_by_its_name_its_source_and_what_it_holds():
    told = Batched(0.1, brighter, "brighter", (2, 3)).describe()
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert told["function"]["name"].endswith(":brighter")
    assert len(told["function"]["sha256"]) == 64
    digests = {
        json.dumps(Batched(0.1, function, "f").describe())
        for function in (brighter, adding(1), adding(2), functools.partial(brighter, u=0))
    }
    assert len(digests) == 4
    assert Batched(0.1, adding(1), "f").describe() == Batched(0.1, adding(1), "f").describe()
    first, other = (
        Batched(0.1, eval(f"lambda x, u, level: x + {c}"), "f").describe() for c in (1, 2)
    )
    assert first != other  # also where there is no source to read


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Batched(-1.0, brighter, "f"), "level must be finite and ≥ 0, got -1"),
        (lambda: Batched(0.1, 3, "f"), "must be callable, got 3"),
        (lambda: Batched(0.1, brighter, ""), "must be a word, got ''"),
        (lambda: Batched(0.1, brighter, "f", draws=-1), "got -1"),
        (lambda: Batched(0.1, brighter, "f", draws=(2, 0)), r"got \(2, 0\)"),
        (lambda: Batched(0.1, brighter, "f", view="image"), "View.IMAGE.*got 'image'"),
        (lambda: OneByOne(0.1, speckled, "f", View.VALUES, InputFormat.PILLOW), "got View.VALUES"),
    ],
)
def test_what_means_nothing_is_refused_with_its_value(make, says):
    refused(says, make)


def scaled(by):
    return lambda u: by * u


def with_a_helper(by):
    helper = scaled(by)
    return lambda x, u, level: x + level * helper(u)


FACTOR = 1.0


def reads_a_global(x, u, level):
    return x + FACTOR * level * u


def test_what_a_function_does_is_in_its_description(monkeypatch):
    """Else a store would give the result of another one back."""
    up, down = (lambda x, u, level: x + level * u), (lambda x, u, level: x - level * u)
    assert describe_function(up) != describe_function(down)
    assert describe_function(with_a_helper(0.0)) != describe_function(with_a_helper(1.0))
    assert describe_function(with_a_helper(1.0)) == describe_function(with_a_helper(1.0))
    before = describe_function(reads_a_global)
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    assert describe_function(reads_a_global) != before
