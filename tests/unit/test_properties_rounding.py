"""Properties of outputs where single precision, or a class below 0, decides."""

import numpy as np
import pytest

from surefoot.errors import InvalidArgument
from surefoot.properties import Close, LabelsKept, MaskIoU, PixelsKept


def test_a_label_at_the_threshold_in_single_precision_is_kept_by_itself():
    scores = np.full((3, 2), 0.7, np.float32)
    for prop in (LabelsKept(0.7), LabelsKept(0.7, share=0.9)):
        references = prop.references(scores, (), ["a", "b", "c"])
        assert (prop.severity(scores, references) < prop.limit).all()


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


@pytest.mark.parametrize("prop", [PixelsKept, MaskIoU])
def test_a_class_below_zero_is_ignored_as_stated(prop):
    kept = prop(0.95, of="true", ignore=-1)
    targets = (np.array([[0, -1], [0, 0]]),)
    masks = np.zeros((1, 2, 2), np.int64)
    references = kept.references(masks, targets, ["a"])
    assert kept.severity(masks, references)[0] < kept.limit
    with pytest.raises(InvalidArgument, match="fraction"):
        kept.references(masks, (np.full((2, 2), 0.5),), ["a"])
