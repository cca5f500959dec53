"""What was studied, as data: it names the run, survives JSON, and every field is checked."""

import json
from dataclasses import replace

import pytest

import surefoot as sf
from surefoot.errors import StoreFailed
from surefoot.records.json_records import decisive_json, spec_from_json, spec_to_json
from surefoot.records.spec import ComparisonSpec, PartSpec
from tests.refusals import refused
from tests.unit.small_models import batch, relu_net

SHAPE = (1, 6, 6)


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    """Studies of one small network."""
    path = relu_net(tmp_path_factory.mktemp("net") / "net.onnx", SHAPE)
    model = sf.load_model(path, bounds=(0, 1))
    inputs = sf.load_inputs(batch(8, SHAPE), [0, 0, 0, 1, 1, 1, 2, 2])

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
