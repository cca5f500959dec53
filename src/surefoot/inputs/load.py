"""Load inputs of any kind: arrays, files, folders of images or sounds, datasets by iteration."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import InvalidArgument
from surefoot.inputs.arrays import ReadOptions, from_arrays, refuse_masked
from surefoot.inputs.files import from_npy, from_npz, read_npy
from surefoot.inputs.images import MOST_BYTES, Shape, images_in_memory, stack_images
from surefoot.inputs.items import READ_AS, are_items, from_item_path, from_items, is_text_path
from surefoot.inputs.labels import Data, GivenLabels, Targets, read_class_names
from surefoot.inputs.media import NO_LABELS, from_csv, from_folder, with_reading
from surefoot.inputs.select import with_groups
from surefoot.inputs.tables import from_frame, from_table_file, is_frame, is_table_file
from surefoot.subject.inputs import Inputs
from surefoot.subject.items import ItemDigest, is_image, on_host
from surefoot.subject.protocols import Item


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
    if _is_whole(source) and isinstance(labels, str) and labels == NO_LABELS:
        unlabelled = replace(_read(source, replace(options, labels=None)), labels=None)
        return with_groups(unlabelled, groups, source)
    return with_groups(_read(source, options), groups, source)


def _is_whole(source: Data) -> bool:
    """Whether one file holds the inputs; what names files or is a folder reads "none" itself."""
    suffixes = (".npz", ".npy", ".parquet", ".jsonl", ".txt")
    return isinstance(source, str | Path) and Path(source).suffix.lower() in suffixes


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
    if suffix in (".onnx", ".pt", ".pt2", ".pth", ".joblib", ".keras"):
        raise InvalidArgument(
            f"{path} is a model, where data are expected: give the model first, then the data"
        )
    raise InvalidArgument(
        f"{path}: data are read from .npz, .npy (with labels=, --labels), .csv of file,label or "
        "text,label, tables (.csv and .parquet, with labels=, --labels), .jsonl, .txt, and folders "
        f"of images or .wav files; {suffix or 'no suffix'} is none of them; save the data as one"
    )


_POINT_KEYS = ("image", "img", "pixel_values", "x", "input", "features", "text", "sentence")
_LABEL_KEYS = ("label", "labels", "y", "target", "fine_label")
_IN_ANY_ORDER = ("BufferShuffled", "Shuffled", "Randomly")
"""How Hugging Face names the steps of a stream that shuffle it, or mix several at random."""
_MOST_ROWS_WITHOUT_LENGTH = 100_000
_MOST_BYTES_WITHOUT_LENGTH = 2**30
"""Of a source that does not say how long it is, and may have no end."""


DataSet = Any
"""A data set or a loader of another library, by what it can do and not by its class."""


@dataclass(frozen=True, eq=False)
class _Row:
    """An input, what is true of it (a label or a target), and its id where the dataset has one."""

    x: Any
    y: Any
    label_key: str = "label"
    id: Any = None

    @property
    def has_target(self) -> bool:
        """Whether what is true cannot be a label: boxes, a mask."""
        boxes = isinstance(self.y, Mapping) or hasattr(self.y, "boxes")
        return boxes or getattr(self.y, "ndim", 0) >= 2


def from_dataset(source: DataSet, options: ReadOptions) -> Inputs:
    """The rows of a dataset, in its order."""
    if isinstance(source, Mapping):  # names of datasets, as Hugging Face gives them
        parts = ", ".join(map(str, list(source)[:6]))
        raise InvalidArgument(
            f"{type(source).__name__} holds several parts ({parts}): pass one of them, such as "
            "dataset['test']"
        )
    _refuse_shuffled(source)
    first = options.first
    if first is not None and first < 1:
        raise InvalidArgument(f"first must be an integer ≥ 1, got {first}")
    name, rows = type(source).__name__, list(_bounded(source, first))
    if not options.class_names.names:
        names = _names_of(source, rows[0].label_key if rows else "")
        options = replace(options, class_names=read_class_names(names))
    truths = None if all(row.y is None for row in rows) else [row.y for row in rows]
    as_targets = options.targets is True or any(row.has_target for row in rows)
    labels, targets = (None, truths) if as_targets else (truths, None)
    options = replace(options, labels=labels, targets=targets)
    if options.ids is None and rows and all(row.id is not None for row in rows):
        options = replace(options, ids=[str(row.id) for row in rows])
    points = [row.x for row in rows]
    if are_items(points) and not is_image(points[0]):
        return from_items(points, name, options)
    with_images = [is_image(x) for x in points]
    if all(with_images) and points:
        images = images_in_memory(points, name)
        pixels = stack_images(images, name, options.size, options.shape)
        values, more = pixels.values, pixels.reading
    elif any(with_images):
        i = with_images.index(False)
        raise InvalidArgument(f"{name}, index {i} is no image, but others are: give one kind")
    elif options.size is not None:
        raise InvalidArgument(
            "size resizes images in files and datasets only: resize arrays before passing them"
        )
    else:
        values, more = _stacked(points), ""
    if first is not None:
        more = "; ".join(filter(None, [f"at most the first {first} rows", more]))
    return with_reading(from_arrays(values, name, options), more)


def _bounded(source: DataSet, first: int | None) -> Iterator[_Row]:
    """The rows up to `first`; of a source without a length only so many are waited for."""
    if first is not None:
        yield from islice(_rows(source), first)
        return
    sized = False
    with suppress(TypeError):  # as that of a loader of a stream
        sized = len(source) >= 0
    most = MOST_BYTES if sized else _MOST_BYTES_WITHOUT_LENGTH
    size = 0
    for n, row in enumerate(_rows(source)):
        size += 4 * _number_of_values(row.x)
        if size > most or (not sized and n >= _MOST_ROWS_WITHOUT_LENGTH):
            what = "" if sized else " and does not say how long it is"
            raise InvalidArgument(
                f"{type(source).__name__} holds more than {n} rows ({size / 2**30:.2g} GiB){what}: "
                "pass first=1000 to read so many"
            )
        yield row


def _number_of_values(x: Item) -> int:
    if isinstance(x, str | bytes):
        return len(x) // 4
    if is_image(x):
        return int(x.width * x.height * len(x.getbands()))
    return int(np.asarray(x).size)


def _rows(source: DataSet) -> Iterator[_Row]:
    batched = False
    if _is_loader(source):
        _refuse_samplers(source)
        batched = source.batch_sampler is not None
    items = source if isinstance(source, Iterable) else (source[i] for i in range(len(source)))
    for row in map(_row, items):
        if not batched:
            yield row
            continue
        if row.y is not None and len(row.x) != len(row.y):
            raise InvalidArgument(
                f"a batch of the DataLoader holds {len(row.x)} inputs and {len(row.y)} labels: let "
                "it yield (inputs, labels)"
            )
        for i in range(len(row.x)):
            yield _Row(row.x[i], None if row.y is None else _plain(row.y[i]), row.label_key)


def _is_loader(source: DataSet) -> bool:
    """Whether it is a torch `DataLoader` of batches, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(source, torch.utils.data.DataLoader)


