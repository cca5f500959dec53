"""Whatever is put together runs through and makes a claim, or is refused with one sentence."""

from itertools import product

import pytest

import surefoot as sf
from surefoot.catalogue.methods import METHODS
from surefoot.catalogue.registry import PROPERTIES
from surefoot.errors import InvalidArgument
from surefoot.population import CellMean, CellPasses
from surefoot.statistics import SmoothedRadius
from tests.unit.small_models import batch, relu_net

SHAPE = (1, 6, 6)
SMALL = {
    "exact-sequential": sf.methods.ExactSequential(0.4, 0.4),
    "bu-sun": sf.methods.BuSun(0.4, 0.4),
    "fixed-size": sf.methods.FixedSize(0.4, 0.4),
    "okamoto": sf.methods.Okamoto(0.4, 0.4),
    "kappa-test": sf.methods.KappaTest(0.4, 0.4, max_trials=20),
    "exact-binomial": sf.methods.ExactBinomial(0.4, 0.4, max_trials=20),
    "published-doubling": sf.methods.PublishedDoubling(0.4, 0.4, max_trials=20),
    "normal-tail": sf.methods.NormalTail(draws=30),
    "sequential-curve": sf.methods.SequentialCurve(0.0, 0.5, resolution=0.5),
    "asap-curve": sf.methods.AdaptiveCurve(0.0, 0.5, (0.8,), 16.0, 8),
    "uniform-curve": sf.methods.UniformCurve(0.0, 0.5, levels=3),
    "random-curve": sf.methods.RandomCurve(0.0, 0.5, levels=3),
    "quad-curve": sf.methods.QuadCurve(0.0, 0.5, levels=21),
    "critical-level": sf.methods.CriticalLevel(tolerance=0.1, seconds_per_input=0.05, samples=2),
    "critical-quantile": sf.methods.CriticalQuantile(
        tolerance=0.1, seconds_per_input=0.05, samples=2
    ),
    "set-mean": sf.methods.SetMean(0.3, 0.2),
    "cell-mean": CellMean(0.3, 0.2, 2),
    "cell-passes": CellPasses(1, 0.2, 2),
    "population-mean": sf.methods.PopulationMean(0.3, 0.2),
    "splitting": sf.methods.Splitting(10, 2, 2, 0.2, least=0.05),
    "smoothed-radius": SmoothedRadius((0.1,), 0.2, max_trials=20),
    "attack": sf.methods.Attack(starts=1, iterations=2, targets=1),
    "pgd": sf.methods.PGD(iterations=2),
    "attack-function": sf.methods.AttackFunction(lambda model, images, labels, radius: images),
}
PERTURBATIONS = {
    "linf": sf.perturb.LinfNoise(0.3),
    "linf open": sf.perturb.LinfNoise(),
    "l2": sf.perturb.L2Noise(0.5),
    "blur": sf.perturb.GaussianBlur(0.5),
    "blur open": sf.perturb.GaussianBlur(),
    "random rotation": sf.perturb.RandomLevel(20.0, sf.perturb.Rotation(20.0), lowest=-1.0),
}
PROPERTY_OF_KIND = {
    kind: class_(2) if kind in ("topk", "close") else class_()
    for kind, class_ in PROPERTIES.items()
}
POPULATIONS = (None, sf.population.Mean(0.2), sf.population.RobustShare(0.2))
CLASSES = (None, True, False)


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    path = relu_net(tmp_path_factory.mktemp("net") / "net.onnx", SHAPE)
    x = batch(4, SHAPE)
    return sf.load_model(path, bounds=(0, 1)), sf.load_inputs(x, [0, 0, 1, 1])


def combinations():
    """Every property as it is; and, of the first, every population and choice about classes."""
    yield from ((kind, None, None) for kind in PROPERTY_OF_KIND)
    yield from (("same", *both) for both in product(POPULATIONS, CLASSES) if both != (None, None))


@pytest.mark.parametrize("perturbation", PERTURBATIONS)
@pytest.mark.parametrize("method", METHODS)
def test_a_study_makes_a_claim_or_is_refused_with_one_sentence(parts, method, perturbation):
    """What is refused is refused before anything is run; nothing else ever happens."""
    if method == "attack-function":  # such a function gets a PyTorch module
        pytest.importorskip("torch", exc_type=ImportError)
    wider = perturbation in ("linf", "linf open")  # there, run every property, population and class
    for kind, population, by_class in combinations():
        how = {"property": PROPERTY_OF_KIND[kind], "population": population, "by_class": by_class}
        what = f"{method}, {perturbation}, {kind}, {population}, by_class={by_class}"
        try:
            study = sf.Study(*parts, PERTURBATIONS[perturbation], SMALL[method], **how)
        except InvalidArgument as refusal:
            sentence = str(refusal)
            assert len(sentence) > 20, what
            assert "\n" not in sentence, what
            continue
        if wider or (kind, population, by_class) == ("same", None, None):
            result = study.run(batch=64, workers=1)
            assert isinstance(result, sf.Result), what
            assert result.claims, what
            assert all(claim["sentence"] for claim in result._plain()["claims"]), what


