"""What is kept of critical levels: rows, quantiles, examples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.engine.exhibits import png
from surefoot.engine.proving import unpacked
from surefoot.population import CriticalQuantile
from surefoot.population.lognormal import LogNormalPosterior
from surefoot.population.quantile import (
    LevelQuantile,
    OrderStatistics,
    ShortestRanks,
    of_each,
)
from surefoot.results import Bracket, Footing, Guarantee, Interval, Quantile, Undecided
from surefoot.store.records import Counterexample, CriticalRow, QuantileRow, Shaken
from surefoot.study.aggregate import told_apart
from surefoot.study.spec import Study

if TYPE_CHECKING:
    from surefoot.evidence import Proof

_SHOWN = 8


def row_of(
    study: Study, i: int, proof: Proof, bracket: Bracket, sampled: tuple[Shaken, ...]
) -> CriticalRow:
    """What is kept of one input."""
    labels = study.fitted.labels
    return CriticalRow(
        id=study.fitted.ids[i],
        label=None if labels is None else int(labels[i]),
        predicted=int(study.predicted[i]),
        low=bracket.low,
        high=None if math.isinf(bracket.high) else bracket.high,
        reason=bracket.reason,
        seconds=proof.seconds,
        nodes=proof.nodes,
        discarded=proof.discarded,
        witness=proof.witness,
        sampled=sampled,
    )


def quantiles_of(
    asked: Any,  # noqa: ANN401  any procedure that proves
    found: Sequence[Bracket],
    settled: Quantile | Undecided | None,
) -> tuple[QuantileRow, ...]:
    """Ours first, then the distribution-free one, then the thesis' log-normal.

    What a search for the quantile itself has settled comes first where there is one. Where it also
    chose how many inputs to look at, it stands alone: the others are right for a number settled
    beforehand.
    """
    share, error = asked.quantile, asked.error
    searched = isinstance(asked, CriticalQuantile)
    others: tuple[Any, ...] = (OrderStatistics(share, error),)
    if share < 0.5 and not searched:  # its prior puts the quantile below the median
        others += (LogNormalPosterior(share, error),)
    if searched and asked.width is not None:
        others = ()
    ours = ShortestRanks(share, error)
    first = ours.conclude(found, error) if settled is None else settled
    return (
        _told("all inputs", len(found), ours, first),
        *(_told("all inputs", len(found), over, over.conclude(found, error)) for over in others),
    )


def classes_of(
    study: Study, rows: Sequence[int], found: Sequence[Bracket]
) -> tuple[QuantileRow, ...]:
    """The quantile of every class, from the brackets of these rows."""
    asked, inputs = study.procedure, study.fitted
    every = study.predicted if inputs.labels is None else inputs.labels
    labels = every[list(rows)]
    names = told_apart(sorted({int(label) for label in labels}), inputs.class_name)
    groups = {
        name: [b for b, own in zip(found, labels, strict=True) if own == label]
        for label, name in names.items()
    }
    over = ShortestRanks(asked.quantile, asked.error)
    each = of_each(over, groups, asked.error)
    return tuple(_told(name, len(groups[name]), over, one) for name, one in each.items())


def _told(name: str, inputs: int, over: LevelQuantile, found: Quantile | Undecided) -> QuantileRow:
    kind = str(getattr(over, "kind", type(over).__name__))
    if isinstance(found, Undecided):
        none = Guarantee(Footing.NONE, 1.0, (found.reason,))
        return QuantileRow(name, inputs, kind, over.share, 0.0, 0.0, None, none, found.reason)
    high = None if math.isinf(found.interval.high) else found.interval.high
    return QuantileRow(
        name, inputs, kind, found.share, found.value, found.interval.low, high, found.guarantee,
        found.note, found.fit,
    )  # fmt: skip


def examples_of(study: Study, rows: Sequence[CriticalRow]) -> tuple[Counterexample, ...]:
    """The inputs with the nearest counterexamples, beside them."""
    inputs, bounds = study.fitted, study.model.signature.bounds or Interval(0.0, 1.0)
    known = [
        (row.high, row) for row in rows if row.witness and row.high is not None and row.high > 0
    ]
    shown = []
    for distance, row in sorted(known, key=lambda pair: (pair[0], pair[1].id))[:_SHOWN]:
        x = inputs.x[inputs.ids.index(row.id)]
        y = unpacked(row.witness).astype(np.float32).reshape(x.shape)
        label = int(np.argmax(np.asarray(study.model.predict(study.model.place(y[None])))[0]))
        shown.append(
            Counterexample(
                row.id,
                distance,
                inputs.class_name(row.predicted),
                inputs.class_name(label),
                png(x, inputs.frame, bounds) if inputs.frame else "",
                png(y, inputs.frame, bounds) if inputs.frame else "",
            )
        )
    return tuple(shown)
