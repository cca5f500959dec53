"""Folders and lists of images and of sounds."""

import io
import os
import struct
import wave

import numpy as np
import pytest
from PIL import Image

import surefoot as sf
from surefoot.errors import InvalidArgument
from surefoot.inputs import load_inputs
from surefoot.inputs.media import label_pattern
from tests.refusals import refused

GREY = np.arange(6 * 8, dtype=np.uint8).reshape(6, 8) * 5
COLOUR = np.arange(6 * 8 * 3, dtype=np.uint8).reshape(6, 8, 3)


def save(path, pixels=GREY, mode=None):
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


def test_scale_and_class_names_count_for_images_too(folder):
    inputs = load_inputs(folder, scale=1, class_names=["dog", "cow", "cat"])
    np.testing.assert_array_equal(inputs.x[0], GREY)
    assert inputs.class_names == ("dog", "cow", "cat")
    np.testing.assert_array_equal(inputs.labels, [2, 2, 0])
    with pytest.raises(InvalidArgument, match="label 'cat' is none of the class names"):
        load_inputs(folder, class_names=["Katze", "Hund"])


@pytest.mark.parametrize(("mode", "shape"), [("1", (6, 8)), ("P", (6, 8, 3)), ("RGBA", (6, 8, 3))])
def test_every_way_to_store_eight_bits_is_read(mode, shape, tmp_path):
    save(tmp_path / "a" / "1.png", COLOUR, mode)
    inputs = load_inputs(tmp_path)
    assert inputs.x.shape[1:] == shape
    assert 0 <= inputs.x.min() <= inputs.x.max() <= 1


def test_images_of_more_than_eight_bits_are_refused_and_not_cut_off(tmp_path):
    path = save(tmp_path / "a" / "1.png", GREY.astype(np.uint16) * 257)
    assert str(path) in refused("more than 8 bits", load_inputs, tmp_path)


def test_size_resizes_to_height_by_width(tmp_path):
    save(tmp_path / "a" / "1.png", COLOUR)
    inputs = load_inputs(tmp_path, size=(3, 5))
    expected = Image.fromarray(COLOUR).resize((5, 3), Image.Resampling.BILINEAR)
    np.testing.assert_allclose(inputs.x[0], np.asarray(expected) / 255, rtol=1e-6)
    assert inputs.x.shape == (1, 3, 5, 3)


@pytest.mark.parametrize("size", [(0, 5), (5, 0), (-1, 5)])
def test_a_size_of_nothing_is_refused(size, folder):
    refused(r"\(height, width\)", load_inputs, folder, size=size)


def test_a_folder_without_images_is_refused_with_the_way_out(tmp_path):
    assert str(tmp_path) in refused("one folder a class", load_inputs, tmp_path)


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
    count = 0
    for content in spoiled(kind):
        path.write_bytes(content)
        try:
            load_inputs(tmp_path, size=(4, 4))
        except InvalidArgument as error:
            assert str(path) in str(error)
            count += 1
    assert count


def test_a_image_that_unpacks_to_gigabytes_is_refused(tmp_path, monkeypatch):
    save(tmp_path / "a" / "1.png", COLOUR)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 6 * 8 // 3)
    refused("cannot be read as an image", load_inputs, tmp_path)


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
    assert str(tmp_path) in refused(match, load_inputs, listed(tmp_path, text))


def test_a_list_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / "list.csv"
    path.write_bytes(b"file,label\n\xff\xfe\x00,1\n")
    refused("cannot be read as CSV", load_inputs, path)


@pytest.fixture
def flat(tmp_path):
    root = tmp_path / "photos"
    for i, name in enumerate(["dog_2.png", "cat_1.png", "cat_10.png"]):
        save(root / name, GREY + i)
    (root / "notes.txt").write_text("no image")
    (root / "._cat_1.png").write_bytes(b"what another system leaves behind")
    return root


def test_loose_images_have_no_labels(flat):
    inputs = load_inputs(flat)
    assert inputs.ids == ("cat_1.png", "cat_10.png", "dog_2.png")
    assert inputs.labels is None
    assert inputs.class_names == ()
    assert inputs.reading == "values divided by 255"


