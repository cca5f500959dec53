"""Critical radii checked again with the model: counterexamples, points in the balls, proofs."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.core.results import Bracket, PointsDrawn
from surefoot.core.tasks import Subject, Task
from surefoot.engine.proof_bench import ProofBench, decode_point, labels_given
from surefoot.evidence.answers import Again, Check, Status
from surefoot.evidence.statement import Evidence
from surefoot.recheck.rebuild_study import RerunRequest
from surefoot.recheck.trials import SHARE, catch_probability, draws_for, floor_percent, why_else
from surefoot.study.prove import points_drawn, radii_measurement, radius_rank, radius_space
from surefoot.study.study import Study
from surefoot.subject.protocols import to_host

_POINTS = 1000
"""Fresh points in the ball of each drawn input: a failing share of 0.5 % is met almost surely."""
_BATCH = 256
"""Counterexamples that the model is asked about at once."""
_ROUNDING = 1e-6
"""Relative: of a distance in float32, and of a radius that is proved again."""
_REPROVED = 1 - _ROUNDING
"""Of the recorded radius, which must be proved again."""


@dataclass(frozen=True, eq=False)
class _Recorded:
    """The brackets of a file, by the row of their input in the data."""

    study: Study
    brackets: Mapping[int, Bracket]

    @property
    def proved(self) -> list[int]:
        """The inputs of which some radius is proved."""
        return [row for row, bracket in self.brackets.items() if bracket.low > 0]

    def name(self, row: int) -> str:
        """The id of an input."""
        return self.study.fitted.ids[row]


def check_radii(study: Study, evidence: Evidence, request: RerunRequest) -> Again:
    """What was checked again and what came of it; and what a forger could still do."""
    places = {name: i for i, name in enumerate(study.fitted.ids)}
    results = {places[row.id]: row.result for row in evidence.record.inputs}
    brackets = {row: result for row, result in results.items() if isinstance(result, Bracket)}
    recorded = _Recorded(study, brackets)
    bench: Any = radii_measurement(study, 1, 1).bench
    source = random.Random(request.seed)  # noqa: S311  it draws no secret
    proved = recorded.proved
    share = SHARE if request.share is None else request.share
    number = math.ceil(share * len(proved))
    if request.share is None and proved:
        number = max(number, draws_for(len(proved)))
    tried = sorted(source.sample(proved, number))
    again = sorted(source.sample(proved, min(request.proofs, len(proved))))
    request.announce(
        f"running {sum(bool(b.witness) for b in brackets.values()):,} counterexamples and "
        f"points around {len(tried):,} inputs again, and {len(again):,} proofs, each within the "
        f"limits of the run (seed {request.seed})"
    )
    checks = [_counterexamples(recorded, evidence)]
    if tried:
        checks.append(_same_points(recorded, tried, evidence))
        checks.append(_fresh_points(recorded, tried, bench, request.seed))
    checks += [_proofs(recorded, again, bench)] if again else []
    forger = [_still(len(proved), len(again))] if proved else []
    return Again((), tuple(checks), tuple(forger))


def _counterexamples(recorded: _Recorded, evidence: Evidence) -> Check:
    """Every recorded point must lie within its distance and the bounds, and fail."""
    study, bounds = recorded.study, recorded.study.facts.bounds
    rows = [row for row, bracket in recorded.brackets.items() if bracket.witness]
    bare = [
        row
        for row, bracket in recorded.brackets.items()
        if not bracket.witness and math.isfinite(bracket.high) and study.clean_kept[row]
    ]
    wrong = [(row, "the file has no point") for row in bare]
    for start in range(0, len(rows), _BATCH):
        part = rows[start : start + _BATCH]
        points = [_point(recorded, row) for row in part]
        references = np.asarray(study.references)[part]
        labels = _labels(study, np.stack([y for y, _ in points]), references)
        for row, label, (_, distance) in zip(part, labels, points, strict=True):
            high = recorded.brackets[row].high
            if distance > high + _ROUNDING * max(1.0, bounds.width):
                wrong.append((row, f"its point lies {distance:.6g} away, not {high:.6g}"))
            elif label == int(study.references[row]):
                wrong.append((row, "its point does not fail"))
    if wrong:
        row, why = wrong[0]
        return Status.REFUTED.of(
            f"No: {len(wrong):,} of {len(rows) + len(bare):,} counterexamples do not hold, the "
            f"first is that of input {recorded.name(row)}: {why}.",
            why_else(evidence),
        )
    if not rows:
        return Status.FOLLOWS.of("The file has no counterexample to run again.")
    return Status.FOLLOWS.of(
        f"All {len(rows):,} counterexamples of the file were run again; each fails, within "
        "its distance and the bounds.",
    )


def _point(recorded: _Recorded, row: int) -> tuple[NDArray[np.float32], float]:
    """The point as the model takes it, and how far it is; infinite where it cannot be one."""
    x, bounds = recorded.study.fitted.x[row], recorded.study.facts.bounds
    y = decode_point(recorded.brackets[row].witness)
    if y.size != x.size or not np.isfinite(y).all():
        return x, math.inf
    outside = float(np.maximum(bounds.low - y, y - bounds.high).max())
    wide = x.astype(np.float64).reshape(-1)
    distance = radius_space(recorded.study).distance(y - wide)
    return y.astype(np.float32).reshape(x.shape), math.inf if outside > _ROUNDING else distance


def _labels(study: Study, points: NDArray[np.float32], references: NDArray[np.int64]) -> list[int]:
    scores = to_host(study.model.predict(study.model.place(points)))
    return [int(label) for label in labels_given(scores, references, radius_rank(study))]


def _same_points(recorded: _Recorded, rows: Sequence[int], evidence: Evidence) -> Check:
    """The points that the run drew, by their names."""
    own = {row: recorded.brackets[row] for row in rows}
    again = points_drawn(recorded.study, own, None, 1)
    different = [row for row in rows if _even(own[row].sampled) != _even(again.get(row, ()))]
    number = sum(one.trials for row in rows for one in _even(own[row].sampled))
    words = f"{number:,} points that the run drew around {_inputs(recorded, rows)} were run again"
    if different:
        return Status.REFUTED.of(
            f"No: {words}; {len(different):,} inputs came out otherwise, the first is "
            f"{recorded.name(different[0])}.",
            why_else(evidence),
        )
    if not number:
        return Status.FOLLOWS.of("The run drew no points to run again.")
    return Status.FOLLOWS.of(f"{words[:1].upper()}{words[1:]}; all came out as recorded.")


def _even(points: Sequence[PointsDrawn]) -> list[PointsDrawn]:
    """Without those near ties, which another processor decides otherwise."""
    return [one for one in points if not one.near_ties]


def _inputs(recorded: _Recorded, rows: Sequence[int]) -> str:
    return f"{len(rows):,} of {len(recorded.proved):,} inputs with a proved radius"


def _fresh_points(recorded: _Recorded, rows: Sequence[int], bench: ProofBench, seed: int) -> Check:
    """Points of the second party's own in the proved balls: none may fail."""
    base = recorded.study
    study = replace(base, seed=seed % 2**32, method=replace(base.method, samples=_POINTS))
    closed = {
        row: replace(b, interval=replace(b.interval, high=math.inf))
        for row, b in recorded.brackets.items()
        if row in rows
    }
    points = points_drawn(study, closed, getattr(bench.prover, "network", None), 1)
    failed = [row for row in rows if any(p.failed for p in points.get(row, ()))]
    number = sum(p.trials for row in rows for p in points.get(row, ()))
    words = f"{number:,} fresh points in the proved balls of {_inputs(recorded, rows)}"
    hidden = [row for row in failed if not recorded.brackets[row].contradicted]
    if hidden:
        return Status.REFUTED.of(
            f"No: of {words} some fail, around {len(hidden):,} inputs of which the file does not "
            f"say so, the first is {recorded.name(hidden[0])}.",
        )
    if failed:
        return Status.FOLLOWS.of(
            f"Of {words} some fail, around {len(failed):,} inputs, and only where the file itself "
            "says that points contradict the proof.",
        )
    return Status.FOLLOWS.of(f"Of {words} none fails; that could refute a radius, and proves none.")


