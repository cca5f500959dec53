"""Kielhöfer, on Bosman et al.: the distribution of critical radii and its quantile."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from multiprocessing import get_context
from typing import Any

import numpy as np
from scipy.special import bdtr

import surefoot as sf
from papers import charts
from papers.exhibit import Exhibit, Row, Sheet, printed
from papers.paper import MODELS, PROVABLE, InvalidArgument, Paper, Request, error_of, exact_interval
from papers.words import Interval, spread

PAPER = Paper(
    "sigma",
    "Lionel Kielhöfer, on Bosman et al.",
    "Robustness Measure for Deep Neural Networks",
    "Leiden University, 2024",
    "Brackets the critical radius of each input by proofs and counterexamples, and states "
    "the radius below which only a share sigma of inputs fails.",
)
Bracket = sf.results.Bracket
Brackets = tuple[Bracket, ...]
OPTIONS: dict[str, Any] = {
    "repeats": 100, "gamma": 0.002, "quantile": 0.05, "confidence": 0.95, "split": "test",
    "source": None, "bins": 64, "ceiling": 0.4, "sample": None, "replacement": None,
    "seconds": 60.0,
}  # fmt: skip
"""100 runs a network, γ = .002, radii up to .4, the 5 % quantile, as in the thesis, which has about
200 bins where ours are laid anew more often; the rest is ours."""
_MANY_RUNS = 200
"""Runs of algorithm 1 that are worth further processes: about ten seconds of one."""
_exhibit = partial(
    PAPER.exhibit, options=OPTIONS, quick={"repeats": 20, "seconds": None}, needs=("brackets",)
)
_DRAWN = (
    "Inputs are drawn without replacement, as in the thesis, unless --replacement is given: then "
    "runs are independent of each other."
)
GRID = 0.002
"""The step of the thesis' radii, which its code adds to a lower end to get an upper one."""
_QUICK_INPUTS, _QUICK_NODES = 36, 500
"""A few more than algorithm 1 takes; a limit in nodes is the same on every computer."""
_ROUNDING = 1e-9
"""Of a rank: share · n is a whole number if it is this close to one."""
_HOUR, _PRINTED, _NEAR = 3600.0, 0.011, 0.1
"""The last: the relative difference up to which two ratios are about the same."""
_MANY = ("mnist-net", "mnist-net 256x4", "mnist relu 4 1024")
"""Networks of which the thesis had about 1000 inputs; of the others about 100."""


def of_thesis(table: str, network: str, inputs: int) -> Row:
    """What a table of the thesis prints of this network; its "mnist relu 3 50" is mnist_relu_3_50.

    Nothing where the thesis had another number of inputs: then it is about something else.
    """
    name = network.replace("_", " ")
    alike = inputs >= 900 if name in _MANY else 70 <= inputs <= 130
    return printed(f"sigma table {table}", network=name) if alike else {}


# Runs of algorithm 1 on samples of the brackets at hand, which are then the population


@dataclass(frozen=True)
class Draw:
    """One run of algorithm 1 on inputs drawn at random.

    `places` are the inputs it took, in order.
    """

    places: tuple[int, ...]
    posterior: Any
    interval: Interval


