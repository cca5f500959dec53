"""Load inputs of any kind: arrays, files, image folders, datasets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import InvalidArgument
from surefoot.input_set import Inputs
from surefoot.inputs.arrays import from_arrays
from surefoot.inputs.files import from_csv, from_folder, from_npy, from_npz, read_npy

_POINT_KEYS = ("image", "img", "pixel_values", "x", "input", "features")
_LABEL_KEYS = ("label", "labels", "y", "target", "fine_label")


def load_inputs(
    source: Any,  # noqa: ANN401
    labels: Any = None,  # noqa: ANN401
    *,
    ids: Sequence[str] | None = None,
    class_names: Sequence[str] = (),
    scale: float | None = None,
    size: tuple[int, int] | None = None,
) -> Inputs:
    """Inputs from arrays, a file (.npz, .npy, .csv), an image folder, or a dataset by iteration.

    A dataset yields (input, label) pairs or dicts with an image and a label, as torch and Hugging
    Face datasets do. uint8 values are divided by 255 unless `scale` says by what to divide.
    Labels are class numbers, or names, which are looked up in `class_names`: one name for each of
    the model's outputs, in their order. Without that list names are numbered alphabetically.
    """
    if isinstance(source, Inputs):
        return source
    if isinstance(source, str | Path):
        inputs = _from_path(Path(source), labels, class_names, scale, size)
        return inputs if ids is None else replace(inputs, ids=tuple(str(i) for i in ids))
    if size is not None:
        raise InvalidArgument(
            "size resizes images in files only: resize arrays before passing them"
        )
    array = hasattr(source, "__array__") and not hasattr(source, "__getitems__")
    if array or labels is not None:
        return from_arrays(source, labels, ids=ids, class_names=class_names, scale=scale)
    if isinstance(source, Iterable) or hasattr(source, "__getitem__"):
        return _from_dataset(source, ids, class_names, scale)
    raise InvalidArgument(
        f"{type(source).__name__} holds no inputs: pass arrays, a path, or a dataset"
    )


def _from_path(
    path: Path,
    labels: Any,  # noqa: ANN401
    class_names: Sequence[str],
    scale: float | None,
    size: tuple[int, int] | None,
) -> Inputs:
    if not path.exists():
        raise InvalidArgument(f"there is no data at {path}: check the path")
    suffix = "folder" if path.is_dir() else path.suffix.lower()
    if suffix in (".npz", ".npy"):
        if size is not None:
            raise InvalidArgument(f"{path} holds arrays: --size (size=) resizes images only")
        label_values = read_npy(Path(labels)) if isinstance(labels, str | Path) else labels
        read = from_npz if suffix == ".npz" else from_npy
        return read(path, scale, label_values, class_names)
    if labels is not None:
        raise InvalidArgument(f"{path} has labels of its own: leave out --labels (labels=)")
    match suffix:
        case "folder":
            return from_folder(path, size, scale, class_names)
        case ".csv":
            return from_csv(path, size, scale, class_names)
    raise InvalidArgument(
        f"{path}: data are read from .npz, .npy (with labels=, --labels), .csv of file,label and "
        f"image folders; {suffix or 'no suffix'} is none of them"
    )


def _from_dataset(
    source: Any,  # noqa: ANN401
    ids: Sequence[str] | None,
    class_names: Sequence[str],
    scale: float | None,
) -> Inputs:
    points: list[Any] = []
    labels: list[Any] = []
    rows = source if isinstance(source, Iterable) else (source[i] for i in range(len(source)))
    for row in rows:
        x, y = _pair(row)
        points.append(np.asarray(x))
        labels.append(y)
    shapes = {p.shape for p in points}
    if len(shapes) > 1:
        few = sorted(shapes)[:2]
        raise InvalidArgument(
            f"the dataset holds inputs of shapes {few[0]} and {few[1]}: resize them"
        )
    name = type(source).__name__
    x = np.stack(points) if points else np.zeros((0, 1))
    y = None if all(label is None for label in labels) else labels
    return from_arrays(
        x, y, ids=ids, class_names=class_names or _features(source), source=name, scale=scale
    )


def _pair(row: Any) -> tuple[Any, Any]:  # noqa: ANN401
    if isinstance(row, dict):
        x = next((row[k] for k in _POINT_KEYS if k in row), None)
        y = next((row[k] for k in _LABEL_KEYS if k in row), None)
        if x is None:
            raise InvalidArgument(
                f"a row of the dataset holds {', '.join(row)}: none is called "
                + ", ".join(_POINT_KEYS)
            )
        return x, y
    if isinstance(row, tuple | list) and len(row) == 2:
        return row[0], row[1]
    raise InvalidArgument(
        f"a row of the dataset is {type(row).__name__}: give (input, label) pairs or dicts"
    )


def _features(source: Any) -> tuple[str, ...]:  # noqa: ANN401
    """Class names as torchvision or Hugging Face datasets carry them, if they do."""
    if isinstance(getattr(source, "classes", None), list | tuple):
        return tuple(source.classes)
    features = getattr(source, "features", None)
    feature = features.get("label") if isinstance(features, Mapping) else None
    return tuple(getattr(feature, "names", None) or ())
