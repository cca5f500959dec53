"""Image folders and lists of images."""

import io

import numpy as np
import pytest
from PIL import Image

from surefoot.errors import InvalidArgument
from surefoot.inputs import load_inputs

GREY = np.arange(6 * 8, dtype=np.uint8).reshape(6, 8) * 5
COLOUR = np.arange(6 * 8 * 3, dtype=np.uint8).reshape(6, 8, 3)


def save(path, pixels, mode=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.fromarray(pixels)
    (image.convert(mode) if mode else image).save(path)
    return path


@pytest.fixture
def folder(tmp_path):
    """Two classes, written in no particular order."""
    root = tmp_path / "images"
    save(root / "dog" / "b.png", GREY + 2)
    save(root / "cat" / "z.png", GREY + 1)
    save(root / "cat" / "a.PNG", GREY)
    (root / "cat" / "notes.txt").write_text("no image")
    (root / ".hidden").mkdir()
    (root / "list.csv").write_text("file,label\n")
    return root


def test_a_folder_a_class_is_read_with_names_and_ids(folder):
    inputs = load_inputs(folder)
    assert inputs.class_names == ("cat", "dog")
    assert inputs.ids == ("cat/a.PNG", "cat/z.png", "dog/b.png")
    np.testing.assert_array_equal(inputs.labels, [0, 0, 1])
    np.testing.assert_allclose(inputs.x, np.stack([GREY, GREY + 1, GREY + 2]) / 255, rtol=1e-6)
    assert inputs.frame == (6, 8)
    assert inputs.source == str(folder)
    assert inputs.reading == (
        "values divided by 255; class names numbered alphabetically (0 is cat, 1 is dog)"
    )


def test_ids_do_not_depend_on_what_else_lies_there(folder):
    before = dict(zip(load_inputs(folder).ids, load_inputs(folder).x, strict=True))
    save(folder / "ant" / "first.png", GREY + 3)
    save(folder / "cat" / "0.png", GREY + 4)
    after = load_inputs(folder)
    assert len(after) == 5
    for name, row in before.items():
        np.testing.assert_array_equal(after.x[after.ids.index(name)], row)


def test_scale_and_class_names_count_for_images_too(folder):
    inputs = load_inputs(folder, scale=1, class_names=["dog", "cow", "cat"])
    np.testing.assert_array_equal(inputs.x[0], GREY)
    assert inputs.class_names == ("dog", "cow", "cat")
    np.testing.assert_array_equal(inputs.labels, [2, 2, 0])
    with pytest.raises(InvalidArgument, match="label 'cat' is none of the class names"):
        load_inputs(folder, class_names=["Katze", "Hund"])


def test_labels_beside_a_folder_are_refused_and_not_ignored(folder):
    with pytest.raises(InvalidArgument, match="has labels of its own"):
        load_inputs(folder, [0, 1, 1])


def test_coloured_images_keep_their_channels(tmp_path):
    save(tmp_path / "a" / "1.png", COLOUR)
    inputs = load_inputs(tmp_path)
    np.testing.assert_allclose(inputs.x[0], COLOUR / 255, rtol=1e-6)
    assert inputs.frame == (6, 8, 3)


def test_grey_images_among_coloured_ones_become_coloured(tmp_path):
    save(tmp_path / "a" / "1.png", GREY)
    save(tmp_path / "a" / "2.png", COLOUR)
    inputs = load_inputs(tmp_path)
    assert inputs.x.shape == (2, 6, 8, 3)
    for channel in range(3):
        np.testing.assert_allclose(inputs.x[0, :, :, channel], GREY / 255, rtol=1e-6)
    np.testing.assert_allclose(inputs.x[1], COLOUR / 255, rtol=1e-6)


@pytest.mark.parametrize(("mode", "shape"), [("1", (6, 8)), ("P", (6, 8, 3)), ("RGBA", (6, 8, 3))])
def test_every_way_to_store_eight_bits_is_read(mode, shape, tmp_path):
    save(tmp_path / "a" / "1.png", COLOUR, mode)
    inputs = load_inputs(tmp_path)
    assert inputs.x.shape[1:] == shape
    assert 0 <= inputs.x.min() <= inputs.x.max() <= 1


def test_images_of_more_than_eight_bits_are_refused_and_not_cut_off(tmp_path):
    path = save(tmp_path / "a" / "1.png", GREY.astype(np.uint16) * 257)
    with pytest.raises(InvalidArgument, match="more than 8 bits") as caught:
        load_inputs(tmp_path)
    assert str(path) in str(caught.value)


def test_images_of_different_sizes_are_refused_with_the_way_out(tmp_path):
    save(tmp_path / "a" / "1.png", GREY)
    odd = save(tmp_path / "a" / "2.png", GREY[:5])
    with pytest.raises(InvalidArgument, match=r"\(5, 8\).*\(6, 8\).*--size HEIGHTxWIDTH") as caught:
        load_inputs(tmp_path)
    assert str(odd) in str(caught.value)
    assert load_inputs(tmp_path, size=(4, 7)).x.shape == (2, 4, 7)


def test_size_resizes_to_height_by_width(tmp_path):
    save(tmp_path / "a" / "1.png", COLOUR)
    inputs = load_inputs(tmp_path, size=(3, 5))
    expected = Image.fromarray(COLOUR).resize((5, 3), Image.Resampling.BILINEAR)
    np.testing.assert_allclose(inputs.x[0], np.asarray(expected) / 255, rtol=1e-6)
    assert inputs.x.shape == (1, 3, 5, 3)


@pytest.mark.parametrize("size", [(0, 5), (5, 0), (-1, 5)])
def test_a_size_of_nothing_is_refused(size, folder):
    with pytest.raises(InvalidArgument, match=r"\(height, width\)"):
        load_inputs(folder, size=size)


def test_a_folder_without_images_is_refused_with_the_way_out(tmp_path):
    with pytest.raises(InvalidArgument, match="one folder a class") as caught:
        load_inputs(tmp_path)
    assert str(tmp_path) in str(caught.value)


def spoiled(kind):
    """The same image with a few bytes wrong, many times over."""
    buffer, rng = io.BytesIO(), np.random.default_rng(1)
    Image.fromarray(COLOUR).save(buffer, kind)
    for _ in range(60):
        content = bytearray(buffer.getvalue())
        for _ in range(rng.integers(1, 6)):
            content[rng.integers(len(content))] = rng.integers(256)
        yield bytes(content[: rng.integers(1, len(content) + 1)] if rng.random() < 0.3 else content)


@pytest.mark.parametrize("kind", ["png", "ppm", "gif", "bmp", "tiff"])
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_a_damaged_image_is_read_or_refused_by_name(kind, tmp_path):
    path = tmp_path / "a" / f"1.{kind}"
    path.parent.mkdir()
    refused = 0
    for content in spoiled(kind):
        path.write_bytes(content)
        try:
            load_inputs(tmp_path, size=(4, 4))
        except InvalidArgument as error:
            assert str(path) in str(error)
            refused += 1
    assert refused


def test_a_image_that_unpacks_to_gigabytes_is_refused(tmp_path, monkeypatch):
    save(tmp_path / "a" / "1.png", COLOUR)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 6 * 8 // 3)
    with pytest.raises(InvalidArgument, match="cannot be read as an image"):
        load_inputs(tmp_path)


def listed(tmp_path, text):
    save(tmp_path / "pics" / "one.png", GREY)
    save(tmp_path / "pics" / "two.png", GREY + 1)
    path = tmp_path / "list.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_list_with_numbers_gives_class_numbers(tmp_path):
    path = listed(tmp_path, "file,label\npics/two.png,10\npics/one.png, 2\n")
    inputs = load_inputs(path)
    np.testing.assert_array_equal(inputs.labels, [10, 2])
    assert inputs.ids == ("pics/two.png", "pics/one.png")
    assert inputs.class_names == ()
    np.testing.assert_allclose(inputs.x[1], GREY / 255, rtol=1e-6)


def test_a_list_with_names_gives_classes_in_the_order_of_their_names(tmp_path):
    path = listed(tmp_path, "\ufefflabel,file,note\nzebra,pics/one.png,x\nant,pics/two.png,\n")
    inputs = load_inputs(path)
    assert inputs.class_names == ("ant", "zebra")
    np.testing.assert_array_equal(inputs.labels, [1, 0])


def test_a_list_can_be_resized_scaled_and_renamed(tmp_path):
    path = listed(tmp_path, "file,label\npics/one.png,0\npics/two.png,1\n")
    inputs = load_inputs(path, size=(3, 4), scale=1, class_names=["a", "b"])
    assert inputs.x.shape == (2, 3, 4)
    assert inputs.x.max() > 1
    assert inputs.class_names == ("a", "b")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "columns file and label"),
        ("file,label\n", "at least one row"),
        ("path,label\npics/one.png,1\n", "no column file: for a list of images add file"),
        ("file;label\npics/one.png;1\n", "separates its columns by semicolons: use commas"),
        ("file,label\npics/one.png\n", "row 1 lacks a file or a label"),
        ("file,label\npics/one.png,1\n,1\n", "row 2 lacks a file or a label"),
        ("file,label\npics/one.png,1\npics/two.png,\n", "row 2 lacks a file or a label"),
        ("file,label\npics/one.png,1\npics/two.png, \t\n", "row 2 lacks a file or a label"),
        ("file,label\npics/a,one.png,1\n", "row 1 has 3 cells below 2 columns"),
        ("file,label,label\npics/one.png,1,2\n", "columns file and label"),
        ("file,label\npics/gone.png,1\n", r"pics/gone\.png, which does not exist"),
        ("file,label\npics,1\n", "which does not exist"),
        ("file,label\nlist.csv,1\n", "cannot be read as an image"),
        ("file,label\npics/one.png,1\npics/one.png,1\n", "different ids"),
    ],
)
def test_a_list_that_makes_no_inputs_is_one_sentence(text, match, tmp_path):
    with pytest.raises(InvalidArgument, match=match) as caught:
        load_inputs(listed(tmp_path, text))
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_list_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "list.csv"
    path.write_bytes(b"file,label\n\xff\xfe\x00,1\n")
    with pytest.raises(InvalidArgument, match="cannot be read as CSV"):
        load_inputs(path)
