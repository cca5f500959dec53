"""An attack of the user's own, and what is said of an attack beside sampling."""

import os
import re
import sys
import warnings
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

import surefoot as sf
from surefoot.engine.attack_bench import OUTSIDE_SHARE
from surefoot.records.json_records import record_from_json, record_to_json
from surefoot.report.views.attack import attack_notes
from surefoot.store.sql import SqlStore
from tests.refusals import raised, refused
from tests.unit import small_models as small
from tests.unit import test_attack
from tests.unit.test_attack import (
    QUICK,
    Cut,
    as_module,
    as_onnx,
    as_probabilities,
    as_softmax,
    attack_study,
    radius,
)

torch = pytest.importorskip("torch")

BALLS = [(sf.perturb.LinfNoise, np.inf, 0.1), (sf.perturb.L2Noise, 2, 0.4)]


def attacked(model, function, x=None, noise=sf.perturb.LinfNoise, level=0.1, **more):
    x = small.batch(12) if x is None else x
    method = sf.methods.AttackFunction(function)
    return attack_study(model, x, perturbation=noise(level), method=method, **more).run().details


@pytest.fixture(scope="module")
def foolbox():
    """It imports what SciPy deprecates, and looks for git."""
    os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("foolbox")


@pytest.mark.parametrize("form", [as_module, as_onnx, as_probabilities])
@pytest.mark.parametrize(("noise", "order", "level"), BALLS)
def test_foolbox_goes_in_three_lines_and_breaks_what_can_be_broken(
    foolbox, form, noise, order, level, tmp_path
):
    kind = foolbox.attacks.LinfPGD if order == np.inf else foolbox.attacks.L2PGD

    def attack(model, images, labels, size):
        wrapped = foolbox.PyTorchModel(model, bounds=(0, 1))
        return kind()(wrapped, images, labels, epsilons=size)[1]

    x = small.batch(12)
    summary = attacked(form(tmp_path), attack, x, noise, level)
    breakable = sum(radius(one, order) < level for one in x)
    assert 0 < summary.broken <= breakable
    assert summary.broken >= breakable - 1
    assert summary.discarded == 0
    assert attacked(form(tmp_path), attack, x, noise, level) == summary  # the same random numbers


def test_the_function_of_the_page_runs_as_printed(foolbox):
    page = Path(__file__).parents[2] / "docs" / "how-to" / "attack.md"
    (code,) = re.findall(r"```python\n(# attacks\.py\n.*?)```", page.read_text(), re.DOTALL)
    names = {}
    exec(compile(code, str(page), "exec"), names)
    summary = attacked(as_module(None), names["pgd"])
    assert (summary.broken > 0, summary.discarded) == (True, 0)


@pytest.mark.parametrize("form", [as_module, as_onnx])
def test_it_is_given_a_module_of_logits_with_gradients_that_are_right(form, tmp_path):
    matrix, _ = small.weights(small.IMAGE, 3)
    calls = []

    def attack(model, images, labels, size):
        calls.append((labels.tolist(), size))
        assert isinstance(model, torch.nn.Module)
        assert not model.training
        at = images.clone().requires_grad_()
        logits = model(at)
        (slope,) = torch.autograd.grad(logits[:, 1].sum(), at)
        assert logits.detach().numpy() == pytest.approx(small.by_hand(images.numpy()), abs=1e-5)
        assert slope.numpy().reshape(len(at), -1) == pytest.approx(
            np.tile(matrix[:, 1], (len(at), 1)), abs=1e-6
        )
        return images

    model = form(tmp_path)
    assert attacked(model, attack).withstood == 1.0
    assert calls == [(small.by_hand(small.batch(12)).argmax(axis=1).tolist(), 0.1)]


def test_a_library_cannot_move_train_or_leave_gradients_in_the_model():
    net = small.module()

    def attack(model, images, labels, size):
        model.train()
        model.to(torch.float64)
        at = images.clone().requires_grad_()
        torch.nn.functional.cross_entropy(model(at), labels).backward()
        return images + size * at.grad.sign()

    summary = attacked(sf.load_model(net, shape=small.IMAGE), attack)
    assert summary.broken > 0
    assert all(p.grad is None and p.requires_grad for p in net.parameters())
    assert not net.training
    assert next(net.parameters()).dtype is torch.float32


