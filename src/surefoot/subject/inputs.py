"""The inputs of a study: points with ids, labels and what else the data say of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from surefoot.core.tasks import Subjects
from surefoot.errors import InvalidArgument
from surefoot.subject.items import ItemDigest, item_digest, kind_of_items, split_numbers
from surefoot.subject.pixels import Pixels
from surefoot.subject.protocols import HostArray, Item
from surefoot.system.memory_limits import pieces
from surefoot.system.text import escape_unprintable

_AT_ONCE = 16
"""Parts of a piece of memory in which the values of rows are made, where they are no array."""
Category = str | int | float | bool
"""A value of a column that is no quantity, as the data hold it."""


@dataclass(frozen=True)
class Feature:
    """A column of a table: its name, and its unit where one is known.

    `column` is its heading in the data, where that says more than the name ("age [years]").
    `dtype` is the type of its values there: that of a NumPy number, "bool", "text", "category" or
    "ordered" (a category whose values have an order). A column with `categories` holds codes: the
    code 0 is the first of them. `example` is a value (or code) of the column, with which a model
    can be tried.
    """

    name: str
    unit: str = ""
    column: str = ""
    dtype: str = "float64"
    categories: tuple[Category, ...] = ()
    example: float = field(default=0.0, compare=False)

    @property
    def heading(self) -> str:
        """Its heading in the data."""
        return self.column or self.name

    @property
    def whole(self) -> bool:
        """Whether its values are integers."""
        return self.dtype.startswith(("int", "uint"))


@dataclass(frozen=True, eq=False)
class Classified:
    """What a model answers to the inputs among which the correct ones were chosen: all labels and
    predictions, which are right (a tie is not), and the first rows.
    """

    x: HostArray
    labels: NDArray[np.int64]
    predicted: NDArray[np.int64]
    right: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Inputs:
    """Points with stable ids and, where known, the labels they should get.

    `frame` is the shape in which one row is an image; empty when it is none. `selection` says in
    words which part of the source this is, `selection_doubt` why that is no random sample of it,
    where it plainly is none, and `classes` are those it was selected from; empty where it is all of
    the source. `only` says as a clause which inputs were kept for what a model answers to them
    ("that the model classifies correctly"). `axes` is how the axes of a row were moved from where
    the data had them: perturbations are drawn as the data had them, so that models of either
    layout meet the same ones. `features` names the columns of a table. `groups` names the group of
    each input (a video, a patient), where groups were sampled and not single inputs. `targets`
    holds what the output of each input should be, where that is no class number.

    Text, bytes and other items are an array of objects of shape (n,); one row has shape ().
    `digest_item` names items of kinds that have no name of their own. `classified` is, by the
    digest of a model, what it answered before correct inputs were chosen.
    """

    x: HostArray
    labels: NDArray[np.int64] | None
    ids: tuple[str, ...]
    source: str
    class_names: tuple[str, ...] = ()
    frame: tuple[int, ...] = ()
    selection: str = "all inputs"
    reading: str = ""
    axes: tuple[int, ...] = ()
    features: tuple[Feature, ...] = ()
    groups: tuple[str, ...] = ()
    targets: tuple[Item, ...] = ()
    digest_item: ItemDigest | None = None
    classes: tuple[int, ...] = ()
    only: str = ""
    selection_doubt: str = ""
    classified: Mapping[str, Classified] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", tuple(map(escape_unprintable, self.ids)))
        object.__setattr__(self, "class_names", tuple(map(escape_unprintable, self.class_names)))
        object.__setattr__(self, "source", escape_unprintable(self.source))
        if len(self.x) == 0:
            raise InvalidArgument(
                f"{self.source} holds no inputs ({self.selection}): choose others, or give other "
                "data"
            )
        if len(self.ids) != len(self.x) or len(set(self.ids)) != len(self.ids):
            raise InvalidArgument(
                f"{self.source}: {len(self.x)} inputs need as many different ids, got "
                f"{len(set(self.ids))}: give each its own"
            )
        if self.labels is not None and len(self.labels) != len(self.x):
            raise InvalidArgument(
                f"{self.source} holds {len(self.x)} inputs but {len(self.labels)} labels: give one "
                "label for each input"
            )
        for name, each in (("groups", self.groups), ("targets", self.targets)):
            if each and len(each) != len(self.x):
                raise InvalidArgument(
                    f"{self.source} holds {len(self.x)} inputs but {len(each)} {name}: give one "
                    "for each input"
                )

    def __len__(self) -> int:
        """How many inputs."""
        return len(self.x)

    @cached_property
    def least(self) -> np.number:
        """The smallest value of all inputs, which are numbers."""
        least: np.number = self.x.min()
        return least

    @cached_property
    def largest(self) -> np.number:
        """The largest one."""
        largest: np.number = self.x.max()
        return largest

    @property
    def holds_items(self) -> bool:
        """Whether inputs are text, bytes or other items, and not arrays of numbers."""
        return self.x.dtype == object

    @property
    def row_bytes(self) -> int:
        """Bytes of one input; of items, which are of any size, those of a reference."""
        return self.x.nbytes // len(self.x)

    @property
    def content(self) -> str:
        """What the inputs are, in a word: text, bytes, images, …; arrays by their shape."""
        arrays = f"arrays of shape {self.x.shape[1:]}"
        return kind_of_items(self.x[0]) if self.holds_items else arrays

    def subset(self, rows: Sequence[int] | NDArray[np.intp]) -> Inputs:
        """The inputs of these rows, in this order, with all that is known of them."""
        chosen = [int(row) for row in rows]
        return replace(
            self,
            x=self.x.subset(chosen) if isinstance(self.x, Pixels) else self.x[chosen],
            labels=None if self.labels is None else self.labels[chosen],
            ids=tuple(self.ids[row] for row in chosen),
            groups=tuple(self.groups[row] for row in chosen) if self.groups else (),
            targets=tuple(self.targets[row] for row in chosen) if self.targets else (),
        )

    def class_name(self, label: int) -> str:
        """The name of a class, or its number when it has none."""
        return self.class_names[label] if 0 <= label < len(self.class_names) else str(label)

    def digest(self) -> str:
        """A name for exactly these points, labels, ids and groups, in any order."""
        return digest_of_rows(self.row_digests())

    def row_digests(self) -> list[bytes]:
        """A name for each point with its label, target, id and, where it has one, its group."""
        labels = repeat(-1, len(self)) if self.labels is None else self.labels.tolist()
        groups = (f"{group}\0" for group in self.groups) if self.groups else repeat("", len(self))
        split = map(split_numbers, self.targets)
        targets: Iterable[bytes] = (b"\0" + s.encode() + b"\0" + n.tobytes() for s, n in split)
        targets = targets if self.targets else repeat(b"", len(self))
        kind = "item" if self.holds_items else str(self.x.shape[1:])
        digests, rows = [], zip(self.ids, labels, groups, targets, self._contents(), strict=True)
        for name, label, group, target, content in rows:
            named = hashlib.sha256(f"{name}\0{label}\0{kind}\0{group}".encode())
            named.update(content)
            named.update(target)
            digests.append(named.digest())
        return digests

    def content_digests(self) -> list[bytes]:
        """A name for each point by itself: copies have the same one."""
        return [hashlib.sha256(content).digest() for content in self._contents()]

    def _contents(self) -> Iterator[bytes | memoryview]:
        """What names each input itself; of an array its values in memory, some rows at a time."""
        if self.holds_items:
            yield from (item_digest(item, self.digest_item).encode() for item in self.x)
            return
        size = self.row_bytes
        for rows in pieces(len(self), _AT_ONCE * size):
            values = np.ascontiguousarray(self.x[rows]).reshape(-1).view(np.uint8).data
            for start in range(0, len(values), size):
                yield values[start : start + size]

    def subjects(self) -> Subjects:
        """One subject an input."""
        return Subjects(self.ids)


def digest_of_rows(digests: Iterable[bytes]) -> str:
    """A name for inputs that are named one by one, in any order."""
    return hashlib.sha256(b"".join(sorted(digests))).hexdigest()
