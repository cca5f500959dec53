"""Gradient attacks, ours and PGD as published: they find what is there, and say why not."""

from dataclasses import replace

import numpy as np
import pytest
from onnx import TensorProto
from scipy.optimize import linprog

import surefoot as sf
from surefoot.core.procedure import Pinned
from surefoot.core.results import Interval
from surefoot.core.tasks import Task
from surefoot.engine.attack_bench import AttackBench
from surefoot.engine.loop import measure
from surefoot.errors import InvalidArgument, OutOfMemory
from surefoot.executors.pool import Inline
from surefoot.region.attack_method import AttackOutcome
from surefoot.store import MemoryJournal
from surefoot.subject.protocols import Ball, to_host
from surefoot.verify.descent import clipped_ball
from tests.refusals import refused
from tests.unit import small_models as small

torch = pytest.importorskip("torch")

QUICK = sf.methods.Attack(starts=2, iterations=10)


def attack_study(model, x, level=0.1, **more):
    inputs = more.pop("inputs", None) or sf.load_inputs(x, small.by_hand(x).argmax(axis=1))
    parts = {
        "perturbation": sf.perturb.LinfNoise(level),
        "method": QUICK,
        "property": sf.properties.SameLabel(),
    }
    return sf.Study(model, inputs, **{**parts, **more})


def attacked(study):
    return study.run().details


def radius(x, order):
    """The least distance at which a linear net of three classes changes its label."""
    matrix, _ = small.weights(x.shape, 3)
    scores = small.by_hand(x[None])[0].astype(np.float64)
    best = int(scores.argmax())
    dual = {np.inf: 1, 2: 2, 1: np.inf}[order]
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
    return sf.load_model(small.module(), shape=small.IMAGE)


def as_probabilities(folder):
    whole = torch.nn.Sequential(small.module(), torch.nn.Softmax(dim=1)).eval()
    return sf.load_model(whole, shape=small.IMAGE)


def as_script(folder):
    return sf.load_model(small.scripted(folder / "m.pt"), shape=small.IMAGE, trust=True)


def as_export(folder):
    (folder / "m.pt2").write_bytes(small.exported())
    return sf.load_model(folder / "m.pt2", shape=small.IMAGE)


FORMS = [
    as_onnx, as_softmax, as_fixed_batch, as_module, as_probabilities, as_script, as_export,
]  # fmt: skip


@pytest.mark.parametrize(
    ("form", "noise", "order"),
    [
        *((form, sf.perturb.LinfNoise, np.inf) for form in FORMS),
        *((form, sf.perturb.L2Noise, 2) for form in (as_onnx, as_module)),
        *((form, sf.perturb.L1Noise, 1) for form in (as_onnx, as_module)),
    ],
)
def test_just_above_the_least_radius_it_succeeds_and_just_below_it_fails(
    form, noise, order, tmp_path
):
    model = form(tmp_path)
    for x in small.batch(1, seed=5):
        least = radius(x, order)
        for level, rate in ((1.002 * least, 0.0), (0.998 * least, 1.0)):
            summary = attacked(attack_study(model, x[None], perturbation=noise(level)))
            assert summary.withstood == rate, (level, least, summary)


def radius_for_both(x, order):
    """The least distance at which a linear net of three classes ranks its label last: a program."""
    matrix, bias = (v.astype(np.float64) for v in small.weights(x.shape, 3))
    best = int(small.by_hand(x[None])[0].argmax())
    others = [t for t in range(3) if t != best]
    slopes = (matrix[:, [best]] - matrix[:, others]).T
    leads = slopes @ x.ravel() + (bias[best] - bias[others])
    n = x.size
    # a move is up - down; the radius bounds each value, or their sum
    rows = np.hstack([slopes, -slopes, np.zeros((2, 1))])
    each = np.eye(n) if order == np.inf else np.ones((1, n))
    within = np.hstack([each, each, -np.ones((len(each), 1))])
    found = linprog(
        np.r_[np.zeros(2 * n), 1.0],
        np.vstack([rows, within]),
        np.r_[-leads, np.zeros(len(each))],
    )
    return found.fun