def test_random_numbers_of_others_are_left_alone():
    def attack(model, images, labels, size):
        return images + size * (2 * torch.rand_like(images) - 1)

    model = as_module(None)
    state, of_torch = np.random.get_state()[1].copy(), torch.get_rng_state()  # noqa: NPY002
    first = attacked(model, attack)
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), of_torch)
    assert attacked(model, attack) == first


def test_a_model_without_gradients_is_a_function_of_numpy_arrays():
    matrix, _ = small.weights(small.IMAGE, 3)
    model = sf.load_model(small.by_hand, shape=small.IMAGE)

    def attack(model, images, labels, size):
        scores = model(images)
        second = np.argsort(scores, axis=1)[:, -2]
        way = np.sign(matrix[:, second] - matrix[:, labels]).T.reshape(images.shape)
        return images + size * way

    x = small.batch(12)
    breakable = sum(radius(one, np.inf) < 0.1 for one in x)
    assert breakable - 1 <= attacked(model, attack, x).broken <= breakable


@pytest.mark.parametrize(("noise", "order", "level"), BALLS)
def test_a_point_just_outside_by_rounding_counts_and_one_farther_is_ignored(noise, order, level):
    """Every point is adversarial; how far out it lies decides whether it is used."""
    matrix, _ = small.weights(small.IMAGE, 3)
    x = small.batch(12)
    far = [1.05 * radius(one, order) for one in x]
    level = float(np.median(far))

    def to(share):
        def attack(model, images, labels, size):
            second = model(images).argsort(dim=1)[:, -2]
            way = torch.tensor((matrix[:, second] - matrix[:, labels]).T).reshape(images.shape)
            way = (
                way.sign()
                if order == np.inf
                else way / way.flatten(1).norm(dim=1).view(-1, 1, 1, 1)
            )
            return images + share * size * way

        return attack

    exact, near, outside = (
        attacked(as_module(None), to(share), x, noise, level)
        for share in (1.0, 1 + OUTSIDE_SHARE / 2, 1 + 10 * OUTSIDE_SHARE)
    )
    assert exact.broken == near.broken > 0
    assert (exact.discarded, near.discarded) == (0, 0)
    assert (outside.broken, outside.discarded) == (0, 12)


def test_points_outside_the_bounds_and_numbers_that_are_none_are_ignored_and_counted():
    x = small.batch(12)
    x[:, 0, 0, 0] = 1.0
    model = sf.load_model(small.module(), shape=small.IMAGE, bounds=(0, 1))

    def attack(model, images, labels, size):
        points = images.clone()
        points[:4, 0, 0, 0] += 0.05
        points[4:6] = float("nan")
        return points

    study = attack_study(model, x, method=sf.methods.AttackFunction(attack))
    result = study.run()
    assert (result.details.broken, result.details.discarded) == (0, 6)
    words = " ".join(result.explain().split())
    assert "6 points were ignored that the function put outside the ball or the bounds" in words
    assert "The attack was attack, a function of the user" in words


WRONG = {
    "must return one image for each": lambda m, images, y, r: images[:3],
    "of several values return the images alone": lambda m, images, y, r: (images, images, None),
    "got NoneType": lambda m, images, y, r: None,
    "raised ValueError: no such thing": lambda m, x, y, r: (_ for _ in ()).throw(
        ValueError("no such thing")
    ),
    "raised TypeError": lambda images: images,
    "must return images of real numbers, got complex64": lambda m, x, y, r: x + 0j,
    "raised TypeError: .*BFloat16": lambda m, x, y, r: x.to(torch.bfloat16),
}


@pytest.mark.parametrize("says", WRONG)
def test_a_function_that_does_something_else_is_refused_with_its_name(says):
    refused(says, attacked, as_module(None), WRONG[says])


def test_beside_sampling_it_is_a_function_or_a_name_on_the_command_line(cwd):
    (cwd / "mine.py").write_text(
        "def attack(model, images, labels, radius):\n    return images + radius\n"
    )
    path = str(small.linear_net(cwd / "m.onnx"))
    how = {"kappa": 0.3, "max_trials": 50, "store": None}
    named = sf.certify(path, small.batch(8), "linf:0.3", **how, attack_method="mine.py:attack")
    passed = sf.certify(
        path, small.batch(8), "linf:0.3", **how, attack=lambda m, images, y, r: images + r
    )
    assert named.details.attack.broken == passed.details.attack.broken > 0
    assert named.details.attack.name == "mine.py:attack"
    assert "withstood mine.py:attack" in str(named)
    with pytest.raises(sf.errors.InvalidArgument, match=r"let mine\.py:attack have its own"):
        sf.certify(
            path, small.batch(8), "linf:0.3", **how, attack_method="mine.py:attack",
            attack_starts=2,
        )  # fmt: skip


