"""Pickled models, which are read with trust only: reading one can run any code."""

from __future__ import annotations

import hashlib
import importlib
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidArgument
from surefoot.models.load_options import LoadOptions
from surefoot.subject.protocols import Model
from surefoot.system.user_code import INTERRUPTS, error_text, missing_code


def open_pickle(
    path: Path, options: LoadOptions, wrap: Callable[[Any, LoadOptions], Model]
) -> Model:
    """The model in a trusted pickle or joblib file; `wrap` turns the object into a model."""
    if not options.trust:
        raise InvalidArgument(
            f"{path} is a pickle; reading one can run any code: convert the model to ONNX, "
            "or pass --trust (trust=True) if you made the file yourself"
        )
    loaded: Any = wrap(_read(path), replace(options, trust=False))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()  # pickled again, trees may differ
    signature = replace(loaded.signature, digest=digest, covers="the bytes of the pickle")
    model: Model = replace(loaded, signature=signature)
    return model


def _read(path: Path) -> Any:  # noqa: ANN401  what a file holds
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