@dataclass(frozen=True)
class Network:
    """The brackets of a network and the runs of algorithm 1 on samples of them.

    `refusals`: why runs gave no interval. `truth` is the interval by the right ranks of all inputs,
    `thesis` that by the recipe of the thesis; `calls` are the hours of all calls of the verifier,
    for inputs of every split.
    """

    name: str
    local: Brackets
    over: sf.population.AlgorithmOne
    calls: float | None
    draws: tuple[Draw, ...]
    refusals: tuple[str, ...]
    truth: Interval
    thesis: Interval | None

    @property
    def repeats(self) -> int:
        """All runs, with an interval or without."""
        return len(self.draws) + len(self.refusals)

    @property
    def mean_inputs(self) -> float:
        """Inputs that a run took, on average."""
        return float(np.mean([len(draw.places) for draw in self.draws]))

    @cached_property
    def quantile(self) -> Interval:
        """Between which levels the quantile of these brackets themselves lies."""
        rank = math.ceil(self.over.share * len(self.local) - _ROUNDING)
        lows, highs = sorted(b.low for b in self.local), sorted(b.high for b in self.local)
        return Interval(lows[rank - 1], highs[rank - 1])

    def hours(self) -> list[float] | None:
        """Of each run; None where the time of an input is not known, or none took any."""
        seconds = [b.seconds or 0.0 for b in self.local]
        if not sum(seconds) or any(b.seconds is None for b in self.local):
            return None
        return [sum(seconds[i] for i in draw.places) / _HOUR for draw in self.draws]

    def coverage(self) -> list[Row]:
        """How often the intervals of each estimator hold the quantile, on the same inputs.

        The quantile is known to a bracket: `coverage` counts its middle. `between` is wherever in
        the bracket it lies: its low end counts intervals that hold the whole bracket, its high end
        those that touch it.
        """
        share, error = self.over.share, self.over.error
        each = {self.over.kind: [draw.interval for draw in self.draws]}
        for one in (
            sf.population.LogNormalPosterior(share, error, self.over.ceiling),
            sf.population.OrderStatistics(share, error),
            sf.population.ShortestRanks(share, error),
        ):
            taken = ([self.local[i] for i in draw.places] for draw in self.draws)
            found = [one.conclude(own, error) for own in taken]
            each[one.kind] = [q.interval for q in found if not isinstance(q, sf.Undecided)]
        truth, rows = self.quantile, []
        middle = (truth.low + truth.high) / 2 if math.isfinite(truth.high) else truth.low
        for kind, intervals in each.items():
            n = len(intervals)
            row: dict[str, Any] = {"network": self.name, "estimator": kind, "given": n}
            row |= {"inputs": self.mean_inputs, "runs": self.repeats, "quantile": truth}
            row |= {"coverage": None, "between": None, "length": None}
            if n:
                whole = sum(i.low <= truth.low and truth.high <= i.high for i in intervals)
                touching = sum(i.low <= truth.high and truth.low <= i.high for i in intervals)
                low, high = (exact_interval(count, n, 0.05) for count in (whole, touching))
                row["coverage"] = sum(middle in i for i in intervals) / n
                row["between"] = Interval(low.low, high.high)
                row["length"] = float(np.mean([i.width for i in intervals]))
            rows.append(row)
        return rows


@dataclass(frozen=True)
class Drawing:
    """How inputs are drawn: how often, by which seed, at most how many, with replacement or not."""

    repeats: int
    seed: int
    sample: int | None = None
    replacement: bool = False


Runs = tuple[tuple[Draw, ...], tuple[str, ...]]


@lru_cache(maxsize=16)
def resample_all(
    brackets: tuple[Brackets, ...], over: sf.population.AlgorithmOne, how: Drawing
) -> list[Runs]:
    """The runs of each network; where these are many, in processes of their own."""
    return _of_each(resample, [(local, over, how) for local in brackets], how.repeats)


def _of_each(work: Callable[..., Any], each: Sequence[tuple[Any, ...]], repeats: int) -> list[Any]:
    if len(each) * repeats <= _MANY_RUNS:
        return [work(*one) for one in each]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        return list(pool.map(work, *zip(*each, strict=True)))


def resample(local: Brackets, over: sf.population.AlgorithmOne, how: Drawing) -> Runs:
    """Run it on inputs drawn at random. Second: why runs gave no interval."""
    rng, draws, refusals = np.random.default_rng(how.seed), [], list[str]()
    n, error = len(local), over.error
    for _ in range(how.repeats):
        places = rng.integers(0, n, n) if how.replacement else rng.permutation(n)
        drawn = [local[i] for i in places[: how.sample]]
        # an input without a length ends a run that reaches it, and no other
        usable = next((k for k, b in enumerate(drawn) if b.low == b.high), len(drawn))
        posterior = over.posterior(drawn[:usable] or drawn, error)
        if usable < len(drawn) and getattr(posterior, "inputs", usable) == usable:
            posterior = over.posterior(drawn, error)
        if isinstance(posterior, sf.Undecided):
            refusals.append(sf.reason_words(posterior.reason))
            continue
        low, _, high = posterior.central(error)
        used = tuple(int(i) for i in places[: posterior.inputs])
        draws.append(Draw(used, posterior, Interval(low, high)))
    return tuple(draws), tuple(refusals)


