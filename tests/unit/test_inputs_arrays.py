"""Arrays in memory and in files, also in eight bits: values, labels, ids, digest."""

import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import surefoot as sf
from surefoot.errors import InvalidArgument
from surefoot.inputs import files, fit, load_inputs
from surefoot.inputs.arrays import image_frame
from surefoot.subject import pixels
from surefoot.subject.inputs import Inputs
from surefoot.subject.pixels import LazyRows, Pixels, whole_rows
from tests.refusals import refused
from tests.unit.small_models import Bomb

LAW = settings(deadline=None, database=None, derandomize=True, max_examples=40)
POINTS = np.arange(12, dtype=np.float32).reshape(4, 3)
PIXELS = np.arange(4 * 6 * 5, dtype=np.uint8).reshape(4, 6, 5)


def test_arrays_become_inputs_with_numbered_ids():
    inputs = load_inputs(POINTS, [0, 1, 1, 0])
    assert len(inputs) == 4
    assert inputs.x.dtype == np.float32
    assert inputs.ids == ("0", "1", "2", "3")
    np.testing.assert_array_equal(inputs.x, POINTS)
    np.testing.assert_array_equal(inputs.labels, [0, 1, 1, 0])
    assert inputs.labels.dtype == np.int64
    assert inputs.selection == "all inputs"
    assert inputs.reading == "values as stored"


def test_ids_sort_as_their_inputs_do():
    ids = load_inputs(np.zeros((101, 2))).ids
    assert ids[0] == "000"
    assert list(ids) == sorted(ids)


@pytest.mark.parametrize("x", [POINTS.tolist(), POINTS.astype(np.float64), POINTS.astype(int)])
def test_whatever_holds_numbers_is_an_array(x):
    np.testing.assert_array_equal(load_inputs(x, [0, 1, 2, 3]).x, POINTS)


def test_pixels_are_divided_by_255_and_the_reading_says_so():
    inputs = load_inputs(PIXELS)
    np.testing.assert_allclose(inputs.x, PIXELS / 255, rtol=1e-6)
    assert inputs.reading == "values divided by 255"
    assert inputs.x.max() <= 1


@pytest.mark.parametrize(
    ("x", "scale", "reading"),
    [
        (PIXELS, 1.0, "values as stored"),
        (PIXELS, 2.0, "values divided by 2"),
        (PIXELS.astype(np.float32), 255, "values divided by 255"),
        (PIXELS.astype(np.int64), None, "values as stored"),
    ],
)
def test_scale_says_what_to_divide_by(x, scale, reading):
    inputs = load_inputs(x, scale=scale)
    np.testing.assert_allclose(inputs.x, x / (scale or 1), rtol=1e-6)
    assert inputs.reading == reading


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_a_value_that_is_no_number_is_refused_with_the_id_of_its_input(bad):
    x = POINTS.astype(np.float64)
    x[2, 1] = bad
    with pytest.raises(InvalidArgument, match=r"1 inputs hold NaN or infinite.*first is third"):
        load_inputs(x, ids=["first", "second", "third", "fourth"])


NO_NUMBERS = [
    ([[None, 1]], object),
    ([["a", "b"]], str),
    ([[1j, 2]], complex),
    ([["2024"]], "M8[D]"),
]
REFUSED = [
    *((PIXELS, {"scale": n}, "scale must be a finite") for n in (0, -1, np.nan, np.inf)),
    *((POINTS, {"labels": [0] * n}, f"4 inputs but {n} labels") for n in (0, 3, 5)),
    *((np.array(x, kind), {}, "inputs must be real numbers") for x, kind in NO_NUMBERS),
    *((x, {}, "the first axis counts the inputs") for x in (np.ones(3), np.float32(1.0))),
    (np.zeros((0, 3)), {}, "holds no inputs"),
    *((POINTS, {"ids": list(ids)}, "as many different ids") for ids in ("abc", "abca", "aaaa")),
    *((x, {}, "pass arrays, a path, or a dataset") for x in (3, None, object(), 2.5)),
    (PIXELS, {"size": (3, 3)}, "size resizes images in files and datasets only"),
]


