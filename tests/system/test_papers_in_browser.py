"""The page of each paper, small, as a reader opens it in a real Chromium."""

import pytest

from papers import PAPERS, embedded
from papers.exhibit import view_of_paper
from papers.make_exhibit import make_all
from papers.options import PaperOptions, SourceOptions
from surefoot.commands.caller import Caller
from surefoot.records.options import FileOptions
from surefoot.report.page import write_page
from tests.system.page_in_browser import barriers, layout, open_page

INPUTS = FileOptions(first=5, bounds=embedded.BOUNDS)
MODELS = list(embedded.PROVABLE.values())
_COUNT = "return document.querySelectorAll(arguments[0]).length"


@pytest.mark.parametrize("paper", PAPERS.values(), ids=lambda paper: paper.name)
def test_the_page_of_a_paper_shows_every_table_and_figure(paper, browser, tmp_path):
    sources = SourceOptions(data=embedded.IMAGES, quick=True, store=None)
    exhibits = list(
        make_all(
            paper.name,
            MODELS,
            sources=sources,
            values=PaperOptions(),
            inputs=INPUTS,
            caller=Caller(),
        )
    )
    assert [e.name for e in exhibits] == [part.name for part in paper.parts]
    page = write_page(view_of_paper(paper.title, (paper.summary,), exhibits), tmp_path / "p.html")
    open_page(browser, page)
    laptop, phone = layout(browser, "laptop"), layout(browser, "phone")
    assert max(laptop["wide"], phone["wide"]) <= 0
    assert laptop["h1"] == [paper.title]
    assert all(title and words for title, words in laptop["described"])
    for exhibit in exhibits:
        place = exhibit.name.replace(" ", "-").replace(".", "-")
        assert browser.execute_script(_COUNT, f"#{place} figure svg") == len(exhibit.charts)
        for i, sheet in enumerate(exhibit.sheets, 1):
            own = place if i == 1 and not exhibit.charts else f"{place}-{i}"
            rows = browser.execute_script(_COUNT, f"#{own} tbody tr")
            assert rows == len(sheet.rows) > 0
            assert sheet.unknown_keys == ()
    assert barriers(browser) == []
