"""One function that loads every kind of model.

A new kind of model is an adapter module with a function `(source, options) -> Model` and one line
in a table below.
"""

from __future__ import annotations

import importlib
import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from surefoot.core.results import Interval
from surefoot.errors import INTERRUPTS, InvalidArgument
from surefoot.models import python
from surefoot.models.archive import export_input_shape
from surefoot.models.call_limit import USUAL_SECONDS, checked_limit, limit_of_program
from surefoot.models.endpoint import endpoint_input_shape, open_endpoint
from surefoot.models.endpoint_connection import is_address, refuse_unused_variable
from surefoot.models.keras import keras_input_shape, open_keras
from surefoot.models.load_options import LoadOptions, Source, interval, normalisation, scores_kind
from surefoot.models.onnx import onnx_input_shape, open_onnx
from surefoot.models.torch import is_module, open_torch, wrap_module
from surefoot.subject.inputs import Feature, Inputs
from surefoot.subject.protocols import Item, Model
from surefoot.system.user_code import error_text, missing_code


def open_pickle(
    path: Path, options: LoadOptions, wrap: Callable[[Source, LoadOptions], Model]
) -> Model:
    """The model in a trusted pickle or joblib file; `wrap` turns the object into a model."""
    if not options.trust:
        raise InvalidArgument(
            f"{path} is a pickle; reading one can run any code: convert the model to ONNX, "
            "or pass --trust (trust=True) if you made the file yourself"
        )
    loaded = wrap(_read(path), replace(options, trust=False))
    return python.named_by_file(loaded, path, "the bytes of the pickle")


def _read(path: Path) -> Source:
    """The object in a trusted pickle or joblib file."""
    try:
        if path.suffix.lower() == ".joblib":
            return importlib.import_module("joblib").load(path)
        with path.open("rb") as file:
            return pickle.load(file)  # noqa: S301  the caller said the file is trusted
    except INTERRUPTS:
        raise
    except BaseException as error:
        missing = missing_code(error)
        again = f"{missing}, or save" if missing else "save"
        raise InvalidArgument(
            f"{path} cannot be unpickled ({error_text(error)}): {again} the model again"
        ) from error


_PYTHON_NAME = re.compile(r"(?:[A-Za-z_][\w.]*|.*\.py):[A-Za-z_][\w.]*")


def load_model(
    source: Source,
    *,
    bounds: Sequence[float] | Interval | None = None,
    mean: Sequence[float] | float | None = None,
    std: Sequence[float] | float | None = None,
    normalise: str | None = None,
    scores: str | None = None,
    shape: Sequence[int] | None = None,
    data_shape: Sequence[int] | None = None,
    output: str | None = None,
    device: str | None = None,
    half: bool = False,
    trust: bool = False,
    token_variable: str | None = None,
    call_limit: float | None = None,
    features: Sequence[Feature] = (),
    examples: Inputs | Sequence[Item] | None = None,
) -> Model:
    """A model from a file, a name `package.module:function`, a module, an estimator, a callable.

    Or behind an address, `https://host/v2/models/name` (Open Inference Protocol v2).

    `bounds`: the range of input values (perturbed inputs are clipped to it). `mean`, `std`:
    normalisation between the perturbation and the network; `normalise` in their place: "imagenet",
    "cifar10" or "MEAN/STD". `scores`: "logits" or "probabilities"
    where the output does not tell; "values" where it is numbers of any shape that are no class
    scores (a regressor, a segmentation); "objects" where each input gets an object (boxes).
    `shape`: of one input, where the model does not say; `data_shape`: of one input of the data,
    taken where neither says it.
    `half`: run a PyTorch model, or an ONNX file on a GPU, in half precision; the preflight tells
    how often labels differ.
    `trust`: allow reading files that can run code. `token_variable`: the environment variable
    with the bearer token of a model behind HTTP, where it is not SUREFOOT_TOKEN. `call_limit`:
    seconds that one prediction of an ONNX file may take (default: 600). `features`: the
    columns of the table that the model will get (`inputs.features`): an estimator fitted on a
    frame gets frames with them. `examples`: for a model of text, bytes or other items, the inputs
    of the study or a few items: they tell its classes.
    """
    options = LoadOptions(
        bounds=interval(bounds),
        normalise=normalisation(mean, std, normalise),
        scores=scores_kind(scores),
        shape=None if shape is None else tuple(int(n) for n in shape),
        output=output,
        device=device,
        half=half,
        trust=trust,
        features=tuple(features),
        data_shape=None if data_shape is None else tuple(int(n) for n in data_shape),
        token_variable=token_variable,
        call_limit=USUAL_SECONDS if call_limit is None else checked_limit(call_limit),
    )
    limit_of_program(options.call_limit)
    refuse_unused_variable(token_variable, [source])
    if _names_python(source):
        source = _imported(source)
    if examples is not None:
        return _of_items(source, options, examples)
    if is_address(source):
        return open_endpoint(source, options)
    if isinstance(source, str | Path):
        return _from_file(Path(source), options)
    return _from_object(source, options)


