"""A model that writes to its batch changes no number and none of the user's arrays."""

import warnings

import numpy as np
import pytest

import surefoot as sf
from surefoot.engine.outputs import CheckStatus, clean_outputs
from surefoot.engine.preflight import examine
from surefoot.testing import check_model
from tests.refusals import failed
from tests.worlds import SHAPE, linear, points, study

torch = pytest.importorskip("torch")
nn = torch.nn

CHECK = "the model does not change its input"


def pure(x):
    return linear(np.abs(x) - 0.5)


def in_place(x):
    np.abs(x, out=x)
    x -= 0.5
    return linear(x)


def through_a_view(x):
    flat = x.reshape(len(x), -1)
    flat[:] = np.abs(flat)
    flat -= 0.5
    return linear(flat)


def through_torch(x):
    t = torch.from_numpy(x)
    return linear(t.abs_().sub_(0.5).numpy())


def sometimes(x):
    """Writes for some batches only, and not for the ones it is first tried on."""
    if x.min() >= 0:
        return pure(x)
    return in_place(x)


class Scaler:
    """Speaks like an estimator, and centres its batch in place."""

    def predict_proba(self, x):
        odds = np.exp(in_place(x))
        return odds / odds.sum(axis=1, keepdims=True)


class Module(nn.Module):
    """As `pure`, by operations that write to what they are given."""

    def __init__(self, how):
        super().__init__()
        self.how = how

    def forward(self, x):
        match self.how:
            case "in place":
                x = x.abs_().sub_(0.5)
            case "view":
                x = x.view(len(x), -1).abs_().sub_(0.5)
            case "data":
                x.data.abs_().sub_(0.5)
            case "pure":
                x = x.abs() - 0.5
            case "sometimes":
                x = x.abs_() - 0.5 if bool((x < 0).any()) else x - 0.5
        total = x.sum(dim=1)
        return torch.stack([total, -total], dim=1)


FUNCTIONS = [in_place, through_a_view, through_torch, sometimes]
WRITERS = {
    **{f.__name__: f for f in FUNCTIONS},
    "estimator": Scaler(),
    **{f"module, {how}": Module(how).eval() for how in ("in place", "view", "data")},
    "layers": nn.Sequential(nn.ReLU(inplace=True), nn.Linear(6, 2)).eval(),
}


@pytest.mark.parametrize("source", WRITERS.values(), ids=WRITERS)
def test_a_model_that_writes_conforms_and_leaves_every_array_alone(source):
    model = sf.load_model(source, shape=SHAPE)
    x = np.random.default_rng(0).uniform(-1, 1, (8, *SHAPE)).astype(np.float32)
    mine = x.copy()
    check_model(model, mine)
    first = np.asarray(model.predict(model.place(mine)))
    np.testing.assert_array_equal(mine, x)
    np.testing.assert_array_equal(np.asarray(model.predict(model.place(mine))), first)
    clean_outputs(model, mine)
    np.testing.assert_array_equal(mine, x)


MODULES = [WRITERS[f"module, {how}"] for how in ("in place", "view", "data")]
PAIRS = [(f, pure) for f in FUNCTIONS] + [(MODULES[0], Module("pure").eval())]


@pytest.mark.parametrize(("source", "plain"), PAIRS)
def test_a_study_of_a_model_that_writes_is_that_of_one_that_does_not(source, plain):
    writes, keeps = (
        study(model=sf.load_model(f, shape=SHAPE), perturbation=sf.perturb.LinfNoise(0.2)).run()
        for f in (source, plain)
    )
    assert writes.claims == keeps.claims
    assert writes.by_id == keeps.by_id


def finding(model):
    return {c.name: c for c in examine(points(20), model, None)}[CHECK]


def test_the_preflight_says_that_a_model_writes_and_gets_a_copy():
    for source in WRITERS.values():
        preflight = finding(sf.load_model(source, shape=SHAPE))
        assert preflight.status is CheckStatus.OK
    assert (
        "writes to its batch, so it gets a copy"
        in finding(sf.load_model(in_place, shape=SHAPE)).finding
    )
    assert "leaves its batch unchanged" in finding(sf.load_model(pure, shape=SHAPE)).finding


class Own:
    """A model by someone else, who takes the batch for theirs."""

    signature = sf.load_model(pure, shape=SHAPE).signature

    def place(self, x):
        return x

    def predict(self, x):
        return in_place(x)


def test_a_model_of_ones_own_that_writes_is_stopped():
    preflight = finding(Own())
    assert preflight.status is CheckStatus.FAILED
    assert "let the model copy its batch first" in preflight.finding
    with pytest.raises(AssertionError, match="predict changed its input"):
        check_model(Own(), points().x)
    x = points(300).x
    kept = x.copy()
    clean_outputs(Own(), x)
    np.testing.assert_array_equal(x, kept)


class Reusing(Own):
    """Answers in one array, again and again."""

    answer = np.zeros((256, 2))

    def predict(self, x):
        out = self.answer[: len(x)]
        out[:] = pure(x)
        return out


def test_an_answer_that_is_overwritten_is_noticed_and_does_no_harm_to_clean_outputs():
    with pytest.raises(AssertionError, match="overwrote its answer"):
        check_model(Reusing(), points().x)
    x = points(700).x
    np.testing.assert_array_equal(clean_outputs(Reusing(), x), pure(x))


def test_a_module_that_writes_for_some_batches_only_is_a_failure_with_the_way_out():
    model = sf.load_model(Module("sometimes").eval(), shape=SHAPE)
    x = np.abs(points(8).x)
    model.predict(model.place(x))
    failed(r"changed this batch in place.*x = x\.clone\(\)", model.predict, model.place(-x))
    assert finding(model).status is CheckStatus.FAILED


def test_the_gradient_of_a_module_that_writes_is_that_of_one_that_does_not():
    rows = torch.from_numpy(points(5).x.copy())
    gradients = [
        sf.load_model(Module(how).eval(), shape=SHAPE).logits_and_gradient(rows, lambda z, _: z)
        for how in ("in place", "pure")
    ]
    for one, two in zip(*gradients, strict=True):
        torch.testing.assert_close(one, two)


def test_a_function_through_torch_warns_of_nothing_and_says_so_each_time():
    """PyTorch warns of read-only arrays once a process; every such function must be noticed."""

    def reads(x):
        return linear(torch.from_numpy(x).abs().sub(0.5).numpy())

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            model = sf.load_model(reads, shape=SHAPE)
            assert model.private
            model.predict(points().x)


def test_warnings_of_a_function_are_passed_on():
    def old(x):
        warnings.warn("use the new one", FutureWarning, stacklevel=1)
        return pure(x)

    with pytest.warns(FutureWarning, match="use the new one"):
        assert not sf.load_model(old, shape=SHAPE).private