def thesis_interval(local: Sequence[Bracket], share: float, error: float) -> Interval | None:
    """The "true" interval by the recipe of the thesis, which reproduces its table 4.2.

    Its ranks are one too high, and inputs of which nothing was proved count as the most robust.
    None where there is no value at such a rank.
    """
    proved = np.sort([b.low if b.low > 0 else math.inf for b in local])
    n = len(proved)
    reached = bdtr(np.arange(n + 1.0), n, share)
    below = np.flatnonzero(reached <= error / 2)
    low = int(below.max()) + 1 if below.size else 0
    high = int(np.flatnonzero(reached >= 1 - error / 2).min()) + 1
    if high >= n or not math.isfinite(proved[high]):
        return None
    return Interval(float(proved[low]), float(proved[high]) + GRID)


@dataclass(frozen=True)
class Networks:
    """All networks, what is to be said of where they come from, and the studies behind them."""

    every: tuple[Network, ...]
    lines: tuple[str, ...]
    results: dict[str, sf.Result]

    def exhibit(self, *lines: str, **parts: Any) -> Exhibit:
        """What is seen, then where the networks come from, with the studies behind them."""
        return Exhibit.of(*lines, *self.lines, results=self.results, **parts)

    @property
    def given(self) -> str:
        """How many runs there is an interval of: "18 of 40 runs of algorithm 1"."""
        given, repeats = [len(n.draws) for n in self.every], self.every[0].repeats
        if min(given) == repeats:
            return f"all {repeats} runs of algorithm 1"
        return f"{spread(given, 'd')} of {repeats} runs of algorithm 1"


def networks_of(request: Request) -> Networks:
    """Runs of algorithm 1 for each network of the file, or of the models of the request."""
    options, every = request.options, list[Network]()
    share, error = options["quantile"], error_of(options["confidence"])
    own = {name: options[name] for name in ("gamma", "ceiling", "bins")}
    over = sf.population.AlgorithmOne(share, error, **own)
    read = (_proved if request.brackets is None else _of_file)(request)
    lines, results = [*read.lines], read.results
    how = Drawing(options["repeats"], request.seed, options["sample"], bool(options["replacement"]))
    runs = resample_all(tuple(read.brackets.values()), over, how)
    for (name, local), (draws, refusals) in zip(read.brackets.items(), runs, strict=True):
        if not draws:
            reason = getattr(over.posterior(local, error), "reason", "no run gave an interval")
            lines.append(f"{name} is left out: {sf.reason_words(reason)}.")
            continue
        right = sf.population.OrderStatistics(share, error).conclude(local, error)
        if isinstance(right, sf.results.Quantile):
            thesis = thesis_interval(local, share, error)
            calls = read.calls.get(name)
            every.append(Network(name, local, over, calls, draws, refusals, right.interval, thesis))
    if not every:
        raise InvalidArgument(
            f"no network has brackets for algorithm 1 ({' '.join(lines).rstrip('.')}): give more "
            "inputs of each"
        )
    lines += [
        f"{n.name}: {len(n.refusals)} of {n.repeats} runs gave no interval, and are in no average "
        f"and no share here ({n.refusals[0]})."
        for n in every
        if n.refusals
    ]
    # The smallest radius bounds the quantile from below where (1 - share)^n ≤ error / 2.
    needed = math.ceil(math.log(error / 2) / math.log1p(-share) * (1 - _ROUNDING))
    least = min(len(n.local) for n in every)
    if least < needed:
        lines.append(
            f"So few inputs give wide intervals: with {least} of them the ground truth has no "
            f"lower end, which takes {needed} at the {100 * share:g} % quantile."
        )
    return Networks(tuple(every), tuple(lines), results)


