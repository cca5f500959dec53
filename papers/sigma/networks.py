"""The networks of an exhibit: their brackets, from a file or from proofs made for it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from papers import embedded
from papers.exhibit import Column, Row
from papers.request import Request
from surefoot.core.results import Bracket, Interval, Quantile
from surefoot.errors import InvalidArgument
from surefoot.inputs.bracket_files import PublishedBracket, read_brackets
from surefoot.population import AlgorithmOne, OrderStatistics
from surefoot.population.quantile_estimators import Resampling, resample
from surefoot.statistics.ranks import fewest
from surefoot.study import Result

GRID = 0.002
"""The step of the thesis' radii, which its code adds to a lower end to get an upper one."""
_QUICK_INPUTS = 36
"""A few more than algorithm 1 takes; each is proved in a twentieth of a second."""


@dataclass(frozen=True)
class Network:
    """The brackets of a network and the runs of algorithm 1 on samples of them."""

    name: str
    local: tuple[Bracket, ...]
    runs: Resampling
    truth: Interval
    thesis: Interval | None

    @property
    def intervals(self) -> list[Interval]:
        """The interval of each run."""
        return [draw.interval for draw in self.runs.draws]

    @property
    def mean_inputs(self) -> float:
        """Inputs that a run took, on average."""
        return float(np.mean([len(draw.places) for draw in self.runs.draws]))


@dataclass(frozen=True)
class Networks:
    """All networks, what is to be said of where they come from, and the studies behind them."""

    every: tuple[Network, ...]
    lines: tuple[str, ...]
    results: dict[str, Result]


def in_words(values: Sequence[float], digits: int = 0, unit: str = "") -> str:
    """From the smallest to the largest: "36 to 66 %"; one number where they are written alike."""
    low, high = (f"{end:.{digits}f}" for end in (min(values), max(values)))
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def columns_with_values(columns: Sequence[Column], rows: Sequence[Row]) -> tuple[Column, ...]:
    """Without the columns in which no row has a value, as where no network was published."""
    return tuple(c for c in columns if any(row.get(c.key) is not None for row in rows))


def networks_of(request: Request) -> Networks:
    """Runs of algorithm 1 for each network of the file, or of the models of the request."""
    options = request.options
    share, error = options["quantile"], round(1 - options["confidence"], 12)
    over = AlgorithmOne(share, error, options["gamma"])
    brackets, lines, results = (
        _proved(request) if request.brackets is None else _of_file(request, options["split"])
    )
    every = []
    for name, local in brackets.items():
        runs = resample(local, over, options["repeats"], request.seed)
        if not runs.draws:
            why = over.posterior(local, error)
            lines.append(
                f"{name} is left out: {getattr(why, 'reason', 'no run gave an interval')}."
            )
            continue
        right = OrderStatistics(share, error).conclude(local, error)
        if isinstance(right, Quantile):
            thesis = thesis_interval(local, share, error)
            every.append(Network(name, local, runs, right.interval, thesis))
    if not every:
        raise InvalidArgument(
            f"no network has brackets for algorithm 1 ({' '.join(lines).rstrip('.')}): give more "
            "inputs of each"
        )
    lines += [*_without_interval(every), *_without_lower_end(every, share, error)]
    return Networks(tuple(every), tuple(lines), results)


def intervals_given(every: Sequence[Network]) -> str:
    """How many runs there is an interval of, in words: "18 of 40 runs of algorithm 1"."""
    given = [len(network.runs.draws) for network in every]
    repeats = every[0].runs.repeats
    if min(given) == repeats:
        return f"all {repeats} runs of algorithm 1"
    return f"{in_words(given)} of {repeats} runs of algorithm 1"


def _without_interval(every: Sequence[Network]) -> list[str]:
    """What the runs that are in no statistic have in common."""
    return [
        f"{n.name}: {n.runs.refused} of {n.runs.repeats} runs gave no interval, and are in no "
        f"average and no share here ({n.runs.reason})."
        for n in every
        if n.runs.refused
    ]


