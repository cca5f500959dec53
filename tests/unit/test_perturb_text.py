"""Perturbations of texts: the stated share, whole characters, levels that nest, what is refused."""

import json
import unicodedata
from dataclasses import replace
from math import sqrt

import numpy as np
import pytest

import surefoot as sf
from surefoot.catalogue.parse import parse_perturbation, parse_range
from surefoot.catalogue.registry import describe_perturbation, perturbation_of
from surefoot.core.tasks import Task
from surefoot.engine.outputs import CheckStatus
from surefoot.engine.perturbation_checks import examine_perturbation
from surefoot.engine.streams import stream
from surefoot.errors import InvalidArgument
from surefoot.perturb import TEXTS
from surefoot.perturb.text import characters, words
from surefoot.subject.items import as_item_array, item_change, parts_that_differ
from tests.refusals import refused

FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
WAVE, FLAG = "\U0001f44b\U0001f3fd", "\U0001f1e9\U0001f1ea"
MARKED = f"Größe cafe\u0301 {FAMILY}{WAVE}{FLAG}\r\nend"
TEXT = f"A really good film, with 10 clever modern twists! {MARKED}"
ALL = pytest.mark.parametrize("kind", TEXTS, ids=lambda kind: kind.kind)


def samples(perturbation, text=TEXT, n=200, level=None):
    x = as_item_array([text])
    drawn = perturbation.draw(stream(1, "s", perturbation.kind, 0, x), n, ())
    return list(perturbation.apply(x, drawn, level or perturbation.level, None))


def test_characters_are_those_of_a_reader():
    text = f"e\u0301{FAMILY}{WAVE}{FLAG}{FLAG}\r\n\ud83d\ude00a"
    expected = ["e\u0301", FAMILY, WAVE, FLAG, FLAG, "\r\n", "\ud83d\ude00", "a"]
    assert characters(text) == expected
    assert words("  a good\tfilm\n") == ["  ", "a ", "good\t", "film\n"]


@ALL
def test_no_sample_splits_a_character(kind):
    """Every mark, joiner and half of a flag stays behind what it belongs to."""
    for text in samples(kind(0.5)):
        left = characters(text)
        assert not any(unicodedata.category(c[0]).startswith("M") for c in left)
        whole = {FAMILY, WAVE, FLAG, "\r\n", "e\u0301", "E\u0301"}
        assert {c for c in left if len(c) > 1} <= whole
        text.encode()


def differing(before, after):
    return sum(a != b for a, b in zip(before, after, strict=True))


def fewer_words(before, after):
    return abs(len(before.split()) - len(after.split()))


CHANGES = {
    "typos": differing,
    "case": differing,
    "homoglyphs": differing,
    "swaps": lambda before, after: differing(before, after) / 2,
    "deletions": lambda before, after: len(before) - len(after),
    "insertions": lambda before, after: len(after) - len(before),
    "punctuation": lambda before, after: differing(before.split(), after.split()),
    "word-drop": fewer_words,
    "word-repeat": fewer_words,
}
"""How many pieces changed; of `spaces` and `ocr` a reader cannot count them."""


@pytest.mark.parametrize("kind", [k for k in TEXTS if k.kind in CHANGES], ids=lambda k: k.kind)
def test_the_stated_share_of_what_can_change_changes_on_average(kind):
    """Within five standard deviations of independent pieces, seeded."""
    perturbation, level, rounds = kind(0.3), 0.3, 40
    text = "The clever modern film, with 10 twists. " * 10 + "end"
    ways = range(perturbation.ways_to_cut)
    sizes = [sum(map(bool, map(perturbation.becomes, perturbation.cut(text, w)))) for w in ways]
    total = rounds * np.mean(sizes)
    changed = sum(
        CHANGES[perturbation.kind](text, out) for out in samples(perturbation, text, rounds)
    )
    # the two ways to pair characters have different numbers of pairs
    spread = sqrt(level * (1 - level) * total) + rounds * level * np.std(sizes) / sqrt(rounds)
    assert abs(changed - level * total) < 5 * spread


@ALL
def test_pieces_are_the_text_and_level_0_is_it_too(kind):
    perturbation = kind(0.4)
    for way in range(perturbation.ways_to_cut):
        assert "".join(perturbation.cut(TEXT, way)) == TEXT
    x = as_item_array([TEXT, "ok go"])
    drawn = perturbation.draw(stream(1, "s", perturbation.kind, 0, x), 2, ())
    assert list(perturbation.apply(x, drawn, 0.0, None)) == list(x)
    mixed = perturbation.apply(x, drawn, np.array([0.0, 1.0], np.float32), None)
    assert mixed[0] == TEXT
    assert mixed[1] != "ok go"


@pytest.mark.parametrize("kind", ["typos", "case", "homoglyphs"])
def test_what_changes_at_one_level_changes_to_the_same_at_every_higher_one(kind):
    perturbation = parse_perturbation(f"{kind}:1")
    weak, strong = (samples(perturbation, level=level) for level in (0.2, 0.6))
    for low, high in zip(weak, strong, strict=True):
        assert all(b == c for a, b, c in zip(TEXT, low, high, strict=True) if a != b)
    assert weak != strong


