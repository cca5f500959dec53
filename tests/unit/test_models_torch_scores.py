"""PyTorch: scores in what a module returns, failures, precisions."""

from importlib.resources import files
from typing import NamedTuple

import numpy as np
import pytest

import surefoot as sf
from surefoot.errors import InvalidArgument, ModelFailed, OutOfMemory
from surefoot.models import as_probabilities, load_model
from surefoot.testing import check_model
from tests.unit.small_models import (
    IMAGE,
    batch,
    by_hand,
    module,
    softmax,
)
from tests.unit.test_models_torch import close

torch = pytest.importorskip("torch")
nn = torch.nn


class Answer(NamedTuple):
    logits: torch.Tensor
    other: int


class Answering(nn.Module):
    def __init__(self, give) -> None:
        super().__init__()
        self.give = give
        self.inner = module()

    def forward(self, x: torch.Tensor):
        return self.give(self.inner(x))


@pytest.mark.parametrize(
    "give",
    [
        lambda z: (z, z.sum()),
        lambda z: [z],
        lambda z: Answer(z, 3),
        lambda z: {"logits": z, "loss": 0},
        lambda z: z[:, :, None, None],
        lambda z: z.double(),
    ],
    ids=["tuple", "list", "named", "dict", "rank four", "double"],
)
def test_scores_are_found_in_what_a_module_returns(give):
    model = load_model(Answering(give).eval(), shape=IMAGE)
    close(model, batch(5), by_hand(batch(5)))


@pytest.mark.parametrize(
    ("give", "match"),
    [
        (lambda z: z.argmax(1), "not labels"),
        (lambda z: z.mean(0), "first axis must be the batch"),
        (lambda z: z[:3], "first axis must be the batch"),
        (lambda z: z[:, :, None].repeat(1, 1, 2), "one row of scores"),
        (lambda z: {"loss": z}, "dict of loss"),
    ],
)
def test_what_is_no_row_of_scores_is_refused(give, match):
    with pytest.raises(ModelFailed, match=match):
        load_model(Answering(give).eval(), shape=IMAGE)


def test_one_column_is_two_classes():
    share = Answering(lambda z: torch.sigmoid(z[:, :1])).eval()
    x = batch(5)
    second = 1 / (1 + np.exp(-by_hand(x)[:, :1]))
    model = load_model(share, shape=IMAGE)
    close(model, x, np.concatenate([1 - second, second], axis=1))
    logit = load_model(Answering(lambda z: z[:, 0]).eval(), shape=IMAGE, scores="logits")
    close(as_probabilities(logit), x, np.concatenate([1 - second, second], axis=1))


def test_normalisation_equals_doing_it_by_hand():
    shape, mean, std = (3, 4, 5), (0.48, 0.45, 0.4), (0.23, 0.22, 0.21)
    model = load_model(module(shape=shape), shape=shape, mean=mean, std=std)
    x = batch(5, shape)
    ready = (x - np.reshape(mean, (3, 1, 1))) / np.reshape(std, (3, 1, 1))
    close(model, x, by_hand(ready))
    check_model(model, x)


def test_softmax_of_a_module_stays_in_torch():
    model = as_probabilities(load_model(module(), shape=IMAGE))
    x = batch(5)
    assert isinstance(model.predict(model.place(x)), torch.Tensor)
    close(model, x, softmax(by_hand(x)))


class Failing(nn.Module):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error
        self.inner = module()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if len(x) == 5:
            raise self.error
        return self.inner(x)


def test_a_module_that_raises_later_has_failed_with_its_message():
    model = load_model(Failing(ValueError("five is\n too many")).eval(), shape=IMAGE)
    with pytest.raises(ModelFailed, match="ValueError: five is too many"):
        model.predict(model.place(batch(5)))


def test_a_full_device_is_out_of_memory():
    error = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
    model = load_model(Failing(error).eval(), shape=IMAGE)
    with pytest.raises(OutOfMemory, match=r"2\.00 GiB"):
        model.predict(model.place(batch(5)))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_a_module_of_another_precision_gets_inputs_of_that_precision(dtype):
    module = torch.nn.Linear(4, 3).to(dtype).eval()
    model = load_model(module, shape=(4,))
    x = np.random.default_rng(0).random((5, 4), dtype=np.float32)
    check_model(model, x, tolerance=0.02)
    assert model.predict(model.place(x)).dtype == torch.float32


def test_half_precision_is_said_and_compared_with_full():
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    half = sf.load_model(module.eval(), shape=(6,), half=True)
    full = sf.load_model(module.eval(), shape=(6,))
    assert half.signature.preparation == "run in half precision"
    assert half.full.signature == full.signature
    x = np.random.default_rng(0).random((40, 6), dtype=np.float32)
    ours, theirs = (m.predict(m.place(x)).numpy() for m in (half, full))
    assert not np.array_equal(ours, theirs)
    np.testing.assert_allclose(ours, theirs, atol=0.01)
    studies = [
        sf.Study(m, sf.load_inputs(x), sf.perturb.LinfNoise(0.1), sf.methods.FixedSize(0.3, 0.3))
        for m in (half, full)
    ]
    assert studies[0].digest != studies[1].digest
    (check,) = [f for f in studies[0].run().record.findings if f.name == "half precision"]
    assert "of 160 perturbed inputs the label differs" in check.finding
    assert next(module.parameters()).dtype == torch.float32


def test_half_precision_is_for_pytorch_models():
    with pytest.raises(InvalidArgument, match="half precision is for PyTorch"):
        sf.load_model(str(files("surefoot") / "data" / "fashion_cnn.onnx"), half=True)