@pytest.mark.parametrize(
    ("noise", "order"), [(sf.perturb.LinfNoise, np.inf), (sf.perturb.L1Noise, 1)]
)
def test_of_the_two_best_it_needs_both_rivals_ahead(noise, order):
    model = as_module(None)
    for x in small.batch(2, seed=8):
        least = radius_for_both(x, order)
        assert least > 1.01 * radius(x, order)
        for level, rate in ((1.12 * least, 0.0), (0.999 * least, 1.0)):  # a corner of two slopes
            top = {"perturbation": noise(level), "property": sf.properties.TopK(2)}
            study = attack_study(model, x[None], **top, method=sf.methods.Attack())
            assert attacked(study).withstood == rate, (level, least)


@pytest.mark.parametrize("form", ["probabilities", "module"])
def test_a_confident_mistake_is_farther_off_than_a_mistake(form):
    model, (matrix, _) = two_classes(form, None), small.weights(small.IMAGE, 1)
    for limit, odds in ((0.5, 0.0), (0.9, np.log(9))):
        for x in small.batch(3, seed=6):
            margin = abs(small.by_hand(x[None], classes=1)[0, 0])
            least = float((margin + odds) / abs(matrix).sum())
            for level, rate in ((1.002 * least, 0.0), (0.998 * least, 1.0)):
                sure = sf.properties.NoConfidentMistake(limit)
                inputs = sf.load_inputs(x[None])
                study = attack_study(model, x[None], level, inputs=inputs, property=sure)
                assert attacked(study).withstood == rate, (limit, level, least)


@pytest.mark.parametrize("prop", [sf.properties.TopK(2), sf.properties.NoConfidentMistake(0.7)])
@pytest.mark.parametrize("target", [None, 3])
def test_the_slope_of_a_margin_is_its_derivative(prop, target):
    rng = np.random.default_rng(3)
    logits, labels = rng.normal(size=(8, 6)), np.arange(8) % 3
    aim = None if target is None else np.full(8, target)
    slope = prop.margin(logits, labels, aim)[1]
    for k in range(6):
        ahead, behind = (
            prop.margin(logits + h * np.eye(6)[k], labels, aim)[0] for h in (1e-6, -1e-6)
        )
        assert (ahead - behind) / 2e-6 == pytest.approx(slope[:, k], abs=1e-6)
    if target is None:  # below 0 exactly where the property fails
        shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        fails = prop.severity(shares, labels) >= prop.limit
        assert (prop.margin(logits, labels, None)[0] <= 0).tolist() == fails.tolist()
        assert 0 < fails.sum() < 8


def test_the_projection_to_an_l1_ball_within_bounds_is_the_nearest_point():
    """Every value less the same amount, down to 0 and cut at the bounds: found by halving."""
    rng = np.random.default_rng(4)
    x = rng.random((40, 30), np.float32)
    points = x + rng.normal(size=x.shape).astype(np.float32) * rng.random((40, 1), np.float32)
    ball = clipped_ball(x, Ball.L1, 2.0, Interval(0.0, 1.0))
    room = np.where(points > x, 1 - x, x).astype(np.float64)
    low, high = np.zeros((40, 1)), np.full((40, 1), 10.0)
    for _ in range(60):
        taken = (low + high) / 2
        kept = np.clip(abs(points - x) - taken, 0, room)
        over = kept.sum(axis=1, keepdims=True) > 2.0
        low, high = np.where(over, taken, low), np.where(over, high, taken)
    expected = x + np.sign(points - x) * np.clip(abs(points - x) - high, 0, room)
    assert ball.project(points) == pytest.approx(expected, abs=2e-5)
    assert to_host(on_torch(ball).project(torch.from_numpy(points))) == pytest.approx(
        expected, abs=2e-5
    )
    assert ball.contains(ball.moved_inside(ball.project(points))).all()


def on_torch(ball):
    return replace(ball, **{k: torch.from_numpy(getattr(ball, k)) for k in ("x", "low", "high")})


