"""A study that adds inputs to an earlier one: the store links them and nothing is run twice."""

from __future__ import annotations

from dataclasses import replace

from surefoot.core.procedure import Needs
from surefoot.records.record import Record
from surefoot.records.spec import Spec, StudySpec
from surefoot.store import Store
from surefoot.study.setup import Setup


def adopt_evidence(study: Setup, store: Store) -> str:
    """Take over the evidence of the largest finished run that this one adds inputs to.

    Returns its digest; empty where there is none. The trials of an input have the same names in
    both, so its evidence is taken over as it is.
    """
    if study.needs is not Needs.SAMPLES:
        return ""
    alike = [
        record
        for record in store.finished()
        if record.digest != study.digest and _same_question(record.spec, study.spec)
    ]
    if not alike:
        return ""
    own = dict(zip(study.fitted.ids, study.fitted.row_digests(), strict=True))
    groups = dict(zip(study.fitted.ids, study.fitted.groups, strict=False))
    earlier = [r for r in alike if _adds_to(r, own) and _whole_groups(r, groups)]
    if not earlier:
        return ""
    largest = max(earlier, key=lambda record: len(record.inputs))
    store.adopt(largest.digest, study.digest)
    return largest.digest


def _same_question(one: Spec, other: StudySpec) -> bool:
    """The same question: model, columns, perturbation, method, property, seed, error."""
    if not isinstance(one, StudySpec) or one.population is None or other.population is None:
        return False
    if one.inputs.columns != other.inputs.columns:  # the same codes may stand for other values
        return False
    population = replace(one.population, sampling=other.population.sampling)
    alike = replace(one, population=population, inputs=other.inputs, by_class=other.by_class)
    return replace(alike, words=other.words) == other


def _adds_to(record: Record, own: dict[str, str]) -> bool:
    """Whether these inputs are those of the record, unchanged, and more."""
    return len(record.inputs) < len(own) and all(
        row.digest and own.get(row.id) == row.digest for row in record.inputs
    )


def _whole_groups(record: Record, groups: dict[str, str]) -> bool:
    """Whether no group of the record has got further inputs: the added ones are new groups."""
    known, studied = {row.group for row in record.inputs}, {row.id for row in record.inputs}
    return not any(group in known and name not in studied for name, group in groups.items())
