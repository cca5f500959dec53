"""Critical radii: a bracket of each input, quantiles of the population, examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from surefoot.conclude.radii import claims_of, mean_claims, quantiles_of
from surefoot.conclude.recorded_study import RecordedStudy
from surefoot.conclude.scope import by_class, distinct_names
from surefoot.core.counts import Proof
from surefoot.core.results import Bracket, Quantile, Undecided
from surefoot.core.tasks import Subject
from surefoot.engine.examples import png, winning_class
from surefoot.engine.proof_bench import ProofBench, decode_point
from surefoot.executors import cores
from surefoot.population import CriticalQuantile, CriticalQuantileResult
from surefoot.records.record import Counterexample, InputRow, Radii, RecordBody
from surefoot.region.critical_level import NOT_REACHED, bracket_of
from surefoot.store import Journal
from surefoot.study.curve_run import WHOLE, shuffled
from surefoot.study.measurement import Measurement
from surefoot.study.sampled_check import points_drawn
from surefoot.study.setup import Setup
from surefoot.study.verifiers import bounds_of, prover_for
from surefoot.subject.protocols import to_host

_MOST_EXAMPLES = 8
"""Counterexamples with their images in a record: a row of a page."""


def measurement(study: Setup, workers: int | None, batch: int | None) -> Measurement:
    """Every input by itself; or all of them, in a random order, where one search asks for each."""
    bounds, inputs, method = bounds_of(study), study.fitted, study.method
    prover, read = prover_for(study)
    network, reader = (None, None) if read is None else (read.network, read.difference)
    bench = ProofBench(
        inputs, study.references, study.model, prover, bounds, method.tolerance, method.efforts,
        study.seed,
    )  # fmt: skip
    subjects, procedures = searches(study, inputs.subjects())

    def conclude(answers: Sequence[Any]) -> RecordBody:
        brackets, searched = brackets_of(subjects, answers)
        drawn = points_drawn(study, brackets, network, workers)
        checked = {i: replace(b, sampled=drawn.get(i, ())) for i, b in brackets.items()}
        return _with_examples(study, conclude_brackets(study, checked, searched, reader))

    def conclude_early(journal: Journal) -> RecordBody | None:
        proofs = _proofs(subjects, journal)
        if not proofs:
            return None
        brackets = {i: bracket_of(proofs.get(i, NOT_REACHED)) for i in range(len(inputs))}
        return _with_examples(study, conclude_brackets(study, brackets, None, reader))

    return Measurement(
        subjects,
        procedures,
        bench,
        1,
        workers or cores(),
        conclude,
        "proving",
        "questions",
        conclude_early,
        "" if network is None else "the prover is written in Python",
        workers is not None,
    )


def searches(
    study: Setup | RecordedStudy, each: Sequence[Subject]
) -> tuple[Sequence[Subject], Mapping[str, Any]]:
    """A search for each input, or one search for all of them in a random order."""
    if not isinstance(study.method, CriticalQuantile):
        return each, {subject.name: study.method for subject in each}
    size, top = len(study.fitted), bounds_of(study).width
    whole = replace(study.method, size=size, top=top)
    return [Subject(WHOLE, shuffled(study))], {WHOLE: whole}


def brackets_of(
    subjects: Sequence[Subject], answers: Sequence[Any]
) -> tuple[dict[int, Bracket], Quantile | Undecided | None]:
    """The bracket of each input tried, by row; and the quantile, where a search gave it."""
    if isinstance(answers[0], CriticalQuantileResult):
        only = answers[0]
        return dict(zip(subjects[0].rows, only.brackets, strict=False)), only.quantile
    return dict(enumerate(answers)), None


def _proofs(subjects: Sequence[Subject], journal: Journal) -> dict[int, Proof]:
    """What a journal that ends early holds, by row."""
    rows = {subject.name: subject.rows for subject in subjects}
    proofs: dict[int, Proof] = {}
    for name, entries in journal.replay().items():
        for entry in entries:
            row = rows[name][entry.start % len(rows[name])]
            if isinstance(proof := entry.evidence, Proof):
                proofs[row] = proofs[row] + proof if row in proofs else proof
    return proofs


def conclude_brackets(
    study: Setup | RecordedStudy,
    brackets: Mapping[int, Bracket],
    searched: Quantile | Undecided | None,
    reader: float | None,
) -> RecordBody:
    """What follows from the brackets, by row, without a model."""
    ordered = sorted(brackets)
    rows = tuple(_row(study, i, brackets[i]) for i in ordered)
    local = [brackets[i] for i in ordered]
    quantiles, classes = quantiles_of(study.method, rows, searched, _classes(study, rows))
    radii = Radii(quantiles, classes, (), reader)
    claims = claims_of(radii, rows)
    chosen = isinstance(study.method, CriticalQuantile) and study.method.within is not None
    means = mean_claims(claims[0], rows, None if chosen else bounds_of(study).width)
    return RecordBody(rows, radii, (*claims, *means), sum(b.trials for b in local))


def _with_examples(study: Setup, body: RecordBody) -> RecordBody:
    """The same with the nearest counterexamples, whose labels the model gives."""
    radii: Any = body.details
    return replace(body, details=replace(radii, examples=_examples(study, body.inputs)))


def _row(study: Setup | RecordedStudy, i: int, bracket: Bracket) -> InputRow:
    inputs = study.fitted
    label = None if inputs.labels is None else int(inputs.labels[i])
    group = inputs.groups[i] if inputs.groups else ""
    return InputRow(inputs.ids[i], label, int(study.predicted[i]), bracket, group=group)


def _classes(study: Setup | RecordedStudy, rows: Sequence[InputRow]) -> dict[str, list[InputRow]]:
    """The inputs of each class, where classes are wanted."""
    if not study.class_by_class:
        return {}
    classes = by_class(rows)
    names = distinct_names(classes, study.fitted.class_name)
    return {names[label]: members for label, members in classes.items()}


def _examples(study: Setup, rows: Sequence[InputRow]) -> tuple[Counterexample, ...]:
    """The inputs with the nearest counterexamples, beside them."""
    inputs, bounds = study.fitted, bounds_of(study)
    known = [
        (row.result.high, row.id, row.result)
        for row in rows
        if isinstance(row.result, Bracket) and row.result.witness and row.result.high > 0
    ]
    examples = []
    for distance, name, bracket in sorted(known, key=lambda one: one[:2])[:_MOST_EXAMPLES]:
        i = inputs.ids.index(name)
        x = inputs.x[i]
        y = decode_point(bracket.witness).astype(np.float32).reshape(x.shape)
        scores = to_host(study.model.predict(study.model.place(y[None])))[0]
        examples.append(
            Counterexample(
                name,
                distance,
                inputs.class_name(int(study.predicted[i])),
                winning_class(scores, inputs.class_name),
                png(x, inputs.frame, bounds) if inputs.frame else "",
                png(y, inputs.frame, bounds) if inputs.frame else "",
            )
        )
    return tuple(examples)
