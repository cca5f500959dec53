"""The page of each paper, small, as a reader opens it in a real Chromium."""

import pytest

from surefoot.commands.caller import Caller
from surefoot.papers import PAPERS, embedded
from surefoot.papers.exhibit import view_of_paper
from surefoot.papers.make_exhibit import make_all
from surefoot.papers.options import PaperOptions, SourceOptions
from surefoot.report.page import write_page
from surefoot.study.load_files import FileOptions
from tests.system.test_report_in_browser import browser, drawn, fits, open_page

__all__ = ["browser"]
INPUTS = FileOptions(first=6, bounds=embedded.BOUNDS)
MODELS = list(embedded.PROVABLE.values())


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
    assert fits(browser)
    assert browser.find_element("id", "lead").text == paper.title
    for exhibit in exhibits:
        place = exhibit.name.replace(" ", "-").replace(".", "-")
        assert len(drawn(browser, f"#{place} figure svg")) == len(exhibit.charts)
        for i, sheet in enumerate(exhibit.sheets, 1):
            rows = drawn(browser, f"#{place}-{i} tbody tr")
            assert len(rows) == len(sheet.rows) > 0
            assert sheet.unknown_keys == ()
