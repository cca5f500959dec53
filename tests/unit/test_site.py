"""The site of the documentation: every page has a place, links lead on, no other host is asked."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest

import surefoot

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def hooks():
    pytest.importorskip("mkdocs")
    return runpy.run_path(str(ROOT / "scripts" / "site" / "hooks.py"))


def write(folder, name, text=""):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def pages(section):
    (places,) = section.values()
    return places if isinstance(places, list) else [places]


def test_every_page_is_in_the_navigation_once(hooks):
    placed = [page for section in hooks["navigation"](ROOT / "docs") for page in pages(section)]
    written = {page.relative_to(ROOT / "docs").as_posix() for page in ROOT.glob("docs/**/*.md")}
    assert written <= set(placed)
    assert len(placed) == len(set(placed))


def test_a_new_page_of_a_folder_comes_last_and_one_without_a_place_is_refused(hooks, tmp_path):
    write(tmp_path, "README.md", "[b](how-to/b.md) [a](how-to/a.md)")
    for name in ("a", "b", "0-new"):
        write(tmp_path, f"how-to/{name}.md")
    (section,) = (s for s in hooks["navigation"](tmp_path) if "How-to" in s)
    assert section == {"How-to": ["how-to/b.md", "how-to/a.md", "how-to/0-new.md"]}
    write(tmp_path, "lost.md")
    with pytest.raises(Exception, match=r"docs/lost\.md is in no section of the site: move it"):
        hooks["navigation"](tmp_path)


@pytest.mark.parametrize(
    ("page", "written", "on_the_site"),
    [
        ("how-to/python.md", "[a](../claims.md#one-input)", "[a](../claims.md#one-input)"),
        ("how-to/python.md", "[a](../../examples/ci.py)", "[a](../repository/examples/ci.py)"),
        ("repository/CHANGELOG.md", "[a](docs/faq.md)", "[a](../faq.md)"),
        ("repository/CONTRIBUTING.md", "[a](LICENSE)", "[a](LICENSE)"),
        ("faq.md", "`[a](../b)` [c](https://d.org)", "`[a](../b)` [c](https://d.org)"),
        ("faq.md", "```\n[a](../b)\n```", "```\n[a](../b)\n```"),
    ],
)
def test_a_link_leads_to_the_same_file_on_the_site(hooks, page, written, on_the_site):
    assert hooks["with_links_of_the_site"](written, page) == on_the_site


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


def test_the_image_of_the_readme_is_light():
    assert (ROOT / "docs" / "figures" / "demo-page.png").stat().st_size <= 200_000
