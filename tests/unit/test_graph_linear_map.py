"""Maps of layers against their matrices: both directions, blocks, products, NumPy and PyTorch."""

import importlib.util

import numpy as np
import pytest

from surefoot.graph.linear_map import (
    Convolution,
    Dense,
    Diagonal,
    LinearMap,
    Product,
    Selection,
    Several,
    absolute,
    composed,
    convolution,
    dense_rows,
    groups_after,
    identity,
)
from surefoot.graph.onnx_file import WindowLayout
from surefoot.graph.operators import convolve

RNG = np.random.default_rng(7)
LAYOUTS = (
    ((3, 6, 5), (4, 3, 3, 2), 1, [(0, 0), (0, 0)], [1, 1], [1, 1]),
    ((2, 7, 7), (3, 2, 3, 3), 1, [(1, 1), (2, 0)], [2, 3], [1, 1]),
    ((4, 6, 6), (6, 2, 2, 2), 2, [(1, 0), (0, 1)], [1, 2], [2, 1]),
    ((3, 5, 5), (3, 1, 3, 3), 3, [(1, 1), (1, 1)], [1, 1], [1, 1]),
    ((2, 9), (4, 2, 3), 1, [(2, 2)], [2], [3]),
)


def example(place: int) -> tuple[Convolution, np.ndarray]:
    """A convolution and its matrix by another implementation."""
    taken, shape, groups, pads, strides, dilations = LAYOUTS[place]
    layout, weights = WindowLayout(pads, strides, dilations), RNG.normal(size=shape)
    unit = np.eye(int(np.prod(taken))).reshape(-1, *taken)
    matrix = convolve(unit, weights, layout, groups).reshape(len(unit), -1).T
    return convolution(weights, layout, groups, taken), matrix


def maps() -> list[tuple[LinearMap, np.ndarray]]:
    """Maps of every kind with their matrices."""
    laid = [example(i) for i in range(len(LAYOUTS))]
    conv, matrix = laid[0]
    m, n = matrix.shape
    scale, other, order = RNG.normal(size=m), RNG.normal(size=(5, m)), RNG.permutation(m)[:7]
    few = Selection(np.array([2, 0, 2]), n), np.eye(n)[[2, 0, 2]]
    parts = [(conv, matrix), (Dense(other @ matrix), other @ matrix), few]
    return [
        *laid,
        few,
        (identity(n), np.eye(n)),
        (Product((conv, Diagonal(scale), Dense(other))), other @ np.diag(scale) @ matrix),
        (Product((conv, Selection(order, m))), matrix[order]),
        (
            Several((conv, Product((conv, Diagonal(scale)))), False),
            matrix + scale[:, None] * matrix,
        ),
        (Several(tuple(one for one, _ in parts), True), np.concatenate([a for _, a in parts])),
    ]


def test_both_directions_absolute_values_rows_and_blocks_are_those_of_the_matrix() -> None:
    for linear, matrix in maps():
        h, z = RNG.normal(size=(2, 4, matrix.shape[1])), RNG.normal(size=(3, len(matrix)))
        assert linear.shape == matrix.shape
        assert np.allclose(linear.forward(h), h @ matrix.T, atol=1e-12)
        assert np.allclose(linear.back(z), z @ matrix, atol=1e-12)
        assert np.allclose((linear.forward(h) * z[:1]).sum(-1), (h * linear.back(z[:1])).sum(-1))
        assert (absolute(linear).forward(np.abs(h)) >= np.abs(h) @ np.abs(matrix).T - 1e-12).all()
        assert np.allclose(dense_rows(linear, slice(1, 3)), matrix[1:3], atol=1e-12)
        assert linear.total >= np.abs(matrix).sum() * (1 - 1e-12)
        groups = linear.groups()
        assert (np.sort(np.concatenate(groups)) == np.arange(len(matrix))).all()
        for rows in groups[:3]:
            columns, part = linear.block(rows)
            rest = np.delete(matrix[rows], columns, axis=1)
            assert np.allclose(dense_rows(part, slice(None)), matrix[rows][:, columns], atol=1e-12)
            assert not rest.any()


def test_many_rows_are_treated_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    linear, matrix = example(1)
    h, z = RNG.normal(size=(11, matrix.shape[1])), RNG.normal(size=(11, len(matrix)))
    monkeypatch.setattr("surefoot.graph.linear_map._PIECE_VALUES", 1)
    assert np.allclose(linear.forward(h), h @ matrix.T) and np.allclose(linear.back(z), z @ matrix)
    assert linear.forward(h[:0]).shape == (0, len(matrix))


def test_a_product_is_one_map_where_it_can_be_and_the_same_map_always() -> None:
    conv, matrix = example(2)
    m, n = matrix.shape
    by_channel = np.repeat(RNG.normal(size=6), m // 6)
    before = np.repeat(RNG.normal(size=4), n // 4)
    order, w = RNG.permutation(m), RNG.normal(size=(3, m))
    pairs: list[tuple[LinearMap, LinearMap, type]] = [
        (conv, Diagonal(by_channel), Convolution),
        (Diagonal(before), conv, Convolution),
        (conv, Diagonal(RNG.normal(size=m)), Product),
        (Diagonal(by_channel), Dense(w), Dense),
        (Dense(w), Diagonal(RNG.normal(size=3)), Dense),
        (Selection(order, m), Dense(w), Dense),
        (Selection(order, m), Selection(np.arange(4), m), Selection),
        (identity(n), conv, Convolution),
        (composed(conv, Dense(w)), Diagonal(RNG.normal(size=3)), Product),
    ]
    for first, second, kind in pairs:
        both = composed(first, second)
        h = RNG.normal(size=(3, first.shape[1]))
        assert isinstance(both, kind)
        assert np.allclose(both.forward(h), second.forward(first.forward(h)), atol=1e-12)


def test_groups_after_others_hold_every_row_once() -> None:
    for linear, matrix in maps():
        halves = np.split(np.arange(matrix.shape[1]), [matrix.shape[1] // 2])
        for before in ([], halves):
            rows = np.concatenate(groups_after(linear, before))
            assert sorted(rows) == list(range(len(matrix)))
    picked = groups_after(Selection(np.array([3, 0, 2, 1]), 4), [np.arange(2), np.arange(2, 4)])
    assert [list(rows) for rows in picked] == [[1, 3], [0, 2]]


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs PyTorch")
def test_pytorch_gives_the_same_numbers() -> None:
    import torch

    for linear, matrix in maps():
        there = linear.converted(torch.from_numpy)
        h, z = RNG.normal(size=(4, matrix.shape[1])), RNG.normal(size=(3, len(matrix)))
        forward, back = there.forward(torch.from_numpy(h)), there.back(torch.from_numpy(z))
        assert np.allclose(forward.numpy(), linear.forward(h), rtol=0, atol=1e-12)
        assert np.allclose(back.numpy(), linear.back(z), rtol=0, atol=1e-12)
