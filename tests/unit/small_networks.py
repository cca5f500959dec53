"""Small networks whose critical radius is known: by construction, or by trying every pattern."""

import itertools
from pathlib import Path

import numpy as np
from scipy.optimize import linprog

from surefoot.graph.network import MarginQuestion, linear_layer, margin_question
from surefoot.verify import Network, dense_layer
from tests.unit.float32_networks import onnx_chain


def random_network(
    rng: np.random.Generator, inputs: int, widths: list[int], classes: int, slopes: list[float]
) -> Network:
    """Normal weights; the slopes are dealt out to the neurons in turn."""
    layers, before, dealt = [], inputs, itertools.cycle(slopes)
    for width in widths:
        slope = np.array([next(dealt) for _ in range(width)])
        layers.append(
            dense_layer(rng.normal(0, 1.5, (width, before)), rng.normal(0, 0.7, width), slope)
        )
        before = width
    last = linear_layer(rng.normal(0, 1.0, (classes, before)), rng.normal(0, 0.3, classes))
    return Network((*layers, last), (inputs,))


def margins_at(question: MarginQuestion, x: np.ndarray) -> np.ndarray:
    """All margins of a batch of flat inputs."""
    h = x
    for layer in question.hidden:
        h = layer(h)
    return h @ question.rows.T + question.offsets


def exact_radius(network: Network, x: np.ndarray, label: int, low: float, high: float) -> float:
    """The distance of the nearest point where a margin is not positive, over every pattern."""
    return nearest_break(network, x, label, low, high)[0]


def nearest_break(
    network: Network, x: np.ndarray, label: int, low: float, high: float
) -> tuple[float, np.ndarray]:
    """That distance, and the point."""
    question = margin_question(network, label)
    bent = [(k, i) for k, la in enumerate(question.hidden) for i in np.flatnonzero(la.slope < 1)]
    best, point = np.inf, x
    for pattern in itertools.product((1.0, -1.0), repeat=len(bent)):
        side = dict(zip(bent, pattern, strict=True))
        matrix, shift = np.eye(len(x)), np.zeros(len(x))
        rows, right = [], []
        for k, layer in enumerate(question.hidden):
            sums, add = layer.weights.matrix @ matrix, layer.weights.matrix @ shift + layer.bias
            slope = np.ones(len(add))
            for i in range(len(add)):
                sign = side.get((k, i), 0.0)
                if sign:
                    rows.append(-sign * sums[i])
                    right.append(sign * add[i])
                    slope[i] = 1.0 if sign > 0 else layer.slope[i]
            matrix, shift = slope[:, None] * sums, slope * add
        for row, offset in zip(question.rows, question.offsets, strict=True):
            constraints = [*rows, row @ matrix]
            limits = [*right, -(row @ shift + offset)]
            distance, nearest = _nearest(x, np.array(constraints), np.array(limits), low, high)
            if distance < best:
                best, point = distance, nearest
    return best, point


def _nearest(
    x: np.ndarray, rows: np.ndarray, right: np.ndarray, low: float, high: float
) -> tuple[float, np.ndarray]:
    n = len(x)
    ones = np.ones((n, 1))
    table = np.vstack(
        [
            np.hstack([rows, np.zeros((len(rows), 1))]),
            np.hstack([np.eye(n), -ones]),
            np.hstack([-np.eye(n), -ones]),
        ]
    )
    bounds = [*[(low, high)] * n, (0, None)]
    solved = linprog(
        np.eye(n + 1)[n], table, np.concatenate([right, x, -x]), bounds=bounds, method="highs"
    )
    return (float(solved.fun), solved.x[:n]) if solved.status == 0 else (np.inf, x)


def write_onnx(network: Network, path: Path) -> Path:
    """The network as an ONNX file of Gemm and Relu, in float32; slopes must be 0 (or 1 at last)."""
    single = [
        (layer.weights.matrix.astype("f4"), layer.bias.astype("f4")) for layer in network.layers
    ]
    path.write_bytes(onnx_chain(single))
    return path
