"""With model and data a second party runs recorded trials again: what a forger risks, exactly."""

import math
from dataclasses import replace

import numpy as np
import pytest

import surefoot as sf
from surefoot.core.counts import Counts
from surefoot.core.tasks import Entry
from surefoot.evidence.check import read_and_check
from surefoot.evidence.statement import evidence_of
from surefoot.evidence.write import write_statement
from surefoot.recheck.trials import catch_probability, draw_trials
from tests import forgers
from tests.refusals import refused
from tests.unit.test_evidence_file import concluded
from tests.worlds import linear_model, points, study

SEEDS = 1000
TAIL = sf.methods.NormalTail(draws=20, transforms=("none",))
INPUTS, FEW = points(24), points(4)
MIXTURE = sf.perturb.Mixture(
    (sf.perturb.RandomLevel(0.5, sf.perturb.LinfNoise(0.5)), sf.perturb.GaussianNoise(0.2))
)


@pytest.fixture(scope="module")
def run():
    """24 inputs with 70 trials each, in rows of the journal that are unequal."""
    return study(inputs=INPUTS, method=sf.methods.FixedSize(0.1, 0.1)).run(batch=60)


@pytest.fixture(scope="module")
def draws(run):
    """What many seeds draw: it depends on the sizes of rows alone, so a forger meets the same."""
    return [draw_trials(run.journal.replay(), 0.1, seed) for seed in range(SEEDS)]


def forged(result, alter, path, key=None):
    """A file whose journal is altered row by row, and everything else recomputed from it."""
    entries = {name: list(map(alter, own)) for name, own in result.journal.replay().items()}
    record = concluded(result.record, entries)
    record = replace(record, details=replace(record.details, clean_loss=None))
    return write_statement(evidence_of(record, entries), path, key), entries


def without_failures(chosen):
    """A forger who lets these rows say that no trial failed, or that one did."""

    def alter(entry):
        if entry not in chosen:
            return entry
        n = entry.stop - entry.start
        return entry._replace(evidence=Counts(n, n - (entry.evidence.kept == n)))

    return alter


def check(path, share=0.3, seed=3, **more):
    parts = {"model": linear_model(), "data": INPUTS}
    return sf.check_evidence(path, share=share, seed=seed, **(parts | more))


def test_the_probability_to_notice_is_that_of_counting():
    for total in range(1, 9):
        for altered in range(total + 1):
            for drawn in range(1, total + 1):
                missed = math.comb(total - altered, drawn) / math.comb(total, drawn)
                chance = catch_probability(total, altered, drawn)
                assert chance == pytest.approx(1 - missed, abs=1e-12)
    assert catch_probability(10**15, 10**13, 300) == pytest.approx(1 - 0.99**300)


