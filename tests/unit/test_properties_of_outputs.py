"""Properties of outputs that are no class scores: edges, ties and what is refused."""

import functools

import numpy as np
import pytest

from surefoot.catalogue.registry import describe, parse_property
from surefoot.errors import InvalidArgument, ModelFailed
from surefoot.properties import BoxesKept, Close, Kept, LabelsKept, MaskIoU, PixelsKept
from surefoot.subject.protocols import Reference, Scores


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


def test_an_output_that_moves_by_the_tolerance_itself_is_kept_and_any_more_fails():
    above = np.float32(10.5001)  # more than rounding in single precision explains
    assert kept(Close(0.5), column(10, 10, 10), column(10.5, above, 9.5)) == [True, False, True]


def test_a_tolerance_of_zero_keeps_only_the_same_output():
    assert kept(Close(0), column(1, 1), column(1, 1 + 1e-6)) == [True, False]


def test_a_share_is_of_the_clean_output_not_of_the_perturbed_one():
    prop = Close(share=0.5)
    assert kept(prop, column(10, 10, -10), column(15, 4, -15.5)) == [True, False, False]


def test_every_column_must_stay_within_the_tolerance():
    clean = np.zeros((2, 3), np.float32)
    assert kept(Close(1), clean, np.array([[1, 1, 1], [0, 0, 1.01]])) == [True, False]


def test_a_share_of_an_output_that_is_zero_is_refused_with_the_input():
    with pytest.raises(InvalidArgument, match=r"clean output of input 1 holds a 0.*close:0\.5"):
        Close(share=0.1).references(column(1, 0), (), ["0", "1"])


def test_the_true_value_may_be_a_number_or_a_row():
    prop = Close(1, of="true")
    assert prop.reference is Reference.TRUE
    clean = column(0, 0)
    assert kept(prop, clean, column(4, 4), targets=(5, np.array([5.5]))) == [True, False]


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
    with pytest.raises(InvalidArgument, match=match):
        Close(1, of="true").references(column(0), (target,), ["7"])


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
    with pytest.raises(InvalidArgument, match=match):
        make()


def test_nine_of_ten_pixels_are_ninety_percent_of_them():
    clean = np.zeros((2, 2, 5), np.int64)
    perturbed = clean.copy()
    perturbed[0, 0, 0] = 1
    perturbed[1, 0, :2] = 1
    assert kept(PixelsKept(0.9), clean, perturbed) == [True, False]


def test_scores_of_pixels_are_read_by_their_largest_class():
    scores = np.zeros((1, 3, 4, 4), np.float32)
    scores[0, 2] = 1
    other = scores.copy()
    other[0, 0, 0] = 5
    assert kept(PixelsKept(0.75), scores, other) == [True]
    assert kept(PixelsKept(0.76), scores, other) == [False]


def test_ignored_pixels_of_a_true_mask_do_not_count():
    truth = np.array([[0, 1], [255, 255]])
    output = np.array([[[0, 1], [1, 0]]])
    assert kept(PixelsKept(1, of="true"), output, output, (truth,)) == [False]
    assert kept(PixelsKept(1, of="true", ignore=255), output, output, (truth,)) == [True]
    assert kept(MaskIoU(1, of="true", ignore=255), output, output, (truth,)) == [True]
    with pytest.raises(InvalidArgument, match="no pixel but of class 255"):
        PixelsKept(of="true", ignore=255).references(output, (np.full((2, 2), 255),), ["0"])


def test_mean_iou_is_over_the_classes_in_either_mask():
    clean = np.array([[[0, 0, 1, 1]]] * 2)
    perturbed = np.array([[[0, 0, 1, 1]], [[0, 0, 1, 2]]])  # IoU 1, 1/2 and 0 in the second
    prop = MaskIoU(0.5)
    severity = prop.severity(perturbed, prop.references(clean, (), ["0", "1"]))
    np.testing.assert_allclose(severity, [0, 0.5])
    assert kept(prop, clean, perturbed) == [True, True]
    assert kept(MaskIoU(0.501), clean, perturbed) == [True, False]


def test_a_class_in_neither_mask_is_kept_and_one_that_appears_is_not():
    nothing = np.zeros((2, 2, 2), np.int64)
    perturbed = nothing.copy()
    perturbed[1, 0, 0] = 1
    assert kept(MaskIoU(0.5, label=1), nothing, perturbed) == [True, False]


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
    with pytest.raises(ModelFailed, match=match):
        PixelsKept().references(output, (), ["0"])


def test_a_label_at_the_threshold_is_given_and_stays_so():
    clean = np.array([[0.5, 0.4], [0.5, 0.4], [0.5, 0.4], [0.5, 0.4]])
    perturbed = np.array([[0.5, 0.4], [0.49, 0.4], [0.9, 0.5], [0.6, 0.49]])
    assert kept(LabelsKept(0.5), clean, perturbed) == [True, False, False, True]


def test_a_share_of_the_labels_may_be_enough():
    clean = np.tile([[1.0, 1.0, 0.0, 0.0]], (2, 1))
    perturbed = np.array([[1.0, 1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]])
    assert kept(LabelsKept(0.5, share=0.75), clean, perturbed) == [True, False]


def test_true_labels_are_zeros_and_ones():
    output = np.array([[0.9, 0.2]])
    prop = LabelsKept(of="true")
    assert kept(prop, output, output, ([1, 0],)) == [True]
    assert kept(prop, output, output, ([1, 1],)) == [False]
    with pytest.raises(InvalidArgument, match="holds 2: give 0 or 1"):
        prop.references(output, ([2, 0],), ["0"])


VALUES = (1, 2)


def same_length(clean, perturbed):
    """Whether two lists have the same length."""
    return len(clean) == len(perturbed)


def test_a_function_of_two_outputs_says_what_is_kept():
    prop = Kept(same_length)
    assert prop.name == "same_length"
    assert prop.yes_or_no
    assert kept(prop, ["ab", "ab"], ["cd", "abc"]) == [True, False]


def test_a_number_is_kept_while_it_is_below_its_limit():
    prop = Kept(lambda a, b: abs(len(a) - len(b)), name="length", below=2)
    assert not prop.yes_or_no
    assert kept(prop, ["ab", "ab"], ["abc", "abcd"]) == [True, False]


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
    with pytest.raises(InvalidArgument, match=match):
        prop.severity(["a"], ["a"])


def test_the_description_of_a_function_changes_with_its_source_and_settings():
    def within(limit, a, b):
        return abs(a - b) <= limit

    texts = {
        str(describe(Kept(function), {}))
        for function in (
            same_length,
            lambda a, b: a == b,
            functools.partial(within, 1),
            functools.partial(within, 2),
        )
    }
    assert len(texts) == 4
    assert describe(Kept(same_length), {}) == describe(Kept(same_length), {})


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
    with pytest.raises(InvalidArgument, match=match):
        parse_property(text)


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
