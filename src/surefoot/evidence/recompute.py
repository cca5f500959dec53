"""A study concluded again from its record and its journal, without model and data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from surefoot.catalogue.methods import METHODS, AttackFunction
from surefoot.conclude.radii import at_radii
from surefoot.conclude.recorded_study import RecordedStudy, draws_of
from surefoot.conclude.scope import all_in_scope, assuming
from surefoot.core.claims import MODEL_UNCHANGED, Randomness
from surefoot.core.counts import Counts
from surefoot.core.procedure import Joint, Needs, Pinned
from surefoot.core.results import Bracket
from surefoot.core.tasks import Entry, Subject
from surefoot.engine.subject_run import SubjectRun
from surefoot.errors import EvidenceFailed, InvalidArgument, ReplayMismatch
from surefoot.evidence.packed import NEW_COPY
from surefoot.models.endpoint_connection import is_behind_address
from surefoot.records.record import AttackSummary, Curves, Radii, Record, RecordBody
from surefoot.records.spec import StudySpec
from surefoot.store.chains import Coverage
from surefoot.study import attack_run, curve_run, precision_run, radii_run, sampling_run

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
    study = recorded_study(record, entries)
    _check_rows(entries, study.method.evidence)
    body = _CONCLUSIONS[study.needs](study, record, entries)
    changing = is_behind_address(study.spec.model.covers)
    claims = all_in_scope(body.claims, study.spec)
    claims = assuming(claims, MODEL_UNCHANGED if changing else "")
    return replace(body, claims=claims)


def recorded_study(record: Record, entries: Entries) -> RecordedStudy:
    """What record and journal say of the study."""
    if not isinstance(record.spec, StudySpec):
        raise NotRecomputed("it is no study of one model: the evidence of each study has a file")
    number = record.spec.inputs.number
    if not max(1, len(record.inputs)) <= number <= _MOST_INPUTS:
        raise EvidenceFailed(
            f"the file is damaged: {len(record.inputs):,} inputs of {str(number)[:20]} cannot be; "
            f"{NEW_COPY}"
        )
    names = Counter(row.id for row in record.inputs)
    if any(uses > 1 for uses in names.values()):
        raise EvidenceFailed(
            f"the file is damaged: input {names.most_common(1)[0][0]} is twice; {NEW_COPY}"
        )
    draws = draws_of(record.spec)
    if draws is None:
        draws = bool(record.claims) and record.claims[0].random is not Randomness.NOTHING
    study = RecordedStudy(record.digest, record.spec, record.inputs, draws, 0.0)
    kind = record.spec.method.kind
    if kind not in METHODS or METHODS[kind] is AttackFunction:
        raise NotRecomputed(f"the method {kind} is code of its user, which is not in this file")
    if study.needs.chooses_levels:
        return study
    level = record.spec.perturbation.options.get("level")
    if not isinstance(level, int | float):  # several perturbations together, or one of one's own
        level = next((e.level for own in entries.values() for e in own), 0.0)
    return replace(study, level=float(level))


def replay(
    subjects: Sequence[Subject],
    procedures: Mapping[str, Any] | Joint[Any],
    entries: Entries,
    *,
    stopped_early: bool,
) -> list[Any]:
    """What each procedure concludes from the journal alone."""
    strangers = entries.keys() - {subject.name for subject in subjects}
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
    results = []
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
        results.append(run.session.result)
    return results


def _check_rows(entries: Entries, kind: type[Any]) -> None:
    """Refuse rows that no run writes: other evidence, counts of other trials, trials twice."""
    coverage = Coverage()
    for name, own in entries.items():
        for entry in own:
            evidence, units = entry.evidence, entry.stop - entry.start
            other_trials = isinstance(evidence, Counts) and evidence.trials != units
            if type(evidence) is not kind or other_trials:
                raise DoesNotFollow(f"a row of the journal of {name} is none that this method has")
            if not coverage.add((name, entry.level), entry.start, entry.stop):
                raise DoesNotFollow(f"the journal holds trials of {name} twice")


def _samples(study: RecordedStudy, record: Record, entries: Entries) -> RecordBody:
    procedure: Any = Pinned(study.method, study.level)
    local = _replay_each(study, procedure, record, entries)
    return sampling_run.conclude(study, local)


def _mean(study: RecordedStudy, record: Record, entries: Entries) -> RecordBody:
    order, subjects = curve_run.shuffled(study), _each(study)
    in_order = [subjects[row] for row in order]
    joint = Joint(precision_run.procedure(study))
    [result] = replay(in_order, joint, entries, stopped_early=record.stopped_early)
    return precision_run.conclude(study, result, order)


def _curves(study: RecordedStudy, record: Record, entries: Entries) -> RecordBody:
    """The classes by their names in the record, in the order of their numbers in the journal."""
    if not isinstance(record.details, Curves):
        raise EvidenceFailed(
            f"the file is damaged: the details are not those of a curve; {NEW_COPY}"
        )
    of_set = getattr(study.method, "scope", "set") == "set"
    picks = study.randomness is Randomness.FRESH and of_set
    named = {curve_run.WHOLE: Subject(curve_run.WHOLE, tuple(range(len(study.fitted))), picks)}
    labels = sorted(entries.keys() - {curve_run.WHOLE}, key=lambda name: (len(name), name))
    classes = record.details.classes
    if len(classes) != len(labels) or sum(row.inputs for row in classes) not in (
        0, len(study.fitted),
    ):  # fmt: skip
        raise DoesNotFollow("the classes of the journal are not those of the details")
    for label, row in zip(labels, classes, strict=True):
        named[row.name] = Subject(label, tuple(range(row.inputs)), picks)
    subjects = list(named.values())
    procedures = {s.name: replace(study.method, **curve_run.known_of(s)) for s in subjects}
    curves = replay(subjects, procedures, entries, stopped_early=record.stopped_early)
    return curve_run.conclude(study, list(named), curves)


def _radii(study: RecordedStudy, record: Record, entries: Entries) -> RecordBody:
    """Points drawn within the brackets are taken from the record: only the model has them."""
    if not isinstance(record.details, Radii):
        raise EvidenceFailed(f"the file is damaged: the details are not those of radii; {NEW_COPY}")
    subjects, procedures = radii_run.searches(study, _each(study))
    answers = replay(subjects, procedures, entries, stopped_early=record.stopped_early)
    brackets, searched = radii_run.brackets_of(subjects, answers)
    drawn = {
        i: row.result.sampled for i, row in enumerate(study.rows) if isinstance(row.result, Bracket)
    }
    checked = {i: replace(b, sampled=drawn.get(i, ())) for i, b in brackets.items()}
    body = radii_run.conclude_brackets(study, checked, searched, record.details.reader)
    at = [c.limit for c in record.claims if c.kind == "robust_accuracy" and c.limit is not None]
    if not at:
        return body
    whole = replace(record, inputs=body.inputs, details=body.details, claims=body.claims)
    return replace(body, claims=(*body.claims, *at_radii({"": whole}, at)))


def _attack(study: RecordedStudy, record: Record, entries: Entries) -> RecordBody:
    """The counts of the summary; how the ball is written is taken from the record."""
    if not isinstance(record.details, AttackSummary):
        raise EvidenceFailed(
            f"the file is damaged: the details are not those of an attack; {NEW_COPY}"
        )
    procedure: Any = Pinned(study.method, study.level)
    local = _replay_each(study, procedure, record, entries)
    return attack_run.conclude(study, local, record.details)


def _replay_each(
    study: RecordedStudy,
    procedure: Any,  # noqa: ANN401  any procedure of one input
    record: Record,
    entries: Entries,
) -> list[Any]:
    if len(study.rows) != len(study.fitted):
        inputs = f"{len(study.rows):,} inputs of {len(study.fitted):,}"
        raise DoesNotFollow(f"the file has the results of {inputs}")
    procedures = dict.fromkeys(study.fitted.ids, procedure)
    return replay(_each(study), procedures, entries, stopped_early=record.stopped_early)


def _each(study: RecordedStudy) -> list[Subject]:
    return [Subject(name, (i,)) for i, name in enumerate(study.fitted.ids)]


_CONCLUSIONS: dict[Needs, Callable[[RecordedStudy, Record, Entries], RecordBody]] = {
    Needs.SAMPLES: _samples,
    Needs.MEAN: _mean,
    Needs.LEVELS: _curves,
    Needs.RADII: _radii,
    Needs.REGION: _attack,
}
