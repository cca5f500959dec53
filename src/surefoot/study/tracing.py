"""How a curve is traced: the inputs in one random order, the levels as the procedure asks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from surefoot.engine.drive import Journal, Progress
from surefoot.engine.strips import strip
from surefoot.errors import InvalidArgument
from surefoot.report.curves import Curves
from surefoot.store.records import CurveRecord, CurveRow, Finding, Source
from surefoot.study.aggregate import told_apart
from surefoot.study.running import answered, driven, environment
from surefoot.study.spec import Study
from surefoot.subject import Subject

WHOLE = "all"


def trace(
    studies: Study | Mapping[str, Study],
    *,
    store: str | None = None,
    workers: int | None = None,
    batch: int | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Curves:
    """Curves of one study or of several: models, or alterations, side by side.

    All meet the same inputs in the same order, with the same noise at every level.
    """
    named = {"": studies} if isinstance(studies, Study) else dict(studies)
    if not named:
        raise InvalidArgument("give at least one study to trace")
    return Curves(
        {
            name: traced(study, store, workers, batch, watch or (lambda _: None), None)[0]
            for name, study in named.items()
        }
    )


def traced(
    study: Study,
    where: str | None,
    workers: int | None,
    batch: int | None,
    watch: Callable[[Progress], None],
    source: Source | None,
) -> tuple[CurveRecord, bool]:
    """The record of one curve, and whether the store had it."""
    if not study.traces:
        raise InvalidArgument(
            f"{type(study.procedure).__name__} studies single inputs: use study.run()"
        )

    def measured(findings: tuple[Finding, ...], journal: Journal) -> CurveRecord:
        return _measured(study, findings, journal, workers, batch, watch, source)

    return answered(study, where, source, measured, CurveRecord)


def _measured(
    study: Study,
    findings: tuple[Finding, ...],
    journal: Journal,
    workers: int | None,
    batch: int | None,
    watch: Callable[[Progress], None],
    source: Source | None,
) -> CurveRecord:
    bench, subjects = study.bench(), _subjects(study)
    asked: Any = study.procedure
    own = {s.name: replace(asked, size=len(s.rows)) for s in subjects.values()}
    found, _ = driven(
        study, bench, own, list(subjects.values()), asked.low, journal, workers, batch, watch
    )
    curves = dict(zip(subjects, found, strict=True))
    whole = curves.pop(WHOLE)
    return CurveRecord(
        digest=study.digest,
        spec=study.spec,
        curve=whole,
        classes=tuple(CurveRow(name, curve.size, curve) for name, curve in curves.items()),
        strip=strip(bench, subjects[WHOLE], whole.span),
        findings=findings,
        trials=whole.trials + sum(curve.trials for curve in curves.values()),
        environment=environment(),
        source=source,
    )


def shuffled(study: Study) -> tuple[int, ...]:
    """The inputs in an order that is random by the seed and depends on nothing but their ids."""
    ids = study.fitted.ids

    def drawn(i: int) -> bytes:
        return hashlib.sha256(f"{study.seed}\0{ids[i]}".encode()).digest()

    return tuple(sorted(range(len(ids)), key=drawn))


def _subjects(study: Study) -> dict[str, Subject]:
    """The whole set, and each class where that is wanted, by the name a reader sees."""
    inputs, order = study.fitted, shuffled(study)
    found = {WHOLE: Subject(WHOLE, order)}
    if not study.by_class:
        return found
    labels = study.predicted if inputs.labels is None else inputs.labels
    names = told_apart(sorted({int(label) for label in labels}), inputs.class_name)
    for label, name in names.items():
        rows = tuple(i for i in order if labels[i] == label)
        plain = name == WHOLE or name.isdecimal()
        found[f"class {name}" if plain else name] = Subject(f"class {label}", rows)
    return found