@dataclass(frozen=True)
class _Read:
    """The brackets of each network, what is to be said of them, and the hours of all calls."""

    brackets: dict[str, Brackets]
    lines: Sequence[str] = ()
    results: dict[str, sf.Result] = field(default_factory=dict)
    calls: dict[str, float] = field(default_factory=dict)


def _of_file(request: Request) -> _Read:
    """The rows of the split and of the sources that were chosen."""
    path, split, source = str(request.brackets), *map(request.options.get, ("split", "source"))
    every = sf.read_brackets(path, source)
    split = split if any(row.split for row in every) else None
    brackets, calls = {}, dict[str, float]()
    for name in dict.fromkeys(row.network for row in every if split in (None, row.split)):
        own = [r for r in every if r.network == name and split in (None, r.split)]
        if len({row.image for row in own}) < len(own):
            break
        brackets[name] = tuple(replace(row.bracket, seconds=row.seconds) for row in own)
        of_all = [r.query_seconds or 0.0 for r in every if r.network == name]
        calls[name] = sum(of_all) / _HOUR
    else:
        if brackets:
            return _Read(brackets, calls=calls)
    # one bracket an input is needed: refused in the words of `surefoot brackets`
    sf.brackets(path, split=split, source=source)
    raise InvalidArgument(f"{path} has no brackets to draw from: give one an input")


def _proved(request: Request) -> _Read:
    """Brackets of the models of the request; of the embedded ones, of the one made for proofs."""
    files = {**request.files, "correct_only": True}
    if request.quick and not (files.get("first") or files.get("random")):
        files["random"] = _QUICK_INPUTS
    models = PROVABLE if request.models == MODELS else request.models
    proving = replace(request, files=files)
    own = {name: request.options[name] for name in ("quantile", "confidence")}
    seconds = request.options["seconds"]
    limit = "seconds_per_input" if seconds else "nodes_per_input"
    results = {
        name: proving.run("critical", model, **{limit: seconds or _QUICK_NODES}, samples=0, **own)
        for name, model in models.items()
    }
    brackets = {
        name: tuple(row.result for row in result.inputs if isinstance(row.result, Bracket))
        for name, result in results.items()
    }
    inputs = " and ".join(f"{len(local)} inputs of {name}" for name, local in brackets.items())
    proved = (
        f"The brackets are proved here, of {inputs}, all classified correctly as in the thesis."
    )
    return _Read(brackets, [proved], results)


# The tables and figures


@_exhibit("figure 3.1", "The posterior of algorithm 1 and the ground truth")
def figure_3_1(request: Request) -> Exhibit:
    """The posterior of one run for each network, with the ground truth."""
    networks, densities = networks_of(request), {}
    for n in networks.every:
        edges, masses = n.draws[0].posterior.edges, n.draws[0].posterior.masses
        density = masses / masses.sum() / (edges[1] - edges[0])
        steps = list(zip(edges.tolist(), [*density.tolist(), 0.0], strict=True))
        densities[n.name] = (steps, n.truth)
    one = networks.every[0]
    first, truth = one.draws[0], one.truth
    low, high = first.interval.low, first.interval.high
    where = "overlaps with" if low <= truth.high and truth.low <= high else "misses"
    caption = "Shaded: posterior of algorithm 1. Lines: the ground truth, by the right ranks."
    return networks.exhibit(
        f"The posterior of the first run of {one.name}, of {len(first.places)} inputs, has its "
        f"{100 * request.options['confidence']:g} % interval from {low:.4f} to {high:.4f}: it "
        f"{where} the ground truth of all {len(one.local):,} inputs, {truth.low:.4f} to "
        f"{truth.high:.4f}.",
        "Conditional: only if critical radii are log-normal, with the prior of the thesis (the "
        "quantile uniform up to 0.4, then the median uniform between it and 0.4).",
        charts={caption: charts.step_panels(densities, "quantile of the radius", "density")},
    )


_OVERLAP = (
    "*network; inputs; runs; intervals given=given; frequency of overlap=frequency; "
    "published=published_frequency; average probability of overlap=probability:.2f; "
    "published=published_probability:.2f; average size ratio of overlap=ratio:.2f; "
    "overlap over union=union:.2f; published=published_ratio:.2f; ground truth=truth"
)