def test_loose_images_beside_class_folders_are_refused_and_not_left_out(flat):
    save(flat / "cow" / "a.png")
    refused(r"3 files beside .* cat_1\.png.*--labels none", load_inputs, flat)
    inputs = load_inputs(flat, labels="none")
    assert inputs.labels is None
    assert inputs.ids == ("cat_1.png", "cat_10.png", "cow/a.png", "dog_2.png")


def test_images_deeper_in_a_class_folder_belong_to_the_class(tmp_path):
    save(tmp_path / "cat" / "more" / "a.png")
    save(tmp_path / "dog" / "a.png")
    inputs = load_inputs(tmp_path)
    assert inputs.ids == ("cat/more/a.png", "dog/a.png")
    np.testing.assert_array_equal(inputs.labels, [0, 1])


@pytest.mark.parametrize("folder", ["", "cat"])
def test_a_pipe_in_a_folder_never_blocks(folder, tmp_path):
    save(tmp_path / folder / "a.png")
    os.mkfifo(tmp_path / folder / "b.png")
    refused(r"b\.png is no plain file", load_inputs, tmp_path)


@pytest.mark.parametrize("name", ["x.npz", "x.npy", "list.csv", "x.wav"])
def test_a_pipe_as_data_never_blocks(name, tmp_path):
    os.mkfifo(tmp_path / name)
    refused("no plain file", load_inputs, tmp_path / name)


def test_a_link_to_nothing_and_a_link_in_a_circle_are_no_images(tmp_path):
    save(tmp_path / "a" / "1.png")
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    assert load_inputs(tmp_path).ids == ("a/1.png",)
    (tmp_path / "a" / "2.png").symlink_to(tmp_path / "gone.png")
    refused(r"2\.png is no plain file, or leads nowhere", load_inputs, tmp_path)


def test_images_and_sounds_are_not_mixed(flat):
    (flat / "a.wav").write_bytes(b"")
    refused(r"a\.wav is a sound and .* an image", load_inputs, flat)


def test_labels_come_from_a_pattern_or_a_function(flat):
    for given in (
        {"label_pattern": r"(?P<label>[a-z]+)_\d+"},
        {"label_pattern": r"([a-z]+)_\d+\.png"},
        {"labels": lambda path: path.stem.partition("_")[0]},
    ):
        inputs = load_inputs(flat, **given)
        np.testing.assert_array_equal(inputs.labels, [0, 0, 1])
        assert inputs.class_names == ("cat", "dog")
    numbers = load_inputs(flat, label_pattern=r"[a-z]+_(?P<label>\d+)")
    np.testing.assert_array_equal(numbers.labels, [1, 10, 2])
    listed = load_inputs(flat, label_pattern=r"([a-z]+)_\d+", class_names=["cow", "dog", "cat"])
    np.testing.assert_array_equal(listed.labels, [2, 2, 1])


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"label_pattern": r"([a-z]+)_\d"}, r"cat_10\.png: the name does not match .* whole name"),
        ({"label_pattern": r"[a-z]+_\d+"}, "no group called label"),
        ({"label_pattern": r"(a)(b)"}, "no group called label"),
        ({"label_pattern": r"(?P<label>"}, "no regular expression"),
        ({"label_pattern": r"(x?).*"}, r"cat_1\.png has no label"),
        ({"labels": lambda path: None}, r"cat_1\.png has no label"),
        ({"labels": lambda path: None if "dog" in path.name else "a"}, r"dog_2\.png has no label"),
        ({"labels": lambda path: 1 / 0}, r"cat_1\.png: the function of labels raised ZeroDiv"),
        ({"labels": lambda path: path}, "a label is PosixPath: give class numbers or names"),
        ({"labels": [0, 1, 1]}, "labels of its own, or takes them by file"),
        ({"labels": "cats.npy"}, "CSV with the columns file and label"),
        ({"labels": "none", "label_pattern": "(.*)"}, "leave out one of them"),
    ],
)
def test_labels_that_cannot_be_read_are_refused_with_the_way_out(given, match, flat):
    refused(match, load_inputs, flat, **given)


