"""Critical levels through the whole engine: known by construction, resumed, told, refused."""

import json

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

import surefoot as sf
from surefoot.errors import InvalidArgument
from surefoot.evidence import Proof
from surefoot.results import Decision, Undecided
from surefoot.store.records import record_from_json, record_to_json
from surefoot.study.proving import proved


def write(path, layers, opset=17):
    """Dense layers with ReLU between them, as an ONNX file."""
    nodes, weights, name = [], [], "x"
    for i, (w, b) in enumerate(layers):
        weights += [
            numpy_helper.from_array(np.asarray(w, np.float32), f"w{i}"),
            numpy_helper.from_array(np.asarray(b, np.float32), f"b{i}"),
        ]
        nodes.append(helper.make_node("Gemm", [name, f"w{i}", f"b{i}"], [f"h{i}"], transB=1))
        name = f"h{i}"
        if i + 1 < len(layers):
            nodes.append(helper.make_node("Relu", [name], [f"r{i}"]))
            name = f"r{i}"
    n, m = np.shape(layers[0][0])[1], len(layers[-1][1])
    graph = helper.make_graph(
        nodes,
        "dense",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", n])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", m])],
        weights,
    )
    opsets = [helper.make_opsetid("", opset)]
    save(helper.make_model(graph, opset_imports=opsets, ir_version=8), str(path))
    return str(path)


LINEAR = [([[1.0, 1.0], [0.0, 0.0]], [-1.0, 0.0])]
"""Class 0 where the sum is above 1: the critical radius is |sum - 1| / 2 within the box."""


def linear_study(folder, points, asked=None, labels=None, **more):
    path = write(folder / "linear.onnx", LINEAR)
    model = sf.load_model(path, bounds=(0, 1))
    x = np.asarray(points, np.float32)
    own = (x.sum(axis=1) <= 1).astype(np.int64) if labels is None else np.asarray(labels)
    inputs = sf.load_inputs(x, own)
    asked = asked or sf.CriticalLevel(tolerance=1e-3, seconds=5)
    noise = sf.perturb.LinfNoise(0.1)
    return sf.Study(model, inputs, noise, asked, property=sf.TrueLabel(), **more), path


POINTS = [(0.5, 0.7), (0.9, 0.8), (0.1, 0.2), (0.45, 0.5), (0.6, 0.6)]


def test_radii_of_a_linear_network_are_known(tmp_path):
    study, path = linear_study(tmp_path, POINTS)
    (record,) = sf.prove(study, path).records.values()
    for row, point in zip(record.rows, POINTS, strict=True):
        known = abs(sum(point) - 1) / 2
        assert row.low <= known + 1e-6
        assert row.high >= known - 1e-6
        assert row.high - row.low <= 1e-3 * 1.001
        assert row.reason == "closed"
    assert record.reader < 1e-5


def test_a_misclassified_input_has_radius_zero_and_is_counted(tmp_path):
    study, path = linear_study(tmp_path, POINTS[:2], labels=[1, 0])
    (record,) = sf.prove(study, path).records.values()
    assert (record.rows[0].low, record.rows[0].high) == (0.0, 0.0)
    assert record.rows[0].reason == "misclassified"
    assert "Misclassified undisturbed: 1." in str(sf.prove(study, path))


def test_the_record_survives_the_store_and_comes_back(tmp_path):
    study, path = linear_study(tmp_path, POINTS, by_class=True)
    where = str(tmp_path / "s.db")
    first, known = proved(study, path, where, None, lambda _: None, None)
    again, known_again = proved(study, path, where, None, lambda _: None, None)
    assert (known, known_again) == (False, True)
    assert again == first
    assert record_from_json(record_to_json(first)) == first
    assert {row.name for row in first.classes} == {"0", "1"}


def test_interrupted_it_keeps_the_brackets_it_had(tmp_path):
    study, path = linear_study(tmp_path, POINTS)
    where, ticks = str(tmp_path / "s.db"), iter(range(100))

    def watch(now):
        if now.finished >= 2 and next(ticks) >= 0:
            raise KeyboardInterrupt

    from surefoot.engine import drive

    pause, drive._WATCH_EVERY = drive._WATCH_EVERY, 0.0
    try:
        with pytest.raises(KeyboardInterrupt):
            proved(study, path, where, 1, watch, None)
    finally:
        drive._WATCH_EVERY = pause
    from surefoot.store.sql import SqlStore

    store = SqlStore(where)
    kept = store.journal(study.digest).replay()
    store.close()
    assert 2 <= len(kept) < len(POINTS)
    whole, _ = proved(study, path, where, 1, lambda _: None, None)
    for row in whole.rows:
        if row.id in kept:
            assert row.low == kept[row.id][0].evidence.low


