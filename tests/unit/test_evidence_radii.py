"""Evidence of radii and attacks: brackets recomputed, forged ones refuted, the rest named."""

import numpy as np
import pytest

import surefoot as sf
from tests.unit.test_evidence_file import changed, exit_code, statement_of, write
from tests.unit.test_radii_study import linear_study

POINTS = np.random.default_rng(1).uniform(0, 1, (12, 2))


@pytest.mark.parametrize(
    "method",
    [
        sf.methods.CriticalLevel(tolerance=1e-2, seconds_per_input=5),
        sf.methods.CriticalQuantile(0.3, 60, within=0.3),
    ],
    ids=["each input", "a search that chooses inputs"],
)
def test_radii_are_recomputed_and_a_larger_one_is_refuted(method, tmp_path):
    run = linear_study(tmp_path, POINTS, method).run().at_radius(0.05, 0.1)
    path = run.evidence(tmp_path / "run.json")
    check = sf.check_evidence(path)
    assert check.exit_code == 0, str(check)
    assert len(check.claims) == len(run.claims)
    statement = statement_of(path)
    results = statement["predicate"]["inputs"]["results"]
    proved = next(one["interval"] for one in results if one["interval"]["low"] > 0)
    proved["low"] /= 2
    assert exit_code(write(path, statement)) == 1


def test_an_attack_is_recomputed_by_itself_and_beside_an_estimate_if_its_journal_is_there(tmp_path):
    base = linear_study(tmp_path, POINTS)
    parts = {"model": base.model, "inputs": base.inputs, "property": base.property}
    noise = sf.perturb.LinfNoise(0.1)
    alone = sf.Study(perturbation=noise, method=sf.methods.Attack(), **parts).run()
    path = alone.evidence(tmp_path / "alone.json")
    assert sf.check_evidence(path).exit_code == 0
    broken = ("predicate", "details", "broken")
    assert exit_code(write(path, changed(statement_of(path), broken))) == 1

    method = sf.methods.FixedSize(0.3, 0.2)
    beside = sf.Study(perturbation=noise, method=method, **parts).run(attack=sf.methods.Attack())
    path = beside.evidence(tmp_path / "beside.json")
    check = sf.check_evidence(path)
    assert check.exit_code == 0, str(check)
    assert any("not the points that it found" in line for line in check.not_covered)
    statement = statement_of(path)
    for leaf in (
        ("predicate", "attack", "inputs", "results", 0, "reason"),
        ("predicate", "attack", "study", "seed"),
        ("predicate", "details", "attack", "broken"),
    ):
        assert exit_code(write(path, changed(statement, leaf))) == 1, leaf
    statement["predicate"]["attack"] = None
    check = sf.check_evidence(write(path, statement))
    assert (check.exit_code, check.claims[-1].status) == (2, "not recomputed")
    assert "a run of its own" in check.claims[-1].reason
