"""Properties of outputs where single precision, or a class below 0, decides."""

import numpy as np
import pytest

import surefoot as sf
from surefoot.engine.devices import in_double_precision
from surefoot.errors import InvalidArgument
from surefoot.properties import BoxesKept, Close, LabelsKept, MaskIoU, PixelsKept
from surefoot.properties.detection import read_boxes


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.7, 0.9, 1 / 3, -0.7, 1e4])
def test_a_score_at_the_threshold_is_at_least_the_threshold_in_its_own_precision(threshold, dtype):
    at = np.full(2, threshold, dtype)
    below = np.nextafter(at, np.array(-np.inf, dtype))
    scores = np.stack([at, below])
    for prop in (LabelsKept(threshold), LabelsKept(threshold, share=0.9)):
        assert prop.references(scores, (), ["a", "b"]).tolist() == [[1, 1], [0, 0]]
        severity = prop.severity(scores, np.ones((2, 2), np.uint8))
        assert (severity < prop.limit).tolist() == [True, False]
        assert [prop.words(row) for row in scores] == ["labels 0, 1", "no label"]
    corners, labels = np.array([[0, 0, 1, 1], [2, 2, 3, 3]], dtype), np.zeros(2)
    named = [{"boxes": corners, "labels": labels, "scores": row} for row in scores]
    rows = [np.column_stack([corners, row, labels]).astype(dtype) for row in scores]
    for outputs in (named, rows):
        assert [len(read_boxes(one).above(threshold)) for one in outputs] == [2, 0]


def test_a_threshold_that_the_scores_cannot_hold_is_not_rounded_to_zero():
    zeros = np.zeros((1, 2), np.float16)
    assert LabelsKept(1e-9).references(zeros, (), ["a"]).tolist() == [[0, 0]]
    assert LabelsKept(1e6).references(zeros, (), ["a"]).tolist() == [[0, 0]]


def _confident_when_perturbed(x):
    """Class 0 with 0.9 for the clean input, 0; class 1 with 0.7 for any other."""
    return np.where(x[:, :1] == 0, [[0.9, 0.1]], [[0.3, 0.7]]).astype(np.float32)


def test_a_confidence_at_the_limit_reaches_it_in_counts_fits_and_repeated_trials():
    model = sf.load_model(_confident_when_perturbed, shape=(1,), scores="probabilities")
    inputs, noise = sf.load_inputs(np.zeros((1, 1), np.float32)), sf.perturb.GaussianNoise(0.1)
    methods = sf.methods.ExactSequential(0.2, 0.05), sf.methods.NormalTail(error=0.05, draws=100)
    for method in methods:
        prop = sf.properties.NoConfidentMistake(0.7)
        study = sf.Study(model, inputs, noise, method, property=prop)
        result = study.run().inputs[0].result
        assert getattr(result, "counted", result).value == 0  # no trial is kept
        assert not study.replay("0", 3).kept


def test_a_severity_stays_on_its_side_of_the_limit_in_double_precision():
    for limit, dtype in ((0.7, np.float32), (0.1, np.float16), (0.3, np.float64)):
        at = np.array(limit, dtype)
        values = np.array([np.nextafter(at, dtype(0)), at, np.nextafter(at, dtype(1))])
        severities = in_double_precision(values, limit)
        assert (severities < limit).tolist() == (values < limit).tolist() == [True, False, False]
    assert in_double_precision(np.array([0, 1]), 0.5).tolist() == [0, 1]


@pytest.mark.parametrize(("clean", "moved"), [(1.0, 1.1), (0.3, 0.4), (1.0, 0.9), (100.0, 100.1)])
def test_a_distance_of_exactly_the_tolerance_is_kept_in_single_precision(clean, moved):
    prop = Close(0.1)
    references = prop.references(np.array([[clean]], np.float32), (), ["a"])
    assert prop.severity(np.array([[moved]], np.float32), references)[0] < prop.limit
    assert prop.severity(np.array([[clean + 0.11]], np.float32), references)[0] >= prop.limit


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("clean", "jump", "tolerance"),
    [(1e6, 0.25, 0.1), (-1e6, 0.25, 0.1), (1e7, 2.0, 0.5), (1e9, 64.0, 0.5), (1e6, 0.125, 0.1)],
)
@pytest.mark.parametrize("of", ["predicted", "true"])
def test_a_large_output_hides_no_distance_beyond_the_tolerance(clean, jump, tolerance, of, dtype):
    outputs = np.array([[clean], [clean]], dtype)
    targets = (clean, clean) if of == "true" else ()
    for prop in (Close(tolerance, of=of), Close(share=tolerance / abs(clean), of=of)):
        references = prop.references(outputs, targets, ["a", "b"])
        severity = prop.severity(outputs + np.array([[0], [jump]], dtype), references)
        assert (severity < prop.limit).tolist() == [True, False]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("tolerance", [0.0, 1e-6, 0.1, 3.0])
def test_rounding_is_forgiven_up_to_a_hundredth_of_the_tolerance_and_no_more(tolerance, dtype):
    rng, prop = np.random.default_rng(1), Close(tolerance)
    sizes = 10.0 ** rng.uniform(-3, 4, 2000)
    clean = (sizes * rng.choice([-1, 1], 2000)).astype(dtype)[:, None]
    moved = (clean + rng.uniform(0.9, 1.1, clean.shape) * tolerance).astype(dtype)
    distance = np.abs(moved.astype(float) - clean.astype(float))[:, 0]
    severity = prop.severity(moved, prop.references(clean, (), [""] * 2000))
    kept = severity < prop.limit
    assert kept[distance <= tolerance].all()
    assert (distance[kept] <= 1.01 * tolerance * (1 + 1e-12)).all()


def test_an_overlap_of_exactly_the_stated_one_is_kept_and_a_pixel_less_is_not():
    clean = np.repeat([0, 1, 2], 5)[None, None]
    masks = np.repeat(np.repeat([0, 3, 1, 3, 2, 3], [3, 2, 4, 1, 1, 4])[None, None], 2, axis=0)
    masks[1, 0, 0] = 3  # IoU 3/5, 4/5, 1/5 and 0, a mean of 0.4; here a pixel less
    prop = MaskIoU(0.4)
    references = prop.references(np.repeat(clean, 2, axis=0), (), ["a", "b"])
    assert (prop.severity(masks, references) < prop.limit).tolist() == [True, False]


@pytest.mark.parametrize("share", [0.07, 0.28, 0.55, 0.9])
def test_a_box_cut_to_the_stated_share_is_kept_and_a_smaller_one_is_not(share):
    outputs = [
        {"boxes": [[0.1, 0.1, 0.1 + 0.3 * part, 0.8]], "labels": [0], "scores": [1.0]}
        for part in (1.0, share, share - 1e-9)
    ]
    prop = BoxesKept(share)
    references = prop.references(outputs[:1] * 3, (), ["a", "b", "c"])
    assert (prop.severity(outputs, references) < prop.limit).tolist() == [True, True, False]


@pytest.mark.parametrize("prop", [PixelsKept, MaskIoU])
def test_a_class_below_zero_is_ignored_as_stated(prop):
    kept = prop(0.95, of="true", ignore=-1)
    targets = (np.array([[0, -1], [0, 0]]),)
    masks = np.zeros((1, 2, 2), np.int64)
    references = kept.references(masks, targets, ["a"])
    assert kept.severity(masks, references)[0] < kept.limit
    with pytest.raises(InvalidArgument, match="fraction"):
        kept.references(masks, (np.full((2, 2), 0.5),), ["a"])
