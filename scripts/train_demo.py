"""Train the demonstration classifier and write the two bundled data files.

The script trains a small convolutional network on the Fashion-MNIST training images,
scaled to [0, 1], and writes

* ``fashion_cnn.onnx``: input ``image`` (batch, 1, 28, 28), float32 in [0, 1]; output
  ``logits`` (batch, 10); all weights inside the one file;
* ``fashion_test.npz``: the first 30 test images of each class, in test-set order, with
  their labels, their ids and the class names.

It needs torch, numpy, onnx and onnxruntime. The ONNX graph is built with ``onnx.helper``,
so no exporter package (onnxscript) is needed. Everything runs on one CPU thread and is
seeded: the same seed and library versions on the same kind of CPU give the same files.
Training takes about seven minutes.

Usage::

    python scripts/train_demo.py --data fashion_mnist.npz --out src/surefoot/data

The input file holds uint8 arrays ``x_train`` (60000, 28, 28), ``y_train``, ``x_test`` and
``y_test``. The images are in the Debian package dataset-fashion-mnist.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

FloatArray: TypeAlias = npt.NDArray[np.float32]
IntArray: TypeAlias = npt.NDArray[np.int64]
ByteArray: TypeAlias = npt.NDArray[np.uint8]

CLASS_NAMES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
PER_CLASS = 30
BATCH_SIZE = 128
LEARNING_RATE = 2e-3
WEIGHT_DECAY = 1e-4
OPSET = 17
IR_VERSION = 8  # the IR version that belongs to opset 17; old runtimes read it too
MAX_ONNX_BYTES = 500_000
MAX_NPZ_BYTES = 250_000
SPEED_BATCHES = (64, 128, 256, 512)


def build_model() -> nn.Sequential:
    """Return the untrained network (about 55,000 weights)."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 7 * 7, 32),
        nn.ReLU(),
        nn.Linear(32, len(CLASS_NAMES)),
    )


def to_input(images: ByteArray) -> FloatArray:
    """Scale uint8 images (n, 28, 28) to float32 (n, 1, 28, 28) in [0, 1]."""
    return images[:, None].astype(np.float32) / np.float32(255)


def train(model: nn.Module, images: FloatArray, labels: IntArray, epochs: int, seed: int) -> None:
    """Train in place with AdamW and a one-cycle learning rate, in a seeded order."""
    x, y = torch.from_numpy(images), torch.from_numpy(labels)
    order = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    steps = -(-len(x) // BATCH_SIZE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, max_lr=LEARNING_RATE, total_steps=steps * epochs
    )
    loss_fn = nn.CrossEntropyLoss()
    model.train()
    for epoch in range(epochs):
        start, total = time.perf_counter(), 0.0
        for index in torch.split(torch.randperm(len(x), generator=order), BATCH_SIZE):
            optimiser.zero_grad()
            loss = loss_fn(model(x[index]), y[index])
            loss.backward()
            optimiser.step()
            schedule.step()
            total += loss.item() * len(index)
        seconds = time.perf_counter() - start
        print(f"epoch {epoch + 1}/{epochs}: loss {total / len(x):.4f} ({seconds:.0f} s)")
    model.eval()


def to_onnx(model: nn.Sequential) -> onnx.ModelProto:
    """Write the layers of `model` as an ONNX graph with the weights inside."""
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []
    current = "image"
    for number, layer in enumerate(model):
        output = "logits" if number == len(model) - 1 else f"layer{number}"
        inputs = [current]
        for name, value in layer.named_parameters():
            key = f"layer{number}.{name}"
            weights.append(numpy_helper.from_array(value.detach().numpy(), key))
            inputs.append(key)
        if isinstance(layer, nn.Conv2d):
            node = helper.make_node(
                "Conv", inputs, [output], kernel_shape=[3, 3], pads=[1, 1, 1, 1]
            )
        elif isinstance(layer, nn.ReLU):
            node = helper.make_node("Relu", inputs, [output])
        elif isinstance(layer, nn.MaxPool2d):
            node = helper.make_node(
                "MaxPool", inputs, [output], kernel_shape=[2, 2], strides=[2, 2]
            )
        elif isinstance(layer, nn.Flatten):
            node = helper.make_node("Flatten", inputs, [output], axis=1)
        elif isinstance(layer, nn.Linear):
            node = helper.make_node("Gemm", inputs, [output], transB=1)
        else:
            raise TypeError(f"no ONNX form for layer {layer}")
        nodes.append(node)
        current = output
    graph = helper.make_graph(
        nodes,
        "fashion_cnn",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 28, 28])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", len(CLASS_NAMES)])],
        weights,
    )
    proto = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="surefoot scripts/train_demo.py",
    )
    onnx.checker.check_model(proto, full_check=True)
    return proto


