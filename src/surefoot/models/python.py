"""Models in Python: functions of a batch or of items, estimators, and the names they have."""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import pickle
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import INTERRUPTS, InvalidArgument
from surefoot.graph.gradient import as_rows
from surefoot.models import scores as answers
from surefoot.models.frames import estimator_run, fitted_classes, probe_rows
from surefoot.models.load_options import LoadOptions, Normalise, Source
from surefoot.subject.inputs import Feature, Inputs
from surefoot.subject.items import as_item_array, copy_item, item_digest
from surefoot.subject.protocols import Array, HostArray, Item, Model, Outputs, Scores, Signature
from surefoot.system.user_code import error_text, raised_words


def import_file(path: Path) -> ModuleType:
    """The module in a file; run again only where the file has changed."""
    if not path.is_file():
        raise InvalidArgument(f"there is no file {path}: check the path")
    whole, state = path.resolve(), path.stat()
    return _module(whole, state.st_mtime_ns, state.st_size)


def source_digest(module: ModuleType) -> str:
    """Of the file of a module as it was when it was imported; empty where that is not known."""
    return _DIGESTS.get(str(getattr(module, "__file__", None)), "")


def note_source(module: ModuleType) -> None:
    """Remember the file of a module that was just imported, unless that is known."""
    file = str(getattr(module, "__file__", None))
    with suppress(OSError):
        _DIGESTS.setdefault(file, hashlib.sha256(Path(file).read_bytes()).hexdigest())


def is_file_module(module: ModuleType) -> bool:
    """Whether it was imported by the path of its file, so that its name may lead elsewhere."""
    return getattr(module, "__file__", None) in _PATHS


_PATHS: set[str] = set()
_DIGESTS: dict[str, str] = {}
"""Of the files of imported modules."""


@lru_cache(maxsize=64)
def _module(path: Path, modified: int, size: int) -> ModuleType:
    """The module; it can import files beside it, as a script can."""
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.append(folder)  # last: a file named like a module of Python must not replace it
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise InvalidArgument(f"{path} cannot be read as Python code: give a file that ends in .py")
    module = module_from_spec(spec)
    _PATHS.add(str(path))
    _DIGESTS.pop(str(path), None)
    note_source(module)
    earlier = sys.modules.get(path.stem)
    if earlier is None or getattr(earlier, "__file__", None) == str(path):
        sys.modules[path.stem] = module  # what dataclasses and pickles look up
    spec.loader.exec_module(module)
    return module


def says_read_only(text: str) -> bool:
    """Whether NumPy, Cython, Numba, memoryview or PyTorch say that an array is read-only."""
    return re.search(r"read-?\s?only|not writ[ea]|non-writ[ea]", text, re.IGNORECASE) is not None


@dataclass(frozen=True, eq=False)
class PythonModel(answers.OfRows):
    """A function from a NumPy batch to scores.

    The function gets the batch read-only, which costs nothing. `private` is for a function that
    writes to its batch: it gets a copy of its own, each time. `class_names` are those that an
    estimator was fitted with, where they are no numbers from 0.
    """

    run: Callable[[HostArray], Outputs]
    normalise: Normalise
    signature: Signature = field(repr=False)
    private: bool = False
    class_names: tuple[str, ...] = ()

    @property
    def in_python(self) -> str:
        """Why threads would wait for each other."""
        return f"the model is a Python {'function' if inspect.isfunction(self.run) else 'object'}"

    def rows(self, x: Array) -> Array:
        """What the function returns."""
        with answers.model_errors():
            answer = self._answer(x, self.normalise(x))
            return answers.read_output(answer, len(x), self.signature.scores)

    def _answer(self, x: HostArray, ready: HostArray) -> Outputs:
        if ready is not x:
            return self.run(ready)  # normalised: nobody else's memory
        if self.private:
            return self.run(x.copy())
        try:
            return self.run(_locked(x))
        except Exception as error:
            if not says_read_only(error_text(error)):
                raise
            return self.run(x.copy())  # it writes for some batches only


def _locked(x: HostArray) -> HostArray:
    """The same numbers, which nobody can write to."""
    locked = x.view()
    locked.flags.writeable = False
    return locked


def _writes(run: Callable[[HostArray], Outputs], x: HostArray) -> tuple[bool, Outputs]:
    """Whether a function wants to write to its batch, and what it answers.

    PyTorch does not keep to read-only arrays, but it warns of them: a function that hands its
    batch to `torch.from_numpy` is taken for one that writes.
    """
    batch = x.copy()
    with warnings.catch_warnings(record=True) as caught, _every_warning_of_torch():
        warnings.simplefilter("always")
        try:
            answer = run(_locked(batch))
        except Exception as error:
            if not says_read_only(error_text(error)):
                raise
            return True, run(x.copy())
    warned = [w for w in caught if says_read_only(str(w.message))]
    for other in (w for w in caught if w not in warned):
        warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    if np.array_equal(batch, x):
        return bool(warned), answer
    return True, run(x.copy())


