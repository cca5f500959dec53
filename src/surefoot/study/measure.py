"""What the engine measures for a study: subjects, a procedure for each, the bench that answers.

One function for each kind of method that runs trials; `prove` has the one that proves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.conclude.accuracy import each_result, procedures_of
from surefoot.conclude.curves import WHOLE, conclude_curves, procedure_of, shuffled
from surefoot.conclude.radii import conclude_attack
from surefoot.conclude.sampling import (
    conclude_mean,
    conclude_samples,
    mean_procedure,
    results_of_inputs,
)
from surefoot.conclude.scope import distinct_names
from surefoot.conclude.smoothing import conclude_certificates, procedures_of_radii
from surefoot.conclude.splitting import conclude_splitting, procedures_of_splitting
from surefoot.core.claims import Randomness
from surefoot.core.counts import Answer
from surefoot.core.procedure import Joint, Pinned, Procedure
from surefoot.core.results import Curve, InputResult
from surefoot.core.tasks import Bench, Entry, Subject, Task
from surefoot.engine import batching
from surefoot.engine.attack_bench import AttackBench
from surefoot.engine.chains import SplittingBench
from surefoot.engine.devices import device_benches, device_of, within_memory
from surefoot.engine.examples import failed_examples, strip
from surefoot.engine.loop import measure
from surefoot.engine.progress import Progress
from surefoot.engine.sampling_bench import SamplingBench
from surefoot.errors import InvalidArgument, MissingPackage, ModelFailed
from surefoot.executors.devices import Work
from surefoot.executors.pool import (
    AnyExecutor,
    WorkerNote,
    cores,
    kept_threads,
    open_work,
    warn_of_fallback,
)
from surefoot.population.precision import PrecisionResult
from surefoot.records.record import AttackSummary, CleanLoss, RecordBody
from surefoot.region.attack_method import PGD, AnyAttack, AttackFunction
from surefoot.store import Journal
from surefoot.study.parts import StudyParts
from surefoot.subject.protocols import Scores
from surefoot.system.memory_limits import most_trials, most_workers
from surefoot.system.text import level_words


@dataclass(frozen=True, eq=False)
class Measurement:
    """Subjects, a procedure for each by name or one for all, the bench that answers, what follows.

    `conclude` takes one answer for each procedure. `conclude_early` takes the journal of a run that
    was interrupted; None where that says nothing yet. `in_python` says why threads do not help,
    where they do not. `requested` says that the user chose the number of workers.
    """

    subjects: Sequence[Subject]
    procedures: Mapping[str, Procedure[Any, Any, Any]] | Joint[Any]
    bench: Bench[Answer]
    batch: int
    workers: int
    conclude: Callable[[Sequence[Any]], RecordBody]
    doing: str = "measuring"
    unit: str = "trials"
    conclude_early: Callable[[Journal], RecordBody | None] = lambda _: None
    in_python: str = ""
    requested: bool = True
    largest_batch: int = 0


def run_measurement(
    measurement: Measurement,
    journal: Journal,
    on_progress: Callable[[Progress], None] = lambda _: None,
    time_limit: float | None = None,
    on_time_up: Callable[[], None] = lambda: None,
    executor: AnyExecutor = None,
    on_workers: Callable[[WorkerNote], None] = warn_of_fallback,
    known: Mapping[str, Sequence[Entry]] = MappingProxyType({}),
) -> list[Any]:
    """What each subject's procedure concludes, through the one loop."""
    bench, workers = measurement.bench, measurement.workers
    if executor is not None and not measurement.requested:
        workers = cores()
    on_gpu = getattr(device_of(bench), "type", "cpu") != "cpu"
    several = device_benches(bench)
    work = Work(
        bench, workers, measurement.in_python, on_gpu, several, requested=measurement.requested
    )
    with open_work(work, executor, on_workers) as pool:
        return measure(
            measurement.procedures,
            bench,
            measurement.subjects,
            pool=pool,
            journal=journal,
            batch_size=measurement.batch,
            block=bench.block,
            in_flight=getattr(pool, "in_flight", 1 if workers == 1 else 2 * workers),
            watch=on_progress,
            doing=measurement.doing,
            unit=measurement.unit,
            largest_batch=measurement.largest_batch,
            time_limit=time_limit,
            on_time_up=on_time_up,
            known=known,
        )


