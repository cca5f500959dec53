"""A study concluded again from its record and its journal, without model and data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from surefoot.catalogue.methods import METHODS, AttackFunction
from surefoot.conclude.accuracy import each_result, procedures_of, with_other_label
from surefoot.conclude.curves import WHOLE, conclude_curves, procedure_of, shuffled
from surefoot.conclude.facts import StudyFacts, draws_of, recorded_facts
from surefoot.conclude.radii import at_radii, brackets_of, conclude_attack, conclude_radii, searches
from surefoot.conclude.sampling import (
    conclude_mean,
    conclude_samples,
    mean_procedure,
    results_of_inputs,
)
from surefoot.conclude.scope import all_in_scope, assuming
from surefoot.conclude.smoothing import conclude_certificates, procedures_of_radii
from surefoot.conclude.splitting import conclude_splitting, procedures_of_splitting
from surefoot.core.assumptions import Assumed
from surefoot.core.claims import Randomness, RobustAtRadius
from surefoot.core.counts import Chained, Counts
from surefoot.core.procedure import Joint, Needs
from surefoot.core.results import Bracket, InputResult
from surefoot.core.tasks import Entry, Subject, Subjects
from surefoot.engine.subject_run import SubjectRun
from surefoot.errors import EvidenceFailed, InvalidArgument, ReplayMismatch
from surefoot.evidence.packed import NEW_COPY
from surefoot.models.endpoint_connection import is_behind_address
from surefoot.records.input_table import UNTRIED
from surefoot.records.record import AttackSummary, Curves, InputRow, Radii, Record, RecordBody
from surefoot.records.spec import StudySpec
from surefoot.store.chains import Coverage

BROKEN = (
    *(ArithmeticError, LookupError, TypeError, ValueError),
    *(AttributeError, RuntimeError, StopIteration),
)
"""What a method raises whose options or evidence no run can have."""
_MOST_INPUTS = 1_000_000
"""Of a study: a hostile file cannot have us count to a billion."""
Entries = Mapping[str, Sequence[Entry]]
"""The rows of a journal, by subject."""


class NotRecomputed(InvalidArgument):
    """The claims cannot be computed from record and journal; the message says why."""


class DoesNotFollow(InvalidArgument):
    """The journal is not one that the method of the study can have led to."""


def recompute(record: Record, entries: Entries) -> RecordBody:
    """Rows of inputs, details and claims, as the method concludes them from the journal.

    Examples, and whatever else only the model can add, are left out.
    """
    facts = facts_of(record, entries)
    chains = (Chained,) if facts.needs is Needs.SPLITTING else ()
    _check_rows(entries, (facts.method.evidence, *chains))
    body = _CONCLUSIONS[facts.needs](facts, record, entries)
    changing = is_behind_address(facts.spec.model.covers)
    claims = all_in_scope(body.claims, facts.spec)
    claims = assuming(claims, Assumed.MODEL_UNCHANGED if changing else None)
    return replace(body, claims=claims)


def facts_of(record: Record, entries: Entries) -> StudyFacts:
    """What record and journal say of the study."""
    spec = record.spec
    if not isinstance(spec, StudySpec):
        raise NotRecomputed("it is no study of one model: the evidence of each study has a file")
    number = spec.inputs.number
    if not max(1, len(record.inputs)) <= number <= _MOST_INPUTS:
        raise _damaged(f"{len(record.inputs):,} inputs of {str(number)[:20]} cannot be")
    names = Counter(row.id for row in record.inputs)
    if any(uses > 1 for uses in names.values()):
        raise _damaged(f"input {names.most_common(1)[0][0]} is twice")
    kind = spec.method.kind
    if kind not in METHODS or METHODS[kind] is AttackFunction:
        raise NotRecomputed(f"the method {kind} is code of its user, which is not in this file")
    draws = draws_of(spec)
    if draws is None:
        draws = bool(record.claims) and record.claims[0].random is not Randomness.NOTHING
    level = spec.perturbation.options.get("level")
    if METHODS[kind].needs.chooses_levels:
        level = 0.0
    elif not isinstance(level, int | float):  # several perturbations together, or one of one's own
        level = next((e.level for own in entries.values() for e in own), 0.0)
    return recorded_facts(record.digest, spec, record.inputs, draws=draws, level=float(level))


def _damaged(problem: str) -> EvidenceFailed:
    return EvidenceFailed(f"the file is damaged: {problem}; {NEW_COPY}")


def replay(
    subjects: Sequence[Subject],
    procedures: Mapping[str, Any] | Joint[Any],
    entries: Entries,
    *,
    stopped_early: bool,
) -> list[Any]:
    """What each procedure concludes from the journal alone."""
    strangers = set(entries)
    strangers.difference_update(subject.name for subject in subjects)
    if strangers:
        raise DoesNotFollow(f"the journal holds trials of {min(strangers)}, which is not studied")
    if isinstance(procedures, Joint):
        runs = [(SubjectRun(subjects, procedures.procedure, entries), procedures.procedure)]
    else:
        runs = [
            (SubjectRun([s], procedures[s.name], {s.name: entries.get(s.name, ())}),
             procedures[s.name])
            for s in subjects
        ]  # fmt: skip
    results, late = [], False
    for run, procedure in runs:
        try:
            open_tasks = run.advance()
        except ReplayMismatch as error:
            words = "the journal holds trials that the method does not ask for"
            raise DoesNotFollow(f"{words}: {run.subjects[0].name}") from error
        if open_tasks:
            if not (stopped_early and getattr(procedure, "concludes_early", False)):
                task = open_tasks[0]
                raise DoesNotFollow(f"the journal lacks trials that the method needs: {task}")
            run.conclude()
            late = True
        results.append(run.session.result)
    if stopped_early and not late:
        raise DoesNotFollow("a time limit ended the run, but its method had concluded by itself")
    return results


def _check_rows(entries: Entries, kinds: tuple[type[Any], ...]) -> None:
    """Refuse rows that no run writes: other evidence, counts of other trials, trials twice."""
    coverage = Coverage()
    for name, own in entries.items():
        for entry in own:
            evidence, units = entry.evidence, entry.stop - entry.start
            other_trials = isinstance(evidence, Counts) and evidence.trials != units
            if type(evidence) not in kinds or other_trials:
                raise DoesNotFollow(f"a row of the journal of {name} is none that this method has")
            if not coverage.add((name, entry.level), entry.start, entry.stop):
                raise DoesNotFollow(f"the journal holds trials of {name} twice")


def _samples(facts: StudyFacts, record: Record, entries: Entries) -> RecordBody:
    rows = _concluded(record, entries, facts, partial(procedures_of, facts))
    return with_other_label(conclude_samples(facts, rows), entries)


def _mean(facts: StudyFacts, record: Record, entries: Entries) -> RecordBody:
    names = [row.id for row in record.inputs]
    order = shuffled(facts.spec.seed, names)
    in_order = Subjects(names, order)
    joint = Joint(mean_procedure(facts))
    [result] = replay(in_order, joint, entries, stopped_early=record.stopped_early)
    known = results_of_inputs(facts, result, order)
    rows = _rows(facts, record, [known.get(i, UNTRIED) for i in range(len(names))])
    return with_other_label(conclude_mean(facts, rows, result, order), entries)


def _curves(facts: StudyFacts, record: Record, entries: Entries) -> RecordBody:
    """The classes by their names in the record, in the order of their numbers in the journal."""
    if not isinstance(record.details, Curves):
        raise _damaged("the details are not those of a curve")
    picks = facts.randomness is Randomness.FRESH and not facts.of_population
    number = facts.spec.inputs.number
    named = {WHOLE: Subject(WHOLE, tuple(range(number)), picks)}
    labels = sorted(entries.keys() - {WHOLE}, key=lambda name: (len(name), name))
    classes = record.details.classes
    if len(classes) != len(labels) or sum(row.inputs for row in classes) not in (0, number):
        raise DoesNotFollow("the classes of the journal are not those of the details")
    for label, row in zip(labels, classes, strict=True):
        named[row.name] = Subject(label, tuple(range(row.inputs)), picks)
    subjects = list(named.values())
    procedures = {s.name: procedure_of(facts.method, s, facts.spec.seed) for s in subjects}
    curves = replay(subjects, procedures, entries, stopped_early=record.stopped_early)
    return conclude_curves(facts, list(named), curves)


def _radii(facts: StudyFacts, record: Record, entries: Entries) -> RecordBody:
    """Points drawn within the brackets are taken from the record: only the model has them."""
    if not isinstance(record.details, Radii):
        raise _damaged("the details are not those of radii")
    subjects, procedures = searches(facts, _each(record))
    answers = replay(subjects, procedures, entries, stopped_early=record.stopped_early)
    brackets, searched = brackets_of(subjects, answers)
    rows = []
    for i in sorted(brackets):
        row = _predicted(record.inputs[i])
        drawn = row.result.sampled if isinstance(row.result, Bracket) else ()
        bracket = replace(brackets[i], sampled=drawn)
        # a run that proves has no pass over clean inputs, so its rows have neither of the two
        rows.append(replace(row, result=bracket, digest="", clean_kept=None))
    body = conclude_radii(facts, tuple(rows), searched, record.details.reader)
    at = [c.radius for c in record.claims if isinstance(c, RobustAtRadius)]
    if not at:
        return body
    whole = replace(record, inputs=body.inputs, details=body.details, claims=body.claims)
    return replace(body, claims=(*body.claims, *at_radii({"": whole}, at)))


def _attack(facts: StudyFacts, record: Record, entries: Entries) -> RecordBody:
    """The counts of the summary; how the ball is written is taken from the record."""
    if not isinstance(record.details, AttackSummary):
        raise _damaged("the details are not those of an attack")
    rows = _concluded(record, entries, facts, partial(procedures_of, facts))
    return conclude_attack(facts, rows, record.details)


def _certificates(facts: StudyFacts, record: Record, entries: Entries) -> RecordBody:
    rows = _concluded(record, entries, facts, lambda kept: procedures_of_radii(facts, list(kept)))
    return conclude_certificates(facts, rows)


def _splitting(facts: StudyFacts, record: Record, entries: Entries) -> RecordBody:
    make = partial(procedures_of_splitting, facts)
    return conclude_splitting(facts, _concluded(record, entries, facts, lambda k: make(list(k))))


def _concluded(
    record: Record,
    entries: Entries,
    facts: StudyFacts,
    procedures_of_all: Callable[[Mapping[str, bool | None]], dict[str, Any] | Joint[Any]],
) -> tuple[InputRow, ...]:
    """Every input with what its procedure concludes; a file that has fewer inputs is refused.

    The procedures are made from their names and whether the property keeps each when clean.
    """
    if len(record.inputs) != facts.spec.inputs.number:
        inputs = f"{len(record.inputs):,} inputs of {facts.spec.inputs.number:,}"
        raise DoesNotFollow(f"the file has the results of {inputs}")
    procedures = procedures_of_all({row.id: row.clean_kept for row in record.inputs})
    answers = replay(_each(record), procedures, entries, stopped_early=record.stopped_early)
    return _rows(facts, record, each_result(procedures, answers))


def _each(record: Record) -> list[Subject]:
    return [Subject(row.id, (i,)) for i, row in enumerate(record.inputs)]


def _rows(
    facts: StudyFacts, record: Record, results: Sequence[InputResult]
) -> tuple[InputRow, ...]:
    """The inputs as the record has them, with results that follow from the journal."""
    return tuple(
        replace(
            _predicted(row) if facts.has_classes else replace(row, predicted=None),
            result=result,
            clean_kept=row.clean_kept is not False,
        )
        for row, result in zip(record.inputs, results, strict=True)
    )


def _predicted(row: InputRow) -> InputRow:
    if row.predicted is None:
        raise InvalidArgument("an input has no predicted label, but the model has classes")
    return row


_CONCLUSIONS: dict[Needs, Callable[[StudyFacts, Record, Entries], RecordBody]] = {
    Needs.SAMPLES: _samples,
    Needs.MEAN: _mean,
    Needs.LEVELS: _curves,
    Needs.RADII: _radii,
    Needs.REGION: _attack,
    Needs.SMOOTHING: _certificates,
    Needs.SPLITTING: _splitting,
}
