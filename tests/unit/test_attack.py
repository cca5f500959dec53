"""The gradient attack: it finds what is there, counts only what the model confirms, and says why
it cannot be made."""

import numpy as np
import pytest
import torch
from onnx import TensorProto

import surefoot as sf
from surefoot.engine.attacking import AttackBench, Outcome
from surefoot.errors import OutOfMemory
from surefoot.study.attacking import attacked
from tests.unit import small_models as small

QUICK = sf.Attack(starts=2, steps=10)


def made(model, x, level=0.1, **more):
    inputs = more.pop("inputs", None) or sf.load_inputs(x, small.by_hand(x).argmax(axis=1))
    parts = {"perturbation": sf.perturb.LinfNoise(level), "procedure": sf.KappaTest(0.1, 0.1, 60)}
    return sf.Study(model, inputs, **{**parts, **more})


def radius(x, order):
    """The least distance at which a linear net of three classes changes its label."""
    matrix, _ = small.weights(x.shape, 3)
    scores = small.by_hand(x[None])[0].astype(np.float64)
    best = int(scores.argmax())
    dual = {np.inf: 1, 2: 2}[order]
    return min(
        (scores[best] - scores[t]) / np.linalg.norm(matrix[:, best] - matrix[:, t], dual)
        for t in range(3)
        if t != best
    )


def as_onnx(folder):
    return sf.load_model(small.linear_net(folder / "m.onnx"))


def as_softmax(folder):
    return sf.load_model(small.linear_net(folder / "s.onnx", tail="Softmax"))


def as_fixed_batch(folder):
    return sf.load_model(small.linear_net(folder / "f.onnx", rows=2))


def as_module(folder):
    return sf.load_model(small.module(), shape=small.PICTURE)


def as_probabilities(folder):
    whole = torch.nn.Sequential(small.module(), torch.nn.Softmax(dim=1)).eval()
    return sf.load_model(whole, shape=small.PICTURE)


def as_script(folder):
    return sf.load_model(small.scripted(folder / "m.pt"), shape=small.PICTURE)


def as_export(folder):
    (folder / "m.pt2").write_bytes(small.exported())
    return sf.load_model(folder / "m.pt2", shape=small.PICTURE)


FORMS = [
    as_onnx, as_softmax, as_fixed_batch, as_module, as_probabilities, as_script, as_export,
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("noise", "order"), [(sf.perturb.LinfNoise, np.inf), (sf.perturb.L2Noise, 2)]
)
def test_just_above_the_least_radius_it_succeeds_and_just_below_it_fails(
    form, noise, order, tmp_path
):
    model = form(tmp_path)
    for x in small.batch(3, seed=5):
        least = radius(x, order)
        for level, rate in ((1.002 * least, 0.0), (0.998 * least, 1.0)):
            found = attacked(made(model, x[None], perturbation=noise(level)), QUICK)
            assert found.failure_rate == rate, (level, least, found)


@pytest.mark.parametrize("form", ["onnx", "module"])
def test_one_column_is_the_second_of_two_classes(form, tmp_path):
    matrix, bias = small.weights(small.PICTURE, 1)
    if form == "onnx":
        model = sf.load_model(small.linear_net(tmp_path / "o.onnx", classes=1, tail="Sigmoid"))
    else:
        layer = torch.nn.Linear(16, 1)
        layer.load_state_dict({"weight": torch.tensor(matrix.T), "bias": torch.tensor(bias)})
        model = sf.load_model(
            torch.nn.Sequential(torch.nn.Flatten(), layer).eval(), shape=small.PICTURE
        )
    for x in small.batch(4, seed=6):
        least = abs(small.by_hand(x[None], classes=1)[0, 0]) / abs(matrix).sum()
        for level, rate in ((1.002 * least, 0.0), (0.998 * least, 1.0)):
            found = attacked(made(model, x[None], level, inputs=sf.load_inputs(x[None])), QUICK)
            assert found.failure_rate == rate


def test_a_small_ball_far_from_zero_is_not_lost_to_rounding():
    """Float32 numbers near 200 lie 1.5e-5 apart: much more than a millionth of this radius."""
    x = 200 + small.batch(20)
    matrix, _ = small.weights(small.PICTURE, 3)
    net = small.module()
    with torch.no_grad():
        net[2].bias -= torch.tensor(200 * matrix.sum(axis=0))
    model = sf.load_model(net, shape=small.PICTURE, bounds=(0, 255))
    least = np.median([radius(one - 200, 2) for one in x])
    study = made(model, x, perturbation=sf.perturb.L2Noise(float(least)))
    found = struck(study)
    assert sum(one.discarded for one in found) == 0
    assert 8 <= sum(one.outcome is Outcome.FOUND for one in found) <= 12


def bench(study, gradients=None):
    return AttackBench(
        study.fitted, study.references, study.model, gradients or study.model,
        study.perturbation, study.perturbation.ball, study.property, study.seed,
    )  # fmt: skip


def struck(study, batch=None, gradients=None):
    return bench(study, gradients).strike(QUICK, batch, lambda _: None)