@pytest.mark.parametrize(("source", "options", "match"), REFUSED)
def test_what_makes_no_inputs_is_refused_in_a_sentence(source, options, match):
    refused(match, load_inputs, source, **options)


def shuffled(inputs: Inputs, order: np.ndarray) -> Inputs:
    return load_inputs(
        inputs.x[order],
        None if inputs.labels is None else inputs.labels[order],
        ids=[inputs.ids[i] for i in order],
    )


@LAW
@given(
    arrays(
        np.float32,
        st.tuples(st.integers(1, 6), st.integers(1, 3)),
        elements=st.floats(0, 1, width=32),
    ),
    st.data(),
)
def test_the_digest_does_not_depend_on_the_order(x, data):
    labels = data.draw(
        st.one_of(st.none(), st.lists(st.integers(0, 9), min_size=len(x), max_size=len(x)))
    )
    inputs = load_inputs(x, labels)
    order = np.array(data.draw(st.permutations(range(len(x)))))
    assert shuffled(inputs, order).digest() == inputs.digest()


@LAW
@given(st.integers(0, 3), st.integers(0, 2))
def test_the_digest_sees_every_value_label_and_id(row, column):
    ids, labels = ["a", "b", "c", "d"], [0, 1, 2, 3]
    digest = load_inputs(POINTS, labels, ids=ids).digest()
    x = POINTS.copy()
    x[row, column] = np.nextafter(x[row, column], np.float32(99))
    assert load_inputs(x, labels, ids=ids).digest() != digest
    other = [9 if i == row else label for i, label in enumerate(labels)]
    assert load_inputs(POINTS, other, ids=ids).digest() != digest
    renamed = ["z" if i == row else name for i, name in enumerate(ids)]
    assert load_inputs(POINTS, labels, ids=renamed).digest() != digest


def test_the_digest_sees_the_shape_swapped_labels_and_missing_labels():
    digest = load_inputs(POINTS, [0, 1, 2, 3]).digest()
    assert len(digest) == 64
    assert load_inputs(POINTS[:, None, :], [0, 1, 2, 3]).digest() != digest
    assert load_inputs(POINTS, [1, 0, 2, 3]).digest() != digest
    assert load_inputs(POINTS).digest() != digest
    assert load_inputs(POINTS[:3], [0, 1, 2]).digest() != digest
    assert load_inputs(POINTS[::-1], [3, 2, 1, 0], ids=list("3210")).digest() == digest


TIMES = 1.7e9 + np.arange(12.0).reshape(4, 3)
"""Seconds of a clock, which single precision holds to 128."""


@pytest.mark.parametrize("x", [TIMES, TIMES.astype(np.int64), TIMES.reshape(4, 3, 1)])
def test_values_that_single_precision_would_run_together_are_refused(x):
    message = refused(r"the arrays, input \d.*: single precision holds 17", load_inputs, x)
    assert "as 1700000000, too coarse for the differences within" in message
    assert message.endswith(
        "convert the array to float32 yourself if that loses nothing that matters"
    )
    assert len(load_inputs(x.astype(np.float32))) == 4


def test_one_coarse_column_is_named_and_what_rounding_leaves_apart_is_taken():
    x = np.random.default_rng(1).random((50, 4))
    assert load_inputs(x).x.dtype == np.float32
    assert len(load_inputs(x.reshape(50, 2, 2))) == 50
    x[:, 2] = 1 / 3  # one value for all inputs
    assert len(load_inputs(x)) == 50
    x[:, 2] = 1e6 + np.arange(50) / 1000
    x[7, 2] = -1e12  # a far value hides the spread of the others
    refused(r"input \d\d, value 3: single precision", load_inputs, x)


def inputs_of(*shape):
    x = np.arange(3 * np.prod(shape), dtype=np.float32).reshape(3, *shape)
    return load_inputs(x, [0, 1, 2], ids=list("abc"))


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_channels_move_to_the_front_and_back(channels):
    last = inputs_of(6, 5, channels)
    first = fit(last, (channels, 6, 5))
    np.testing.assert_array_equal(first.x, last.x.transpose(0, 3, 1, 2))
    assert first.x.flags.c_contiguous
    back = fit(first, (6, 5, channels))
    np.testing.assert_array_equal(back.x, last.x)


