"""A study: what names it, what it refuses, what it says."""

import dataclasses
import json
import math
from dataclasses import replace

import numpy as np
import pytest

import surefoot as sf
from surefoot.catalogue.registry import PERTURBATIONS, PROPERTIES, number, parse_property
from surefoot.engine.outputs import CheckStatus
from surefoot.engine.preflight import examine
from surefoot.errors import StoreFailed
from surefoot.records.json_records import (
    decisive_json,
    record_from_json,
    record_to_json,
    spec_from_json,
    spec_to_json,
)
from surefoot.records.spec import ComparisonSpec, PartSpec
from surefoot.subject.protocols import View
from surefoot.system.text import level_words
from tests.in_words import together
from tests.refusals import raised, refused
from tests.unit.small_models import batch, relu_net
from tests.worlds import SHAPE, linear, linear_model, points, study

DIFFERENT = {
    "seed": {"seed": 2},
    "level": {"perturbation": sf.perturb.LinfNoise(0.41)},
    "kind": {"perturbation": sf.perturb.L2Noise(0.4)},
    "width": {"method": sf.methods.BuSun(0.11, 0.1)},
    "method": {"method": sf.methods.Okamoto(0.1, 0.1)},
    "property": {"property": sf.properties.TrueLabel()},
    "inputs": {"inputs": points(seed=8)},
    "population error": {"population": sf.population.Mean(0.2)},
    "bounds": {"model": linear_model(bounds=(-1, 1))},
}


@pytest.mark.parametrize("change", DIFFERENT)
def test_whatever_decides_the_result_is_in_the_digest(change):
    assert study(**DIFFERENT[change]).digest != study().digest


def test_the_digest_is_stable_and_ignores_how_a_run_is_done():
    assert study().digest == study().digest
    assert study().run(batch=5).record.digest == study().run(workers=2).record.digest


def test_per_class_intervals_and_the_mean_share_one_error():
    result = study(population=sf.population.Mean(0.1)).run()
    assert result.details.whole.guarantee.error == 0.05
    rows = result.details.classes
    assert sum(row.result.guarantee.error for row in rows) == pytest.approx(0.05)
    assert sum(row.inputs for row in rows) == 12
    joint = [c for c in result.claims if c.kind == "mean_population"]
    assert {together(c.guarantee) for c in joint} == {"the 2 classes and all inputs"}
    assert {c.guarantee.error for c in joint} == {0.1}


def test_one_class_alone_leaves_the_whole_error_to_the_mean():
    result = study(
        inputs=sf.load_inputs(np.abs(points().x)), population=sf.population.Mean(0.1)
    ).run()
    assert result.details.classes == ()
    assert result.details.whole.guarantee.error == 0.1


def test_without_labels_classes_are_what_the_model_predicts():
    bare = sf.load_inputs(points().x)
    result = study(inputs=bare).run()
    assert {row.name for row in result.details.classes} == {"0", "1"}
    refused("holds none", study, inputs=bare, property=sf.properties.TrueLabel())


def test_a_true_label_study_counts_a_misclassified_input_as_lost():
    inputs = points()
    wrong = sf.load_inputs(inputs.x, 1 - inputs.labels)
    result = study(
        inputs=wrong, property=sf.properties.TrueLabel(), perturbation=sf.perturb.LinfNoise(0.0)
    )
    assert all(r.value == 0 for r in result.run().by_id.values())


def test_no_confident_mistake_reads_logits_as_probabilities():
    """Scores of 40 against -40 are confident; the softmax of equal ones is not."""
    flat = sf.load_model(lambda x: np.tile([0.1, 0.0], (len(x), 1)), shape=SHAPE)
    result = study(model=flat, property=sf.properties.NoConfidentMistake(0.5)).run()
    assert all(r.value == 1 for r in result.by_id.values())


def test_a_replayed_trial_is_the_one_that_was_counted():
    sampled = study()
    result = sampled.run()
    assert result.details.examples
    for example in result.details.examples:
        again = sampled.replay(example.id, example.trial)
        assert not again.kept
        assert sampled.fitted.class_name(again.label) == example.failed_class
        assert all(sampled.replay(example.id, i).kept for i in range(example.trial))
    refused("no input 'nobody'", sampled.replay, "nobody", 0)
    refused("got -1", sampled.replay, "p0", -1)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"model": linear_model(bounds=(0, 1))}, "must lie within the bounds"),
        (
            {"model": linear_model((-1, 1)), "perturbation": sf.perturb.LinfNoise(8)},
            "did you mean 8/255",
        ),
        ({"inputs": sf.load_inputs(points().x, [5] * 12)}, "label 5, but the model has 2 classes"),
        ({"property": sf.properties.TopK(2)}, "k = 2 always holds for 2 classes"),
        ({"inputs": sf.load_inputs(np.zeros((3, 7)))}, "takes inputs of shape"),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(changes, says):
    refused(says, study, **changes)


RNG = np.random.default_rng(0)


def moody(x):
    return linear(x) + RNG.normal(size=(len(x), 2))


