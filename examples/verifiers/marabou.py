"""Marabou as an external verifier: `python marabou.py ONNX VNNLIB SECONDS RESULT`.

    pip install 'surefoot[marabou]'

Marabou reads the network by itself, so its answer is independent of surefoot's. One question for
each other label; the answer is written as in VNN-COMP.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from surefoot.verify.vnnlib import read_property


def marabou() -> object:
    """The package; its wheel for ARM does not name the library of atomics that it needs."""
    with contextlib.suppress(OSError):
        ctypes.CDLL("libatomic.so.1", mode=ctypes.RTLD_GLOBAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from maraboupy import Marabou
    return Marabou


def answer(onnx: str, vnnlib: str, seconds: float) -> str:
    """`unsat`, `timeout`, or `sat` and the point."""
    wanted = read_property(Path(vnnlib).read_text())
    ends = time.monotonic() + seconds
    tool = marabou()
    for other in range(wanted.classes):
        if other == wanted.label:
            continue
        network = tool.read_onnx(onnx)
        inputs = np.concatenate([np.asarray(v).reshape(-1) for v in network.inputVars])
        outputs = np.asarray(network.outputVars[0]).reshape(-1)
        for variable, lower, upper in zip(inputs, wanted.lower, wanted.upper, strict=True):
            network.setLowerBound(variable, lower)
            network.setUpperBound(variable, upper)
        # score of the label − other score ≤ 0
        network.addInequality([outputs[wanted.label], outputs[other]], [1.0, -1.0], 0.0)
        left = max(1, int(ends - time.monotonic()))
        options = tool.createOptions(timeoutInSeconds=left, verbosity=0)
        word, values, _ = network.solve(verbose=False, options=options)
        if word == "sat":
            pairs = "\n".join(f"(X_{i} {values[v]:.17g})" for i, v in enumerate(inputs))
            return f"sat\n({pairs})\n"
        if word != "unsat":
            return "timeout\n"
    return "unsat\n"


if __name__ == "__main__":
    _, model, question, limit, result = sys.argv
    Path(result).write_text(answer(model, question, float(limit)))