def samples_measurement(study: StudyParts, workers: int | None, batch: int | None) -> Measurement:
    """One procedure for every input, at the level of the perturbation."""
    bench, subjects = study.bench(), study.fitted.subjects()
    kept = dict(zip(study.fitted.ids, study.clean_kept.tolist(), strict=True))
    procedures = procedures_of(study.facts, kept)
    size = batch or batch_size(study, bench, subjects[0], study.level)

    def conclude(local: Sequence[InputResult]) -> RecordBody:
        rows = study.rows(each_result(procedures, local))
        examples = failed_examples(study.bench(), rows, study.level, size)
        return conclude_samples(study.facts, rows, examples, clean_loss(study))

    return _sampling(study, workers, bench, size, subjects, procedures, conclude, batch)


def _sampling(
    study: StudyParts,
    workers: int | None,
    bench: Bench[Answer],
    batch: int,
    subjects: Sequence[Subject],
    procedures: Mapping[str, Procedure[Any, Any, Any]] | Joint[Any],
    conclude: Callable[[Sequence[Any]], RecordBody],
    requested: int | None,
) -> Measurement:
    """Trials of a study, by as many workers as help where the user does not choose them.

    On a processor batches may grow where the user does not choose them; the model's do not.
    """
    number, why, largest = workers_for(study, workers), why_in_python(study), 0
    on_host = study.spec.generator == "sfc64"
    if requested is None and on_host and isinstance(bench, SamplingBench):
        bench, largest = replace(bench, rows_at_once=batch), batching.MOST_GROWTH * batch
    return Measurement(
        subjects, procedures, bench, batch, number, conclude,
        in_python=why, requested=workers is not None, largest_batch=largest,
    )  # fmt: skip


def batch_size(study: StudyParts, bench: SamplingBench[Any], subject: Subject, level: float) -> int:
    """The fastest batch, measured; a device is filled by far larger ones than a processor.

    None is tried that would fill its memory, which all workers share.
    """
    workers = workers_for(study, None)

    def run(n: int) -> None:
        bench.answer([Task(subject, level, 0, n)])

    if study.spec.generator == "sfc64":
        most = most_trials(study.fitted.row_bytes, workers)
        return batching.fastest_batch_size(run, batching.ON_CPU, most, workers)
    bounded = within_memory(run, device_of(bench), workers)
    if workers > 1:  # by a thread of the run itself, which then has what the libraries keep
        threads = kept_threads(workers)
        return batching.fastest_batch_size(
            lambda n: threads.submit(bounded, n).result(), batching.ON_GPU
        )
    return batching.fastest_batch_size(bounded, batching.ON_GPU)


def workers_for(study: StudyParts, workers: int | None) -> int:
    """As many as help: on a GPU a second one prepares while the first one's batch is computed.

    On a processor no more than have room for one trial each.
    """
    devices = 1 + len(getattr(study.model, "replicas", ()))
    if workers:
        return workers
    if not study.model.signature.thread_safe:
        return devices
    if study.spec.generator != "sfc64":
        return devices * min(2, cores())
    return min(cores(), most_workers(study.fitted.row_bytes))


def why_in_python(study: StudyParts) -> str:
    """Why threads would wait for each other, in words; empty where they do not."""
    model: str = getattr(study.model, "in_python", "")
    if model:
        return model
    inner = getattr(study.perturbation, "inner", study.perturbation)
    return "the perturbation is a Python function" if hasattr(inner, "function") else ""


