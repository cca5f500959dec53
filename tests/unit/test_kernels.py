"""The compiled kernels of a GPU are those of their source, and draw the numbers that are named."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from surefoot.compiled import gpu
from surefoot.engine import streams

FOLDER = Path(gpu.__file__).parent


def philox(key, counter):
    """Philox4x32-10 (Salmon et al. 2011), four numbers of 32 bits for each counter."""
    a, b = counter & 0xFFFFFFFF, counter >> 32
    c, d, low, high = a * 0, a * 0, key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        one, two = 0xCD9E8D57 * c, 0xD2511F53 * a
        a, b, c, d = (
            (one >> 32) ^ b ^ low,
            one & 0xFFFFFFFF,
            (two >> 32) ^ d ^ high,
            two & 0xFFFFFFFF,
        )
        low, high = (low + 0x9E3779B9) & 0xFFFFFFFF, (high + 0xBB67AE85) & 0xFFFFFFFF
    return a, b, c, d


def test_the_compiled_kernels_are_those_of_their_source():
    first = (FOLDER / "kernels.ptx").read_text().partition("\n")[0]
    assert (
        first == f"// kernels.cu {hashlib.sha256((FOLDER / 'kernels.cu').read_bytes()).hexdigest()}"
    )


def test_the_reference_gives_the_published_numbers():
    """The first known answer of Random123: zeros."""
    answer = philox(np.zeros(1, np.uint64), np.zeros(1, np.uint64))
    assert [int(n[0]) for n in answer] == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


@pytest.mark.parametrize("width", [1, 10, 48, 784])
def test_a_gpu_draws_the_numbers_of_each_key(width):
    torch = pytest.importorskip("torch")
    if not streams.usable("cuda:0"):
        pytest.skip("no GPU")
    keys = np.array([0, 1, -1, 2**40 + 17], np.int64)
    drawn = streams.numbers(torch.from_numpy(keys).to("cuda"), (4, width), 3, normal=False)
    quarter = -(-width // 4)
    counters = (3 * 2**24 + np.arange(quarter)).astype(np.uint64)
    for key, row in zip(keys.view(np.uint64), drawn.cpu().numpy(), strict=True):
        words = np.concatenate(philox(key, counters))[:width]
        assert np.array_equal(row, (words >> np.uint64(8)).astype(np.float32) / 2**24)
    noise = streams.numbers(torch.arange(1000, device="cuda"), (1000, 999), 0, normal=True)
    assert abs(noise.mean()) < 0.01
    assert abs(noise.std() - 1) < 0.01