@pytest.mark.parametrize(("kind", "left"), [("deletions", 1), ("word-drop", 1)])
def test_a_text_never_gets_empty(kind, left):
    for text in samples(parse_perturbation(f"{kind}:1"), "one two three", 20):
        assert len(text.strip()) == left if kind == "deletions" else len(text.split()) == left


def test_keyboards_spaces_and_scans():
    assert set(samples(sf.perturb.Typos(1.0), "S")) == set("AWEDXZ")
    assert set(samples(sf.perturb.Typos(1.0, keyboard="qwertz"), "\u00f6")) == set("lp\u00fc\u00e4")
    assert set(samples(sf.perturb.Spaces(1.0), "ab c")) == {"abc", "ab  c", "a b c"}
    assert set(samples(sf.perturb.OCR(1.0), "rn")) == {"m"}
    assert set(samples(sf.perturb.Swaps(1.0), "abcd")) == {"badc", "acbd"}
    assert set(samples(sf.perturb.Punctuation(1.0), "a, b")) == {f"a b{c}" for c in ".,;:!?"}


@ALL
def test_names_records_and_ranges_give_the_same_perturbation(kind):
    made = kind(0.05)
    assert parse_perturbation(f"{kind.kind}:0.05") == made
    assert parse_range(kind.kind)[1].high == 1
    again = json.loads(json.dumps(describe_perturbation(made)))
    assert perturbation_of(again.pop("kind"), again) == made


def classify(texts):
    good = np.array([str(text).count("good") - 0.5 for text in texts])
    return np.stack([-good, good], axis=1)


def study(texts, perturbation, method=None):
    inputs = sf.load_inputs(texts, [0] * len(texts), class_names=["no", "yes"])
    model = sf.load_model(classify, examples=inputs)
    return sf.Study(model, inputs, perturbation, method or sf.methods.Okamoto(0.2, 0.2))


def test_a_trial_is_the_same_in_any_batch_and_order():
    perturbation = parse_perturbation("typos:0..0.2|word-drop:0.3+swaps:0.2")
    setup = study(["a good film", "not so good", "bad"], perturbation)
    bench, subject = setup.bench(), setup.fitted.subjects()[1]
    together = bench.perturbed(Task(subject, 1.0, 0, 1500))
    for i in (1499, 7, 1024):
        assert bench.perturbed(Task(subject, 1.0, i, i + 1))[0] == together[i]
    assert setup.run(batch=7).by_id == setup.run(batch=900).by_id


@pytest.mark.parametrize(
    ("data", "perturbation", "said"),
    [
        (["a good film", ""], "typos:0.1", "input 1 is empty"),
        (["a good film", " \t"], "word-drop:0.1", "input 1 is only spaces"),
        (["\u4f60\u597d", "\u597d"], "typos:0.1", "typos can change none of the 2 texts"),
        (["one", "two"], "word-drop:0.1", "word-drop can change none of the 2 texts"),
        ([b"one", b"two"], "typos:0.1", "typos is for texts, but .* holds bytes"),
        (["one", b"two"], "typos:0.1", "typos is for texts, but .* holds bytes"),
        (["one", "two"], "linf:0.1", "give one of texts such as typos:0.05"),
    ],
)
def test_inputs_that_cannot_be_changed_are_refused(data, perturbation, said):
    refused(said, lambda: study(data, parse_perturbation(perturbation)).run())


def test_arrays_are_refused():
    inputs = sf.load_inputs(np.zeros((2, 3), np.float32))
    model = sf.load_model(lambda x: x[:, :2], shape=(3,))
    with pytest.raises(InvalidArgument, match=r"typos is for texts, but .* arrays of shape \(3,\)"):
        sf.Study(model, inputs, sf.perturb.Typos(0.1), sf.methods.Okamoto(0.2, 0.2)).run()
    refused("images and of texts cannot be combined", parse_perturbation, "typos:0.1+blur:1")
    refused("keyboard must be one of qwerty", parse_perturbation, "typos:0.1,keyboard=dvorak")


def test_texts_that_stay_as_they_are_are_named_before_a_run():
    setup = study(["a good film", "\u597d", "12"], sf.perturb.Case(0.1))
    found = {c.name: c for c in examine_perturbation(setup.fitted, setup.model, setup.perturbation)}
    check = found["texts that can change"]
    assert check.status is CheckStatus.WARNING
    assert "2 of 3 texts, such as input 1" in check.finding
    open_ = replace(setup.perturbation, level=None)
    assert any(c.name == check.name for c in examine_perturbation(setup.fitted, setup.model, open_))


@pytest.mark.parametrize(
    ("before", "after", "marked"),
    [
        ("a b", "ab", [" "]),
        ("cat", "cut", ["a", "u"]),
        ("same", "same", []),
        ("a good film " * 60, "a good film " * 8 + "XX" + "a good film " * 52, ["XX"]),
        (b"abc", b"abd", []),
    ],
)
def test_what_differs_between_two_texts_is_marked(before, after, marked):
    change = item_change(before, after)
    parts = parts_that_differ(change.before, change.after)
    assert ["".join(part for part, _ in own) for own in parts] == [change.before, change.after]
    assert [part for own in parts for part, differs in own if differs] == marked