@pytest.mark.parametrize("shape", [(1, 6, 5), (6, 5, 1)])
def test_a_channel_axis_is_added_and_dropped(shape):
    flat = inputs_of(6, 5)
    added = fit(flat, shape)
    assert added.x.shape == (3, *shape)
    np.testing.assert_array_equal(added.x.reshape(3, 6, 5), flat.x)
    np.testing.assert_array_equal(fit(added, (6, 5)).x, flat.x)


def test_a_flattened_image_can_still_be_drawn():
    inputs = inputs_of(6, 5)
    assert fit(inputs, (30,)).frame == (6, 5)
    assert fit(inputs, (1, 6, 5)).frame == (1, 6, 5)
    assert fit(inputs_of(6, 5, 3), (3, 6, 5)).frame == (3, 6, 5)


def test_fitting_changes_the_shape_and_nothing_else():
    inputs = inputs_of(6, 5, 3)
    fitted = fit(inputs, (3, 6, 5))
    assert fitted.ids == inputs.ids
    np.testing.assert_array_equal(fitted.labels, inputs.labels)
    assert (fitted.source, fitted.selection) == (inputs.source, inputs.selection)


@pytest.mark.parametrize(
    ("have", "want"),
    [
        ((6, 5, 3), (3, 5, 6)),
        ((6, 5, 2), (2, 6, 5)),
        ((6, 5), (5, 6)),
        ((6, 5), (31,)),
        ((30,), (6, 6)),
        ((6, 5, 3), (1, 6, 5)),
        ((28, 28), (3, 28, 28)),
    ],
)
def test_an_impossible_or_ambiguous_shape_is_refused_with_both(have, want):
    message = refused(r"rearrange the data \(arrays are taken as", fit, inputs_of(*have), want)
    assert str(have) in message
    assert str(want) in message


@LAW
@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=4),
    st.lists(st.integers(1, 6), min_size=1, max_size=4),
)
def test_fitting_never_loses_or_mixes_values(have, want):
    inputs = inputs_of(*have)
    try:
        fitted = fit(inputs, tuple(want))
    except InvalidArgument:
        return
    assert fitted.x.shape == (3, *want)
    for before, after in zip(inputs.x, fitted.x, strict=True):
        np.testing.assert_array_equal(np.sort(before, axis=None), np.sort(after, axis=None))


def test_what_has_two_sides_and_one_or_three_colours_is_an_image():
    for shape in [(28, 28), (4, 4), (1, 28, 28), (28, 28, 1), (3, 32, 30), (32, 30, 3), (1, 4, 9)]:
        assert image_frame(shape) == shape
    others = [(), (784,), (2, 30), (3, 3, 3), (1, 1, 40), (2, 28, 28), (28, 28, 2), (3, 8, 8, 8)]
    assert not any(map(image_frame, others))


@pytest.mark.parametrize("want", [(6, 5), (1, 6, 5), (30, 1)])
def test_flat_rows_become_images_row_by_row_and_back(want):
    flat = inputs_of(30)
    np.testing.assert_array_equal(fit(flat, want).x, flat.x.reshape(-1, *want))
    np.testing.assert_array_equal(fit(fit(flat, want), (30,)).x, flat.x)


X = np.arange(12, dtype=np.float32).reshape(4, 3)
Y = np.array([0, 1, 2, 0])


def npz(path, **stored):
    np.savez(path, **stored)
    return path


@pytest.mark.parametrize(
    ("points", "labels"),
    [
        ("x", "y"),
        ("x_test", "y_test"),
        ("images", "labels"),
        ("X", "Y"),
        ("data", "target"),
        ("inputs", "targets"),
        ("features", "label"),
    ],
)
@pytest.mark.parametrize("suffix", [".npz", ".NPZ"])
def test_inputs_and_labels_are_found_by_their_usual_names(points, labels, suffix, tmp_path):
    path = npz(tmp_path / "d.npz", **{points: X, labels: Y}).rename(tmp_path / f"d{suffix}")
    inputs = load_inputs(path)
    np.testing.assert_array_equal(inputs.x, X)
    np.testing.assert_array_equal(inputs.labels, Y)
    assert inputs.source == str(path)


