"""PGD as published: what it finds on linear networks, where the exact radius is known."""

import numpy as np
import pytest

import surefoot as sf
from surefoot.core.tasks import Task
from surefoot.errors import InvalidArgument
from surefoot.region.attack_method import AttackOutcome
from tests.refusals import refused
from tests.unit import small_models as small
from tests.unit.test_attack import (
    Overheard,
    as_fixed_batch,
    as_onnx,
    as_probabilities,
    as_script,
    as_softmax,
    attack_study,
    bench,
    radius,
    two_classes,
)

torch = pytest.importorskip("torch")

PGD = sf.methods.PGD(iterations=20, starts=2)
BALLS = [(sf.perturb.LinfNoise, np.inf), (sf.perturb.L2Noise, 2)]


@pytest.mark.parametrize("form", ["onnx", "module", "probabilities"])
@pytest.mark.parametrize(("noise", "order"), BALLS)
def test_of_two_classes_it_finds_a_point_exactly_where_the_radius_exceeds_the_known_one(
    form, noise, order, tmp_path
):
    """There the cross-entropy rises as the margin falls; long steps forget the random start."""
    model, (matrix, _) = two_classes(form, tmp_path), small.weights(small.IMAGE, 1)
    dual = np.linalg.norm(matrix[:, 0], 1 if order == np.inf else 2)
    for x in small.batch(3, seed=6):
        least = float(abs(small.by_hand(x[None], classes=1)[0, 0]) / dual)
        for level, rate in ((1.002 * least, 0.0), (0.998 * least, 1.0)):
            study = attack_study(
                model,
                x[None],
                inputs=sf.load_inputs(x[None]),
                perturbation=noise(level),
                method=sf.methods.PGD(step=level / 2),
            )
            assert study.run().details.withstood == rate, (level, least)


@pytest.mark.parametrize("form", [as_onnx, as_softmax, as_fixed_batch, as_probabilities, as_script])
@pytest.mark.parametrize(("noise", "order"), BALLS)
def test_of_several_classes_it_finds_nothing_below_the_known_radius(form, noise, order, tmp_path):
    """Above it the cross-entropy need not lead to the nearest class: far enough it leads to one."""
    model = form(tmp_path)
    for x in small.batch(2, seed=5):
        least = radius(x, order)
        for level, rate in ((1.5 * least, 0.0), (0.998 * least, 1.0)):
            study = attack_study(model, x[None], perturbation=noise(level), method=PGD)
            assert study.run().details.withstood == rate, (level, least)


@pytest.mark.parametrize(("noise", "order"), BALLS)
def test_it_takes_the_published_steps(noise, order):
    """One step of a chosen length, from a named random point: the same by hand."""
    x = small.batch(1, seed=3)
    model = sf.load_model(small.module(), shape=small.IMAGE, bounds=(0, 1))
    level, length = 0.05, 0.01
    method = sf.methods.PGD(step=length, iterations=1)
    study = attack_study(model, x, perturbation=noise(level), method=method)
    overheard = Overheard(model)
    whole = bench(study, model=overheard)
    (proof,) = whole.answer([Task(study.fitted.subjects()[0], level, 0, 1)])
    assert proof.reason in (AttackOutcome.FOUND, AttackOutcome.NOT_FOUND)
    start = torch.tensor(whole._starts(x, np.array([0]), 1, np.array([0])), requires_grad=True)
    label = torch.tensor(study.predicted)
    torch.nn.functional.cross_entropy(small.module()(start), label).backward()
    slope = start.grad
    way = slope.sign() if order == np.inf else slope / slope.norm()
    moved = (start + length * way).detach().double() - torch.tensor(x)
    if order == 2 and moved.norm() > level:
        moved *= level / moved.norm()
    expected = (x + moved.clamp(-level, level).numpy()).clip(0, 1)
    assert overheard.last == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"step": 0}, r"pgd\.step must be a number above 0, got 0"),
        ({"step": float("nan")}, "above 0, got nan"),
        ({"step": "2/255"}, "above 0, got '2/255'"),
        ({"iterations": 0}, "pgd.iterations must be an integer ≥ 1, got 0"),
        ({"starts": 1.5}, "pgd.starts must be an integer ≥ 1, got 1.5"),
    ],
)
def test_an_effort_that_is_none_is_refused(parts, says):
    refused(says, sf.methods.PGD, **parts)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"attack_step": "2/255"}, r"\(--attack-step\) 2/255 needs attack=True"),
        ({"attack": True, "attack_step": 0.1}, "is for pgd, and margin chooses its steps"),
        ({"attack_method": "fgsm"}, "there is no attack 'fgsm': choose margin or pgd"),
        ({"attack_method": "none.py:attack"}, "there is no file none.py"),
        ({"attack_method": "pgd", "attack_step": "x"}, r"\(--attack-step\): 'x' is not a number"),
        ({"attack": sf.methods.PGD(), "attack_starts": 2}, "is for an attack by name"),
        ({"attack": 3}, "or a function of"),
    ],
)
def test_options_that_fit_no_attack_are_refused(options, says, tmp_path):
    path = small.linear_net(tmp_path / "m.onnx")
    with pytest.raises(InvalidArgument, match=says):
        sf.certify(str(path), small.batch(3), "linf:0.1", kappa=0.1, store=None, **options)


def test_the_method_by_name_is_the_method_itself(tmp_path):
    path = str(small.linear_net(tmp_path / "m.onnx"))
    how = {"kappa": 0.3, "max_trials": 50, "store": None}
    named = sf.certify(
        path, small.batch(8), "linf:0.1", **how, attack_method="pgd", attack_step="0.02",
        attack_iterations=12, attack_starts=3,
    )  # fmt: skip
    passed = sf.certify(path, small.batch(8), "linf:0.1", **how, attack=sf.methods.PGD(0.02, 12, 3))
    assert named.details.attack == passed.details.attack
    assert named.details.attack.step == "0.02"
