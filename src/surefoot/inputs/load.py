"""Load inputs of any kind: arrays, files, folders of images or sounds, datasets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidArgument
from surefoot.inputs.arrays import from_arrays
from surefoot.inputs.datasets import DatasetOptions, from_dataset
from surefoot.inputs.files import from_npy, from_npz, read_npy
from surefoot.inputs.groups import with_groups
from surefoot.inputs.images import Shape
from surefoot.inputs.items import (
    are_items,
    check_read_as,
    from_item_path,
    from_items,
    is_text_path,
)
from surefoot.inputs.labels import ClassNames, Data, GivenLabels, Targets, read_class_names
from surefoot.inputs.media import MediaOptions, from_csv, from_folder
from surefoot.inputs.tables import from_frame, from_table_file, is_frame, is_table_file
from surefoot.subject.inputs import Inputs
from surefoot.subject.items import ItemDigest


def load_inputs(
    source: Data,
    labels: GivenLabels = None,
    *,
    ids: Sequence[str] | None = None,
    class_names: Sequence[str] | Mapping[int, str] | str | Path = (),
    scale: float | None = None,
    size: tuple[int, int] | None = None,
    shape: Shape = None,
    length: float | None = None,
    label_pattern: str | None = None,
    first: int | None = None,
    read_as: str | None = None,
    digest: ItemDigest | None = None,
    groups: Any = None,  # noqa: ANN401  groups in any form
    targets: Targets = None,
) -> Inputs:
    """Inputs from arrays, a file (.npz, .npy, .csv), a folder of images or .wav, or a dataset.

    A dataset yields (input, label) pairs or dicts with an image and a label, as torch and Hugging
    Face datasets do, or (input, target, metadata) as MAITE's do; a torch `DataLoader` yields
    batches of them. At most `first` rows of it are read. uint8 values are divided by 255 unless
    `scale` says by what to divide. Images are resized to `size` (height, width), or to that of the
    model's `shape` (`model.signature.shape`); sounds are cut or filled up to `length` seconds.
    Labels are class numbers, or names, which are looked up in `class_names`: one name for each of
    the model's outputs, in their order, as a list or in a file. Without that list names are
    numbered alphabetically. For files `labels` may be a function of a path, or "none";
    `label_pattern` is a regular expression for a file's name, with a group called label.
    A table (a DataFrame of pandas or polars, a .csv or .parquet file) keeps the names of its
    columns; its `labels` are the name of a column, or one label for each row.
    `targets` are the true outputs, one for each input, for a model without classes: numbers, masks,
    boxes; of an .npz file also the name of the array that holds them. True: what the data hold as
    labels are targets.
    `groups`: the group of each input (a video, a patient), where groups were sampled and not single
    inputs: a list, or text as `--group` takes it (see `with_groups`).

    Text, bytes and dicts are items: inputs as they are, as are the texts of .txt and .jsonl files
    and of a CSV with the columns text and label. `read_as`: "items" for a sequence of other items,
    "bytes" or "text" for a folder of files. `digest` names items of other kinds than text, bytes,
    numbers, lists, tuples, dicts, arrays, dataclasses and Pillow images.
    """
    if isinstance(source, Inputs):
        return with_groups(source, groups)
    names = read_class_names(class_names)
    check_read_as(read_as)
    group_column = groups if isinstance(groups, str) else ""
    if read_as or are_items(source, labels is not None) or is_text_path(source):
        if scale is not None or size is not None:
            raise InvalidArgument(
                "these are items: --scale (scale=) and --size (size=) are for arrays and images"
                "; leave them out"
            )
        inputs = _items(source, labels, ids, names, read_as, digest)
    elif digest is not None:
        raise InvalidArgument("digest names items: for a sequence of items pass read_as='items'")
    elif isinstance(source, str | Path):
        if first is not None:
            raise InvalidArgument("first is for datasets: choose among files with sf.Selection")
        media = MediaOptions(names, scale, size, shape, length, labels, label_pattern, targets)
        inputs = _with_ids(_from_path(Path(source), media, group_column), ids)
    elif label_pattern is not None or length is not None:
        raise InvalidArgument(
            "label_pattern and length are for files of images or sounds: leave them out"
        )
    else:
        options = DatasetOptions(names, scale, size, shape, first, targets)
        inputs = _in_memory(source, labels, ids, options, group_column)
    return with_groups(inputs, groups, source)


def _items(
    source: Data,
    labels: GivenLabels,
    ids: Sequence[str] | None,
    names: ClassNames,
    read_as: str | None,
    digest: ItemDigest | None,
) -> Inputs:
    if isinstance(source, str | Path):
        return _with_ids(from_item_path(Path(source), labels, names, read_as), ids)
    return from_items(source, labels, ids=ids, class_names=names, digest=digest)


def _with_ids(inputs: Inputs, ids: Sequence[str] | None) -> Inputs:
    return inputs if ids is None else replace(inputs, ids=tuple(str(i) for i in ids))


def _in_memory(
    source: Data,
    labels: GivenLabels,
    ids: Sequence[str] | None,
    options: DatasetOptions,
    group_column: str,
) -> Inputs:
    """A frame, an array, or a dataset by iteration."""
    names, scale = options.class_names, options.scale
    if is_frame(source):
        return from_frame(
            source, labels, ids=ids, class_names=names, scale=scale, leave_out=group_column,
            targets=options.targets,
        )  # fmt: skip
    targets = options.targets
    if targets is True:
        labels, targets = None, labels
    array = hasattr(source, "__array__") and not hasattr(source, "__getitems__")
    if array or labels is not None or targets is not None:
        if options.size is not None:
            raise InvalidArgument(
                "size resizes images in files and datasets only: resize arrays before passing them"
            )
        return from_arrays(source, labels, ids=ids, class_names=names, scale=scale, targets=targets)
    if isinstance(source, Iterable) or hasattr(source, "__getitem__"):
        return from_dataset(source, ids, options)
    raise InvalidArgument(
        f"{type(source).__name__} holds no inputs: pass arrays, a path, or a dataset"
    )


def _from_path(path: Path, media: MediaOptions, group_column: str) -> Inputs:
    labels, names, size = media.labels, media.class_names, media.size
    if not path.exists():
        raise InvalidArgument(f"there is no data at {path}: check the path")
    if not (path.is_dir() or path.is_file()):
        raise InvalidArgument(f"{path} is no plain file and no folder: save the data in one")
    suffix = "folder" if path.is_dir() else path.suffix.lower()
    if suffix in (".npz", ".npy"):
        if size is not None:
            raise InvalidArgument(
                f"{path} holds arrays: --size (size=) resizes images only; leave it out"
            )
        if media.length is not None or media.label_pattern is not None:
            raise InvalidArgument(
                f"{path} holds arrays: --length and --label-pattern are for files of images or "
                "sounds; leave them out"
            )
        label_values = read_npy(Path(labels)) if isinstance(labels, str | Path) else labels
        read = from_npz if suffix == ".npz" else from_npy
        return read(path, media.scale, label_values, names, media.targets)
    if is_table_file(path, labels):
        return from_table_file(
            path, labels, class_names=names, scale=media.scale, size=size, leave_out=group_column,
            targets=media.targets,
        )  # fmt: skip
    match suffix:
        case "folder":
            return from_folder(path, media)
        case ".csv":
            return from_csv(path, media)
    raise InvalidArgument(
        f"{path}: data are read from .npz, .npy (with labels=, --labels), .csv of file,label or "
        "text,label, tables (.csv and .parquet, with labels=, --labels), .jsonl, .txt, and folders "
        f"of images or .wav files; {suffix or 'no suffix'} is none of them; save the data as one"
    )