def smoothing_measurement(study: StudyParts, workers: int | None, batch: int | None) -> Measurement:
    """One test for every input, under the noise that smooths the model."""
    bench, subjects = study.bench(), study.fitted.subjects()
    size = batch or batch_size(study, bench, subjects[0], study.level)

    def conclude(local: Sequence[InputResult]) -> RecordBody:
        return conclude_certificates(study.facts, study.rows(local))

    procedures = procedures_of_radii(study.facts, study.fitted.ids)
    return _sampling(study, workers, bench, size, subjects, procedures, conclude, batch)


def splitting_measurement(study: StudyParts, workers: int | None, batch: int | None) -> Measurement:
    """Particles of every input, moved until they fail; where the mean is wanted, of all together.

    A chain has one row of a batch, whatever its length.
    """
    trials, subjects = study.bench(), study.fitted.subjects()
    size = batch or batch_size(study, trials, subjects[0], study.level)
    bench = SplittingBench(trials.model, trials)
    procedures = procedures_of_splitting(study.facts, study.fitted.ids)

    def conclude(local: Sequence[Any]) -> RecordBody:
        rows = study.rows(each_result(procedures, local))
        return conclude_splitting(study.facts, rows, bench.found_failures(rows, study.level))

    return _sampling(study, workers, bench, size, subjects, procedures, conclude, batch)


def mean_measurement(study: StudyParts, workers: int | None, batch: int | None) -> Measurement:
    """One procedure for all inputs, which are in an order that is random by the seed."""
    bench, subjects = study.bench(), study.fitted.subjects()
    order = shuffled(study.seed, study.fitted.ids)
    in_order = replace(subjects, order=order)
    size = batch or batch_size(study, bench, subjects[0], study.level)

    def conclude(answers: Sequence[PrecisionResult]) -> RecordBody:
        [result] = answers
        rows = study.rows_tried(results_of_inputs(study.facts, result, order))
        failed = {study.fitted.ids[order[i]] for i, one in result.first.items() if one.failed}
        examples = failed_examples(study.bench(), rows, study.level, size, failed)
        return conclude_mean(study.facts, rows, result, order, examples, clean_loss(study))

    joint = Joint[Any](mean_procedure(study.facts))
    return _sampling(study, workers, bench, size, in_order, joint, conclude, batch)


def clean_loss(study: StudyParts) -> CleanLoss | None:
    """Its mean over the inputs; None without labels, or where the model has no classes."""
    labels = study.fitted.labels
    if labels is None or not study.has_classes:
        return None
    return mean_loss(study.clean, labels, study.model.signature.scores)


def mean_loss(scores: NDArray[np.floating], labels: NDArray[Any], kind: Scores) -> CleanLoss | None:
    """The mean cross-entropy; None where a label is the number of no class."""
    if not ((labels >= 0) & (labels < scores.shape[1])).all():
        return None
    losses = cross_entropy(scores, labels, kind)
    infinite = int(np.isinf(losses).sum())
    return CleanLoss(None if infinite else float(losses.mean()), len(losses), infinite)


def cross_entropy(
    scores: NDArray[np.floating], labels: NDArray[Any], kind: Scores
) -> NDArray[np.float64]:
    """Minus the logarithm of the probability of the true class; infinite where that is 0."""
    from scipy.special import logsumexp

    exact = np.asarray(scores, dtype=np.float64)
    own = exact[np.arange(len(exact)), labels]
    if kind is Scores.LOGITS:
        losses: NDArray[np.float64] = logsumexp(exact, axis=1) - own
        return losses
    with np.errstate(divide="ignore"):
        of_own: NDArray[np.float64] = 0.0 - np.log(np.clip(own, 0.0, 1.0))
    return of_own


