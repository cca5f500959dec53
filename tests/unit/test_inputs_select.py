"""Which inputs are studied, and what is said about it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.errors import InvalidArgument
from surefoot.inputs import Selection, load_inputs, select
from tests.refusals import refused

LAW = settings(deadline=None, database=None, derandomize=True)
LABELS = np.arange(30) % 3


def world(labels=LABELS):
    """Thirty inputs of one value, their own number; names of two of the three classes."""
    x = np.arange(30, dtype=np.float32)[:, None]
    ids = [f"p{i}" for i in range(30)]
    return load_inputs(x, labels, ids=ids, class_names=["cat", "dog"])


def unasked(x):
    raise AssertionError("the model was asked without need")


def right_on_even(number):
    """Correct on inputs of an even number, wrong on the others."""
    return np.where(number % 2 == 0, number % 3, (number + 1) % 3)


def rows(inputs):
    return inputs.x[:, 0].astype(int).tolist()


def test_a_choice_keeps_ids_labels_and_names_together():
    chosen = select(world(), Selection(random=7, seed=3), unasked)
    assert list(chosen.ids) == [f"p{i}" for i in rows(chosen)]
    assert chosen.labels.tolist() == [i % 3 for i in rows(chosen)]
    assert chosen.class_names == ("cat", "dog")
    assert chosen.source == world().source


def test_classes_are_chosen_by_number_and_called_by_name():
    chosen = select(world(), Selection(classes=(2, 0)), unasked)
    assert rows(chosen) == [i for i in range(30) if i % 3 != 1]
    assert chosen.selection == "20 of 30 inputs: classes 2, cat"


def test_a_seed_is_a_choice():
    def drawn(seed):
        return rows(select(world(), Selection(random=10, seed=seed), unasked))

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert len(set(drawn(1))) == 10
    assert sorted(drawn(1)) != list(range(10))
    fewer = select(world(), Selection(random=4, seed=1), unasked)
    assert rows(fewer) == drawn(1)[:4], "a larger choice holds the smaller"
    assert fewer.selection == "4 of 30 inputs: 4 drawn at random (seed 1)"


def test_more_than_there_are_is_all_there_are():
    for selection in (Selection(first=99), Selection(random=99)):
        assert sorted(rows(select(world(), selection, unasked))) == list(range(30))
    assert "the first 30, which are all, fewer than 99" in (
        select(world(), Selection(first=99), unasked).selection
    )


def test_only_what_the_model_gets_right_is_kept_and_counted():
    chosen = select(world(), Selection(correct_only=True), right_on_even)
    assert rows(chosen) == list(range(0, 30, 2))
    assert chosen.selection == (
        "15 of 30 inputs: only the 15 of 30 that the model classifies correctly"
    )


def test_n_correct_ones_are_looked_for_and_the_search_is_told():
    chosen = select(world(), Selection(first=4, correct_only=True), right_on_even)
    assert rows(chosen) == [0, 2, 4, 6]
    assert chosen.selection == (
        "4 of 30 inputs: the first 7, only the 4 of 7 that the model classifies correctly"
    )


def test_many_inputs_are_asked_in_pieces_and_no_more_than_needed():
    x = np.arange(2000, dtype=np.float32)[:, None]
    inputs, calls = load_inputs(x, np.zeros(2000, int)), []

    def watched(part):
        calls.append(len(part))
        return np.zeros(len(part), int)

    assert len(select(inputs, Selection(first=300, correct_only=True), watched)) == 300
    assert sum(calls) < 2000
    assert max(calls) <= 256


@LAW
@given(st.integers(1, 40), st.integers(0, 5), st.booleans(), st.sets(st.integers(0, 2)))
def test_a_choice_is_a_part_without_repeats(n, seed, correct_only, classes):
    selection = Selection(tuple(sorted(classes)), random=n, seed=seed, correct_only=correct_only)
    chosen = select(world(), selection, right_on_even)
    selected = rows(chosen)
    assert len(set(selected)) == len(selected) <= n
    assert all(not classes or i % 3 in classes for i in selected)
    assert all(not correct_only or i % 2 == 0 for i in selected)
    assert chosen.selection.startswith(f"{len(selected)} of 30 inputs: ")


@pytest.mark.parametrize(
    "words",
    [
        {"first": 0},
        {"first": -2},
        {"random": 0},
        {"first": 3, "random": 3},
        {"random": 3, "seed": -1},
    ],
)
def test_a_selection_of_nothing_or_of_two_kinds_is_refused(words):
    refused("", Selection, **words)


def test_a_class_without_inputs_is_refused_with_those_there_are():
    with pytest.raises(InvalidArgument, match="no input of class 7: it has 0, 1, 2"):
        select(world(), Selection(classes=(1, 7)), unasked)


@pytest.mark.parametrize("selection", [Selection(classes=(1,)), Selection(correct_only=True)])
def test_what_needs_labels_is_refused_without_them(selection):
    refused("holds no labels", select, world(labels=None), selection, right_on_even)


def test_a_model_that_gets_nothing_right_leaves_nothing_to_study():
    with pytest.raises(InvalidArgument, match=r"holds no inputs.*only the 0 of 30"):
        select(world(), Selection(correct_only=True), lambda x: np.full(len(x), 9))


def in_class_order(classes, each):
    x = np.arange(classes * each, dtype=np.float32)[:, None]
    return load_inputs(x, np.repeat(np.arange(classes), each))


@pytest.mark.parametrize(
    ("n", "found"),
    [
        (3, "first 3 inputs are all of class 0, and the data have 10 classes"),
        (45, "first 45 inputs are all of class 0, and the data have 10 classes"),
        (120, "first 120 inputs are of 3 of the 10 classes of the data"),
        (470, "first 470 inputs hold 20 of class 9, where a random choice would hold about 47"),
    ],
)
def test_the_first_of_data_in_class_order_are_no_random_sample(n, found):
    chosen = select(in_class_order(10, 50), Selection(first=n), unasked)
    assert f"{found}: no random sample of the data; use random={n}" in chosen.selection_doubt


@pytest.mark.parametrize(
    "selection",
    [
        Selection(first=500),
        Selection(random=45),
        Selection(classes=(0,), first=20),
        Selection(classes=(3,)),
    ],
)
def test_what_was_drawn_or_named_is_not_doubted(selection):
    assert not select(in_class_order(10, 50), selection, unasked).selection_doubt


@pytest.mark.parametrize(("classes", "each", "first"), [(2, 50, 8), (10, 5, 6), (50, 1, 20)])
def test_the_first_of_data_in_random_order_are_hardly_ever_doubted(classes, each, first):
    rng, ordered = np.random.default_rng(1), in_class_order(classes, each)
    doubts = sum(
        bool(select(mixed, Selection(first=first), unasked).selection_doubt)
        for mixed in (ordered.subset(rng.permutation(len(ordered))) for _ in range(200))
    )
    assert doubts <= 3


def test_the_first_groups_of_data_in_class_order_are_doubted_by_groups():
    x, labels = np.zeros((60, 1), np.float32), np.repeat([0, 1], 30)
    groups = [f"video {i // 3}" for i in range(60)]
    chosen = select(load_inputs(x, labels, groups=groups), Selection(first=6), unasked)
    assert "the first 6 groups are all of class 0" in chosen.selection_doubt
    mixed = load_inputs(x, np.arange(60) % 2, groups=groups)
    assert not select(mixed, Selection(first=6), unasked).selection_doubt