@contextmanager
def _every_warning_of_torch() -> Iterator[None]:
    """PyTorch gives some warnings once a process; here the second function needs them too."""
    torch = sys.modules.get("torch")
    if torch is None or torch.is_warn_always_enabled():
        yield
        return
    torch.set_warn_always(True)
    try:
        yield
    finally:
        torch.set_warn_always(False)


def is_predictor(source: Source) -> bool:
    """Whether it has `predict_proba` or `predict`, or can be called."""
    return hasattr(source, "predict_proba") or callable(source) or hasattr(source, "predict")


def _are_these_labels(features: Sequence[Feature]) -> str:
    """What to do where a model fails on a table with a column of text; empty without one."""
    texts = [(f.name, len(f.categories)) for f in features if f.dtype == "text"]
    return "".join(
        f"it gets the column {name}, text with {number} values: if these are the labels, pass "
        f"--labels {name} (labels=)"
        for name, number in texts[-1:]
    )


def wrap_callable(source: Source, options: LoadOptions) -> PythonModel:
    """An estimator with `predict_proba`, a regressor with `predict`, or a function of a batch."""
    options.refuse_output()
    scores, normalise = options.scores, options.normalise
    own: tuple[int, ...] | None = (len(options.features),) if options.features else None
    run: Callable[[HostArray], Outputs]
    if hasattr(source, "predict_proba") or not callable(source):
        options.refuse_device()
        if hasattr(source, "n_features_in_"):
            own = (int(source.n_features_in_),)
        named = _object_digest(source)
        of_classes = scores is None or scores.of_classes
        if of_classes and hasattr(source, "predict_proba"):
            ask, scores = source.predict_proba, Scores.PROBABILITIES
        elif of_classes:
            raise InvalidArgument(
                f"{type(source).__name__} has predict, but no predict_proba: for a regressor state "
                'a tolerance (--property close:10, property="close:10") or, where no property is '
                'given, --scores values (scores="values"); for a classifier pass a function of a '
                "batch that gives scores"
            )
        else:
            ask = _LabelColumns(source) if hasattr(source, "predict_proba") else source.predict
        run = estimator_run(source, ask, options)
    else:
        named = _function_digest(source)
        run = _OverList(source) if hasattr(source, "metadata") else source
    shape = options.input_shape(own, "a Python callable" if own is None else "the estimator")
    normalise.check(shape)
    draft = replace(options, scores=scores).draft(shape, named.digest, named.covers)
    draft = replace(draft, partial=named.partial)
    private = False

    def first_rows(x: NDArray[np.float32]) -> Array:
        nonlocal private
        x = probe_rows(x, options.features)
        with answers.model_errors(_are_these_labels(options.features)):
            writes, answer = _writes(run, normalise(x))
            private = private or writes
            return answers.read_output(answer, len(x), draft.scores)

    signature = answers.complete_signature(draft, first_rows, scores, digest_answers=True)
    return PythonModel(run, normalise, signature, private, fitted_classes(source))


def named_by_file(model: Any, path: Path, covers: str) -> Model:  # noqa: ANN401  of these two
    """The model named by its file: what is pickled or built again may differ from time to time."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    own = replace(model.signature, digest=digest, covers=covers, partial=False)
    named: Model = replace(model, signature=own)
    return named


class _Named(NamedTuple):
    """A name for an estimator or a function in memory, and what of it the name covers."""

    digest: str
    covers: str
    partial: bool = True


@dataclass(frozen=True, eq=False)
class _LabelColumns:
    """The probabilities of an estimator; of several labels that of each, as one column."""

    source: Source

    def __call__(self, x: HostArray) -> Outputs:
        answer = self.source.predict_proba(x)
        if isinstance(answer, list):  # one table for each label, of its absence and its presence
            return np.stack([np.asarray(table)[:, -1] for table in answer], axis=1)
        return answer


@dataclass(frozen=True, eq=False)
class _OverList:
    """A model of MAITE's protocols, which have `metadata`: it is called with a list of inputs."""

    source: Callable[[list[Item]], Outputs]

    def __call__(self, x: HostArray) -> Outputs:
        return self.source(list(x))


def _object_digest(source: Source) -> _Named:
    try:
        content = pickle.dumps(source)
    except Exception:  # noqa: BLE001  an object may refuse in its own way
        printed = hashlib.sha256(repr(source).encode()).hexdigest()
        return _Named(printed, "only how the object prints itself")
    return _Named(hashlib.sha256(content).hexdigest(), "the whole object", partial=False)


def _function_digest(source: Source) -> _Named:
    name = (
        f"{getattr(source, '__module__', '')}:{getattr(source, '__qualname__', repr(type(source)))}"
    )
    try:
        text = inspect.getsource(source)
    except (OSError, TypeError):
        return _Named(hashlib.sha256(name.encode()).hexdigest(), "only the name of the function")
    digest = hashlib.sha256(f"{name}\0{text}".encode()).hexdigest()
    return _Named(digest, "only the name and the source text of the function, not what it calls")