def curve_measurement(study: StudyParts, workers: int | None, batch: int | None) -> Measurement:
    """One procedure for all inputs together, and one for each class where that is wanted."""
    bench, subjects_by_name = study.bench(), subjects_of(study)
    subjects = list(subjects_by_name.values())
    method: Any = study.method

    def conclude(curves: Sequence[Curve]) -> RecordBody:
        images = strip(study.bench(), subjects_by_name[WHOLE], curves[0].span)
        return conclude_curves(study.facts, list(subjects_by_name), curves, images)

    procedures = {s.name: procedure_of(method, s, study.seed) for s in subjects}
    size = batch or batch_size(study, bench, subjects[0], method.low)
    return _sampling(study, workers, bench, size, subjects, procedures, conclude, batch)


def subjects_of(study: StudyParts) -> dict[str, Subject]:
    """The whole set, and each class where that is wanted, by the name a reader sees."""
    order, facts = shuffled(study.seed, study.fitted.ids), study.facts
    picks = facts.randomness is Randomness.FRESH and not facts.of_population
    subjects = {WHOLE: Subject(WHOLE, order, picks)}
    if not study.class_by_class:
        return subjects
    labels = study.labels
    names = distinct_names(sorted({int(label) for label in labels}), facts.spec.inputs.class_name)
    for label, name in names.items():
        rows = tuple(i for i in order if labels[i] == label)
        plain = name == WHOLE or name.isdecimal()
        subjects[f"class {name}" if plain else name] = Subject(f"class {label}", rows, picks)
    return subjects


def attack_measurement(study: StudyParts, workers: int | None, batch: int | None) -> Measurement:
    """One search an input."""
    model: Any = study.model
    perturbation: Any = study.perturbation
    own_function = isinstance(study.method, AttackFunction)
    if not own_function:
        try:  # refuses a model whose gradients cannot be had, before anything is run
            model.logits_and_gradient(model.place(study.fitted.x[:1]), lambda logits, rows: logits)
        except (InvalidArgument, MissingPackage, ModelFailed) as error:
            raise InvalidArgument(f"the model's gradients cannot be had: {error}") from error
    bench = AttackBench(
        study.fitted, study.references, study.model, model, perturbation, perturbation.ball,
        study.property, study.method, study.seed, study.scorer,
    )  # fmt: skip
    pinned: Any = Pinned(study.method, study.level)
    return Measurement(
        subjects=study.fitted.subjects(),
        procedures=dict.fromkeys(study.fitted.ids, pinned),
        bench=bench,
        batch=min(batch or bench.batch_size(), len(study.fitted)),
        # functions draw from the global random numbers, which threads share
        workers=1 if own_function else workers_for(study, workers),
        conclude=lambda local: conclude_attack(
            study.facts, study.rows(local), _in_this_ball(study)
        ),
        doing="attacking",
        unit="inputs",
        requested=own_function or workers is not None,
    )


def _in_this_ball(study: StudyParts) -> AttackSummary:
    """What the attack is, and the ball that it searches."""
    perturbation: Any = study.perturbation
    bounds = study.model.signature.bounds
    within = "" if bounds is None else f" within [{bounds.low:g}, {bounds.high:g}]"
    whole = ", whole numbers only" if study.model.signature.whole_numbers else ""
    ball = f"{perturbation.ball} ball of radius {level_words(study.level)}{within}{whole}"
    return replace(summary_of(study, study.method), ball=ball)


def summary_of(study: StudyParts, attack: AnyAttack) -> AttackSummary:
    """What the attack is, before anything is known of its outcome."""
    shared: dict[str, Any] = {"inputs": len(study.fitted), "level": study.level}
    match attack:
        case PGD():
            return AttackSummary(
                attack.starts, attack.iterations, 0, **shared,
                method="pgd", step=level_words(attack.step_at(study.level)),
            )  # fmt: skip
        case AttackFunction():
            return AttackSummary(0, 0, 0, **shared, method="function", name=attack.name)
        case _:
            targets = min(attack.targets, max(study.model.signature.classes - 1, 0))
            return AttackSummary(attack.starts, attack.iterations, targets, **shared)
