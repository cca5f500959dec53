"""How a study is answered: preflight, measure, conclude, record. One path for every method."""

from __future__ import annotations

import platform
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from importlib import metadata
from itertools import takewhile
from typing import Any

from surefoot import errors
from surefoot.catalogue.methods import METHODS
from surefoot.conclude.accuracy import with_other_label
from surefoot.conclude.scope import all_in_scope, assuming
from surefoot.core.assumptions import Arithmetic, Assumption, Stated
from surefoot.core.claims import RobustAtRadius
from surefoot.core.counts import Counts
from surefoot.core.procedure import Needs
from surefoot.core.tasks import Entry, Subject, Task
from surefoot.engine.outputs import (
    LARGEST_DIFFERENCE,
    Check,
    CheckStatus,
    clean_outputs,
    largest_difference,
)
from surefoot.engine.perturbation_checks import examine_level_zero
from surefoot.engine.preflight import examine, examine_batch, examine_trials
from surefoot.engine.progress import Progress, check_time_limit
from surefoot.errors import InvalidArgument
from surefoot.executors.pool import AnyExecutor, WorkerNote, check_executor, warn_of_fallback
from surefoot.executors.ray_connection import one_cluster
from surefoot.inputs import fit
from surefoot.perturb._ops.arrays import at_level
from surefoot.perturb.table import for_columns
from surefoot.records.json_records import decisive_json
from surefoot.records.record import AttackSummary, Finding, Record, RecordBody, Samples, Source
from surefoot.records.spec import StudySpec
from surefoot.region.attack_method import AnyAttack
from surefoot.report.reasons import reason_words
from surefoot.store import Journal, Store, open_store, store_exists
from surefoot.store.locations import public_location
from surefoot.study import measure
from surefoot.study.measure import Measurement, run_measurement
from surefoot.study.parts import StudyParts
from surefoot.study.prove import radii_measurement, real_arithmetic
from surefoot.study.result import Result
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Model, Outputs, Perturbation

_MARKS = {CheckStatus.OK: "ok  ", CheckStatus.WARNING: "note", CheckStatus.FAILED: "BAD "}


@dataclass(frozen=True)
class Checkup:
    """What each check found; `print` it for one line a check."""

    findings: tuple[Finding, ...]

    @property
    def bad(self) -> bool:
        """Whether a check found something that would make results wrong."""
        return any(finding.status == CheckStatus.FAILED for finding in self.findings)

    def __str__(self) -> str:
        """One line a check."""
        return "\n".join(
            f"{_MARKS[CheckStatus(finding.status)]}  {finding.name}: {finding.finding}"
            for finding in self.findings
        )


def doctor(model: Model, inputs: Inputs, perturbation: Perturbation | None = None) -> Checkup:
    """The checks that every run begins with, and what model and data are, in plain words."""
    signature = model.signature
    inputs = fit(inputs, signature.shape)
    if perturbation is not None:
        perturbation = for_columns(perturbation, inputs)
    takes = "lists of items" if signature.shape == () else signature.shape
    content = inputs.content if inputs.holds_items else f"shape {inputs.x.shape[1:]}"
    gives = f"{signature.classes} classes" if signature.classes else f"{signature.scores}"
    preparation = f"; inputs {signature.preparation}" if signature.preparation else ""
    return Checkup(
        (
            Finding(
                "model",
                str(CheckStatus.OK),
                f"takes {takes}, gives {gives}; "
                f"sha256 {signature.digest[:12]} covers {signature.covers}{preparation}",
            ),
            Finding(
                "data",
                str(CheckStatus.OK),
                f"{len(inputs)} inputs of {content} from {inputs.source} "
                f"({inputs.selection}; {inputs.reading}); sha256 {inputs.digest()[:12]}",
            ),
            *(_bad(one) for one in findings(examine(inputs, model, perturbation))),
        )
    )


def _bad(finding: Finding) -> Finding:
    """A run goes on where no PASS would mean anything; here that is bad."""
    blocks = finding.blocks is not None
    return replace(finding, status=str(CheckStatus.FAILED)) if blocks else finding


