"""An attack leaves the model as it is: what it does to the model it is given counts for nothing."""

import numpy as np
import pytest

import surefoot as sf
from tests.unit import small_models as small
from tests.unit.test_attack import attack_study
from tests.unit.test_attack_function import attacked

torch = pytest.importorskip("torch")


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
    with pytest.raises(sf.errors.ModelChanged, match=r"attack changed the model.*work on a copy"):
        study.run(store)
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
    with pytest.raises(sf.errors.ModelChanged, match="evil changed the model"):
        study.run(store)
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
