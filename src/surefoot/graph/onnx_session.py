"""Sessions of onnxruntime: one thread, since workers share the cores, and no log of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_FATAL_ONLY = 4
"""Severity from which onnxruntime logs: only what ends the program."""


def quiet_session(model: Path | bytes) -> Any:  # noqa: ANN401  onnxruntime has no types
    """A session on the processor, of a file or of a model in memory."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = _FATAL_ONLY
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