def write_test_images(path: Path, images: ByteArray, labels: IntArray) -> None:
    """Save the first `PER_CLASS` test images of each class, kept in test-set order."""
    chosen = np.sort(
        np.concatenate([np.flatnonzero(labels == k)[:PER_CLASS] for k in range(len(CLASS_NAMES))])
    )
    np.savez_compressed(
        path,
        x=images[chosen],
        y=labels[chosen],
        ids=np.array([f"test-{i:05d}" for i in chosen]),
        class_names=np.array(CLASS_NAMES),
    )


def torch_logits(model: nn.Module, images: FloatArray) -> FloatArray:
    """Return the logits that torch computes."""
    with torch.inference_mode():
        parts = [model(part).numpy() for part in torch.split(torch.from_numpy(images), 500)]
    return np.concatenate(parts)


def ort_session(path: Path) -> ort.InferenceSession:
    """Open the ONNX file on one CPU thread."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def ort_logits(session: ort.InferenceSession, images: FloatArray, batch: int) -> FloatArray:
    """Return the logits that onnxruntime computes, in batches of `batch` images."""
    parts = [
        session.run(["logits"], {"image": images[i : i + batch]})[0]
        for i in range(0, len(images), batch)
    ]
    return np.concatenate(parts)


def images_per_second(
    session: ort.InferenceSession, images: FloatArray, batch: int, repeats: int = 5
) -> float:
    """Return the median speed over `repeats` passes, after one pass to warm up."""
    whole = images[: len(images) // batch * batch]
    ort_logits(session, whole, batch)
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        ort_logits(session, whole, batch)
        seconds.append(time.perf_counter() - start)
    return len(whole) / float(np.median(seconds))


def check_size(path: Path, limit: int) -> None:
    """Print the size of a file and stop when it is over the limit."""
    size = path.stat().st_size
    print(f"{path.name}: {size:,} bytes")
    if size > limit:
        raise SystemExit(f"{path.name} is over {limit:,} bytes")


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Train and export the demonstration model.")
    parser.add_argument("--data", type=Path, required=True, help="path to fashion_mnist.npz")
    parser.add_argument("--out", type=Path, default=Path("src/surefoot/data"), help="folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=8)
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    """Train, export, check and report."""
    args = parse_args(argv)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(args.seed)
    with np.load(args.data, allow_pickle=False) as data:
        x_train, x_test_raw = to_input(data["x_train"]), data["x_test"]
        y_train, y_test = data["y_train"].astype(np.int64), data["y_test"].astype(np.int64)
    x_test = to_input(x_test_raw)

    model = build_model()
    train(model, x_train, y_train, args.epochs, args.seed)

    args.out.mkdir(parents=True, exist_ok=True)
    onnx_path, npz_path = args.out / "fashion_cnn.onnx", args.out / "fashion_test.npz"
    onnx_path.write_bytes(to_onnx(model).SerializeToString(deterministic=True))
    write_test_images(npz_path, x_test_raw, y_test)

    session = ort_session(onnx_path)
    by_torch, by_ort = torch_logits(model, x_test), ort_logits(session, x_test, 256)
    for name, logits in (("torch", by_torch), ("onnxruntime", by_ort)):
        print(f"test accuracy, {name}: {np.mean(logits.argmax(1) == y_test):.4f}")
    differing = int(np.sum(by_torch.argmax(1) != by_ort.argmax(1)))
    gap = float(np.abs(by_torch - by_ort).max())
    print(f"torch and onnxruntime: {differing} labels differ, largest logit gap {gap:.1e}")
    if differing:
        raise SystemExit("torch and onnxruntime disagree")
    check_size(onnx_path, MAX_ONNX_BYTES)
    check_size(npz_path, MAX_NPZ_BYTES)
    for batch in SPEED_BATCHES:
        speed = images_per_second(session, x_test, batch)
        print(f"onnxruntime, one thread, batch {batch}: {speed:,.0f} images/s")


if __name__ == "__main__":
    main()