@pytest.mark.parametrize("method", METHODS)
def test_a_model_without_classes_makes_a_claim_or_is_refused_with_one_sentence(tmp_path, method):
    path = relu_net(tmp_path / "net.onnx", SHAPE)
    model = sf.load_model(path, bounds=(0, 1), scores="values")
    inputs = sf.load_inputs(batch(4, SHAPE), targets=[[0.0] * 3] * 4)
    refused = method in ("attack", "pgd", "attack-function", "critical-level", "critical-quantile")
    for kind, name in product(PROPERTY_OF_KIND, ("linf", "linf open", "blur open")):
        prop = PROPERTY_OF_KIND[kind]
        try:
            study = sf.Study(model, inputs, PERTURBATIONS[name], SMALL[method], property=prop)
        except InvalidArgument as refusal:
            assert 20 < len(str(refusal)) < 300
            continue
        assert not refused
        if kind in ("close", "labels"):
            result = study.run(batch=64, workers=1)
            assert result.claims
            assert not any("label" in c["sentence"] for c in result._plain()["claims"])


def test_there_is_a_small_one_of_every_method():
    assert SMALL.keys() == METHODS.keys()
    assert all(type(method) is METHODS[name] for name, method in SMALL.items())


REFUSED = {
    "an L2 ball and a rank cannot be proved": (
        {"method": sf.methods.CriticalLevel(), "perturbation": sf.perturb.L2Noise(0.5),
         "property": sf.properties.TopK(2)}, "CriticalLevel"),
    "a level where the method chooses levels": (
        {"method": SMALL["critical-level"], "perturbation": sf.perturb.LinfNoise(0.1)},
        "chooses levels itself"),
    "no level where the method chooses none": (
        {"method": SMALL["fixed-size"], "perturbation": sf.perturb.LinfNoise()}, "needs a level"),
    "proofs of another ball": (
        {"method": SMALL["critical-level"], "perturbation": sf.perturb.GaussianBlur()}, "ball"),
    "proofs of another property": (
        {"method": SMALL["critical-level"], "perturbation": sf.perturb.LinfNoise(),
         "property": sf.properties.Confidence()}, "another label winning"),
    "attacks on another property": (
        {"method": sf.methods.Attack(), "perturbation": sf.perturb.LinfNoise(0.1),
         "property": sf.properties.Confidence()}, "another label winning"),
    "attacks outside a ball": (
        {"method": sf.methods.Attack(), "perturbation": sf.perturb.GaussianBlur(0.5)}, "ball"),
    "a population beside proofs": (
        {"method": SMALL["critical-level"], "perturbation": sf.perturb.LinfNoise(),
         "population": sf.population.Mean(0.1)}, "leave out population"),
    "a share of decisions where none is made": (
        {"method": SMALL["fixed-size"], "population": sf.population.RobustShare(0.1)},
        "RobustShare"),
    "a mean of decisions": (
        {"method": SMALL["kappa-test"], "population": sf.population.Mean(0.1)}, "have no mean"),
    "an average of extrapolations where none is made": (
        {"method": SMALL["fixed-size"], "population": sf.population.TailMean(0.1)}, "TailMean"),
    "classes of an attack": ({"method": sf.methods.Attack(), "by_class": True}, "by class"),
    "levels beyond the perturbation's": (
        {"method": sf.methods.UniformCurve(0.0, 3.0), "perturbation": sf.perturb.LinfNoise()},
        "levels go from 0 to 1"),
    "no method at all": ({"method": "estimate"}, "give one such as"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_method_cannot_honour_is_refused_not_ignored(parts, case):
    how, says = REFUSED[case]
    with pytest.raises(InvalidArgument, match=says):
        sf.Study(*parts, **{"perturbation": sf.perturb.LinfNoise(0.1), **how})


def test_a_method_of_ones_own_says_what_it_needs(parts):
    class Mine:
        error = 0.1

        def steps(self):
            yield 1

    with pytest.raises(InvalidArgument, match="does not say what it needs"):
        sf.Study(*parts, sf.perturb.LinfNoise(0.1), Mine())


def test_an_attack_beside_a_proof_is_refused_before_the_proof_is_run(parts):
    study = sf.Study(*parts, sf.perturb.LinfNoise(), SMALL["critical-level"])
    reports = []
    with pytest.raises(InvalidArgument, match="beside sampling only"):
        study.run(attack=sf.methods.Attack(), on_progress=reports.append)
    assert not reports
