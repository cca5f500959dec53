"""What a claim is about, inputs by class and by group, and what it takes for granted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from surefoot.core import claims as kinds
from surefoot.core.assumptions import Assumed, Assumption
from surefoot.core.claims import About, Claim, Sampling, Verdict
from surefoot.core.reasons import Reason, Why, several
from surefoot.core.results import Footing
from surefoot.errors import InvalidArgument
from surefoot.population import Mean, Population, RobustShare, TailMean, by_group, is_grouped
from surefoot.records.input_table import tried_rows
from surefoot.records.record import InputRow, Record, model_under
from surefoot.records.spec import PopulationSpec, StudySpec


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


def trials_of(rows: Sequence[InputRow]) -> int:
    """The trials of these inputs, all together."""
    return sum(row.result.trials for row in tried_rows(rows))


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


def in_scope(claim: Claim, study: StudySpec) -> Claim:
    """The claim about the part of the population, and the classes, that the inputs stand for.

    Without labels, classes are those that are predicted.
    """
    if claim.about.of not in (About.CLASS, About.POPULATION):
        return claim
    predicted = study.model.classes > 0 and not study.inputs.labelled
    about = replace(claim.about, predicted=predicted, only=study.inputs.only)
    guarantee, together = claim.guarantee, claim.guarantee.jointly
    if predicted and together is not None:
        guarantee = replace(guarantee, jointly=replace(together, predicted=True))
    return claim.saying(about=about, guarantee=guarantee)


def all_in_scope(claims: tuple[Claim, ...], study: StudySpec) -> tuple[Claim, ...]:
    """The claims of a run, each in its scope."""
    return tuple(in_scope(claim, study) for claim in claims)


OfPopulation = kinds.MeanPopulation | kinds.AccuracyPopulation | kinds.ShareKappa


def claim_of_population(record: Record) -> OfPopulation:
    """What the record of samples says of the population."""
    of_population = (claim for claim in record.claims if claim.about.of is About.POPULATION)
    return next(c for c in of_population if isinstance(c, OfPopulation))


def as_in_records(claims: tuple[Claim, ...], records: Iterable[Record]) -> tuple[Claim, ...]:
    """Claims that follow from these records, with what those take for granted about a model."""
    known = {a for r in records for claim in r.claims for a in claim.guarantee.assumptions}
    unchanged = Assumed.MODEL_UNCHANGED
    return assuming(claims, unchanged if unchanged in known else None)


def assuming(claims: tuple[Claim, ...], assumed: Assumption | None) -> tuple[Claim, ...]:
    """The claims, if this holds too; nothing is added where it is None."""
    return claims if assumed is None else tuple(_conditional(claim, assumed) for claim in claims)


def _conditional(claim: Claim, assumed: Assumption) -> Claim:
    """The claim, if this holds too; one that promises nothing stays as it is."""
    own = claim.guarantee
    promises = not claim.is_open or isinstance(claim, kinds.Tail)
    if not promises or assumed in own.assumptions:
        return claim
    footing = Footing.CONDITIONAL if own.footing is Footing.SOUND else own.footing
    changed = replace(own, footing=footing, assumptions=(*own.assumptions, assumed))
    return claim.saying(guarantee=changed)


def without_doubtful(claims: Iterable[Claim], records: Iterable[Record]) -> tuple[Claim, ...]:
    """The same verdicts; those on the population undecided where a selection is doubted.

    A verdict that assumes nothing, as that a file is not worse than itself, stays.
    """
    every = (finding for one in records for finding in one.findings)
    doubt = next((f.finding for f in every if f.doubts_selection), "")
    return tuple(_doubted(claim, doubt) if doubt else claim for claim in claims)


def plausible(claims: Iterable[Claim], parts: Mapping[str, Record]) -> tuple[Claim, ...]:
    """The same verdicts, none of them PASS where model and data do not fit, as a check says.

    `parts` are the runs by name, one without; a claim that names some of them is about these.
    """
    return tuple(_if_plausible(claim, parts) for claim in claims)


def _if_plausible(claim: Claim, parts: Mapping[str, Record]) -> Claim:
    names = set(claim.names)  # of a model, too, which has a run under each perturbation
    own = [one for key, one in parts.items() if names & {key, model_under(key)[0]}]
    named = own or parts.values()
    doubts = [one.blocks for one in named if one.blocks is not None]
    if not doubts or claim.verdict is Verdict.FAIL:
        return claim
    return _undecided(claim, several([doubts[0], *([claim.reason] if claim.reason else [])]))


def _doubted(claim: Claim, doubt: str) -> Claim:
    shown = claim.verdict is not Verdict.UNDECIDED and not claim.guarantee.assumptions
    of_population = claim.about.of is About.POPULATION
    return _undecided(claim, Why.STATED.of(doubt)) if of_population and not shown else claim


def _undecided(claim: Claim, reason: Reason | None) -> Claim:
    if not isinstance(claim, kinds.Required):
        return claim
    number = None if claim.requirement is None else claim.requirement.number
    return claim.answered(number, Verdict.UNDECIDED, reason)


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
    same = {}
    for name, record in parts.items():
        s = record.study
        answers = [(row.id, row.predicted, row.result) for row in rows_by_id(record)]
        same[name] = (s.model, s.bounds, s.generator, s.block, s.seed), answers
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
