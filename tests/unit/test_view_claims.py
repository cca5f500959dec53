"""What a page and a terminal say of a model is a claim, or a plain count of what was run."""

import json
import re
import sys
from dataclasses import replace

import pytest

import surefoot as sf
from surefoot.core.claims import About
from surefoot.core.results import Interval
from surefoot.report.clauses import (
    AS_ABOVE,
    SAME_ASSUMPTION,
    assumptions_of,
    in_kept,
    repeated_assumption,
)
from surefoot.report.formatting import percent_range, radius_range
from surefoot.report.key_figure import accuracy_of
from surefoot.report.page import html_of
from surefoot.report.sentences import briefly, sentence
from surefoot.report.tables import OF_POPULATION
from tests import pages
from tests.unit.example_claims import CLAIMS, changed
from tests.worlds import points, study


@pytest.fixture(scope="module", params=pages.KINDS)
def result(request, tmp_path_factory):
    return pages.KINDS[request.param](tmp_path_factory.mktemp(request.param))


def test_words_and_verdicts_draw_no_figure(result, monkeypatch):
    """Drawing takes seconds; a terminal, JSON and an exit code do without."""
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert str(result) and result.to_json()
    assert any(section.figures for section in result.view.sections)


PLAIN = (
    r"Each input has an interval of its own, ± [\d.]+ around its estimate or narrower \(confidence",
    r"[\d,]+ of [\d,]+ inputs failed in no trial",
    r"Each of [\d,]+ decisions is right with confidence ",
    r"When clean, [\d,]+ of [\d,]+ inputs get their true label\.",
    r"[\d,]+ trials on [\d,]+ inputs\.",
    r"[\d,]+ cells, [\d,]+ trials; ",
    r"It took [\d,.]+ (evaluations|seconds)",
    r"A normal distribution fitted the scores of [\d,]+ of [\d,]+ inputs",
    r"Not fitted, for example ",
    r"[\d,]+ of [\d,]+ brackets are closed to [\d.]+; ",
    r"(Lower|Upper) ends are ",
    r"On random inputs the network as read and the model as run differ by at most ",
    r"Misclassified when clean: [\d,]+\. ",
    r"Mean certified radius: [\d.]+ over [\d,]+ inputs",
    r"Of [\d,]+ points drawn within the proved radii [\d,]+ failed",
    r"[\d,]+ of [\d,]+ inputs \([\d.]+ %\) withstood the attack\.",
    r"An input withstood the attack if ",
    r"A failed attack proves nothing",
    r"All models got the same inputs and the same perturbations",
    r"The outcomes are taken as they are: the test was not run and not checked here\.",
    r"Read( from \S+)?: case: ",
    r"Differences are taken case by case\.",
)
"""Lines beside the claims: what was run and counted, of these inputs, and what a word means."""


@pytest.mark.slow
def test_headline_and_list_are_the_sentences_of_claims(result):
    view = result.view
    every = {sentence(briefly(claim)) for claim in (*result.claims, *result.verdicts)}
    again = {with_same_assumption(claim) for claim in (*result.claims, *result.verdicts)}
    assert len(view.headings) == 1
    assert set(view.headings) <= every
    assert set(view.claim_lines) <= every | again
    assert {line for _, line in view.verdict_lines} <= every | again


def with_same_assumption(claim):
    brief = briefly(claim)
    same = replace(brief.guarantee, assumptions=(repeated_assumption(brief),))
    return sentence(brief.saying(guarantee=same))


def test_every_assumption_is_there_exactly(result):
    shown = " ".join(result.view.every_assumption).lower()
    for claim in (*result.view.headline, *result.view.claims, *result.view.verdicts):
        assert all(words.lower() in shown for words in assumptions_of(claim))


def test_the_same_assumption_is_said_once_and_another_one_in_full(result):
    view = result.view
    lines = [*view.headings, *(line for _, line in view.verdict_lines), *view.claim_lines]
    said = ""
    for line in lines:
        if SAME_ASSUMPTION in line or AS_ABOVE in line:
            assert said, f"{line} refers to nothing"
        elif re.search(r"\bif\b", line.lower()):
            said = line


def test_the_first_line_is_a_number_with_its_interval(result):
    first = result.view.key_figures[0]
    assert result.explain().splitlines()[0] == first.line
    assert re.match(r"[-+]?\d", first.number) or first.number == "undecided"
    claim = (result.view.key_claims or result.view.headline)[0]
    if claim.guarantee.error and first.number != "undecided":
        assert re.search(r"confidence \d", first.around) or claim.kind == "count_kappa"
    assert first.meaning


def test_every_claim_that_is_not_about_one_class_is_shown(result):
    shown = set(result.view.headings) | set(result.view.claim_lines)
    shown |= {line for _, line in result.view.verdict_lines}
    for claim in result.claims:
        in_a_table = claim.about.of is About.CLASS or (claim.names and len(result.parts) > 1)
        assert in_a_table or {sentence(briefly(claim)), with_same_assumption(claim)} & shown


