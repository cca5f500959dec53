"""The page of each paper, small, as a reader opens it in a real Chromium."""

import pytest

from papers import PAPERS, make_all
from papers.exhibit import page_of, write_whole
from papers.paper import BOUNDS, IMAGES, PROVABLE
from tests.system.page_in_browser import barriers, layout, open_page

_COUNT = "return document.querySelectorAll(arguments[0]).length"


@pytest.mark.parametrize("paper", PAPERS.values(), ids=lambda paper: paper.name)
def test_the_page_of_a_paper_shows_every_table_and_figure(paper, browser, tmp_path):
    options = {"data": IMAGES, "quick": True, "store": None, "first": 5, "bounds": BOUNDS}
    exhibits = list(make_all(paper.name, list(PROVABLE.values()), **options, progress=False))
    assert [e.name for e in exhibits] == [part.name for part in paper.parts]
    page = write_whole(tmp_path / "p.html", page_of(exhibits, paper.title, (paper.summary,)))
    open_page(browser, page)
    laptop, phone = layout(browser, "laptop"), layout(browser, "phone")
    assert max(laptop["wide"], phone["wide"]) <= 0
    assert laptop["h1"] == [paper.title]
    for exhibit in exhibits:
        drawn = browser.execute_script(_COUNT, f"#{exhibit.place} figure img[alt]")
        assert drawn == len(exhibit.charts)
        for i, sheet in enumerate(exhibit.sheets, 1):
            rows = browser.execute_script(_COUNT, f"#{exhibit.place}-{i} tbody tr")
            assert rows == len(sheet.rows) > 0
            keys = {key for row in sheet.rows for key in row}
            assert {column.key for column in sheet.columns} <= keys
    assert barriers(browser) == []
