"""Pages as text: what each part says of failures, examples, and names from outside."""

import re
from dataclasses import replace

import pytest

import surefoot as sf
from surefoot.report.page import html_of
from surefoot.report.provenance import shared_provenance
from surefoot.report.tables import Table
from surefoot.report.view import Caution
from surefoot.study.study import join_results
from tests import pages
from tests.worlds import study


def parts(page: str, name: str) -> list[str]:
    """The sections of the page whose id begins with this name."""
    return re.findall(rf'<section id="{name}[^"]*">.*?</section>', page, re.DOTALL)


def cells(part: str, tag: str) -> list[str]:
    return re.findall(rf"<{tag}\b[^>]*>(.*?)</{tag}>", part, re.DOTALL)


def test_a_model_that_never_fails_says_so():
    page = html_of(study(perturbation=sf.perturb.LinfNoise(0.0)).run().view)
    (weakest,) = parts(page, "weakest")
    assert "No input failed in any trial." in weakest
    assert "<table" not in weakest
    assert "<path" in page[: page.index("weakest")]  # the figure is drawn all the same


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


@pytest.mark.parametrize(
    ("cell", "others", "style"),
    [
        ("5 %", ["1 %"], "number"),
        ("0.2383 (0.1953 to 0.2657)", ["1"], "number long"),
        ("none: 3 inputs have a critical level of zero", ["1", "2"], "number text"),
        ("undecided", ["fails"], "text"),
        ("oracle within its own step", ["no guarantee", ""], "text long"),
        ("undecided", ["1", "2"], "number"),
        ("", [""], "number"),
    ],
)
def test_a_column_of_words_is_set_left_and_only_long_cells_break(cell, others, style):
    table = Table("t", ("name", "value"), tuple(("n", text) for text in (cell, *others)))
    assert table.style(1, cell) == style
    assert table.style(0, "n") == ""
    assert table.style(0, "a_model_of_a_long_name.onnx") == "long"
    assert (1 in table.text_columns) == ("number" not in style)


def test_a_warning_stands_in_full_below_the_verdict_and_many_do_not_hide_the_figure():
    result = study(perturbation=sf.perturb.LinfNoise(0.0001)).run().require(0.5)
    (warning,) = (line for line in result.view.cautions if "hardly a change" in line)
    page, text = html_of(replace(result.view, sections=())), str(result)
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
