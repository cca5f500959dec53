"""Splitting through the engine: particles by their names, resume, evidence, refusals, the page."""

import json
import math
from dataclasses import replace
from functools import reduce
from operator import getitem

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from scipy.special import ndtri

import surefoot as sf
from surefoot.commands import stored
from surefoot.core.claims import KINDS, Height
from surefoot.core.counts import Severities, Steps
from surefoot.core.results import Interval, Particle, RareFailure, Undecided
from surefoot.core.tasks import Task
from surefoot.engine.chains import LogitMargin, SplittingBench, without_steps
from surefoot.evidence.statement import first_difference
from surefoot.records.record import RareFailures
from surefoot.report.formatting import rare_range
from surefoot.report.views.splitting import input_table
from surefoot.subject.protocols import Scores
from tests.refusals import refused
from tests.unit.test_evidence_file import (
    SCHEMA,
    exit_code,
    leaves,
    statement_of,
    with_leaf,
    write,
)

SHAPE = (1, 4, 4)
WEIGHT = np.full(16, 0.25)
METHOD = sf.methods.Splitting(particles=10, runs=2, chain=8, error=0.1)
QUICK = {"workers": 1, "batch": 64}
SAME = sf.properties.SameLabel()


def scores(batch: np.ndarray) -> np.ndarray:
    margin = batch.reshape(len(batch), -1).astype(np.float64) @ WEIGHT
    return np.stack([margin, -margin], axis=1) / 2


def probabilities(batch: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.stack([scores(batch)[:, 0], scores(batch)[:, 1]], axis=1) * 2))


@pytest.fixture(scope="module")
def model():
    return sf.load_model(scores, shape=SHAPE, scores="logits")


def inputs(*failing: float):
    """That fail with these probabilities under Gaussian noise of 0.1."""
    x = -np.outer(ndtri(np.array(failing)) * 0.1, WEIGHT).reshape(-1, *SHAPE)
    return sf.load_inputs(x.astype(np.float32))


NOISE = sf.perturb.GaussianNoise(0.1)


def study(model, *failing, noise=NOISE, method=METHOD, prop=SAME):
    return sf.Study(model, inputs(*failing), noise, method, prop)


@pytest.mark.parametrize(
    "noise",
    [
        sf.perturb.GaussianNoise(0.1),
        sf.perturb.LinfNoise(0.2),
        sf.perturb.L2Noise(0.5),
        sf.perturb.Fog(2.0),
        sf.perturb.RandomLevel(20.0, sf.perturb.Rotation(20.0), lowest=-1.0),
    ],
    ids=lambda noise: noise.kind,
)
def test_a_first_particle_is_an_ordinary_trial_and_a_moved_one_follows_from_its_name(model, noise):
    own = study(model, 1e-3, noise=noise)
    trials, [subject] = own.bench(), own.fitted.subjects()
    bench = SplittingBench(trials.model, trials)
    level = noise.level
    for trial in (0, 3, 70):
        task = Task(subject, level, trial, trial + 1)
        normals = bench.normals_of(subject, Particle(trial))
        x = bench.perturbed_by([task], tuple(part[None] for part in normals))
        assert np.allclose(x, trials.perturbed(task), atol=1e-5)
    steps = Steps(Particle(3), -9.0, -99.0, 0.4)
    first, second = Task(subject, level, 100, 106, steps), Task(subject, level, 200, 206, steps)
    answers = bench.answer([first, Task(subject, level, 0, 2), second])
    assert isinstance(answers[1], Severities)
    assert answers[0].accepted == "1" * 6  # everything is above -99
    moved, other = (Particle(3, ((start, "1" * 6, 0.4),)) for start in (100, 200))
    assert not np.array_equal(
        bench.normals_of(subject, moved)[0], bench.normals_of(subject, other)[0]
    )
    again = SplittingBench(trials.model, trials)
    for kept, made in zip(
        bench.normals_of(subject, moved), again.normals_of(subject, moved), strict=True
    ):
        assert np.array_equal(kept, made)
    alone = again.answer([first])[0]
    assert alone.accepted == answers[0].accepted
    assert math.isclose(alone.severity, answers[0].severity, rel_tol=1e-6)