@pytest.mark.parametrize(
    ("noise", "level", "order"),
    [(sf.perturb.LinfNoise, 0.1, np.inf), (sf.perturb.L2Noise, 0.4, 2)],
)
def test_what_is_found_lies_in_ball_and_bounds_and_has_another_label(noise, level, order):
    x = small.batch(30)
    x[:, 0, 0, 0], x[:, 0, 1, 1] = 0.0, 1.0
    model = sf.load_model(small.module(), shape=small.PICTURE, bounds=(0, 1))
    study = made(model, x, perturbation=noise(level))
    found = struck(study)
    broken = [i for i, one in enumerate(found) if one.outcome is Outcome.FOUND]
    assert 5 < len(broken) < 30
    for i in broken:
        witness = found[i].witness.astype(np.float64)
        way = (witness - x[i]).ravel()
        assert np.linalg.norm(way, order) <= level
        assert witness.min() >= 0
        assert witness.max() <= 1
        assert small.by_hand(witness[None])[0].argmax() != study.predicted[i]


def test_whole_numbers_stay_whole_and_within_the_ball(tmp_path):
    path = small.linear_net(tmp_path / "u.onnx", kind=TensorProto.UINT8)
    model = sf.load_model(path, bounds=(0, 255))
    x = np.random.default_rng(2).integers(0, 256, (20, *small.PICTURE)).astype(np.float32)
    study = made(model, x, level=12.5)
    found = {i: one.witness for i, one in enumerate(struck(study)) if one.witness is not None}
    assert found
    for i, witness in found.items():
        assert (witness == np.rint(witness)).all()
        assert np.abs(witness - x[i]).max() <= 12


def test_a_wrong_input_is_broken_undisturbed_and_only_where_the_true_label_counts():
    x = small.batch(8)
    labels = small.by_hand(x).argmax(axis=1)
    labels[:3] = (labels[:3] + 1) % 3
    model = sf.load_model(small.module(), shape=small.PICTURE)
    inputs = sf.load_inputs(x, labels)
    true = attacked(made(model, x, 1e-6, inputs=inputs, property=sf.TrueLabel()), QUICK)
    same = attacked(made(model, x, 1e-6, inputs=inputs), QUICK)
    assert (true.failure_rate, true.undisturbed, len(true.broken)) == (5 / 8, 3, 3)
    assert (same.failure_rate, same.undisturbed) == (1.0, 0)


@pytest.mark.parametrize("noise", [sf.perturb.LinfNoise, sf.perturb.L2Noise])
def test_a_ball_of_no_radius_holds_the_input_alone(noise):
    model = sf.load_model(small.module(), shape=small.PICTURE)
    found = attacked(made(model, small.batch(3), perturbation=noise(0.0)), QUICK)
    assert (found.failure_rate, found.blind) == (1.0, 0)


def test_batches_and_memory_change_nothing():
    model = sf.load_model(small.module(), shape=small.PICTURE, bounds=(0, 1))
    study = made(model, small.batch(11), 0.15)
    whole = struck(study)

    class Small:
        """A device with room for three."""

        def margin_and_gradient(self, x, labels, rivals):
            if len(x) > 3:
                raise OutOfMemory("out of memory")
            return model.margin_and_gradient(x, labels, rivals)

    assert len({one.outcome for one in whole}) == 2
    for other in (struck(study, batch=1), struck(study, batch=4), struck(study, gradients=Small())):
        assert [one.outcome for one in other] == [one.outcome for one in whole]
        for one, two in zip(whole, other, strict=True):
            if one.witness is not None:
                assert np.allclose(one.witness, two.witness, atol=1e-6)


def test_a_point_that_the_model_does_not_confirm_is_discarded_and_counted():
    """Gradients of another network lead to points that break only that one."""
    study = made(sf.load_model(lambda x: np.eye(3)[np.zeros(len(x), int)], shape=small.PICTURE),
                 small.batch(6), 0.5)  # fmt: skip

    class Liar:
        def margin_and_gradient(self, x, labels, rivals):
            return np.full(len(x), -1.0, np.float32), np.ones_like(x)

    found = struck(study, gradients=Liar())
    assert all(one.outcome is Outcome.NOT_FOUND and one.discarded == 4 for one in found)


class Stepped(torch.nn.Module):
    """Its slope is zero wherever it has one."""

    def forward(self, x):
        total = torch.sign(x.flatten(1).sum(1, keepdim=True) - 8)
        return torch.cat([total, -total], 1)


class Cut(torch.nn.Module):
    def forward(self, x):
        total = (x.flatten(1).sum(1, keepdim=True) > 8).float()
        return torch.cat([total, 1 - total], 1)


def test_masked_gradients_prove_nothing_and_the_words_say_so():
    model = sf.load_model(Stepped().eval(), shape=small.PICTURE)
    found = made(model, small.batch(6), 0.01, inputs=sf.load_inputs(small.batch(6))).run(
        attack=QUICK
    )
    assert found.record.attack.failure_rate == 1.0
    assert found.record.attack.blind == 6
    told = str(found)
    assert "at 6 of 6 inputs every gradient was zero" in told
    assert "A failed attack proves nothing" in told
    assert "is at most this rate" in told
