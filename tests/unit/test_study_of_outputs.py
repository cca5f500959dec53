"""Whole studies of models without classes: values and objects through the same path."""

import base64
import io
import json
import pickle

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import surefoot as sf
from surefoot.cli.main import app
from surefoot.core.claims import Height
from surefoot.errors import InvalidArgument
from surefoot.properties import BoxesKept, Close, Kept, LabelsKept, PixelsKept, SameLabel
from surefoot.study.read_store import read_study
from tests.refusals import failed

QUICK = {"workers": 1, "batch": 64}
METHOD = sf.methods.FixedSize(0.2, 0.1)
NOISE = sf.perturb.GaussianNoise(0.3)
X = np.random.default_rng(1).uniform(0, 1, (8, 3)).astype(np.float32)
IMAGES = np.random.default_rng(2).uniform(0, 1, (6, 12, 12)).astype(np.float32)


def total(x):
    """One number an input."""
    return 100 * x.sum(axis=1)


class Ridge:
    """As scikit-learn's regressors: predict, and nothing else."""

    n_features_in_ = 3

    def predict(self, x):
        return total(np.asarray(x))


def pixels(image):
    """The colours of a PNG in base64."""
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(image)))).astype(int)


def masks(x):
    """Scores of dark and bright for each pixel."""
    return np.stack([0.5 - x, x - 0.5], axis=1)


def detect(x):
    """One box an input, as wide as its mean is bright."""
    return [{"boxes": [[0, 0, 1 + 8 * one.mean(), 5]], "labels": [1], "scores": [0.9]} for one in x]


def regression(**changes):
    model = sf.load_model(total, shape=(3,), scores="values")
    parts = {"property": Close(20), "method": METHOD, "perturbation": NOISE, **changes}
    return sf.Study(parts.pop("model", model), parts.pop("inputs", sf.load_inputs(X)), **parts)


def detection(**changes):
    model = sf.load_model(detect, shape=(12, 12), bounds=(0, 1), scores="objects")
    parts = {"property": BoxesKept(0.95), "method": METHOD, "perturbation": NOISE, **changes}
    return sf.Study(model, parts.pop("inputs", sf.load_inputs(IMAGES)), **parts)


def test_a_record_without_classes_names_no_class_and_survives_json():
    result = regression().run(**QUICK)
    assert {row.predicted for row in result.inputs} == {None}
    assert result.record.clean_accuracy is None
    assert result.details.classes == ()
    assert json.loads(result.to_json())["inputs"][0]["predicted"] is None


def test_examples_show_clean_true_and_perturbed_outputs():
    inputs = sf.load_inputs(X, targets=total(X) + 1)
    example = regression(inputs=inputs).run(**QUICK).details.examples[0]
    row = [*inputs.ids].index(example.id)
    clean = float(total(X[row : row + 1])[0])
    assert float(example.clean_class) == pytest.approx(clean, rel=1e-3)
    assert float(example.true_class) == pytest.approx(clean + 1, rel=1e-3)
    assert abs(float(example.failed_class) - clean) > 20


def test_boxes_are_drawn_into_the_images():
    result = detection().run(**QUICK)
    example = result.details.examples[0]
    assert example.clean_class == "1 box of class 1"
    assert pixels(example.image)[0, 0].tolist() == [214, 39, 40]


def test_replay_gives_both_outputs_and_no_label():
    study = regression()
    trial = study.replay(study.inputs.ids[0], 3)
    assert trial.label is None
    assert trial.clean_output == pytest.approx(total(X[:1]))
    assert trial.severity == pytest.approx(abs(float(trial.output[0] - trial.clean_output[0])))


