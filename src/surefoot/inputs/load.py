"""Load inputs of any kind: arrays, files, image folders, datasets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import InvalidArgument
from surefoot.input_set import Inputs
from surefoot.inputs.arrays import from_arrays
from surefoot.inputs.dataset_rows import class_names_of, read_row
from surefoot.inputs.files import (
    from_csv,
    from_folder,
    from_npy,
    from_npz,
    read_npy,
    target_numbers,
    truth_name,
)


def load_inputs(
    source: Any,  # noqa: ANN401
    labels: Any = None,  # noqa: ANN401
    *,
    ids: Sequence[str] | None = None,
    class_names: Sequence[str] = (),
    scale: float | None = None,
    size: tuple[int, int] | None = None,
    targets: Any = None,  # noqa: ANN401
) -> Inputs:
    """Inputs from arrays, a file (.npz, .npy, .csv), an image folder, or a dataset by iteration.

    A dataset yields (input, label) pairs or dicts with an image and a label, as torch and Hugging
    Face datasets do, or (input, target, metadata) as MAITE's do. `targets` are the true outputs,
    one for each input, for a model without classes: numbers, masks, boxes; of an .npz file also
    the name of the array that holds them. uint8 values are divided by 255 unless `scale` says by
    what to divide.
    Labels are class numbers, or names, which are looked up in `class_names`: one name for each of
    the model's outputs, in their order. Without that list names are numbered alphabetically.
    """
    if isinstance(source, Inputs):
        return source
    if isinstance(source, str | Path):
        inputs = _from_path(Path(source), labels, class_names, scale, size, targets)
        return inputs if ids is None else replace(inputs, ids=tuple(str(i) for i in ids))
    if size is not None:
        raise InvalidArgument(
            "size resizes images in files only: resize arrays before passing them"
        )
    array = hasattr(source, "__array__") and not hasattr(source, "__getitems__")
    if array or labels is not None or targets is not None:
        return from_arrays(
            source, labels, ids=ids, class_names=class_names, scale=scale, targets=targets
        )
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
    targets: Any = None,  # noqa: ANN401
) -> Inputs:
    if not path.exists():
        raise InvalidArgument(f"there is no data at {path}: check the path")
    suffix = "folder" if path.is_dir() else path.suffix.lower()
    if suffix in (".npz", ".npy"):
        if size is not None:
            raise InvalidArgument(f"{path} holds arrays: --size (size=) resizes images only")
        label_values = read_npy(Path(labels)) if isinstance(labels, str | Path) else labels
        read = from_npz if suffix == ".npz" else from_npy
        return read(path, scale, label_values, class_names, targets)
    if labels is not None:
        raise InvalidArgument(f"{path} has labels of its own: leave out --labels (labels=)")
    match suffix:
        case "folder":
            return _with_targets(from_folder(path, size, scale, class_names), targets)
        case ".csv":
            return _with_targets(from_csv(path, size, scale, class_names), targets)
    raise InvalidArgument(
        f"{path}: data are read from .npz, .npy (with --labels), .csv of file,label and "
        f"image folders; {suffix or 'no suffix'} is none of them"
    )


def _with_targets(inputs: Inputs, targets: Any) -> Inputs:  # noqa: ANN401
    """The inputs with true outputs in place of labels, where these are given."""
    return inputs if targets is None else replace(inputs, labels=None, targets=tuple(targets))


def without_labels(path: Path, labels: str | None, scale: float | None, size: Any) -> Inputs:  # noqa: ANN401
    """The inputs of a file for a model without classes: what is stored as labels are targets.

    The classes of folders of images say nothing of such a model; they are left out.
    """
    suffix = path.suffix.lower()
    if suffix == ".npz" and path.is_file():
        targets = truth_name(path) if labels is None else read_npy(Path(labels))
        return load_inputs(path, scale=scale, size=size, targets=targets)
    if suffix == ".npy":
        return load_inputs(path, scale=scale, size=size, targets=labels)
    if suffix == ".csv" and path.is_file():
        return from_csv(path, size, scale, read_truth=target_numbers)
    return replace(load_inputs(path, labels, scale=scale, size=size), labels=None, class_names=())


def _from_dataset(
    source: Any,  # noqa: ANN401
    ids: Sequence[str] | None,
    class_names: Sequence[str],
    scale: float | None,
) -> Inputs:
    rows = source if isinstance(source, Iterable) else (source[i] for i in range(len(source)))
    read = [read_row(row) for row in rows]
    points = [np.asarray(row.x) for row in read]
    shapes = {p.shape for p in points}
    if len(shapes) > 1:
        few = sorted(shapes)[:2]
        raise InvalidArgument(
            f"the dataset holds inputs of shapes {few[0]} and {few[1]}: resize them"
        )
    name = type(source).__name__
    x = np.stack(points) if points else np.zeros((0, 1))
    labels = [row.label for row in read]
    if ids is None and read and all(row.id is not None for row in read):
        ids = [str(row.id) for row in read]
    return from_arrays(
        x,
        None if all(label is None for label in labels) else labels,
        ids=ids,
        class_names=class_names or class_names_of(source),
        source=name,
        scale=scale,
        targets=[row.target for row in read] if any(row.has_target for row in read) else None,
    )