def _proofs(recorded: _Recorded, rows: Sequence[int], bench: ProofBench) -> Check:
    """The prover once more, at the recorded radius."""
    open_, refuted = [], []
    whole = replace(bench, efforts=bench.efforts[-1:])  # at once with all the time of the run
    for row in rows:
        goal = recorded.brackets[row].low * _REPROVED
        [proof] = whole.answer([Task(Subject(recorded.name(row), (row,)), goal, 0, 1)])
        if proof.far <= recorded.brackets[row].low:
            refuted.append((row, proof))
        elif proof.low < goal:
            open_.append((row, proof))
    words = f"{len(rows):,} of {len(recorded.proved):,} proofs were done again"
    if refuted:
        row, proof = refuted[0]
        return Status.REFUTED.of(
            f"No: {words}; input {recorded.name(row)} fails at a distance of {proof.far:.6g}, "
            f"within the radius {recorded.brackets[row].low:.6g} that the file calls proved.",
        )
    if open_:
        row, proof = open_[0]
        return Status.OPEN.of(
            f"Not all: {words}, and {len(open_):,} ended before the radius of the file (input "
            f"{recorded.name(row)}: {proof.low:.6g} of {recorded.brackets[row].low:.6g}): do it on "
            "a faster or less busy machine.",
        )
    return Status.FOLLOWS.of(f"{words}; each proves the radius of the file.")


def _still(proved: int, again: int) -> str:
    """What invented radii risk."""
    if not again:
        return "Invent proved radii: no proof was done again (--proofs 3)."
    if again == proved:
        return "Invent no radius: every proof was done again."
    chance = floor_percent(catch_probability(proved, math.ceil(0.2 * proved), again))
    return (
        f"Invent a few proved radii: {again:,} of {proved:,} were proved again, and who invented "
        f"20 % of them is met with probability {chance}. More --proofs meet more."
    )
