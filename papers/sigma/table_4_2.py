"""Table 4.2: algorithm 1's intervals, the ground truth, and the coverage the thesis lacked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from papers.exhibit import Column, Exhibit, Sheet
from papers.request import Request
from papers.sigma.networks import (
    Network,
    Networks,
    columns_with_values,
    in_words,
    intervals_given,
    networks_of,
)
from papers.sigma.published import SPREADS, printed
from surefoot.core.results import Interval
from surefoot.population import AlgorithmOne, ShortestRanks
from surefoot.report.formatting import percent, percent_range


def make(request: Request) -> Exhibit:
    """Three tables: averages and ground truth, lowest to highest, coverage."""
    networks = networks_of(request)
    rows = tuple(_row(network) for network in networks.every)
    coverage = tuple(row for network in networks.every for row in _coverage(network))
    note = (
        "The thesis' true interval takes ranks that are one too high and counts inputs of which "
        "nothing was proved as the most robust."
    )
    return Exhibit(
        name=request.part.name,
        title=f"Table 4.2: {request.part.title}",
        lines=(*_lines(request, networks, coverage), *networks.lines),
        sheets=(
            Sheet(
                "Average interval and ground truth",
                columns_with_values(_averages(), rows),
                rows,
                note,
            ),
            Sheet(
                "Lowest and highest interval, and lengths",
                columns_with_values(_extremes(), rows),
                rows,
            ),
            Sheet("How often the interval holds the quantile", _held(), coverage, _COVERAGE_NOTE),
        ),
        results=networks.results,
    )


_COVERAGE_NOTE = (
    "All estimators on the inputs that algorithm 1 took. The quantile of the file is known to a "
    "bracket: coverage counts its middle; between: Clopper-Pearson, confidence 95 %, wherever in "
    "the bracket it lies. The log-normal posterior is not given below 20 inputs."
)


def _lines(
    request: Request, networks: Networks, coverage: tuple[dict[str, Any], ...]
) -> tuple[str, ...]:
    stated = f"{100 * request.options['confidence']:g} %"
    first = _shares(coverage, AlgorithmOne.kind)
    ranks = _shares(coverage, ShortestRanks.kind)
    lengths = {
        kind: [row["length"] for row in coverage if row["estimator"] == kind]
        for kind in (AlgorithmOne.kind, ShortestRanks.kind)
    }
    longer = [b / a for a, b in zip(*lengths.values(), strict=True) if a and b and math.isfinite(b)]
    compared = f"they are {in_words(longer, 1)} times as long" if longer else "have no upper end"
    return (
        f"Of the {stated} intervals that {intervals_given(networks.every)} gave, {first} hold the "
        f"quantile of the file, network by network; of those by the shortest ranks of the same "
        f"inputs {ranks} do, and {compared}.",
        "The thesis compares intervals with a ground truth that is an interval itself and has no "
        "such column. Its algorithm ends where single precision rounds the likelihood to 0, not "
        "where the data contradict the log-normal; here the same sum is on a grid in log space, "
        "rounded as single precision rounds.",
        "True interval, right ranks: ranks counted from 1, lower ends for the low rank, upper ends "
        "for the high one, and nothing proved counts as 0. Inputs are drawn with replacement.",
    )


def _shares(coverage: tuple[dict[str, Any], ...], kind: str) -> str:
    shares = [100 * row["coverage"] for row in coverage if row["estimator"] == kind]
    return in_words(shares, unit=" %")


def _row(network: Network) -> dict[str, Any]:
    intervals = network.intervals
    lows, highs = np.array([i.low for i in intervals]), np.array([i.high for i in intervals])
    lengths = highs - lows
    row = {
        "network": network.name,
        "inputs": len(network.local),
        "used": network.mean_inputs,
        "lower": float(lows.mean()),
        "upper": float(highs.mean()),
        "truth": network.truth,
        "thesis": network.thesis,
        "lowest": intervals[int(lows.argmin())],
        "highest": intervals[int(highs.argmax())],
        "shortest": float(lengths.min()),
        "longest": float(lengths.max()),
        "length": float(lengths.mean()),
        "truth_length": network.truth.width,
    }
    known = printed(SPREADS, network.name, len(network.local))
    if known is not None:
        row |= {f"published_{name}": value for name, value in vars(known).items()}
    return row


def _coverage(network: Network) -> list[dict[str, Any]]:
    return [
        {
            "network": network.name,
            "estimator": one.estimator,
            "inputs": network.mean_inputs,
            "runs": network.runs.repeats,
            "given": one.given,
            "coverage": one.share if one.given else None,
            "between": one.around if one.given else None,
            "length": one.length if one.given else None,
            "quantile": network.runs.quantile,
        }
        for one in network.runs.coverage()
    ]


def _averages() -> tuple[Column, ...]:
    return (
        Column("network", "network", is_name=True),
        Column("inputs", "inputs"),
        Column("inputs taken", "used", _tenths),
        Column("average lower bound", "lower", _length),
        Column("published", "published_lower", _length),
        Column("average upper bound", "upper", _length),
        Column("published", "published_upper", _length),
        Column("true interval, right ranks", "truth", _ends),
        Column("by the thesis' ranks", "thesis", _ends),
        Column("published", "published_truth", _ends),
    )


def _extremes() -> tuple[Column, ...]:
    return (
        Column("network", "network", is_name=True),
        Column("lowest interval", "lowest", _ends),
        Column("published", "published_lowest", _ends),
        Column("highest interval", "highest", _ends),
        Column("published", "published_highest", _ends),
        Column("minimum size", "shortest", _length),
        Column("published", "published_shortest", _length),
        Column("maximum size", "longest", _length),
        Column("published", "published_longest", _length),
        Column("average size", "length", _length),
        Column("published", "published_length", _length),
        Column("ground truth size", "truth_length", _length),
    )


def _held() -> tuple[Column, ...]:
    return (
        Column("network", "network", is_name=True),
        Column("estimator", "estimator", is_name=True),
        Column("inputs taken", "inputs", _tenths),
        Column("runs", "runs"),
        Column("intervals given", "given"),
        Column("coverage", "coverage", percent),
        Column("between", "between", percent_range),
        Column("average size", "length", _length),
        Column("quantile of the file", "quantile", _ends),
    )


def _length(value: float) -> str:
    return f"{value:.4f}" if math.isfinite(value) else "no upper end"


def _tenths(value: float) -> str:
    return f"{value:.1f}"


def _ends(around: Interval) -> str:
    return f"({around.low:.4f}, {around.high:.4f})"
