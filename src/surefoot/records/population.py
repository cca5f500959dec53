"""What a record says about its population, and which records are of identical models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from surefoot.core.claims import Sampling
from surefoot.errors import InvalidArgument
from surefoot.population import Mean, Population, RobustShare, TailMean
from surefoot.records.record import InputRow, Record
from surefoot.records.spec import PopulationSpec

_WHOLE_MODEL = (
    "the bytes of the ONNX file",
    "the bytes of the ONNX file and of its weights",
    "the bytes of the file",
)
"""What a digest covers where nothing else decides what the model answers: an exported file. Of a
function or of an object in memory, code or values that it reads may be left out."""
POPULATIONS: dict[str, type[Mean | RobustShare | TailMean]] = {
    kind.kind: kind for kind in (Mean, RobustShare, TailMean)
}


def rows_by_id(record: Record) -> list[InputRow]:
    """The rows in the order of their ids, which is the same for all records of these inputs."""
    return sorted(record.inputs, key=lambda row: row.id)


def classes_of(rows: Sequence[InputRow]) -> tuple[int, ...]:
    """The true label of each input; none where some have no label."""
    known = tuple(row.label for row in rows if row.label is not None)
    return known if len(known) == len(rows) else ()


def population_of(record: Record) -> Population:
    """The kind of statement about the population that the record makes."""
    spec = record.study.population
    if spec is None:
        raise InvalidArgument(
            f"run {record.digest[:12]} makes no statement about the population: give its study a "
            "population, such as sf.population.Mean(0.05)"
        )
    return stated_population(spec, record.study.inputs.digest, classes_of(rows_by_id(record)))


def stated_population(
    spec: PopulationSpec, inputs: str, classes: tuple[int, ...] = ()
) -> Population:
    """The statement that a spec names; `inputs` names those that it is made from."""
    sampling = Sampling(spec.sampling or Sampling.INDEPENDENT)
    over = POPULATIONS[spec.kind](spec.error, sampling, classes=classes, inputs=inputs)
    return over if isinstance(over, RobustShare) else replace(over, anytime=spec.anytime)


def identical_pairs(parts: Mapping[str, Record]) -> set[frozenset[str]]:
    """Models that are the same in every respect and met the same random numbers.

    Only an exported file can show that: equal digests of two functions, and equal results on the
    perturbations drawn, do not show that they agree on all others.
    """
    same = {
        name: (
            (s.model, s.bounds, s.generator, s.block, s.seed),
            [(row.id, row.predicted, row.result) for row in rows_by_id(r)],
        )
        for name, r in parts.items()
        for s in [r.study]
    }
    whole = {name: r.study.model.covers in _WHOLE_MODEL for name, r in parts.items()}
    return {frozenset((a, b)) for a, b in combinations(parts, 2) if same[a] == same[b] and whole[a]}


def is_same_model(one: Record, other: Record) -> bool:
    """Whether both are of one exported file, run alike: whatever is true of one is of the other.

    Where it answered a clean input of both runs otherwise, as with another library, it is not.
    """
    a, b = one.study, other.study
    alike = (a.model, a.bounds, a.generator) == (b.model, b.bounds, b.generator)
    mine, theirs = _clean_answers(one), _clean_answers(other)
    answered_alike = all(mine[name] == theirs[name] for name in mine.keys() & theirs.keys())
    return alike and answered_alike and a.model.covers in _WHOLE_MODEL


def _clean_answers(record: Record) -> dict[tuple[str, str], int | None]:
    return {(row.id, row.digest): row.predicted for row in record.inputs if row.digest}