def findings(checks: Iterable[Check]) -> tuple[Finding, ...]:
    """What checks found, as a record holds it."""
    return tuple(
        Finding(one.name, str(one.status), one.finding + _doubt(one), one.clean, one.doubt)
        for one in checks
    )


def _doubt(check: Check) -> str:
    doubt = check.doubt if check.clean is None else check.clean.doubt
    return "" if doubt is None else f"; {reason_words(doubt)}"


def adopt_evidence(study: StudyParts, store: Store) -> str:
    """Take over the evidence of the largest finished run that this one adds inputs to.

    Returns its digest; empty where there is none. The trials of an input have the same names in
    both, so its evidence is taken over as it is.
    """
    if study.needs is not Needs.SAMPLES:
        return ""
    same = [
        digest
        for digest, spec in store.specs({study.digest: study.spec}).items()
        if digest != study.digest and _same_question(spec, study.spec)
    ]
    known = (store.stored(digest) for digest in same)
    alike = [one for one in known if one is not None and isinstance(one.spec, StudySpec)]
    if not alike:
        return ""
    own = dict(zip(study.fitted.ids, map(bytes.hex, study.row_digests), strict=True))
    groups = dict(zip(study.fitted.ids, study.fitted.groups, strict=False))
    earlier = [
        record
        for record in alike
        if len(record.inputs) < len(own)
        and all(row.digest and own.get(row.id) == row.digest for row in record.inputs)
        and _whole_groups(record, groups)
    ]
    if not earlier:
        return ""
    largest = max(earlier, key=lambda record: len(record.inputs))
    store.adopt(largest.digest, study.digest)
    return largest.digest


def _same_question(one: StudySpec, other: StudySpec) -> bool:
    """The same question: model, columns, perturbation, method, property, seed, error."""
    if one.population is None or other.population is None:
        return False
    if one.perturbation != other.perturbation:  # of most runs in a store, and soon known
        return False
    if one.inputs.columns != other.inputs.columns:  # the same codes may stand for other values
        return False
    population = replace(one.population, sampling=other.population.sampling)
    alike = replace(one, population=population, inputs=other.inputs, by_class=other.by_class)
    return replace(alike, words=other.words) == other


def earlier_runs(study: StudyParts, store: Store, begun: dict[str, StudySpec]) -> int:
    """How many runs of the same question began before this one; `begun` keeps what was read.

    Each of them could have answered, whatever its seed, precision and inputs were: so they share
    the error of one answer (`statistics/counted.rung`). Inputs of other names, in another order, or
    with other groups or labels may be the same, and count as such. Radii are no matter of chance:
    whatever several runs find out about those of the same inputs is one answer.
    """
    begun.update({} if begun else store.specs({study.digest: study.spec}))
    begun.setdefault(study.digest, study.spec)
    earlier = takewhile(lambda digest: digest != study.digest, begun)
    alike = [begun[run] for run in earlier if _answers_the_same(begun[run], study.spec)]
    if study.needs is not Needs.RADII:
        return len(set(map(decisive_json, alike)))  # a suite or comparison has its first one's
    sets = dict.fromkeys(spec.inputs.digest for spec in (*alike, study.spec))
    return list(sets).index(study.spec.inputs.digest)


def _begun_at(study: StudyParts, store: Store, rung: int) -> int:
    """The rung; with `anytime` that of a run to which this one adds inputs.

    Only adding inputs is free: with another seed, or other inputs, it is a run like any other.
    """
    if study.spec.population is None or not study.spec.population.anytime:
        return rung
    own = set(map(bytes.hex, study.row_digests))
    known = (
        store.stored(digest)
        for digest, one in store.specs({study.digest: study.spec}).items()
        if digest != study.digest
        and _answers_the_same(one, study.spec)
        and _same_question(replace(one, model=study.spec.model), study.spec)
    )
    added_to = (r for r in known if r is not None and {row.digest for row in r.inputs} <= own)
    return min((record.rung for record in added_to), default=rung)


