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


def opencv() -> dict[str, Each]:
    """One image at a time, one thread."""
    from opencv_operations import OPERATIONS

    return dict(OPERATIONS)


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