def two_classes(form, folder):
    """A linear network of two classes: its scores are 0 and this margin."""
    matrix, bias = small.weights(small.IMAGE, 1)
    if form == "onnx":
        return sf.load_model(small.linear_net(folder / "o.onnx", classes=1, tail="Sigmoid"))
    layer = torch.nn.Linear(16, 1)
    layer.load_state_dict({"weight": torch.tensor(matrix.T), "bias": torch.tensor(bias)})
    layers = [torch.nn.Flatten(), layer]
    if form == "probabilities":
        layers.append(torch.nn.Sigmoid())
    net = torch.nn.Sequential(*layers).eval()
    return sf.load_model(net, shape=small.IMAGE, scores=form if form != "module" else "logits")


def test_a_small_ball_far_from_zero_is_not_lost_to_rounding():
    """Float32 numbers near 200 lie 1.5e-5 apart: much more than a millionth of this radius."""
    x = 200 + small.batch(20)
    matrix, _ = small.weights(small.IMAGE, 3)
    net = small.module()
    with torch.no_grad():
        net[2].bias -= torch.tensor(200 * matrix.sum(axis=0))
    model = sf.load_model(net, shape=small.IMAGE, bounds=(0, 255))
    least = np.median([radius(one - 200, 2) for one in x])
    study = attack_study(model, x, perturbation=sf.perturb.L2Noise(float(least)))
    proofs = proofs_of(study)
    assert sum(one.discarded for one in proofs) == 0
    assert 8 <= sum(one.reason == AttackOutcome.FOUND for one in proofs) <= 12


def bench(study, model=None, gradients=None):
    return AttackBench(
        study.fitted, study.references, model or study.model, gradients or study.model,
        study.perturbation, study.perturbation.ball, study.property,
        study.method if isinstance(study.method, sf.methods.PGD) else QUICK, study.seed,
        model or study.scorer,
    )  # fmt: skip


def proofs_of(study, batch=50, gradients=None):
    """What the attack says of every input, through the loop."""
    attack_bench = bench(study, gradients=gradients)
    return measure(
        Pinned(QUICK, study.level),
        attack_bench,
        study.fitted.subjects(),
        pool=Inline(),
        journal=MemoryJournal(),
        batch_size=batch,
        block=attack_bench.block,
    )


class Overheard:
    """A model that remembers the last point of an attack that it was asked about.

    After an attack the clean inputs are asked about once more, so it is the batch before that.
    """

    def __init__(self, model):
        self.model, self.signature, self.place = model, model.signature, model.place
        self.last = self.after = None

    def predict(self, batch):
        self.last, self.after = self.after, to_host(batch).copy()
        return self.model.predict(batch)


def points_found(study):
    """The point that the model itself was asked about last, of each input that was broken."""
    overheard = Overheard(study.model)
    one_by_one = bench(study, model=overheard)
    points = {}
    for i, subject in enumerate(study.fitted.subjects()):
        (proof,) = one_by_one.answer([Task(subject, study.level, 0, 1)])
        if proof.reason == AttackOutcome.FOUND:
            points[i] = overheard.last[0]
    return points


@pytest.mark.parametrize(
    ("noise", "level", "order", "method"),
    [
        (sf.perturb.LinfNoise, 0.1, np.inf, QUICK),
        (sf.perturb.L2Noise, 0.4, 2, sf.methods.PGD(iterations=20, starts=2)),
        (sf.perturb.L1Noise, 1.2, 1, QUICK),
    ],
)
def test_what_is_found_lies_in_ball_and_bounds_and_has_another_label(noise, level, order, method):
    x = small.batch(30)
    x[:, 0, 0, 0], x[:, 0, 1, 1] = 0.0, 1.0
    model = sf.load_model(small.module(), shape=small.IMAGE, bounds=(0, 1))
    study = attack_study(model, x, perturbation=noise(level), method=method)
    points = points_found(study)
    assert 5 < len(points) < 30
    for i, single in points.items():
        point = single.astype(np.float64)
        assert np.linalg.norm((point - x[i]).ravel(), order) <= level
        assert point.min() >= 0
        assert point.max() <= 1
        assert small.by_hand(point[None])[0].argmax() != study.predicted[i]


def test_whole_numbers_stay_whole_and_within_the_ball(tmp_path):
    path = small.linear_net(tmp_path / "u.onnx", kind=TensorProto.UINT8)
    model = sf.load_model(path, bounds=(0, 255))
    x = np.random.default_rng(2).integers(0, 256, (20, *small.IMAGE)).astype(np.float32)
    points = points_found(attack_study(model, x, level=12.5))
    assert points
    for i, point in points.items():
        assert (point == np.rint(point)).all()
        assert np.abs(point - x[i]).max() <= 12


