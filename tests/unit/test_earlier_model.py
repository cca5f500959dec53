"""A model against an earlier one: what is decided, what is refused, and with which way out."""

from dataclasses import replace

import numpy as np
import pytest

import surefoot as sf
from surefoot.conclude.not_worse import not_worse_than
from surefoot.core.claims import Verdict
from surefoot.core.reasons import Why
from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument
from surefoot.report.sentences import sentence
from tests.claims.curves import curve_of, noise_study
from tests.claims.parts import QUICK, Shift, line_inputs, line_model, radius_study
from tests.refusals import refused


def against(new, old, margin=0.0, error=0.2):
    (claim,) = not_worse_than(new, old, names=("new", "old"), margin=margin, error=error)
    return claim


@pytest.fixture(scope="module")
def radii():
    """Radii of 0.2 and 0.1 by one network, of 0.3 and 0.3 by another."""
    inputs = line_inputs(np.array([0.2, 0.1]), np.array([0.3, 0.3]))
    method = sf.methods.CriticalLevel(0.01, 2.0, samples=0)
    studies = (radius_study(method, inputs, 1, i) for i in range(2))
    return [study.run(workers=1).record for study in studies]


def test_the_mean_radius_of_the_same_inputs_is_compared_by_proofs(radii):
    small, large = radii
    assert against(large, small).verdict is Verdict.PASS
    refuted = against(small, large, margin=0.4)
    assert refuted.verdict is Verdict.FAIL
    assert refuted.guarantee.error == 0
    assert sentence(refuted).startswith(
        "FAIL: averaged over these 2 inputs, the critical radius with new is more than 40 % smaller"
        " than with old, if the model computes in float32"
    )
    near = against(small, large, margin=0.5)
    assert near.verdict is Verdict.UNDECIDED
    assert near.reason.why is Why.RADII_OPEN
    row = large.inputs[0]
    unrefuted = replace(row.result, interval=Interval(row.result.low, np.inf))
    open_ = replace(large, inputs=(replace(row, result=unrefuted), *large.inputs[1:]))
    assert against(small, open_, margin=0.9).verdict is Verdict.UNDECIDED


def test_radii_of_other_inputs_are_refused(radii):
    other = replace(radii[1], inputs=radii[1].inputs[:1])
    refused("radii are compared on the same ones: measure the", against, radii[0], other)


def test_an_exported_file_is_never_worse_than_itself(radii):
    """With another seed, brackets and curves are others; the model is the same."""
    assert against(radii[0], radii[0]).verdict is Verdict.PASS
    inputs, true = line_inputs(np.array([0.2, 0.1, 0.4])), sf.properties.TrueLabel()
    curves = [
        sf.Study(line_model(), inputs, Shift(), curve_of(0.6, 0.5), property=true, seed=seed)
        for seed in (1, 2)
    ]
    claim = against(*(study.run(**QUICK).record for study in curves))
    assert (claim.verdict, claim.guarantee.error) == (Verdict.PASS, 0.0)


@pytest.mark.parametrize(
    "methods",
    [
        [sf.methods.FixedSize(0.2, 0.1), sf.methods.FixedSize(0.3, 0.05)],
        [sf.methods.KappaTest(0.2, 0.1), sf.methods.KappaTest(0.2, 0.05)],
        [sf.methods.NormalTail(draws=40), sf.methods.NormalTail(draws=60)],
    ],
)
def test_at_one_level_an_exported_file_is_not_worse_than_itself_whatever_its_method(methods):
    """Another requirement in a study file changes the error of its methods, and so each result."""
    inputs = line_inputs(np.array([0.2, 0.1, 0.05, 0.4]))
    new, old = (
        sf.Study(line_model(), inputs, sf.perturb.LinfNoise(0.3), one, seed=seed).run(**QUICK)
        for seed, one in enumerate(methods)
    )
    assert new.by_id != old.by_id
    claim = against(new.record, old.record)
    assert (claim.verdict, claim.guarantee.error) == (Verdict.PASS, 0.0)
    part = replace(old.record, inputs=old.record.inputs[:2])
    assert against(new.record, part).verdict is Verdict.PASS
    row = old.record.inputs[0]
    otherwise = replace(row, predicted=1 - row.predicted)  # as with another library
    changed = replace(old.record, inputs=(otherwise, *old.record.inputs[1:]))
    assert against(new.record, changed).verdict is Verdict.UNDECIDED


def test_curves_of_other_draws_are_refused():
    method = curve_of(0.75, assume="monotone", fixed_draws=True)
    runs = [noise_study(np.full(9, 0.5), method, seed).run(**QUICK).record for seed in (1, 2)]
    refused(r"other draws \(seed 2, and here 1\): use the same", against, *runs)


def test_curves_whose_errors_do_not_fit_are_refused_and_other_questions_too():
    methods = (curve_of(threshold, fixed_draws=True) for threshold in (0.75, 0.7))
    runs = [noise_study(np.full(9, 0.5), one, 1).run(**QUICK).record for one in methods]
    refused("measured by another kind of study", against, *runs)
    with pytest.raises(InvalidArgument, match=r"comparison may be with 0\.1: state the same conf"):
        against(runs[0], runs[0], error=0.1)


def test_curves_by_a_method_that_promises_nothing_are_not_decided():
    scan = sf.methods.UniformCurve(0.0, 1.0, (0.75,), levels=3)
    run = noise_study(np.full(9, 0.5), scan, 1).run(**QUICK).record
    claim = against(run, run)
    assert claim.verdict is Verdict.UNDECIDED
    assert claim.reason == Why.NO_PROMISE.of()
