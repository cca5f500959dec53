"""False sentences that were once printed and must not come back, each in a small world."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

import surefoot as sf
from surefoot.core.claims import Claim, Continues, Verdict
from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument
from surefoot.report.key_figure import key_figure
from surefoot.report.sentences import sentence
from surefoot.study.study import studies_by_level
from tests.claims.parts import (
    QUICK,
    Shift,
    line_inputs,
    line_model,
    model_studies,
    noise_study,
    normal_inputs,
    radius_study,
)
from tests.refusals import refused


def test_one_file_prepared_in_two_ways_is_not_one_model() -> None:
    path: Any = getattr(line_model(), "path")  # noqa: B009
    models = {
        "plain": sf.load_model(path, bounds=(0, 1)),
        "shifted": sf.load_model(path, bounds=(0, 1), mean=[0.3], std=[1.0]),
    }
    inputs = line_inputs(np.linspace(-0.4, 0.4, 20))
    noise, method = sf.perturb.LinfNoise(0.1), sf.methods.FixedSize(0.2, 0.1)
    studies = {
        name: sf.Study(model, inputs, noise, method, property=sf.properties.TrueLabel())
        for name, model in models.items()
    }
    result = sf.compare(studies, **QUICK)
    assert "the same model" not in result.explain()
    assert result.require(not_worse=("shifted", 0.0)).verdicts[0].verdict is Verdict.FAIL


def _cut_at(place: float) -> Any:
    def hard(x: np.ndarray) -> np.ndarray:
        over = (x[:, 0] > place).astype(float)
        return np.stack([1 - over, over], axis=1)

    return sf.load_model(hard, shape=(2,))


def test_models_whose_digest_misses_their_state_are_not_one_model() -> None:
    x = np.repeat(np.linspace(50, 60, 20)[:, None], 2, axis=1).astype(np.float32)
    inputs = sf.load_inputs(x, np.ones(20, int))
    studies = {
        f"{place:g}": sf.Study(
            _cut_at(place), inputs, sf.perturb.GaussianNoise(1.0), sf.methods.FixedSize(0.2, 0.1),
            property=sf.properties.TrueLabel(),
        )
        for place in (50.0, 58.0)
    }  # fmt: skip
    assert "the same model" not in str(sf.compare(studies, **QUICK))


def test_not_worse_of_decisions_is_about_the_share_and_not_about_failing() -> None:
    """The first fails five points more often, and both shares are 1."""
    columns = np.full(60, 0.05), np.full(60, 0.0)
    inputs = normal_inputs(*columns)
    studies = model_studies(columns, sf.methods.KappaTest(0.3, 0.1, 500), 1, inputs)
    claim = sf.compare(studies, **QUICK).require(not_worse=("a", 0.3)).verdicts[0]
    assert claim.kappa == 0.3
    assert "share of inputs" in sentence(claim)
    assert "more often" not in sentence(claim)


@pytest.mark.slow
def test_radii_of_other_inputs_or_another_property_are_not_compared() -> None:
    near, far = (line_inputs(np.linspace(low, low + 0.1, 5)) for low in (0.0, 0.3))
    method = sf.methods.CriticalLevel(quantile=0.2, error=0.2)
    one, other = (radius_study(method, inputs, 1) for inputs in (near, far))
    refused("different inputs", sf.compare, {"a": one, "b": other}, workers=1)
    with pytest.raises(InvalidArgument, match="property"):
        sf.compare({"a": one, "b": replace(one, property=sf.properties.SameLabel())}, workers=1)


def test_claims_that_count_inputs_are_read_once() -> None:
    """With one look at each input, adding inputs until one is refuted errs in a third of runs."""
    method = sf.methods.ExactBinomial(0.1, 0.1, 400, looks=1)
    result = noise_study(np.full(3, 0.1), method, 1).run(**QUICK)
    kinds = {c.kind: c.continues for c in result.claims}
    assert kinds["count_kappa"] is kinds["all_kappa"] is Continues.ONCE
    assert result.claim_about(result.inputs[0].id).continues is Continues.ONCE
    open_ended = noise_study(np.full(3, 0.1), sf.methods.KappaTest(0.1, 0.1, 400), 1).run(**QUICK)
    assert open_ended.claim_about(open_ended.inputs[0].id).continues is Continues.ANYTIME


def test_an_input_that_failed_most_often_is_not_called_the_weakest() -> None:
    result = noise_study(np.full(30, 0.3), sf.methods.FixedSize(0.2, 0.1), 1).run(**QUICK)
    text = next(sentence(c) for c in result.claims if c.kind == "worst")
    assert "failed most often of the 30 in this run" in text


def test_two_levels_that_look_alike_are_both_swept() -> None:
    study = noise_study(np.full(3, 0.1), sf.methods.FixedSize(0.3, 0.1), 1)
    assert len(studies_by_level(study, [0.1, 0.1 + 1e-9])) == 2


@dataclass(frozen=True)
class Put(Shift):
    """Writes the level into the second value."""

    kind: ClassVar[str] = "put"
    phrase: ClassVar[str] = "level {level}"

    def levels(self, bounds: Interval | None) -> Interval:
        return Interval(0.0, 2.0)

    def apply(self, x: Any, drawn: Any, level: Any, bounds: Interval | None) -> Any:
        put = np.broadcast_to(x, (max(len(x), len(drawn)), *x.shape[1:])).copy()
        put[:, 1] += np.reshape(level, -1)
        return put.astype(np.float32)


def _dips_early(x: np.ndarray) -> np.ndarray:
    """Accuracy falls to .79 at level .2, rises again, and falls for good after 1.5."""
    kept = np.interp(x[:, 1], [0, 0.2, 0.4, 1.5, 2], [1, 0.79, 1, 0.95, 0.3])
    margin = np.where(x[:, 0] < kept, 1.0, -1.0)
    return np.stack([-margin, margin], axis=1)


def _dip_claim(method: Any) -> Claim:
    x = np.stack([np.random.default_rng(1).random(400), np.zeros(400)], axis=1)
    inputs = sf.load_inputs(x.astype(np.float32), np.ones(400, int))
    model = sf.load_model(_dips_early, shape=(2,))
    study = sf.Study(model, inputs, Put(), method, property=sf.properties.TrueLabel())
    return study.run(**QUICK).claims[0]


@pytest.mark.parametrize(
    "method",
    [
        sf.methods.SequentialCurve(0, 2, assume="bounded-rise:0.06", scope="population", error=0.1),
        sf.methods.AdaptiveCurve(0, 2, curvature=60.0, grid=8),
    ],
)
def test_no_level_up_to_which_where_a_dip_may_hide_before_it(method: Any) -> None:
    claim = _dip_claim(method)
    up_to = not claim.quantity.is_share
    assert claim.interval is not None
    assert not up_to or claim.interval.low <= 0.2


@pytest.mark.parametrize("scope", ["set", "population"])
def test_nothing_is_said_of_levels_below_the_range(scope: str) -> None:
    claim = _dip_claim(sf.methods.SequentialCurve(0.5, 2, scope=scope))
    said = {"set": ":Put 0.5 up to 1.6", "population": ":Put 0.5 on between"}
    assert (claim.quantity.is_share, claim.quantity.span.low) == (False, 0.5)
    assert said[scope] in sentence(claim)
    assert "up to which, from 0.5 on, accuracy is 80 %" in key_figure(claim).meaning
