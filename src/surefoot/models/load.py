"""One function that loads every kind of model.

A new kind of model is an adapter module with a function `(source, options) -> Model` and one line
in a table below.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidArgument
from surefoot.models.load_options import LoadOptions, interval, normalisation, scores_kind
from surefoot.models.onnx import open_onnx
from surefoot.models.pickles import open_pickle
from surefoot.models.python import import_object, is_predictor, wrap_callable
from surefoot.models.torch import is_module, open_torch, wrap_module
from surefoot.results import Interval
from surefoot.subject import Model

_PYTHON_NAME = re.compile(r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")


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
    where the output does not tell; "values" where it is numbers of any shape that are no class
    scores (a regressor, a segmentation); "objects" where each input gets an object (boxes).
    `shape`: of one input, where the model does not say.
    `half`: run a PyTorch model in half precision; the preflight tells how often labels differ.
    `trust`: allow reading files that can run code.
    """
    options = LoadOptions(
        bounds=interval(bounds),
        normalise=normalisation(mean, std),
        scores=scores_kind(scores),
        shape=None if shape is None else tuple(int(n) for n in shape),
        output=output,
        device=device,
        half=half,
        trust=trust,
    )
    if isinstance(source, str) and _PYTHON_NAME.match(source) and not Path(source).exists():
        source = import_object(source)
    if isinstance(source, str | Path):
        return _from_file(Path(source), options)
    return _from_object(source, options)


def _from_file(path: Path, options: LoadOptions) -> Model:
    if not path.is_file():
        raise InvalidArgument(f"there is no model file {path}: check the path")
    load = _FILES.get(path.suffix.lower())
    if load is None:
        raise InvalidArgument(
            f"{path}: models are read from .onnx, .pt2 (torch.export), .pt (TorchScript), and with "
            f"--trust .pkl and .joblib; {path.suffix or 'no suffix'} is none of them"
        )
    return load(path, options)


def _from_object(source: Any, options: LoadOptions) -> Model:  # noqa: ANN401
    for matches, wrap in _OBJECTS:
        if matches(source):
            return wrap(source, options)
    raise InvalidArgument(
        f"{type(source).__name__} is no model: give a file, a PyTorch module, an object "
        "with predict_proba, or a function of a batch"
    )


def _from_pickle(path: Path, options: LoadOptions) -> Model:
    return open_pickle(path, options, _from_object)


_FILES: Mapping[str, Callable[[Path, LoadOptions], Model]] = {
    ".onnx": open_onnx,
    **dict.fromkeys((".pt2", ".pt", ".pth", ".ts", ".jit"), open_torch),
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), _from_pickle),
}
"""The loader of each kind of file, by its suffix."""

_OBJECTS: tuple[tuple[Callable[[Any], bool], Callable[[Any, LoadOptions], Model]], ...] = (
    (is_module, wrap_module),
    (is_predictor, wrap_callable),
)
"""The wrapper of each kind of object in memory; the first that matches is taken."""
