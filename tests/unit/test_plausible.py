"""A broken pipeline never passes, whatever is required; a sound one does, and FAIL stays FAIL."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

import surefoot as sf
from surefoot.core.claims import Verdict
from surefoot.core.reasons import Why
from surefoot.engine.label_check import preparation_doubt
from surefoot.errors import InvalidArgument, SurefootWarning
from surefoot.evidence.check import check_statement
from surefoot.evidence.envelope import read_envelope
from surefoot.evidence.statement import read_statement
from surefoot.models.load_options import CONSTANTS
from surefoot.subject.inputs import Classified
from surefoot.testing import RobustnessUndecided
from tests.refusals import refused
from tests.unit.small_models import save_graph

CLASSES, SHAPE, N = 4, (3, 6, 6), 60
RUN = {"store": None, "workers": 1, "progress": False}
NORMAL = {"normalise": "imagenet", "bounds": (0, 1)}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A network for normalised images that is right on all of them, and images of 0 to 1."""
    folder, rng = tmp_path_factory.mktemp("plausible"), np.random.default_rng(0)
    pattern = rng.choice([-1.0, 1.0], (CLASSES, *SHAPE))
    pattern -= pattern.mean(axis=(2, 3), keepdims=True)
    y = np.arange(N) % CLASSES
    x = np.clip(0.45 + 0.12 * pattern[y] + 0.02 * rng.normal(size=(N, *SHAPE)), 0, 1)
    # A class with large weights throughout wins wherever values are not around 0.
    weights = pattern.reshape(CLASSES, -1) + np.arange(CLASSES)[:, None] / 4
    middle = CONSTANTS["imagenet"](x).reshape(N, -1).mean(axis=0)
    nodes = [
        helper.make_node("Flatten", ["x"], ["flat"], axis=1),
        helper.make_node("Gemm", ["flat", "w", "b"], ["sums"]),
        helper.make_node("Relu", ["sums"], ["held"]),
        helper.make_node("Gemm", ["held", "eye", "none"], ["scores"]),
    ]
    every = {"sound": weights, "constant": np.zeros_like(weights)}
    for name, w in every.items():
        bias = np.eye(CLASSES)[0] if name == "constant" else 50 - w @ middle
        constants = {"w": w.T, "b": bias, "eye": np.eye(CLASSES), "none": np.zeros(CLASSES)}
        save_graph(
            folder / f"{name}.onnx", nodes, [("x", TensorProto.FLOAT, ["n", *SHAPE])],
            [("scores", TensorProto.FLOAT)],
            {key: value.astype(np.float32) for key, value in constants.items()},
        )  # fmt: skip
    np.savez(folder / "test.npz", x=x.astype(np.float32), y=y)
    np.savez(folder / "moved.npz", x=x.astype(np.float32), y=(y + 1) % CLASSES)
    np.savez(folder / "times.npz", x=(255 * x).astype(np.float32), y=y)
    rows = '[[row]]\nperturb = "gaussian"\nlevels = [0.001, 0.002]\n'
    (folder / "tiny.toml").write_text(rows)
    return folder


BROKEN = {
    "constant": ("constant.onnx", "test.npz", NORMAL),
    "not normalised": ("sound.onnx", "test.npz", {"bounds": (0, 1)}),
    "labels moved": ("sound.onnx", "moved.npz", NORMAL),
    "times 255": ("sound.onnx", "times.npz", {"normalise": "imagenet", "bounds": (0, 255)}),
}
FIXED = {
    "not normalised": "imagenet",
    "times 255": "over-255",
}
"""The preparation that is proposed."""
VERBS = {
    "mean": lambda m, d, o: sf.estimate(m, d, "gaussian:0.001", precision=0.1, require=0.6, **o),
    "population": lambda m, d, o: sf.estimate(m, d, "gaussian:0.001", each=0.2, require=0.6, **o),
    "all": lambda m, d, o: sf.certify(m, d, "gaussian:0.001", kappa=0.3, require="all", **o),
    "share": lambda m, d, o: sf.certify(m, d, "gaussian:0.001", kappa=0.3, require=0.5, **o),
    "tail": lambda m, d, o: sf.tail(m, d, "gaussian:0.001", require=0.6, **o),
    "curve": lambda m, d, o: sf.curve(m, d, "gaussian:0..0.001", property="same", require=0.5, **o),
    "critical": lambda m, d, o: sf.critical(
        m, d, require=1e-5, quantile=0.1, quantile_only=True, **o
    ),
    "suite": lambda m, d, o: sf.suite(
        m, d, suite=str(Path(m).with_name("tiny.toml")), precision=0.2, require=0.5, **o
    ),
    "compare": lambda m, d, o: sf.compare(
        {"one": m, "two": m}, d, "gaussian:0.001", not_worse=0.9, **o
    ),
    "compare under two": lambda m, d, o: sf.compare(
        {"one": m, "two": m}, d, ["gaussian:0.001", "linf:0.001"], not_worse=0.9, **o
    ),
}