def test_a_run_that_is_interrupted_goes_on_to_the_same_result(model, tmp_path):
    whole = study(model, 1e-3, 1e-5).run(**QUICK)
    calls = 0

    def interrupted(batch):
        nonlocal calls
        calls += 1
        if calls == 60:
            raise KeyboardInterrupt
        return scores(batch)

    other = sf.load_model(interrupted, shape=SHAPE, scores="logits")
    object.__setattr__(other, "signature", model.signature)
    store = str(tmp_path / "runs.db")
    with pytest.raises(KeyboardInterrupt):
        study(other, 1e-3, 1e-5).run(store, **QUICK)
    resumed = study(model, 1e-3, 1e-5).run(store, workers=2, batch=7)
    assert [row.result.moves for row in resumed.inputs] == [r.result.moves for r in whole.inputs]
    assert resumed.record.inputs == whole.record.inputs


def test_its_claims_examples_evidence_and_page(model, tmp_path):
    method = replace(METHOD, about="these")
    result = study(model, 1e-3, 1e-4, 1e-30, method=method).run(**QUICK)
    [mean] = result.claims
    assert type(mean) is KINDS["rare_failure"]
    assert (1e-3 + 1e-4) / 3 in mean.interval
    often, seldom, never = (row.result for row in result.inputs)
    assert all(isinstance(one, RareFailure) for one in (often, seldom, never))
    assert never.failure is None  # left as soon as it hardly contributes
    assert never.moves < -never.walkers * math.log(1e-12)
    assert isinstance(result.details, RareFailures)
    assert [e.id for e in result.details.examples] == ["0", "0", "1", "1"]
    assert all(e.failed_class != e.clean_class for e in result.details.examples)
    file = tmp_path / "run.evidence.json"
    result.evidence(file)
    assert sf.check_evidence(file).exit_code == 0
    assert Draft202012Validator(SCHEMA).is_valid(statement_of(file))
    page = tmp_path / "page.html"
    result.report(page)
    assert "data:image/png" in page.read_text(encoding="utf-8")
    refused("passes no requirement", result.require, 0.5)


def test_the_mean_over_one_input_is_what_is_said_of_it(model):
    alone = study(model, 1e-3, method=replace(METHOD, about="these")).run(**QUICK)
    each = study(model, 1e-3).run(**QUICK)
    assert alone.claims == each.claims
    assert [claim.kind for claim in alone.claims] == ["rare_failure", "failure"]


@pytest.mark.parametrize(
    ("method", "prop"),
    [
        pytest.param(METHOD, SAME, marks=pytest.mark.slow),
        (sf.methods.NormalTail(draws=60), sf.properties.NoConfidentMistake(0.6)),
    ],
    ids=["splitting", "normal-tail"],
)
def test_a_tiny_probability_in_a_file_cannot_be_another_tiny_one(model, method, prop, tmp_path):
    path = tmp_path / "run.json"
    study(model, 1e-20, 1e-18, method=method, prop=prop).run(**QUICK).evidence(path)
    statement = statement_of(path)
    assert sf.check_evidence(write(path, statement)).exit_code == 0
    tiny = {
        leaf: value
        for leaf in leaves(statement["predicate"]["claims"], ("predicate", "claims"))
        if isinstance(value := reduce(getitem, leaf, statement), float) and 0 < value < 1e-15
    }
    assert tiny
    for leaf, value in tiny.items():
        for other in (value / 1000, value * 1.001, 2.0**-52):
            assert exit_code(write(path, with_leaf(statement, leaf, other))) in (1, 3), leaf


@pytest.mark.parametrize("tiny", [True, False])
def test_the_rounding_of_1_in_a_difference_is_no_other_number(tiny):
    assert first_difference([0.0], [1 - (1 - 2.0**-53)], tiny=tiny) is None
    assert first_difference([1 - 1e-9], [1 - 1e-9 + 2.0**-53], tiny=tiny) is None
    assert (first_difference([1e-17], [3e-18], tiny=tiny) is None) is not tiny
    assert first_difference([2e-16], [1.08e-15], tiny=tiny) == "0"


def test_a_table_of_confident_mistakes_says_what_counts_as_a_failure(model):
    confident = study(model, 0.3, prop=sf.properties.NoConfidentMistake(0.75)).run(**QUICK)
    plain = study(model, 0.3).run(**QUICK)
    assert "0.75" in input_table(confident.record).note
    assert "confidence" not in input_table(plain.record).note
    assert {claim.confident for claim in confident.claims} == {0.75}
    assert confident.claim_about("0").confident == 0.75
    assert {(claim.confident, claim.kept) for claim in plain.claims} == {(None, Height.LABELS_KEPT)}


