"""Figures 3.1, 4.1 and 4.2: a posterior, how often a radius is inside, cumulative runtime."""

from __future__ import annotations

from typing import Any

from papers.exhibit import Exhibit
from papers.request import Request
from papers.sigma.networks import Networks, in_words, networks_of
from papers.sigma.table_4_3 import run_hours
from surefoot.errors import InvalidArgument
from surefoot.report.resampling_figures import (
    counts_chart,
    cumulative_chart,
    posterior_chart,
    times_inside,
)


def posterior(request: Request) -> Exhibit:
    """Figure 3.1: the posterior of one run for each network, with the ground truth."""
    networks = networks_of(request)
    one = networks.every[0]
    low, high = one.intervals[0].low, one.intervals[0].high
    where = "overlaps with" if low <= one.truth.high and one.truth.low <= high else "misses"
    chart = posterior_chart({n.name: (n.runs.draws[0].posterior, n.truth) for n in networks.every})
    stated = f"{100 * request.options['confidence']:g} %"
    lines = (
        f"The posterior of the first run of {one.name}, of {len(one.runs.draws[0].places)} inputs, "
        f"has its {stated} interval from {low:.4f} to {high:.4f}: it {where} the ground truth of "
        f"all {len(one.local):,} inputs, {one.truth.low:.4f} to {one.truth.high:.4f}.",
        "Conditional: only if critical radii are log-normal, with the prior of the thesis (the "
        "quantile uniform up to 0.4, then the median uniform between it and 0.4).",
    )
    caption = "Shaded: posterior of algorithm 1. Lines: the ground truth, by the right ranks."
    return _exhibit(request, networks, lines, caption, chart)


def inside(request: Request) -> Exhibit:
    """Figure 4.1: how many intervals contain a radius, with the ground truth."""
    networks = networks_of(request)
    curves = {n.name: (times_inside(n.intervals), n.truth) for n in networks.every}
    shares = [
        max(count for _, count in steps) / len(n.intervals)
        for n, (steps, _) in zip(networks.every, curves.values(), strict=True)
    ]
    stated = f"{100 * request.options['confidence']:g} %"
    lines = (
        "The radius that is inside most intervals of a network is inside "
        f"{in_words([100 * s for s in shares], unit=' %')} of them, network by network; were they "
        f"right as often as stated, the quantile would be inside {stated} of them.",
        "Conditional: each interval holds only if critical radii are log-normal, with the prior of "
        "the thesis.",
    )
    caption = "Step: intervals of algorithm 1 that contain the radius. Lines: the ground truth."
    return _exhibit(request, networks, lines, caption, counts_chart(curves))


def runtimes(request: Request) -> Exhibit:
    """Figure 4.2: runs that took no longer than so many hours."""
    networks = networks_of(request)
    hours = {n.name: h for n in networks.every if (h := run_hours(n)) is not None}
    if not hours:
        raise InvalidArgument(
            "figure 4.2 needs the time of every input, and runtime_s is empty or 0: fill the "
            "column runtime_s of the file"
        )
    slowest = max(hours, key=lambda name: sum(hours[name]) / len(hours[name]))
    mean = sum(hours[slowest]) / len(hours[slowest])
    lines = (
        f"A run of algorithm 1 took the longest for {slowest}: {mean:.3g} hours on average, from "
        f"{min(hours[slowest]):.3g} to {max(hours[slowest]):.3g}.",
    )
    caption = "Share of runs whose inputs took no longer than so many hours together."
    return _exhibit(request, networks, lines, caption, cumulative_chart(hours))


def _exhibit(
    request: Request,
    networks: Networks,
    lines: tuple[str, ...],
    caption: str,
    chart: Any,  # noqa: ANN401  an object of Altair
) -> Exhibit:
    return Exhibit(
        name=request.part.name,
        title=f"{request.part.name.capitalize()}: {request.part.title}",
        lines=(*lines, *networks.lines),
        charts={caption: chart},
        results=networks.results,
    )