EVERY_FAULT = ("mean", "curve")
"""Verbs that meet every fault: one of each way to a verdict. The doubt that stops them is one."""


def verdicts(result):
    return {claim.verdict for claim in result.verdicts}


def same(verb):
    """The property is that a label is kept, which a broken pipeline answers best."""
    return {"property": "same"} if verb not in ("curve", "critical") else {}


def files(world, name):
    model, data, options = BROKEN.get(name, ("sound.onnx", "test.npz", NORMAL))
    return str(world / model), str(world / data), {**options, **RUN}


@pytest.mark.parametrize("verb", VERBS)
def test_a_sound_model_passes_and_a_broken_pipeline_does_not(world, verb):
    for name in ("sound", *(BROKEN if verb in EVERY_FAULT else ["not normalised"])):
        model, data, options = files(world, name)
        result = VERBS[verb](model, data, {**options, **same(verb)})
        passed = verdicts(result) == {Verdict.PASS}
        assert passed == (name == "sound"), (name, [str(c.reason) for c in result.verdicts])
        if name != "sound" and Verdict.UNDECIDED in verdicts(result):
            reason = result.verdicts[0].reason
            first = reason.values[0] if reason.why is Why.SEVERAL else reason
            assert first.why is Why.IMPLAUSIBLE


@pytest.mark.parametrize("name", BROKEN)
def test_doctor_says_bad_and_which_option_helps(world, name):
    model, data, options = files(world, name)
    reading = {k: v for k, v in options.items() if k in ("normalise", "bounds")}
    found = sf.doctor(sf.load_model(model, **reading), sf.load_inputs(data))
    assert found.bad
    (clean,) = (one.clean for one in found.findings if one.clean is not None)
    assert clean.blocks is not None
    if name in FIXED:
        assert clean.doubt.why is Why.PREPARED_OTHERWISE
        assert clean.doubt.values[0] == FIXED[name]


def test_with_the_proposed_option_it_passes(world):
    model, data, options = files(world, "times 255")
    fixed = {**options, "scale": 255, "bounds": (0, 1), "property": "same"}
    assert verdicts(VERBS["mean"](model, data, fixed)) == {Verdict.PASS}


@pytest.mark.parametrize("name", BROKEN)
def test_correct_inputs_alone_do_not_hide_the_others(world, name):
    model, data, options = files(world, name)
    if name == "labels moved":
        with pytest.raises(InvalidArgument):  # no input is right
            VERBS["mean"](model, data, {**options, "correct_only": True})
        return
    result = VERBS["mean"](model, data, {**options, "correct_only": True})
    assert verdicts(result) == {Verdict.UNDECIDED}
    assert result.record.clean.inputs == N > len(result.inputs)


def test_what_is_accepted_passes_and_says_so(world, tmp_path):
    model, data, options = files(world, "constant")
    taken = {**options, "property": "same", "accept_clean_accuracy": True}
    result = VERBS["mean"](model, data, taken)
    assert verdicts(result) == {Verdict.PASS}
    assert result.record.required.accept_clean_accuracy
    evidence = json.loads(read_envelope(result.evidence(tmp_path / "e.json")).payload)
    assert '"accept_clean_accuracy": true' in json.dumps(evidence)
    assert "accept_clean_accuracy=True" in result.record.source.command


def test_fail_stays_fail(world):
    model, data, options = files(world, "labels moved")
    result = VERBS["mean"](model, data, {**options, "property": "true"})
    assert verdicts(result) == {Verdict.FAIL}


