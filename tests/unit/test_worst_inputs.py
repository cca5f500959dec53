"""Where it is weakest: inputs that were right and break, not those that are wrong when clean."""

import math
from dataclasses import replace

import numpy as np
import pytest

import surefoot as sf
from surefoot.core.claims import CleanFault, Verdict
from surefoot.core.counts import Counts
from surefoot.core.results import UNIT, Estimate, Footing, Guarantee
from surefoot.recheck.trials import trials_that_differ
from surefoot.records.record import OtherLabel
from surefoot.report.tables import clean_fault
from surefoot.report.views.sampling_figures import count_decisions
from surefoot.report.views.sampling_tables import count_words, fails_under, is_count, is_from_few
from surefoot.store.chains import evidence_from_text, evidence_to_text
from tests.claims.parts import QUICK, Shift, sign_model
from tests.worlds import linear, points, study


def mislabelled(*wrong):
    """The points, of which some have the other label: a perturbation may even make them right."""
    base = points()
    labels = base.labels.copy()
    labels[list(wrong)] = 1 - labels[list(wrong)]
    return sf.load_inputs(base.x, labels, ids=list(base.ids))


def true_study(*wrong, **more):
    return study(inputs=mislabelled(*wrong), property=sf.properties.TrueLabel(), **more)


def test_inputs_that_are_wrong_when_clean_are_counted_and_are_no_examples():
    result = true_study(2, 5, 8).run()
    rows = {row.id: row.clean_kept for row in result.inputs}
    assert [name for name, kept in rows.items() if kept is False] == ["p2", "p5", "p8"]
    examples = [example.id for example in result.details.examples]
    assert examples
    assert not {"p2", "p5", "p8"} & set(examples)
    assert "3 of 12 inputs are wrong already when clean: they count in" in result.explain()
    assert "only where its label changes" not in result.explain()
    kept = study(inputs=mislabelled(2, 5, 8)).run()
    assert "A wrong input fails here only where its label changes." in kept.explain()


def test_the_weakest_input_may_be_wrong_when_clean_and_says_so():
    worst = [c for c in true_study(0).run().claims if c.kind == "worst"]
    others = [c for c in study().run().claims if c.kind == "worst"]
    assert all(c.clean_fault is (CleanFault.FAILS if c.about.name == "p0" else None)
               for c in (*worst, *others))  # fmt: skip
    assert any(c.about.name == "p0" for c in worst)


@pytest.mark.parametrize("prop", [sf.properties.SameLabel(), sf.properties.NoConfidentMistake(0.9)])
def test_a_property_of_the_clean_label_keeps_every_clean_input(prop):
    model = sf.load_model(linear, shape=(6,), scores="logits")
    made = study(model=model, inputs=mislabelled(1, 2), property=prop)
    assert made.clean_kept.all()


def test_a_tie_is_no_clean_success():
    x = np.zeros((2, 6), dtype=np.float32)
    x[1] = 0.5
    made = study(inputs=sf.load_inputs(x, ids=["tie", "clear"]))
    assert made.clean_kept.tolist() == [False, True]


def test_a_tie_is_not_called_wrong():
    x = np.zeros((3, 6), dtype=np.float32)
    x[1:] = 0.5
    plain = study(inputs=sf.load_inputs(x, ids=["tie", "wrong", "right"]))
    label = plain.run().inputs[2].predicted
    inputs = sf.load_inputs(x, np.array([0, 1 - label, label]), ids=["tie", "wrong", "right"])
    result = study(inputs=inputs).run()
    assert [clean_fault(result.record, row) for row in result.inputs] == ["tied", "wrong", ""]
    text = " ".join([*result.view.facts, *result.view.sections[-2].lines])
    assert "1 of 3 inputs is wrong already when clean and 1 is tied: they count" in text
    assert "2 of 3 inputs get their true label, 1 of them in a tie with another" in text


def test_the_weakest_come_in_the_order_of_what_is_known_and_single_trials_say_so():
    result = study(method=sf.methods.SetMean(0.05, 0.1), inputs=points(40)).run(workers=1)
    known = [result.by_id[e.id] for e in result.details.examples]
    ends = [one.interval.high for one in known]
    assert ends
    assert ends == sorted(ends)
    assert all(one.trials > 1 for one in known)
    single = study(method=sf.methods.PopulationMean(0.2, 0.1), inputs=points(400)).run(workers=1)
    assert single.record.trials < 400
    assert single.details.examples
    assert "Inputs that failed in their only trial" in single.explain()
    assert "inputs are taken in random order until the mean is known" in single.explain()
    assert " to 100 % of the perturbations" not in single.explain()
    section = single.view.sections[0]
    kept = sum(row.result.trials == 1 and row.result.value == 1 for row in single.inputs)
    assert section.title == "How many inputs failed"
    untried = 400 - single.record.trials
    words = f"One trial of {single.record.trials} inputs, none of {untried}: it says nothing"
    assert section.figures[0].caption.startswith(words)
    assert f"{kept:,} kept in its trial, " in section.figures[0].description
    assert "%" not in section.figures[0].description


