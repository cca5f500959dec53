"""Adapters: ONNX files, PyTorch modules and exports, `predict_proba`, Python callables.

What loads a model imports every adapter; a worker process needs the one of its own model.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surefoot.models.load import declared_shape, load_model
    from surefoot.models.scores import as_probabilities

__all__ = ["as_probabilities", "declared_shape", "load_model"]


def __getattr__(name: str) -> Any:  # noqa: ANN401  one of these
    if name not in __all__:
        raise AttributeError(f"module 'surefoot.models' has no attribute {name!r}")
    home = "scores" if name == "as_probabilities" else "load"
    return getattr(import_module(f"surefoot.models.{home}"), name)