def test_ids_and_class_names_are_read_along(tmp_path):
    path = npz(tmp_path / "d.npz", x=X, y=Y, ids=list("abcd"), class_names=["cat", "dog", "cow"])
    inputs = load_inputs(str(path))
    assert inputs.ids == ("a", "b", "c", "d")
    assert inputs.class_names == ("cat", "dog", "cow")
    assert inputs.class_name(2) == "cow"


def test_what_the_caller_says_goes_before_what_the_file_says(tmp_path):
    path = npz(tmp_path / "d.npz", x=X, y=Y, ids=list("abcd"), class_names=["cat", "dog", "cow"])
    inputs = load_inputs(path, [1, 1, 1, 1], ids=range(4), class_names=["x", "y"])
    np.testing.assert_array_equal(inputs.labels, [1, 1, 1, 1])
    assert inputs.ids == ("0", "1", "2", "3")
    assert inputs.class_names == ("x", "y")


def test_labels_in_a_file_of_their_own_belong_to_either_kind(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    for path in (tmp_path / "x.npy", npz(tmp_path / "d.npz", x=X)):
        assert load_inputs(path).labels is None
        for labels in (tmp_path / "y.npy", str(tmp_path / "y.npy"), Y, Y.tolist()):
            np.testing.assert_array_equal(load_inputs(path, labels).labels, Y)


def test_labels_that_are_not_wanted_are_left_out(tmp_path):
    inputs = load_inputs(npz(tmp_path / "d.npz", x=X, y=Y), labels="none")
    np.testing.assert_array_equal(inputs.x, X)
    assert inputs.labels is None


def test_the_same_inputs_have_one_digest_wherever_they_lie(tmp_path):
    np.save(tmp_path / "x.npy", X)
    in_file = load_inputs(npz(tmp_path / "d.npz", x=X, y=Y))
    assert in_file.digest() == load_inputs(X, Y).digest()
    assert in_file.digest() == load_inputs(tmp_path / "x.npy", Y).digest()


def test_pixels_in_a_file_are_scaled_as_in_memory(tmp_path):
    pixels = np.arange(60, dtype=np.uint8).reshape(2, 5, 6)
    path = npz(tmp_path / "d.npz", x=pixels)
    np.testing.assert_allclose(load_inputs(path).x, pixels / 255, rtol=1e-6)
    np.testing.assert_array_equal(load_inputs(path, scale=1).x, pixels)
    np.save(tmp_path / "x.npy", pixels)
    np.testing.assert_array_equal(load_inputs(tmp_path / "x.npy", scale=2).x, pixels / 2)


@pytest.mark.parametrize(
    ("stored", "match"),
    [
        ({"a": X, "b": Y}, "holds a, b: name the inputs x and the labels y"),
        ({}, "holds nothing: name the inputs x"),
        ({"x": X, "y": Y[:3]}, "4 inputs but 3 labels"),
        ({"x": X[:0], "y": Y[:0]}, "holds no inputs"),
        ({"x": X, "y": Y - 1}, "negative"),
        ({"x": X, "ids": ["a", "a", "b", "c"]}, "different ids"),
        ({"x": np.full((2, 3), np.nan)}, "NaN"),
    ],
)
def test_a_file_that_makes_no_inputs_is_one_sentence_with_the_path(stored, match, tmp_path):
    path = npz(tmp_path / "d.npz", **stored)
    assert str(path) in refused(match, load_inputs, path)


def test_arrays_of_objects_are_refused_and_run_nothing(tmp_path):
    marker = tmp_path / "marker"
    bombs = np.array([[Bomb(marker)]], dtype=object)
    np.save(tmp_path / "x.npy", bombs, allow_pickle=True)
    np.save(tmp_path / "good.npy", X)
    (tmp_path / "pickle.npy").write_bytes(pickle.dumps(Bomb(marker)))
    (tmp_path / "pickle.npz").write_bytes(pickle.dumps(Bomb(marker)))
    archive = npz(tmp_path / "zip.npz", x=X).read_bytes()
    (tmp_path / "both.npz").write_bytes(pickle.dumps(Bomb(marker)) + archive)
    sources = [
        (npz(tmp_path / "d.npz", x=bombs), None),
        (npz(tmp_path / "e.npz", x=X, y=bombs), None),
        (npz(tmp_path / "f.npz", x=X, ids=bombs), None),
        (tmp_path / "x.npy", None),
        (tmp_path / "pickle.npy", None),
        (tmp_path / "pickle.npz", None),
        (tmp_path / "both.npz", None),
        (tmp_path / "good.npy", tmp_path / "x.npy"),
    ]
    for path, labels in sources:
        refused("", load_inputs, path, labels)
    assert not marker.exists()
    np.load(tmp_path / "x.npy", allow_pickle=True)
    assert marker.exists(), "the bomb is a dud: it proves nothing"


def header(shape):
    buffer = io.BytesIO()
    message = {"descr": "<f4", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, message)
    return buffer.getvalue()


@pytest.mark.parametrize("shape", [(10**7, 10**7), (9, 9)])
def test_a_header_that_promises_more_than_there_is_is_refused(shape, tmp_path):
    (tmp_path / "x.npy").write_bytes(header(shape))
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as archive:
        archive.writestr("x.npy", header(shape))
    for name in ("x.npy", "d.npz"):
        refused(name, load_inputs, tmp_path / name)


def test_an_archive_that_unpacks_to_more_than_we_take_is_refused_unread(tmp_path):
    path = tmp_path / "d.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", header((9, 9)))
        archive.infolist()[0].file_size = 2**34 + 1
    refused("unpacks to 16 GiB", load_inputs, path)