def test_a_wrong_input_is_broken_when_clean_and_only_where_the_true_label_counts():
    x = small.batch(8)
    labels = small.by_hand(x).argmax(axis=1)
    labels[:3] = (labels[:3] + 1) % 3
    model = sf.load_model(small.module(), shape=small.IMAGE)
    inputs = sf.load_inputs(x, labels)
    true = attacked(attack_study(model, x, 1e-6, inputs=inputs, property=sf.properties.TrueLabel()))
    same = attacked(attack_study(model, x, 1e-6, inputs=inputs))
    assert (true.withstood, true.clean, true.broken) == (5 / 8, 3, 3)
    assert (same.withstood, same.clean) == (1.0, 0)


def test_batches_and_memory_change_nothing():
    model = sf.load_model(small.module(), shape=small.IMAGE, bounds=(0, 1))
    study = attack_study(model, small.batch(11), 0.15)
    whole = proofs_of(study)

    class Small:
        """A device with room for one."""

        def logits_and_gradient(self, x, weigh):
            if len(x) > 1:
                raise OutOfMemory("out of memory")
            return model.logits_and_gradient(x, weigh)

    assert len({one.reason for one in whole}) == 2
    for other in (
        proofs_of(study, batch=1),
        proofs_of(study, batch=4),
        proofs_of(study, gradients=Small()),
    ):
        assert [one.reason for one in other] == [one.reason for one in whole]


def test_a_point_that_the_model_does_not_confirm_is_discarded_and_counted():
    """Gradients of another network lead to points that break only that one."""
    first = sf.load_model(lambda x: np.eye(3)[np.zeros(len(x), int)], shape=small.IMAGE)
    study = attack_study(first, small.batch(6), 0.5, method=sf.methods.KappaTest(0.1, 0.1, 60))

    class Liar:
        def logits_and_gradient(self, x, weigh):
            return np.tile(np.float32([0, 1, 0]), (len(x), 1)), np.ones_like(x)

    proofs = proofs_of(study, gradients=Liar())
    assert all(one.reason == AttackOutcome.NOT_FOUND and one.discarded == 9 for one in proofs)


class Stepped(torch.nn.Module):
    """Its slope is zero wherever it has one."""

    def forward(self, x):
        total = torch.sign(x.flatten(1).sum(1, keepdim=True) - 8)
        return torch.cat([total, -total], 1)


class Cut(torch.nn.Module):
    def forward(self, x):
        total = (x.flatten(1).sum(1, keepdim=True) > 8).float()
        return torch.cat([total, 1 - total], 1)


@pytest.mark.parametrize("method", [QUICK, sf.methods.PGD(iterations=20, starts=2)])
def test_masked_gradients_prove_nothing_and_the_words_say_so(method):
    model = sf.load_model(Stepped().eval(), shape=small.IMAGE)
    inputs = sf.load_inputs(small.batch(6))
    result = attack_study(model, small.batch(6), 0.01, inputs=inputs, method=method).run()
    assert result.details.withstood == 1.0
    assert result.details.blind == 6
    text = result.explain()
    assert "at 6 of 6 inputs every gradient was zero" in text
    assert "A failed attack proves nothing" in text
    assert "is at most the share that withstood" in text


def test_an_attack_refutes_and_proves_nothing():
    model = sf.load_model(small.module(), shape=small.IMAGE, bounds=(0, 1))
    result = attack_study(model, small.batch(11), 0.15).run()
    (claim,) = result.claims
    assert claim.kind == "robust_accuracy"
    assert claim.interval.low == 0
    assert claim.interval.high == pytest.approx(1 - result.details.broken / 11)
    assert 0 < result.details.broken < 11
    assert f"{result.details.broken} of 11 inputs can be made to fail" in result.explain()


PUBLISHED = sf.methods.PGD(iterations=20, starts=2)
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
            study = attack_study(model, x[None], perturbation=noise(level), method=PUBLISHED)
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
