"""Clean accuracy, perturbed accuracy and the drop, wherever a result is shown."""

import json

import pytest

import surefoot as sf
from surefoot.core.claims import About
from surefoot.core.results import Interval
from surefoot.report.key_figure import accuracy_of
from surefoot.report.page import html_of
from tests.unit.example_claims import CLAIMS, changed
from tests.worlds import points, study

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


def test_accuracy_that_rises_is_a_drop_below_zero():
    rises = accuracy_of([changed(SET, value=0.61, interval=Interval(0.60, 0.62))])
    assert rises.key_figures[-1].number == "-2.00 points"
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
