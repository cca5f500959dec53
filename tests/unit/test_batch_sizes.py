"""Sizes of batches: a model whose answers depend on them is refused; memory limits them."""

import hashlib
import io
import re
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import surefoot as sf
from surefoot.engine import batching
from surefoot.engine.batching import ON_GPU, fastest_batch_size
from surefoot.engine.outputs import CheckStatus
from surefoot.engine.preflight import compare_batches, examine
from surefoot.errors import InvalidArgument, OutOfMemory
from surefoot.inputs import load_inputs
from surefoot.system import memory_limits
from tests.refusals import refused

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
    refused(said, sf.estimate, model, inputs(), "linf:0.1", each=0.2, **options())


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
    refused("change with the batch size", command, model, inputs(), perturb, **options(**own))


def test_batches_that_the_model_can_take_are_a_way_out():
    way_out = sf.estimate(first_64, inputs(), "linf:0.1", each=0.2, **options(batch=16))
    honest = sf.estimate(linear, inputs(), "linf:0.1", each=0.2, **options())
    assert way_out.claims == honest.claims
    assert way_out.record.findings == honest.record.findings


@pytest.mark.parametrize("number", [50, 200])
def test_the_batch_in_which_clean_inputs_are_classified_counts_too(number):
    with pytest.raises(InvalidArgument, match=f"of a batch of {number}") as refusal:
        sf.estimate(flips_from_30, inputs(number), "linf:0.1", each=0.2, **options(batch=16))
    assert "--batch" not in str(refusal.value)  # the run's own size does not help


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


def test_a_model_that_changes_once_is_noticed():
    calls = []

    def changes(x):
        calls.append(x)
        return linear(x) + (len(calls) == 1)

    model = sf.load_model(changes, shape=(2,), scores="logits")
    calls.clear()
    checks = {c.name: c for c in examine(sf.load_inputs(*inputs()), model, None)}
    assert checks["answers repeat"].status is CheckStatus.FAILED


MIB = 2**20


@pytest.fixture
def memory(tmp_path, monkeypatch):
    """Sets the memory that the system says is free, in bytes."""

    def set_free(available):
        file = tmp_path / "meminfo"
        file.write_text(f"MemTotal: 99999999 kB\nMemAvailable: {available // 1024} kB\n")
        monkeypatch.setattr(memory_limits, "_MEMINFO", file)
        monkeypatch.setattr(memory_limits, "_CONTROL_GROUP", tmp_path / "none")

    return set_free


def test_free_memory_is_what_the_system_and_the_container_leave(memory, tmp_path, monkeypatch):
    memory(512 * MIB)
    assert memory_limits.free_bytes() == 512 * MIB
    group = tmp_path / "group"
    group.mkdir()
    for name, text in (
        ("max", 300 * MIB),
        ("current", 250 * MIB),
        ("stat", "a 1\ninactive_file 9"),
    ):
        (group / f"memory.{name}").write_text(str(text))
    monkeypatch.setattr(memory_limits, "_CONTROL_GROUP", group)
    assert memory_limits.free_bytes() == 50 * MIB + 9
    (group / "memory.max").write_text("max\n")
    assert memory_limits.free_bytes() == 512 * MIB


@pytest.mark.parametrize("row_bytes", [1, 4096, MIB, 200 * MIB, 10**12])
@pytest.mark.parametrize("workers", [1, 7])
def test_batches_take_a_quarter_of_the_free_memory_or_hold_one_trial(memory, row_bytes, workers):
    memory(1000 * MIB)
    trials = memory_limits.most_trials(row_bytes, workers)
    assert trials == 1 or 4 * workers * trials * row_bytes <= 250 * MIB
    assert memory_limits.most_workers(10**12) == 1


@pytest.mark.parametrize(("largest", "sizes"), [(1, []), (2, [1, 2]), (20, [2, 4, 8, 16])])
def test_the_search_for_a_batch_of_large_inputs_begins_small_and_stays_below_the_limit(
    largest, sizes
):
    tried = []
    assert fastest_batch_size(tried.append, largest=largest) <= largest
    assert list(dict.fromkeys(tried)) == sizes[: len(set(tried))]


def test_the_search_begins_anew_with_small_batches_where_its_first_does_not_fit():
    tried = []

    def run(size):
        tried.append(size)
        if size > 100:
            raise OutOfMemory("too large")

    assert fastest_batch_size(run, ON_GPU) <= 64
    assert tried[0] == 128
    assert set(tried[1:]) <= {8, 16, 32, 64, 128}