def known_trials(
    study: StudyParts, store: Store, begun: dict[str, StudySpec]
) -> tuple[str, dict[str, list[Entry]]]:
    """Trials of finished runs of the same study to other precisions, and the last such run.

    A trial is named by its input and number, so it need not be run again.
    """
    entries: defaultdict[str, list[Entry]] = defaultdict(list)
    last = ""
    for digest, spec in begun.items():
        if spec.perturbation != study.spec.perturbation:  # of most runs in a store, and soon known
            continue
        own = replace(spec, method=study.spec.method, words=study.spec.words) == study.spec
        if own and digest != study.digest and spec.method.options.get("precision"):
            record = store.stored(digest)
            if record is not None and not record.stopped_early:
                last = digest
                for name, trials in store.journal(digest).replay().items():
                    entries[name] += trials
    for trials in entries.values():
        trials.sort(key=lambda entry: (entry.start, -entry.stop))
    return last, entries


def _answers_the_same(one: StudySpec, other: StudySpec) -> bool:
    """The same model, perturbation and property, and the same quantity of them."""
    if one.perturbation != other.perturbation:  # of most runs in a store, and soon known
        return False
    mine, others = (
        (
            replace(s.model, answers=""),
            s.bounds,
            s.property,
            s.method.number("kappa"),
            s.method.options.get("radii"),
            s.is_tail,
            _needs(s),
        )
        for s in (one, other)
    )
    return mine == others


def _needs(spec: StudySpec) -> Needs:
    """What the method needs; failures are counted or split, of each input or of all, alike."""
    needs: Needs = getattr(METHODS.get(spec.method.kind), "needs", Needs.SAMPLES)
    return Needs.SAMPLES if needs in (Needs.MEAN, Needs.SPLITTING) else needs


def _whole_groups(record: Record, groups: dict[str, str]) -> bool:
    """Whether no group of the record has got further inputs: the added ones are new groups."""
    known, studied = {row.group for row in record.inputs}, {row.id for row in record.inputs}
    return not any(group in known and name not in studied for name, group in groups.items())


_CHANGED = Subject("(the model changed during this run)", (0,))
"""Names an entry of a journal whose evidence may be that of two models: it is not used again."""
_SAMPLE, _SAMPLE_OF_MEAN = 64, 8
"""Clean inputs that the model sees again at the end, at most: one small batch; fewer of a mean,
which may have but a few hundred trials."""


def _assumption(model: Model) -> Assumption | None:
    """What claims take for granted about the model; one that is not ours says it in words."""
    stated = getattr(model, "assumption", None)
    return Stated(stated) if type(stated) is str else stated


def first_answers(study: StudyParts) -> Outputs | None:
    """What the model says of a few clean inputs; None where it checks itself at the end."""
    if hasattr(study.model, "check_unchanged"):
        return None
    rows = _rows(study)
    return (
        study.clean[rows] if study.has_classes else clean_outputs(study.model, study.fitted.x[rows])
    )


def check_unchanged(study: StudyParts, first: Outputs | None) -> None:
    """Whether the model is still the one that the run began with; raises `ModelChanged`."""
    if first is None:
        model: Any = study.model
        model.check_unchanged()
        return
    now = clean_outputs(study.model, study.fitted.x[_rows(study)])
    if largest_difference(first, now) > LARGEST_DIFFERENCE:
        raise errors.ModelChanged(
            "the model changed during the run: it answers clean inputs otherwise than at the "
            "start, so no result is recorded; let its answers depend on its input alone (no "
            "counters, no random numbers, evaluation mode), and use another store (--store)"
        )


def mark_changed(journal: Journal) -> None:
    """Evidence that may be that of two models: no later run uses it."""
    journal.append([(Task(_CHANGED, 0.0, 0, 1), Counts(1, 0))])