@pytest.mark.parametrize(
    "text",
    [
        r"(a+)+b", r"(a*)*b()", r"(?P<label>(a|a)*)b", r"(?P<label>(a|ab|b)+)c",
        r"(?P<label>(?:a?){30})b", r"(?P<label>a+)\1", r"(?P<label>a)(?=b)",
        "(?P<label>a)" * 60, "(?P<label>" + "a*" * 20 + ")b",
        "(?P<label>" + "(?:a|b|ab)?" * 30 + ")c", r"(?P<label>(([a-z]*)[0-9]*)*)!",
    ],
)  # fmt: skip
def test_a_pattern_that_could_take_for_ever_is_refused(text, tmp_path):

    refused("", lambda: label_pattern(text)(tmp_path / ("a" * 200 + ".png")))


def test_images_are_resized_to_what_the_model_takes_and_the_reading_says_so(tmp_path):
    save(tmp_path / "a.png", COLOUR)
    save(tmp_path / "b.png", COLOUR[:4])
    inputs = load_inputs(tmp_path, shape=(3, 6, 8))
    assert inputs.x.shape == (2, 6, 8, 3)
    np.testing.assert_allclose(inputs.x[0], COLOUR / 255, rtol=1e-6)
    assert "1 of 2 images resized to 6 × 8 pixels" in inputs.reading
    assert inputs.reading.startswith("values divided by 255; ")
    assert load_inputs(tmp_path, shape=(5, 7, 3)).x.shape == (2, 5, 7, 3)
    assert load_inputs(tmp_path, shape=(3, None, None), size=(2, 2)).x.shape == (2, 2, 2, 3)
    with pytest.raises(InvalidArgument, match="--size 2x2 makes images of another size"):
        load_inputs(tmp_path, shape=(3, 6, 8), size=(2, 2))
    for unclear in (None, (None, None, None), (3, None, None), (144,), (2, 6, 8)):
        refused("pass --size HEIGHTxWIDTH", load_inputs, tmp_path, shape=unclear)


@pytest.mark.parametrize(
    ("shape", "expected", "words"),
    [
        ((1, 6, 8), (2, 6, 8), "1 of 2 images in colour turned grey"),
        ((6, 8), (2, 6, 8), "1 of 2 images in colour turned grey"),
        ((3, 6, 8), (2, 6, 8, 3), "1 of 2 grey images repeated in 3 channels"),
        (None, (2, 6, 8, 3), "1 of 2 grey images repeated in 3 channels"),
    ],
)
def test_grey_and_coloured_images_become_what_the_model_takes(shape, expected, words, tmp_path):
    save(tmp_path / "a.png", GREY)
    save(tmp_path / "b.png", COLOUR)
    inputs = load_inputs(tmp_path, shape=shape)
    assert inputs.x.shape == expected
    assert words in inputs.reading
    first = inputs.x[0] if inputs.x.ndim == 3 else inputs.x[0, :, :, 1]
    np.testing.assert_allclose(first, GREY / 255, rtol=1e-6)


def test_a_list_needs_no_labels(flat):
    path = flat / "list.csv"
    path.write_text("note,file\nx,dog_2.png\ny,cat_1.png\n")
    inputs = load_inputs(path)
    assert inputs.labels is None
    assert inputs.ids == ("dog_2.png", "cat_1.png")
    np.testing.assert_array_equal(load_inputs(path, label_pattern=r"([a-z]+)_\d+").labels, [1, 0])
    path.write_text("file,label\ndog_2.png,5\n")
    assert load_inputs(path, labels="none").labels is None
    refused("labels of its own", load_inputs, path, label_pattern=r"([a-z]+)_\d+")
    refused("--length", load_inputs, path, length=1)


RATE = 1000
PCM, FLOAT, EXTENSIBLE = 1, 3, 0xFFFE
SAMPLES = np.array([[-1.0, -0.5, 0.0, 0.25, 0.5, 0.75]])


def riff(content, form=PCM, bits=16, channels=1, rate=RATE, extra=b"", size=None):
    """A file by hand: `extra` stands before the samples, `size` is what it says of them."""
    frame = channels * bits // 8
    head = struct.pack("<HHIIHH", form, channels, rate, rate * frame, frame, bits)
    if form == EXTENSIBLE:
        head += struct.pack("<HHI", 22, bits, 0) + struct.pack("<H", PCM) + b"\0" * 14
    body = b"WAVE" + b"fmt " + struct.pack("<I", len(head)) + head + extra
    body += b"data" + struct.pack("<I", len(content) if size is None else size) + content
    return b"RIFF" + struct.pack("<I", len(body)) + body