@_exhibit("table 4.1", "Overlap of algorithm 1's intervals with the ground truth")
def table_4_1(request: Request) -> Exhibit:
    """One row a network, against the right ranks and against those of the thesis."""
    networks = networks_of(request)
    right = tuple(_overlap(n, n.truth) for n in networks.every)
    theirs = tuple(
        {**_overlap(n, n.thesis), **of_thesis("4.1", n.name, len(n.local))}
        for n in networks.every
        if n.thesis
    )
    tried = [
        f"The thesis divides the overlap by the interval, it says: {row['ratio']:.2f} for "
        f"{row['network']}, where it prints {row['published_ratio']:.2f}. Tried: the truth with "
        "and without its step of 0.002, the mean over all runs, and the ground truth's length as "
        f"divisor, none of which gives it; divided by the union it is {row['union']:.2f}."
        for row in theirs
        if "published_ratio" in row
    ]
    shares = [100 * row["frequency"] / row["given"] for row in right]
    theirs_shown, title = _OVERLAP.replace("inputs; ", ""), "Overlap with the ground truth"
    sheets = (
        Sheet(f"{title}, right ranks", _OVERLAP, right, only_known=True),
        Sheet(f"{title} by the thesis' ranks", theirs_shown, theirs, only_known=True),
    )
    return networks.exhibit(
        f"Of the intervals that {networks.given} gave, {spread(shares, '.0f', ' %')} overlap "
        "with the interval that order statistics of all inputs give; whether they hold the "
        "quantile is in table 4.2.",
        "To overlap is weaker than to be right: a narrow interval beside the quantile overlaps "
        "with a wide ground truth. Ground truth here: ranks counted from 1, upper ends of the "
        "brackets; the second table has the ranks of the thesis, one too high.",
        _DRAWN,
        *tried,
        sheets=sheets if theirs else sheets[:1],
    )


def _overlap(network: Network, truth: Interval) -> Row:
    """How many runs overlap; of those, the mean probability and share of length inside."""
    inside = [
        (d, Interval(max(d.interval.low, truth.low), min(d.interval.high, truth.high)))
        for d in network.draws
        if d.interval.low <= truth.high and truth.low <= d.interval.high
    ]
    probability = [d.posterior.between(i.low, i.high) for d, i in inside]
    ratio = [i.width / d.interval.width for d, i in inside]
    union = [i.width / (d.interval.width + truth.width - i.width) for d, i in inside]
    means = {"probability": probability, "ratio": ratio, "union": union}
    row: Row = {"network": network.name, "inputs": len(network.local), "runs": network.repeats}
    row |= {"given": len(network.draws), "frequency": len(inside), "truth": truth}
    return row | {key: float(np.mean(own)) if inside else None for key, own in means.items()}


