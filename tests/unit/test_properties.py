"""What "kept" means: severity, its sign, and ties."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from surefoot.core.counts import Counts, Outcomes
from surefoot.properties import NoConfidentMistake, SameLabel, TopK, TrueLabel
from surefoot.subject.protocols import Reference, Scores
from tests.refusals import refused

EVERY = [SameLabel(), TrueLabel(), TopK(1), TopK(2), NoConfidentMistake(0.6)]


def kept_trials(prop, scores, labels):
    """Whether it holds, as the engine counts it: severity below the limit."""
    result = prop.severity(np.asarray(scores, np.float32), np.asarray(labels))
    assert result.shape == (len(scores),)
    marks = Outcomes.of(result, prop.limit).marks
    assert Counts.of(result, prop.limit) == Counts(len(scores), marks.count("1"))
    return [mark == "1" for mark in marks]


LAW = settings(deadline=None, database=None, derandomize=True, max_examples=50)
VALUES = st.one_of(
    st.integers(-3, 3).map(float),  # ties are common
    st.floats(-(2.0**100), 2.0**100, width=32),
)


@st.composite
def tables(draw):
    """Scores and labels."""
    n, classes = draw(st.integers(1, 5)), draw(st.integers(3, 6))
    scores = draw(arrays(np.float32, (n, classes), elements=VALUES))
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
