"""Pages as text: what each part says of failures, examples, and names from outside."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

import surefoot as sf
from surefoot.records.record import Change
from surefoot.report import page
from surefoot.report.figures import bar_chart, svg
from surefoot.report.page import html_of
from surefoot.report.page import inline_svg as inline
from surefoot.report.provenance import shared_provenance
from surefoot.report.tables import Table
from surefoot.report.view import Caution
from surefoot.study.study import join_results
from tests import pages
from tests.worlds import study


def parts(page: str, name: str) -> list[str]:
    """The sections of the page whose id begins with this name."""
    return re.findall(rf'<section id="{name}[^"]*"[^>]*>.*?</section>', page, re.DOTALL)


def cells(part: str, tag: str) -> list[str]:
    return re.findall(rf"<{tag}\b[^>]*>(.*?)</{tag}>", part, re.DOTALL)


def test_inputs_that_are_no_images_show_their_largest_changes():
    result = study(perturbation=sf.perturb.LinfNoise(0.9)).run()
    (weakest,) = parts(html_of(result.view), "weakest")
    cards = weakest.split('<div class="card">')[1:]
    assert len(cards) == len(result.details.examples) > 0
    for card, example in zip(cards, result.details.examples, strict=True):
        assert len(cells(card, "tr")) == 1 + len(example.changes) > 1
        assert f"study.replay(&#39;{example.id}&#39;, {example.trial})" in card
    assert "<img" not in weakest


def test_counterexamples_stand_beside_inputs_and_names_of_networks_stay_text(tmp_path):
    one = pages.shades(tmp_path).run()
    view = join_results({"first": one, "<i>second": one}, "curve").require(0.001).view
    page = html_of(view)
    assert "<i>second" not in page
    assert "<b>light" not in page
    assert "critical radius" in cells(page, "h1")[0]
    assert view.verdict_lines[0][1].startswith(("PASS", "FAIL", "UNDECIDED"))
    examples = "".join(parts(page, "examples"))
    assert examples.count('src="data:image/png;base64,iVBOR') == 2 * 2 * 8
    assert "&lt;b&gt;light" in examples
    assert "&lt;i&gt;second" in examples
    assert "first − &lt;i&gt;second" in parts(page, "pairs")[0]
    assert all("<path" in part for part in (*parts(page, "distribution"), *parts(page, "times")))
    assert "the proved radius" in parts(page, "points")[0]


def test_a_warning_stands_in_full_below_the_verdict_and_many_do_not_hide_the_figure():
    result = study(perturbation=sf.perturb.LinfNoise(0.0001)).run().require(0.5)
    (warning,) = (line for line in result.view.cautions if "hardly a change" in line)
    page, text = html_of(replace(result.view, sections=())), result.explain()
    assert 0 < page.index('id="verdict"') < page.index(warning) < page.index('id="about"')
    assert text.index("PASS") < text.index(warning) < text.index("Assumptions")
    assert text.count(warning) == 1 and 'href="#notes"' not in page
    warnings = (*(Caution(f"Note: odd {i}.") for i in range(9)), Caution("Wrong.", urgent=True))
    view = replace(result.view, warnings=warnings, sections=())
    assert view.first_cautions[0] == "Wrong."
    assert sorted(view.first_cautions + view.notes) == sorted(view.cautions)
    assert "6 further notes" in html_of(view)


def test_what_runs_have_in_common_is_said_once_and_nothing_is_lost():
    def runs(n):
        return tuple((f"r{i}", (("Study", f"d{i}"), ("Seed", "1"))) for i in range(n))

    assert shared_provenance(runs(1)) == runs(1)
    assert shared_provenance(runs(2)) == (
        ("All runs", (("Seed", "1"),)),
        ("r0", (("Study", "d0"),)),
        ("r1", (("Study", "d1"),)),
    )
    common, each = shared_provenance(runs(9))
    assert common == ("All runs", (("Seed", "1"),))
    assert each == ("Each run", tuple((f"r{i}", f"Study: d{i}") for i in range(9)))


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


def test_both_screens_define_every_colour_that_a_figure_or_the_style_uses():
    used = {value[6:-1] for value in page._VARIABLES.values()}
    used |= set(re.findall(r"var\(--(\w+)\)", STYLE))
    assert used <= set(LIGHT) == set(DARK)


def test_a_drawing_in_a_page_has_no_fixed_colour_and_ids_of_its_own():
    chart = bar_chart({"a <b>": 3, "b": 1}, ["#1d5b7a", "#d9693f"], 4)
    drawing = inline(svg(chart), "phone", 7, "Bars & more", "")
    assert re.findall(r'(?:fill|stroke)="#\w+"', drawing) == []
    assert set(re.findall(r' id="([^"]+)"', drawing)) == {
        "figure-7-phone-title",
        "figure-7-phone-text",
    }
    assert 'role="img" aria-labelledby="figure-7-phone-title figure-7-phone-text"' in drawing
    assert "Bars &amp; more" in drawing
    assert "axis titled 'inputs'" in drawing
    assert "a &lt;b&gt;" in drawing


@pytest.mark.parametrize(("rows", "open_"), [(0, 0), (10, 10), (12, 12), (13, 10), (1000, 10)])
def test_a_long_table_shows_its_first_rows_and_folds_the_others(rows, open_):
    table = Table("t", ("a",), tuple((str(i),) for i in range(rows)))
    assert len(table.first_rows) == open_
    assert table.first_rows + table.further_rows == table.rows


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


def test_values_of_an_example_have_three_digits_or_as_many_as_tell_them_apart():
    assert Change("a", 0.123456, 0.98765, "cm").words == ("0.123 cm", "0.988 cm")
    assert Change("a", 1234.56, 1234.71).words == ("1234.6", "1234.7")
    assert Change("a", 0.5, 0.5).words == ("0.5", "0.5")
