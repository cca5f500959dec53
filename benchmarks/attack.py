"""How strong the attack is that certify and compare set beside the robust share, and its speed.

The network and the images of the demo; the same weights once more in PyTorch. A weak attack would
flatter a model, so ours stands beside the published one on the same inputs with as many gradients:
Madry et al.'s (the baseline of Mu & Lim's table 1), signed steps up the cross-entropy from random
points, each 2.5 radii divided by the number of steps long. Target: ours breaks no fewer inputs.

    python benchmarks/attack.py [--quick]         --quick: 40 inputs at one radius, under a minute
"""

from __future__ import annotations

import argparse
import json
import time
from importlib.resources import as_file, files
from typing import Any

import numpy as np
from prerequisites import need_package
from processor import print_processor
from tables import print_table

import surefoot as sf
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Gradients, Model
from surefoot.system.text import level_words

onnx = need_package("onnx")
torch = need_package("torch")

RADII = (2 / 255, 4 / 255, 8 / 255)
ATTACK = sf.methods.Attack()


def torch_copy(path: str) -> torch.nn.Module:
    """The demo's network in PyTorch."""
    graph = onnx.load(path).graph
    values = {i.name: torch.tensor(onnx.numpy_helper.to_array(i)) for i in graph.initializer}
    layers: list[torch.nn.Module] = []
    for node in graph.node:
        known = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        match node.op_type:
            case "Conv":
                w, b = (values[name] for name in node.input[1:3])
                layer = torch.nn.Conv2d(
                    w.shape[1], w.shape[0], w.shape[2], padding=known["pads"][0]
                )
                layer.load_state_dict({"weight": w, "bias": b})
                layers.append(layer)
            case "Gemm":
                w, b = (values[name] for name in node.input[1:3])
                w = w if known.get("transB", 0) else w.T
                dense = torch.nn.Linear(w.shape[1], w.shape[0])
                dense.load_state_dict({"weight": w, "bias": b})
                layers.append(dense)
            case "MaxPool":
                layers.append(torch.nn.MaxPool2d(known["kernel_shape"][0], known["strides"][0]))
            case kind:
                layers.append({"Relu": torch.nn.ReLU, "Flatten": torch.nn.Flatten}[kind]())
    return torch.nn.Sequential(*layers).eval()


def published_attack(
    net: torch.nn.Module, x: torch.Tensor, labels: torch.Tensor, radius: float, starts: int
) -> int:
    """How many inputs projected gradient descent as published breaks."""
    generator = torch.Generator().manual_seed(1)
    low, high = (x - radius).clamp(0, 1), (x + radius).clamp(0, 1)
    broken = torch.zeros(len(x), dtype=torch.bool)
    for _ in range(starts):
        left = ~broken
        if not left.any():
            break
        noise = torch.rand(x[left].shape, generator=generator) * 2 - 1
        at = (x[left] + radius * noise).clamp(low[left], high[left])
        for _ in range(ATTACK.iterations):
            at = at.detach().requires_grad_()
            loss = torch.nn.functional.cross_entropy(net(at), labels[left], reduction="sum")
            (slope,) = torch.autograd.grad(loss, at)
            moved = at + 2.5 * radius / ATTACK.iterations * slope.sign()
            at = moved.clamp(low[left], high[left]).detach()
        with torch.no_grad():
            broken[left] = net(at).argmax(1) != labels[left]
    return int(broken.sum())


def ours(model: Model, inputs: Inputs, radius: float) -> tuple[int, float]:
    """How many inputs our attack breaks, and its processor time."""
    noise = sf.perturb.LinfNoise(radius)
    study = sf.Study(model, inputs, noise, ATTACK)
    begun = time.process_time()
    summary: Any = study.run(workers=1).details
    return summary.broken, time.process_time() - begun


def rate(gradients: Gradients, x: object, labels: object, targets: object, n: int) -> float:
    """Gradients a second of processor time."""
    gradients.margin_and_gradient(x, labels, targets)
    begun = time.process_time()
    for _ in range(10):
        gradients.margin_and_gradient(x, labels, targets)
    return 10 * n / (time.process_time() - begun)


def main() -> None:
    """Print the table, then one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    print_processor()
    torch.set_num_threads(1)
    data = files("surefoot") / "data"
    with as_file(data / "fashion_cnn.onnx") as path, as_file(data / "fashion_test.npz") as images:
        graph = sf.load_model(path, bounds=(0, 1))
        net = torch_copy(str(path))
        everything = sf.load_inputs(images)
    module = sf.load_model(net, shape=graph.signature.shape, bounds=(0, 1))
    inputs = sf.select(everything, graph, sf.Selection(random=40 if quick else 150, seed=1))
    x = torch.from_numpy(inputs.x)
    labels = net(x).argmax(1)
    rows, least = [], float("inf")
    for radius in RADII[-1:] if quick else RADII:
        mine, took = ours(graph, inputs, radius)
        theirs, seconds = ours(module, inputs, radius)
        known = published_attack(net, x, labels, radius, ATTACK.starts * ATTACK.targets)
        once = published_attack(net, x, labels, radius, 1)
        least = min(least, mine - known, theirs - known)
        rows.append(
            [
                level_words(radius),
                f"{mine} ({took:.0f} s)",
                f"{theirs} ({seconds:.0f} s)",
                known,
                once,
            ]
        )
    print(f"inputs broken of {len(inputs)}, by as many gradients at most:\n")
    print_table(
        [
            "radius",
            "ours, ONNX file",
            "ours, PyTorch",
            f"published, {ATTACK.starts * ATTACK.targets} starts",
            "published, 1 start",
        ],
        rows,
    )
    zeros = np.zeros(len(x), np.int64)
    onnx_rate = rate(graph, inputs.x, zeros, zeros + 1, len(x))
    torch_rate = rate(
        module, x, torch.zeros(len(x), dtype=int), torch.ones(len(x), dtype=int), len(x)
    )
    print(f"\ngradients a second: ONNX file {onnx_rate:,.0f}, PyTorch {torch_rate:,.0f}\n")
    figures = {
        "least_more_than_published": least,
        "onnx_gradients_a_second": round(onnx_rate),
        "onnx_over_torch": round(onnx_rate / torch_rate, 3),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