def test_what_is_no_claim_is_a_plain_count(result):
    names = "|".join(map(re.escape, result.parts)) or "nothing"
    for line in result.view.facts:
        fact = re.sub(rf"^({names}): ", "", line)
        assert any(re.match(pattern, fact) for pattern in PLAIN), line


def test_every_interval_in_a_table_is_that_of_a_claim(result):
    every = (*result.claims, *result.verdicts)
    claims = [in_kept(c) for c in every if c.interval is not None]
    claimed = {percent_range(c.interval) for c in claims}
    claimed |= {radius_range(c.interval) for c in claims}
    for table in result.view.tables:
        places = [i for i, h in enumerate(table.headings) if h in ("interval", OF_POPULATION)]
        if not places or table.title in ("Quantile", "Robustness curve"):
            continue
        if table.title in (
            "Pairs of models",
            "Pairs of networks",
            "Pairs of files",
        ) or "threshold" in (table.headings):
            continue
        for row in table.rows:
            assert row[places[0]] in claimed, (table.title, row)


def test_a_table_of_classes_says_whether_intervals_are_about_these_inputs_or_others(result):
    for table in result.view.tables:
        if table.title == "Results by class":
            words = " ".join([*table.headings, table.note])
            assert "for the population" in words or "about these inputs" in words, table


def test_a_table_with_intervals_states_its_confidence_or_the_headline_does(result):
    claims = " ".join([*result.view.headings, *result.view.claim_lines]).lower()
    for table in result.view.tables:
        if any("interval" in heading for heading in table.headings):
            assert "confidence" in f"{table.note.lower()} {claims}", table.title


def test_the_first_section_has_the_main_figure(result):
    assert result.view.sections[0].figures


@pytest.mark.slow
def test_every_figure_of_a_page_is_valid_vega_lite(result):
    """A page draws its figures without asking: Altair's schema is asked here."""
    for section in result.view.sections:
        for figure in section.figures:
            assert figure.draw().to_dict(validate=True)


def test_the_terminal_says_what_the_page_says(result):
    text = result.explain()
    view = result.view
    for line in (*view.headings, *view.claim_lines, *view.facts, view.about):
        assert line in text
    for table in view.tables:
        assert table.title in text


SET, POPULATION = CLAIMS["accuracy_set"], CLAIMS["accuracy_population"]
CLEAN, DROP = CLAIMS["clean_accuracy"], CLAIMS["accuracy_drop"]


def test_clean_accuracy_of_these_inputs_is_counted_and_the_drop_has_the_interval_of_the_claim():
    known = accuracy_of([SET, POPULATION, DROP, CLEAN])
    assert known.clean.value == 177 / 300
    assert known.clean.around is None
    assert known.drop.value == pytest.approx(0.59 - SET.value)
    assert known.drop.around.high == pytest.approx(0.59 - SET.interval.low)
    assert known.fields["about"] == About.THESE
    assert [key.number for key in known.key_figures] == ["44.2 %", "59 %", "14.80 points"]
    assert "clean_low" not in known.fields


def test_of_a_population_clean_accuracy_and_drop_are_claims_or_not_known():
    known = accuracy_of([POPULATION, DROP, CLEAN])
    assert (known.clean.around, known.drop.around) == (CLEAN.interval, DROP.interval)
    alone = accuracy_of([POPULATION, DROP.saying(names=("other",))])
    assert alone.drop is None
    assert alone.clean.value == 177 / 300
    assert "drop" not in alone.fields


def test_where_nothing_is_known_of_accuracy_there_is_nothing_to_show():
    assert accuracy_of([]) is None
    assert accuracy_of([CLAIMS["failure"], SET]) is None
    assert accuracy_of([changed(SET, value=None, interval=None)]) is None


def test_accuracy_that_rises_is_a_rise_above_zero_and_in_json_a_drop_below():
    rises = accuracy_of([changed(SET, value=0.61, interval=Interval(0.60, 0.62))])
    shown = rises.key_figures[-1]
    assert (shown.number, shown.meaning) == ("2.00 points", "rise in accuracy")
    assert shown.interval == "1.00 to 3.00 points"
    assert rises.fields["drop_high"] < 0


def test_page_card_junit_notebook_and_json_show_all_three():
    inputs = points()
    wrong = sf.load_inputs(inputs.x, [1 - inputs.labels[0], *inputs.labels[1:]])
    run = study(inputs=wrong, property=sf.properties.TrueLabel()).run().require(0.5)
    fields = json.loads(run.to_json())["accuracy"]
    assert fields["clean"] == pytest.approx(11 / 12)
    assert fields["drop"] == pytest.approx(fields["clean"] - fields["perturbed"])
    assert fields["low"] <= fields["perturbed"] <= fields["high"]
    numbers = [key.number for key in run.view.key_figures]
    assert len(numbers) == 3
    for shown in (
        html_of(run.view), run.export(to="model-card"), run.export(to="junit"), run._repr_html_(),
    ):  # fmt: skip
        plain = shown.replace("\u00a0", " ").replace("\\", "")
        assert [number for number in numbers if number not in plain] == []
    assert "accuracy" not in json.loads(study().run().to_json())