def _of_items(source: Source, options: LoadOptions, examples: Inputs | Sequence[Item]) -> Model:
    """A function, an estimator, or an estimator in a trusted pickle."""
    if not isinstance(source, str | Path):
        return python.wrap_items(source, options, examples)
    path = Path(source)
    if not is_address(source):
        _refuse_missing(path)
    if is_address(source) or _FILES.get(path.suffix.lower()) is not _from_pickle:
        raise InvalidArgument(
            f"{source} takes arrays of numbers, but the inputs are items: give a function of a "
            "list of items, such as mymodel:classify, or arrays as inputs"
        )
    return open_pickle(path, options, lambda loaded, own: python.wrap_items(loaded, own, examples))


def declared_shape(
    source: Source, token_variable: str | None = None
) -> tuple[int | None, ...] | None:
    """The shape of one input that a file states, None for an open length; None where it does not.

    Only files of ONNX, Keras and torch.export and models behind HTTP state one. A file or function
    that is not there is refused.
    """
    if is_address(source):
        return endpoint_input_shape(source, token_variable)
    if _names_python(source):
        _imported(source)
        return None
    if not isinstance(source, str | Path):
        return None
    path = Path(source)
    _refuse_missing(path)
    read = _SHAPES.get(path.suffix.lower())
    return None if read is None else read(path)


def _names_python(source: Source) -> bool:
    """Whether it is `package.module:function` and no file of that name."""
    is_name = isinstance(source, str) and _PYTHON_NAME.fullmatch(source) and not is_address(source)
    return bool(is_name) and not Path(source).exists()


def _imported(name: str) -> Source:
    try:
        return python.import_object(name)
    except InvalidArgument as error:
        if Path(name.rpartition(":")[0]).is_file():
            raise  # the file is there: it says what is wrong in it
        raise InvalidArgument(f"there is no model file {name}, and {error}") from error


def _refuse_missing(path: Path) -> None:
    if path.is_dir():
        raise InvalidArgument(
            f"there is no model file {path}: it is a folder; give the file in it, such as "
            f"{path / 'model.onnx'}"
        )
    if path.suffix == ".py" and path.is_file():
        known = python.functions_in_words(path, python.functions_of(path))
        raise InvalidArgument(f"{path} is a Python file: name the function in it, {known}")
    if not path.is_file():
        hint = "" if path.suffix else ", or write package.module:function for a Python function"
        raise InvalidArgument(f"there is no model file {path}: check the path{hint}")


def _from_file(path: Path, options: LoadOptions) -> Model:
    _refuse_missing(path)
    load = _FILES.get(path.suffix.lower())
    if load is None:
        raise InvalidArgument(
            f"{path}: models are read from .onnx, .pt2 (torch.export), .pt (TorchScript), .keras "
            "and .h5 (Keras), and with trust=True (--trust) .pkl and .joblib; "
            f"{path.suffix or 'no suffix'} is none of them; export it to ONNX"
        )
    return load(path, options)


def _from_object(source: Source, options: LoadOptions) -> Model:
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
    **dict.fromkeys((".keras", ".h5", ".hdf5"), open_keras),
}
"""The loader of each kind of file, by its suffix."""

_SHAPES: Mapping[str, Callable[[Path], tuple[int | None, ...] | None]] = {
    ".onnx": onnx_input_shape,
    ".pt2": export_input_shape,
    **dict.fromkeys((".keras", ".h5", ".hdf5"), keras_input_shape),
}
"""What reads the input shape that a kind of file states."""

_OBJECTS: tuple[tuple[Callable[[Source], bool], Callable[[Source, LoadOptions], Model]], ...] = (
    (is_module, wrap_module),
    (python.is_predictor, python.wrap_callable),
)
"""The wrapper of each kind of object in memory; the first that matches is taken."""
