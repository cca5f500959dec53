"""The work of OpenCV, one image at a time and in one thread; `peers.py` says what an image is."""

from __future__ import annotations

import math
from collections.abc import Callable

import cv2
import numpy as np

cv2.setNumThreads(1)
_rng = np.random.default_rng(0)


def _clip(x: np.ndarray) -> np.ndarray:
    """Within [0, 1]."""
    return np.clip(x, 0, 1)


def _noise(x: np.ndarray, fill: Callable[[np.ndarray], object]) -> np.ndarray:
    noise_values = np.empty_like(x)
    fill(noise_values)
    return cv2.min(cv2.max(cv2.add(x, noise_values), 0), 1)


def _hsv(x: np.ndarray, change: Callable[[np.ndarray], None]) -> np.ndarray:
    turned = cv2.cvtColor(x, cv2.COLOR_RGB2HSV)
    change(turned)
    return _clip(cv2.cvtColor(turned, cv2.COLOR_HSV2RGB))


def _brighter(h: np.ndarray) -> None:
    h[..., 2] = np.clip(h[..., 2] + 0.3, 0, 1)


def _richer(h: np.ndarray) -> None:
    h[..., 1] = np.clip(h[..., 1] * 2, 0, 1)


def _other_hue(h: np.ndarray) -> None:
    h[..., 0] = (h[..., 0] + 20) % 360


def _warp(x: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    size = x.shape[1::-1]
    return cv2.warpAffine(x, matrix, size, borderMode=cv2.BORDER_REFLECT_101)


def _rotate(x: np.ndarray) -> np.ndarray:
    centre = ((x.shape[1] - 1) / 2, (x.shape[0] - 1) / 2)
    return _warp(x, cv2.getRotationMatrix2D(centre, _rng.uniform(-10, 10), 1))


def _shift(x: np.ndarray, across: float, down: float) -> np.ndarray:
    return _warp(x, np.array([[1, 0, across * x.shape[1]], [0, 1, down * x.shape[0]]], np.float32))


def _zoom(x: np.ndarray) -> np.ndarray:
    centre = ((x.shape[1] - 1) / 2, (x.shape[0] - 1) / 2)
    return _warp(x, cv2.getRotationMatrix2D(centre, 0, 1.2))


def _perspective(x: np.ndarray) -> np.ndarray:
    h, w = x.shape[:2]
    before = np.array([[0, 0], [w, 0], [0, h], [w, h]], np.float32)
    after = before + _rng.uniform(-0.1, 0.1, (4, 2)).astype(np.float32) * [w, h]
    matrix = cv2.getPerspectiveTransform(before, after.astype(np.float32))
    return cv2.warpPerspective(x, matrix, (w, h), borderMode=cv2.BORDER_REFLECT_101)


def _elastic(x: np.ndarray) -> np.ndarray:
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


def _disk(radius: int) -> np.ndarray:
    line = np.arange(-radius, radius + 1)
    mask = (line[:, None] ** 2 + line[None, :] ** 2 <= radius**2).astype(np.float32)
    return mask / mask.sum()


def _motion(x: np.ndarray) -> np.ndarray:
    size = 31 if x.shape[0] > 64 else 13
    line = np.zeros((size, size), np.float32)
    angle = _rng.uniform(-math.pi / 4, math.pi / 4)
    middle = size // 2
    end = (int(middle + middle * math.cos(angle)), int(middle + middle * math.sin(angle)))
    cv2.line(line, (middle, middle), end, 1.0)
    return cv2.filter2D(x, -1, line / line.sum())


def _zoom_blur(x: np.ndarray) -> np.ndarray:
    h, w = x.shape[:2]
    whole = x.copy()
    factors = np.arange(1, 1.21, 0.02)
    for factor in factors:
        high, wide = math.ceil(h / factor), math.ceil(w / factor)
        top, left = (h - high) // 2, (w - wide) // 2
        whole += cv2.resize(x[top : top + high, left : left + wide], (w, h))
    return whole / (len(factors) + 1)


def _pixelate(x: np.ndarray) -> np.ndarray:
    h, w = x.shape[:2]
    few = cv2.resize(x, (int(w * 0.5), int(h * 0.5)), interpolation=cv2.INTER_AREA)
    return cv2.resize(few, (w, h), interpolation=cv2.INTER_NEAREST)


def _jpeg(x: np.ndarray) -> np.ndarray:
    _, code = cv2.imencode(".jpg", (x * 255).astype(np.uint8), [cv2.IMWRITE_JPEG_QUALITY, 25])
    return cv2.imdecode(code, cv2.IMREAD_COLOR).astype(np.float32) / 255


def _occlude(x: np.ndarray) -> np.ndarray:
    image, side = x.copy(), int(x.shape[0] * 0.3)
    top, left = _rng.integers(0, x.shape[0] - side, 2)
    return cv2.rectangle(
        image, (int(left), int(top)), (int(left) + side, int(top) + side), (0.5,) * 3, -1
    )


def _big(x: np.ndarray) -> bool:
    return x.shape[0] > 64


OPERATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "linf": lambda x: _noise(x, lambda m: cv2.randu(m, -0.1, 0.1)),
    "gaussian": lambda x: _noise(x, lambda m: cv2.randn(m, (0, 0, 0), (0.1, 0.1, 0.1))),
    "blur": lambda x: cv2.GaussianBlur(x, (0, 0), 3.0 if _big(x) else 0.7),
    "defocus": lambda x: cv2.filter2D(x, -1, _disk(6 if _big(x) else 2)),
    "motion": _motion,
    "zoom-blur": _zoom_blur,
    "brightness": lambda x: _hsv(x, _brighter),
    "saturate": lambda x: _hsv(x, _richer),
    "hue": lambda x: _hsv(x, _other_hue),
    "gamma": lambda x: cv2.pow(x, 1.3),
    "contrast": lambda x: _clip((x - cv2.mean(x)[:3]) * 0.4 + cv2.mean(x)[:3]),
    "pixelate": _pixelate,
    "jpeg": _jpeg,
    "occlusion": _occlude,
    "rotation": _rotate,
    "translate-x": lambda x: _shift(x, 0.1, 0),
    "translate-y": lambda x: _shift(x, 0, 0.1),
    "zoom": _zoom,
    "shear": lambda x: _warp(x, np.array([[1, 0.17, 0], [0, 1, 0]], np.float32)),
    "perspective": _perspective,
    "elastic": _elastic,
}
