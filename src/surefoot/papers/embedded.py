"""The networks and images that come with the package."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

_DATA = Path(str(files("surefoot") / "data"))
MODELS = {"fashion-cnn": _DATA / "fashion_cnn.onnx"}
"""Small networks for Fashion-MNIST, by name."""
PROVABLE = {"fashion-dense": _DATA / "fashion_dense.onnx"}
"""A network of 16 ReLUs for the same images, whose radii are proved in fractions of a second."""
IMAGES = _DATA / "fashion_test.npz"
"""300 test images, the first 30 of each class."""
BOUNDS = (0.0, 1.0)
"""The range of their pixels."""