@pytest.mark.parametrize("where", ["smallest rows", "largest rows", "any rows"])
def test_a_forger_is_caught_as_often_as_the_sentence_says(run, draws, where, tmp_path):
    """Rows of unequal sizes: however the altered trials lie, a share of them is noticed as said."""
    rows = [entry for own in run.journal.replay().values() for entry in own]
    assert {entry.stop - entry.start for entry in rows} == {10, 60}
    order = {"smallest rows": 1, "largest rows": -1}.get(where, 0)
    rows.sort(key=lambda entry: order * (entry.stop - entry.start))
    chosen = rows[: len(rows) // 8]
    path, entries = forged(run, without_failures(chosen), tmp_path / "forged.json")
    assert sf.check_evidence(path).exit_code == 0  # consistent: without the model nobody notices
    altered = [
        (name, before)
        for name, own in entries.items()
        for entry, before in zip(own, run.journal.replay()[name], strict=True)
        if entry != before
    ]
    assert len(altered) >= len(chosen)
    total = sum(e.stop - e.start for own in entries.values() for e in own)
    held = sum(entry.stop - entry.start for _, entry in altered)
    caught = [any(entry in draw.rows.get(name, ()) for name, entry in altered) for draw in draws]
    said = draws[0].catch(held / total)
    assert abs(np.mean(caught) - said) < 4 * math.sqrt(said * (1 - said) / SEEDS)
    assert np.mean([draw.trials for draw in draws]) <= 0.1 * total * 1.02
    for seed in (caught.index(True), caught.index(False)):  # and the check itself says so
        answer = check(path, 0.1, seed)
        assert (answer.exit_code == 1) is caught[seed]
        assert answer.conclusion.startswith("Refuted") is caught[seed]


def test_without_a_share_enough_is_drawn_to_notice_one_altered_trial_in_twenty(run, tmp_path):
    enough, one = (draw_trials(run.journal.replay(), share, 3) for share in (None, 1e-9))
    assert (enough.total, one.drawn, one.catch(0.05)) == (1680, 1, pytest.approx(0.05))
    assert enough.catch(0.05) >= 0.95 > catch_probability(1680, 84, enough.drawn - 1)
    path = run.evidence(tmp_path / "run.json")
    for share, chance in ((None, "95.1 %"), (1e-9, "5 %")):
        answer = check(path, share)
        words = answer.again.trials[-1].subject
        assert answer.exit_code == 0
        assert f" {chance} if 5 %" in words and f"probability {chance}," in answer.conclusion
        assert ("--share" in words) is (share is not None)
    few = {"one": [Entry(0.1, 0, 3, Counts(3, 3))]}
    assert draw_trials(few, None, 1).drawn == 3


@pytest.mark.parametrize("name", forgers.METHODS)
def test_a_forger_who_hides_a_tenth_of_the_inputs_is_caught_at_the_default_cost(name, tmp_path):
    """Few trials, and a robust share, or a mean, that is wrong by 10 points: at least 38 of 40."""
    honest, path = forgers.forged(name, tmp_path / "forged.json")
    without, evidence = read_and_check(path)
    assert without.exit_code == 0  # consistent
    entries = evidence.entries
    hidden = {f"input-{i}" for i in range(forgers.INPUTS - forgers.HIDDEN, forgers.INPUTS)}
    draws = [draw_trials(entries, None, seed) for seed in range(100)]
    sizes = draws[0].inputs
    assert sum(sizes[n] for n in hidden) < 0.06 * draws[0].total  # of the trials, not of the inputs
    caught = [bool(hidden & draw.rows.keys()) for draw in draws]
    assert sum(caught[:40]) >= 38
    only_trials = catch_probability(draws[0].total, sum(sizes[n] for n in hidden), draws[0].drawn)
    assert only_trials < 0.95
    assert draws[0].catch_inputs([sizes[n] for n in hidden]) > 0.99
    few = ["input-97", "input-98", "input-99"]  # where the sentence is no certainty
    said = draws[0].catch_inputs([sizes[n] for n in few])
    share = np.mean([any(n in draw.rows for n in few) for draw in draws])
    assert abs(share - said) < 4 * math.sqrt(said * (1 - said) / len(draws))
    answer = check(path, None, 0, model=honest.model, data=honest.inputs)
    assert (answer.exit_code, caught[0]) == (1, True)
    own = check(honest.run().evidence(path), None, 0, model=honest.model, data=honest.inputs)
    assert own.exit_code == 0
    assert "5 of 100 inputs altered throughout with probability 9" in own.conclusion


def test_no_more_than_a_share_is_run_again_where_inputs_are_drawn_too():
    """Unequal inputs: half of what a share allows is drawn by input, and the mean cost is kept."""
    sizes = [10] * 20 + [1000] * 20
    entries = {
        f"i{i}": [Entry(0.1, s, min(s + 7, n), Counts(1, 1)) for s in range(0, n, 7)]
        for i, n in enumerate(sizes)
    }
    draws = [draw_trials(entries, 0.02, seed) for seed in range(200)]
    assert draws[0].by_input > 0
    assert np.mean([draw.trials for draw in draws]) <= 1.02 * 0.02 * sum(sizes)
    assert draw_trials(entries, None, 1).catch_mean([10, 10]) >= 0.95


@pytest.mark.parametrize("change", ["all left out", "one left out", "a warning called ok"])
def test_the_checks_before_the_run_are_done_again(run, change, tmp_path):
    findings = [one for one in run.record.findings if one.clean is not None]
    others = [one for one in run.record.findings if one.clean is None]
    odd = next(one for one in others if one.is_warning)
    if change != "all left out":
        findings += [one for one in others if one is not odd]
    if change == "a warning called ok":
        findings.append(replace(odd, status="ok"))
    record = replace(run.record, findings=tuple(findings))
    evidence = evidence_of(record, run.journal.replay())
    path = write_statement(evidence, tmp_path / "calm.json", None)
    assert sf.check_evidence(path).exit_code == 0  # nobody knows without the model
    answer = check(path)
    assert answer.exit_code == 1
    assert odd.finding.split(";")[0] in answer.explain() or change == "all left out"


@pytest.mark.parametrize(
    ("name", "change", "exit_code"),
    [
        ("labels and clean accuracy", {"finding": ("100.0 %", "12.0 %")}, 1),
        ("labels and clean accuracy", {"status": "failed"}, 1),
        ("copies among the inputs", {"finding": ("0 of 24", "9 of 24")}, 1),
        ("copies among the inputs", {"status": "warning"}, 1),
        ("bounds of the inputs", {"finding": ("range from -0", "range from -7")}, 1),
        ("kind of scores", {"finding": ("2 classes", "3 classes")}, 2),
        ("answers repeat", {"status": "warning"}, 2),
        ("answers repeat", {"status": "failed"}, 2),
        ("answers repeat", {"finding": ("within 0", "within 6e-08")}, 0),
        ("scores are finite", {"finding": ("finite scores for", "finite scores, 1e+02 for")}, 2),
        ("strength of the perturbation", {"finding": ("by up to 0", "by up to 9")}, 0),
    ],
)
def test_each_check_before_the_run_is_compared_but_for_rounding(
    run, name, change, exit_code, tmp_path
):
    [one] = [one for one in run.record.findings if one.name == name]
    before, after = change.get("finding", ("", ""))
    assert before in one.finding
    edited = replace(one, **{**change, "finding": one.finding.replace(before, after)})
    findings = tuple(edited if other is one else other for other in run.record.findings)
    evidence = evidence_of(replace(run.record, findings=findings), run.journal.replay())
    answer = check(write_statement(evidence, tmp_path / "edited.json", None), share=0.02)
    assert answer.exit_code == exit_code, str(answer)


def test_a_signature_of_the_forger_does_not_help(run, tmp_path):
    sf.new_key(tmp_path / "forger.pem")
    rows = [entry for own in run.journal.replay().values() for entry in own]
    path, _ = forged(run, without_failures(rows), tmp_path / "f.json", tmp_path / "forger.pem")
    answer = check(path, share=1e-9, key=tmp_path / "forger.pub")
    assert answer.exit_code == 1
    assert "1 of 1 rows came out otherwise" in answer.explain()


@pytest.mark.parametrize(
    ("method", "changes"),
    [
        (sf.methods.KappaTest(0.2, 0.1, max_trials=60), {}),
        (sf.methods.SetMean(0.1, 0.2), {}),
        (sf.methods.UniformCurve(0.0, 1.0, (0.8,)), {"perturbation": sf.perturb.LinfNoise()}),
        (sf.methods.FixedSize(0.3, 0.2), {"perturbation": MIXTURE}),
    ],
    ids=["kappa", "mean", "curve", "mixture"],
)  # fmt: skip
def test_an_honest_file_of_any_method_passes_with_every_trial_run_again(method, changes, tmp_path):
    path = study(inputs=FEW, method=method, **changes).run().evidence(tmp_path / "run.json")
    answer = check(path, share=1, data=FEW)
    assert answer.exit_code == 0, str(answer)
    assert "all " in answer.again.trials[-1].subject


def test_a_severity_that_a_forger_lowers_a_little_is_noticed_trial_by_trial(tmp_path):
    prop, two = sf.properties.NoConfidentMistake(0.6), points(2)
    tail = study(inputs=two, method=TAIL, property=prop).run()
    honest = check(tail.evidence(tmp_path / "run.json"), share=0.2, data=two)
    assert honest.exit_code == 0
    assert "8 of 40 recorded trials were run again" in honest.explain()

    def lower(entry):
        own = entry.evidence
        return entry._replace(evidence=replace(own, values=tuple(v * 0.99 for v in own.values)))

    path, _ = forged(tail, lower, tmp_path / "forged.json")
    answer = check(path, share=0.02, data=two)
    assert answer.exit_code == 1
    assert "severity" in answer.again.trials[-1].subject


def test_one_differing_trial_refutes_and_the_sentence_says_what_else_it_may_be(run, tmp_path):
    first = next(iter(run.journal.replay().values()))[0]
    path, _ = forged(run, without_failures([first]), tmp_path / "one.json")
    same = check(path, share=1).again.trials[-1]
    assert "(at least " in same.subject
    assert "the versions here are those of the run" in same.reason
    older = replace(run, record=replace(run.record, environment={"numpy": "1.0"}))
    path, _ = forged(older, without_failures([first]), tmp_path / "old.json")
    other = check(path, share=1)
    assert other.exit_code == 1
    assert "instead of 1.0" in other.again.trials[-1].reason


def test_nothing_is_run_with_another_model_or_other_data(run, tmp_path):
    path = run.evidence(tmp_path / "run.json")
    batches = []

    def watched(x):
        batches.append(len(x))
        return np.stack([x.sum(axis=1), np.zeros(len(x))], axis=1)

    other = sf.load_model(watched, shape=(6,))
    asked = len(batches)
    for changes, words in (
        ({"model": other}, "not the model of the run"),
        ({"data": points(23)}, "Here are 23 with digest"),
    ):
        answer = check(path, **changes)
        assert (answer.exit_code, answer.again.trials) == (1, ())
        assert words in answer.explain()
    assert len(batches) == asked


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"clean_kept": False}, "of 1 of 24 clean inputs the model says something else"),
        ({"label": 1}, "1 of 24 inputs of the file have another label or group in the data"),
    ],
)
def test_what_the_file_says_of_inputs_is_compared_too(run, change, sentence, tmp_path):
    """Also where a forger leaves out the digests of inputs, which would give a label away."""
    bare = [replace(row, digest="") for row in run.record.inputs]
    assert bare[0].label == 0
    findings = tuple(
        one
        if one.clean is None
        else replace(one, clean=replace(one.clean, right=one.clean.right - 1))
        for one in run.record.findings
    )
    inputs = (replace(bare[0], **change), *bare[1:])
    record = replace(run.record, inputs=inputs, findings=findings)
    entries = run.journal.replay()
    evidence = evidence_of(concluded(record, entries), entries)
    path = write_statement(evidence, tmp_path / "clean.json", None)
    assert sf.check_evidence(path).exit_code == 2
    answer = check(path)
    assert answer.exit_code == 1
    assert sentence in answer.explain()


