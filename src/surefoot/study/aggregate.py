"""From the results of single inputs to what is said of all and of each class."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from surefoot.population import Population
from surefoot.results import Estimate, Extrapolation, Result, Whole
from surefoot.statistics.contrasts import MOST_GROUPS, Contrast, contrasts
from surefoot.statistics.multiplicity import shares
from surefoot.store.records import ClassRow, Local


@dataclass(frozen=True)
class Aggregate:
    """What is said of the population, of these inputs, of each class; and which classes differ."""

    whole: Whole
    studied: Estimate | None
    classes: tuple[ClassRow, ...] = ()
    contrasts: tuple[Contrast, ...] = ()


def aggregate(
    over: Population, local: Sequence[Local], class_name: Callable[[int], str], name: str
) -> Aggregate:
    """All intervals hold together within one error; `name` names the random relabellings.

    Half of the error goes to the whole, the other half is shared by the classes.
    """
    every = [row.result for row in in_order(local)]
    groups = by_class(local)
    if len(groups) < 2:
        return Aggregate(over.conclude(every, over.error), over.studied(every))
    share = shares(over.error / 2, len(groups))
    names = told_apart(groups, class_name)
    rows = tuple(
        ClassRow(names[label], len(members), over.conclude(members, share))
        for label, members in groups.items()
    )
    whole = over.conclude(every, over.error / 2)
    return Aggregate(whole, over.studied(every), rows, _contrasts(groups, names, name, over.error))


def told_apart(labels: Iterable[int], class_name: Callable[[int], str]) -> dict[int, str]:
    """A name for each class; where two have the same, with the number of the class."""
    names = {label: class_name(label) for label in labels}
    seen = Counter(names.values())
    return {label: n if seen[n] == 1 else f"{n} ({label})" for label, n in names.items()}


def _contrasts(
    groups: dict[int, list[Result]], names: dict[int, str], name: str, error: float
) -> tuple[Contrast, ...]:
    """Which classes differ in the mean of their inputs' values, unless there are too many."""
    values = {names[label]: _values(members) for label, members in groups.items()}
    if sum(len(v) > 1 for v in values.values()) > MOST_GROUPS:
        return ()
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8])
    return contrasts(values, np.random.default_rng(seed), error)


def _values(members: Sequence[Result]) -> np.ndarray:
    return np.array([r.value for r in members if isinstance(r, Estimate | Extrapolation)])


def in_order(local: Sequence[Local]) -> list[Local]:
    """An order that depends on the ids alone."""
    return sorted(local, key=lambda row: hashlib.sha256(row.id.encode()).digest())


def by_class(local: Sequence[Local]) -> dict[int, list[Result]]:
    """Results by true label, or by the model's where there is none, in that same order."""
    unlabelled = any(row.label is None for row in local)
    groups: dict[int, list[Result]] = {}
    for row in in_order(local):
        label = row.predicted if unlabelled or row.label is None else row.label
        groups.setdefault(label, []).append(row.result)
    return dict(sorted(groups.items()))
