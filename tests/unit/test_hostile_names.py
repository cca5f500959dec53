"""Names that hold control characters: pages, figures, JUnit and lines show them as escapes."""

import json
import re
from xml.etree import ElementTree

import pytest

import surefoot as sf
from surefoot.records.record import Source
from surefoot.report.page import html_of
from surefoot.system.text import escape_controls
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
    assert FORBIDDEN.search(str(result)) is None
    check_page(html_of(sf.compare({NAMES[0]: few, NAMES[7]: few}).view))
    client = TestClient(create_app(Settings((where,))), base_url="http://localhost")
    for part in ("", f"runs/0/{result.record.digest}/report"):
        answer = client.get(f"/{part}")
        assert answer.status_code == 200
        check_page(answer.text)
