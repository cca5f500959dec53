"""What a record says about its population, and which records are of identical models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from surefoot.claims import Continues, Sampling
from surefoot.errors import InvalidArgument
from surefoot.population import Mean, Population, RobustShare, TailMean
from surefoot.store.records import InputRow, Record

_POPULATIONS: dict[str, Any] = {kind.kind: kind for kind in (Mean, RobustShare, TailMean)}


def rows_by_id(record: Record) -> list[InputRow]:
    """The rows in the order of their ids, which is the same for all records of these inputs."""
    return sorted(record.inputs, key=lambda row: row.id)


def population_of(record: Record) -> Population:
    """The kind of statement about the population that the record makes."""
    spec = record.study.population
    if spec is None:
        raise InvalidArgument(f"run {record.digest[:12]} makes no statement about the population")
    class_, error, sampling = _POPULATIONS[spec.kind], spec.error, spec.sampling
    population: Population = (
        class_(error) if sampling is None else class_(error, Sampling(sampling))
    )
    return population


def continues_of(population: Population, local: Sequence[Any]) -> Continues:
    """Whether inputs may be added to these and the claim be read again."""
    return population.continues(local) if isinstance(population, Mean) else Continues.ONCE


def identical_pairs(parts: Mapping[str, Record]) -> set[frozenset[str]]:
    """Models that are the same in every respect and met the same random numbers.

    A digest need not cover all of a model in memory: results that differ show that it does not.
    """
    same = {
        name: (
            (s.model, s.bounds, s.generator, s.block, s.seed),
            [(row.id, row.predicted, row.result) for row in rows_by_id(r)],
        )
        for name, r in parts.items()
        for s in [r.study]
    }
    return {frozenset((a, b)) for a, b in combinations(parts, 2) if same[a] == same[b]}
