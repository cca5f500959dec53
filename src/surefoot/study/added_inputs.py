"""A study that adds inputs to an earlier one: the store links them and nothing is run twice."""

from __future__ import annotations

from typing import Any

from surefoot.procedure import Needs
from surefoot.store import Store
from surefoot.store.records import Record
from surefoot.study.setup import Setup

_MAY_DIFFER = ("inputs", "words", "by_class", "population")


def adopted(study: Setup, store: Store) -> str:
    """The digest of the largest finished run that this one adds inputs to; empty where none is.

    The trials of an input have the same names in both, so its evidence is taken over as it is.
    """
    if study.needs is not Needs.SAMPLES:
        return ""
    own = dict(zip(study.fitted.ids, study.fitted.row_digests(), strict=True))
    earlier = [
        record
        for record in store.finished()
        if record.digest != study.digest and _same(record.spec, study.spec) and _within(record, own)
    ]
    if not earlier:
        return ""
    largest = max(earlier, key=lambda record: len(record.inputs))
    store.adopt(largest.digest, study.digest)
    return largest.digest


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """The same question: model, perturbation, method, property, seed, error."""
    if any(one.get(key) != other[key] for key in other if key not in _MAY_DIFFER):
        return False
    mine, theirs = one.get("population"), other["population"]
    keys = ("kind", "error")
    return bool(mine and theirs and all(mine[key] == theirs[key] for key in keys))


def _within(record: Record, own: dict[str, str]) -> bool:
    return len(record.inputs) < len(own) and all(
        row.digest and own.get(row.id) == row.digest for row in record.inputs
    )
