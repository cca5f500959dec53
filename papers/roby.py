"""ROBY's own perturbations, to the letter of its source, and the experiment of its repository.

github.com/fmselab/roby, its package and roby_Use/breast-cancer. What is odd there is kept:
translations crop at every level but 0, noise is not clipped, and where rounding leaves a zoomed
image smaller than its frame, its last row and column alone are stretched over it.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray
from PIL import Image, ImageFilter
from scipy.ndimage import zoom

import surefoot as sf

Bytes = NDArray[np.uint8]
"""Images as OpenCV reads them: (images, channels, height, width), blue first."""
_VARIANCE = {1: 0.01, 3: 200 / 255**2}
"""Of its noise at level 1, of values in [0, 1], by channels: its MNIST and its breast cancer."""
_FRAME, _EDGE, _STEP = 200, 20, 20
"""Pixels to which it enlarges an image that is moved, cuts off at an edge, and moves at level 1."""


@dataclass(frozen=True)
class Roby:
    """One of ROBY's perturbations, with its own levels; `name` is that of ours."""

    level: float | None
    name: str
    signed = True
    view = sf.perturb.Zoom.view

    @property
    def kind(self) -> str:
        """Its name."""
        return f"roby-{self.name}"

    @property
    def phrase(self) -> str:
        """What it does."""
        return f"{self.name} as ROBY does it, at its level {{level}}"

    def levels(self, bounds: Any) -> sf.results.Interval:
        """Those of the paper."""
        return sf.results.Interval(0.0, 1.0)

    def draw(self, stream: Any, n: int, shape: tuple[int, ...]) -> Any:
        """Normal numbers for noise, nothing else."""
        return stream.normal((n, *shape)) if self.name == "gaussian" else stream.uniform((n, 0))

    def apply(self, x: Any, drawn: Any, level: Any, bounds: Any) -> Any:
        """On the CPU; an image has 256 values, but under noise."""
        ends = bounds or sf.results.Interval(0.0, 1.0)
        n, host = len(drawn), np.asarray(x, dtype=np.float32)
        unit = np.repeat(host, n // len(host), axis=0)
        unit = (unit - np.float32(ends.low)) / np.float32(ends.width)
        each = np.broadcast_to(np.asarray(level, dtype=np.float64).ravel(), n)
        for one in np.unique(each[each != 0]).tolist():
            here = each == one
            if self.name == "gaussian":
                deviation = np.sqrt(_VARIANCE[unit.shape[1]] * one)
                unit[here] += np.float32(deviation) * np.asarray(drawn)[here]
            else:
                images = np.rint(255 * unit[here]).clip(0, 255).astype(np.uint8)
                unit[here] = _changed(self.name, images, one) / np.float32(255)
        done = unit * np.float32(ends.width) + np.float32(ends.low)
        return array_namespace(x).asarray(done, device=device(x))


def _changed(name: str, images: Bytes, level: float) -> Bytes:
    """All of these images at one level."""
    *_, height, width = images.shape
    match name:
        case "brightness":
            return np.asarray(np.minimum(images * (1 + level / 2), 255), dtype=np.uint8)
        case "zoom":
            factor, rows, columns = 1 + level, *(round(n / (1 + level)) for n in (height, width))
            top, left = (height - rows) // 2, (width - columns) // 2
            inner = images[..., top : top + rows, left : left + columns]
            down, across = (zoom(np.eye(n), (factor, 1)) for n in (rows, columns))
            top, left = (len(down) - height) // 2, (len(across) - width) // 2
            large = _linear(down, inner, across)
            return _resized(large[..., top : top + height, left : left + width], height, width)
        case "translate-x" | "translate-y":
            moved = int(level * _STEP)
            large = _resized(images, _FRAME, _FRAME)
            along, across = slice(_EDGE + moved, _FRAME - _EDGE - 1 + moved), slice(_EDGE, -_EDGE)
            row, column = (along, across) if name == "translate-y" else (across, along)
            return _resized(large[..., row, column], height, width)
    each = [_by_pillow(name, np.moveaxis(image[::-1], 0, -1), level) for image in images]
    return np.stack([np.moveaxis(image, -1, 0)[::-1] for image in each])


def _by_pillow(name: str, image: Bytes, level: float) -> Bytes:
    """Compression or blur of one image, height first, in the usual order of colours."""
    drawn = Image.fromarray(image if image.shape[-1] == 3 else image[..., 0])
    if name == "blur":
        changed = drawn.filter(ImageFilter.GaussianBlur(2 * level))
    else:
        file = io.BytesIO()
        drawn.save(file, "JPEG", quality=max(1, int(100 - 100 * level)))
        changed = Image.open(file)
    return np.asarray(changed).reshape(image.shape)


def _linear(down: Any, images: Bytes, across: Any) -> Bytes:
    """The images after one matrix for their rows and one for their columns."""
    return np.asarray(np.rint(down @ images @ across.T).clip(0, 255), dtype=np.uint8)


def _resized(images: Bytes, height: int, width: int) -> Bytes:
    """As OpenCV's bilinear resize, which averages nothing when it makes an image smaller."""
    rows, columns = images.shape[-2:]
    return _linear(_between(height, rows), images, _between(width, columns))


def _between(new: int, old: int) -> NDArray[np.float64]:
    """The matrix of linear interpolation at the middles of the new pixels."""
    at = ((np.arange(new) + 0.5) * old / new - 0.5).clip(0, old - 1)
    return np.asarray(np.maximum(0, 1 - np.abs(at[:, None] - np.arange(old))))


def breast_cancer(clone: str) -> None:
    """Write medical.h5 and breast_cancer.npz, of the experiment in a clone of its repository."""
    folder = Path(clone) / "code/roby_Use/breast-cancer"
    files = sorted((folder / "images").glob("*.png"))
    images = [np.asarray(Image.open(file).convert("RGB"))[..., ::-1] / 255 for file in files]
    labels = [int(file.stem[-1]) for file in files]
    np.savez("breast_cancer.npz", x=np.stack(images).astype(np.float32), y=labels)
    copyfile(folder / "model/Medical.model", "medical.h5")
