"""A model whose answers depend on the size of its batch is refused before a run, by its reason."""

import re

import numpy as np
import pytest

import surefoot as sf
from surefoot.engine import batching
from surefoot.engine.outputs import CheckStatus
from surefoot.engine.preflight import compare_batches, examine
from surefoot.errors import InvalidArgument, OutOfMemory
from surefoot.study import run

BATCH = 100


def inputs(number=50):
    """All of one class and near its edge, so that a model that says the class of all looks good."""
    x = np.full((number, 2), 0.49, np.float32)
    x[:, 1] = np.linspace(0, 1, number)
    return x, np.zeros(number, np.int64)


def linear(x):
    return np.stack([0.5 - x[:, 0], x[:, 0] - 0.5], axis=1)


def first_64(x):
    """The rows after those get class 0."""
    scores = linear(x)
    scores[64:] = [1.0, 0.0]
    return scores


def labels_of_first_64(x):
    """The same in labels, which clean inputs of class 0 do not show."""
    return np.eye(2)[first_64(x).argmax(axis=1)]


def flips_from_30(x):
    return linear(x) if len(x) < 30 else -linear(x)


def ends_wrong(x):
    """The last row of a large batch alone."""
    scores = linear(x)
    if len(x) == BATCH:
        scores[-1] *= -9
    return scores


def options(**own):
    return {"store": None, "workers": 1, "progress": False, "bounds": (0, 1), "batch": BATCH, **own}


@pytest.mark.parametrize("model", [first_64, labels_of_first_64, ends_wrong])
def test_such_a_model_is_refused_with_the_row_both_sizes_and_the_way_out(model):
    said = r"scores of input \d+ change .* row \d+ of a batch of 100 .* of 16 by .*--batch 16"
    with pytest.raises(InvalidArgument, match=said):
        sf.estimate(model, inputs(), "linf:0.1", each=0.2, **options())


COMMANDS = {
    "precision": (sf.estimate, "linf:0.1", {"precision": 0.05}),
    "certify": (sf.certify, "linf:0.1", {"kappa": 0.1, "batch": None}),
    "tail": (sf.tail, "linf:0.1", {}),
    "curve": (sf.curve, "linf:0..0.1", {}),
    "compare": (sf.compare, "linf:0.1", {"each": 0.2}),
}


@pytest.mark.parametrize("method", COMMANDS)
def test_every_way_to_sample_is_checked(method, monkeypatch):
    monkeypatch.setattr(batching, "_seconds", lambda _, size: 1e-3 + 1e-6 * size)  # large is fast
    command, perturb, own = COMMANDS[method]
    model = {"a": linear, "b": first_64} if method == "compare" else first_64
    with pytest.raises(InvalidArgument, match="change with the batch size"):
        command(model, inputs(), perturb, **options(**own))


def test_batches_that_the_model_can_take_are_a_way_out():
    way_out = sf.estimate(first_64, inputs(), "linf:0.1", each=0.2, **options(batch=16))
    honest = sf.estimate(linear, inputs(), "linf:0.1", each=0.2, **options())
    assert way_out.claims == honest.claims
    assert way_out.record.findings == honest.record.findings


@pytest.mark.parametrize("number", [50, 200])
def test_the_batch_in_which_clean_inputs_are_classified_counts_too(number):
    with pytest.raises(InvalidArgument, match=f"of a batch of {number}") as refused:
        sf.estimate(flips_from_30, inputs(number), "linf:0.1", each=0.2, **options(batch=16))
    assert "--batch" not in str(refused.value)  # the run's own size does not help


def test_a_batch_that_does_not_fit_into_memory_is_halved():
    class Small:
        def predict(self, x):
            if len(x) > 50:
                raise OutOfMemory("no room")
            return np.where(np.arange(len(x)) < 40, 1.0, 2.0)[:, None]

    found = compare_batches(Small(), np.zeros((20, 1), np.float32), 160)
    assert (found.small, found.large, found.place >= 40) == (16, 40, False)
    found = compare_batches(Small(), np.zeros((20, 1), np.float32), 50)
    assert (found.large, found.place >= 40, found.difference) == (50, True, 0.5)


def test_copies_of_an_input_are_noted_and_a_few_are_not():
    x, y = inputs(20)
    copied = sf.estimate(linear, (x[[0] * 18 + [1, 2]], y), "linf:0.1", each=0.2, **options())
    assert "17 of 20 inputs are copies of another one" in str(copied)
    assert copied.exit_code == 0
    several = (x[np.r_[0, :19]], y)
    assert "copies" in sf.estimate(linear, several, "linf:0.1", each=0.2, **options()).explain()
    x, y = inputs(100)
    one = sf.estimate(linear, (x[np.r_[0, :99]], y), "linf:0.1", each=0.2, **options())
    assert not re.search("cop(y|ies)", str(one))


def test_a_slow_network_answers_few_rows_before_its_first_trial(monkeypatch):
    """Beside its clean inputs, which every study needs: 40 ms a row, as of ImageNet on one core."""
    clock, rows = [0.0], []

    def slow(x):
        rows.append(len(x))
        clock[0] += 0.04 * len(x)
        return linear(x.mean(axis=(2, 3)))

    def first_trial(*_, **__):
        raise StopIteration

    monkeypatch.setattr(batching.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(run, "run_measurement", first_trial)
    x = np.random.default_rng(0).random((30, 3, 224, 224), dtype=np.float32)
    y = linear(x.mean(axis=(2, 3))).argmax(axis=1)  # right when clean: nothing to doubt
    with pytest.raises(StopIteration):
        sf.estimate(slow, (x, y), "linf:0.1", precision=0.1, **options(batch=None))
    assert sum(rows) <= 30 + 40


def test_a_model_that_changes_once_is_noticed():
    calls = []

    def changes(x):
        calls.append(x)
        return linear(x) + (len(calls) == 1)

    model = sf.load_model(changes, shape=(2,), scores="logits")
    calls.clear()
    checks = {c.name: c for c in examine(sf.load_inputs(*inputs()), model, None)}
    assert checks["answers repeat"].status is CheckStatus.FAILED