_FEW = 4
"""Functions that are named one by one."""


def functions_of(path: str | Path) -> list[str]:
    """The public functions that a Python file defines, read without running it."""
    try:
        body = ast.parse(Path(path).read_bytes()).body
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [f.name for f in body if isinstance(f, ast.FunctionDef) and f.name[0] != "_"]


def functions_in_words(path: str | Path, names: Sequence[str]) -> str:
    """How these functions of a file are written; of many the form alone."""
    few = names if 0 < len(names) <= _FEW else ["FUNCTION"]
    return " or ".join(f"{path}:{name}" for name in few)


def import_object(name: str) -> Item:
    """What `package.module:attribute` or `file.py:attribute` names.

    The current folder can be imported from. Reading a file runs its code.
    """
    module_name, _, attribute = name.rpartition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # last: a file named like a module of Python must not replace it
    try:
        if module_name.endswith(".py"):
            value: Item = import_file(Path(module_name))
        else:
            value = importlib.import_module(module_name)
            note_source(value)
        if module_name.endswith(".py") and not hasattr(value, attribute.split(".")[0]):
            own = [n for n, v in vars(value).items() if n[0] != "_" and not inspect.ismodule(v)]
            near = get_close_matches(attribute, own) or functions_of(module_name)
            known = functions_in_words(module_name, near)
            raise InvalidArgument(f"{module_name} has no function {attribute}: write {known}")
        for part in attribute.split("."):
            value = getattr(value, part)
    except InvalidArgument:
        raise
    except (ImportError, AttributeError) as error:
        raise InvalidArgument(
            f"{name} names nothing that can be imported ({error_text(error)}): write "
            "package.module:function or file.py:function"
        ) from error
    except INTERRUPTS:
        raise
    except BaseException as error:
        raise InvalidArgument(
            f"{name} cannot be imported: its module {raised_words(error)}: correct it there"
        ) from error
    return value


@dataclass(frozen=True, eq=False)
class ItemModel(answers.OfRows):
    """A function from a list of items to scores; it may write into the items, which are copies."""

    run: Callable[[list[Item]], Outputs]
    signature: Signature = field(repr=False)

    @property
    def in_python(self) -> str:
        """Why threads would wait for each other."""
        return f"the model is a Python {'function' if inspect.isfunction(self.run) else 'object'}"

    def rows(self, x: Array) -> Array:
        """What the function returns."""
        return _rows(self.run, x)


def wrap_items(
    source: Source, options: LoadOptions, examples: Inputs | Sequence[Item]
) -> ItemModel:
    """An estimator or a function of a list of items; examples tell its classes and scores.

    Which of the examples are run does not depend on their order.
    """
    options.refuse_output()
    options.refuse_device()
    given = {
        "bounds": options.bounds is not None,
        "mean or std": not options.normalise.is_identity,
        "shape": bool(options.shape),
    }
    for name in (name for name, stated in given.items() if stated):
        raise InvalidArgument(f"{name} is for arrays of numbers, and these are items: leave it out")
    if hasattr(source, "predict_proba"):
        run = source.predict_proba
        scores: Scores | None = Scores.PROBABILITIES
    elif callable(source):
        run, scores = source, options.scores
    else:
        raise InvalidArgument(
            f"{type(source).__name__} cannot classify items: give a function of a list of items, "
            "or an object with predict_proba"
        )
    probes = _probes(examples)
    is_estimator = hasattr(source, "predict_proba")
    named = _object_digest(source) if is_estimator else _function_digest(source)
    draft = replace(options.draft((), named.digest, named.covers), partial=named.partial)
    return ItemModel(run, answers.signature_of_rows(draft, _rows(run, probes), scores))


def _rows(run: Callable[[list[Item]], Outputs], x: HostArray) -> Array:
    with answers.model_errors():
        return as_rows(np.asarray(run([copy_item(item) for item in x])), len(x))


def _probes(examples: Inputs | Sequence[Item]) -> HostArray:
    own = examples.digest_item if isinstance(examples, Inputs) else None
    if isinstance(examples, str | bytes) or (
        isinstance(examples, Inputs) and not examples.holds_items
    ):
        what = examples.content if isinstance(examples, Inputs) else repr(examples)[:40]
        raise InvalidArgument(
            f"examples must be a few items as the model takes them, such as a list of texts, got "
            f"{what}: for a model of arrays pass shape=(…) instead"
        )
    items = examples.x if isinstance(examples, Inputs) else as_item_array(list(examples))
    if not len(items):
        raise InvalidArgument(
            "examples must hold at least one item: they tell the classes; pass a few"
        )
    order = list(range(len(items)))
    if isinstance(examples, Inputs):
        order.sort(key=lambda i: item_digest(items[i], own))
    return items[order[: answers.PROBES]]
