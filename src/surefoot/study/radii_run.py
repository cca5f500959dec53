"""Critical radii: a bracket of each input, quantiles of the population, examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from surefoot.engine.proof_bench import ProvingBench, unpacked
from surefoot.engine.worst_inputs import png
from surefoot.evidence import Proof
from surefoot.executors import cores
from surefoot.population import CriticalQuantile, CriticalQuantileResult
from surefoot.results import Bracket, Quantile, Undecided
from surefoot.search.critical_level import bracket_of
from surefoot.store import Journal
from surefoot.store.records import Counterexample, InputRow, Radii
from surefoot.study.class_groups import names_apart
from surefoot.study.curve_run import WHOLE, shuffled
from surefoot.study.radii_claims import claims_of, quantiles_of
from surefoot.study.sampled_check import points_drawn
from surefoot.study.setup import Setup
from surefoot.study.verifiers import bounds_of, prover_for
from surefoot.study.work import Conclusion, Work
from surefoot.tasks import Subject

NOTHING = Proof(0.0, None, "", "not reached", 0, 0.0)
_SHOWN = 8


def work(study: Setup, workers: int | None, batch: int | None) -> Work:
    """Every input by itself; or all of them, in a random order, where one search asks for each."""
    bounds, inputs, method = bounds_of(study), study.fitted, study.method
    prover, read = prover_for(study)
    network, reader = (None, None) if read is None else (read.network, read.apart)
    bench = ProvingBench(
        inputs, study.references, study.model, prover, bounds, method.tolerance, method.efforts,
        study.seed,
    )  # fmt: skip
    subjects: Sequence[Subject] = inputs.subjects()
    procedures: Mapping[str, Any] = dict.fromkeys(inputs.ids, method)
    if isinstance(method, CriticalQuantile):
        subjects = [Subject(WHOLE, shuffled(study))]
        procedures = {WHOLE: replace(method, size=len(inputs), top=bounds.width)}

    def conclude(answers: Sequence[Any]) -> Conclusion:
        brackets, settled = _brackets(subjects, answers)
        drawn = points_drawn(study, brackets, network, workers)
        checked = {i: replace(b, sampled=drawn.get(i, ())) for i, b in brackets.items()}
        return _conclude(study, checked, settled, reader)

    def reached(journal: Journal) -> Conclusion | None:
        proofs = _proofs(subjects, journal)
        if not proofs:
            return None
        found = {i: bracket_of(proofs.get(i, NOTHING)) for i in range(len(inputs))}
        return _conclude(study, found, None, reader)

    return Work(
        subjects,
        procedures,
        bench,
        1,
        workers or cores(),
        conclude,
        "proving",
        "questions",
        reached,
    )


def _brackets(
    subjects: Sequence[Subject], answers: Sequence[Any]
) -> tuple[dict[int, Bracket], Quantile | Undecided | None]:
    """The bracket of each input looked at, by row; and the quantile, where a search settled it."""
    if isinstance(answers[0], CriticalQuantileResult):
        only = answers[0]
        return dict(zip(subjects[0].rows, only.brackets, strict=False)), only.quantile
    return dict(enumerate(answers)), None


def _proofs(subjects: Sequence[Subject], journal: Journal) -> dict[int, Proof]:
    """What a journal that ends early holds, by row."""
    rows = {subject.name: subject.rows for subject in subjects}
    found: dict[int, Proof] = {}
    for name, entries in journal.replay().items():
        for entry in entries:
            row = rows[name][entry.start % len(rows[name])]
            proof: Proof = entry.evidence
            found[row] = found[row] + proof if row in found else proof
    return found


def _conclude(
    study: Setup,
    brackets: Mapping[int, Bracket],
    settled: Quantile | Undecided | None,
    reader: float | None,
) -> Conclusion:
    ordered = sorted(brackets)
    rows = tuple(_row(study, i, brackets[i]) for i in ordered)
    local = [brackets[i] for i in ordered]
    quantiles, classes = quantiles_of(study.method, local, settled, _groups(study, ordered, local))
    found = Radii(quantiles, classes, _examples(study, rows), reader)
    claims = claims_of(found, rows)
    return Conclusion(rows, found, claims, sum(b.trials for b in local))


def _row(study: Setup, i: int, bracket: Bracket) -> InputRow:
    labels = study.fitted.labels
    label = None if labels is None else int(labels[i])
    return InputRow(study.fitted.ids[i], label, int(study.predicted[i]), bracket)


def _groups(
    study: Setup, rows: Sequence[int], local: Sequence[Bracket]
) -> dict[str, list[Bracket]]:
    """The brackets of each class, where classes are wanted."""
    if not study.class_by_class:
        return {}
    inputs = study.fitted
    every = study.predicted if inputs.labels is None else inputs.labels
    labels = every[list(rows)]
    names = names_apart(sorted({int(label) for label in labels}), inputs.class_name)
    return {
        name: [b for b, own in zip(local, labels, strict=True) if own == label]
        for label, name in names.items()
    }


def _examples(study: Setup, rows: Sequence[InputRow]) -> tuple[Counterexample, ...]:
    """The inputs with the nearest counterexamples, beside them."""
    inputs, bounds = study.fitted, bounds_of(study)
    known = [
        (row.result.high, row.id, row.result)
        for row in rows
        if isinstance(row.result, Bracket) and row.result.witness and row.result.high > 0
    ]
    shown = []
    for distance, name, bracket in sorted(known, key=lambda one: one[:2])[:_SHOWN]:
        i = inputs.ids.index(name)
        x = inputs.x[i]
        y = unpacked(bracket.witness).astype(np.float32).reshape(x.shape)
        label = int(np.argmax(np.asarray(study.model.predict(study.model.place(y[None])))[0]))
        shown.append(
            Counterexample(
                name,
                distance,
                inputs.class_name(int(study.predicted[i])),
                inputs.class_name(label),
                png(x, inputs.frame, bounds) if inputs.frame else "",
                png(y, inputs.frame, bounds) if inputs.frame else "",
            )
        )
    return tuple(shown)