def whole(samples, bits):
    """Samples as integers of so many bits, interleaved; 8 bits have no sign."""
    values = np.clip(np.rint(samples.T * 2 ** (bits - 1)), -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if bits == 8:
        return (values + 128).astype(np.uint8).tobytes()
    wide = values.astype("<i8").reshape(-1, 1).view(np.uint8)
    return np.ascontiguousarray(wide[:, : bits // 8]).tobytes()


def tone(path, seconds=0.1, channels=1, rate=RATE, level=0.5):
    path.parent.mkdir(parents=True, exist_ok=True)
    time = np.arange(round(seconds * rate)) / rate
    wave_ = np.repeat(level * np.sin(2 * np.pi * 50 * time)[:, None], channels, axis=1)
    with wave.open(str(path), "wb") as file:
        file.setparams((channels, 2, rate, 0, "NONE", ""))
        file.writeframes(np.rint(wave_ * 32767).astype("<i2").tobytes())
    return path


@pytest.mark.parametrize("bits", [8, 16, 24, 32])
@pytest.mark.parametrize("form", [PCM, EXTENSIBLE])
@pytest.mark.parametrize("channels", [1, 2])
def test_whole_numbers_of_every_width_fill_minus_one_to_one(bits, form, channels, tmp_path):
    samples = np.concatenate([SAMPLES, -SAMPLES / 2])[:channels]
    (tmp_path / "a.wav").write_bytes(riff(whole(samples, bits), form, bits, channels))
    inputs = load_inputs(tmp_path)
    assert inputs.x.shape == (1, channels, 6)
    np.testing.assert_allclose(inputs.x[0], samples, atol=1e-7)
    assert inputs.labels is None
    assert inputs.frame == ()
    assert inputs.reading == "samples read as -1 to 1, 1000 Hz, 0.006 s"


@pytest.mark.parametrize("bits", [32, 64])
def test_floats_stay_as_they_are(bits, tmp_path):
    content = SAMPLES.astype(f"<f{bits // 8}").tobytes()
    (tmp_path / "a.wav").write_bytes(riff(content, FLOAT, bits))
    np.testing.assert_array_equal(load_inputs(tmp_path).x[0], SAMPLES)


def test_other_parts_of_a_file_and_an_unknown_size_are_passed_over(tmp_path):
    extra = b"LIST" + struct.pack("<I", 3) + b"abc\0"
    (tmp_path / "a.wav").write_bytes(riff(whole(SAMPLES, 16), extra=extra))
    (tmp_path / "b.WAV").write_bytes(riff(whole(SAMPLES, 16), size=0xFFFFFFFF))
    np.testing.assert_array_equal(*load_inputs(tmp_path).x)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"RIFF",
        b"no sound at all, but text",
        riff(b""),
        riff(b"abc"),
        riff(b"ab", size=400),
        riff(b"ab", form=2),
        riff(b"abcd", bits=12),
        riff(b"ab", channels=0),
        riff(b"ab", rate=0),
        riff(b"ab", form=FLOAT, bits=16),
        b"RIFF\0\0\0\0WAVE" + b"data" + struct.pack("<I", 2) + b"ab",
        b"RIFF\0\0\0\0WAVE" + b"abcd\0\0\0\0" * 2000,
        b"RIFF\0\0\0\0WAVEfmt \x02\0\0\0ab",
    ],
)
def test_a_damaged_file_is_refused_by_name(content, tmp_path):
    path = tmp_path / "a.wav"
    path.write_bytes(content)
    assert str(path) in refused(r"cannot be read as a \.wav file", load_inputs, tmp_path)


def test_samples_that_are_no_numbers_are_refused(tmp_path):
    content = np.array([0.1, np.nan], "<f4").tobytes()
    (tmp_path / "a.wav").write_bytes(riff(content, FLOAT, 32))
    refused(r"NaN.*a\.wav", load_inputs, tmp_path)


def test_class_folders_patterns_and_lists_name_sounds_too(tmp_path):
    tone(tmp_path / "deep" / "a.wav")
    tone(tmp_path / "high" / "a.wav")
    np.testing.assert_array_equal(load_inputs(tmp_path).labels, [0, 1])
    (tmp_path / "list.csv").write_text("file,label\nhigh/a.wav,3\n")
    inputs = load_inputs(tmp_path / "list.csv")
    np.testing.assert_array_equal(inputs.labels, [3])
    assert inputs.x.shape == (1, 1, 100)


def test_sounds_of_different_lengths_are_refused_cut_or_filled_up(tmp_path):
    tone(tmp_path / "a.wav", 0.1)
    tone(tmp_path / "b.wav", 0.2)
    refused(r"b\.wav is 0\.2 s .* 0\.1 s.*--length SECONDS", load_inputs, tmp_path)
    inputs = load_inputs(tmp_path, length=0.15)
    assert inputs.x.shape == (2, 1, 150)
    assert not inputs.x[0, 0, 100:].any()
    assert inputs.reading.endswith("1 of 2 cut at the end, 1 filled up with silence")
    np.testing.assert_array_equal(inputs.x[0, 0, :100], inputs.x[1, 0, :100])


@pytest.mark.parametrize("other", [{"rate": 2000, "seconds": 0.05}, {"channels": 2}])
def test_rates_and_channels_must_agree(other, tmp_path):
    tone(tmp_path / "a.wav")
    tone(tmp_path / "b.wav", **other)
    refused(r"b\.wav has .* convert them to one", load_inputs, tmp_path)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"length": 0}, "seconds above 0"),
        ({"length": float("inf")}, "seconds above 0"),
        ({"length": float("nan")}, "seconds above 0"),
        ({"length": 1e9}, "GiB"),
        ({"size": (3, 3)}, "leave out --size"),
        ({"scale": 2.0}, "leave out --scale"),
    ],
)
def test_what_makes_no_sense_for_sounds_is_refused(given, match, tmp_path):
    tone(tmp_path / "a.wav")
    refused(match, load_inputs, tmp_path, **given)


