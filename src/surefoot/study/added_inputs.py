"""A study that adds inputs to an earlier one: the store links them and nothing is run twice."""

from __future__ import annotations

from typing import Any

from surefoot.procedure import Needs
from surefoot.store import Store
from surefoot.store.records import Record
from surefoot.study.setup import Setup

_MAY_DIFFER = ("inputs", "words", "by_class", "population")


def adopt_evidence(study: Setup, store: Store) -> str:
    """Take over the evidence of the largest finished run that this one adds inputs to.

    Returns its digest; empty where there is none. The trials of an input have the same names in
    both, so its evidence is taken over as it is.
    """
    if study.needs is not Needs.SAMPLES:
        return ""
    own = dict(zip(study.fitted.ids, study.fitted.row_digests(), strict=True))
    earlier = [
        record
        for record in store.finished()
        if record.digest != study.digest
        and _same_question(record.spec, study.spec)
        and _adds_to(record, own)
    ]
    if not earlier:
        return ""
    largest = max(earlier, key=lambda record: len(record.inputs))
    store.adopt(largest.digest, study.digest)
    return largest.digest


def _same_question(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """The same question: model, perturbation, method, property, seed, error."""
    if any(one.get(key) != other[key] for key in other if key not in _MAY_DIFFER):
        return False
    first, second = one.get("population"), other["population"]
    return bool(first and second and all(first[key] == second[key] for key in ("kind", "error")))


def _adds_to(record: Record, own: dict[str, str]) -> bool:
    """Whether these inputs are those of the record, unchanged, and more."""
    return len(record.inputs) < len(own) and all(
        row.digest and own.get(row.id) == row.digest for row in record.inputs
    )
