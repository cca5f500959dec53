"""Sounds from .wav files, of every kind of sample."""

import struct
import wave

import numpy as np
import pytest

import surefoot as sf
from surefoot.inputs import load_inputs
from tests.refusals import refused

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
