"""Inputs by class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from surefoot.errors import InvalidArgument
from surefoot.store.records import InputRow


def distinct_names(labels: Iterable[int], class_name: Callable[[int], str]) -> dict[int, str]:
    """A name for each class; where two have the same, with the number of the class."""
    names = {label: class_name(label) for label in labels}
    uses = Counter(names.values())
    return {label: n if uses[n] == 1 else f"{n} ({label})" for label, n in names.items()}


def by_class(rows: Sequence[InputRow]) -> dict[int, list[Any]]:
    """Results by true label, or by the model's where there is none."""
    unlabelled = any(row.label is None for row in rows)
    groups: dict[int, list[Any]] = {}
    for row in rows:
        label = row.predicted if unlabelled else row.label
        if label is None:
            raise InvalidArgument(f"input {row.id} has no class: leave out by_class (--by-class)")
        groups.setdefault(label, []).append(row.result)
    return dict(sorted(groups.items()))