def test_a_normalisation_outside_the_graph_is_part_of_what_is_proved(tmp_path):
    path = write(tmp_path / "n.onnx", LINEAR)
    model = sf.load_model(path, bounds=(0, 1), mean=(0.5,), std=(0.25,))
    x = np.array([[0.7, 0.7]], np.float32)  # (0.2 + 0.2) / 0.25 = 1.6, above 1 by 0.6
    study = sf.Study(
        model,
        sf.load_inputs(x, np.array([0])),
        sf.perturb.LinfNoise(0.1),
        sf.CriticalLevel(1e-3, 5),
        property=sf.TrueLabel(),
    )
    (row,) = sf.prove(study, path).records[""].rows
    assert row.low - 1e-6 <= 0.6 * 0.25 / 2 <= row.high + 1e-6


def test_words_page_figure_and_requirement(tmp_path):
    rng = np.random.default_rng(0)
    study, path = linear_study(tmp_path, rng.random((80, 2)))
    found = sf.prove(study, path)
    told = str(found)
    assert "critical L∞ radius" in told
    assert "80 of 80 brackets are closed" in told
    page = found.report(tmp_path / "c.html").read_text()
    assert page.count("<svg") == 2
    assert found.figure(tmp_path / "c.svg").stat().st_size > 1000
    assert json.loads(found.to_json())["critical"][""]["quantiles"][0]["share"] == 0.05
    sure = found.requires(1.0)
    assert isinstance(sure, Decision)
    assert not sure.holds
    assert isinstance(found.requires(0.0), Decision)
    whole = found.records[""].quantiles[0]
    assert isinstance(found.requires((whole.low + whole.high) / 2), Undecided)


def test_evidence_of_two_tries_keeps_the_better_ends():
    first = Proof(0.1, 0.3, "a", "out of time", 5, 1.0)
    second = Proof(0.2, None, "", "out of time", 7, 2.0, 1)
    both = first + second
    assert (both.low, both.high, both.witness) == (0.2, 0.3, "a")
    assert (both.nodes, both.seconds, both.discarded) == (12, 3.0, 1)
    assert both.width == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tolerance": 0}, "got 0"),
        ({"tolerance": -1}, "got -1"),
        ({"quantile": 0}, "got 0"),
        ({"quantile": 1}, "got 1"),
        ({"seconds": 0}, "got 0"),
        ({"error": 1}, "got 1"),
    ],
)
def test_bad_settings_are_refused(change, said):
    with pytest.raises(InvalidArgument, match=said):
        sf.CriticalLevel(**change)


def test_what_cannot_be_proved_is_refused(tmp_path):
    study, path = linear_study(tmp_path, POINTS)
    other = write(tmp_path / "other.onnx", [([[2.0, 1.0], [0.0, 0.0]], [-1.0, 0.0])])
    with pytest.raises(InvalidArgument, match="is not the file"):
        sf.prove(study, other)
    with pytest.raises(InvalidArgument, match="cannot be read"):
        sf.prove(study, tmp_path / "none.onnx")
    with pytest.raises(InvalidArgument, match=r"sf\.prove"):
        study.run()
    single = sf.Study(
        study.model, study.inputs, study.perturbation, sf.BuSun(0.1, 0.1), property=sf.TrueLabel()
    )
    with pytest.raises(InvalidArgument, match="proves nothing"):
        sf.prove(single, path)
    free = sf.load_model(path)
    open_ended = sf.Study(free, study.inputs, study.perturbation, sf.CriticalLevel(),
                          property=sf.TrueLabel())  # fmt: skip
    with pytest.raises(InvalidArgument, match="--bounds"):
        sf.prove(open_ended, path)


def test_a_stopped_run_gives_the_brackets_it_reached(tmp_path):
    study, path = linear_study(tmp_path, POINTS)
    given = []

    def watch(now):
        if now.finished >= 2:
            raise KeyboardInterrupt

    from surefoot.engine import drive

    pause, drive._WATCH_EVERY = drive._WATCH_EVERY, 0.0
    try:
        with pytest.raises(KeyboardInterrupt):
            sf.prove(study, path, workers=1, watch=watch, early=given.append)
    finally:
        drive._WATCH_EVERY = pause
    (record,) = given[0].records.values()
    assert len(record.rows) == len(POINTS)
    reached = [row for row in record.rows if row.reason != "not reached"]
    assert 2 <= len(reached) < len(POINTS)
    for row, point in zip(record.rows, POINTS, strict=True):
        assert row.low <= abs(sum(point) - 1) / 2 + 1e-6
        assert row.high is None or row.high >= abs(sum(point) - 1) / 2 - 1e-6
    assert "not reached" in str(given[0])


def test_a_run_that_fails_is_not_told_as_one_that_was_stopped(tmp_path):
    study, path = linear_study(tmp_path, POINTS)
    given = []

    def watch(now):
        if now.finished >= 2:
            raise ValueError("broken")

    from surefoot.engine import drive

    pause, drive._WATCH_EVERY = drive._WATCH_EVERY, 0.0
    try:
        with pytest.raises(ValueError, match="broken"):
            sf.prove(study, path, workers=1, watch=watch, early=given.append)
    finally:
        drive._WATCH_EVERY = pause
    assert given == []
