"""Inputs that are wrong when clean: how often they had the label that is not asked for."""

import numpy as np
import pytest

import surefoot as sf
from surefoot.core.claims import Verdict
from surefoot.core.counts import Counts
from surefoot.recheck.trials import trials_that_differ
from surefoot.records.record import OtherLabel
from surefoot.store.chains import evidence_from_text, evidence_to_text
from tests.claims.parts import QUICK, Shift, sign_model

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
