"""Inputs that are wrong when clean: how often they had the label that is not asked for."""

import numpy as np
import pytest

import surefoot as sf
from surefoot.core.counts import Counts
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


def test_counts_add_up():
    assert Counts(5, 3, 1) + Counts(2, 1, 1) == Counts(7, 4, 2)
    assert Counts(5, 3) + Counts(2, 1) == Counts(7, 4)
