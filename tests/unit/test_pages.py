"""Pages: many classes stay readable, colours stand out, and drawings follow the page."""

import re
from pathlib import Path

import pytest

import surefoot as sf
from surefoot.report import page
from surefoot.report.figures import bar_chart, svg
from surefoot.report.page import inline_svg as inline
from surefoot.report.tables import Table

STYLE = (Path(page.__file__).parent / "templates" / "style.css").read_text()
TEXT, GRAPHIC = 4.5, 3.0
"""Contrast that WCAG 2.2 requires of text, and of marks."""


def colours(block: str) -> dict[str, str]:
    return dict(re.findall(r"--(\w+): (#\w+);", block))


LIGHT, DARK = (colours(block) for block in STYLE.split("@media", 2)[:2])


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * d for d in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_and_marks_stand_out_from_every_ground(scheme):
    grounds = scheme["paper"], scheme["wash"]
    for name in ("ink", "soft", "accent", "weak", "strong"):
        assert min(contrast(scheme[name], ground) for ground in grounds) >= TEXT, name
    for name in ("steady", "warm", "quiet"):
        assert contrast(scheme[name], scheme["paper"]) >= GRAPHIC, name


def test_the_two_main_colours_of_figures_differ_in_grey():
    assert contrast(LIGHT["steady"], LIGHT["warm"]) > 2


def test_both_screens_define_every_colour_that_a_figure_or_the_style_uses():
    used = {value[6:-1] for value in page._VARIABLES.values()}
    used |= set(re.findall(r"var\(--(\w+)\)", STYLE))
    assert used <= set(LIGHT) == set(DARK)


def test_a_drawing_in_a_page_has_no_fixed_colour_and_ids_of_its_own():
    chart = bar_chart({"a <b>": 3, "b": 1}, ["#1d5b7a", "#d9693f"], 4)
    drawing = inline(svg(chart), 7, "Bars & more", "")
    assert re.findall(r'(?:fill|stroke)="#\w+"', drawing) == []
    assert set(re.findall(r' id="([^"]+)"', drawing)) == {"figure-7-title", "figure-7-text"}
    assert 'role="img" aria-labelledby="figure-7-title figure-7-text"' in drawing
    assert "Bars &amp; more" in drawing
    assert "axis titled 'inputs'" in drawing
    assert "a &lt;b&gt;" in drawing


@pytest.mark.parametrize(("rows", "open_"), [(0, 0), (10, 10), (12, 12), (13, 10), (1000, 10)])
def test_a_long_table_shows_its_first_rows_and_folds_the_others(rows, open_):
    table = Table("t", ("a",), tuple((str(i),) for i in range(rows)))
    assert len(table.first_rows) == open_
    assert table.first_rows + table.further_rows == table.rows


@pytest.mark.parametrize(("rows", "printed"), [(13, True), (210, True), (211, False)])
def test_paper_has_the_folded_rows_of_a_table_unless_they_fill_many_sheets(rows, printed):
    table = Table("t", ("a",), tuple((str(i),) for i in range(rows)))
    template = page.template_environment("surefoot.report").from_string(
        '{% from "table.html.j2" import table %}{{ table(data) }}'
    )
    assert ('class="further"' in template.render(data=table)) == printed
    assert "details:not(.many)::details-content { content-visibility: visible" in STYLE


def test_a_page_of_two_hundred_classes_is_small_and_shows_the_worst_first(tmp_path):
    rows = [f"{i},c{i // 3:03d},{'fail' if i // 3 > 190 else 'pass'}" for i in range(600)]
    path = tmp_path / "outcomes.csv"
    path.write_text("\n".join(["case,class,outcome", *rows]))
    result = sf.tally(path)
    (section, *_) = result.view.sections
    assert section.table.rows[0][0] == "all cases"
    assert section.table.rows[1][0] == "c191"
    assert "The 20 classes that fail most often, of 200" in section.figures[0].caption
    text = result.report(tmp_path / "page.html").read_text()
    assert len(text) < 150_000
    assert "191 further rows" in text
    assert text.count("c190<") == 1  # in the table; the figure has the worst alone
    assert "under perturbation" not in text