@pytest.mark.parametrize(("floor", "verdict"), [(1.0, Verdict.PASS), (0.5, Verdict.PASS)])
def test_a_floor_of_the_clean_accuracy_is_counted(world, floor, verdict):
    model, data, options = files(world, "sound")
    result = sf.estimate(
        model, data, "gaussian:0.001", precision=0.1, clean_accuracy=floor, **options
    )
    (claim,) = result.verdicts
    assert (claim.kind, claim.right, claim.verdict) == ("counted_accuracy", N, verdict)
    assert claim.guarantee.error == 0
    below = replace(result.record, findings=tuple(
        replace(f, clean=None if f.clean is None else replace(f.clean, right=N - 1))
        for f in result.record.findings
    ))  # fmt: skip
    again = replace(result, record=below).require(clean_accuracy=1.0)
    assert verdicts(again) == {Verdict.FAIL}


def test_a_floor_without_labels_is_refused_before_a_run(world):
    x = np.load(world / "test.npz")["x"]
    model, _, options = files(world, "sound")
    with pytest.raises(InvalidArgument, match="clean_accuracy"):
        sf.estimate(model, x, "gaussian:0.001", clean_accuracy=0.9, **options)
    with pytest.raises(InvalidArgument, match="clean_accuracy"):
        sf.estimate(model, str(world / "test.npz"), "gaussian:0.001", clean_accuracy=90, **options)


@pytest.mark.parametrize("verb", ["mean", "share", "curve"])
def test_evidence_leads_to_the_same_verdict_and_a_doubt_left_out_is_noticed(world, tmp_path, verb):
    model, data, options = files(world, "constant")
    result = VERBS[verb](model, data, {**options, **same(verb)})
    evidence = read_statement(read_envelope(result.evidence(tmp_path / "e.json")).payload)
    assert check_statement(evidence).exit_code == 0
    bare = tuple(replace(f, clean=None) for f in evidence.record.findings)
    hidden = replace(evidence, record=replace(evidence.record, findings=bare))
    assert check_statement(hidden).exit_code == 1


def test_the_assertion_of_a_test_is_undecided(world):
    model, data, options = files(world, "constant")
    options = {k: v for k, v in options.items() if k not in ("store", "workers", "progress")}
    ask = {"at_least": 0.6, "property": "same", "precision": 0.1, **options}
    with pytest.raises(RobustnessUndecided), pytest.warns(SurefootWarning, match="one class"):
        sf.assert_robust(model, data, "gaussian:0.001", **ask)
    with pytest.warns(SurefootWarning, match="one class"):
        sf.assert_robust(model, data, "gaussian:0.001", **ask, accept_clean_accuracy=True)