@pytest.mark.parametrize("suffix", [".npz", ".npy"])
@pytest.mark.parametrize("content", [b"", b"text\nof two lines", b"PK\x03\x04 cut", b"\x93NUMPY"])
def test_a_damaged_file_is_one_sentence_with_the_path(suffix, content, tmp_path):
    path = tmp_path / f"d{suffix}"
    path.write_bytes(content)
    assert str(path) in refused("", load_inputs, path)


def test_a_cut_archive_is_refused(tmp_path):
    path = tmp_path / "d.npz"
    np.savez_compressed(path, x=np.random.default_rng(0).normal(size=(40, 9)))
    whole = bytearray(path.read_bytes())
    for at in range(60, len(whole) - 200, 97):
        spoiled = whole.copy()
        spoiled[at] ^= 255
        path.write_bytes(bytes(spoiled))
        refused(r"d\.npz", load_inputs, path)


@pytest.mark.parametrize("name", ["d.feather", "d", "d.npz.gz", "d.pkl"])
def test_another_kind_of_file_is_refused_with_those_we_read(name, tmp_path):
    (tmp_path / name).write_bytes(b"x")
    refused(r"\.npz, \.npy .*folders of images", load_inputs, tmp_path / name)


def test_a_path_that_leads_nowhere_is_refused(tmp_path):
    message = refused("there is no data at", load_inputs, tmp_path / "gone.npz")
    assert str(tmp_path / "gone.npz") in message
    np.save(tmp_path / "x.npy", X)
    refused(r"gone\.npy", load_inputs, tmp_path / "x.npy", tmp_path / "gone.npy")


