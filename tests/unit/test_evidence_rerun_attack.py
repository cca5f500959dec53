"""The attack beside a study, run again with the model: what is invented or hidden is refuted."""

import re
from dataclasses import replace

import pytest

import surefoot as sf
from surefoot.evidence.statement import evidence_of
from surefoot.evidence.write import write_statement
from surefoot.recheck import trials
from surefoot.region.attack_method import AttackOutcome
from tests import worlds
from tests.unit.test_evidence_file import concluded
from tests.unit.test_radii_study import linear_study

_FOUND, _NOT_FOUND = AttackOutcome.FOUND, AttackOutcome.NOT_FOUND

LEVEL = 0.1
POINTS = [(0.5, 0.55), (0.9, 0.8), (0.1, 0.2), (0.45, 0.5), (0.3, 0.6), (0.7, 0.9)]
"""Their critical radii are |sum - 1| / 2: 0.025, 0.35, 0.35, 0.025, 0.05, 0.3."""
ATTACK = sf.methods.Attack(starts=1, iterations=10)
BROKEN, KEPT = 0, 1
"""An input that the attack breaks at 0.1, and one that no attack can."""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    base = linear_study(tmp_path_factory.mktemp("attack"), POINTS)
    noise = sf.perturb.LinfNoise(LEVEL)
    return replace(base, perturbation=noise, method=sf.methods.FixedSize(0.3, 0.2))


@pytest.fixture(scope="module")
def run(study):
    return study.run(attack=ATTACK)


def forged(run, row, path, **change):
    """A file whose attack says something else of one input; everything else is recomputed."""
    attack, name = run.attack_run, run.record.inputs[row].id
    entries = {
        n: [e._replace(evidence=replace(e.evidence, **change)) if n == name else e for e in own]
        for n, own in attack.journal.replay().items()
    }
    of_attack = concluded(attack.record, entries)
    details = replace(run.details, attack=replace(of_attack.details, run=of_attack.digest))
    others = (claim for claim in run.claims if claim.kind != "robust_accuracy")
    record = replace(run.record, claims=(*others, *of_attack.claims), details=details)
    beside = evidence_of(of_attack, entries)
    return write_statement(evidence_of(record, run.journal.replay(), beside), path, None)


def check(path, study, **more):
    given = {"model": study.model, "data": study.inputs, "share": 1, "seed": 3} | more
    return sf.check_evidence(path, **given)


def test_a_true_attack_passes_beside_a_study_and_by_itself(study, run, tmp_path):
    answer = check(run.evidence(tmp_path / "run.json"), study)
    assert answer.exit_code == 0, str(answer)
    words = answer.again.trials[-1].subject
    assert words.startswith("All 6 attacked inputs were attacked again, and all came out")
    alone = check(run.attack_run.evidence(tmp_path / "attack.json"), study)
    assert (alone.exit_code, alone.again.trials[-1].subject) == (0, words)


@pytest.mark.parametrize(
    ("row", "here", "there", "high"),
    [(KEPT, _NOT_FOUND, _FOUND, LEVEL), (BROKEN, _FOUND, _NOT_FOUND, None)],
    ids=["an invented counterexample", "a hidden one"],
)
def test_a_forged_outcome_of_an_attack_is_refuted(study, run, row, here, there, high, tmp_path):
    path = forged(run, row, tmp_path / "forged.json", reason=there, high=high)
    before = sf.check_evidence(path)
    assert before.exit_code == 0, str(before)  # consistent: without the model nobody notices
    answer = check(path, study)
    assert answer.exit_code == 1
    assert "1 of 6 attacked inputs came out otherwise" in answer.explain()
    assert f"The first: input {row}: {here} here, {there} in the file." in answer.explain()
    codes = {check(path, study, share=0.1, seed=seed).exit_code for seed in range(6)}
    assert codes == {0, 1}  # one of six inputs is drawn: it depends on which


def test_what_an_undetected_forger_could_hide_is_what_the_sentence_says(study, run, tmp_path):
    """It names 5 %, here one input: who hid one says 2 of 6, and the sentence says truly 3."""
    change = {"reason": _NOT_FOUND, "high": None}
    path = forged(run, BROKEN, tmp_path / "forged.json", **change)
    answers = (check(path, study, share=0.1, seed=seed) for seed in range(12))
    text = next(answer for answer in answers if answer.exit_code == 0).explain()
    [(truly, said)] = re.findall(r"truly (\d) of 6 attacked inputs failed, and not (\d) as", text)
    assert (int(said), int(truly)) == (2, run.details.attack.broken)


def test_an_attack_that_cannot_be_run_again_is_open_with_the_reason(
    study, run, tmp_path, monkeypatch
):
    def corner(model, images, labels, radius):
        return images + radius

    in_python = worlds.study(inputs=worlds.points(4), method=study.method)
    own = in_python.run(attack=sf.methods.AttackFunction(corner))
    monkeypatch.setattr(trials, "_MOST_STEPS", ATTACK.most_steps - 1)
    for of, result, reason in (
        (in_python, own, "the method attack-function is code of its user"),
        (study, run, f"it makes {ATTACK.most_steps:,} gradient steps an input"),
    ):
        answer = check(result.evidence(tmp_path / "run.json"), of)
        assert answer.exit_code == 2, str(answer)
        assert f"The attack cannot be run again here: {reason}" in answer.explain()


def test_attacks_of_a_comparison_are_drawn_from_all_its_runs(study, tmp_path):
    both = sf.sweep(study, [0.04, LEVEL], attack=sf.methods.PGD())
    answer = check(both.evidence(tmp_path / "both.json"), study)
    assert answer.exit_code == 0, str(answer)
    number = "All 12 attacked inputs (6 of 6 of 0.04, 6 of 6 of 0.1) were attacked again"
    assert number in answer.explain()