def test_normalise_is_mean_and_std_in_one(world):
    path = str(world / "sound.onnx")
    by_name = sf.load_model(path, normalise="imagenet")
    by_numbers = sf.load_model(path, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
    in_text = sf.load_model(path, normalise="0.485,0.456,0.406/0.229,0.224,0.225")
    assert by_name.signature == by_numbers.signature == in_text.signature
    single = sf.load_model(path, mean=0.2, std=0.3).signature.preparation
    assert single == "normalised with mean 0.2 and std 0.3"
    for given in ({"normalise": "imagenet", "mean": 0.5}, {"normalise": "mnist"}):
        refused("normalise", sf.load_model, path, **given)


def test_a_regressor_is_not_checked():
    model = sf.load_model(lambda x: x[:, :1], shape=(3,), scores="values")
    found = sf.doctor(model, sf.load_inputs(np.eye(3)))
    assert [f.clean for f in found.findings if f.name == "labels and clean accuracy"] == [None]


def test_of_one_class_no_preparation_looks_better():
    """One that answers the only class for whatever it gets would: it says nothing."""
    x = np.random.default_rng(3).random((60, 3, 8, 8), dtype=np.float32)
    predicted = np.repeat([0, 1], [45, 15])
    seen = Classified(x, np.zeros(60, np.int64), predicted, predicted == 0)
    model = sf.load_model(
        lambda b: np.stack([0.9 - b.mean(axis=(1, 2, 3)), b.mean(axis=(1, 2, 3))], 1),
        shape=(3, 8, 8), scores="logits",
    )  # fmt: skip
    assert preparation_doubt(seen, (3, 8, 8), model) is None


DATA = Path(sf.__file__).parent / "data"


@pytest.mark.parametrize(
    ("net", "doubt"),
    [
        ("fashion_cnn", Why.PREPARED_OTHERWISE.of("over-255", 277, 248, 300)),  # 64 are too few
        ("fashion_mlp_noise", None),  # hardly worse with values of 0 to 255
    ],
)
def test_images_of_0_to_255_do_not_pass_where_the_network_takes_0_to_1(net, doubt):
    images, net = np.load(DATA / "fashion_test.npz"), str(DATA / f"{net}.onnx")
    x, y = images["x"].astype(np.float32), images["y"]
    ask = {"precision": 0.1, "require": 0.6, **RUN}
    result = sf.estimate(net, (x, y), "gaussian:0.2", **ask)
    assert result.record.clean.doubt == doubt
    assert verdicts(result) == {Verdict.UNDECIDED}
    assert result.verdicts[0].reason.why is (Why.IMPLAUSIBLE if doubt else Why.HARDLY_A_CHANGE)
    view = result.view
    own = [c.text for c in view.warnings if c.blocks == result.verdicts[0].reason]
    assert own and not {*own} & {*view.first_cautions, *view.notes}  # said once, as the reason
    assert not view.first_cautions and view.notes  # what else is odd waits until that is mended
    result = sf.estimate(net, (images["x"], y), "gaussian:0.1", **ask)  # bytes, read as 0 to 1
    assert result.record.blocks is None
    assert verdicts(result) == {Verdict.PASS}


@pytest.mark.parametrize(
    ("scale", "perturb", "passes"),
    [
        (1, "linf:0.5", False), (1, "l2:0.5", False), (1, "gaussian:0..0.8", False),
        (1, "gaussian:1", True), (1, "linf:1", True),
        (255, "linf:2/255", True), (255, "gaussian:0.0005", True),
    ],
)  # fmt: skip
def test_less_than_a_grey_level_does_not_pass(world, scale, perturb, passes):
    model, x, y = scale_free_at(world, scale)
    ask = {"precision": 0.1, "require": 0.6, **RUN}
    result = sf.estimate(model, (x, y), perturb, **ask)
    assert verdicts(result) == {Verdict.PASS if passes else Verdict.UNDECIDED}
    if not passes:
        assert result.verdicts[0].reason.why is Why.HARDLY_A_CHANGE
        checked = sf.doctor(model, sf.load_inputs(x, y), sf.parse_perturbation(perturb))
        assert [one.name for one in checked.findings if one.status == "failed"] == [
            "strength of the perturbation"
        ]
        accepted = sf.estimate(model, (x, y), perturb, **ask, accept_clean_accuracy=True)
        assert verdicts(accepted) == {Verdict.PASS}


def test_a_radius_of_less_than_a_grey_level_does_not_pass():
    images, net = np.load(DATA / "fashion_test.npz"), str(DATA / "fashion_mlp_noise.onnx")
    x, y = images["x"].astype(np.float32)[:3], images["y"][:3]
    ask = {"nodes_per_input": 2, "samples": 0, "quantile": 0.5, "confidence": 0.5, "store": None}
    result = sf.critical(net, (x, y), bounds="0,255", **ask)
    assert verdicts(result.require(2)) == {Verdict.PASS}
    below = result.require(8 / 255).verdicts[0]
    assert (below.verdict, below.reason.why) == (Verdict.UNDECIDED, Why.HARDLY_A_RADIUS)
    assert verdicts(result.require(8 / 255, accept_clean_accuracy=True)) == {Verdict.PASS}
    assert verdicts(result.require(250)) == {Verdict.FAIL}


@pytest.mark.parametrize("levels", [("2", "3"), ("2", "0.2")])
def test_of_several_perturbations_the_one_that_hardly_changes_anything_counts(world, levels):
    model, x, y = scale_free_at(world, 1)
    several = [f"gaussian:{level}" for level in levels]
    last = Verdict.UNDECIDED if "0.2" in levels else Verdict.PASS
    pairs = sf.compare({"one": model, "two": model}, (x, y), several, not_worse=0.9, **RUN)
    assert [one.verdict for one in pairs.verdicts] == [Verdict.PASS, last]
    suite = sf.estimate(model, (x, y), several, precision=0.2, require=0.5, **RUN)
    assert verdicts(suite) == {last}


def scale_free_at(world, scale):
    """Images of 0 to 255, divided by `scale`, and a model to which their scale does not matter."""
    images = np.load(world / "times.npz")
    x, y = images["x"].copy(), images["y"]
    x[:, 0, 0, 0], x[:, 0, 0, 1] = 0, 255
    x /= scale
    w = np.stack([x[y == k].mean(axis=0) for k in range(CLASSES)]).reshape(CLASSES, -1)
    w = w - w.mean(axis=1, keepdims=True)
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    return sf.load_model(lambda b: b.reshape(len(b), -1) @ w.T, shape=SHAPE, scores="logits"), x, y


@pytest.mark.parametrize("twice", [False, True])
def test_images_normalised_before_do_not_pass_where_the_model_normalises_or_needs_none(twice):
    images, net = np.load(DATA / "fashion_test.npz"), sf.load_model(DATA / "fashion_cnn.onnx")
    x, y = images["x"][:, None].astype(np.float32) / 127.5 - 1, images["y"]
    model = sf.load_model(
        lambda b: net.predict((b + 1) / 2 if twice else b), shape=(1, 28, 28), scores="logits",
        normalise="0.5/0.5" if twice else None,
    )  # fmt: skip
    result = sf.estimate(model, (x, y), "gaussian:0.02", precision=0.1, require=0.12, **RUN)
    assert result.record.clean.doubt.values[0] == ("normalised" if twice else "undo:0.5/0.5")
    assert verdicts(result) == {Verdict.UNDECIDED}


def two_sides(x):
    first = x.reshape(len(x), -1)[:, 0] - 500
    return np.stack([-first, first], axis=1)


def test_tables_and_sounds_have_no_grey_levels():
    rng, y = np.random.default_rng(0), np.arange(60) % 2
    for shape in ((4,), (1, 400)):
        x = (1000 * y.reshape(-1, *(1 for _ in shape)) + rng.random((60, *shape))).astype("f4")
        model = sf.load_model(two_sides, shape=shape, scores="logits")
        result = sf.estimate(model, (x, y), "gaussian:0.2", precision=0.1, require=0.6, **RUN)
        assert verdicts(result) == {Verdict.PASS}


def takes_0_to_1(x):
    """Right on rows of 0 to 1; of 0 to 255 it takes those for class 1 that are a little apart."""
    apart = x[:, 0] - x[:, 1]
    return np.stack([0.2 - apart, apart - 0.2], axis=1)


def rows_of_numbers(scale):
    rng = np.random.default_rng(5)
    x = rng.integers(0, 256, (300, 2))
    return (x * scale).astype(np.float32), (x[:, 0] - x[:, 1] > 0.2 * 255).astype(np.int64)


@pytest.mark.parametrize(
    ("scale", "bounds", "preparation"),
    [
        (1, {}, "over-255"),  # whole numbers
        (1, {"bounds": (0, 255)}, "over-255"),
        (0.999, {"bounds": (0, 255)}, "over-255"),  # as bounds say
        ((1, 40), {}, None),  # a column of another scale
        (1 / 255, {"bounds": (0, 1)}, None),
    ],
)
def test_rows_of_0_to_255_do_not_pass_where_the_model_takes_0_to_1(scale, bounds, preparation):
    x, y = rows_of_numbers(scale)
    ask = {"shape": (2,), "scores": "logits", "precision": 0.1, "require": 0.3, **bounds, **RUN}
    result = sf.estimate(takes_0_to_1, (x, y), "gaussian:0.0001", **ask)
    doubt = result.record.clean.doubt
    assert (doubt and doubt.values[0]) == preparation
    assert verdicts(result) == {Verdict.UNDECIDED if preparation else Verdict.PASS}


def test_rows_of_0_to_1_do_not_pass_where_the_model_takes_0_to_255():
    x, y = rows_of_numbers(1 / 255)
    ask = {"shape": (2,), "scores": "logits", "precision": 0.1, "require": 0.3, **RUN}
    result = sf.estimate(
        lambda b: takes_0_to_1(b / 255), (x, y), "gaussian:0.0001", bounds=(0, 255), **ask
    )
    assert result.record.clean.doubt.values[0] == "times-255"


@pytest.mark.parametrize("bounds", [{}, {"bounds": (0, 255)}])
def test_named_columns_have_no_common_scale_unless_bounds_say_so(bounds, tmp_path):
    x, y = rows_of_numbers(1)
    rows = (f"{a:.0f},{b:.0f},{label}" for (a, b), label in zip(x, y, strict=True))
    (tmp_path / "table.csv").write_text("\n".join(["age,dose,ill", *rows]))
    ask = {"shape": (2,), "scores": "logits", "precision": 0.1, "require": 0.3, **bounds, **RUN}
    table = str(tmp_path / "table.csv")
    result = sf.estimate(takes_0_to_1, table, "gaussian:0.0001", labels="ill", **ask)
    assert verdicts(result) == {Verdict.UNDECIDED if bounds else Verdict.PASS}


def test_who_has_model_and_data_notices_a_doubt_that_was_left_out(world, tmp_path):
    """It is left out of the checks, and verdict and words follow from what is left."""
    model, x, y = scale_free_at(world, 1)
    result = sf.estimate(model, (x, y), "gaussian:0.2", precision=0.1, require=0.6, **RUN)
    bare = tuple(replace(f, doubt=None) for f in result.record.findings)
    forged = replace(result, record=replace(result.record, findings=bare)).require(0.6)
    assert verdicts(forged) == {Verdict.PASS}
    for one, code in ((result, 0), (forged, 1)):
        path = one.evidence(tmp_path / "e.json")
        assert sf.check_evidence(path).exit_code == 0
        assert sf.check_evidence(path, model=model, data=(x, y), share=0.5).exit_code == code


TIED = (lambda x: np.round(3 * x[:, :2]), np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]] * 20))
"""A model that gives some inputs two classes alike, and inputs of which a third is such."""