def flip(module):
    with torch.no_grad():
        for value in (*module.parameters(), *module.buffers()):
            value.mul_(-1)


class Shifted(torch.nn.Module):
    """A network with a buffer that is not saved."""

    def __init__(self):
        super().__init__()
        self.net = small.module()
        self.register_buffer("shift", torch.tensor([0.0, 0.1, 0.2]), persistent=False)

    def forward(self, x):
        return self.net(x) + self.shift


@pytest.mark.parametrize("make", [small.module, lambda: Shifted().eval()])
def test_what_a_function_does_to_the_weights_it_is_given_reaches_no_model(make):
    def attack(model, images, labels, size):
        flip(model)
        return images

    net = make()
    before = [value.clone() for value in (*net.parameters(), *net.buffers())]
    model = sf.load_model(net, shape=small.IMAGE)
    x = small.batch(12)
    inputs = sf.load_inputs(x, model.predict(model.place(x)).numpy().argmax(axis=1))
    method = sf.methods.AttackFunction(attack)
    assert attack_study(model, x, inputs=inputs, method=method).run().details.broken == 0
    assert all(map(torch.equal, before, (*net.parameters(), *net.buffers())))


def count_journalled(store):
    return sum(run.trials for run in sf.runs(store))


@pytest.mark.parametrize("much", [-1, 1 + 1e-6])
def test_a_function_that_reaches_the_model_otherwise_is_refused_and_nothing_is_kept(much, tmp_path):
    net, store = small.module(), str(tmp_path / "runs.db")

    def attack(model, images, labels, size):
        with torch.no_grad():
            for value in net.parameters():
                value.mul_(much)
        return images

    model = sf.load_model(net, shape=small.IMAGE)
    study = attack_study(model, small.batch(12), method=sf.methods.AttackFunction(attack))
    raised(sf.errors.ModelChanged, r"attack changed the model.*work on a copy", study.run, store)
    assert count_journalled(store) == 0


class Memory:
    """A Python model that can be changed by whoever reaches it, and gives out its own memory."""

    def __init__(self):
        self.sign, self.scores = 1, np.zeros((0, 3))

    def __call__(self, x):
        if len(x) != len(self.scores):
            self.scores = np.zeros((len(x), 3))
        self.scores[:] = self.sign * small.by_hand(x)
        return self.scores


def test_a_python_model_with_a_hidden_state_that_the_attack_changes_is_refused(tmp_path):
    source, store = Memory(), str(tmp_path / "runs.db")
    model = sf.load_model(source, shape=small.IMAGE)

    def attack(model, images, labels, size):
        assert not [name for name in vars(model) if not name.startswith("_")]
        model(images)[:] = 0
        return images

    def evil(model, images, labels, size):
        source.sign = -1
        return images

    assert attacked(model, attack).broken == 0
    study = attack_study(model, small.batch(12), method=sf.methods.AttackFunction(evil))
    raised(sf.errors.ModelChanged, "evil changed the model", study.run, store)
    assert count_journalled(store) == 0
    source.sign = 1
    with pytest.raises(sf.errors.ModelChanged):  # beside sampling too, where others are a remark
        sf.certify(model, small.batch(8), "linf:0.3", kappa=0.3, store=None, attack=evil)


