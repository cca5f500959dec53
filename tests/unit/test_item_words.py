"""What is shown of an item on a page and in a terminal: short, escaped, with the difference."""

import json

import numpy as np
import pytest
from PIL import Image

import surefoot as sf
from surefoot.records.json_records import record_from_json, record_to_json
from surefoot.subject.items import PAGE_WIDTH, item_change, shortened_pair
from surefoot.system.text import escape_unprintable

HOSTILE = [
    "<script>alert('x')</script>",
    "</dd></dl><img src=x onerror=alert(1)>",
    "\x1b[31mred\x1b]0;title\x07\r\n\ttab",
    "\u202egnp.exe \ud800 \x00 \u2028",
    "{{ 7 * 7 }} {% raw %} [bold]rich[/bold]",
    "long " * 40_000,
    "",
]


def test_the_part_around_the_first_difference_is_shown():
    before = "a" * 1000 + "b" + "c" * 1000
    after = "a" * 1000 + "x" + "c" * 1000
    first, second = shortened_pair(before, after, 40)
    assert first.startswith("…aaa") and first.endswith("ccc…") and len(first) == 42
    assert "b" in first and "x" in second
    assert shortened_pair("ab", "ax", 40) == ("ab", "ax")
    assert shortened_pair("", "", 40) == ("", "")
    assert shortened_pair("same", "same", 2) == ("…me", "…me")


def test_what_does_not_print_is_escaped():
    assert escape_unprintable("a\n\x1b[31m\u202e\ud800é😀") == "a\\n\\x1b[31m\\u202e\\ud800é😀"
    for text in HOSTILE:
        change = item_change(text, text + "\x07")
        assert (change.before + change.after).isprintable()
        assert max(len(change.before), len(change.after)) <= PAGE_WIDTH + 2
    assert item_change("", "a").before == "“”"


def test_bytes_are_shown_by_their_length_and_where_they_differ():
    change = item_change(bytes(1000), bytes(500) + b"\xff" + bytes(499))
    assert change.before == "1,000 bytes"
    assert change.after == "1,000 bytes; 1 differ (at 500: 00 to ff)"
    assert item_change(b"abc", b"abcde").after == ("5 bytes (2 more); the first difference is at 3")
    assert item_change(b"abc", b"b").after == "1 bytes (2 fewer); the first difference is at 0"
    assert item_change(b"", b"").after == "0 bytes; 0 differ"
    many = item_change(bytes(100), b"\x01" * 100).after
    assert many.count("to 01") == 6 and many.endswith(", …)")


def test_other_items_are_shown_as_python_writes_them_and_images_as_images():
    assert item_change({"a": 1}, {"a": 2}).after == "{'a': 2}"

    class Odd:
        def __repr__(self):
            raise RuntimeError

    assert item_change(Odd(), Odd()).before == "Odd"
    change = item_change(Image.new("RGBA", (900, 3)), Image.new("P", (2, 2)))
    assert change.image and change.perturbed and not change.before


def classify(texts):
    last = np.array([text.endswith("#") for text in texts], float)
    return np.stack([last, 1 - last], axis=1)


def spoil(text, rng, level):
    return text + "#" if rng.random() < level else text


@pytest.fixture(scope="module")
def result():
    inputs = sf.load_inputs(HOSTILE, ids=[*HOSTILE[:5], "long", "empty"])
    model = sf.load_model(classify, examples=inputs)
    method = sf.methods.ExactSequential(0.2, 0.1)
    return sf.Study(model, inputs, sf.perturb.custom(spoil, 0.5), method).run()


def test_hostile_texts_cannot_leave_their_place_on_the_page(result, tmp_path):
    page = tmp_path / "report.html"
    result.report(str(page))
    html = page.read_text(encoding="utf-8")
    assert "<script" not in html and "<img src=x" not in html
    assert "&lt;script&gt;alert" in html
    assert "7 * 7" in html and ">49<" not in html
    assert "\x1b" not in html and "\u202e" not in html and "\x00" not in html
    assert len(html) < 500_000


def test_hostile_texts_cannot_control_the_terminal(result):
    printed = str(result)
    assert all(c.isprintable() or c == "\n" for c in printed)
    assert "<script>" in printed and "[bold]" in printed


def test_a_record_with_hostile_texts_is_stored_and_read_again(result):
    text = record_to_json(result.record)
    assert record_from_json(text) == result.record
    text.encode("utf-8")
    assert {e["before"] for e in json.loads(text)["details"]["examples"]}