def loud(batch):
    """Two classes: by the mean square."""
    power = (np.asarray(batch, np.float64).reshape(len(batch), -1) ** 2).mean(axis=1)
    return np.stack([0.05 - power, power - 0.05], axis=1)


@pytest.mark.parametrize("perturbation", sf.perturb.SIGNALS, ids=lambda class_: class_.kind)
def test_every_perturbation_of_signals_takes_sounds(perturbation, tmp_path):
    tone(tmp_path / "soft" / "a.wav", level=0.2)
    tone(tmp_path / "loud" / "a.wav", level=0.8)
    model = sf.load_model(loud, shape=(100, 1), bounds=(-1, 1))
    inputs = load_inputs(tmp_path, class_names=["soft", "loud"])
    method = sf.methods.ExactSequential(width=0.2, error=0.2)
    result = sf.Study(model, inputs, perturbation(0.2), method, seed=1).run()
    assert len(result.record.inputs) == 2


def test_data_that_are_perturbed_already_are_counted_as_they_are(tmp_path):
    """A file as those of CIFAR-10-C, a severity of it, and a folder as those of ImageNet-C."""
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 256, (20, 4, 4, 3), dtype=np.uint8), np.tile([0, 1, 1, 0], 5)
    np.save(tmp_path / "noise.npy", x)
    np.save(tmp_path / "labels.npy", y)
    for i in range(8, 12):
        folder = tmp_path / "noise" / "3" / f"n{y[i]}"
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(x[i]).save(folder / f"{i}.PNG")

    def scores(batch):
        mean = batch.mean(axis=(1, 2, 3))
        return np.stack([mean, 1 - mean], axis=1)

    right = (scores(np.moveaxis(x, -1, 1) / 255).argmax(axis=1) == y).astype(float)
    whole = sf.load_inputs(tmp_path / "noise.npy", tmp_path / "labels.npy")
    for data, rows in (
        (whole, slice(None)),
        ((whole.x[8:12], y[8:12]), slice(8, 12)),
        (tmp_path / "noise" / "3", slice(8, 12)),
    ):
        options = {"shape": (3, 4, 4), "bounds": (0, 1), "method": "bu-sun"}
        result = sf.estimate(scores, data, perturb="none", **options)
        claim = next(c for c in result.claims if c.kind == "accuracy_set")
        assert claim.value == pytest.approx(right[rows].mean())
        assert claim.random.value == "nothing"
    with pytest.raises(InvalidArgument, match="no perturbation 'none'"):
        sf.estimate(scores, whole, perturb="none+linf:0.1", bounds=(0, 1))
