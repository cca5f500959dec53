"""Evidence of radii and attacks: recomputed, and checked again with the model; nothing invented."""

from dataclasses import replace

import numpy as np
import pytest

import surefoot as sf
from surefoot.conclude.comparison import joined_record
from surefoot.core.claims import MeanRadius
from surefoot.engine.proof_bench import decode_point, encode_point
from surefoot.errors import EvidenceFailed
from surefoot.evidence.check import claim_words
from surefoot.evidence.statement import evidence_of
from surefoot.evidence.write import write_statement
from tests.refusals import refused
from tests.unit.test_evidence_file import changed, concluded, exit_code, statement_of, write
from tests.unit.test_radii_study import linear_study

POINTS = [(0.5, 0.7), (0.9, 0.8), (0.1, 0.2), (0.45, 0.5)]
"""Their critical radii are |sum - 1| / 2: 0.1, 0.35, 0.35, 0.025."""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    method = sf.methods.CriticalLevel(tolerance=1e-2, seconds_per_input=5, samples=50)
    return linear_study(tmp_path_factory.mktemp("radii"), POINTS, method)


@pytest.fixture(scope="module")
def run(study):
    return study.run()


def altered(run, alter):
    """Evidence whose last proofs are altered, and everything else recomputed from them."""
    entries = {
        name: [*first, last._replace(evidence=alter(name, last.evidence))]
        for name, (*first, last) in run.journal.replay().items()
    }
    return evidence_of(concluded(run.record, entries), entries)


def forged(run, alter, path):
    return write_statement(altered(run, alter), path, None)


def check(path, study, **options):
    given = {"share": 1, "seed": 4, "proofs": 4} | options
    return sf.check_evidence(path, model=study.model, data=study.inputs, **given)


def test_true_radii_pass_with_every_proof_done_again(study, run, tmp_path):
    answer = check(run.evidence(tmp_path / "run.json"), study)
    assert answer.exit_code == 0, str(answer)
    assert "All 4 counterexamples of the file were run again; each fails" in answer.explain()
    assert "4 of 4 proofs were done again; each proves the radius" in answer.explain()
    mean = next(c for c in run.record.claims if isinstance(c, MeanRadius))
    assert answer.says == (claim_words(mean),)  # nothing bounds the quantile from below


def test_a_search_that_ended_before_the_last_input_is_written_and_checked(tmp_path):
    points = np.random.default_rng(0).random((300, 2))
    method = sf.methods.CriticalQuantile(within=0.2, seconds_per_input=5)
    short = linear_study(tmp_path, points, method)
    run = short.run()
    assert len(run.record.inputs) < run.record.clean.inputs == 300
    path = run.evidence(tmp_path / "run.json")
    assert sf.check_evidence(path).exit_code == 0
    fewer = replace(run.record.clean, right=50, inputs=60)
    findings = (replace(f, clean=f.clean and fewer) for f in run.record.findings)
    wrong = evidence_of(replace(run.record, findings=tuple(findings)), run.journal.replay())
    with pytest.raises(EvidenceFailed, match="the check of the clean accuracy"):
        write_statement(wrong, tmp_path / "wrong.json", None)


def test_an_invented_radius_is_refuted_by_points_and_by_the_prover(study, run, tmp_path):
    """Input 0 fails from 0.1 on; the forger says 0.2, with a counterexample that does fail."""

    def larger(name, proof):
        if name != run.record.inputs[0].id:
            return proof
        point = np.array(POINTS[0]) - 0.205
        return replace(proof, low=0.2, high=0.2051, witness=encode_point(point))

    path = forged(run, larger, tmp_path / "forged.json")
    assert sf.check_evidence(path).exit_code == 0
    answer = check(path, study)
    assert answer.exit_code == 1
    text = answer.explain()
    assert "All 4 counterexamples" in text
    assert "in the proved balls of 4 of 4 inputs with a proved radius some fail" in text
    assert "within the radius 0.2 that the file calls proved" in text
    codes = {check(path, study, share=0.01, proofs=0, seed=seed).exit_code for seed in range(5)}
    assert codes == {0, 1}  # one of four inputs is drawn: it depends on which
    text = check(path, study, share=0.01, proofs=0).explain()
    assert "Invent proved radii: no proof was done again" in text


def test_a_counterexample_that_does_not_fail_or_lies_elsewhere_is_refuted(study, run, tmp_path):
    def kept(name, proof):
        x = np.array(POINTS[int(np.argmax([r.id == name for r in run.record.inputs]))])
        return replace(proof, witness=encode_point(x))

    def moved(name, proof):
        point = decode_point(proof.witness)
        return replace(proof, witness=encode_point(point + 0.5 * np.sign(0.5 - point)))

    def outside(name, proof):
        return replace(proof, witness=encode_point(np.array([np.nan, 0.0])))

    for alter, words in (
        (kept, "its point does not fail"),
        (moved, "away, not"),
        (outside, "lies inf away"),
    ):
        path = forged(run, alter, tmp_path / "forged.json")
        answer = check(path, study, share=0.01, proofs=0)
        assert answer.exit_code == 1
        assert words in answer.explain()


def test_no_program_is_started_because_a_file_names_it(study, run, cwd):
    other = replace(study, method=replace(study.method, verifier="touch started"))
    searched = {name: own[-1] for name, own in run.journal.replay().items()}
    entries = {name: [last._replace(start=0, stop=1)] for name, last in searched.items()}
    record = concluded(replace(run.record, spec=other.spec, digest=other.digest), entries)
    path = write_statement(evidence_of(record, entries), cwd / "other.json", None)
    refused(r"a program that it names.*--trust", check, path, study)
    assert not (cwd / "started").exists()


def test_of_several_runs_side_by_side_each_is_checked_again(study, run, tmp_path):
    def of_second(alter):
        parts = {"coarse": evidence_of(run.record, run.journal.replay())}
        parts["fine"] = altered(fine, alter)
        records = {name: part.record for name, part in parts.items()}
        whole = evidence_of(joined_record(records, "curve"), {}, parts=parts)
        path = write_statement(whole, tmp_path / "both.json", None)
        assert sf.check_evidence(path).exit_code == 0
        return check(path, study, share=0.01, proofs=1)

    def kept(name, proof):
        return replace(proof, witness=encode_point(np.array(POINTS[int(name)])))

    fine = replace(study, method=replace(study.method, tolerance=5e-3)).run()
    honest = of_second(lambda name, proof: proof)
    assert honest.exit_code == 0, str(honest)
    assert "coarse: All 4 counterexamples of the file were run again" in honest.explain()
    assert "fine: 1 of 4 proofs were done again" in honest.explain()
    forged = of_second(kept)
    assert forged.exit_code == 1
    assert "fine: No: 4 of 4 counterexamples do not hold" in forged.explain()


MANY = np.random.default_rng(1).uniform(0, 1, (12, 2))


@pytest.mark.parametrize(
    "method",
    [
        sf.methods.CriticalLevel(tolerance=1e-2, seconds_per_input=5),
        sf.methods.CriticalQuantile(0.3, 60, within=0.3),
    ],
    ids=["each input", "a search that chooses inputs"],
)
def test_radii_are_recomputed_and_a_larger_one_is_refuted(method, tmp_path):
    run = linear_study(tmp_path, MANY, method).run().at_radius(0.05, 0.1)
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
    base = linear_study(tmp_path, MANY)
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
