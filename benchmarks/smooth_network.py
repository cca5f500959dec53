"""A residual network for small images, trained with Gaussian noise: minutes on a GPU."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from prerequisites import need_package

_BATCH, _RATE, _DECAY = 512, 0.4, 5e-4


def train(x: np.ndarray, y: np.ndarray, sigma: float, epochs: int, device: str) -> Any:  # noqa: ANN401
    """A module of logits, for images in [0, 1] of shape (channels, height, width)."""
    torch = need_package("torch")
    torch.manual_seed(1)
    images = torch.as_tensor(np.ascontiguousarray(_first(x)), device=device)
    labels = torch.as_tensor(y.astype(np.int64).ravel(), device=device)
    net = network(images.shape[1], int(labels.max()) + 1, width=64 if device != "cpu" else 8)
    net = net.to(device)
    steps = epochs * (len(images) // _BATCH)
    optimiser = torch.optim.SGD(
        net.parameters(), lr=_RATE / 4, momentum=0.9, weight_decay=_DECAY, nesterov=True
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, _RATE / 4, total_steps=steps)
    begun, done = time.perf_counter(), 0
    for epoch in range(epochs):
        order = torch.randperm(len(images), device=device)
        right = 0
        for start in range(0, len(order) - _BATCH + 1, _BATCH):
            rows = order[start : start + _BATCH]
            clean = _augmented(images[rows].float() / 255)
            noisy = clean + sigma * torch.randn_like(clean)
            with torch.autocast(device.partition(":")[0], torch.bfloat16, enabled=device != "cpu"):
                logits = net(noisy)
            loss = torch.nn.functional.cross_entropy(logits.float(), labels[rows])
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
            if done < steps:
                schedule.step()
            done += 1
            right += int((logits.argmax(1) == labels[rows]).sum())
        share, seconds = right / (len(order) // _BATCH * _BATCH), time.perf_counter() - begun
        print(f"sigma {sigma:g}, epoch {epoch + 1}: {share:.3f} right, {seconds:.0f} s", flush=True)
    return net.eval().float()


def network(channels: int, classes: int, width: int) -> Any:  # noqa: ANN401
    """Eight convolutions in two residual pairs: the ResNet-9 of fast CIFAR-10 training."""
    from torch import nn

    def conv(into: int, out: int, pool: bool = False) -> nn.Sequential:
        layers = [nn.Conv2d(into, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.ReLU()]
        return nn.Sequential(*layers, *([nn.MaxPool2d(2)] if pool else []))

    class Residual(nn.Module):
        def __init__(self, size: int) -> None:
            super().__init__()
            self.inside = nn.Sequential(conv(size, size), conv(size, size))

        def forward(self, x: Any) -> Any:  # noqa: ANN401
            return x + self.inside(x)

    return nn.Sequential(
        conv(channels, width), conv(width, 2 * width, pool=True), Residual(2 * width),
        conv(2 * width, 4 * width, pool=True), conv(4 * width, 8 * width, pool=True),
        Residual(8 * width), nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(8 * width, classes),
    )  # fmt: skip


def _first(x: np.ndarray) -> np.ndarray:
    """Channels first."""
    return x[:, None] if x.ndim == 3 else np.moveaxis(x, -1, 1)


def _augmented(x: Any) -> Any:  # noqa: ANN401
    """Turned left to right at random, and shifted by up to four pixels, all of a batch alike."""
    import torch

    flip = torch.rand(len(x), 1, 1, 1, device=x.device) < 0.5
    x = torch.where(flip, x.flip(3), x)
    padded = torch.nn.functional.pad(x, (4, 4, 4, 4))
    down, right = torch.randint(0, 9, (2,)).tolist()
    return padded[:, :, down : down + x.shape[2], right : right + x.shape[3]]