@pytest.mark.parametrize("method", [sf.methods.PGD(), sf.methods.Attack()])
def test_a_model_that_our_own_gradients_change_is_refused(method):
    class Learns(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net, self.gradients = small.module(), 0

        def forward(self, x):
            self.gradients += x.requires_grad and len(x) > 1
            return self.net(x) * (1 - 2 * (self.gradients > 0))

    model = sf.load_model(Learns().eval(), shape=small.IMAGE)
    with pytest.raises(sf.errors.ModelChanged, match="the attack changed the model"):
        attack_study(model, small.batch(12), method=method).run()


def test_a_module_that_cannot_be_copied_is_refused():
    net = small.module()
    net.table = torch.ones(1, requires_grad=True) * 2
    with pytest.raises(sf.errors.InvalidArgument, match=r"let copy\.deepcopy\(module\) work"):
        attacked(sf.load_model(net, shape=small.IMAGE), lambda m, images, y, r: images)


SAMPLED = sf.methods.KappaTest(0.1, 0.1, 60)


def sampled_study(model, x, level=0.1, **more):
    """A study that samples; the attack goes beside it."""
    return test_attack.attack_study(model, x, level, **{"method": SAMPLED, **more})


def odd_onnx(folder):
    """A linear net behind a sine."""
    matrix, bias = small.weights(small.IMAGE, 3)
    nodes = [
        helper.make_node("Flatten", ["x"], ["flat"], axis=1),
        helper.make_node("Hardmax", ["flat"], ["waves"]),
        helper.make_node("Gemm", ["waves", "matrix", "bias"], ["scores"]),
    ]
    place = ("x", TensorProto.FLOAT, ["n", *small.IMAGE])
    return sf.load_model(
        small.save_graph(
            folder / "odd.onnx",
            nodes,
            [place],
            [("scores", TensorProto.FLOAT)],
            {"matrix": matrix, "bias": bias},
        )
    )


REFUSED = {
    "rotation offers none": {"perturbation": sf.perturb.Rotation(5.0)},
    "gaussian offers none": {"perturbation": sf.perturb.GaussianNoise(0.1)},
    "the property 'confidence' is not": {
        "property": sf.properties.Confidence(),
        "model": as_softmax,
    },
    "scores but no gradients": {"model": lambda _: sf.load_model(small.by_hand, shape=small.IMAGE)},
    "the operator Hardmax": {"model": odd_onnx},
    "no gradient flows": {"model": lambda _: sf.load_model(Cut().eval(), shape=small.IMAGE)},
}


@pytest.mark.parametrize("says", REFUSED)
def test_where_there_is_no_attack_the_column_is_empty_and_says_why(says, tmp_path):
    more = dict(REFUSED[says])
    model = more.pop("model", as_onnx)(tmp_path)
    x = small.batch(3)
    inputs = sf.load_inputs(x, np.zeros(3, int))
    result = sampled_study(model, x, inputs=inputs, **more).run(attack=QUICK)
    summary = result.details.attack
    assert summary.withstood is None
    assert says in summary.reason
    (line,) = attack_notes({"a": summary})
    assert line.startswith("a: No attack: ")
    assert line.endswith(".")
    assert all(claim.kind != "robust_accuracy" for claim in result.claims)


def test_an_onnx_file_without_the_package_names_the_line_that_installs_it(tmp_path, monkeypatch):
    model = as_onnx(tmp_path)
    monkeypatch.setitem(sys.modules, "onnx", None)
    summary = sampled_study(model, small.batch(2)).run(attack=QUICK).details.attack
    assert "pip install 'surefoot[verify]'" in summary.reason


@pytest.fixture
def stored(tmp_path):
    model = sf.load_model(small.module(), shape=small.IMAGE, bounds=(0, 1))
    return sampled_study(model, small.batch(9), 0.15), str(tmp_path / "run.db")


def test_an_attack_is_added_to_a_finished_run_and_kept(stored):
    study, path = stored
    plain = study.run(path).record
    progress = []
    first = study.run(path, attack=QUICK, on_progress=progress.append).record
    assert plain.details.attack is None
    assert progress
    assert progress[-1].subjects == 9
    sampled = tuple(claim for claim in first.claims if claim.kind != "robust_accuracy")
    assert sampled == plain.claims
    assert replace(first.details, attack=None) == plain.details
    assert first.inputs == plain.inputs
    assert 0 < first.details.attack.withstood < 1
    assert record_from_json(record_to_json(first)) == first
    with closing(SqlStore(path, create=False)) as store:
        assert store.record(first.digest) == first
        assert store.record() == first  # not the run of the attack itself

    def never(_):
        raise AssertionError("it was attacked again")

    assert study.run(path, attack=QUICK, on_progress=never).record == first
    again = study.run(path, attack=sf.methods.Attack(starts=1, iterations=3)).details.attack
    assert (again.starts, again.iterations, again.targets) == (1, 3, 2)


def test_stopping_an_attack_keeps_what_was_measured(stored):
    study, path = stored
    study.run(path)

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        study.run(path, attack=QUICK, on_progress=stop)
    result = study.run(path, attack=QUICK)
    assert result.from_store
    assert result.details.attack == study.run(attack=QUICK).details.attack
