"""Pages as users open them: in a real Chromium, their figures drawn, nothing fetched."""

import json

import pytest

import surefoot as sf
from papers import PAPERS, make_all
from papers.exhibit import page_of, write_whole
from papers.paper import BOUNDS, IMAGES, PROVABLE
from tests import pages
from tests.system.page_in_browser import SIZES, barriers, layout, open_page, resize
from tests.worlds import points, study

FIRST_SCREEN = 900
SMALLEST_FONT = 10
"""Pixels of the smallest text of a figure on a phone."""


def count(browser, css):
    """Elements that take up room on the page."""
    script = "return [...document.querySelectorAll(arguments[0])].filter(e => e.offsetParent"
    return browser.execute_script(f"{script} || e.getBoundingClientRect().width).length", css)


def text_of(browser, css):
    script = "return document.querySelector(arguments[0]).textContent"
    return " ".join(plain([browser.execute_script(script, css)])[0].split())


def plain(texts):
    return [text.replace("\u00a0", " ") for text in texts]


def test_the_page_of_a_command_shows_its_claim_and_its_failures_can_be_run_again(
    workspace, browser
):
    done = workspace.run(
        "estimate", "model.onnx", "test.npz", "--perturb", "linf:64/255", "--each", "0.2",
        "--report", "report.html", "--json",
    )  # fmt: skip
    record = json.loads(done.stdout)
    page = workspace.folder / "report.html"
    assert page.stat().st_size < 2_000_000
    open_page(browser, page)
    assert text_of(browser, "#claim") == record["claims"][0]["sentence"]
    classes, examples = record["details"]["classes"], record["details"]["examples"]
    belief = text_of(browser, "#belief")
    assert f"confidence 95 % for the {len(classes)} classes and all inputs together" in belief
    assert "independent random sample" in belief
    assert f"{record['trials']:,} trials" in belief
    assert count(browser, "#histogram svg path") > 5
    assert count(browser, "#classes tbody tr") == len(classes)
    assert count(browser, "#class-figure svg path") >= len(classes)
    widths = "return [...document.querySelectorAll('#weakest img')].map(i => i.naturalWidth)"
    assert browser.execute_script(widths) == [28] * (2 * len(examples))
    provenance = text_of(browser, "#provenance")
    for part in (
        record["spec"]["model"]["digest"], record["spec"]["inputs"]["digest"], "seed 1", "numpy",
        f"{record['trials']:,}", "surefoot estimate model.onnx test.npz",
    ):  # fmt: skip
        assert part in provenance
    command = text_of(browser, "#weakest .card code").split()
    assert command[:3] == ["surefoot", "replay", record["digest"][:12]]
    again = workspace.succeed(*command[1:])
    assert f"perturbed {text_of(browser, '#weakest b.failure')}: failed" in again.stdout


def test_names_from_outside_are_text_never_markup(browser, tmp_path):
    nasty = "<script>document.title='owned'</script><img src=x onerror=alert(1)>"
    base = points()
    inputs = sf.load_inputs(
        base.x, base.labels, ids=[f"{nasty}{i}" for i in range(12)], class_names=[nasty, "b"]
    )
    result = study(inputs=inputs, perturbation=sf.perturb.LinfNoise(0.9)).run()
    open_page(browser, result.report(tmp_path / "page.html"))
    assert browser.title.startswith("surefoot: a model in memory under linf 0.9")
    assert count(browser, "script, img[src=x]") == 0
    assert nasty in text_of(browser, "#classes")
    described = "return document.querySelector('#class-figure desc').textContent"
    assert nasty in browser.execute_script(described)