def _refuse_samplers(loader: DataSet) -> None:
    """Refuse any order but that of the dataset, which is the same each time and has each row once.

    The exact types, since a subclass may give another order.
    """
    from torch.utils.data import BatchSampler, IterableDataset, SequentialSampler

    _refuse_shuffled(loader.dataset)
    if isinstance(loader.dataset, IterableDataset):  # has no sampler of its own
        return
    sampler = loader.sampler if loader.batch_sampler is None else loader.batch_sampler
    if type(sampler) is BatchSampler:
        sampler = sampler.sampler
    if type(sampler) is not SequentialSampler:
        raise InvalidArgument(
            f"the DataLoader shuffles its rows or chooses among them ({type(sampler).__name__}), "
            "so that they could have other ids each time: build it with shuffle=False and without "
            "a sampler, or pass its dataset"
        )


def _refuse_shuffled(source: DataSet) -> None:
    """Refuse a stream of Hugging Face that shuffles, by the steps that it goes through."""
    steps = [getattr(source, "_ex_iterable", None)]
    while steps:
        step = steps.pop()
        if type(step).__name__.startswith(_IN_ANY_ORDER):
            raise InvalidArgument(
                f"{type(source).__name__} shuffles its rows, so that they would have other ids "
                "each time: leave out shuffle() and probabilities="
            )
        inner = getattr(step, "ex_iterable", None)
        steps += [inner] if inner is not None else getattr(step, "ex_iterables", [])


def _row(item: Item) -> _Row:
    if isinstance(item, Mapping):
        x = next((item[k] for k in _POINT_KEYS if k in item), None)
        key = next((k for k in _LABEL_KEYS if k in item), "")
        if x is None:
            raise InvalidArgument(
                f"a row of the dataset holds {', '.join(map(str, item))}: none is called "
                f"{', '.join(_POINT_KEYS)}; rename the one that holds the inputs"
            )
        return _Row(x, _plain(item[key]) if key else None, key)
    if isinstance(item, tuple | list) and len(item) == 3 and isinstance(item[2], Mapping):
        truth = item[1]
        boxes = hasattr(truth, "boxes")
        if not boxes and np.ndim(on_host(truth)) == 1 and len(truth) >= 2:
            # MAITE's classification gives a score for each class: the highest is the label.
            truth = int(np.argmax(on_host(truth)))
        return _Row(item[0], truth, id=item[2].get("id"))
    if isinstance(item, tuple | list) and len(item) == 2:
        return _Row(item[0], _plain(item[1]))
    raise InvalidArgument(
        f"a row of the dataset is {type(item).__name__}: give (input, label) pairs or dicts"
    )


def _plain(label: Item) -> Item:
    """A tensor of one number as that number."""
    return label.item() if hasattr(label, "item") and getattr(label, "ndim", 1) == 0 else label


def _stacked(points: Sequence[Item]) -> Item:
    refuse_masked(points, "the dataset")
    arrays = [np.asarray(x) for x in points]
    shapes = {a.shape for a in arrays}
    if len(shapes) > 1:
        few = sorted(shapes)[:2]
        raise InvalidArgument(
            f"the dataset holds inputs of shapes {few[0]} and {few[1]}: resize them"
        )
    return np.stack(arrays) if arrays else np.zeros((0, 1))


def _names_of(source: DataSet, label_key: str) -> tuple[str, ...]:
    """Class names as torchvision, Hugging Face or MAITE datasets carry them, if they do."""
    inner = getattr(source, "dataset", None) if _is_loader(source) else None
    if isinstance(getattr(source, "classes", None), list | tuple):
        return tuple(str(name) for name in source.classes)
    metadata = getattr(source, "metadata", None)
    numbered = metadata.get("index2label") if isinstance(metadata, Mapping) else None
    if numbered and sorted(numbered) == list(range(len(numbered))):
        return tuple(str(numbered[i]) for i in range(len(numbered)))
    features = getattr(source, "features", None)
    feature = features.get(label_key or "label") if isinstance(features, Mapping) else None
    names = tuple(getattr(feature, "names", None) or ())
    return names or (() if inner is None else _names_of(inner, label_key))