def test_curves_and_comparisons_are_of_the_share_that_is_kept():
    curve = regression(
        perturbation=sf.perturb.GaussianNoise(), method=sf.methods.SequentialCurve(0.0, 1.0)
    ).run(**QUICK)
    assert curve.claims[0].quantity.height is Height.INPUTS_KEPT
    other = sf.load_model(lambda x: 2 * total(x), shape=(3,), scores="values")
    both = sf.compare({"one": regression(), "twice": regression(model=other)}, **QUICK)
    assert any(claim.kind == "best" and claim.names[0] == "one" for claim in both.claims)


def test_segmentation_and_several_labels_run():
    model = sf.load_model(masks, shape=(12, 12), bounds=(0, 1), scores="values")
    inputs = sf.load_inputs(IMAGES, targets=IMAGES > 0.5)
    for prop in (PixelsKept(0.78), sf.properties.MaskIoU(0.64, of="true")):
        study = sf.Study(model, inputs, NOISE, METHOD, property=prop)
        assert 0 < study.run(**QUICK).claims[0].value < 1
    labels = sf.load_model(lambda x: x, shape=(3,), scores="values")
    study = sf.Study(labels, sf.load_inputs(X), NOISE, METHOD, property=LabelsKept())
    assert 0 < study.run(**QUICK).claims[0].value < 1


def test_a_function_judges_any_output_also_the_rows_of_an_array():
    def near(reference, output):
        return float(abs(reference - output).max())

    number = regression(property=Kept(near, below=20.0000001)).run(**QUICK)
    close = regression().run(**QUICK)
    assert [r.result.value for r in number.inputs] == [r.result.value for r in close.inputs]
    texts = sf.load_model(lambda x: [f"{v:.1f}" for v in total(x)], shape=(3,), scores="objects")
    same = regression(model=texts, property=Kept(lambda a, b: a == b, name="same text"))
    result = same.run(**QUICK)
    assert result.claims[0].value > 0.9


def test_the_tail_of_a_number_is_fitted_and_that_of_yes_or_no_is_refused():
    tail = sf.methods.NormalTail(draws=50, error=0.1)
    assert regression(method=tail).run(**QUICK).claims
    with pytest.raises(InvalidArgument, match="only says yes or no: give it a number"):
        regression(method=tail, property=Kept(lambda a, b: True))


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"property": SameLabel()}, r"'same' is about classes, and the model gives values.*Close"),
        ({"property": Close(1, of="true")}, r"about true outputs, but .* holds none: add them"),
        ({"by_class": True}, "the model has no classes: leave out by_class"),
        ({"method": sf.methods.Attack()}, "the model has no classes: sample instead"),
        (
            {"method": sf.methods.CriticalLevel(), "perturbation": sf.perturb.LinfNoise()},
            "the model has no classes: sample instead",
        ),
        ({"inputs": sf.load_inputs(X, [0] * 8)}, "holds class labels, but the model has no class"),
    ],
)
def test_what_needs_classes_is_refused_with_the_way_out(changes, match):
    if "method" in changes:
        changes = {"perturbation": sf.perturb.LinfNoise(0.1), **changes}
    with pytest.raises(InvalidArgument, match=match):
        regression(**changes)


def test_a_property_of_outputs_refuses_class_scores_with_the_way_out():
    model = sf.load_model(lambda x: x, shape=(3,))
    with pytest.raises(InvalidArgument, match=r"load it with scores=\"values\" \(--scores values"):
        regression(model=model)
    with pytest.raises(InvalidArgument, match="reads values, and the model gives objects"):
        regression(model=sf.load_model(list, shape=(3,), scores="objects"))


def test_only_correct_inputs_cannot_be_chosen_where_nothing_is_a_class():
    model = sf.load_model(total, shape=(3,), scores="values")
    with pytest.raises(InvalidArgument, match="the model has no classes: leave it out"):
        sf.select(sf.load_inputs(X, targets=total(X)), model, sf.Selection(correct_only=True))


def test_nan_among_perturbed_outputs_names_the_trial():
    model = sf.load_model(lambda x: np.where(x > 1, np.nan, x), shape=(3,), scores="values")
    failed(r"input \d, trial \d+: the model returned NaN", regression(model=model).run, **QUICK)


