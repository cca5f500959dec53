"""Keras files, .keras and .h5: read by Keras itself, after every class that they name was checked.

A file of Keras says which classes to build, by module and name, and may hold functions as byte
code. Keras has a safe mode, which versions of it did not keep everywhere (.h5 files, classes of
other modules), so that without trust only what a plain network needs is let through.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from surefoot.errors import InvalidArgument, MissingPackage, needing, refusing
from surefoot.models.load_options import LoadOptions
from surefoot.models.python import named_by_file, wrap_callable
from surefoot.subject.protocols import HostArray, Model
from surefoot.system.text import Json
from surefoot.system.user_code import error_text

_BACKENDS = ("tensorflow", "torch", "jax")
_MODULES = (
    "keras", "keras.layers", "keras.models", "keras.initializers", "keras.regularizers",
    "keras.constraints", "keras.activations", "keras.optimizers", "keras.losses", "keras.metrics",
    "keras.optimizers.schedules", "keras.src.models.functional", "keras.src.models.sequential",
)  # fmt: skip
"""Modules of the classes that a file may name."""
_REFUSED = {
    "Lambda", "__lambda__", "function", "TFSMLayer", "TorchModuleWrapper", "JaxLayer", "FlaxLayer",
    "StringLookup", "IntegerLookup", "IndexLookup", "TextVectorization",
}  # fmt: skip
"""Classes and marks that hold code or call it, and lookups, which may read any file."""
_MOST_CONFIG, _MOST_UNPACKED = 64 * 2**20, 16 * 2**30
"""Bytes of the description of a network, and of all parts of an archive."""


def open_keras(path: Path, options: LoadOptions) -> Model:
    """The model in a .keras or .h5 file; without trust nothing in it may run code."""
    options.refuse_device()
    if not options.trust:
        _refuse_code(path, _config(path))
    run = _KerasRun(str(path.absolute()), options.trust)
    own = _one_shape(path, run.model.input_shape)
    shape = options.input_shape(own, f"{path.name}")
    loaded = wrap_callable(run, replace(options, shape=shape, trust=False))
    return named_by_file(loaded, path, "the bytes of the file")


def keras_input_shape(path: Path) -> tuple[int | None, ...] | None:
    """The shape of one input that the file states, read without Keras."""
    for part in _parts(_config(path)):
        for name in ("batch_shape", "batch_input_shape", "input_shape"):
            shape = part.get(name)
            if isinstance(shape, list) and shape and {type(n) for n in shape} <= {int, type(None)}:
                return tuple(shape[1:])
    return None


@dataclass(frozen=True)
class _KerasRun:
    """A batch through the network; a worker that gets this reads the file itself."""

    path: str
    trust: bool

    @property
    def model(self) -> Any:  # noqa: ANN401  an object of Keras
        """The network, read once in each process."""
        return _loaded(self.path, self.trust, os.stat(self.path).st_mtime_ns)

    def __call__(self, x: HostArray) -> HostArray:
        outputs: HostArray = _keras().ops.convert_to_numpy(self.model(x, training=False))
        return outputs


@lru_cache(maxsize=8)
def _loaded(path: str, trust: bool, modified: int) -> Any:  # noqa: ANN401  an object of Keras
    keras = _keras()
    what = f"{path} cannot be read by Keras {keras.__version__}"
    way_out = "save the model again, or export it to ONNX"
    with refusing(what, way_out, BaseException, words=error_text), TemporaryDirectory() as folder:
        readable = _with_input_layer(Path(path), Path(folder))
        return keras.saving.load_model(readable, compile=False, safe_mode=not trust)


def _with_input_layer(path: Path, folder: Path) -> Path:
    """The file, or a copy in which the shape that its first layer states is that of an input layer.

    Files of Keras 1 and 2 state it there with the batch, and Keras 3 takes it as one without.
    """
    own: Any = {} if path.suffix.lower() == ".keras" else _config(path)
    layers = own.get("config", ())
    layers = layers.get("layers", ()) if isinstance(layers, dict) else layers
    first = layers[0] if own.get("class_name") == "Sequential" and layers else {}
    shape = first.get("config", {}).get("batch_input_shape")
    if shape is None or first["class_name"] == "InputLayer":
        return path
    del first["config"]["batch_input_shape"]
    config = {"batch_input_shape": shape, "dtype": "float32", "name": "input_of_the_file"}
    layers.insert(0, {"class_name": "InputLayer", "config": config})
    copy = folder / "model.h5"
    copy.write_bytes(path.read_bytes())
    with importlib.import_module("h5py").File(copy, "r+") as file:
        file.attrs["model_config"] = json.dumps(own)
    return copy


def _keras() -> Any:  # noqa: ANN401  a package without types
    """Keras, with the first backend that is installed, or NumPy, unless one is chosen."""
    if "keras" not in sys.modules and "KERAS_BACKEND" not in os.environ:
        known = (name for name in _BACKENDS if importlib.util.find_spec(name))
        os.environ["KERAS_BACKEND"] = next(known, "numpy")
    try:
        return importlib.import_module("keras")
    except ImportError as error:
        raise MissingPackage(
            f"files of Keras need Keras ({error_text(error)}): pip install keras, or export the "
            "model to ONNX (model.export('model.onnx', format='onnx'))"
        ) from error


def _one_shape(path: Path, shape: Any) -> tuple[int | None, ...] | None:  # noqa: ANN401  of Keras
    """Of one input; refuses several inputs."""
    if shape is None:
        return None
    if not isinstance(shape, tuple) or not all(n is None or isinstance(n, int) for n in shape):
        raise InvalidArgument(
            f"{path} has several inputs, and one is needed: wrap it in a function of a batch "
            "(package.module:function)"
        )
    return shape[1:]


def _config(path: Path) -> Json:
    """The description of the network in the file, as JSON."""
    errors = (OSError, KeyError, ValueError, RecursionError, zipfile.BadZipFile)
    what, way_out = f"{path} is no model of Keras", "save it with model.save('model.keras')"
    with refusing(what, way_out, *errors, words=error_text):
        text = _config_of_h5(path) if path.suffix.lower() != ".keras" else _config_of_zip(path)
        return json.loads(text)


def _config_of_zip(path: Path) -> bytes:
    with zipfile.ZipFile(path) as archive:
        parts = archive.infolist()
        if sum(part.file_size for part in parts) > _MOST_UNPACKED:
            raise ValueError("its parts are larger than 16 GiB")
        names = [part.filename for part in parts]
        if len(set(names)) < len(names):  # two readers may take another of two parts
            raise ValueError("two of its parts have the same name")
        if archive.getinfo("config.json").file_size > _MOST_CONFIG:
            raise ValueError("its config.json is larger than 64 MiB")
        return archive.read("config.json")


def _config_of_h5(path: Path) -> bytes | str:
    with needing(f"{path} needs h5py: pip install h5py"):
        h5py: Any = importlib.import_module("h5py")
    with h5py.File(path, "r") as file:
        text: bytes | str = file.attrs["model_config"]
    return text


def _parts(config: Json) -> Iterator[dict[str, Json]]:
    """Every object in it, from the outside."""
    waiting = [config]
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, dict):
            yield one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _refuse_code(path: Path, config: Json) -> None:
    """Refuse a file that names anything but the layers of Keras itself."""
    if isinstance(config, dict):  # what it was trained with is not read
        config = {name: part for name, part in config.items() if name != "compile_config"}
    for part in _parts(config):
        name, module = part.get("class_name"), part.get("module")
        if name in _REFUSED or not (module is None or module in _MODULES):
            of = "" if module in (None, *_MODULES) else f" of {module}"
            raise InvalidArgument(
                f"{path} has a {name}{of}, and reading one can run code: export the model to ONNX, "
                "or pass --trust (trust=True) if you made the file yourself"
            )
