"""The compiled sampler gives what NumPy gives, bit for bit; and the other ways the same image."""

import runpy
import shutil
from pathlib import Path

import numpy as np
import pytest

from surefoot.perturb._ops.edges import Edge
from surefoot.perturb._ops.warp import _warp_by_grid_sample, _warp_by_takes, _warp_on_host, warp
from surefoot.perturb._ops.warp_cpu import compiled_sampler
from surefoot.results import Interval

SCRIPT = Path(__file__).parents[2] / "scripts" / "compile_sampler.py"
BOUNDS = Interval(-0.5, 0.8)
EDGES = [edge for edge in Edge if edge is not Edge.BLACK]
SIZES = [(9, 13), (1, 6), (5, 1), (1, 1), (40, 130), (3, 5000)]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    library = tmp_path_factory.mktemp("sampler") / "_sampler.so"
    assert runpy.run_path(str(SCRIPT))["compile_sampler"](library)
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
    other = tmp_path / "sampler.c"
    other.write_text(script["SOURCE"].read_text() + "/* another */\n")
    script["compile_sampler"].__globals__["SOURCE"] = other
    assert script["compile_sampler"](tmp_path / "other.so")
    assert compiled_sampler(tmp_path / "other.so") is None


def test_without_a_compiler_nothing_is_compiled(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", str(tmp_path / "no-such-compiler"))
    assert not runpy.run_path(str(SCRIPT))["compile_sampler"](tmp_path / "_sampler.so")
    assert list(tmp_path.iterdir()) == []


def test_gradients_still_flow_through_a_warp(torch):
    x, ys, xs = map(torch.from_numpy, scene((9, 13), 2, 2, 0.5))
    plain = warp(x, ys, xs, "mirror", None)
    followed = warp(x.requires_grad_(), ys, xs, "mirror", None)
    followed.sum().backward()
    assert x.grad is not None and float(x.grad.sum()) == pytest.approx(followed.numel(), rel=1e-4)
    np.testing.assert_allclose(followed.detach().numpy(), plain.numpy(), atol=1e-4)
