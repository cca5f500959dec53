"""Properties: what "kept" means of scores and of other outputs; edges, ties, rounding, refusals."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import surefoot as sf
from surefoot.catalogue.registry import parse_property
from surefoot.core.counts import Counts, Outcomes
from surefoot.engine.devices import in_double_precision
from surefoot.properties import (
    BoxesKept,
    Close,
    Kept,
    LabelsKept,
    MaskIoU,
    NoConfidentMistake,
    PixelsKept,
    SameLabel,
    TopK,
    TrueLabel,
)
from surefoot.properties.detection import best_worst_match, read_boxes
from surefoot.subject.protocols import Reference, Scores
from tests.refusals import failed, refused


def kept(prop, clean, perturbed, targets=()):
    """Which trials are kept, as the engine reads it; one clean output a trial."""
    names = [str(i) for i in range(len(perturbed))]
    references = prop.references(clean, targets, names)
    severity = np.asarray(prop.severity(perturbed, references))
    assert severity.shape == (len(perturbed),)
    assert severity.dtype == np.float64
    return (severity < prop.limit).tolist()


def column(*values):
    return np.array(values, np.float32)[:, None]


def boxes(*rows, scores=None):
    corners = np.array([row[:4] for row in rows], float).reshape(-1, 4)
    labels = np.array([row[4] if len(row) > 4 else 0 for row in rows])
    given = np.ones(len(rows)) if scores is None else np.array(scores)
    return {"boxes": corners, "labels": labels, "scores": given}


def same_length(clean, perturbed):
    """Whether two lists have the same length."""
    return len(clean) == len(perturbed)


VALUES = (1, 2)
SQUARE, FAR = (0, 0, 10, 10), (20, 20, 30, 30)
HALF = boxes(SQUARE, scores=[0.3])
TRUE_BOX = {"boxes": [SQUARE], "labels": [0]}
NEW = BoxesKept(0.5, new=0.8)
EMPTY, TEN = np.zeros((1, 2, 2), np.int64), np.zeros((2, 2, 5), np.int64)
ONE_AND_TWO = np.array([[[1, 0, 0, 0, 0], [0] * 5], [[1, 1, 0, 0, 0], [0] * 5]])
OF_CLASS_2 = np.eye(3)[np.full((1, 4, 4), 2)].transpose(0, 3, 1, 2)
A_ROW_OF_0 = np.where(np.arange(4)[:, None] == 0, [[[[5.0]], [[0.0]], [[1.0]]]], OF_CLASS_2)
MASK, TRUE_MASK = np.array([[[0, 1], [1, 0]]]), np.array([[0, 1], [255, 255]])
MASKS = np.array([[[0, 0, 1, 1]]] * 2), np.array([[[0, 0, 1, 1]], [[0, 0, 1, 2]]])
KEPT = {
    "a move by the tolerance itself, and one by more than rounding explains": (
        Close(0.5), column(10, 10, 10), column(10.5, 10.5001, 9.5), [True, False, True]),
    "a tolerance of zero": (Close(0), column(1, 1), column(1, 1 + 1e-6), [True, False]),
    "a share is of the clean output": (
        Close(share=0.5), column(10, 10, -10), column(15, 4, -15.5), [True, False, False]),
    "every column": (
        Close(1), np.zeros((2, 3)), np.array([[1, 1, 1], [0, 0, 1.01]]), [True, False]),
    "a true value is a number or a row": (
        Close(1, of="true"), column(0, 0), column(4, 4), [True, False], (5, np.array([5.5]))),
    "nine of ten pixels": (PixelsKept(0.9), TEN, ONE_AND_TWO, [True, False]),
    "scores of pixels": (PixelsKept(0.75), OF_CLASS_2, A_ROW_OF_0, [True]),
    "scores of too many pixels": (PixelsKept(0.76), OF_CLASS_2, A_ROW_OF_0, [False]),
    "all pixels count": (PixelsKept(1, of="true"), MASK, MASK, [False], (TRUE_MASK,)),
    "but ignored ones": (
        PixelsKept(1, of="true", ignore=255), MASK, MASK, [True], (TRUE_MASK,)),
    "nor in an overlap": (MaskIoU(1, of="true", ignore=255), MASK, MASK, [True], (TRUE_MASK,)),
    "a mean over the classes in either mask: 1, 1/2 and 0": (MaskIoU(0.5), *MASKS, [True, True]),
    "and no more than that": (MaskIoU(0.501), *MASKS, [True, False]),
    "a class in neither mask": (MaskIoU(0.5, label=1), EMPTY, EMPTY, [True]),
    "a class that appears": (MaskIoU(0.5, label=1), EMPTY, EMPTY + 1, [False]),
    "a label at the threshold is given": (
        LabelsKept(0.5), np.array([[0.5, 0.4]] * 4),
        np.array([[0.5, 0.4], [0.49, 0.4], [0.9, 0.5], [0.6, 0.49]]), [True, False, False, True]),
    "a share of the labels": (
        LabelsKept(0.5, share=0.75), np.array([[1.0, 1.0, 0.0, 0.0]] * 2),
        np.array([[1.0, 1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]]), [True, False]),
    "true labels": (
        LabelsKept(of="true"), np.array([[0.9, 0.2]] * 2), np.array([[0.9, 0.2]] * 2),
        [True, False], ([1, 0], [1, 1])),
    "a function says so": (Kept(same_length), ["ab", "ab"], ["cd", "abc"], [True, False]),
    "a number below its limit": (
        Kept(lambda a, b: abs(len(a) - len(b)), below=2), ["ab"] * 2, ["abc", "abcd"],
        [True, False]),
    "no box below the score is needed": (BoxesKept(0.5), [HALF], [boxes()], [True]),
    "nor counts": (BoxesKept(0.5), [boxes(SQUARE)], [HALF], [False]),
    "but from the score on it does": (BoxesKept(0.5, score=0.3), [boxes(SQUARE)], [HALF], [True]),
    "a new box fails from its score on": (
        NEW, [boxes(SQUARE)], [boxes(SQUARE, FAR, scores=[0.9, 0.8])], [False]),
    "and not below": (NEW, [boxes(SQUARE)], [boxes(SQUARE, FAR, scores=[0.9, 0.79])], [True]),
    "a second box on an object is not new": (
        NEW, [boxes(SQUARE)], [boxes(SQUARE, (0, 0, 10, 9))], [True]),
    "true boxes need no scores": (
        BoxesKept(0.5, of="true"), [boxes()], [boxes(SQUARE)], [True], (TRUE_BOX,)),
    "and all count": (BoxesKept(0.5, of="true"), [boxes(SQUARE)], [boxes()], [False], (TRUE_BOX,)),
}  # fmt: skip


@pytest.mark.parametrize("case", KEPT)
def test_what_is_kept(case):
    prop, clean, perturbed, expected, *targets = KEPT[case]
    assert kept(prop, clean, perturbed, *targets) == expected


@pytest.mark.parametrize(
    ("prop", "outputs", "targets", "match"),
    [
        (Close(share=0.1), column(0), (), r"clean output of input 7 holds a 0.*close:0\.5"),
        (PixelsKept(of="true", ignore=255), MASK, (np.full((2, 2), 255),), "no pixel but of"),
        (LabelsKept(of="true"), np.array([[0.9, 0.2]]), ([2, 0],), "holds 2: give 0 or 1"),
        (BoxesKept(), [boxes((20, 20, 5, 5))], (), "input 7: the box 20, 20, 5, 5 ends before it"),
    ],
)
def test_a_reference_that_nothing_can_be_compared_with_is_refused(prop, outputs, targets, match):
    refused(match, prop.references, outputs, targets, ["7"])


@pytest.mark.parametrize(
    ("target", "match"),
    [
        ("a", "numbers are needed"),
        (np.zeros(2), r"has shape \(2,\)"),
        (np.nan, "NaN or infinity"),
        (None, "numbers are needed"),
    ],
)
def test_a_target_that_is_no_value_of_the_output_is_refused(target, match):
    refused(match, Close(1, of="true").references, column(0), (target,), ["7"])


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (Close, "close needs one tolerance"),
        (lambda: Close(1, share=0.1), "close needs one tolerance"),
        (lambda: Close(-1), "finite number ≥ 0, got -1"),
        (lambda: Close(float("inf")), "finite number"),
        (lambda: Close(1, of="clean"), "of must be predicted or true"),
        (lambda: PixelsKept(1.5), "above 0 and at most 1"),
        (lambda: MaskIoU(0), "above 0 and at most 1"),
        (lambda: BoxesKept(0), "above 0 and at most 1"),
        (lambda: BoxesKept(score=0.5, new=0.3), "at least boxes.score"),
        (lambda: LabelsKept(share=0), "above 0 and at most 1"),
        (lambda: LabelsKept(float("nan")), "finite"),
        (lambda: Kept("f"), "function of two outputs"),
        (lambda: Kept(max, below=float("inf")), "finite"),
    ],
)
def test_what_says_nothing_is_refused(make, match):
    refused(match, make)


@pytest.mark.parametrize(
    ("output", "match"),
    [
        (np.zeros((1, 4)), "a segmentation gives"),
        (np.zeros((1, 1, 4, 4)), "a segmentation gives"),
        (np.full((1, 4, 4), 0.5), "not whole"),
        (np.full((1, 4, 4), -1), "below 0"),
    ],
)
def test_what_is_no_mask_is_refused(output, match):
    failed(match, PixelsKept().references, output, (), ["0"])


@pytest.mark.parametrize(
    ("prop", "match"),
    [
        (Kept(lambda a, b: 0.3, name="f"), "f must return True or False, got 0.3"),
        (Kept(lambda a, b: None, name="f"), "f must return True or False, got None"),
        (Kept(lambda a, b: True, name="f", below=1), "f must return a number, got True"),
        (Kept(lambda a, b: float("nan"), name="f", below=1), "a finite number, got nan"),
        (Kept(lambda a, b: a.nothing, name="f"), "f raised AttributeError"),
    ],
)
def test_an_answer_that_is_none_is_refused(prop, match):
    refused(match, prop.severity, ["a"], ["a"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("close:0.5", Close(0.5)),
        ("close:5%", Close(share=0.05)),
        ("close:1/4,of=true", Close(0.25, of="true")),
        ("close:share=0.1", Close(share=0.1)),
        ("pixels", PixelsKept()),
        ("pixels:90%", PixelsKept(0.9)),
        ("pixels:0.9,of=true,ignore=255", PixelsKept(0.9, of="true", ignore=255)),
        ("iou:0.7,label=1", MaskIoU(0.7, label=1)),
        ("boxes:0.5,score=0.3,new=0.6", BoxesKept(0.5, 0.3, 0.6)),
        ("labels:0,share=0.9", LabelsKept(0, 0.9)),
    ],
)
def test_properties_are_written_as_text(text, expected):
    assert parse_property(text) == expected
    assert parse_property(text).needs in (Scores.VALUES, Scores.OBJECTS)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("close", "close needs one tolerance"),
        ("close:a", "'a' is not a number"),
        ("close:0.5,0.6", "close has no option '0.6'"),
        ("close:0.5,tolerance=1", "close has tolerance twice"),
        ("close:0.5,of=clean", "predicted or true"),
        ("iou:0.7,label=1.5", "must be an integer"),
        ("nearly:0.5", r"no property 'nearly': choose one of same \(the label the model gives"),
        ("correct", r"no property 'correct': do you mean true \(the label in the data wins\)\?"),
        ("@tests.unit.test_properties_of_outputs:VALUES", "is tuple: give a property"),
    ],
)
def test_a_mistake_in_the_text_is_one_sentence(text, match):
    refused(match, parse_property, text)


def test_a_function_of_ones_own_is_named_by_its_module():
    prop = parse_property("@tests.unit.test_properties_of_outputs:same_length")
    assert prop.kind == "kept"
    assert prop.name == "same_length"


@pytest.mark.parametrize("prop", [Close(1), PixelsKept(), MaskIoU(), LabelsKept()])
def test_torch_and_numpy_agree(prop, torch):
    rng = np.random.default_rng(3)
    shape = (6, 3, 4, 4) if prop.kind in ("pixels", "iou") else (6, 3)
    clean, perturbed = (rng.normal(size=shape).astype(np.float32) for _ in range(2))
    references = prop.references(clean, (), list("abcdef"))
    ours = prop.severity(perturbed, references)
    theirs = prop.severity(torch.from_numpy(perturbed), torch.from_numpy(references))
    np.testing.assert_allclose(theirs.numpy(), ours)
    assert str(theirs.dtype) == "torch.float64"


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


@pytest.mark.parametrize(
    "value",
    [3, "boxes", {"boxes": [SQUARE]}, np.zeros((2, 5)), {"boxes": [SQUARE], "labels": [1, 2]}],
)
def test_what_holds_no_boxes_is_refused_with_what_does(value):
    failed("give each input a dict with boxes", read_boxes, value)


def test_a_box_with_nan_is_no_severity():
    prop = BoxesKept()
    references = prop.references([boxes(SQUARE)], (), ["0"])
    assert np.isnan(prop.severity([boxes((0, 0, np.nan, 1))], references)).all()


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
    refused("fraction", kept.references, masks, (np.full((2, 2), 0.5),), ["a"])


EVERY = [SameLabel(), TrueLabel(), TopK(1), TopK(2), NoConfidentMistake(0.6)]


def kept_trials(prop, scores, labels):
    """Whether it holds, as the engine counts it: severity below the limit."""
    result = prop.severity(np.asarray(scores, np.float32), np.asarray(labels))
    assert result.shape == (len(scores),)
    marks = Outcomes.of(result, prop.limit).marks
    assert Counts.of(result, prop.limit) == Counts(len(scores), marks.count("1"))
    return [mark == "1" for mark in marks]


LAW = settings(deadline=None, database=None, derandomize=True, max_examples=50)
NUMBERS = st.one_of(
    st.integers(-3, 3).map(float),  # ties are common
    st.floats(-(2.0**100), 2.0**100, width=32),
)


@st.composite
def tables(draw):
    """Scores and labels."""
    n, classes = draw(st.integers(1, 5)), draw(st.integers(3, 6))
    scores = draw(arrays(np.float32, (n, classes), elements=NUMBERS))
    return scores, draw(arrays(np.int64, (n,), elements=st.integers(0, classes - 1)))


@pytest.mark.parametrize("prop", [SameLabel(), TrueLabel(), TopK(1)])
def test_a_tie_is_a_violation(prop):
    scores = [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    assert kept_trials(prop, scores, [0, 2, 1, 0]) == [False, False, False, True]


def test_the_smallest_lead_holds_and_the_smallest_lag_does_not():
    one, more = np.float32(1), np.nextafter(np.float32(1), np.float32(2))
    assert kept_trials(
        SameLabel(), [[more, one], [one, more], [0.0, 1e-45], [1e-45, 0.0]], [0, 0, 0, 0]
    ) == [
        True,
        False,
        False,
        True,
    ]


@LAW
@given(tables())
def test_the_same_label_holds_iff_it_alone_is_best(table):
    scores, labels = table
    best = scores.max(axis=1, keepdims=True)
    alone = ((scores == best).sum(axis=1) == 1) & (scores.argmax(axis=1) == labels)
    assert kept_trials(SameLabel(), scores, labels) == alone.tolist()


@LAW
@given(tables())
def test_the_true_label_is_the_same_sum_about_another_label(table):
    np.testing.assert_array_equal(SameLabel().severity(*table), TrueLabel().severity(*table))


@LAW
@given(tables(), st.integers(1, 5))
def test_top_k_holds_iff_fewer_than_k_others_reach_the_label(table, k):
    scores, labels = table
    assume(k < scores.shape[1])
    own = np.take_along_axis(scores, labels[:, None], axis=1)
    others = (scores >= own).sum(axis=1) - 1
    assert kept_trials(TopK(k), scores, labels) == (others < k).tolist()


@LAW
@given(tables())
def test_a_confident_mistake_is_the_best_wrong_class(table):
    scores, labels = table
    expected = [
        max(v for c, v in enumerate(row) if c != own) for row, own in zip(*table, strict=True)
    ]
    np.testing.assert_array_equal(NoConfidentMistake().severity(scores, labels), expected)


def test_confidence_at_the_limit_is_a_mistake_and_just_below_is_none():
    limit = 0.75  # a float of any width
    below = np.nextafter(np.float32(limit), np.float32(0))
    prop = NoConfidentMistake(limit)
    assert kept_trials(prop, [[0.25, limit], [1 - below, below], [limit, 0.25]], [0, 0, 0]) == [
        False,
        True,
        True,
    ]


@pytest.mark.parametrize("prop", EVERY, ids=repr)
@LAW
@given(table=tables())
def test_numpy_and_torch_agree_on_every_bit(torch, prop, table):
    scores, labels = table
    there = prop.severity(torch.from_numpy(scores), torch.from_numpy(labels))
    assert isinstance(there, torch.Tensor)
    assert there.shape == (len(scores),)
    np.testing.assert_array_equal(there.numpy(), prop.severity(scores, labels))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64, np.uint8])
def test_scores_of_any_number_type_are_compared_rightly(dtype):
    scores = np.array([[3, 1, 2], [1, 1, 0], [0, 2, 1]], dtype)
    result = SameLabel().severity(scores, np.array([0, 0, 0]))
    np.testing.assert_array_equal(result, [-1, 0, 2])


@pytest.mark.parametrize("k", [0, -1, 1.5, float("nan")])
def test_a_k_that_counts_nothing_is_refused(k):
    refused(r"topk\.k must be an integer ≥ 1", TopK, k)


@pytest.mark.parametrize("k", [3, 4, 100])
def test_a_k_that_always_holds_is_refused(k):
    refused("less than the number of classes", TopK(k).severity, np.zeros((2, 3)), np.array([0, 1]))


@pytest.mark.parametrize("limit", [0.49, 0, -1, 1.01, float("nan"), float("inf")])
def test_a_confidence_below_a_half_or_above_one_is_refused(limit):
    refused(r"between 0\.5 and 1", NoConfidentMistake, limit)


def test_each_says_which_label_and_which_scores_it_is_about():
    assert SameLabel().reference is Reference.PREDICTED
    assert NoConfidentMistake().reference is Reference.PREDICTED
    assert TrueLabel().reference is Reference.TRUE
    assert TopK().reference is Reference.TRUE
    assert NoConfidentMistake().needs is Scores.PROBABILITIES
    assert SameLabel().needs is TrueLabel().needs is TopK().needs is None