@_exhibit("table 4.2", "Algorithm 1's intervals, and how often they are right")
def table_4_2(request: Request) -> Exhibit:
    """Three tables: averages and ground truth, lowest to highest, coverage."""
    networks = networks_of(request)
    rows = tuple(_statistics(n) for n in networks.every)
    # Without the grids of the posteriors, which would take seconds to send.
    bare = [
        (replace(n, draws=tuple(replace(draw, posterior=None) for draw in n.draws)),)
        for n in networks.every
    ]
    rows_of_each = _of_each(Network.coverage, bare, networks.every[0].repeats)
    coverage = tuple(row for own in rows_of_each for row in own)
    kinds = (sf.population.AlgorithmOne.kind, sf.population.ShortestRanks.kind)
    of_kinds = [[row for row in coverage if row["estimator"] == kind] for kind in kinds]
    first, ranks = (spread([100 * row["coverage"] for row in own], ".0f", " %") for own in of_kinds)
    pairs = [(a["length"], b["length"]) for a, b in zip(*of_kinds, strict=True)]
    longer = [b / a for a, b in pairs if a and b and math.isfinite(b)]
    compared = f"they are {spread(longer, '.1f')} times as long" if longer else "have no upper end"
    note = (
        "The thesis' true interval takes ranks that are one too high and counts inputs of which "
        "nothing was proved as the most robust."
    )
    held = (
        "All estimators on the inputs that algorithm 1 took. The quantile of the file is known to "
        "a bracket: coverage counts its middle; between: Clopper-Pearson, confidence 95 %, "
        "wherever in the bracket it lies. The log-normal posterior is not given below 20 inputs."
    )
    return networks.exhibit(
        f"Of the {100 * request.options['confidence']:g} % intervals that {networks.given} "
        f"gave, {first} hold the quantile of the file, network by network; of those by the "
        f"shortest ranks of the same inputs {ranks} do, and {compared}.",
        "The thesis compares intervals with a ground truth that is an interval itself and has "
        "no such column. Its algorithm ends where single precision rounds the likelihood to 0, "
        "not where the data contradict the log-normal; here the same sum is on a grid in log "
        "space, rounded as single precision rounds.",
        "True interval, right ranks: ranks counted from 1, lower ends for the low rank, upper ends "
        f"for the high one, and nothing proved counts as 0. {_DRAWN}",
        sheets=(
            Sheet("Average interval and ground truth", _AVERAGES, rows, note, only_known=True),
            Sheet("Lowest and highest interval, and lengths", _EXTREMES, rows, only_known=True),
            Sheet("How often the interval holds the quantile", _HELD, coverage, held),
        ),
    )


def _statistics(network: Network) -> Row:
    intervals = [draw.interval for draw in network.draws]
    lows, highs = np.array([i.low for i in intervals]), np.array([i.high for i in intervals])
    lengths = highs - lows
    row: Row = {"network": network.name, "inputs": len(network.local), "thesis": network.thesis}
    row |= {"used": network.mean_inputs, "truth": network.truth}
    row |= {"lower": float(lows.mean()), "upper": float(highs.mean())}
    row |= {"lowest": intervals[int(lows.argmin())], "highest": intervals[int(highs.argmax())]}
    row |= {"shortest": float(lengths.min()), "longest": float(lengths.max())}
    row |= {"length": float(lengths.mean()), "truth_length": network.truth.width}
    return row | of_thesis("4.2", network.name, len(network.local))


_AVERAGES = (
    "*network; inputs; inputs taken=used:.1f; average lower bound=lower:length; "
    "published=published_lower:length; average upper bound=upper:length; "
    "published=published_upper:length; true interval, right ranks=truth:ends; "
    "by the thesis' ranks=thesis:ends; published=published_truth:ends"
)
_EXTREMES = (
    "*network; lowest interval=lowest:ends; published=published_lowest:ends; highest "
    "interval=highest:ends; published=published_highest:ends; minimum size=shortest:length; "
    "published=published_shortest:length; maximum size=longest:length; "
    "published=published_longest:length; average size=length:length; "
    "published=published_length:length; ground truth size=truth_length:length"
)
_HELD = (
    "*network; *estimator; inputs taken=inputs:.1f; runs; intervals given=given; coverage:percent; "
    "between:range; average size=length:length; quantile of the file=quantile:ends"
)


def _timed(networks: Networks, name: str) -> dict[str, list[float]]:
    """The hours of each run, by network; refused where no network has them."""
    hours = {n.name: own for n in networks.every if (own := n.hours()) is not None}
    if not hours:
        raise InvalidArgument(
            f"{name} needs the time of every input, and runtime_s is empty or 0: fill the column "
            "runtime_s of the file"
        )
    return hours