@pytest.mark.parametrize("kind", pages.KINDS)
def test_a_page_is_readable_on_every_kind_of_screen(kind, browser, tmp_path):
    """A page of each kind is opened once, and looked at in every way."""
    result = pages.KINDS[kind](tmp_path)
    open_page(browser, result.report(tmp_path / "page.html"))
    layouts = {size: layout(browser, size) for size in SIZES}
    layouts["dark"] = layout(browser, "laptop", "dark")
    resize(browser, "phone")
    found = barriers(browser)
    view, laptop, dark = result.view, layouts["laptop"], layouts["dark"]

    # Within the first 900 pixels of a laptop: number, interval, sentence, verdict, and a figure or
    # of a tall one its larger part.
    assert plain(laptop["numbers"]) == [key.number for key in view.key_figures]
    for text, key in zip(plain(laptop["keys"]), view.key_figures, strict=True):
        assert key.interval in text
        assert key.meaning in text
    assert plain(laptop["h1"]) == view.headings
    assert plain(laptop["verdicts"]) == [line for _, line in view.verdict_lines]
    top, height = laptop["figure"]
    assert height > 50
    assert laptop["key_top"] < 100
    assert top + 0.5 * height < FIRST_SCREEN

    # What does not fit there follows the figure.
    lines = [*view.claim_lines, *view.notes, *view.facts, *filter(None, [view.continuing])]
    (belief,) = plain([laptop["belief"]])
    assert [line for line in lines if line not in belief] == []

    # No page scrolls sideways (wide tables do, inside their boxes), no text of a figure is cut off.
    for name, lies in layouts.items():
        assert lies["wide"] <= 0, name
        assert lies["outside"] == 0 or name == "paper"
        assert lies["cut"] == [], name
        assert lies["narrow"] == 0 or name == "paper"  # a figure has the width of its card
    assert layouts["phone"]["smallest_font"] >= SMALLEST_FONT
    if kind == "radii":
        assert laptop["height"] <= 3 * FIRST_SCREEN

    # Figures say in numbers what they show; a dark screen is dark with them, paper hides nothing.
    for title, words in laptop["described"]:
        assert title
        assert any(letter.isdigit() for letter in words)
    assert laptop["ground"] != dark["ground"]
    assert dark["unpainted"] == 0 or kind == "suite"  # letters of a heat map lie on its shades
    assert layouts["paper"]["folded"] == 0
    assert found == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(browser, tmp_path, scheme):
    """One page with a verdict, notes, tables and folds; all pages share its colours."""
    result = sf.tally(pages.outcomes(tmp_path), require=0.1, require_each=0.1)
    open_page(browser, result.report(tmp_path / "page.html"))
    resize(browser, "laptop", scheme)
    assert barriers(browser, contrast=True) == []


@pytest.mark.parametrize("paper", PAPERS.values(), ids=lambda paper: paper.name)
def test_the_page_of_a_paper_shows_every_table_and_figure(paper, browser, tmp_path):
    store = str(tmp_path / "runs.db")  # radii of several tables are proved once
    options = {"data": IMAGES, "quick": True, "store": store, "first": 5, "bounds": BOUNDS}
    exhibits = list(make_all(paper.name, list(PROVABLE.values()), **options, progress=False))
    assert [e.name for e in exhibits] == [part.name for part in paper.parts]
    page = write_whole(tmp_path / "p.html", page_of(exhibits, paper.title, (paper.summary,)))
    open_page(browser, page)
    laptop, phone = layout(browser, "laptop"), layout(browser, "phone")
    assert max(laptop["wide"], phone["wide"]) <= 0
    assert laptop["h1"] == [paper.title]
    for exhibit in exhibits:
        assert count(browser, f"#{exhibit.place} figure img[alt]") == len(exhibit.charts)
        for i, sheet in enumerate(exhibit.sheets, 1):
            assert count(browser, f"#{exhibit.place}-{i} tbody tr") == len(sheet.rows) > 0
            keys = {key for row in sheet.rows for key in row}
            missing = {column.key for column in sheet.columns} - keys
            assert not missing or "beside ours" in sheet.title  # nothing of ours is about the same
    assert barriers(browser) == []
