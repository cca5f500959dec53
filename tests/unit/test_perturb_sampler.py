"""The compiled sampler gives what NumPy gives, bit for bit; and the other ways the same image."""

import ctypes
import hashlib
import runpy
import shutil
from pathlib import Path

import numpy as np
import pytest

import surefoot as sf
from surefoot.compiled import gpu
from surefoot.core.results import Interval
from surefoot.core.tasks import Subject, Task
from surefoot.engine import streams
from surefoot.engine.sampling_bench import SamplingBench
from surefoot.engine.streams import block_key, stream
from surefoot.perturb import LinfNoise, UniformNoise
from surefoot.perturb._ops import compiled_numbers
from surefoot.perturb._ops.compiled_numbers import compiled_noise, compiled_normals
from surefoot.perturb._ops.convolution import (
    compiled_tap_sum,
    convolve,
    line_kernels,
    line_reach,
    line_taps,
    tap_sum_by_numpy,
)
from surefoot.perturb._ops.warp import (
    Edge,
    _warp_by_grid_sample,
    _warp_by_takes,
    _warp_on_host,
    compiled_sampler,
    places_of_projection,
    warp,
)

SCRIPT = Path(__file__).parents[2] / "scripts" / "compile_library.py"
BOUNDS = Interval(-0.5, 0.8)
EDGES = [edge for edge in Edge if edge is not Edge.BLACK]
SIZES = [(9, 13), (1, 6), (5, 1), (1, 1), (40, 130), (3, 5000)]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    library = tmp_path_factory.mktemp("sampler") / "_compiled.so"
    assert runpy.run_path(str(SCRIPT))["compile_library"](library)
    return library


@pytest.fixture(scope="module")
def compiled(library):
    found = compiled_sampler(library)
    assert found is not None
    return found


def scene(size, images, grids, reach, rows=7, columns=11):
    rng = np.random.default_rng(5)
    x = rng.random((images, 3, *size), dtype=np.float32)
    ys, xs = rng.random((2, grids, rows, columns), dtype=np.float32) - np.float32(0.5)
    ys, xs = ys * size[0] * reach + size[0] / 2, xs * size[1] * reach + size[1] / 2
    ys[:, ::2], xs[:, :, ::3] = np.rint(ys[:, ::2]), np.rint(xs[:, :, ::3])
    return x, ys.astype(np.float32), xs.astype(np.float32)


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("reach", [0.8, 1.5, 9.0])
def test_compiled_and_numpy_are_the_same_bit_for_bit(compiled, edge, size, reach):
    """Own grids, one grid for all, one image for all; and rows apart from columns."""
    for images, grids in ((4, 4), (4, 1), (1, 4)):
        x, ys, xs = scene(size, images, grids, reach)
        for rows, columns in ((ys, xs), (ys[:, :, :1], xs[:, :1])):
            truth = _warp_by_takes(x, rows, columns, edge, BOUNDS)
            np.testing.assert_array_equal(compiled(x, rows, columns, edge, BOUNDS), truth)


@pytest.mark.parametrize("edge", EDGES)
def test_long_and_many_rows_are_cut_where_nobody_sees(compiled, edge):
    """More columns than are worked on together; and a number of rows that does not divide."""
    for rows, columns in ((2, 9001), (601, 29)):
        x, ys, xs = scene((20, 30), 2, 2, 1.5, rows, columns)
        truth = _warp_by_takes(x, ys, xs, edge, None)
        np.testing.assert_array_equal(compiled(x, ys, xs, edge, None), truth)


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_projected_places_are_numpys_bit_for_bit(compiled, edge, size):
    """Also across the horizon, where a divisor is 0, and beyond it, where it is negative."""
    rng = np.random.default_rng(3)
    for images, grids in ((3, 3), (1, 3), (3, 1)):
        x = rng.random((images, 2, *size), dtype=np.float32)
        sums = rng.uniform(-3, 9, (grids, 3, sum(size))).astype(np.float32)
        for axis in (slice(size[0]), slice(size[0], None)):  # its least is at a corner
            sums[:, 2, axis] = np.sort(np.rint(sums[:, 2, axis]))
        ys, xs = places_of_projection(sums[:, :, : size[0]], sums[:, :, size[0] :])
        truth = _warp_by_takes(x, ys, xs, edge, BOUNDS)
        np.testing.assert_array_equal(compiled(x, sums, None, edge, BOUNDS), truth)


