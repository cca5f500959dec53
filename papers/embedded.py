"""The networks and images that come with the package."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

_DATA = Path(str(files("surefoot") / "data"))
MODELS = {
    "fashion-cnn": _DATA / "fashion_cnn.onnx",
    "fashion-mlp-noise": _DATA / "fashion_mlp_noise.onnx",
}
"""Small networks for Fashion-MNIST, by name."""
PROVABLE = {"fashion-mlp-noise": MODELS["fashion-mlp-noise"]}
"""Those whose radii are proved in seconds: one hidden layer of 32 ReLUs."""
IMAGES = _DATA / "fashion_test.npz"
"""300 test images, the first 30 of each class."""
BOUNDS = (0.0, 1.0)
"""The range of their pixels."""
