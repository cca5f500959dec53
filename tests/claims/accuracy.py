"""Worlds of accuracy: signs under normal noise, some of them wrong when clean."""

from typing import Any

import numpy as np

import surefoot as sf
from surefoot.core.claims import About, Verdict
from tests.claims.parts import QUICK, Shift, noise_study, normal_inputs, sign_model
from tests.claims.worlds import Outcome, add_up, judged, missed, of_kind, world

FAILS = np.array([0.0, 0.001, 0.02, 0.1, 0.3, 0.45, 0.7, 0.95, 1.0, 0.05] * 3)
"""Of the true label: inputs that fail more often than not are wrong when clean."""
RIGHT = int((FAILS < 0.5).sum())
KAPPA = 0.1


def _study(p: np.ndarray, method: Any, seed: int, **changes: Any) -> sf.Study:
    return noise_study(p, method, seed, property=sf.properties.TrueLabel(), **changes)


for _name, _method in (
    ("each input to a width", sf.methods.ExactSequential(0.2, 0.1)),
    ("the same number of trials each", sf.methods.FixedSize(0.2, 0.1)),
    ("few trials", sf.methods.SetMean(0.03, 0.1)),
):

    @world("accuracy_set", _name, 0.1)
    def _set(seed: int, method: object = _method) -> Outcome:
        claim = _study(FAILS, method, seed).run(**QUICK).claims[0]
        assert claim.kind == "accuracy_set"
        assert claim.clean == RIGHT
        return missed(claim, 1 - float(FAILS.mean()))


@world("accuracy_set", "required exactly at the accuracy", 0.1)
def _set_required(seed: int) -> Outcome:
    result = _study(FAILS, sf.methods.SetMean(0.03, 0.1), seed).run(**QUICK)
    return judged(result.require(1 - float(FAILS.mean())).verdicts[0], holds=True)


@world("accuracy_set", "counted: nothing is random", 0.0)
def _counted(seed: int) -> Outcome:
    """Inputs at -1, 1 and 3, less 2: as many are right as are at 3, exactly, and 93 % is 93 %."""
    values = np.random.default_rng(seed).permutation([-1.0] * 2 + [1.0] * 5 + [3.0] * 93)
    inputs = sf.load_inputs(
        np.stack([values, values], 1).astype(np.float32), np.ones(len(values), int)
    )
    method = sf.methods.SetMean(0.02, 0.1)
    result = sf.Study(sign_model(), inputs, Shift(2.0), method, seed=seed).run(**QUICK)
    claim = result.claims[0]
    assert claim.clean == 98
    assert result.require(0.93).verdicts[0].verdict is Verdict.PASS
    return missed(claim, 0.93)


def _sample(rng: np.random.Generator, n: int) -> np.ndarray:
    """A tenth is wrong when clean and mostly stays so; of the others a fifth is fragile."""
    kinds = rng.choice(3, n, p=[0.1, 0.18, 0.72])
    return np.array([0.9, 0.4, 0.01])[kinds]


_AFTER, _CLEAN = 1 - (0.1 * 0.9 + 0.18 * 0.4 + 0.72 * 0.01), 0.9
for _name, _method, _n in (
    ("each input to a width", sf.methods.FixedSize(0.35, 0.1), 40),
    ("one trial each", sf.methods.PopulationMean(0.01, 0.1), 60),
    ("beside these inputs", sf.methods.SetMean(0.01, 0.1), 60),
):
    for _kind, _truth in (
        ("accuracy_population", _AFTER),
        ("clean_accuracy", _CLEAN),
        ("accuracy_drop", _CLEAN - _AFTER),
    ):

        @world(_kind, _name, 0.1)
        def _population(
            seed: int, kind: str = _kind, truth: float = _truth, method: Any = _method, n: int = _n
        ) -> Outcome:
            p = _sample(np.random.default_rng([seed, n]), n)
            changes = {} if method.needs is sf.methods.Needs.MEAN else {"by_class": False}
            claim = of_kind(_study(p, method, seed, **changes).run(**QUICK).claims, kind)[0]
            assert claim.about.of is About.POPULATION
            return missed(claim, truth)


@world("accuracy_drop", "in groups of inputs alike", 0.1)
def _grouped(seed: int) -> Outcome:
    """20 groups of 5 inputs alike: pairs of clean and perturbed are pairs of groups."""
    rng = np.random.default_rng([seed, 5])
    p = np.repeat(_sample(rng, 20), 5)
    plain = normal_inputs(p)
    groups = [str(i // 5) for i in range(100)]
    inputs = sf.load_inputs(plain.x, plain.labels, groups=groups)
    study = _study(p, sf.methods.FixedSize(0.35, 0.1), seed, inputs=inputs, by_class=False)
    return missed(of_kind(study.run(**QUICK).claims, "accuracy_drop")[0], _CLEAN - _AFTER)


@world("count_kappa", "some wrong when clean", 0.1)
def _count(seed: int) -> Outcome:
    """They have no trials, and are none of those that were decided to fail too often."""
    p = np.array([0.9] * 5 + [KAPPA] * 6 + [3 * KAPPA] * 3)
    result = _study(p, sf.methods.KappaTest(KAPPA, 0.1, 800), seed).run(**QUICK)
    claim = of_kind(result.claims, "count_kappa")[0]
    assert claim.clean == 5
    assert all(row.result.trials == 0 for row in result.inputs[:5])
    return missed(claim, 3.0)


@world("share_kappa", "those wrong when clean count as not robust", 0.1)
def _share(seed: int) -> Outcome:
    rng = np.random.default_rng([seed, 23])
    p = np.array([0.9, KAPPA])[(rng.random(30) < 0.7).astype(int)]
    study = _study(p, sf.methods.KappaTest(KAPPA, 0.1, 600), seed, by_class=False)
    return missed(of_kind(study.run(**QUICK).claims, "share_kappa")[0], 0.7)


for _name, _p, _holds in (
    ("the others at κ", [0.9] * 4 + [KAPPA] * 6, True),
    ("one of the others beside κ", [0.9] * 4 + [1.02 * KAPPA, 0.0, 0.0], False),
):

    @world("all_kappa", f"some wrong when clean, {_name}", 0.1)
    def _all(seed: int, p: list = _p, holds: bool = _holds) -> Outcome:
        method = sf.methods.KappaTest(KAPPA, 0.1, 800)
        result = _study(np.array(p), method, seed).run(**QUICK)
        return judged(result.require("all").verdicts[0], holds=holds)


@world("all_kappa", "none right when clean: neither answer", 0.0)
def _none(seed: int) -> Outcome:
    result = _study(np.full(5, 0.9), sf.methods.KappaTest(KAPPA, 0.1, 800), seed).run(**QUICK)
    verdict = result.require("all").verdicts[0]
    return add_up([judged(verdict, holds=True), judged(verdict, holds=False)])
