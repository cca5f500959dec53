"""Adapters: ONNX files, PyTorch modules and exports, `predict_proba`, Python callables."""

from surefoot.models.load import load_model
from surefoot.models.scores import as_probabilities

__all__ = ["as_probabilities", "load_model"]