def test_a_failure_that_was_found_is_replayed_by_its_name(model, tmp_path):
    own = study(model, 1e-4)
    result = own.run(**QUICK)
    [row] = result.inputs
    for run in row.result.runs:
        again = own.replay(row.id, run.found)
        assert not again.kept
        assert again.label != again.clean_label
    assert own.replay(row.id, 0).kept
    store, image, code = str(tmp_path / "runs.db"), tmp_path / "found.npy", tmp_path / "net.py"
    code.write_text(
        "import numpy as np\n"
        "def scores(x):\n"
        "    m = x.reshape(len(x), -1).astype(np.float64) @ np.full(16, 0.25)\n"
        "    return np.stack([m, -m], axis=1) / 2\n"
    )
    np.savez(tmp_path / "data.npz", x=own.fitted.x)
    given = f"{code}:scores", str(tmp_path / "data.npz"), "gaussian:0.1"
    options = {"method": "splitting", "particles": 10, "runs": 2, "property": "same"}
    sf.tail(*given, **options, shape=SHAPE, scores="logits", trust=True, store=store)
    reading = stored.ReplayOptions(store, save=str(image), trust=True)
    answer = stored.replay("latest", "0", "found-2", options=reading)
    assert json.loads(answer.json)["kept"] is False
    assert np.load(image).shape == SHAPE
    refused("found-1, found-2", stored.replay, "latest", "0", "found-3", options=reading)


def test_ends_of_rare_shares_are_rounded_outwards():
    assert rare_range(Interval(4.39e-7, 1.24e-6)) == "0.43 to 1.3 in 10⁶"
    assert rare_range(Interval(0.0, 2.01e-7)) == "less than 2.1 in 10⁷"
    assert rare_range(Interval(2e-7, 3e-7)) == "2 to 3 in 10⁷"


def test_probabilities_are_followed_by_their_logarithms_and_saturated_ones_are_undecided():
    model = sf.load_model(probabilities, shape=SHAPE, scores="probabilities")
    confident = sf.properties.NoConfidentMistake(0.6)
    [row] = study(model, 1e-4, prop=confident).run(**QUICK).inputs
    assert isinstance(row.result, RareFailure)
    hard = sf.load_model(lambda x: np.round(probabilities(x), 1), shape=SHAPE)
    [row] = study(hard, 1e-4).run(**QUICK).inputs
    assert isinstance(row.result, Undecided)
    assert row.result.because.why.name == "SEVERITY_TIES"


@pytest.mark.parametrize(
    "prop", [SAME, sf.properties.NoConfidentMistake(0.7)], ids=["same", "sure"]
)
@pytest.mark.parametrize("kind", [Scores.LOGITS, Scores.PROBABILITIES])
def test_a_severity_without_steps_fails_exactly_where_the_property_does(prop, kind):
    logits = np.random.default_rng(5).normal(size=(400, 4)).astype(np.float32) * 3
    softmax = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    given = logits if kind is Scores.LOGITS else softmax
    labels = np.arange(400) % 4
    whole = without_steps(prop, kind)
    assert isinstance(whole, LogitMargin) or (prop is SAME and kind is Scores.LOGITS)
    read = softmax if prop.needs is Scores.PROBABILITIES else given
    fails = prop.severity(read, labels) >= prop.limit
    assert np.array_equal(whole.severity(given, labels) >= whole.limit, fails)


def test_what_splitting_cannot_follow_is_refused_with_one_sentence(model):
    refused("in small steps", study, model, 0.1, noise=sf.perturb.GaussianGrid(0.25))
    seeded = sf.perturb.custom(lambda image, rng, level: image, level=0.1)
    refused("in small steps", study, model, 0.1, noise=seeded)
    refused("draws nothing", study, model, 0.1, noise=sf.perturb.GaussianBlur(1.0))
    boxes = sf.load_model(list, shape=SHAPE, scores="objects")
    alike = sf.properties.Kept(np.array_equal)
    refused("only says yes or no", study, boxes, 0.1, prop=alike)
    refused("particles must be", sf.methods.Splitting, particles=3)
    refused("least must lie", sf.methods.Splitting, least=0.0)
    refused("each or these", sf.methods.Splitting, about="all")
    given = {"model": model, "data": inputs(0.1), "perturb": "gaussian:0.1", "store": None}
    refused("is for method normal-tail", sf.tail, **given, method="splitting", draws=50)
    refused("is for method splitting", sf.tail, **given, particles=50)
    refused("there is no method", sf.tail, **given, method="other")
    refused("passes no requirement", sf.tail, **given, method="splitting", require=0.9)
    refused(
        "at one level",
        sf.tail,
        **{**given, "perturb": "gaussian"},
        method="splitting",
        levels=[0.1, 0.2],
    )
