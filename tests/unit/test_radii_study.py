"""Critical radii through the whole engine: known by construction, resumed, reported, refused."""

from dataclasses import replace

import numpy as np
import pytest

import surefoot as sf
from surefoot.core.claims import Verdict
from surefoot.core.counts import Proof
from surefoot.region.critical_level import FIRST_BOUNDS
from tests.in_words import said_of_earlier_runs
from tests.refusals import refused
from tests.unit.float32_networks import onnx_chain
from tests.worlds import every_batch_watched


def write(path, layers, opset=17):
    """Dense layers with ReLU between them, as an ONNX file."""
    single = [(np.asarray(w, np.float32), np.asarray(b, np.float32)) for w, b in layers]
    path.write_bytes(onnx_chain(single, opset=opset))
    return str(path)


LINEAR = [([[1.0, 1.0], [0.0, 0.0]], [-1.0, 0.0])]
"""Class 0 where the sum is above 1: the critical radius is |sum - 1| / 2 within the box."""


def linear_study(folder, points, method=None, labels=None, **more):
    path = write(folder / "linear.onnx", LINEAR)
    model = sf.load_model(path, bounds=(0, 1))
    x = np.asarray(points, np.float32)
    own = (x.sum(axis=1) <= 1).astype(np.int64) if labels is None else np.asarray(labels)
    inputs = sf.load_inputs(x, own)
    method = method or sf.methods.CriticalLevel(tolerance=1e-3, seconds_per_input=5)
    noise = sf.perturb.LinfNoise()
    return sf.Study(model, inputs, noise, method, property=sf.properties.TrueLabel(), **more)


POINTS = [(0.5, 0.7), (0.9, 0.8), (0.1, 0.2), (0.45, 0.5), (0.6, 0.6)]


def truth(point):
    return abs(sum(point) - 1) / 2


def test_radii_of_a_linear_network_are_known(tmp_path):
    result = linear_study(tmp_path, POINTS).run()
    for row, point in zip(result.inputs, POINTS, strict=True):
        assert row.result.low <= truth(point) + 1e-6
        assert row.result.high >= truth(point) - 1e-6
        assert row.result.high - row.result.low <= 1e-3 * 1.001
        assert row.result.reason == "closed"
    assert result.details.reader < 1e-5


@pytest.mark.slow
def test_a_misclassified_input_has_radius_zero_and_is_counted(tmp_path):
    result = linear_study(tmp_path, POINTS[:2], labels=[1, 0]).run()
    first = result.inputs[0].result
    assert (first.low, first.high) == (0.0, 0.0)
    assert first.reason == "misclassified"


def test_a_normalisation_outside_the_graph_is_part_of_what_is_proved(tmp_path):
    path = write(tmp_path / "n.onnx", LINEAR)
    model = sf.load_model(path, bounds=(0, 1), mean=(0.5,), std=(0.25,))
    x = np.array([[0.7, 0.7]], np.float32)  # (0.2 + 0.2) / 0.25 = 1.6, above 1 by 0.6
    study = sf.Study(
        model,
        sf.load_inputs(x, np.array([0])),
        sf.perturb.LinfNoise(),
        sf.methods.CriticalLevel(1e-3, 5),
        property=sf.properties.TrueLabel(),
    )
    (row,) = study.run().inputs
    assert row.result.low - 1e-6 <= 0.6 * 0.25 / 2 <= row.result.high + 1e-6


@pytest.mark.slow
def test_a_requirement_passes_fails_or_stays_open(tmp_path):
    method = sf.methods.CriticalLevel(tolerance=1e-3, seconds_per_input=5, quantile=0.3)
    result = linear_study(tmp_path, np.random.default_rng(0).random((80, 2)), method).run()

    def verdict(least):
        (claim,) = result.require(least).verdicts
        return claim.verdict

    assert verdict(1.0) is Verdict.FAIL
    around = result.details.quantiles[0].result.interval
    assert verdict(around.low / 2) is Verdict.PASS
    assert verdict((around.low + around.high) / 2) is Verdict.UNDECIDED
    for least in (-1, 0, float("nan"), float("inf")):
        refused(f"a number above 0, got {least}", result.require, least)


def test_evidence_of_two_tries_keeps_the_better_ends():
    first = Proof(0.1, 0.3, "a", "out of time", 5, 1.0)
    second = Proof(0.2, None, "", "out of time", 7, 2.0, 1)
    both = first + second
    assert (both.low, both.high, both.witness) == (0.2, 0.3, "a")
    assert (both.nodes, both.seconds, both.discarded) == (12, 3.0, 1)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"tolerance": 0}, "got 0"),
        ({"tolerance": -1}, "got -1"),
        ({"quantile": 0}, "got 0"),
        ({"quantile": 1}, "got 1"),
        ({"seconds_per_input": 0}, "got 0"),
        ({"error": 1}, "got 1"),
    ],
)
def test_bad_settings_are_refused(change, text):
    refused(text, sf.methods.CriticalLevel, **change)


