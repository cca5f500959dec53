"""Two small networks whose radii are proved in docs/how-to/prove-a-cnn.md: trained and exported.

A convolutional network with MaxPool for MNIST and a residual one for CIFAR-10, both trained for
one signed step (`attack_networks.py`): a network that was not trained for it has no radius worth
a proof.

    python benchmarks/proof_networks.py DATA OUT

DATA holds mnist.npz and cifar10.npz (x_train, y_train, x_test, y_test, bytes); OUT gets
mnist_pool.onnx, cifar_residual.onnx and the first 100 test images of each. Three minutes on a core.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from attack_networks import Block, images_of, train
from prerequisites import need_folder, need_package

torch = need_package("torch")
nn = torch.nn

IMAGES = 100


def mnist_pool() -> nn.Module:
    """Two convolutions, the first with a pool behind it, and two dense layers."""
    return nn.Sequential(
        nn.Conv2d(1, 8, 4, 2, 1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, 1, 1), nn.ReLU(),
        nn.Flatten(), nn.Linear(16 * 49, 32), nn.ReLU(), nn.Linear(32, 10),
    )  # fmt: skip


def cifar_residual() -> nn.Module:
    """A convolution, a block with batch norm and a straight way, and a dense layer."""
    return nn.Sequential(
        nn.Conv2d(3, 8, 4, 2, 1), nn.ReLU(), Block(8, 16, 2), nn.Flatten(), nn.Linear(16 * 64, 10)
    )


TRAINED = {
    "mnist_pool": (mnist_pool, "mnist", 60_000, 0.15, 2),
    "cifar_residual": (cifar_residual, "cifar10", 20_000, 4 / 255, 2),
}
"""Network, data, training images, radius and epochs."""


def main() -> None:
    """Train both, write them and their images."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    chosen = parser.parse_args()
    need_folder(chosen.data, "DATA", *(f"{data}.npz" for _, data, *_ in TRAINED.values()))
    chosen.out.mkdir(exist_ok=True)
    torch.set_num_threads(1)
    for name, (build, data, images, radius, epochs) in TRAINED.items():
        arrays = np.load(chosen.data / f"{data}.npz")
        torch.manual_seed(0)
        net = build().train()
        x, y = images_of(arrays["x_train"][:images]), arrays["y_train"][:images].astype(np.int64)
        train(net, x, torch.from_numpy(y), radius, epochs)
        tested = images_of(arrays["x_test"])
        with torch.no_grad():
            right = net.eval()(tested).argmax(1).numpy() == arrays["y_test"]
        print(f"{name}: accuracy {right.mean():.3f}", flush=True)
        torch.onnx.export(
            net, (tested[:1],), chosen.out / f"{name}.onnx", dynamo=False,
            input_names=["x"], dynamic_axes={"x": {0: "batch"}},
        )  # fmt: skip
        np.savez_compressed(
            chosen.out / f"{data}_{IMAGES}.npz",
            x=tested[:IMAGES].numpy(),
            y=arrays["y_test"][:IMAGES],
        )


if __name__ == "__main__":
    main()
