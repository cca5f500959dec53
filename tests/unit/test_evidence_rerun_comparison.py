"""Evidence of a comparison, run again with all of its models: what a forger of one run risks."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import surefoot as sf
from surefoot.conclude.comparison import joined_record
from surefoot.core.counts import Counts
from surefoot.evidence.statement import evidence_of
from surefoot.evidence.write import write_statement
from surefoot.recheck.trials import draw_trials
from tests.unit.test_evidence_file import concluded
from tests.worlds import linear_model, points, study

SEEDS = 1000
INPUTS = points(12)
METHOD = sf.methods.FixedSize(0.1, 0.1)


def weighted(x):
    """Another model: the first value counts twice."""
    total = x.astype(np.float64).sum(axis=1) + x[:, 0]
    return np.stack([total, -total], axis=1)


MODELS = [linear_model(), sf.load_model(weighted, shape=(6,))]
NEW, OLD = MODELS


@pytest.fixture(scope="module")
def run():
    """Two models on 12 inputs with 70 trials each, in rows of 10 and of 60."""
    studies = {
        name: study(model=model, inputs=INPUTS, method=METHOD)
        for name, model in zip(("new", "old"), MODELS, strict=True)
    }
    return sf.compare(studies, batch=60)


def forged(run, alter, path):
    """A file whose second run is altered row by row; everything else is recomputed from it."""
    journals = {name: dict(part.journal.replay()) for name, part in run.parts.items()}
    journals["old"] = {n: [alter(n, entry) for entry in own] for n, own in journals["old"].items()}
    records = {}
    for name, part in run.parts.items():
        record = concluded(part.record, journals[name])
        details = replace(record.details, clean_loss=part.details.clean_loss)
        records[name] = replace(record, details=details)
    whole = joined_record(records, run.details.along, run.record.shared_error)
    parts = {name: evidence_of(record, journals[name]) for name, record in records.items()}
    return write_statement(evidence_of(whole, {}, parts=parts), path, None)


def more_failures(_, entry):
    """A forger who lets the other model fail more often."""
    n, kept = entry.stop - entry.start, entry.evidence.kept
    return entry._replace(evidence=Counts(n, max(0, kept - 5)))


def check(path, **more):
    given = {"model": MODELS, "data": INPUTS, "share": 1, "seed": 3} | more
    return sf.check_evidence(path, **given)


def test_an_honest_comparison_passes_whatever_the_order_of_its_models(run, tmp_path):
    path = run.evidence(tmp_path / "both.json")
    for models in (MODELS, MODELS[::-1], {"a": NEW, "b": OLD}):
        answer = check(path, model=models)
        assert answer.exit_code == 0, str(answer)
        assert (
            "All 1,680 recorded trials (840 of 840 of new, 840 of 840 of old)" in answer.explain()
        )
    named = [one.subject[:11] for one in answer.again.subjects]
    assert named == ["Model (new)", "Model (old)", "Data: yes, "]


def test_a_second_run_that_was_altered_consistently_is_refuted(run, tmp_path):
    path = forged(run, more_failures, tmp_path / "forged.json")
    before = sf.check_evidence(path)
    assert before.exit_code == 0, str(before)  # without the models nobody notices
    answer = check(path)
    assert answer.exit_code == 1
    assert "The first: old, input p0, trials 0 to 59" in answer.again.trials[-1].subject
    assert answer.again.forger == ()


def test_a_forger_of_one_run_is_caught_as_often_as_the_sentence_says(run, tmp_path):
    """The share is drawn over both runs, and the altered row lies in the second."""
    journals = {name: part.journal.replay() for name, part in run.parts.items()}
    joint = {(n, subject): own for n, part in journals.items() for subject, own in part.items()}
    total = sum(entry.stop - entry.start for own in joint.values() for entry in own)
    row = joint["old", "p3"][0]
    draws = [draw_trials(joint, 0.1, seed) for seed in range(SEEDS)]
    caught = [row in draw.rows.get(("old", "p3"), ()) for draw in draws]
    said = draws[0].catch((row.stop - row.start) / total)
    assert abs(np.mean(caught) - said) < 4 * math.sqrt(said * (1 - said) / SEEDS)

    def alter(subject, entry):
        return more_failures(subject, entry) if (subject, entry) == ("p3", row) else entry

    path = forged(run, alter, tmp_path / "one.json")
    for seed in (caught.index(True), caught.index(False)):  # and the check itself says so
        assert (check(path, share=0.1, seed=seed).exit_code == 1) is caught[seed]
    words = check(run.evidence(tmp_path / "run.json"), share=0.1).explain()
    least = float(re.search(r"5 % of its own are noticed with probability ([\d.]+) %", words)[1])
    assert least / 100 <= draws[0].catch(0.05 * 840 / total) < least / 100 + 0.001
    assert "so many altered in one run alone move its share of failed trials by up to 10 " in words


def test_with_one_of_two_models_its_run_is_run_again_and_the_other_is_open(run, tmp_path):
    answer = check(run.evidence(tmp_path / "both.json"), model=OLD)
    assert answer.exit_code == 2
    assert "Model (new): it was not given" in answer.again.subjects[0].subject
    assert "All 840 recorded trials of old were run again" in answer.explain()
    assert "ids, labels and groups" in answer.explain()  # still not covered of the other
    assert check(forged(run, more_failures, tmp_path / "f.json"), model=NEW).exit_code == 2


def test_nothing_is_run_with_a_model_of_no_run(run, tmp_path):
    other = sf.load_model(lambda x: -weighted(x), shape=(6,))
    answer = check(run.evidence(tmp_path / "both.json"), model=[NEW, other])
    assert (answer.exit_code, answer.again.trials) == (1, ())
    assert "a model that was given is that of none of the 2" in answer.explain()
    assert OLD.signature.digest in answer.explain()


def test_levels_of_one_model_are_run_again_also_under_a_perturbation_of_its_user(tmp_path):
    own = sf.perturb.custom(lambda x, u, level: x + level * (u - 0.5), level=0.4, name="mine")
    for perturbation, given in ((sf.perturb.LinfNoise(0.1), {}), (own, {"perturb": own})):
        parts = {"perturbation": perturbation, "method": sf.methods.FixedSize(0.3, 0.2)}
        both = sf.sweep(study(inputs=INPUTS, **parts), [0.2, 0.4])
        path = both.evidence(tmp_path / "levels.json")
        answer = check(path, model=NEW, **given)
        assert answer.exit_code == 0, str(answer)
        assert answer.again.subjects[0].subject.startswith("Model: yes")