def test_what_cannot_be_proved_is_refused(tmp_path):
    study = linear_study(tmp_path, POINTS)
    by_hand = sf.load_model(
        lambda x: np.stack([x.sum(axis=1) - 1, 0 * x[:, 0]], axis=1), shape=(2,), bounds=(0, 1)
    )
    without_bounds = sf.load_model(study.model.graph.path)
    for model, says in ((without_bounds, "--bounds"), (by_hand, "export it to ONNX")):
        refused(says, replace, study, model=model)
    refused("rotation offers none", replace, study, perturbation=sf.perturb.Rotation())


def test_where_proofs_are_searched_is_said_or_refused(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    study = linear_study(tmp_path, POINTS)
    for wrong in ("tpu", "cpu:0,1", "cpu:9", "cudaX", "cuda:", "CPU"):
        refused("name cpu, cuda or cuda:1", replace, study, prove_on=wrong)
    refused("--prove-on.*no GPU here", replace(study, prove_on="cuda").run)
    external = sf.methods.CriticalLevel(verifier="prover {onnx} {vnnlib} {result}")
    refused("decides itself where it runs", replace(study, method=external, prove_on="cpu").run)
    sampling = {
        "method": sf.methods.ExactSequential(0.02, 0.01),
        "perturbation": sf.perturb.LinfNoise(0.1),
    }
    refused("leave out prove_on", replace, study, **sampling, prove_on="cpu")
    here, there = (replace(study, prove_on=where).run(workers=1) for where in ("", "cpu:0"))
    for row, other, point in zip(here.inputs, there.inputs, POINTS, strict=True):
        assert other.result.low <= truth(point) + 1e-6
        assert other.result.high >= truth(point) - 1e-6
        assert abs(other.result.low - row.result.low) <= study.method.tolerance


def test_a_stopped_run_gives_the_brackets_it_reached_and_first_bounds_of_all_others(tmp_path):
    early_results = []

    def watch(now):
        if now.finished >= 2:
            raise KeyboardInterrupt

    with every_batch_watched(), pytest.raises(KeyboardInterrupt):
        linear_study(tmp_path, POINTS).run(
            workers=1, on_progress=watch, on_interrupt=early_results.append
        )
    rows = early_results[0].inputs
    assert len(rows) == len(POINTS)
    searched = [row for row in rows if row.result.reason != FIRST_BOUNDS]
    assert 2 <= len(searched) < len(POINTS)
    assert all(row.result.low > 0 for row in rows)
    for row, point in zip(rows, POINTS, strict=True):
        assert row.result.low <= truth(point) + 1e-6
        assert row.result.high >= truth(point) - 1e-6


def test_a_run_that_fails_is_not_reported_as_one_that_was_stopped(tmp_path):
    early_results = []

    def watch(now):
        if now.finished >= 2:
            raise ValueError("broken")

    with every_batch_watched(), pytest.raises(ValueError, match="broken"):
        linear_study(tmp_path, POINTS).run(
            workers=1, on_progress=watch, on_interrupt=early_results.append
        )
    assert early_results == []


def test_radii_of_other_inputs_pay_for_looking_again_and_narrower_brackets_do_not(tmp_path):
    rng, store = np.random.default_rng(5), str(tmp_path / "s.db")
    points, others = rng.random((2, 6, 2))

    def run(at, tolerance):
        method = sf.methods.CriticalLevel(tolerance=tolerance, seconds_per_input=5)
        return linear_study(tmp_path, at, method).run(store=store, workers=1)

    def rung(at, tolerance):
        return run(at, tolerance).record.rung

    study = linear_study(tmp_path, points)
    curve = replace(study, method=sf.methods.SequentialCurve(0.0, 0.5, (0.5,)))
    assert curve.run(store=store).record.rung == 0  # of drawn noise: another question
    assert [rung(points, 0.1), rung(points, 0.01), rung(others, 0.1)] == [0, 0, 1]
    assert curve.run(store=store).record.rung == 0
    undecided = run(others, 0.1).require(1e-3)  # six inputs show nothing of all but 5 %
    assert undecided.verdicts[0].verdict is Verdict.UNDECIDED
    assert said_of_earlier_runs(undecided, undecided.record) == "note"
    assert rung(points, 0.001) == 0