def _without_lower_end(every: Sequence[Network], share: float, error: float) -> list[str]:
    """That the right ranks bound the quantile from above alone, where inputs are too few."""
    needed, least = fewest(share, error / 2), min(len(network.local) for network in every)
    if least >= needed:
        return []
    return [
        f"So few inputs give wide intervals: with {least} of them the ground truth has no lower "
        f"end, which takes {needed} at the {100 * share:g} % quantile."
    ]


def thesis_interval(local: Sequence[Bracket], share: float, error: float) -> Interval | None:
    """The "true" interval by the recipe of the thesis, which reproduces its table 4.2.

    Its ranks are one too high, and inputs of which nothing was proved count as the most robust.
    None where there is no value at such a rank.
    """
    from scipy.special import bdtr

    proved = np.sort([b.low if b.low > 0 else math.inf for b in local])
    n = len(proved)
    reached = bdtr(np.arange(n + 1.0), n, share)
    below = np.flatnonzero(reached <= error / 2)
    low = int(below.max()) + 1 if below.size else 0
    high = int(np.flatnonzero(reached >= 1 - error / 2).min()) + 1
    if high >= n or not math.isfinite(proved[high]):
        return None
    return Interval(float(proved[low]), float(proved[high]) + GRID)


def _of_file(
    request: Request, split: str
) -> tuple[dict[str, tuple[Bracket, ...]], list[str], dict[str, Result]]:
    """The rows of the split; of a network with several sources, those of the largest."""
    rows, lines = read_brackets(str(request.brackets)), list[str]()
    splits = sorted({row.split for row in rows})
    if splits != [""]:
        rows = tuple(row for row in rows if row.split == split)
    if not rows:
        raise InvalidArgument(
            f"{request.brackets} has no rows of split {split!r}: choose --split "
            + " or ".join(filter(None, splits))
        )
    brackets = {}
    for name in dict.fromkeys(row.network for row in rows):
        own = [row for row in rows if row.network == name]
        sources = Counter(row.source for row in own).most_common()
        if len(sources) > 1:
            own = [row for row in own if row.source == sources[0][0]]
            lines.append(f"{name}: the rows of source {sources[0][0]}, which has the most.")
        _check_once(str(request.brackets), name, own)
        brackets[name] = tuple(replace(row.bracket, seconds=row.seconds) for row in own)
    return brackets, lines, {}


def _check_once(path: str, name: str, rows: Sequence[PublishedBracket]) -> None:
    image, times = Counter(row.image for row in rows).most_common(1)[0]
    if times > 1:
        raise InvalidArgument(
            f"{path} has {times} rows of {name}, image {image}: leave one bracket an input"
        )


def _proved(
    request: Request,
) -> tuple[dict[str, tuple[Bracket, ...]], list[str], dict[str, Result]]:
    """Brackets of the models of the request; of the embedded ones, of the one made for proofs."""
    if request.models == embedded.MODELS:
        request = replace(request, models=embedded.PROVABLE)
    files = replace(request.files, correct_only=True)
    if request.quick and files.first is None and files.random is None:
        files = replace(files, random=_QUICK_INPUTS)
    request = replace(request, files=files)
    results = {
        name: request.run(
            "critical",
            model,
            None,
            seconds_per_input=request.options["seconds"],
            samples=0,
            quantile=request.options["quantile"],
            confidence=request.options["confidence"],
        )
        for name, model in request.models.items()
    }
    brackets = {
        name: tuple(row.result for row in result.inputs if isinstance(row.result, Bracket))
        for name, result in results.items()
    }
    inputs = " and ".join(f"{len(local)} inputs of {name}" for name, local in brackets.items())
    proved = (
        f"The brackets are proved here, of {inputs}, all classified correctly as in the thesis."
    )
    return brackets, [proved], results
