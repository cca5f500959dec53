"""Pages have their sections, figures and places; what they name exists, links lead on."""

import importlib
import re
import runpy
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

import surefoot
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


SECTIONS = (
    "Claim", "Assumption", "Formula", "Source", "Where we differ, and why", "How it is tested",
)  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_a_method_page_has_every_section_and_says_something_in_it(name):
    for section in SECTIONS:
        text = re.search(rf"^## {section}\n\n(.+?)(?=^## |\Z)", PAGES[name], re.DOTALL | re.M)
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


@pytest.mark.parametrize("name", ["bu-sun", "robust-share"])
def test_what_is_drawn_now_is_what_the_page_shows(script, name):
    """The words and numbers on the axes; how they are drawn may differ between versions."""
    assert set(words_of(script.FIGURES[name]())) == set(words_of(stored(name)))


def test_an_overview_links_every_page():
    docs = ROOT / "docs"
    linked = {"README.md"}
    for overview in (docs / "README.md", *docs.glob("*/README.md")):
        targets = re.findall(r"\]\(([\w/.-]+\.md)\)", overview.read_text())
        linked |= {(overview.parent / target).relative_to(docs).as_posix() for target in targets}
    assert {page.relative_to(docs).as_posix() for page in docs.rglob("*.md")} - linked == set()


@pytest.fixture(scope="module")
def hooks():
    pytest.importorskip("mkdocs")
    return runpy.run_path(str(ROOT / "scripts" / "site" / "hooks.py"))


def pages(part):
    """Of the navigation or a part of it."""
    match part:
        case str():
            return [part]
        case dict():
            return pages([*part.values()])
        case _:
            return [page for one in part for page in pages(one)]


def test_every_page_is_in_the_navigation_once(hooks):
    placed = pages(hooks["navigation"](ROOT / "docs"))
    written = {page.relative_to(ROOT / "docs").as_posix() for page in ROOT.glob("docs/**/*.md")}
    assert written <= set(placed)
    assert len(placed) == len(set(placed))


@pytest.mark.parametrize(
    ("html", "loads"),
    [
        ('<script src="https://x.org/a.js">', True),
        ('<script defer src="//x.org/a.js">', True),
        ('<link rel="stylesheet" href="https://x.org/a.css">', True),
        ("<style>@font-face { src: url(https://x.org/f.woff2) }", True),
        ('<img alt="" src="http://x.org/a.png">', True),
        ('<a href="https://x.org/">x</a><script src="../a.js">', False),
        ('<link rel="canonical" href="https://x.org/">', False),
    ],
)
def test_what_a_browser_loads_from_another_host_is_noticed(hooks, html, loads):
    assert bool(hooks["_LOADED"].search(html)) == loads


def test_every_public_name_is_listed_in_the_reference():
    overview = (ROOT / "docs" / "api" / "README.md").read_text()
    listed = set(re.findall(r"`sf\.(\w+)`", overview))
    assert listed == set(surefoot.__all__)
    parts = "\n".join(page.read_text() for page in ROOT.glob("docs/api/*.md"))
    assert set(re.findall(r"^::: surefoot\.(\w+)$", parts, re.MULTILINE)) == listed


def test_one_version_is_written_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (cited,) = re.findall(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert project["version"] == surefoot.__version__ == cited