def _rows(study: StudyParts) -> slice:
    """A few inputs, all over the data."""
    most = _SAMPLE_OF_MEAN if study.needs is Needs.MEAN else _SAMPLE
    return slice(None, None, -(-len(study.fitted) // most))


_PACKAGES = ("surefoot", "numpy", "scipy", "onnxruntime", "torch", "scikit-learn")
MEASUREMENTS = {
    Needs.SAMPLES: measure.samples_measurement,
    Needs.MEAN: measure.mean_measurement,
    Needs.LEVELS: measure.curve_measurement,
    Needs.RADII: radii_measurement,
    Needs.REGION: measure.attack_measurement,
    Needs.SMOOTHING: measure.smoothing_measurement,
    Needs.SPLITTING: measure.splitting_measurement,
}


@dataclass(frozen=True)
class RunSettings:
    """What does not decide the result: how it is computed, and who is notified."""

    workers: int | None = None
    batch: int | None = None
    on_progress: Callable[[Progress], None] = lambda _: None
    on_interrupt: Callable[[Result], None] = lambda _: None
    source: Source | None = None
    time_limit: float | None = None
    executor: AnyExecutor = None
    on_workers: Callable[[WorkerNote], None] = warn_of_fallback
    batches_checked: bool = False
    """Whether a batch as large as this run's was checked with this model before."""
    known: Mapping[str, Sequence[Entry]] = field(default_factory=dict)
    """Trials of this study that were run already, by input."""

    def __post_init__(self) -> None:
        check_executor(self.executor)
        if self.batch is not None and self.batch < 1:
            raise InvalidArgument(
                f"a batch holds at least one trial, got {self.batch}"
                ": leave it out, or pass 1 or more"
            )


def run_several(
    studies: Mapping[str, StudyParts],
    where: str | None,
    options: Callable[[str], RunSettings],
    attack: AnyAttack | None = None,
) -> dict[str, Result]:
    """One after the other in a store that stays open; `options` of each when it begins.

    Nothing is written before the first preflight passes.
    """
    results: dict[str, Result] = {}
    checked = () if store_exists(where) else preflight(next(iter(studies.values())))
    begun: dict[str, StudySpec] = {}
    with closing(open_store(where)) as store, one_cluster():
        for name, study in studies.items():
            settings = options(name)
            check_time_limit(settings.time_limit, [study.method])
            result = _run_in(store, study, checked, settings, begun)
            checked = ()
            if attack is not None:
                result = _with_attack(study, result, attack, store, settings)
            results[name] = (
                _with_journals(result, store)
                if where is None
                else replace(result, store=public_location(where))
            )
    return results


def _run_in(
    store: Store,
    study: StudyParts,
    checked: tuple[Finding, ...],
    options: RunSettings,
    begun: dict[str, StudySpec],
) -> Result:
    """The result from the store, or measured and kept there.

    A run that a time limit ended goes on from its journal.
    """
    finished = store.stored(study.digest)
    if finished is not None and not finished.stopped_early:
        return Result(finished.unrequired, from_store=True)
    checked = checked or preflight(study)
    measurement: Measurement = MEASUREMENTS[study.needs](study, options.workers, options.batch)
    if not options.batches_checked:
        checked += preflight_of_batches(study, measurement.batch, checked)
    store.begin(study.digest, study.spec, options.source, environment())
    earlier = adopt_evidence(study, store)
    rung = _begun_at(study, store, earlier_runs(study, store, begun))
    known = options.known
    if study.needs is Needs.MEAN:
        earlier, stored = known_trials(study, store, begun)
        known = {**known, **stored}
    journal = store.journal(study.digest)
    first = first_answers(study)
    stopped, started = list[bool](), time.monotonic()

    def record(body: RecordBody) -> Record:
        return Record(
            digest=study.digest,
            spec=study.spec,
            claims=assuming(all_in_scope(body.claims, study.spec), _assumption(study.model)),
            inputs=body.inputs,
            details=body.details,
            findings=checked,
            trials=body.trials,
            environment=environment(),
            source=options.source,
            extends=earlier,
            rung=rung,
            stopped_early=bool(stopped),
            seconds=time.monotonic() - started,
        )

    try:
        answers = run_measurement(
            measurement, journal, options.on_progress, options.time_limit,
            partial(stopped.append, True),
            options.executor, options.on_workers, known,
        )  # fmt: skip
    except errors.ReplayMismatch as error:
        if error.subject != _CHANGED.name:
            raise
        raise errors.StoreFailed(
            "the model changed during an earlier run of this study, so its trials cannot be used: "
            "use another store (store=, --store)"
        ) from error
    except errors.AnswersDiffer:
        mark_changed(journal)
        raise
    except BaseException as ended:
        interrupted = not isinstance(ended, Exception)
        if interrupted and (body := measurement.conclude_early(journal)) is not None:
            options.on_interrupt(Result(record(body)))
        raise
    body = measurement.conclude(answers)
    if study.has_other_labels:
        body = with_other_label(body, journal.replay())
    try:
        check_unchanged(study, first)
    except errors.ModelChanged:
        mark_changed(journal)
        raise
    return Result(store.finish(record(body)))


def _with_attack(
    study: StudyParts, result: Result, attack: AnyAttack, store: Store, options: RunSettings
) -> Result:
    """The result with the failure rate of an attack beside it: a study of its own, in the store."""
    record = result.record
    samples: Any = result.details  # of a study that samples
    claims = tuple(claim for claim in record.claims if not isinstance(claim, RobustAtRadius))
    own = replace(options, source=record.source, on_interrupt=lambda _: None, time_limit=None)
    summary = measure.summary_of(study, attack)
    try:
        attack_study = replace(study, method=attack, population=None, by_class=None)
        attacked = _run_in(store, attack_study, record.findings, own, {})
        if isinstance(attacked.details, AttackSummary):
            summary = replace(attacked.details, run=attacked.record.digest)
        claims += attacked.claims
    except (InvalidArgument, errors.MissingPackage, errors.ModelFailed) as error:
        summary = replace(summary, reason=str(error))
    known = store.stored(record.digest) or record  # with what was required of it
    whole = replace(known, claims=claims, details=replace(samples, attack=summary))
    return replace(result, record=store.finish(whole).unrequired)


def _with_journals(result: Result, store: Store) -> Result:
    """The result of a run without a store, with its journal and that of the attack beside it."""
    details, beside = result.details, None
    attack = details.attack if isinstance(details, Samples) else None
    if attack is not None and attack.run and (attacked := store.stored(attack.run)) is not None:
        beside = Result(attacked, journal=store.journal(attack.run))
    return replace(result, journal=store.journal(result.record.digest), attack_run=beside)


def preflight(study: StudyParts) -> tuple[Finding, ...]:
    """What the checks before a run found; a bad one stops the run."""
    parts = study.fitted, study.model, _perturbation_to_check(study)
    found = findings((*study.model_checks, *examine_trials(*parts)))
    if study.needs is Needs.LEVELS and study.method.low <= 0:
        found += findings(examine_level_zero(*parts))
    _refuse_failed(found)
    real = getattr(study.method, "arithmetic", None) is Arithmetic.REAL
    if study.needs is Needs.RADII and real:
        return (*found, real_arithmetic(study))
    return found


def preflight_of_batches(
    study: StudyParts, size: int, known: tuple[Finding, ...]
) -> tuple[Finding, ...]:
    """What a batch of the size of this run adds to what is known; a bad finding stops the run."""
    checked = examine_batch(study.fitted, study.model, _perturbation_to_check(study), size)
    [found] = findings([checked])
    _refuse_failed((found,))
    odd = found.status != CheckStatus.OK and found.name not in (
        finding.name for finding in known if finding.status != CheckStatus.OK
    )
    return (found,) if odd else ()


def _refuse_failed(findings: tuple[Finding, ...]) -> None:
    bad = next((finding for finding in findings if finding.status == CheckStatus.FAILED), None)
    if bad is not None:
        raise InvalidArgument(f"preflight, {bad.name}: {bad.finding}")


def _perturbation_to_check(study: StudyParts) -> Perturbation:
    """A curve is checked at its highest level."""
    if study.needs is Needs.LEVELS:
        return at_level(study.perturbation, study.method.high)
    return study.perturbation


@lru_cache(maxsize=1)
def environment() -> dict[str, str]:
    """The versions that the numbers were computed with."""
    versions = {"python": platform.python_version(), "platform": platform.platform()}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions
