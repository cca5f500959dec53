"""Images in eight bits: the same numbers as an array, read when they are needed."""

import pickle
from pathlib import Path

import numpy as np
import pytest

import surefoot as sf
from surefoot.inputs import files
from surefoot.inputs.arrays import fit
from surefoot.subject import pixels
from surefoot.subject.pixels import LazyRows, Pixels, whole_rows
from tests.refusals import refused

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