@pytest.mark.parametrize(("images", "lines"), [(3, 3), (1, 4), (4, 1)])
@pytest.mark.parametrize("size", [(9, 13), (1, 6), (5, 1), (1, 1), (40, 67)], ids=str)
def test_lines_of_compiled_code_are_numpys_bit_for_bit(library, images, lines, size):
    rng = np.random.default_rng(4)
    x = rng.random((images, 2, *size), dtype=np.float32) - np.float32(0.5)
    angles = rng.uniform(-0.78, 0.78, lines).astype(np.float32)
    angles[0] = 0.0
    kernels = line_kernels(angles, line_taps(np.array([6.0]), np.array([2.0]), 12))
    centre = (line_reach(12), 11)
    truth = tap_sum_by_numpy(x, kernels, centre)
    ours = compiled_tap_sum(library)(x, kernels, centre)
    np.testing.assert_array_equal(ours.view(np.uint32), truth.view(np.uint32))
    np.testing.assert_allclose(ours, convolve(x, kernels, centre), atol=1e-6)


@pytest.mark.parametrize("counts", [(1, 2, 3), (300_000, 1, 300_001)])
def test_normal_numbers_of_compiled_code_are_numpys_bit_for_bit(library, counts):
    """With other numbers before, between and after them."""
    fill = compiled_normals(library)
    ours, theirs = (np.random.Generator(np.random.SFC64(9)) for _ in range(2))
    for count in counts:
        out = np.empty(count, np.float32)
        fill(ours, out)
        truth = theirs.standard_normal(count, dtype=np.float32)
        np.testing.assert_array_equal(out.view(np.uint32), truth.view(np.uint32))
        assert ours.random(dtype=np.float32) == theirs.random(dtype=np.float32)


def test_normal_numbers_that_are_not_numpys_are_not_used(library, monkeypatch):
    """Where NumPy has no such function to call, and where it draws other numbers."""
    monkeypatch.setattr(compiled_numbers, "_numpy_function", lambda: None)
    assert compiled_normals.__wrapped__(library) is None
    other = ctypes.CDLL(np.random._generator.__file__).random_standard_uniform_f
    address = ctypes.cast(other, ctypes.c_void_p)
    monkeypatch.setattr(compiled_numbers, "_numpy_function", lambda: address)
    assert compiled_normals.__wrapped__(library) is None


@pytest.mark.parametrize("edge", EDGES)
def test_coordinates_that_are_no_places_read_nothing_else(compiled, edge):
    x = np.ones((1, 1, 6, 7), np.float32)
    odd = np.array([[[np.nan, np.inf, -np.inf, 1e30, -1e30, 3e9]]], np.float32)
    for ys, xs in ((odd, odd), (np.zeros_like(odd), odd), (odd, np.zeros_like(odd))):
        assert (compiled(x, ys, xs, edge, None) == 1).all()


@pytest.mark.parametrize("edge", list(Edge))
@pytest.mark.parametrize("grids", [1, 4])
def test_every_way_of_sampling_shows_the_same_image(torch, edge, grids):
    x, ys, xs = scene((40, 33), 4, grids, 1.5)
    ours = _warp_on_host(x, ys, xs, edge, BOUNDS.low, BOUNDS)
    theirs = _warp_by_grid_sample(*map(torch.from_numpy, (x, ys, xs)), edge, BOUNDS.low, BOUNDS)
    np.testing.assert_allclose(theirs.numpy(), ours, atol=1e-4)