def placed(x):
    return linear(x) + np.linspace(0, 1, len(x))[:, None] * [1, 0]


def broken(x):
    return np.where(np.abs(x[:, :2]) <= 0.99, np.nan, 1.0) if x.min() < 0 else linear(x)


@pytest.mark.parametrize(
    ("scores", "says"),
    [
        (moody, "preflight, answers repeat"),
        (lambda x: linear(x - x.mean(axis=0)), "batch of one equals"),
        (placed, "row order"),
        (broken, "NaN or infinity"),
    ],
)
def test_preflight_stops_a_model_whose_answers_are_not_of_its_input_alone(scores, says):
    raised(sf.errors.SurefootError, says, study(model=sf.load_model(scores, shape=SHAPE)).run)


def test_preflight_wonders_about_chance_accuracy_and_odd_scales():
    inputs = points(40)
    rng = np.random.default_rng(1)
    shuffled = sf.load_inputs(inputs.x, rng.integers(0, 2, 40))
    findings = {c.name: c for c in examine(shuffled, linear_model(), None)}
    assert findings["labels and clean accuracy"].status is CheckStatus.WARNING
    tiny = sf.load_inputs(np.abs(inputs.x) / 255, inputs.labels)
    findings = {c.name: c for c in examine(tiny, linear_model((0, 1)), None)}
    assert "is the scale right?" in findings["bounds of the inputs"].finding


def test_preflight_tells_rounding_from_mixing():
    def rough(x):
        return linear(x) * (1 + 1e-3 * (len(x) == 1))

    checks = {c.name: c for c in examine(points(), sf.load_model(rough, shape=SHAPE), None)}
    found = checks["a batch of one equals a batch of many"]
    assert found.status is CheckStatus.WARNING
    assert "may change from run to run" in found.finding


class Sticky:
    """A perturbation that moves its input even at level 0."""

    kind, phrase, level, view = "sticky", "{level}", 0.1, View.VALUES
    levels = sf.perturb.LinfNoise(0.1).levels
    draw = sf.perturb.LinfNoise(0.1).draw

    def apply(self, x, drawn, level, bounds):
        return x + drawn * 0 + np.float32(1e-3)


def test_preflight_stops_a_perturbation_that_is_no_identity_at_zero():
    checks = {c.name: c for c in examine(points(), linear_model(), Sticky())}
    assert checks["level 0 changes nothing"].status is CheckStatus.FAILED


def test_properties_are_written_short():
    assert parse_property("topk:3") == sf.properties.TopK(3)
    assert parse_property("confident:0.7") == sf.properties.NoConfidentMistake(0.7)
    for text in ("best", "same:3", "topk:x", "topk:2.5", "confident:0.3"):
        refused("", parse_property, text)
    of_classes = {"same", "true", "topk", "confident", "confidence"}
    assert set(PROPERTIES) == of_classes | {"close", "pixels", "iou", "boxes", "labels"}
    assert len(PERTURBATIONS) == 66


@pytest.mark.parametrize(
    ("level", "words"),
    [(8 / 255, "8/255"), (0.2, "0.2"), (0.031, "0.031"), (0.123456789, "0.123457"), (0.0, "0")],
)
def test_a_level_reads_as_its_user_wrote_it(level, words):
    assert level_words(level) == words
    assert number("8/255") == pytest.approx(8 / 255)
    assert not math.isnan(number("1e-3"))