@pytest.mark.parametrize("prop", ["true", "same", "topk:1"])
def test_a_tie_is_wrong_wherever_accuracy_is_counted(prop, tmp_path):
    function, x = TIED
    y = np.array([0, 0, 1] * 20)
    model = sf.load_model(function, shape=(2,), scores="logits")
    result = sf.estimate(
        model, (x, y), "linf:0.01", precision=0.1, property=prop, clean_accuracy=0.9, **RUN
    )
    assert result.record.clean.right == 40
    assert result.record.clean_accuracy == pytest.approx(2 / 3)
    (claim,) = result.verdicts
    assert (claim.right, claim.verdict) == (40, Verdict.FAIL)
    assert sf.check_evidence(result.evidence(tmp_path / "e.json")).exit_code == 0
    chosen = sf.select(sf.load_inputs(x, y), model, sf.Selection(correct_only=True))
    assert len(chosen) == 40


def test_one_trial_decides_where_nothing_is_random(world, tmp_path):
    model, data, options = files(world, "sound")
    each = sf.estimate(model, data, "blur:1", each=0.05, **options)
    once = sf.estimate(model, data, "blur:1", precision=0.05, **options)
    assert each.record.trials == once.record.trials == N
    assert each.claims[0].interval == once.claims[0].interval
    assert each.claims[0].guarantee.error == 0
    assert {row.result.guarantee.error for row in each.inputs} == {0}
    decided = sf.certify(model, data, "blur:1", kappa=0.01, **options)
    assert decided.record.trials == N
    assert [row.result.holds for row in decided.inputs] == [
        r.result.value == 1 for r in each.inputs
    ]
    for one in (each, decided):
        assert sf.check_evidence(one.evidence(tmp_path / "e.json")).exit_code == 0


@pytest.mark.parametrize("few", [False, True])
def test_a_share_of_these_inputs_counts_those_that_are_wrong_when_clean(few):
    """Two thirds are right and stay so: no trial is needed to refute more than that."""
    function, x = TIED
    y, budget = np.array([0, 0, 1] * 20), {"max_trials": 3} if few else {}
    ask = {"kappa": 0.1, "scores": "logits", **budget, **RUN}
    verdict = {}
    for share in ("all", 0.5, 0.66, 0.67, 0.9):
        of = {"require": share} if share == "all" else {"require_these": share}
        (claim,) = sf.certify(function, (x, y), "linf:0.01", **ask, **of).verdicts
        verdict[share] = claim.verdict
        assert claim.clean == (20 if share == "all" else 0)
    decided = Verdict.UNDECIDED if few else Verdict.PASS
    expected = [decided, decided, decided, Verdict.FAIL, Verdict.FAIL]
    assert list(verdict.values()) == expected
