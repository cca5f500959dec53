"""One door for every kind of classifier."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import InvalidArgument
from surefoot.models.onnx import open_onnx
from surefoot.models.prepare import Normalise
from surefoot.models.python import named_object, unpickled, wrap_callable
from surefoot.models.torch import read_module, wrap_module
from surefoot.results import Interval
from surefoot.subject import Model, Scores

_NAME = re.compile(r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")
_TORCH = {".pt2", ".pt", ".pth", ".ts", ".jit"}
_PICKLES = {".pkl", ".pickle", ".joblib"}


def load_model(
    source: Any,  # noqa: ANN401
    *,
    bounds: Sequence[float] | Interval | None = None,
    mean: Sequence[float] | float | None = None,
    std: Sequence[float] | float | None = None,
    scores: str | None = None,
    shape: Sequence[int] | None = None,
    output: str | None = None,
    device: str | None = None,
    half: bool = False,
    trust: bool = False,
) -> Model:
    """A model from a file, a name `package.module:function`, a module, an estimator, a callable.

    `bounds`: the range of input values (perturbed inputs are clipped to it). `mean`, `std`:
    normalisation between the perturbation and the network. `scores`: "logits" or "probabilities"
    where the output does not tell. `shape`: of one input, where the model does not say.
    `half`: run a PyTorch model in half precision; the preflight tells how often labels differ.
    `trust`: allow reading files that can run code.
    """
    shift, divisor = _numbers(mean, 0.0), _numbers(std, 1.0)
    normalise = Normalise(
        shift * len(divisor) if mean is None else shift,
        divisor * len(shift) if std is None else divisor,
    )
    told: dict[str, Any] = {
        "bounds": _interval(bounds),
        "normalise": normalise,
        "scores": _scores(scores),
        "shape": None if shape is None else tuple(int(n) for n in shape),
    }
    if isinstance(source, str) and _NAME.match(source) and not Path(source).exists():
        source = named_object(source)
    onnx_file = isinstance(source, str | Path) and str(source).lower().endswith(".onnx")
    if output is not None and not onnx_file:
        raise InvalidArgument(f"output {output!r}: only an ONNX file has outputs to choose from")
    if device is not None and (onnx_file or hasattr(source, "predict_proba")):
        raise InvalidArgument(f"device {device!r}: only PyTorch models can be moved to a device")
    if half and (onnx_file or hasattr(source, "predict_proba")):
        raise InvalidArgument("half precision is for PyTorch models: leave it out")
    if not isinstance(source, str | Path):
        if hasattr(source, "state_dict") and hasattr(source, "forward"):
            return wrap_module(source, device=device, half=half, **told)
        if hasattr(source, "predict_proba") or callable(source):
            return wrap_callable(source, **told)
        raise InvalidArgument(
            f"{type(source).__name__} is no classifier: give a file, a PyTorch module, an object "
            "with predict_proba, or a function of a batch"
        )
    path = Path(source)
    if not path.is_file():
        raise InvalidArgument(f"there is no model file {path}: check the path")
    suffix = path.suffix.lower()
    if suffix == ".onnx":
        return open_onnx(path, output=output, **told)
    if suffix in _TORCH:
        content = _file_digest(path)
        module = read_module(path, trust)
        covers = "the bytes of the file"
        return wrap_module(module, device=device, half=half, digest=content, covers=covers, **told)
    if suffix in _PICKLES:
        if not trust:
            raise InvalidArgument(
                f"{path} is a pickle; reading one can run any code: convert the model to ONNX, "
                "or say --trust (trust=True) if you made the file yourself"
            )
        loaded: Any = load_model(
            unpickled(path),
            bounds=bounds,
            mean=mean,
            std=std,
            scores=scores,
            shape=shape,
            device=device,
            half=half,
        )
        content = hashlib.sha256(path.read_bytes()).hexdigest()  # pickled again, trees may differ
        signed = replace(loaded.signature, digest=content, covers="the bytes of the file")
        found: Model = replace(loaded, signature=signed)
        return found
    raise InvalidArgument(
        f"{path}: models are read from .onnx, .pt2 (torch.export), .pt (TorchScript), and with "
        f"--trust .pkl and .joblib; {path.suffix or 'no suffix'} is none of them"
    )


def _numbers(values: Sequence[float] | float | None, default: float) -> tuple[float, ...]:
    if values is None:
        return (default,)
    return tuple(float(v) for v in np.atleast_1d(np.asarray(values)))


def _interval(bounds: Sequence[float] | Interval | None) -> Interval | None:
    if bounds is None or isinstance(bounds, Interval):
        return bounds
    if len(bounds) != 2 or not -math.inf < bounds[0] < bounds[1] < math.inf:
        raise InvalidArgument(
            f"bounds are two finite numbers, the lower first, got {tuple(bounds)}"
        )
    return Interval(float(bounds[0]), float(bounds[1]))


def _scores(name: str | None) -> Scores | None:
    if name is None:
        return None
    try:
        return Scores(name)
    except ValueError:
        raise InvalidArgument(f"scores are 'logits' or 'probabilities', got {name!r}") from None


def _file_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
