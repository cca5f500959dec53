"""How a study is answered: preflight, measure, conclude, record. One path for every method."""

from __future__ import annotations

import platform
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import lru_cache
from importlib import metadata
from typing import Any

from surefoot.engine.loop import Progress
from surefoot.engine.preflight import CheckStatus, examine
from surefoot.errors import InvalidArgument, MissingPackage, ModelFailed
from surefoot.procedure import Needs
from surefoot.search import Attack
from surefoot.store import Store, open_store, store_exists
from surefoot.store.records import AttackSummary, Finding, Record, Source
from surefoot.study import attack_run, curve_run, radii_run, sampling_run
from surefoot.study.added_inputs import adopted
from surefoot.study.arithmetic import real_arithmetic
from surefoot.study.result import Result
from surefoot.study.setup import Setup
from surefoot.study.work import Conclusion, Work, measured

Watch = Callable[[Progress], None]
_PACKAGES = ("surefoot", "numpy", "scipy", "onnxruntime", "torch", "scikit-learn")


def run(
    study: Setup,
    where: str | None,
    workers: int | None,
    batch: int | None,
    watch: Watch,
    source: Source | None,
    attack: Attack | None,
    early: Callable[[Result], None],
) -> Result:
    """The whole flow. Nothing is written before the preflight passes."""
    if batch is not None and batch < 1:
        raise InvalidArgument(f"a batch holds at least one trial, got {batch}")
    if attack is not None and study.needs is not Needs.SAMPLES:
        raise InvalidArgument(f"{type(study.method).__name__}: an attack goes beside sampling only")
    findings = () if store_exists(where) else preflight(study)
    with closing(open_store(where)) as store:
        result = _answered(study, store, findings, workers, batch, watch, source, early)
        if attack is not None:
            result = _with_attack(study, result, attack, store, workers, batch, watch)
    return result if where is None else replace(result, store=where)


def _answered(
    study: Setup,
    store: Store,
    findings: tuple[Finding, ...],
    workers: int | None,
    batch: int | None,
    watch: Watch,
    source: Source | None,
    early: Callable[[Result], None],
) -> Result:
    known = store.stored(study.digest)
    if known is not None:
        return Result(known, from_store=True)
    findings = findings or preflight(study)
    work = _work(study, workers, batch)
    store.begin(study.digest, study.spec, source, environment())
    earlier = adopted(study, store)
    journal = store.journal(study.digest)

    def record(found: Conclusion) -> Record:
        return Record(
            digest=study.digest,
            spec=study.spec,
            claims=found.claims,
            inputs=found.inputs,
            details=found.details,
            findings=findings,
            trials=found.trials,
            environment=environment(),
            source=source,
            extends=earlier,
        )

    try:
        answers = measured(work, journal, watch)
    except BaseException as ended:
        if not isinstance(ended, Exception) and (part := work.reached(journal)) is not None:
            early(Result(record(part)))
        raise
    return Result(store.finish(record(work.conclude(answers))))


def _work(study: Setup, workers: int | None, batch: int | None) -> Work:
    """The work of the study's method."""
    made = {
        Needs.SAMPLES: sampling_run.work,
        Needs.LEVELS: curve_run.work,
        Needs.RADII: radii_run.work,
        Needs.REGION: attack_run.work,
    }
    return made[study.needs](study, workers, batch)


def _with_attack(
    study: Setup,
    result: Result,
    attack: Attack,
    store: Store,
    workers: int | None,
    batch: int | None,
    watch: Watch,
) -> Result:
    """The result with the failure rate of an attack beside it: a study of its own, in the store."""
    record = result.record
    samples: Any = result.details
    claims = tuple(claim for claim in record.claims if claim.kind != "robust_accuracy")
    try:
        twin = replace(study, method=attack, population=None, by_class=None)
        beside = _answered(
            twin, store, record.findings, workers, batch, watch, record.source, lambda _: None
        )
        found: Any = beside.details
        claims += beside.claims
    except (InvalidArgument, MissingPackage, ModelFailed) as error:
        effort = attack.starts, attack.iterations, attack.targets
        found = AttackSummary(*effort, len(study.fitted), study.level, reason=str(error))
    whole = replace(record, claims=claims, details=replace(samples, attack=found))
    return replace(result, record=store.finish(whole))


def preflight(study: Setup) -> tuple[Finding, ...]:
    """What the checks found; a bad one stops the run."""
    made: Any = study.perturbation
    if study.needs is Needs.LEVELS:
        made = replace(made, level=study.method.high)
    checks = tuple(examine(study.fitted, study.model, made))
    bad = next((c for c in checks if c.status is CheckStatus.FAILED), None)
    if bad is not None:
        raise InvalidArgument(f"preflight, {bad.name}: {bad.finding}")
    found = tuple(Finding(c.name, str(c.status), c.finding) for c in checks)
    others: str = getattr(study.method, "verifier", "")
    if study.needs is Needs.RADII and not others:
        return (*found, real_arithmetic(study))
    return found


def environment() -> dict[str, str]:
    """What the numbers were made with."""
    return dict(_environment())


@lru_cache(maxsize=1)
def _environment() -> dict[str, str]:
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
