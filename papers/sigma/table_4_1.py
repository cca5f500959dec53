"""Table 4.1: how algorithm 1's intervals overlap with the ground truth."""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.exhibit import Column, Exhibit, Sheet
from papers.request import Request
from papers.sigma.networks import (
    Network,
    columns_with_values,
    in_words,
    intervals_given,
    networks_of,
)
from papers.sigma.published import OVERLAPS, printed
from surefoot.core.results import Interval


def make(request: Request) -> Exhibit:
    """One row a network, against the right ranks and against those of the thesis."""
    networks = networks_of(request)
    right = tuple(_row(network, network.truth) for network in networks.every)
    theirs = tuple(_beside_printed(network) for network in networks.every if network.thesis)
    shares = [100 * row["frequency"] / row["given"] for row in right]
    lines = (
        f"Of the intervals that {intervals_given(networks.every)} gave, "
        f"{in_words(shares, unit=' %')} overlap with the interval that order statistics of all "
        "inputs give; whether they hold the quantile is in table 4.2.",
        "To overlap is weaker than to be right: a narrow interval beside the quantile overlaps "
        "with a wide ground truth. Ground truth here: ranks counted from 1, upper ends of the "
        "brackets; the second table has the ranks of the thesis, one too high.",
        "Inputs are drawn with replacement, so that runs are independent of each other.",
        *networks.lines,
    )
    sheets = [Sheet("Overlap with the ground truth, right ranks", _columns(), right)]
    if theirs:
        sheets.append(
            Sheet(
                "Overlap with the ground truth by the thesis' ranks",
                columns_with_values(_printed_columns(), theirs),
                theirs,
            )
        )
    return Exhibit(
        name=request.part.name,
        title=f"Table 4.1: {request.part.title}",
        lines=lines,
        sheets=tuple(sheets),
        results=networks.results,
    )


def _row(network: Network, truth: Interval) -> dict[str, Any]:
    """How many runs overlap; of those, the mean probability and share of length inside."""
    draws = [
        d
        for d in network.runs.draws
        if d.interval.low <= truth.high and truth.low <= d.interval.high
    ]
    inside = [
        Interval(max(d.interval.low, truth.low), min(d.interval.high, truth.high)) for d in draws
    ]
    pairs = list(zip(draws, inside, strict=True))
    return {
        "network": network.name,
        "inputs": len(network.local),
        "runs": network.runs.repeats,
        "given": len(network.runs.draws),
        "frequency": len(draws),
        "probability": _mean([d.posterior.between(i.low, i.high) for d, i in pairs]),
        "ratio": _mean([i.width / d.interval.width for d, i in pairs]),
        "truth": truth,
    }


def _beside_printed(network: Network) -> dict[str, Any]:
    row = _row(network, network.thesis or network.truth)
    known = printed(OVERLAPS, network.name, len(network.local))
    if known is None:
        return row
    return {
        **row,
        "published_frequency": known.frequency,
        "published_probability": known.probability,
        "published_ratio": known.ratio,
    }


def _columns() -> tuple[Column, ...]:
    return (
        Column("network", "network", is_name=True),
        Column("inputs", "inputs"),
        Column("runs", "runs"),
        Column("intervals given", "given"),
        Column("frequency of overlap", "frequency"),
        Column("average probability of overlap", "probability", _two_digits),
        Column("average size ratio of overlap", "ratio", _two_digits),
        Column("ground truth", "truth"),
    )


def _printed_columns() -> tuple[Column, ...]:
    """The same with what the thesis prints behind each number."""
    own = {column.key: column for column in _columns()}
    return (
        own["network"],
        own["runs"],
        own["given"],
        own["frequency"],
        Column("published", "published_frequency"),
        own["probability"],
        Column("published", "published_probability", _two_digits),
        own["ratio"],
        Column("published", "published_ratio", _two_digits),
        own["truth"],
    )


def _two_digits(value: float) -> str:
    return f"{value:.2f}"


def _mean(values: list[float]) -> float | None:
    return float(np.mean(values)) if values else None
