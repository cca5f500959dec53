"""The same work by other packages: OpenCV and scikit-image image by image, kornia in batches.

Each function takes images as the package wants them (OpenCV and scikit-image: one (h, w, 3)
array; kornia: an (n, 3, h, w) tensor), draws what is random, and keeps values within [0, 1]. Only
operations that a package really has are listed; glass blur is written out as its authors did.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Each = Callable[[np.ndarray], Any]
_rng = np.random.default_rng(0)


def _clip(x: np.ndarray) -> np.ndarray:
    return np.clip(x, 0, 1)


def opencv() -> dict[str, Each]:  # noqa: PLR0915  a table of small functions
    """One image at a time, one thread."""
    import cv2

    cv2.setNumThreads(1)

    def noise(x: np.ndarray, fill: Callable[[np.ndarray], object]) -> np.ndarray:
        noise_values = np.empty_like(x)
        fill(noise_values)
        return cv2.min(cv2.max(cv2.add(x, noise_values), 0), 1)

    def hsv(x: np.ndarray, change: Callable[[np.ndarray], None]) -> np.ndarray:
        turned = cv2.cvtColor(x, cv2.COLOR_RGB2HSV)
        change(turned)
        return _clip(cv2.cvtColor(turned, cv2.COLOR_HSV2RGB))

    def brighter(h: np.ndarray) -> None:
        h[..., 2] = np.clip(h[..., 2] + 0.3, 0, 1)

    def richer(h: np.ndarray) -> None:
        h[..., 1] = np.clip(h[..., 1] * 2, 0, 1)

    def turned(h: np.ndarray) -> None:
        h[..., 0] = (h[..., 0] + 20) % 360

    def warp(x: np.ndarray, matrix: np.ndarray) -> np.ndarray:
        size = x.shape[1::-1]
        return cv2.warpAffine(x, matrix, size, borderMode=cv2.BORDER_REFLECT_101)

    def rotate(x: np.ndarray) -> np.ndarray:
        centre = ((x.shape[1] - 1) / 2, (x.shape[0] - 1) / 2)
        return warp(x, cv2.getRotationMatrix2D(centre, _rng.uniform(-10, 10), 1))

    def shift(x: np.ndarray, across: float, down: float) -> np.ndarray:
        return warp(x, np.float32([[1, 0, across * x.shape[1]], [0, 1, down * x.shape[0]]]))

    def zoom(x: np.ndarray) -> np.ndarray:
        centre = ((x.shape[1] - 1) / 2, (x.shape[0] - 1) / 2)
        return warp(x, cv2.getRotationMatrix2D(centre, 0, 1.2))

    def perspective(x: np.ndarray) -> np.ndarray:
        h, w = x.shape[:2]
        before = np.float32([[0, 0], [w, 0], [0, h], [w, h]])
        after = before + _rng.uniform(-0.1, 0.1, (4, 2)).astype(np.float32) * [w, h]
        matrix = cv2.getPerspectiveTransform(before, after.astype(np.float32))
        return cv2.warpPerspective(x, matrix, (w, h), borderMode=cv2.BORDER_REFLECT_101)

    def elastic(x: np.ndarray) -> np.ndarray:
        h, w = x.shape[:2]
        fields = [
            cv2.GaussianBlur(_rng.uniform(-1, 1, (h, w)).astype(np.float32), (0, 0), w * 0.02)
            for _ in range(2)
        ]
        columns, rows = np.meshgrid(np.arange(w, dtype=np.float32), np.arange(h, dtype=np.float32))
        return cv2.remap(
            x, columns + w * 0.05 * fields[0], rows + h * 0.05 * fields[1], cv2.INTER_LINEAR,
            borderMode=cv2.BORDER_REFLECT_101,
        )  # fmt: skip

    def disk(radius: int) -> np.ndarray:
        line = np.arange(-radius, radius + 1)
        mask = (line[:, None] ** 2 + line[None, :] ** 2 <= radius**2).astype(np.float32)
        return mask / mask.sum()

    def motion(x: np.ndarray) -> np.ndarray:
        size = 31 if x.shape[0] > 64 else 13
        line = np.zeros((size, size), np.float32)
        angle = _rng.uniform(-math.pi / 4, math.pi / 4)
        middle = size // 2
        end = (int(middle + middle * math.cos(angle)), int(middle + middle * math.sin(angle)))
        cv2.line(line, (middle, middle), end, 1.0)
        return cv2.filter2D(x, -1, line / line.sum())

    def zoom_blur(x: np.ndarray) -> np.ndarray:
        h, w = x.shape[:2]
        whole = x.copy()
        factors = np.arange(1, 1.21, 0.02)
        for factor in factors:
            high, wide = math.ceil(h / factor), math.ceil(w / factor)
            top, left = (h - high) // 2, (w - wide) // 2
            whole += cv2.resize(x[top : top + high, left : left + wide], (w, h))
        return whole / (len(factors) + 1)

    def pixelate(x: np.ndarray) -> np.ndarray:
        h, w = x.shape[:2]
        few = cv2.resize(x, (int(w * 0.5), int(h * 0.5)), interpolation=cv2.INTER_AREA)
        return cv2.resize(few, (w, h), interpolation=cv2.INTER_NEAREST)

    def jpeg(x: np.ndarray) -> np.ndarray:
        _, code = cv2.imencode(".jpg", (x * 255).astype(np.uint8), [cv2.IMWRITE_JPEG_QUALITY, 25])
        return cv2.imdecode(code, cv2.IMREAD_COLOR).astype(np.float32) / 255

    def occlude(x: np.ndarray) -> np.ndarray:
        image, side = x.copy(), int(x.shape[0] * 0.3)
        top, left = _rng.integers(0, x.shape[0] - side, 2)
        return cv2.rectangle(
            image, (int(left), int(top)), (int(left) + side, int(top) + side), (0.5,) * 3, -1
        )

    def big(x: np.ndarray) -> bool:
        return x.shape[0] > 64

    return {
        "linf": lambda x: noise(x, lambda m: cv2.randu(m, -0.1, 0.1)),
        "gaussian": lambda x: noise(x, lambda m: cv2.randn(m, (0, 0, 0), (0.1, 0.1, 0.1))),
        "blur": lambda x: cv2.GaussianBlur(x, (0, 0), 3.0 if big(x) else 0.7),
        "defocus": lambda x: cv2.filter2D(x, -1, disk(6 if big(x) else 2)),
        "motion": motion,
        "zoom-blur": zoom_blur,
        "brightness": lambda x: hsv(x, brighter),
        "saturate": lambda x: hsv(x, richer),
        "hue": lambda x: hsv(x, turned),
        "gamma": lambda x: cv2.pow(x, 1.3),
        "contrast": lambda x: _clip((x - cv2.mean(x)[:3]) * 0.4 + cv2.mean(x)[:3]),
        "pixelate": pixelate,
        "jpeg": jpeg,
        "occlusion": occlude,
        "rotation": rotate,
        "translate-x": lambda x: shift(x, 0.1, 0),
        "translate-y": lambda x: shift(x, 0, 0.1),
        "zoom": zoom,
        "shear": lambda x: warp(x, np.float32([[1, 0.17, 0], [0, 1, 0]])),
        "perspective": perspective,
        "elastic": elastic,
    }


def scikit_image() -> dict[str, Each]:
    """One image at a time."""
    from skimage import color, exposure, filters, transform, util

    def brighter(x: np.ndarray) -> np.ndarray:
        turned = color.rgb2hsv(x)
        turned[..., 2] = _clip(turned[..., 2] + 0.3)
        return color.hsv2rgb(turned)

    def richer(x: np.ndarray) -> np.ndarray:
        turned = color.rgb2hsv(x)
        turned[..., 1] = _clip(turned[..., 1] * 2)
        return color.hsv2rgb(turned)

    return {
        "gaussian": lambda x: util.random_noise(x, "gaussian", rng=_rng, var=0.01),
        "impulse": lambda x: util.random_noise(x, "s&p", rng=_rng, amount=0.1),
        "speckle": lambda x: util.random_noise(x, "speckle", rng=_rng, var=0.04),
        "blur": lambda x: filters.gaussian(x, 3.0 if x.shape[0] > 64 else 0.7, channel_axis=-1),
        "brightness": brighter,
        "saturate": richer,
        "gamma": lambda x: exposure.adjust_gamma(x, 1.3),
        "rotation": lambda x: transform.rotate(x, _rng.uniform(-10, 10), mode="reflect"),
    }


def published() -> dict[str, Each]:
    """What the authors of the corruptions do with NumPy; one of them needs scikit-image."""
    operations: dict[str, Each] = {"shot": lambda x: _clip(_rng.poisson(x * 25) / 25.0)}
    try:
        from skimage.filters import gaussian
    except ImportError:
        return operations

    def glass(x: np.ndarray) -> np.ndarray:
        y = gaussian(x, 0.4, channel_axis=-1)
        for h in range(x.shape[0] - 2, 1, -1):
            for w in range(x.shape[1] - 2, 1, -1):
                dx, dy = _rng.integers(-1, 1, size=(2,))
                y[h, w], y[h + dy, w + dx] = y[h + dy, w + dx].copy(), y[h, w].copy()
        return _clip(gaussian(y, 0.4, channel_axis=-1))

    return operations | {"glass": glass}


def kornia_batches() -> dict[str, Each]:
    """Whole batches, one thread."""
    import kornia
    import kornia.augmentation as k
    import torch

    torch.set_num_threads(1)
    enhance, turn = kornia.enhance, kornia.geometry.transform

    def angles(x: torch.Tensor) -> torch.Tensor:
        return torch.rand(len(x)) * 20 - 10

    def blur(x: torch.Tensor) -> torch.Tensor:
        sigma = 3.0 if x.shape[-1] > 64 else 0.7
        size = 2 * math.ceil(4 * sigma) + 1
        return kornia.filters.gaussian_blur2d(x, (size, size), (sigma, sigma))

    def motion(x: torch.Tensor) -> torch.Tensor:
        size = 31 if x.shape[-1] > 64 else 13
        return kornia.filters.motion_blur(x, size, angles(x) * 4.5, torch.zeros(len(x)))

    def brighter(x: torch.Tensor) -> torch.Tensor:
        turned = kornia.color.rgb_to_hsv(x)
        turned[:, 2].add_(0.3).clamp_(0, 1)
        return kornia.color.hsv_to_rgb(turned)

    def affine(**how: Any) -> Each:  # noqa: ANN401
        operation: Each = k.RandomAffine(0.0, p=1.0, **how)
        return operation

    return {
        "gaussian": k.RandomGaussianNoise(std=0.1, p=1.0),
        "impulse": k.RandomSaltAndPepperNoise(amount=0.1, p=1.0),
        "blur": blur,
        "motion": motion,
        "brightness": brighter,
        "contrast": lambda x: enhance.adjust_contrast_with_mean_subtraction(x, 0.4),
        "saturate": lambda x: enhance.adjust_saturation(x, 2.0),
        "hue": lambda x: enhance.adjust_hue(x, 0.35),
        "gamma": lambda x: enhance.adjust_gamma(x, 1.3),
        "jpeg": lambda x: enhance.jpeg_codec_differentiable(x, torch.full((1,), 25.0)),
        "occlusion": k.RandomErasing((0.09, 0.09), (1.0, 1.0), p=1.0),
        "rotation": lambda x: turn.rotate(x, angles(x), padding_mode="reflection"),
        "translate-x": affine(translate=(0.1, 0.0)),
        "translate-y": affine(translate=(0.0, 0.1)),
        "zoom": affine(scale=(1.2, 1.2)),
        "shear": affine(shear=(10.0, 10.0)),
        "perspective": k.RandomPerspective(0.2, p=1.0),
        "elastic": k.RandomElasticTransform(p=1.0),
    }