def test_when_the_time_is_up_the_rest_is_open(run, tmp_path):
    path = run.evidence(tmp_path / "run.json")
    answer = check(path, share=1, time_limit=1e-9)
    assert answer.exit_code == 2
    assert "--time-limit" in answer.again.trials[-1].subject
    assert answer.conclusion.endswith("not all that was to be run again could be.")


def test_code_of_the_user_comes_from_the_user_and_never_from_the_file(tmp_path):
    own = sf.perturb.custom(lambda x, u, level: x + level * (u - 0.5), level=0.4, name="mine")
    path = study(inputs=INPUTS, perturbation=own, method=sf.methods.FixedSize(0.3, 0.2)).run()
    path = path.evidence(tmp_path / "run.json")
    refused(r"mine is code of its user.*--perturb", check, path)
    assert check(path, perturb=own).exit_code == 0
    refused(r"pass it as in the run \(--perturb\)", check, path, perturb=sf.perturb.LinfNoise(0.4))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"data": None}, r"model \(--model\) needs data \(--data\) too"),
        ({"model": None}, r"data \(--data\) needs model \(--model\) too"),
        ({"model": None, "data": None}, r"share \(--share\) is for running trials again"),
        ({"share": 0}, r"above 0 and at most 1, got 0: try 0.01"),
        ({"share": 1.01}, r"above 0 and at most 1, got 1.01: try 0.01"),
        ({"seed": -1}, r"seed must be an integer ≥ 0"),
        ({"proofs": -1}, r"proofs must be an integer ≥ 0"),
        ({"shares": 0.1}, r"no option 'shares': do you mean share"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_anything_is_read(options, sentence):
    refused(sentence, check, "nowhere.json", **options)


def test_a_fresh_seed_is_drawn_and_printed_and_repeats_the_check(run, tmp_path):
    path = run.evidence(tmp_path / "run.json")
    first, second = (check(path, 0.1, None).again.trials[-1].subject for _ in range(2))
    assert first != second
    seed = int(first.split("(seed ")[1].split(")")[0])
    assert check(path, 0.1, seed).again.trials[-1].subject == first


def test_a_row_that_claims_more_trials_than_anybody_runs_is_refused():
    entries = {"a": [Entry(0.1, 0, 10**18, Counts(10**18, 1))]}
    refused("nobody ran them", draw_trials, entries, 0.1, 1)


def test_a_clean_loss_that_is_not_that_of_the_model_is_refuted(run, tmp_path):
    loss = run.details.clean_loss
    for factor, code in ((1.0, 0), (0.9, 1)):
        details = replace(run.details, clean_loss=replace(loss, mean=factor * loss.mean))
        evidence = evidence_of(replace(run.record, details=details), run.journal.replay())
        path = write_statement(evidence, tmp_path / "loss.json", None)
        assert sf.check_evidence(path).exit_code == 0
        assert check(path, 0.01).exit_code == code
