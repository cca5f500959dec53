"""Anything with `predict_proba`, and plain Python callables."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument
from surefoot.models.prepare import Normalise
from surefoot.models.scores import as_rows, both_classes, model_at_work, sign
from surefoot.results import Interval
from surefoot.subject import Array, Scores, Signature


@dataclass(frozen=True, eq=False)
class PythonModel:
    """A function from a NumPy batch to scores."""

    run: Callable[[NDArray[Any]], Any]
    normalise: Normalise
    signature: Signature = field(repr=False)

    def place(self, x: NDArray[np.float32]) -> Array:
        """NumPy it is."""
        return x

    def predict(self, x: Array) -> Array:
        """Scores of a batch."""
        return both_classes(self.rows(x), self.signature.scores)

    def rows(self, x: Array) -> Array:
        """What the function returns."""
        with model_at_work():
            return as_rows(np.asarray(self.run(self.normalise(x))), len(x))


def wrap_callable(
    source: Any,  # noqa: ANN401
    *,
    bounds: Interval | None,
    normalise: Normalise,
    scores: Scores | None,
    shape: tuple[int, ...] | None,
) -> PythonModel:
    """An estimator with `predict_proba`, or a function of a batch."""
    run: Callable[[NDArray[Any]], Any]
    if hasattr(source, "predict_proba"):
        if shape is None and hasattr(source, "n_features_in_"):
            shape = (int(source.n_features_in_),)
        digest, covers = _object_digest(source)
        run, scores = source.predict_proba, Scores.PROBABILITIES
    else:
        digest, covers = _function_digest(source)
        run = source
    if shape is None:
        raise InvalidArgument(
            "a Python callable does not say its input: give shape=(…) of one input"
        )
    normalise.check(shape)
    blank = Signature(
        shape=shape,
        classes=0,
        scores=scores or Scores.LOGITS,
        digest=digest,
        covers=covers,
        bounds=bounds,
        preparation=normalise.words(),
    )
    draft = PythonModel(run, normalise, blank)
    return PythonModel(run, normalise, sign(blank, draft.rows, scores, by_answers=True))


def _object_digest(source: Any) -> tuple[str, str]:  # noqa: ANN401
    try:
        content = pickle.dumps(source)
    except Exception:  # noqa: BLE001  an object may refuse in its own way
        return hashlib.sha256(
            repr(source).encode()
        ).hexdigest(), "only how the object prints itself"
    return hashlib.sha256(content).hexdigest(), "the whole object"


def _function_digest(source: Any) -> tuple[str, str]:  # noqa: ANN401
    name = (
        f"{getattr(source, '__module__', '')}:{getattr(source, '__qualname__', repr(type(source)))}"
    )
    try:
        text = inspect.getsource(source)
    except (OSError, TypeError):
        return hashlib.sha256(name.encode()).hexdigest(), "only the name of the function"
    digest = hashlib.sha256(f"{name}\0{text}".encode()).hexdigest()
    return digest, "only the name and the source text of the function, not what it calls"


def named_object(name: str) -> Any:  # noqa: ANN401
    """What `package.module:attribute` names; the current folder can be imported from."""
    module_name, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise InvalidArgument(
            f"{name} names nothing that can be imported ({error}): write package.module:function"
        ) from error
    except Exception as error:
        raise InvalidArgument(
            f"{name} cannot be imported: its module raised {type(error).__name__} ({error})"
        ) from error
    return found


def unpickled(path: Path) -> Any:  # noqa: ANN401
    """The object in a trusted pickle or joblib file."""
    try:
        if path.suffix.lower() == ".joblib":
            return importlib.import_module("joblib").load(path)
        with path.open("rb") as file:
            return pickle.load(file)  # noqa: S301  the caller said the file is trusted
    except Exception as error:
        raise InvalidArgument(f"{path} cannot be unpickled ({error})") from error