def test_where_most_inputs_had_few_trials_all_are_counted():
    counted = Estimate(0.5, UNIT, Guarantee(Footing.SOUND, 0.01), 20)
    record = study().run().record
    assert is_count(fails_under(record, counted, math.inf))
    assert not is_count(fails_under(record, counted))


def test_inputs_wrong_when_clean_are_a_bar_of_their_own():
    method = sf.methods.KappaTest(0.2, 0.1, 200)
    record = true_study(2, 5, method=method).run().record
    claim, bars = record.claims[0], count_decisions(record)
    assert bars == {
        "below the limit": claim.robust,
        "above": claim.fragile,
        "undecided": 12 - 2 - claim.robust - claim.fragile,
        "wrong when clean": 2,
    }
    kept = study(method=method).run().record
    assert "wrong when clean" not in count_decisions(kept)


def test_few_trials_are_counted_and_many_give_an_interval():
    def said(trials, **changes):
        one = replace(Estimate(0.5, UNIT, Guarantee(Footing.SOUND, 0.01), trials), **changes)
        return count_words(one) if is_from_few(one) else ""

    assert said(2) == "failed in 1 of its 2 trials"
    assert said(8) == "failed in 4 of its 8 trials"
    assert said(1, value=0.0) == "failed in its only trial"
    assert said(10) == ""
    assert said(8, unbiased=0.5, unbiased_from=4) == ""  # the value is of the last four alone
    assert said(1, value=0.0, guarantee=Guarantee(Footing.SOUND, 0.0)) == ""  # nothing is random


def test_a_trial_that_fails_by_a_tie_is_not_called_by_the_class_it_fails():
    def tied_where_disturbed(batch):
        first = np.where(batch[:, 0] == 1, 1.0, 0.0)
        return np.stack([first, np.zeros(len(batch)), np.full(len(batch), -1.0)], axis=1)

    model = sf.load_model(tied_where_disturbed, shape=(2,), scores="logits")
    inputs = sf.load_inputs(np.ones((3, 2), np.float32), np.zeros(3, np.int64))
    method = sf.methods.FixedSize(0.2, 0.05)
    result = sf.Study(model, inputs, sf.perturb.GaussianNoise(0.1), method).run()
    assert {e.failed_class for e in result.details.examples} == {"tie of 0, 1"}
    assert {e.clean_class for e in result.details.examples} == {"0"}


X = np.array([[3.0, 0], [1, 0], [-1, 0], [-5, 0]], np.float32)
"""Class 1 where positive: the last two are wrong, and stay so when lowered."""


@pytest.mark.parametrize(
    ("prop", "had"), [(sf.properties.TrueLabel(), 2), (sf.properties.SameLabel(), 0)]
)
def test_a_run_counts_the_other_label_of_inputs_that_are_wrong_when_clean(prop, had, tmp_path):
    inputs = sf.load_inputs(X, np.ones(4, int))
    method = sf.methods.SetMean(0.02, 0.1)
    study = sf.Study(sign_model(), inputs, Shift(2.0), method, property=prop)
    result = study.run(str(tmp_path / "s.db"), **QUICK)
    assert result.details.other_label == OtherLabel(2, 2, had)
    assert sf.read_result(store=str(tmp_path / "s.db")).details == result.details


def test_without_such_inputs_nothing_is_counted():
    study = sf.Study(
        sign_model(), sf.load_inputs(X[:2], [1, 1]), Shift(2.0), sf.methods.SetMean(0.02, 0.1)
    )
    assert study.run(**QUICK).details.other_label is None


@pytest.mark.parametrize("counts", [Counts(5, 3), Counts(5, 3, 0), Counts(5, 3, 2)])
def test_the_count_is_kept_in_the_journal(counts):
    assert evidence_from_text(evidence_to_text(counts, 5), 5) == counts


@pytest.mark.parametrize("text", ["3 3", "6", "3 ", " 3", "3 -1", "3 1 1", "³ 1"])
def test_counts_that_cannot_be_are_refused(text):
    with pytest.raises(ValueError, match="its evidence"):
        evidence_from_text(text, 5)


def test_an_altered_count_of_the_other_label_is_another_outcome():
    assert trials_that_differ(Counts(5, 3, 2), Counts(5, 3, 0)) == 2
    assert trials_that_differ(Counts(5, 3, 0), Counts(5, 3)) == 1
    assert trials_that_differ(Counts(5, 3, 2), Counts(5, 3, 2)) == 0


@pytest.mark.parametrize(("right", "least"), [(55, 0.55), (93, 0.93), (81, 0.81)])
def test_a_count_of_exactly_what_is_required_passes(right, least):
    """In floating point 0.55 * 100 is more than 55, and 1 - 0.07 less than 0.93."""
    x = np.where(np.arange(100) < right, 3.0, -1.0)
    inputs = sf.load_inputs(np.stack([x, x], 1).astype(np.float32), np.ones(100, int))
    method = sf.methods.SetMean(0.02, 0.1)
    result = sf.Study(sign_model(), inputs, Shift(0.5), method).run(**QUICK)
    required = result.require(least, clean_accuracy=least, accept_clean_accuracy=True)
    assert [claim.verdict for claim in required.verdicts] == [Verdict.PASS, Verdict.PASS]