def test_workers_that_share_pythons_lock_get_larger_batches(monkeypatch):
    """64 trials are fastest by a tenth, but sixteen workers wait before every batch."""
    seconds = {size: size * (3e-5 if size > 64 else 2.7e-5) for size in map(int, 2.0 ** np.r_[:14])}
    monkeypatch.setattr(batching, "_seconds", lambda _, size: seconds[size])
    assert fastest_batch_size(print) == 64
    assert fastest_batch_size(print, workers=16) >= 512


@pytest.fixture
def cut_off(tmp_path):
    """A folder of images with sound headers whose pixels cannot be read."""
    folder = tmp_path / "images"
    folder.mkdir()
    buffer = io.BytesIO()
    Image.fromarray(np.zeros((6, 6), np.uint8)).save(buffer, "PNG")
    for name in "ab":
        (folder / f"{name}.png").write_bytes(buffer.getvalue()[:45])
    return folder


def test_images_that_do_not_fit_into_memory_are_refused_before_one_is_read(memory, cut_off):
    memory(20 * MIB)
    with pytest.raises(InvalidArgument, match=r"0\.00745 GiB .* 0\.0195 GiB .* smaller --size"):
        load_inputs(cut_off, size=(1000, 1000))
    refused("cannot be read as an image", load_inputs, cut_off, size=(100, 100))


def test_a_size_that_the_model_does_not_take_is_refused_before_an_image_is_read(cut_off):
    with pytest.raises(InvalidArgument, match=r"shape \(1, 6, 6\), and --size 9x6 .* leave it out"):
        load_inputs(cut_off, size=(9, 6), shape=(1, 6, 6))
    for shape in ((1, None, 6), (36,), (6, 6)):
        refused("cannot be read as an image", load_inputs, cut_off, size=(6, 6), shape=shape)


@pytest.mark.parametrize("suffix", ["npz", "npy"])
def test_arrays_that_do_not_fit_into_memory_are_refused_by_their_header(memory, tmp_path, suffix):
    path, x = tmp_path / f"x.{suffix}", np.zeros((3, MIB), np.uint8)
    if suffix == "npz":
        np.savez_compressed(path, x=x)
    else:
        np.save(path, x)
    memory(30 * MIB)
    refused(r"0\.0117 GiB .* store a part of it", load_inputs, path)
    memory(40 * MIB)
    assert len(load_inputs(path)) == 3


def study(batches):
    rng = np.random.default_rng(4)
    weights = rng.normal(size=(72, 3))

    def scores(x):
        batches.append(len(x))
        return x.reshape(len(x), -1) @ weights

    x = rng.uniform(0, 1, (2, 3, 6, 4)).astype(np.float32)
    model = sf.load_model(scores, shape=(3, 6, 4), bounds=(0, 1))
    inputs = load_inputs(x, [0, 1])
    method = sf.methods.ExactSequential(width=0.2, error=0.1)
    return sf.Study(model, inputs, sf.perturb.LinfNoise(0.3), method)


def test_pieces_and_small_batches_never_change_a_result(monkeypatch):
    whole, pieces = [], []
    ordinary = study(whole)
    expected = ordinary.run()
    monkeypatch.setattr(memory_limits, "_PIECE_BYTES", 1)
    monkeypatch.setattr(memory_limits, "_MOST_BATCH_BYTES", 1)
    bounded = study(pieces)
    result = bounded.run()
    assert bounded.digest == ordinary.digest
    assert result.claims == expected.claims
    seen, known = ([(f.name, f.status) for f in r.record.findings] for r in (result, expected))
    assert seen == known
    got, want = result.record.details, expected.record.details
    assert got.clean_loss.mean == pytest.approx(want.clean_loss.mean, rel=1e-9)  # sums in pieces
    assert replace(got, clean_loss=None) == replace(want, clean_loss=None)
    assert max(pieces) == 2 < max(whole)  # two only to learn whether inputs of a batch mix


def test_digests_name_the_values_and_not_how_they_lie_in_memory():
    x = np.random.default_rng(1).uniform(0, 1, (2, 3, 4)).astype(np.float32)
    inputs = load_inputs(x, [0, 1])
    expected = [
        hashlib.sha256(f"{i}\0{i}\0(3, 4)\0".encode() + x[i].tobytes()).digest() for i in (0, 1)
    ]
    assert inputs.row_digests() == expected
    turned = load_inputs(np.asfortranarray(x), [0, 1])
    assert turned.digest() == inputs.digest()
