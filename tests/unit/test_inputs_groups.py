"""Groups of inputs: how they are read and chosen."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import surefoot as sf
from surefoot.errors import InvalidArgument
from surefoot.inputs import Selection
from surefoot.records.options import FileOptions
from surefoot.study.load_files import load_files
from tests.refusals import refused
from tests.unit.small_models import batch, relu_net
from tests.unit.test_groups import NAMES, grouped
from tests.worlds import linear_model, points


def test_groups_are_read_from_a_list_and_stay_with_their_inputs():
    inputs = grouped()
    assert inputs.groups == tuple(NAMES)
    assert inputs.subset([2, 0]).groups == ("b", "a")
    assert "groups given" in inputs.reading
    assert points().groups == ()


def test_numbers_name_groups_and_7_and_7_0_are_the_same():
    x = np.zeros((3, 4))
    assert sf.load_inputs(x, groups=np.array([7, 7, 8])).groups == ("7", "7", "8")
    assert sf.load_inputs(x, groups=[7, 7.0, " 7 "]).groups == ("7", "7", "7")


@pytest.mark.parametrize("empty", ["", "  ", None, float("nan")])
def test_an_input_without_a_group_is_refused(empty):
    with pytest.raises(InvalidArgument, match=r"input 2 of 3 has no group: name one for every"):
        sf.load_inputs(np.zeros((3, 4)), groups=["a", empty, "b"])


@pytest.mark.parametrize("groups", [["a"], ["a"] * 4, [["a"], ["b"], ["c"]], {"a", "b", "c"}, 3])
def test_groups_that_do_not_fit_the_inputs_are_refused(groups):
    with pytest.raises(InvalidArgument, match=r"one name for each|one for each input"):
        sf.load_inputs(np.zeros((3, 4)), groups=groups)


def test_an_npz_file_has_an_array_of_groups(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, x=np.zeros((3, 4)), groups=["p", "q", "p"], video=[1, 1, 2])
    assert sf.load_inputs(path).groups == ("p", "q", "p")
    assert sf.load_inputs(path, groups="video").groups == ("1", "1", "2")
    assert "groups from array video" in sf.load_inputs(path, groups="video").reading
    with pytest.raises(InvalidArgument, match=r"no array 'patient' for groups .* x, groups, video"):
        sf.load_inputs(path, groups="patient")
    np.savez(path, x=np.zeros((3, 4)))
    refused("no array 'groups' for groups", sf.load_inputs, path, groups="groups")
    np.savez(path, x=np.zeros((3, 4)), groups=np.array([None, "a", "b"], dtype=object))
    refused("holds Python objects", sf.load_inputs, path)


def test_an_npy_file_of_inputs_has_its_groups_beside_it(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((3, 4)))
    np.save(tmp_path / "g.npy", [4, 4, 5])
    inputs = sf.load_inputs(tmp_path / "x.npy", groups=str(tmp_path / "g.npy"))
    assert inputs.groups == ("4", "4", "5")
    with pytest.raises(InvalidArgument, match=r"has no column 'patient' for groups: use --group"):
        sf.load_inputs(tmp_path / "x.npy", groups="patient")


@pytest.fixture
def images(tmp_path):
    for number, name in enumerate(("p1_a", "p1_b", "p2_a")):
        folder = tmp_path / "data" / str(number % 2)
        folder.mkdir(parents=True, exist_ok=True)
        Image.new("L", (6, 6), 40 * number).save(folder / f"{name}.png")
    rows = ["file,label,patient", "data/1/p1_b.png,1,one", "data/0/p1_a.png,0,one"]
    (tmp_path / "list.csv").write_text("\n".join([*rows, "data/0/p2_a.png,0,two"]) + "\n")
    return tmp_path


def test_a_csv_of_images_has_a_column_of_groups(images):
    inputs = sf.load_inputs(images / "list.csv", groups="patient")
    assert inputs.groups == ("one", "one", "two")
    with pytest.raises(InvalidArgument, match=r"no column 'video' .* columns file, label, patient"):
        sf.load_inputs(images / "list.csv", groups="video")
    (images / "list.csv").write_text("file,label,patient\ndata/0/p1_a.png,0,\n")
    refused("input 1 of 1 has no group", sf.load_inputs, images / "list.csv", groups="patient")


@pytest.mark.parametrize(
    ("pattern", "groups"),
    [
        (r"p\d", ("p1", "p2", "p1")),
        (r"(p\d)_", ("p1", "p2", "p1")),
        (r"(\w)/(?P<group>p\d)", ("p1", "p2", "p1")),
        (r"^(.*)/", ("0", "0", "1")),
    ],
)
def test_file_names_name_groups_by_a_pattern(images, pattern, groups):
    assert sf.load_inputs(images / "data", groups=f"pattern:{pattern}").groups == groups


def test_a_pattern_that_names_no_group_is_refused_with_the_file(images):
    with pytest.raises(InvalidArgument, match=r"names no group in '0/p2_a\.png'"):
        sf.load_inputs(images / "data", groups="pattern:p1")
    refused(r"is no regular expression", sf.load_inputs, images / "data", groups="pattern:(p")


@pytest.mark.parametrize("pattern", ["(a+)+!", "(a|aa)+!", "^a*a*a*a*a*a*!", ".*a.*a.*a.*!"])
def test_a_pattern_that_could_take_for_ever_is_refused(pattern):
    x, name = np.zeros((1, 2), np.float32), "a" * 200
    with pytest.raises(InvalidArgument, match=r"for ever|too many for the 200 characters"):
        sf.load_inputs(x, [0], ids=[name], groups=f"pattern:{pattern}")


def test_random_draws_whole_groups():
    inputs = grouped()
    chosen = sf.select(inputs, linear_model(), Selection(random=2, seed=3))
    assert len(set(chosen.groups)) == 2
    for group in set(chosen.groups):
        assert chosen.groups.count(group) == NAMES.count(group)
    assert "2 groups drawn at random (seed 3)" in chosen.selection


def test_a_large_group_is_drawn_as_often_as_a_small_one():
    inputs = grouped(11, ["a"] * 10 + ["b"])
    drawn = [
        sf.select(inputs, linear_model(), Selection(random=1, seed=s)).groups[0] for s in range(200)
    ]
    assert 70 <= drawn.count("b") <= 130


def test_first_takes_whole_groups_and_classes_their_own():
    inputs = grouped()
    assert set(sf.select(inputs, linear_model(), Selection(first=2)).groups) == {"a", "b"}
    pure = replace(inputs, labels=np.isin(NAMES, ["a", "b"]).astype(np.int64))
    of_class = sf.select(pure, linear_model(), Selection(classes=(1,)))
    assert set(of_class.groups) == {"a", "b"}
    assert "the first 1 group" in sf.select(inputs, linear_model(), Selection(first=1)).selection


@pytest.mark.parametrize("selection", [Selection(correct_only=True), Selection(classes=(0,))])
def test_inputs_are_not_taken_out_of_their_groups(selection):
    """Groups in which nothing is left were dropped, and the rest called a sample of groups."""
    with pytest.raises(InvalidArgument) as refusal:
        sf.select(grouped(), linear_model(), selection)
    assert refusal.value.option == ("correct_only" if selection.correct_only else "classes")


def test_more_groups_than_there_are_cannot_be_drawn(tmp_path):
    relu_net(tmp_path / "m.onnx", (1, 6, 6))
    np.savez(tmp_path / "x.npz", x=batch(6, (1, 6, 6)), y=[0, 0, 1, 1, 2, 2], clip=list("aabbcc"))
    options = FileOptions(group="clip", random=4, bounds="0,1")
    with pytest.raises(InvalidArgument, match=r"--random. 4: .* has 3 groups; write 3 or less"):
        load_files(options, [str(tmp_path / "m.onnx")], str(tmp_path / "x.npz"), 1)
