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


@pytest.mark.parametrize("prop", [PixelsKept, MaskIoU])
def test_a_class_below_zero_is_ignored_as_stated(prop):
    kept = prop(0.95, of="true", ignore=-1)
    targets = (np.array([[0, -1], [0, 0]]),)
    masks = np.zeros((1, 2, 2), np.int64)
    references = kept.references(masks, targets, ["a"])
    assert kept.severity(masks, references)[0] < kept.limit
    with pytest.raises(InvalidArgument, match="fraction"):
        kept.references(masks, (np.full((2, 2), 0.5),), ["a"])
