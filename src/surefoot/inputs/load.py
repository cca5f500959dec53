"""Load inputs of any kind: arrays, files, folders of images or sounds, datasets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidArgument
from surefoot.inputs.arrays import ReadOptions, from_arrays
from surefoot.inputs.datasets import from_dataset
from surefoot.inputs.files import from_npy, from_npz, read_npy
from surefoot.inputs.images import Shape
from surefoot.inputs.items import READ_AS, are_items, from_item_path, from_items, is_text_path
from surefoot.inputs.labels import Data, GivenLabels, Targets, read_class_names
from surefoot.inputs.media import from_csv, from_folder
from surefoot.inputs.select import with_groups
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
    if read_as is not None and read_as not in READ_AS:
        raise InvalidArgument(
            f"read_as (--read-as) is {read_as!r}: choose one of {', '.join(READ_AS)}"
        )
    options = ReadOptions(
        class_names=read_class_names(class_names),
        labels=labels,
        targets=targets,
        ids=ids,
        scale=scale,
        size=size,
        shape=shape,
        length=length,
        label_pattern=label_pattern,
        first=first,
        group_column=groups if isinstance(groups, str) else "",
        read_as=read_as,
        digest=digest,
    )
    return with_groups(_read(source, options), groups, source)


def _read(source: Data, options: ReadOptions) -> Inputs:
    """The inputs by the reader of their kind; options that it does not take are refused."""
    size, labels = options.size, options.labels
    is_path = isinstance(source, str | Path)
    if options.read_as or are_items(source, labels is not None) or is_text_path(source):
        if options.scale is not None or size is not None:
            raise InvalidArgument(
                "these are items: --scale (scale=) and --size (size=) are for arrays and images"
                "; leave them out"
            )
        if not is_path:
            return from_items(source, "the list of items", options)
        return _with_ids(
            from_item_path(Path(source), replace(options, ids=None, digest=None)), options.ids
        )
    if options.digest is not None:
        raise InvalidArgument("digest names items: for a sequence of items pass read_as='items'")
    if is_path:
        if options.first is not None:
            raise InvalidArgument("first is for datasets: choose among files with sf.Selection")
        return _with_ids(_from_path(Path(source), replace(options, ids=None)), options.ids)
    if options.label_pattern is not None or options.length is not None:
        raise InvalidArgument(
            "label_pattern and length are for files of images or sounds: leave them out"
        )
    if is_frame(source):
        return from_frame(source, options)
    given = not (options.targets is None or options.targets is True)
    array = hasattr(source, "__array__") and not hasattr(source, "__getitems__")
    if array or given or labels is not None:
        if size is not None:
            raise InvalidArgument(
                "size resizes images in files and datasets only: resize arrays before passing them"
            )
        return from_arrays(source, "the arrays", options.with_true_outputs())
    if isinstance(source, Iterable) or hasattr(source, "__getitem__"):
        return from_dataset(source, options)
    raise InvalidArgument(
        f"{type(source).__name__} holds no inputs: pass arrays, a path, or a dataset"
    )


def _with_ids(inputs: Inputs, ids: Sequence[str] | None) -> Inputs:
    """With the ids that the user gave, in place of those of the files."""
    return inputs if ids is None else replace(inputs, ids=tuple(str(i) for i in ids))


def _from_path(path: Path, options: ReadOptions) -> Inputs:
    if not path.exists():
        raise InvalidArgument(f"there is no data at {path}: check the path")
    if not (path.is_dir() or path.is_file()):
        raise InvalidArgument(f"{path} is no plain file and no folder: save the data in one")
    suffix = "folder" if path.is_dir() else path.suffix.lower()
    labels = options.labels
    if suffix in (".npz", ".npy"):
        if options.size is not None:
            raise InvalidArgument(
                f"{path} holds arrays: --size (size=) resizes images only; leave it out"
            )
        if options.length is not None or options.label_pattern is not None:
            raise InvalidArgument(
                f"{path} holds arrays: --length and --label-pattern are for files of images or "
                "sounds; leave them out"
            )
        if isinstance(labels, str | Path):
            options = replace(options, labels=read_npy(Path(labels)))
        return (from_npz if suffix == ".npz" else from_npy)(path, options)
    if is_table_file(path, labels):
        return from_table_file(path, options)
    if suffix in ("folder", ".csv"):
        return (from_folder if suffix == "folder" else from_csv)(path, options)
    raise InvalidArgument(
        f"{path}: data are read from .npz, .npy (with labels=, --labels), .csv of file,label or "
        "text,label, tables (.csv and .parquet, with labels=, --labels), .jsonl, .txt, and folders "
        f"of images or .wav files; {suffix or 'no suffix'} is none of them; save the data as one"
    )