def test_inputs_that_mix_in_a_batch_are_noticed_also_for_objects():
    model = sf.load_model(lambda x: [x.mean()] * len(x), shape=(3,), scores="objects")
    with pytest.raises(InvalidArgument, match="preflight, a batch of one"):
        regression(model=model, property=Kept(lambda a, b: True)).run(**QUICK)


def test_the_digest_covers_targets_and_the_function():
    inputs = [sf.load_inputs(X, targets=total(X) + more) for more in (0, 1)]
    prop = Close(1, of="true")
    first, again, other = (
        regression(inputs=one, property=prop).digest for one in (inputs[0], inputs[0], inputs[1])
    )
    assert first == again != other
    boxed = [
        sf.load_inputs(X, targets=[{"boxes": [[0, 0, 1, side]], "labels": [0]}] * 8).digest()
        for side in (1, 1, 2)
    ]
    assert boxed[0] == boxed[1] != boxed[2]
    assert sf.load_inputs(X).digest() not in boxed


def run(*words):
    """The exit code and the text; a refusal is 3, as the command line makes it."""
    done = CliRunner().invoke(app, list(words))
    refused = isinstance(done.exception, InvalidArgument)
    return (3, str(done.exception)) if refused else (done.exit_code, done.output)


@pytest.fixture
def files(cwd):
    np.savez("data.npz", x=X, y=total(X) + 0.5)
    with open("model.pkl", "wb") as file:
        pickle.dump(Ridge(), file)


COMMON = ("--trust", "--perturb", "gaussian:0.3")


def test_a_property_of_values_on_the_command_line_says_how_model_and_data_are_read(files):
    code, output = run("estimate", "model.pkl", "data.npz", *COMMON, "--each", "0.2")
    assert code == 3
    code, output = run(
        "estimate", "model.pkl", "data.npz", *COMMON, "--each", "0.2", "--property",
        "close:30,of=true",
    )  # fmt: skip
    assert code == 0, output
    study = read_study("surefoot.db", trust=True)
    assert study.property == Close(30, of="true")
    assert study.inputs.targets[0] == pytest.approx(float(total(X)[0]) + 0.5, rel=1e-5)
    code, output = run("replay", "latest", "0", "2", "--trust")
    assert code == 0, output
    assert "kept" in output or "failed" in output


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("certify", "--property", "close:30", "--kappa", "0.5"), 0),
        (("curve", "--property", "close:30", "--threshold", "0.5"), 0),
        (("tail", "--property", "close:30", "--draws", "40"), 0),
        (("tail", "--property", "close:30", "--limit", "0.7"), 3),
        (("plan", "--property", "close:30"), 0),
        (("estimate", "--property", "close:30", "--correct-only"), 3),
        (("estimate", "--property", "close:30", "--scores", "logits"), 3),
        (("estimate", "--property", "close:30", "--classes", "1"), 3),
        (("doctor", "--scores", "values"), 0),
    ],
)
def test_every_command_takes_values_or_refuses_them_in_one_sentence(files, words, expected):
    level = "gaussian:0..0.5" if words[0] == "curve" else "gaussian:0.3"
    command, *options = words
    code, output = run(command, "model.pkl", "data.npz", "--trust", "--perturb", level, *options)
    assert code == expected, output


def test_float_labels_are_still_refused_for_a_classifier(files):
    with pytest.raises(InvalidArgument):
        sf.load_inputs("data.npz")
    inputs = sf.load_inputs("data.npz", targets="y")
    assert len(inputs.targets) == 8
    with pytest.raises(InvalidArgument, match="has no array 'z'"):
        sf.load_inputs("data.npz", targets="z")
    with pytest.raises(InvalidArgument, match="8 inputs but 3 targets"):
        sf.load_inputs(X, targets=[1, 2, 3])
