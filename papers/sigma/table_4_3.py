"""Table 4.3: what the inputs of algorithm 1 cost, and what all inputs cost."""

from __future__ import annotations

from typing import Any

from papers.exhibit import Column, Exhibit, Sheet
from papers.request import Request
from papers.sigma.networks import Network, columns_with_values, in_words, networks_of
from papers.sigma.published import HOURS, printed
from surefoot.errors import InvalidArgument

_HOUR = 3600.0
_NEAR = 0.1
"""Relative difference up to which two ratios are about the same."""


def make(request: Request) -> Exhibit:
    """One row a network, in hours."""
    networks = networks_of(request)
    rows = tuple(row for network in networks.every if (row := _row(network)) is not None)
    if not rows:
        raise InvalidArgument(
            "table 4.3 needs the time of every input, and runtime_s is empty or 0: fill the column "
            "runtime_s of the file"
        )
    ratios = [row["ratio"] for row in rows]
    lines = (
        f"All inputs took {in_words(ratios, 1)} times as long as those of "
        "algorithm 1, on average over its runs.",
        _why_faster(rows),
        *_larger(rows),
        *networks.lines,
    )
    columns = (
        Column("network", "network", is_name=True),
        Column("minimum (hours)", "least"),
        Column("published", "published_least"),
        Column("maximum (hours)", "most"),
        Column("published", "published_most"),
        Column("average (hours)", "mean"),
        Column("published", "published_mean"),
        Column("all inputs (hours)", "all_inputs"),
        Column("published", "published_all_inputs"),
        Column("inputs over inputs taken", "share"),
        Column("time over average", "ratio"),
    )
    return Exhibit(
        name=request.part.name,
        title=f"Table 4.3: {request.part.title}",
        lines=lines,
        sheets=(
            Sheet("Runtime of the inputs, from the file", columns_with_values(columns, rows), rows),
        ),
        results=networks.results,
    )


def run_hours(network: Network) -> list[float] | None:
    """The hours of each run; None where the time of an input is not known, or none took any."""
    seconds = [b.seconds for b in network.local]
    known = [s for s in seconds if s is not None]
    if len(known) < len(seconds) or not sum(known):
        return None
    return [sum(known[i] for i in draw.places) / _HOUR for draw in network.runs.draws]


def _why_faster(rows: tuple[dict[str, Any], ...]) -> str:
    """That inputs which were not taken are what is saved, where the times say so."""
    near = all(abs(row["ratio"] / row["share"] - 1) <= _NEAR for row in rows)
    why = "That is about the number of inputs divided by the number taken: the " if near else "The "
    return f"{why}estimator stops early; how often its interval is right is in table 4.2."


def _larger(rows: tuple[dict[str, Any], ...]) -> list[str]:
    """Whether the thesis' runtime of all inputs fits with the runtimes of its inputs."""
    known = [row for row in rows if "published_all_inputs" in row]
    factors = [row["published_all_inputs"] / row["all_inputs"] for row in known]
    if not factors or min(factors) < 1.5:
        return []
    return [
        f"The thesis prints ground truth runtimes that are {in_words(factors, 1)} "
        f"times the sum of the runtimes of these inputs; its speed-up of 100 "
        "rests on them."
    ]


def _row(network: Network) -> dict[str, Any] | None:
    hours = run_hours(network)
    if hours is None:
        return None
    mean = sum(hours) / len(hours)
    whole = sum(b.seconds or 0.0 for b in network.local) / _HOUR
    row = {
        "network": network.name,
        "least": min(hours),
        "most": max(hours),
        "mean": mean,
        "all_inputs": whole,
        "share": len(network.local) / network.mean_inputs,
        "ratio": whole / mean,
    }
    known = printed(HOURS, network.name, len(network.local))
    if known is not None:
        row |= {f"published_{name}": value for name, value in vars(known).items()}
    return row
