"""Every method page has its sections and a figure of our own code; what pages name exists."""

import importlib
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from surefoot.core.claims import KINDS

ROOT = Path(__file__).parents[2]
PAGES = {page.stem: page.read_text() for page in (ROOT / "docs" / "methods").glob("*.md")}
DEFINITIONS = {"perturbations", "properties"}
"""They say what is measured; they claim nothing."""
WITHOUT_FIGURE = {"properties"}
ALL_PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(p for p in sorted((ROOT / "docs").rglob("*.md")) if p.name != "catalogue.md"),
]
METHODS = sorted(PAGES.keys() - DEFINITIONS)
DRAWN = sorted(PAGES.keys() - WITHOUT_FIGURE)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")
    import make_figures

    return make_figures


def words_of(image):
    return [text.text for text in ElementTree.fromstring(image).iter(f"{SVG}text")]


def stored(name):
    return (ROOT / "docs" / "figures" / f"{name}.svg").read_text()


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    "section",
    ["Claim", "Assumption", "Formula", "Source", "Where we differ, and why", "How it is tested"],
)
def test_a_method_page_has_every_section_and_says_something_in_it(name, section):
    text = re.search(rf"^## {section}\n\n(.+?)(?=^## |\Z)", PAGES[name], re.DOTALL | re.MULTILINE)
    assert text, f"{name}.md has no section {section!r}"
    assert len(text[1].split()) >= 3


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_says_whether_more_trials_or_inputs_may_be_added(name):
    assert "\n## May it be continued?\n" in PAGES[name]


def test_the_page_of_claims_has_a_sentence_for_every_kind():
    page = (ROOT / "docs" / "claims.md").read_text()
    kinds = re.findall(r"^\*\*`(\w+)`\*\*: .+\n> ", page, re.MULTILINE)
    assert sorted(kinds) == sorted(KINDS)


def meaning(name):
    """What a dotted name such as surefoot.verify.vnnlib.read_property means; None where nothing."""
    module, _, attribute = name.rpartition(".")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return getattr(meaning(module), attribute, None) if module else None


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_exists(page):
    named = re.findall(r"`(?:python )?((?:\w+/)+[a-z_0-9.-]+\.(?:py|c|md|sh))", page.read_text())
    homes = (ROOT, ROOT / "src", ROOT / "src" / "surefoot")
    assert [n for n in named if not any((home / n).exists() for home in homes)] == []


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: page.name)
def test_every_public_name_that_a_page_uses_exists(page):
    named = set(re.findall(r"\b(?:sf|surefoot)((?:\.[A-Za-z]\w*)+)", page.read_text()))
    files = {".db", ".lock", ".toml"}
    assert [n for n in sorted(named - files) if meaning(f"surefoot{n}") is None] == []


@pytest.mark.parametrize("name", DRAWN)
def test_a_page_shows_its_figure_and_says_what_is_seen(name):
    (figure,) = re.findall(r"^!\[([^\]]+)\]\(\.\./figures/(.+)\.svg\)\n\n(.+)", PAGES[name], re.M)
    words, file, sentence = figure
    assert file == name
    assert len(words.split()) >= 5
    assert re.match(r"[A-Z]", sentence)


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_is_small_valid_and_titled(name):
    image = stored(name)
    assert len(image.encode()) < 60_000
    assert ElementTree.fromstring(image).tag == f"{SVG}svg"
    assert "NaN" not in image
    assert "<script" not in image
    assert re.search(r"(href|src)=", image) is None
    assert len(words_of(image)) > 10


def test_every_figure_is_drawn_by_the_script_and_shown_on_a_page(script):
    files = {path.stem for path in (ROOT / "docs" / "figures").glob("*.svg")}
    assert set(script.FIGURES) == files == set(DRAWN)


@pytest.mark.parametrize("name", ["bu-sun", "fixed-size", "okamoto", "robust-share"])
def test_what_is_drawn_now_is_what_the_page_shows(script, name):
    """The words and numbers on the axes; how they are drawn may differ between versions."""
    assert set(words_of(script.FIGURES[name]())) == set(words_of(stored(name)))


def test_the_overview_links_every_page():
    """Of docs/api/ its own overview does."""
    docs = ROOT / "docs"
    pages = {page.relative_to(docs).as_posix() for page in docs.rglob("*.md")} - {"README.md"}
    linked = set(re.findall(r"\]\(([\w/.-]+)\)", (docs / "README.md").read_text()))
    api = re.findall(r"\]\(([\w.-]+\.md)\)", (docs / "api" / "README.md").read_text())
    assert sorted(pages - linked - {f"api/{page}" for page in api}) == []
