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
from surefoot.inputs.items import (
    are_items,
    check_read_as,
    from_item_path,
    from_items,
    is_text_path,
)
from surefoot.inputs.tables import from_frame, from_table_file, is_frame, is_table_file
from surefoot.items import ItemDigest

_POINT_KEYS = ("image", "img", "pixel_values", "x", "input", "features", "text", "sentence")
_LABEL_KEYS = ("label", "labels", "y", "target", "fine_label")


def load_inputs(
    source: Any,  # noqa: ANN401
    labels: Any = None,  # noqa: ANN401
    *,
    ids: Sequence[str] | None = None,
    class_names: Sequence[str] = (),
    scale: float | None = None,
    size: tuple[int, int] | None = None,
    read_as: str | None = None,
    digest: ItemDigest | None = None,
) -> Inputs:
    """Inputs from arrays, a file (.npz, .npy, .csv), an image folder, or a dataset by iteration.

    A dataset yields (input, label) pairs or dicts with an image and a label, as torch and Hugging
    Face datasets do. uint8 values are divided by 255 unless `scale` says by what to divide.
    Labels are class numbers, or names, which are looked up in `class_names`: one name for each of
    the model's outputs, in their order. Without that list names are numbered alphabetically.
    A table (a DataFrame of pandas or polars, a .csv or .parquet file) keeps the names of its
    columns; its `labels` are the name of a column, or one label for each row.

    Text, bytes and dicts are items: inputs as they are, as are the texts of .txt and .jsonl files
    and of a CSV with the columns text and label. `read_as`: "items" for a sequence of other items,
    "bytes" or "text" for a folder of files. `digest` names items of other kinds than text, bytes,
    numbers, lists, tuples, dicts, arrays, dataclasses and Pillow images.
    """
    if isinstance(source, Inputs):
        return source
    check_read_as(read_as)
    if not isinstance(source, str | Path) and (read_as or are_items(source, labels is not None)):
        if scale is not None or size is not None:
            raise InvalidArgument("scale and size are for arrays and images, not for items")
        return from_items(source, labels, ids=ids, class_names=class_names, digest=digest)
    if digest is not None:
        raise InvalidArgument("digest names items: for a sequence of items pass read_as='items'")
    if isinstance(source, str | Path):
        path = Path(source)
        if read_as or is_text_path(path):
            inputs = from_item_path(path, labels, class_names, scale, size, read_as)
        else:
            inputs = _from_path(path, labels, class_names, scale, size)
        return inputs if ids is None else replace(inputs, ids=tuple(str(i) for i in ids))
    if size is not None:
        raise InvalidArgument(
            "size resizes images in files only: resize arrays before passing them"
        )
    if is_frame(source):
        return from_frame(source, labels, ids=ids, class_names=class_names, scale=scale)
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
    if is_table_file(path, labels):
        return from_table_file(path, labels, class_names=class_names, scale=scale, size=size)
    if labels is not None:
        raise InvalidArgument(f"{path} has labels of its own: leave out --labels (labels=)")
    match suffix:
        case "folder":
            return from_folder(path, size, scale, class_names)
        case ".csv":
            return from_csv(path, size, scale, class_names)
    raise InvalidArgument(
        f"{path}: data are read from .npz, .npy (with --labels), .csv of file,label or text,label, "
        "tables (.csv and .parquet, with --labels), .jsonl, .txt and image folders; "
        f"{suffix or 'no suffix'} is none of them"
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
        points.append(x)
        labels.append(y)
    if are_items(points):
        known = None if all(label is None for label in labels) else labels
        names = class_names or _features(source)
        return from_items(points, known, ids=ids, class_names=names, source=type(source).__name__)
    points = [np.asarray(point) for point in points]
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
                + "; pass read_as='items' where a row is itself an input"
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
