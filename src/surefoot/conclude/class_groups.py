"""Inputs by class, and by the groups in which they were sampled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from surefoot.core.claims import Sampling
from surefoot.errors import InvalidArgument
from surefoot.population import by_group, is_grouped
from surefoot.records.record import InputRow


def distinct_names(labels: Iterable[int], class_name: Callable[[int], str]) -> dict[int, str]:
    """A name for each class; where two have the same, with the number of the class."""
    names = {label: class_name(label) for label in labels}
    uses = Counter(names.values())
    return {label: n if uses[n] == 1 else f"{n} ({label})" for label, n in names.items()}


def sampled_of(rows: Sequence[InputRow]) -> list[Any]:
    """What was sampled: the result of each input, or the results of each group of inputs."""
    local = [row.result for row in rows]
    grouped = any(row.group for row in rows)
    return by_group(local, [row.group for row in rows]) if grouped else local


def groups_in(sampled: Sequence[Any]) -> int:
    """How many groups these are; 0 where single inputs were sampled."""
    return len(sampled) if is_grouped(sampled) else 0


def by_class(rows: Sequence[InputRow]) -> dict[int, list[InputRow]]:
    """The inputs by true label, or by the model's where there is none."""
    unlabelled = any(row.label is None for row in rows)
    classes: dict[int, list[InputRow]] = {}
    for row in rows:
        label = row.predicted if unlabelled else row.label
        if label is None:
            raise InvalidArgument(f"input {row.id} has no class: leave out by_class (--by-class)")
        classes.setdefault(label, []).append(row)
    return dict(sorted(classes.items()))


def trials_of(rows: Iterable[InputRow]) -> int:
    """The trials of these inputs, all together."""
    return sum(row.result.trials for row in rows)


def groups_within_classes(classes: Mapping[int, Sequence[InputRow]]) -> bool:
    """Whether no group has inputs of several classes; true where there are no groups.

    Otherwise nothing is said of classes: whether a group has inputs of a class depends on which of
    its inputs were drawn, so that groups with many of them would count too often.
    """
    names = [{row.group for row in rows if row.group} for rows in classes.values()]
    return sum(map(len, names)) == len(set().union(*names))


def sampling_of(labels: Iterable[int], groups: Sequence[str]) -> Sampling:
    """How inputs stand for the population: equally many of each class are a quota."""
    if groups:
        return Sampling.GROUPED
    sizes = Counter(labels)
    even = len(sizes) > 1 and min(sizes.values()) == max(sizes.values()) > 1
    return Sampling.STRATIFIED if even else Sampling.INDEPENDENT
