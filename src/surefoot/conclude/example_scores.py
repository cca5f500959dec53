"""Of which inputs a record keeps the histograms of scores: a few, as examples for the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from surefoot.core.results import Extrapolation, Undecided
from surefoot.records.record import InputRow


def with_few_histograms(rows: Sequence[InputRow]) -> tuple[InputRow, ...]:
    """The rows with the scores of a weak input, a typical one, one without a fit, and one whose
    extrapolation contradicts its count; without those of the others.
    """
    places = _examples(rows)
    return tuple(row if i in places else _without_scores(row) for i, row in enumerate(rows))


def _examples(rows: Sequence[InputRow]) -> set[int]:
    """Places of the inputs: smallest and median z, the first without a fit, the first that
    contradicts its count.
    """
    tails = {i: row.result for i, row in enumerate(rows) if isinstance(row.result, Extrapolation)}
    by_z = sorted(tails, key=lambda i: tails[i].z)
    contradicted = [i for i, tail in tails.items() if tail.contradicted]
    without = [i for i, r in enumerate(rows) if isinstance(r.result, Undecided) and r.result.fits]
    return {*by_z[:1], *by_z[len(by_z) // 2 :][:1], *without[:1], *contradicted[:1]}


def _without_scores(row: InputRow) -> InputRow:
    match row.result:
        case Extrapolation(fits=fits) | Undecided(fits=fits) if fits:
            bare = tuple(replace(fit, scores=None) for fit in fits)
            return replace(row, result=replace(row.result, fits=bare))
        case _:
            return row
