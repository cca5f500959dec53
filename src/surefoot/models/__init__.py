"""Adapters: ONNX files, PyTorch modules and exports, `predict_proba`, Python callables."""

from surefoot.models.load import declared_shape, load_model
from surefoot.models.scores import as_probabilities

__all__ = ["as_probabilities", "declared_shape", "load_model"]