def test_no_library_and_one_of_another_source_are_not_used(compiled, tmp_path):
    assert compiled_sampler(tmp_path / "missing.so") is None
    script = runpy.run_path(str(SCRIPT))
    first, *others = script["SOURCES"]
    other = tmp_path / "sampler.c"
    other.write_text(first.read_text() + "/* another */\n")
    script["compile_library"].__globals__["SOURCES"] = (other, *others)
    assert script["compile_library"](tmp_path / "other.so")
    assert compiled_sampler(tmp_path / "other.so") is None


def test_without_a_compiler_nothing_is_compiled(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", str(tmp_path / "no-such-compiler"))
    assert not runpy.run_path(str(SCRIPT))["compile_library"](tmp_path / "_compiled.so")
    assert list(tmp_path.iterdir()) == []


def test_gradients_still_flow_through_a_warp(torch):
    x, ys, xs = map(torch.from_numpy, scene((9, 13), 2, 2, 0.5))
    plain = warp(x, ys, xs, "mirror", None)
    followed = warp(x.requires_grad_(), ys, xs, "mirror", None)
    followed.sum().backward()
    assert x.grad is not None and float(x.grad.sum()) == pytest.approx(followed.numel(), rel=1e-4)
    np.testing.assert_allclose(followed.detach().numpy(), plain.numpy(), atol=1e-4)


@pytest.mark.parametrize("noise", [LinfNoise(0.3), UniformNoise(0.2), UniformNoise(0.2, -0.5)])
@pytest.mark.parametrize("bounds", [None, Interval(0, 1), Interval(-0.3, 0.3)])
@pytest.mark.parametrize(
    ("shape", "start", "stop"),
    [((784,), 0, 64), ((784,), 13, 50), ((7,), 5, 1000), ((3, 5, 5), 1, 2), ((1,), 3, 8),
     ((9001,), 1, 7)],
)  # fmt: skip
def test_noise_of_compiled_code_is_numpys_bit_for_bit(library, noise, bounds, shape, start, stop):
    """One input for all trials and one for each; whole blocks and parts of them."""
    add = compiled_noise(library)
    for rows in (1, stop - start):
        x = np.random.default_rng(0).random((rows, *shape), dtype=np.float32)
        drawn = noise.draw(stream(1, "a", noise.kind, 3, x), stop, shape)[start:]
        truth = noise.apply(x, drawn, noise.level, bounds)
        part = block_key(1, "a", noise.kind, 3), start, stop, noise.level
        of = np.arange(stop - start) % rows
        out = add(noise.additive, bounds, x, np.tile(of, 2), [part] * 2)
        twice = np.concatenate([truth, truth])
        np.testing.assert_array_equal(out.view(np.uint32), twice.view(np.uint32))


def test_a_batch_of_several_inputs_is_the_same_drawn_together_and_apart():
    """Tasks that begin within a block, cross its end, and have several inputs."""
    x = np.random.default_rng(2).random((5, 784), dtype=np.float32)
    inputs = sf.load_inputs(x)
    subjects = [Subject("a", (0,)), Subject("all", (1, 2, 3)), Subject("some", (0, 4), picks=True)]
    tasks = [Task(s, 0.1, start, start + 90) for s, start in zip(subjects, (3, 60, 7), strict=True)]
    model = sf.load_model(lambda b: b[:, :2], shape=(784,), bounds=(0, 1))
    bench = SamplingBench(
        inputs, np.zeros(5, np.int64), model, LinfNoise(0.1), sf.properties.SameLabel(),
        sf.methods.Counts, 1,
    )  # fmt: skip
    truth = np.concatenate([bench.perturbed(task) for task in tasks])
    np.testing.assert_array_equal(bench.perturbed_all(tasks), truth)


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
