"""Train the small dense network on which proofs take a fraction of a second.

Writes ``fashion_dense.onnx``: input ``image`` (batch, 1, 28, 28), float32 in [0, 1]; output
``logits`` (batch, 10); one hidden layer of 16 ReLUs. Trained on the Fashion-MNIST training images,
each moved by one step of the sign of its gradient, so that radii are not all close to 0. It needs
NumPy and onnx, one thread and half a minute; the same seed and library versions give the same file.

Usage::

    python scripts/train_dense.py --data fashion_mnist.npz --out src/surefoot/data

The input file is that of ``train_demo.py``.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIZES = (784, 16, 10)
EPOCHS, BATCH, RATE, STEP = 12, 100, 2e-3, 0.02
"""Passes over the data, images a step, Adam's rate, and how far images are moved (L∞)."""
Layers = list[np.ndarray]


def gradients(layers: Layers, x: np.ndarray, y: np.ndarray) -> tuple[Layers, np.ndarray]:
    """Of the cross-entropy, for every layer and for the images."""
    kept, h = [x], x
    for i in range(0, len(layers), 2):
        h = h @ layers[i] + layers[i + 1]
        if i + 2 < len(layers):
            h = np.maximum(h, 0)
            kept.append(h)
    e = np.exp(h - h.max(axis=1, keepdims=True))
    back = e / e.sum(axis=1, keepdims=True)
    back[np.arange(len(y)), y] -= 1
    back /= len(y)
    grads: Layers = []
    for i in range(len(layers) - 2, -1, -2):
        grads = [kept[i // 2].T @ back, back.sum(axis=0), *grads]
        back = back @ layers[i].T
        if i:
            back = back * (kept[i // 2] > 0)
    return grads, back


def train(x: np.ndarray, y: np.ndarray) -> Layers:
    """Adam on images that were moved against the network."""
    rng = np.random.default_rng(1)
    layers: Layers = []
    for a, b in pairwise(SIZES):
        layers += [
            rng.normal(0, np.sqrt(2 / a), (a, b)).astype(np.float32),
            np.zeros(b, np.float32),
        ]
    first, second = ([np.zeros_like(w) for w in layers] for _ in range(2))
    step = 0
    for epoch in range(EPOCHS):
        order, rate = rng.permutation(len(x)), RATE * (1 - epoch / EPOCHS)
        for rows in order.reshape(-1, BATCH):
            _, image = gradients(layers, x[rows], y[rows])
            moved = np.clip(x[rows] + STEP * np.sign(image), 0, 1).astype(np.float32)
            grads, _ = gradients(layers, moved, y[rows])
            step += 1
            for i, g in enumerate(grads):
                first[i] += 0.1 * (g - first[i])
                second[i] += 0.001 * (g * g - second[i])
                slope = first[i] / (1 - 0.9**step)
                layers[i] -= rate * slope / (np.sqrt(second[i] / (1 - 0.999**step)) + 1e-8)
    return layers


def graph(layers: Layers) -> onnx.ModelProto:
    """The network as ONNX: flatten, then Gemm and Relu."""
    nodes, name = [helper.make_node("Flatten", ["image"], ["h0"])], "h0"
    for i in range(0, len(layers), 2):
        last = i + 2 == len(layers)
        out = "logits" if last else f"a{i}"
        nodes.append(helper.make_node("Gemm", [name, f"w{i}", f"w{i + 1}"], [out]))
        if not last:
            nodes.append(helper.make_node("Relu", [out], [f"h{i + 1}"]))
            name = f"h{i + 1}"
    made = helper.make_graph(
        nodes,
        "fashion_dense",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 28, 28])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 10])],
        [numpy_helper.from_array(w, f"w{i}") for i, w in enumerate(layers)],
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def main() -> None:
    """Train, print the accuracy on the test images, write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    with np.load(args.data) as file:
        x, xt = (file[n].reshape(-1, 784).astype(np.float32) / 255 for n in ("x_train", "x_test"))
        y, yt = file["y_train"].astype(int), file["y_test"].astype(int)
    layers = train(x, y)
    h = xt
    for i in range(0, len(layers), 2):
        h = h @ layers[i] + layers[i + 1]
        h = np.maximum(h, 0) if i + 2 < len(layers) else h
    print(f"accuracy on the test images: {(h.argmax(axis=1) == yt).mean():.4f}")
    onnx.save(graph(layers), args.out / "fashion_dense.onnx")


if __name__ == "__main__":
    main()