def test_every_public_name_can_be_had_and_is_documented():
    assert sorted(sf.__all__) == list(sf.__all__)
    for name in sf.__all__:
        assert getattr(sf, name).__doc__, name
    assert set(dir(sf)) == set(sf.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = sf.nothing


def test_an_extrapolated_mean_is_never_without_the_counted_one():
    """RoMA's numbers carry no guarantee; what is promised of a population is counted."""
    scores = sf.load_model(
        lambda x: np.stack([0.8 + 0.1 * x[:, 0], 0.2 - 0.1 * x[:, 0]], 1), shape=SHAPE
    )
    sampled = study(
        model=scores, method=sf.methods.NormalTail(draws=200, transforms=("none", "box-cox")),
        property=sf.properties.NoConfidentMistake(0.6), perturbation=sf.perturb.GaussianNoise(0.1),
    )  # fmt: skip
    result = sampled.run()
    assert any(isinstance(r, sf.results.Extrapolation) for r in result.by_id.values())
    whole = result.details.whole
    assert isinstance(whole, sf.results.ExtrapolatedMean)
    assert whole.guarantee.footing is sf.results.Footing.NONE
    assert whole.counted.guarantee.footing is sf.results.Footing.CONDITIONAL
    (required,) = result.require(0.1, accept_clean_accuracy=True).verdicts
    assert (required.verdict, required.kind) == (sf.Verdict.PASS, "mean_population")
    stated = dataclasses.replace(whole.counted.guarantee, error=0.05)
    assert required.guarantee == stated
    assert required.trials == whole.trials
    assert record_from_json(record_to_json(result.record)) == result.record


FRAME = (1, 6, 6)


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    """Studies of one small network."""
    path = relu_net(tmp_path_factory.mktemp("net") / "net.onnx", FRAME)
    model = sf.load_model(path, bounds=(0, 1))
    inputs = sf.load_inputs(batch(8, FRAME), [0, 0, 0, 1, 1, 1, 2, 2])

    def study(perturbation, method, **more):
        return sf.Study(model, inputs, perturbation, method, **more)

    return study


STUDIES = {
    "estimate": (sf.perturb.LinfNoise(0.4), sf.methods.FixedSize(0.3, 0.1)),
    "stages": (sf.perturb.LinfNoise(0.4), sf.methods.BuSun(0.3, 0.1, 0.01, (0.1, 0.2))),
    "decision": (sf.perturb.GaussianNoise(0.1), sf.methods.KappaTest(0.3, 0.1, max_trials=40)),
    "curve": (sf.perturb.GaussianBlur(), sf.methods.SequentialCurve(0.0, 2.0, (0.9, 0.8))),
    "radii": (sf.perturb.LinfNoise(), sf.methods.CriticalLevel()),
    "attack": (sf.perturb.LinfNoise(0.4), sf.methods.Attack(1, 5, 2)),
    "chain": (
        sf.perturb.Chain((sf.perturb.LinfNoise(0.1), sf.perturb.GaussianBlur(1.0))),
        sf.methods.FixedSize(0.3, 0.1),
    ),
}


@pytest.mark.parametrize("kind", STUDIES)
def test_a_spec_survives_json(make, kind):
    spec = make(*STUDIES[kind]).spec
    assert spec_from_json(spec_to_json(spec)) == spec


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("seed",), "one"),
        (("model", "shape"), "6x6"),
        (("inputs", "number"), None),
        (("method", "kind"), 7),
        (("words",), {}),
        (("kind",), "comparison"),
    ],
)
def test_a_damaged_spec_is_named_with_the_field(make, path, value):
    data = json.loads(spec_to_json(make(*STUDIES["estimate"]).spec))
    part = data
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value
    with pytest.raises(StoreFailed, match=rf"a stored spec is damaged: {'.'.join(path)}"):
        spec_from_json(json.dumps(data))


def test_words_are_for_people_and_name_no_study(make):
    spec = make(*STUDIES["estimate"]).spec
    other = replace(spec, words=replace(spec.words, source="/elsewhere"))
    assert decisive_json(other) == decisive_json(spec)
    assert decisive_json(replace(spec, seed=2)) != decisive_json(spec)


@pytest.mark.parametrize(("within", "chooses"), [(None, False), (0.5, True)])
def test_a_search_to_a_given_width_chooses_its_inputs(make, within, chooses):
    """Its number of inputs was not fixed in advance, which claims about quantiles must know."""
    method = sf.methods.CriticalQuantile(0.05, 0.1, quantile=0.4, samples=0, within=within)
    assert make(sf.perturb.LinfNoise(), method).run().record.chooses_inputs is chooses


def test_a_comparison_has_the_first_study_and_the_shared_error(make):
    noise, method = STUDIES["estimate"]
    result = sf.sweep(make(noise, method), [0.1, 0.4], error=0.2)
    first = result.parts["0.1"].record
    assert result.record.spec == ComparisonSpec(first.spec, 0.2, ("0.1", "0.4"))
    assert result.record.study == first.study
    assert result.record.shared_error == 0.2
    assert first.shared_error is None


def test_a_study_that_adds_inputs_reuses_the_earlier_run(make, tmp_path):
    """Only the inputs may differ: another seed is another question."""
    whole, store = make(*STUDIES["estimate"]), str(tmp_path / "s.db")
    base, labels = whole.inputs, [0, 0, 0, 1, 1]
    first = replace(whole, inputs=sf.load_inputs(base.x[:5], labels, ids=base.ids[:5]))
    earlier = first.run(store).record
    assert whole.run(store).record.extends == earlier.digest
    assert replace(whole, seed=2).run(store).record.extends == ""


def test_a_level_that_plays_no_part_changes_no_digest(make):
    """It cannot be given: so there is one study of all radii, and one of each range of levels."""
    radii = sf.methods.CriticalLevel(tolerance=0.05, seconds_per_input=0.2)
    refused(r"leave out the level 0\.3", make, sf.perturb.LinfNoise(0.3), radii)
    open_level = PartSpec("linf", {"level": None})
    assert make(sf.perturb.LinfNoise(), radii).spec.perturbation == open_level
    one, other = (make(sf.perturb.LinfNoise(level), sf.methods.Attack()) for level in (0.1, 0.2))
    assert one.digest != other.digest
    plain = make(sf.perturb.LinfNoise(0.1), sf.methods.FixedSize(0.3, 0.1))
    assert replace(plain, by_class=True).digest == plain.digest  # what the method does by itself
    assert replace(plain, population=sf.population.Mean(0.1)).digest == plain.digest
    assert replace(plain, by_class=False).digest != plain.digest