@_exhibit("table 4.3", "Runtime of algorithm 1 and of all inputs")
def table_4_3(request: Request) -> Exhibit:
    """One row a network, in hours."""
    networks, rows = networks_of(request), list[Row]()
    hours = _timed(networks, request.part.name)
    for n in (n for n in networks.every if n.name in hours):
        own, every = hours[n.name], sum(b.seconds or 0.0 for b in n.local) / _HOUR
        mean = sum(own) / len(own)
        row = {"network": n.name, "least": min(own), "most": max(own), "mean": mean}
        row |= {"all_inputs": every, "share": len(n.local) / n.mean_inputs, "ratio": every / mean}
        row["calls"] = n.calls or None
        rows.append(row | of_thesis("4.3", n.name, len(n.local)))
    near = all(abs(row["ratio"] / row["share"] - 1) <= _NEAR for row in rows)
    why = "That is about the number of inputs divided by the number taken: the " if near else "The "
    known = [row for row in rows if "published_all_inputs" in row]
    factors = [row["published_all_inputs"] / row["all_inputs"] for row in known]
    larger = []
    if factors and min(factors) >= 1.5:
        same = sum(abs((r["calls"] or 0) - r["published_all_inputs"]) < _PRINTED for r in known)
        larger.append(
            f"The thesis prints ground truth runtimes that are {spread(factors, '.1f')} times the "
            f"sum of the runtimes of these inputs. In {same} of {len(known)} networks they are the "
            "seconds of all calls of the verifier, which run in parallel, over test and training "
            "images together; its estimator's are the wall clock of test images. Its speed-up of "
            "100 divides the one by the other."
        )
    shown = (
        "*network; minimum (hours)=least; published=published_least; maximum (hours)=most; "
        "published=published_most; average (hours)=mean; published=published_mean; "
        "all inputs (hours)=all_inputs; all calls, all splits (hours)=calls:.2f; "
        "published=published_all_inputs; "
        "inputs over inputs taken=share; time over average=ratio"
    )
    title = "Runtime of the inputs, from the file"
    return networks.exhibit(
        f"All inputs took {spread([row['ratio'] for row in rows], '.1f')} times as long as "
        "those of algorithm 1, on average over its runs.",
        f"{why}estimator stops early; how often its interval is right is in table 4.2.",
        *larger,
        sheets=(Sheet(title, shown, rows, only_known=True),),
    )


def times_inside(intervals: Sequence[Interval]) -> list[tuple[float, int]]:
    """How many intervals contain a radius, from each end to the next."""
    ends = sorted({end for i in intervals for end in (i.low, i.high)})
    counts = [sum(i.low <= (a + b) / 2 <= i.high for i in intervals) for a, b in pairwise(ends)]
    return [*zip(ends, counts, strict=False), (ends[-1], 0)]


@_exhibit("figure 4.1", "How often a radius is inside the intervals")
def figure_4_1(request: Request) -> Exhibit:
    """How many intervals contain a radius, with the ground truth."""
    networks = networks_of(request)
    curves = {
        n.name: (times_inside([draw.interval for draw in n.draws]), n.truth) for n in networks.every
    }
    shares = [
        100 * max(count for _, count in curves[n.name][0]) / len(n.draws) for n in networks.every
    ]
    caption = "Step: intervals of algorithm 1 that contain the radius. Lines: the ground truth."
    return networks.exhibit(
        "The radius that is inside most intervals of a network is inside "
        f"{spread(shares, '.0f', ' %')} of them, network by network; were they right as often as "
        f"stated, the quantile would be inside {100 * request.options['confidence']:g} % of them.",
        "Conditional: each interval holds only if critical radii are log-normal, with the "
        "prior of the thesis.",
        charts={caption: charts.step_panels(curves, "radius", "intervals")},
    )


@_exhibit("figure 4.2", "Cumulative runtime of algorithm 1")
def figure_4_2(request: Request) -> Exhibit:
    """Runs that took no longer than so many hours."""
    networks = networks_of(request)
    hours = _timed(networks, request.part.name)
    means = {name: sum(own) / len(own) for name, own in hours.items()}
    slowest = max(means, key=lambda name: means[name])
    lines = {
        name: [(at, 100 * i / len(own)) for i, at in enumerate([min(own), *sorted(own)])]
        for name, own in hours.items()
    }
    caption = "Share of runs whose inputs took no longer than so many hours together."
    chart = charts.line_chart(lines, "hours", "runs (%)", step=True)
    return networks.exhibit(
        f"A run of algorithm 1 took the longest for {slowest}: {means[slowest]:.3g} hours on "
        f"average, from {min(hours[slowest]):.3g} to {max(hours[slowest]):.3g}.",
        charts={caption: chart},
    )
