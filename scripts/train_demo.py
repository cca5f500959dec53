"""Train the two demonstration classifiers and write the bundled data files.

Both are trained on the Fashion-MNIST training images, scaled to [0, 1]. The script writes

* ``fashion_cnn.onnx``: a small convolutional network. Input ``image`` (batch, 1, 28, 28),
  float32 in [0, 1]; output ``logits`` (batch, 10); all weights inside the one file. 90.35 %
  of the 10,000 test images get their label;
* ``fashion_mlp_noise.onnx``: the new version. It has one hidden layer of 32 ReLUs, so that
  certified radii take seconds, and is trained on noisy images: each time an image is used,
  uniform noise of up to ±a is added to its pixels, a drawn between 0 and 96/255 for each
  image, and the pixels are clipped to [0, 1]. 86.19 % of the test images get their label.
  Its size and its noise were chosen with another seed, so that the bundled images had no part
  in choosing it;
* ``fashion_test.npz``: the first 30 test images of each class, in test-set order, with
  their labels, their ids and the class names.

It needs torch, numpy, onnx and onnxruntime. The ONNX graph is built with ``onnx.helper``,
so no exporter package (onnxscript) is needed. Everything runs on one CPU thread and is
seeded: the same seed and library versions on the same kind of CPU give the same files.
Training takes about seven minutes, and one for the new version.

Usage::

    python scripts/train_demo.py --data fashion_mnist.npz --out src/surefoot/data
    python scripts/train_demo.py --data fashion_mnist.npz --only fashion_mlp_noise --seed 1

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
MAX_ONNX_BYTES = 230_000
MAX_NPZ_BYTES = 250_000
SPEED_BATCHES = (64, 128, 256, 512)
EPOCHS = {"fashion_cnn": 8, "fashion_mlp_noise": 10}
"""Passes over the training images, for each network."""
NOISE = {"fashion_cnn": 0.0, "fashion_mlp_noise": 96 / 255}
"""Largest amplitude of the noise on the training images: three times the noise of the demo."""


def build_model(name: str) -> nn.Sequential:
    """Return the untrained network (about 55,000 weights, or 25,000)."""
    if name == "fashion_mlp_noise":
        return nn.Sequential(
            nn.Flatten(), nn.Linear(28 * 28, 32), nn.ReLU(), nn.Linear(32, len(CLASS_NAMES))
        )
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


def with_noise(images: torch.Tensor, largest: float, draws: torch.Generator) -> torch.Tensor:
    """The images with uniform noise, its amplitude drawn up to `largest` for each image."""
    amplitude = largest * torch.rand((len(images), 1, 1, 1), generator=draws)
    noise = 2 * torch.rand(images.shape, generator=draws) - 1
    return (images + amplitude * noise).clamp(0, 1)


def train(
    model: nn.Module, images: FloatArray, labels: IntArray, epochs: int, seed: int, noise: float
) -> None:
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
            batch = with_noise(x[index], noise, order) if noise else x[index]
            loss = loss_fn(model(batch), y[index])
            loss.backward()
            optimiser.step()
            schedule.step()
            total += loss.item() * len(index)
        seconds = time.perf_counter() - start
        print(f"epoch {epoch + 1}/{epochs}: loss {total / len(x):.4f} ({seconds:.0f} s)")
    model.eval()


def to_onnx(model: nn.Sequential, name: str) -> onnx.ModelProto:
    """Write the layers of `model` as an ONNX graph `name` with the weights inside."""
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []
    current = "image"
    for number, layer in enumerate(model):
        output = "logits" if number == len(model) - 1 else f"layer{number}"
        inputs = [current]
        for part, value in layer.named_parameters():
            key = f"layer{number}.{part}"
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
        name,
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
    parser = argparse.ArgumentParser(description="Train and export the demonstration models.")
    parser.add_argument("--data", type=Path, required=True, help="path to fashion_mnist.npz")
    parser.add_argument("--out", type=Path, default=Path("src/surefoot/data"), help="folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=tuple(EPOCHS), help="train one of the networks")
    return parser.parse_args(argv)


def check_network(path: Path, model: nn.Module, images: FloatArray, labels: IntArray) -> None:
    """Print accuracy, size and speed of a network; stop when torch and onnxruntime disagree."""
    session = ort_session(path)
    by_torch, by_ort = torch_logits(model, images), ort_logits(session, images, 256)
    for name, logits in (("torch", by_torch), ("onnxruntime", by_ort)):
        print(f"test accuracy, {name}: {np.mean(logits.argmax(1) == labels):.4f}")
    differing = int(np.sum(by_torch.argmax(1) != by_ort.argmax(1)))
    gap = float(np.abs(by_torch - by_ort).max())
    print(f"torch and onnxruntime: {differing} labels differ, largest logit gap {gap:.1e}")
    if differing:
        raise SystemExit("torch and onnxruntime disagree")
    check_size(path, MAX_ONNX_BYTES)
    for batch in SPEED_BATCHES:
        speed = images_per_second(session, images, batch)
        print(f"onnxruntime, one thread, batch {batch}: {speed:,.0f} images/s")


def main(argv: Sequence[str] | None = None) -> None:
    """Train, export, check and report."""
    args = parse_args(argv)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    with np.load(args.data, allow_pickle=False) as data:
        x_train, x_test_raw = to_input(data["x_train"]), data["x_test"]
        y_train, y_test = data["y_train"].astype(np.int64), data["y_test"].astype(np.int64)
    args.out.mkdir(parents=True, exist_ok=True)
    npz_path = args.out / "fashion_test.npz"
    write_test_images(npz_path, x_test_raw, y_test)
    check_size(npz_path, MAX_NPZ_BYTES)
    for name in [args.only] if args.only else EPOCHS:
        torch.manual_seed(args.seed)
        model = build_model(name)
        train(model, x_train, y_train, EPOCHS[name], args.seed, NOISE[name])
        path = args.out / f"{name}.onnx"
        path.write_bytes(to_onnx(model, name).SerializeToString(deterministic=True))
        check_network(path, model, to_input(x_test_raw), y_test)


if __name__ == "__main__":
    main()
