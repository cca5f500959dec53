"""The networks and images of the attack benchmark, from one folder.

Two are trained here, adversarially (one signed step from a random point: Wong, Rice & Kolter 2020,
*Fast is better than free*), since a network that anything breaks tells attacks apart as little as
one that nothing does: a residual network for CIFAR-10 and a convolutional one for Fashion-MNIST.

    python benchmarks/attack_networks.py DATA OUT [--epochs 6]

DATA holds cifar10.npz, fashion_mnist.npz and mnist.npz (x_train, y_train, x_test, y_test, bytes);
OUT gets the weights and the first 400 test images of each.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from prerequisites import need_package

torch = need_package("torch")
nn = torch.nn

IMAGES = 400


class Block(nn.Module):
    """Two convolutions beside a straight way."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU(),
            nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after),
        )  # fmt: skip
        self.way = nn.Conv2d(before, after, 1, stride) if before != after else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The sum of both, cut at zero."""
        return torch.relu(self.body(x) + self.way(x))


def cifar_residual() -> nn.Module:
    """Six convolutional layers and three that join, 10 classes."""
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(),
        Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip


def fashion_robust() -> nn.Module:
    """Two convolutional layers and two dense ones."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 4, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 4, 2, 1), nn.ReLU(),
        nn.Flatten(), nn.Linear(32 * 49, 100), nn.ReLU(), nn.Linear(100, 10),
    )  # fmt: skip


TRAINED = {"cifar_residual": cifar_residual, "fashion_robust": fashion_robust}
SETS = {"cifar_residual": ("cifar10", 8 / 255), "fashion_robust": ("fashion_mnist", 0.1)}


def images_of(data: np.ndarray) -> torch.Tensor:
    """Channels first, within 0 and 1."""
    rows = data[:, None] if data.ndim == 3 else data.transpose(0, 3, 1, 2)
    return torch.from_numpy(np.ascontiguousarray(rows, np.float32) / 255)


def train(net: nn.Module, x: torch.Tensor, y: torch.Tensor, radius: float, epochs: int) -> None:
    """Cross-entropy at the end of one signed step of 1.25 radii from a random point."""
    rng, batch = torch.Generator().manual_seed(0), 128
    steps = epochs * (len(x) // batch)
    optimiser = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 0.1, total_steps=steps)
    loss_of = nn.functional.cross_entropy
    for _ in range(epochs):
        for rows in torch.randperm(len(x), generator=rng).split(batch)[: len(x) // batch]:
            clean, labels = x[rows], y[rows]
            noise = radius * (2 * torch.rand(clean.shape, generator=rng) - 1)
            at = (clean + noise).requires_grad_()
            (slope,) = torch.autograd.grad(loss_of(net(at), labels), at)
            moved = (noise + 1.25 * radius * slope.sign()).clamp(-radius, radius)
            optimiser.zero_grad()
            loss_of(net((clean + moved).clamp(0, 1)), labels).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimiser.step()
            schedule.step()


def main() -> None:
    """Train both and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--images", type=int, default=20_000, help="training images")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    chosen.out.mkdir(parents=True, exist_ok=True)
    for name, build in TRAINED.items():
        data, radius = SETS[name]
        arrays = np.load(chosen.data / f"{data}.npz")
        torch.manual_seed(0)
        net = build().train()
        x, y = images_of(arrays["x_train"][: chosen.images]), arrays["y_train"][: chosen.images]
        train(net, x, torch.from_numpy(y.astype(np.int64)), radius, chosen.epochs)
        tested = images_of(arrays["x_test"][:1000])
        with torch.no_grad():
            right = net.eval()(tested).argmax(1).numpy() == arrays["y_test"][:1000]
        print(f"{name}: accuracy {right.mean():.3f}", flush=True)
        torch.save(net.state_dict(), chosen.out / f"{name}.pt")
    for data in ("cifar10", "fashion_mnist", "mnist"):
        arrays = np.load(chosen.data / f"{data}.npz")
        images = {"x": arrays["x_test"][:IMAGES], "y": arrays["y_test"][:IMAGES]}
        np.savez_compressed(chosen.out / f"{data}_{IMAGES}.npz", **images)


if __name__ == "__main__":
    main()
