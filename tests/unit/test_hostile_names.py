"""Names and items from outside: shown short, with what controls a reader written as escapes."""

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

import surefoot as sf
from surefoot.records.json_records import record_from_json, record_to_json
from surefoot.records.record import Source
from surefoot.report.page import html_of
from surefoot.subject.items import PAGE_WIDTH, item_change, shortened_pair
from surefoot.system.text import escape_controls, escape_unprintable
from tests.worlds import points, study

NAMES = (
    "a\x1b[31mred", "b\x00", "b\x01", "c\x0b", "d\ufffe", "e\ud800", "e\udcff", "f\u202egnp.exe",
    "g\u2066x\u2069", "h\r", "i\x9b2J", "j\x7f", r"k\x1b",
)  # fmt: skip
"""Of terminals, of XML, halves of a pair, turned directions; the last holds an escape as text."""
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe]")


def check_page(page: str) -> None:
    assert FORBIDDEN.search(page) is None
    assert r"a\x1b[31mred" in page
    assert r"f\u202egnp.exe" in page


def test_names_that_differ_stay_different_and_plain_text_stays_as_it_is():
    assert len({escape_controls(name) for name in NAMES}) == len(NAMES)
    plain = "Zoë\tשלום العربية 猫\n\u200d\u200f\u00ad 😀 \U0010ffff"
    assert escape_controls(plain) == plain


def test_a_tally_of_hostile_classes_has_a_page_and_figures(tmp_path):
    lines = [
        json.dumps({"case": f"{name}{i}", "topic": name, "passed": i})
        for name in NAMES for i in (0, 1)
    ]  # fmt: skip
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    pages = [tmp_path / name for name in ("t.html", "t.svg", "t.json")]
    result = sf.tally(str(tmp_path / "a.jsonl"), by="topic", report=str(pages[0]))
    for page in pages[1:]:
        result.plot(page)
    check_page(pages[0].read_text())
    check_page(pages[1].read_text())
    ElementTree.fromstring(pages[1].read_bytes())
    assert FORBIDDEN.search(pages[2].read_text().encode().decode("unicode_escape")) is None


def test_models_and_inputs_of_hostile_names_have_pages_also_in_the_dashboard(tmp_path):
    pytest.importorskip("starlette")
    from starlette.testclient import TestClient

    from surefoot.serve.app import create_app
    from surefoot.serve.settings import Settings

    ids = [f"{i}{name}" for i, name in enumerate(NAMES[:12])]
    inputs = sf.load_inputs(
        points().x, points().labels, ids=ids, class_names=[NAMES[0], NAMES[7]]
    )  # fmt: skip
    few, where = study(inputs=inputs, method=sf.methods.Okamoto(0.4, 0.4)), str(tmp_path / "a.db")
    source = Source(NAMES[0] + NAMES[7], NAMES[5], {}, f"surefoot {NAMES[0]}", NAMES[2])
    result = few.run(where, source=source)
    assert FORBIDDEN.search(result.explain()) is None
    check_page(html_of(sf.compare({NAMES[0]: few, NAMES[7]: few}).view))
    client = TestClient(create_app(Settings((where,))), base_url="http://localhost")
    for part in ("", f"runs/0/{result.record.digest}/report"):
        answer = client.get(f"/{part}")
        assert answer.status_code == 200
        check_page(answer.text)


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
    printed = result.explain()
    assert all(c.isprintable() or c == "\n" for c in printed)
    assert "<script>" in printed and "[bold]" in printed


def test_a_record_with_hostile_texts_is_stored_and_read_again(result):
    text = record_to_json(result.record)
    assert record_from_json(text) == result.record
    text.encode("utf-8")
    assert {e["before"] for e in json.loads(text)["details"]["examples"]}