BYTES = np.random.default_rng(3).integers(0, 256, (40, 6, 5, 3), dtype=np.uint8)
ARRAY = BYTES.astype(np.float32) / np.float32(255)


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every set of images is taken for a large one."""
    monkeypatch.setattr(pixels, "LEAST_BYTES", 0)
    monkeypatch.setattr(files, "LEAST_BYTES", 0)


@pytest.mark.parametrize("memory", [2**30, 100], ids=["in memory", "in a file"])
def test_pixels_are_the_array_bit_by_bit(memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pixels, "MOST_MEMORY_BYTES", memory)
    x = Pixels(LazyRows(BYTES.shape, lambda rows: BYTES[rows]), 255.0)
    assert (x.shape, x.dtype, x.ndim, x.size, x.nbytes, len(x)) == (
        ARRAY.shape, ARRAY.dtype, 4, ARRAY.size, ARRAY.nbytes, 40,
    )  # fmt: skip
    for key in (3, -1, slice(2, 9), [5, 1, 5], np.array([0, 39]), slice(None, None, -7), (2, 1, 0)):
        assert np.array_equal(x[key], ARRAY[key])
    with pytest.raises(IndexError):
        x[40]
    moved, flat = x.transpose(0, 3, 1, 2), x.transpose(0, 3, 1, 2).reshape(40, 90)
    assert np.array_equal(moved, ARRAY.transpose(0, 3, 1, 2))
    assert np.array_equal(flat[7:9], ARRAY.transpose(0, 3, 1, 2).reshape(40, 90)[7:9])
    for ends in ((x, ARRAY), (moved, ARRAY.transpose(0, 3, 1, 2))):
        lows, highs = zip(*((one.min(axis=0), one.max(axis=0)) for one in ends), strict=True)
        assert np.array_equal(*lows)
        assert np.array_equal(*highs)
    assert (x.min(), x.max()) == (ARRAY.min(), ARRAY.max())
    assert np.array_equal(x.std(axis=0, dtype=np.float64), ARRAY.std(axis=0, dtype=np.float64))
    assert np.array_equal(x * 2 - 1, ARRAY * 2 - 1)
    assert np.array_equal(np.stack(list(x)), ARRAY)
    assert np.array_equal(pickle.loads(pickle.dumps(moved)), moved)


def _scores(x: np.ndarray) -> np.ndarray:
    mean = np.asarray(x).reshape(len(x), -1).mean(axis=1)
    return np.stack([mean, 1 - mean], axis=1)


def _study(data: object, **options: object) -> sf.Result:
    return sf.estimate(
        _scores, data, perturb="linf:0.1", shape=(3, 6, 5), each=0.3, seed=4, **options
    )


def test_a_study_of_images_in_eight_bits_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez(tmp_path / "d.npz", x=BYTES, y=np.arange(40) % 2)
    path = str(tmp_path / "d.npz")
    expected = [_study(path), _study(path, random=5)]
    monkeypatch.setattr(pixels, "LEAST_BYTES", 0)
    monkeypatch.setattr(files, "LEAST_BYTES", 0)
    assert isinstance(fit(sf.load_inputs(path), (3, 6, 5)).x, Pixels)
    for before, now in zip(expected, [_study(path), _study(path, random=5)], strict=True):
        assert now.record.digest == before.record.digest
        assert now.inputs == before.inputs
        assert now.claims == before.claims


def test_a_random_choice_reads_what_it_chooses(
    tmp_path: Path, large: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from PIL import Image

    from surefoot.inputs import images

    for i, image in enumerate(BYTES):
        (tmp_path / str(i % 2)).mkdir(exist_ok=True)
        Image.fromarray(image).save(tmp_path / str(i % 2) / f"{i:02}.png")
    decode, decoded = images._values, []
    monkeypatch.setattr(images, "_values", lambda o, *more: decoded.append(1) or decode(o, *more))
    result = _study(str(tmp_path), random=5)
    assert len(result.inputs) == len(decoded) == 5


def test_what_was_loaded_stays_as_it_was(tmp_path: Path, large: None) -> None:
    own = BYTES.copy()
    inputs = sf.load_inputs(own, np.zeros(40, dtype=int))
    own[:] = 0
    assert np.array_equal(inputs.x, ARRAY)
    path = tmp_path / "d.npz"
    np.savez(path, x=BYTES)
    inputs = sf.load_inputs(path)
    assert np.array_equal(inputs.x, ARRAY)
    path.unlink()
    assert np.array_equal(inputs.x, ARRAY)


def test_damaged_images_of_an_archive_are_refused(tmp_path: Path, large: None) -> None:
    path = tmp_path / "d.npz"
    np.savez(path, x=BYTES)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    refused("cannot be read as .npz", sf.load_inputs, path)
    refused("", sf.load_inputs, np.zeros((0, 4, 4), dtype=np.uint8))
    assert whole_rows(BYTES).shape == BYTES.shape
