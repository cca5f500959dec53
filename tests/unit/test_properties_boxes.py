"""Boxes: how they are read, matched and kept."""

from itertools import permutations

import numpy as np
import pytest

from surefoot.errors import InvalidArgument, ModelFailed
from surefoot.properties import BoxesKept
from surefoot.properties.detection import best_worst_match, overlaps, read_boxes
from tests.unit.test_properties_of_outputs import kept


def boxes(*rows, scores=None):
    corners = np.array([row[:4] for row in rows], float).reshape(-1, 4)
    labels = np.array([row[4] if len(row) > 4 else 0 for row in rows])
    return {
        "boxes": corners,
        "labels": labels,
        "scores": np.ones(len(rows)) if scores is None else np.array(scores),
    }


SQUARE = (0, 0, 10, 10)


@pytest.mark.parametrize(
    ("clean", "perturbed", "expected"),
    [
        ([SQUARE], [SQUARE], True),
        ([SQUARE], [(0, 0, 10, 5)], True),  # IoU exactly 1/2
        ([SQUARE], [(0, 0, 10, 4.99)], False),
        ([SQUARE], [(*SQUARE, 1)], False),  # another class
        ([SQUARE], [], False),
        ([], [], True),
        ([], [SQUARE], False),  # no boxes at all: kept if none appears
        ([SQUARE], [SQUARE, (20, 20, 30, 30)], True),  # new boxes are allowed
        ([SQUARE, SQUARE], [SQUARE], False),  # each needs one of its own
        ([SQUARE, SQUARE], [SQUARE, SQUARE], True),
        ([(3, 3, 3, 3)], [(3, 3, 3, 3)], True),  # no area, but the same
        ([(3, 3, 3, 3)], [(4, 4, 4, 4)], False),
        ([(3, 3, 3, 3)], [SQUARE], False),
    ],
)
def test_every_box_needs_one_of_its_own(clean, perturbed, expected):
    assert kept(BoxesKept(0.5), [boxes(*clean)], [boxes(*perturbed)]) == [expected]


def test_a_matching_is_found_where_the_nearest_of_each_is_not_one():
    overlap = np.array([[0.9, 0.6], [0.8, 0.1]])  # both nearest to the first column
    assert best_worst_match(overlap) == pytest.approx(0.6)
    rng = np.random.default_rng(1)
    for _ in range(50):
        table = rng.choice([0, 0.25, 0.5, 0.75], (3, 4))
        best = max(min(table[i, p[i]] for i in range(3)) for p in permutations(range(4), 3))
        assert best_worst_match(table) == best


def test_boxes_below_the_score_do_not_count_in_either_output():
    low = boxes(SQUARE, scores=[0.3])
    assert kept(BoxesKept(0.5), [low], [boxes()]) == [True]
    assert kept(BoxesKept(0.5), [boxes(SQUARE)], [low]) == [False]
    assert kept(BoxesKept(0.5, score=0.3), [boxes(SQUARE)], [low]) == [True]


def test_a_new_box_fails_from_its_score_on_and_a_second_box_on_an_object_is_not_new():
    prop = BoxesKept(0.5, new=0.8)
    far = (20, 20, 30, 30)
    assert kept(prop, [boxes(SQUARE)], [boxes(SQUARE, far, scores=[0.9, 0.8])]) == [False]
    assert kept(prop, [boxes(SQUARE)], [boxes(SQUARE, far, scores=[0.9, 0.79])]) == [True]
    assert kept(prop, [boxes(SQUARE)], [boxes(SQUARE, (0, 0, 10, 9))]) == [True]


def test_true_boxes_all_count_and_need_no_scores():
    truth = {"boxes": [SQUARE], "labels": [0]}
    prop = BoxesKept(0.5, of="true")
    assert kept(prop, [boxes()], [boxes(SQUARE)], (truth,)) == [True]
    assert kept(prop, [boxes(SQUARE)], [boxes()], (truth,)) == [False]


class Target:
    """As in MAITE: attributes, and scores for each class."""

    boxes = np.array([SQUARE], float)
    labels = np.array([2])
    scores = np.array([[0.1, 0.2, 0.7]])


@pytest.mark.parametrize(
    "value",
    [
        Target(),
        {"boxes": [SQUARE], "labels": [2], "scores": [0.7]},
        np.array([[*SQUARE, 0.7, 2]]),
        [[*SQUARE, 0.7, 2]],
    ],
    ids=["attributes", "dict", "rows", "lists"],
)
def test_boxes_are_read_from_every_form(value):
    read = read_boxes(value)
    np.testing.assert_allclose(read.corners, [SQUARE])
    np.testing.assert_allclose(read.scores, [0.7])
    assert read.labels.tolist() == [2]


def test_boxes_of_torch_are_read(torch):
    value = {
        "boxes": torch.tensor([SQUARE]).float(),
        "labels": torch.tensor([2]),
        "scores": torch.tensor([0.5]),
    }
    assert overlaps(read_boxes(value), read_boxes(value)).tolist() == [[1.0]]


@pytest.mark.parametrize(
    "value",
    [3, "boxes", {"boxes": [SQUARE]}, np.zeros((2, 5)), {"boxes": [SQUARE], "labels": [1, 2]}],
)
def test_what_holds_no_boxes_is_refused_with_what_does(value):
    with pytest.raises(ModelFailed, match="give each input a dict with boxes"):
        read_boxes(value)


def test_boxes_of_reference_with_width_and_height_are_refused():
    with pytest.raises(
        InvalidArgument, match="input 4: the box 20, 20, 5, 5 ends before it begins"
    ):
        BoxesKept().references([boxes((20, 20, 5, 5))], (), ["4"])


def test_a_box_with_nan_is_no_severity():
    prop = BoxesKept()
    references = prop.references([boxes(SQUARE)], (), ["0"])
    assert np.isnan(prop.severity([boxes((0, 0, np.nan, 1))], references)).all()
