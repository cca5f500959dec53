"""Write model.onnx, old.onnx, test.npz and tables here: files to try every command on.

Two small ReLU networks, trained here within seconds on 200 of the images that come with the
package; test.npz holds the other 100, four from each shop (made up, for --group shop). results.csv
holds three brackets as another tool might write them, outcomes.csv 90 outcomes of a test of three
topics; study.toml is a file of studies for surefoot run. Needs pip install 'surefoot[verify]'.
"""

import sys
from importlib.resources import as_file, files
from itertools import pairwise
from pathlib import Path

import numpy as np

try:
    from onnx import TensorProto, helper, numpy_helper, save
except ModuleNotFoundError:
    sys.exit("files_to_try.py needs the package onnx: pip install '.[verify]'")

Layers = list[list[np.ndarray]]


def trained(x: np.ndarray, y: np.ndarray, hidden: int, steps: int = 400) -> Layers:
    """Weights and biases of two layers after full-batch descent of the cross-entropy."""
    rng = np.random.default_rng(hidden)
    sizes = (x.shape[1], hidden, 10)
    layers = [[rng.normal(0, (2 / a) ** 0.5, (a, b)), np.zeros(b)] for a, b in pairwise(sizes)]
    moved = [[np.zeros_like(part) for part in layer] for layer in layers]
    for _ in range(steps):
        inner = np.maximum(x @ layers[0][0] + layers[0][1], 0)
        scores = inner @ layers[1][0] + layers[1][1]
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        slope = (chances / chances.sum(axis=1, keepdims=True) - np.eye(10)[y]) / len(x)
        back = (slope @ layers[1][0].T) * (inner > 0)
        slopes = ((x.T @ back, back.sum(axis=0)), (inner.T @ slope, slope.sum(axis=0)))
        for layer, speed, down in zip(layers, moved, slopes, strict=True):
            for i in range(2):
                speed[i] = 0.9 * speed[i] - 0.05 * down[i]
                layer[i] += speed[i]
    return layers


def write(path: str, layers: Layers) -> None:
    """The network as an ONNX file that takes images (n, 1, 28, 28)."""
    nodes, constants, name = [helper.make_node("Flatten", ["x"], ["flat"])], [], "flat"
    for i, (weights, bias) in enumerate(layers):
        constants += [
            numpy_helper.from_array(weights.astype(np.float32), f"w{i}"),
            numpy_helper.from_array(bias.astype(np.float32), f"b{i}"),
        ]
        nodes.append(helper.make_node("Gemm", [name, f"w{i}", f"b{i}"], [f"sum{i}"]))
        if i == 0:
            nodes.append(helper.make_node("Relu", ["sum0"], ["inner"]))
            name = "inner"
    ends = [("x", ["n", 1, 28, 28]), ("sum1", ["n", 10])]
    input_, scores = (helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in ends)
    graph = helper.make_graph(nodes, "small", [input_], [scores], constants)
    opset = [helper.make_opsetid("", 17)]
    save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)


with as_file(files("surefoot") / "data" / "fashion_test.npz") as stored, np.load(stored) as data:
    images, labels, names = data["x"].reshape(-1, 1, 28, 28), data["y"], data["class_names"]
for_tests = np.arange(len(images)) % 3 == 0
flat = images[~for_tests].reshape(-1, 28 * 28) / 255
for file, neurons in (("model.onnx", 40), ("old.onnx", 20)):
    write(file, trained(flat, labels[~for_tests], neurons))
shop = np.arange(for_tests.sum()) // 4
np.savez("test.npz", x=images[for_tests], y=labels[for_tests], class_names=names, shop=shop)
Path("results.csv").write_text(
    "network,split,image,lower,upper,runtime_s\n"
    "model,test,0,0.01,0.012,1\n"
    "model,test,1,0.02,,60\n"
    "model,test,2,0.004,0.005,2\n"
)
topics = ("maths", "law", "code")
Path("outcomes.csv").write_text(
    "case,topic,outcome\n"
    + "".join(
        f"q{i},{topics[i % 3]},{'fail' if i % 17 == 5 or i % 30 == 2 else 'pass'}\n"
        for i in range(90)
    )
)
Path("study.toml").write_bytes(Path(__file__).with_name("study.toml").read_bytes())
print(
    f"written: model.onnx, old.onnx and test.npz ({for_tests.sum()} images), results.csv, "
    "outcomes.csv, study.toml"
)
