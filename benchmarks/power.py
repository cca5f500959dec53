"""How much evidence a verdict takes, beside the textbook method or the limit for any method.

One row a cell. Each part is a function that makes rows (`PARTS`): what is measured, ours, the
reference, their ratio (or a share), the target. One-sided error 0.05 throughout. A sample size is
the smallest with which 80 % of the runs decide (50 % is printed beside). A target counts as missed
where the simulation's own error, two standard errors, cannot explain it.

    python benchmarks/power.py [--quick] [--part kappa]
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from processor import print_processor
from tables import print_table

from surefoot.core.results import Result
from surefoot.population.family import KappaFamily
from surefoot.statistics import KappaTest
from surefoot.statistics.bounds import divergence
from surefoot.statistics.planning import simulate_all

ERROR = 0.05
POWER, HALF = 0.8, 0.5
_STANDARD_ERRORS = 2.0


@dataclass(frozen=True)
class Row:
    """One cell: `value` (a ratio to `reference`, or a share) against its target.

    `figure` is its name in the JSON object, where the worst row of a figure stands. `ours` and
    `reference` are what the ratio is of; `half` is ours at 50 % power. `deviation` is the standard
    error of `value` over `runs` simulated runs from `seed` on; 0 where it is exact.
    """

    figure: str
    cell: str
    value: float
    target: float
    at_least: bool = False
    ours: float | None = None
    half: float | None = None
    reference: float | None = None
    beside: str = ""
    deviation: float = 0.0
    runs: int = 0
    seed: int = 0

    @property
    def passes(self) -> bool:
        """Whether the target is met, but for what chance explains."""
        allowed = _STANDARD_ERRORS * self.deviation
        if self.at_least:
            return self.value >= self.target - allowed
        return self.value <= self.target + allowed

    def cells(self) -> list[str]:
        """As it is printed."""
        sign = ">=" if self.at_least else "<="
        own = f"{self.value:.3f}" + (f" ± {self.deviation:.3f}" if self.deviation else "")
        return [
            self.figure, self.cell, _number(self.ours), _number(self.half),
            _number(self.reference), self.beside, own, f"{sign} {self.target:g}",
            f"{self.runs:,}" if self.runs else "exact", str(self.seed) if self.runs else "-",
            "ok" if self.passes else "MISSED",
        ]  # fmt: skip


_HEADER = ["figure", "cell", "ours (80 %)", "ours (50 %)", "reference", "which", "value", "target",
           "runs", "seed", ""]  # fmt: skip


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.4g}" if value < 1 else f"{value:,.0f}"


def of_runs(successes: int, runs: int) -> tuple[float, float]:
    """A share of runs, and its standard error (that of half a run where all are alike)."""
    share = successes / runs
    near = min(max(share, 0.5 / runs), 1 - 0.5 / runs)
    return share, math.sqrt(near * (1 - near) / runs)


def sample_size(
    decides: Callable[[int, np.random.Generator], bool],
    power: float,
    start: int,
    *,
    runs: int,
    seed: int,
    ratio: float = 1.05,
) -> int:
    """The smallest size of a grid (growing by `ratio`) with which a share `power` of runs decides.

    `decides(size, rng)` is one run; run i has the same generator at every size.
    """

    def share(size: int) -> float:
        every = (decides(size, np.random.default_rng([seed, i])) for i in range(runs))
        return sum(every) / runs

    low, high = start, start
    while share(high) < power:
        low, high = high, 2 * high
    while high > low * ratio and high - low > 1:
        middle = math.ceil(math.sqrt(low * high))
        low, high = (low, middle) if share(middle) >= power else (middle, high)
    return high


def kappa_rows(quick: bool) -> Iterator[Row]:
    """Trials of the κ-test over Wald's bound, or over the floor at 0; κ = 0.01."""
    from kappa import TARGETS, least_trials, mean_trials

    kappa, runs = 0.01, 400 if quick else 4000
    for ratio, target in TARGETS.items():
        mean, deviation = mean_trials(kappa, ratio, runs)
        least = least_trials(kappa, ratio)
        yield Row(
            "kappa_over_floor" if ratio == 0 else "kappa_over_wald",
            f"κ-test at {ratio:g}κ, mean trials", mean / least, target, ours=mean, reference=least,
            beside="ln(1/α)/κ" if ratio == 0 else "Wald", deviation=deviation / least,
            runs=runs * (deviation > 0),
        )  # fmt: skip


POPULATION = {0.01: 0.05, 0.05: 0.1, 0.3: 0.4}
"""How often inputs fail, and how often they may."""


def population_rows(quick: bool) -> Iterator[Row]:
    """Inputs that show a requirement of a population: the first run of a study, and bets.

    Inputs fail always or never, so that more trials of each add nothing. Then the second run: how
    often a forecast that says 80 % comes true, and how often one who follows every forecast is
    deceived where the truth is what is required.
    """
    from scipy.stats import binom

    from surefoot.statistics.counted import ONE_TRIAL, Side, rung

    none, first = np.zeros(0), rung(ERROR, 0)
    for failing, allowed in POPULATION.items():

        def least(error: float, power: float, truth: float, limit: float) -> int:
            side = Side(none, single=True)
            return next(
                n
                for n in range(10, 10_000)
                if binom.sf(side.needed(n, limit, error) - 1, n, truth) >= power
            )

        truth, limit = 1 - failing, 1 - allowed
        textbook = least(ERROR, POWER, truth, limit)
        for words, error in (("one trial", first), ("several trials", ONE_TRIAL * first)):
            ours, half = (least(error, power, truth, limit) for power in (POWER, HALF))
            yield Row(
                "inputs_over_binomial", f"{words} an input, {failing:g} of {allowed:g} allowed",
                ours / textbook, 1.15, ours=ours, half=half, reference=textbook,
                beside="exact binomial",
            )  # fmt: skip

        def decides(size: int, rng: np.random.Generator) -> bool:
            kept = (rng.random(size) < truth).astype(float)  # noqa: B023  used at once
            side = Side(kept, single=True, anytime=True, planned=size)
            return side.p_value(limit, ERROR) <= ERROR  # noqa: B023  used at once

        runs = 100 if quick else 1000
        ours, half = (
            sample_size(decides, power, textbook, runs=runs, seed=5) for power in (POWER, HALF)
        )
        yield Row(
            "planned_over_binomial",
            f"anytime, at the planned number, {failing:g} of {allowed:g} allowed",
            ours / textbook, 2.0, ours=ours, half=half, reference=textbook, beside="exact binomial",
            deviation=math.sqrt(POWER * (1 - POWER) / runs) / _STEEPNESS * ours / textbook,
            runs=runs, seed=5,
        )  # fmt: skip
        ours, half = (_anytime_inputs(truth, limit, power, textbook) for power in (POWER, HALF))
        yield Row(
            "anytime_over_binomial", f"anytime, no plan, {failing:g} of {allowed:g} allowed",
            ours / textbook, 2.0, ours=ours, half=half, reference=textbook, beside="exact binomial",
        )  # fmt: skip
    runs = 150 if quick else 2000
    (true, said), deceived = _followed(runs), _deceived(runs)
    share, deviation = of_runs(true, said)
    for target, at_least in ((0.7, True), (0.95, False)):
        yield Row(
            f"forecast_true_{'least' if at_least else 'most'}", "a forecast of 80 % comes true",
            share, target, at_least=at_least, deviation=deviation, runs=said, seed=6,
        )  # fmt: skip
    peeked = runs // 4
    share, deviation = of_runs(_peeked(peeked), peeked)
    yield Row(
        "anytime_false", "false PASS of one who looks after every input up to twice the plan",
        share, ERROR, deviation=deviation, runs=peeked, seed=6,
    )  # fmt: skip
    share, deviation = of_runs(deceived, runs)
    yield Row(
        "ladder_false", "false PASS of one who follows four forecasts", share, ERROR,
        deviation=deviation, runs=runs, seed=6,
    )  # fmt: skip


def _anytime_inputs(truth: float, limit: float, power: float, start: int) -> int:
    """The first number of inputs, of a grid, with which bets show it with this power: exactly."""
    from scipy.stats import binom

    from surefoot.statistics.counted import Side

    inputs, side = start, Side(np.zeros(0), single=True, anytime=True)
    while binom.sf(side.needed(inputs, limit, ERROR) - 1, inputs, truth) < power:
        inputs = math.ceil(1.01 * inputs)
    return inputs


def _asked(kept: int, inputs: int, least: float, run: int) -> tuple[bool | None, int]:
    """The answer of one run, and the inputs that it proposes for the next where there is none."""
    from surefoot.population.requirement import more_inputs
    from surefoot.statistics.counted import Side, Sides, Tested, rung

    ones = np.repeat([1.0, 0.0], [kept, inputs - kept])
    sides = Sides(Side(ones, single=True), Side(1 - ones, single=True))
    tested = Tested(sides, least, least, least, ERROR)
    for holds, p in ((True, tested.p_values.above), (False, tested.p_values.below)):
        if p <= rung(ERROR, run):
            return holds, inputs
    later = rung(ERROR, run + 1)
    return None, more_inputs(lambda n: tested.chance(n, later), inputs).values[0]


def _followed(runs: int) -> tuple[int, int]:
    """How many second runs decide, of those whose first said how many inputs have 80 %.

    Of .9 required; truths are uniform between .7 and 1, first runs have 80 inputs.
    """
    rng, true, said = np.random.default_rng(6), 0, 0
    for _ in range(runs):
        truth = 1 - 0.3 * rng.random()
        kept = rng.binomial(80, truth)
        holds, many = _asked(kept, 80, 0.9, 0)
        if holds is None and many < 50_000:
            said += 1
            true += _asked(kept + rng.binomial(many - 80, truth), many, 0.9, 1)[0] is not None
    return true, said


def _peeked(runs: int) -> int:
    """False PASS where the truth is what is required and the plan is 100 inputs."""
    from surefoot.statistics.counted import Side

    rng, wrong = np.random.default_rng(6), 0
    for _ in range(runs):
        kept = (rng.random(200) < 0.9).astype(float)
        sides = (Side(kept[:n], single=True, anytime=True, planned=100) for n in range(20, 201))
        wrong += any(side.p_value(0.9 + 1e-12, ERROR) <= ERROR for side in sides)
    return wrong


def _deceived(runs: int) -> int:
    """False PASS within four runs where the truth is just below what is required."""
    rng, wrong = np.random.default_rng(6), 0
    for _ in range(runs):
        inputs, kept = 60, rng.binomial(60, 0.9)
        for run in range(4):
            holds, many = _asked(kept, inputs, 0.9 + 1e-12, run)
            if holds is not None:
                wrong += holds
                break
            many = min(many, 20_000)
            inputs, kept = many, kept + rng.binomial(max(0, many - inputs), 0.9)
    return wrong


PAIRED = {(0.02, 0.02): 2.5, (0.04, 0.02): 1.6, (0.1, 0.05): 1.6, (0.2, 0.05): 1.6}
"""Share of discordant pairs and margin: inputs over those of the normal approximation, at most."""
ANYTIME = 3.2
_STEEPNESS = 0.35
"""Of the power at 80 %, by the logarithm of the number of inputs: a one-sided normal test's."""


def paired_rows(quick: bool) -> Iterator[Row]:
    """Inputs that show "not worse by more than the margin", of two models that fail equally often.

    Exactly, from the probabilities of all tables; the bets that stay true at any time, simulated.
    """
    from scipy.stats import norm

    from surefoot.statistics.intervals import p_value_above
    from surefoot.statistics.paired import ONE_TRIAL

    for (discordant, margin), target in PAIRED.items():
        each = discordant / margin**2
        normal, half = ((norm.isf(ERROR) + norm.ppf(at)) ** 2 * each for at in (POWER, HALF))
        for words, error in (("one trial", ERROR), ("several trials", ONE_TRIAL * ERROR)):
            ours, at_half = (
                _least_pairs(discordant, margin, error, power, math.ceil(start))
                for power, start in ((POWER, normal), (HALF, half))
            )
            yield Row(
                "paired_over_normal" if target < 2 else "paired_over_normal_few",
                f"{words} an input, {discordant:.0%} discordant, margin {margin:g}",
                ours / normal, target, ours=ours, half=at_half, reference=normal, beside="normal",
            )  # fmt: skip

        def decides(size: int, rng: np.random.Generator) -> bool:
            counts = rng.multinomial(size, (discordant / 2, discordant / 2, 1 - discordant))  # noqa: B023  used at once
            values = np.repeat([1.0, 0.0, 0.5], counts)
            return p_value_above(values, (1 - margin) / 2, ERROR) <= ERROR  # noqa: B023  used at once

        runs = 200 if quick else 1000
        ours, at_half = (
            sample_size(decides, power, math.ceil(normal), runs=runs, seed=7, ratio=1.02)
            for power in (POWER, HALF)
        )
        yield Row(
            "paired_anytime_over_normal", f"bets, {discordant:.0%} discordant, margin {margin:g}",
            ours / normal, ANYTIME, ours=ours, half=at_half, reference=normal, beside="normal",
            deviation=math.sqrt(POWER * (1 - POWER) / runs) / _STEEPNESS * ours / normal,
            runs=runs, seed=7,
        )  # fmt: skip
    for models in (3, 6):
        runs = 300 if quick else 3000
        share, deviation = _family_false_share(models, runs)
        for target, at_least in ((0.03, True), (0.1, False)):
            yield Row(
                f"family_false_{'least' if at_least else 'most'}",
                f"{models} models alike, stated 0.1: a difference is claimed", share, target,
                at_least=at_least, deviation=deviation, runs=runs, seed=8,
            )  # fmt: skip
        ours, normal = _family_inputs(models)
        yield Row(
            "family_over_normal", f"{models} models, a pair that differs by 10 points",
            ours / normal, 1.6, ours=ours, reference=normal, beside="normal, Bonferroni",
        )  # fmt: skip


def _family_inputs(models: int, first: float = 0.15, second: float = 0.05) -> tuple[int, float]:
    """Inputs that show which of a pair of a family is better, and those of a normal test.

    Inputs that one of the pair keeps and the other not: `first` and `second` of all.
    """
    from scipy.stats import binom, norm

    from surefoot.statistics.paired import lower_limit

    error, gap = 0.05 / math.comb(models, 2) / 2, first - second
    normal = (norm.isf(error) + norm.ppf(POWER)) ** 2 * (first + second - gap**2) / gap**2

    def shown(pairs: int) -> float:
        total, least = 0.0, 0
        for c in range(int(binom.ppf(1 - 1e-5, pairs, second)) + 1):
            while least <= pairs - c and lower_limit(pairs, least, c, error) <= 0:
                least += 1
            given = first / (1 - second)
            total += binom.pmf(c, pairs, second) * binom.sf(least - 1, pairs - c, given)
        return float(total)

    pairs = math.ceil(normal)
    while shown(pairs) < POWER:
        pairs = math.ceil(1.03 * pairs)
    return pairs, float(normal)


def _least_pairs(discordant: float, margin: float, error: float, power: float, start: int) -> int:
    """The first number of pairs of a grid with at least this power, both kinds equally likely."""
    from scipy.stats import binom

    from surefoot.statistics.paired import lower_limit

    def shown(pairs: int) -> float:
        q, least, total = discordant / 2, 0, 0.0
        first, last = (int(binom.ppf(at, pairs, q)) for at in (1e-5, 1 - 1e-5))
        for c in range(first, last + 1):
            while least <= pairs - c and lower_limit(pairs, least, c, error) < -margin:
                least += 1
            total += binom.pmf(c, pairs, q) * binom.sf(least - 1, pairs - c, q / (1 - q))
        return float(total)

    pairs = start
    while shown(pairs) < power:
        pairs = math.ceil(1.02 * pairs)
    return pairs


def _family_false_share(models: int, runs: int) -> tuple[float, float]:
    """How often one of the differences of models that fail equally often is claimed; 100 inputs.

    As `population.differences` of one trial each, with the half of 0.1 that a comparison gives it.
    """
    from surefoot.statistics.paired import lower_limit

    rng, wrong, error = np.random.default_rng(8), 0, 0.05 / math.comb(models, 2) / 2
    for _ in range(runs):
        kept = (rng.random((models, 100)) < rng.beta(2, 2, 100)).astype(int)
        only = kept @ (1 - kept).T
        pairs = {(int(only[i, j]), int(only[j, i])) for i in range(models) for j in range(models)}
        wrong += any(b > c and lower_limit(100, b, c, error) > 0 for b, c in pairs)
    return of_runs(wrong, runs)


def certify_rows(quick: bool) -> Iterator[Row]:
    """`certify --require all`: FAIL where one input of n is fragile; how many of 30 are counted."""
    from surefoot.population import all_robust, fragile_at_least

    kappa, seed = 0.01, 11
    for n, most in ((20, 200), (100, 100), (1000, 20)):
        runs = most // 4 if quick else most
        for ratio in (5, 10, 20):
            failure, refuted = np.array([ratio * kappa] + [0.0] * (n - 1)), 0
            trials = np.zeros(n)
            for run in range(runs):
                local, taken = _family(kappa, failure, [seed, run])
                refuted += getattr(all_robust(local), "holds", True) is False
                trials += taken
            share, deviation = of_runs(refuted, runs)
            yield Row(
                f"fail_at_{ratio}k", f"one of {n:,} inputs at {ratio}κ: FAIL", share, 0.9,
                at_least=True, ours=trials[0] / runs,
                reference=math.log(n / ERROR) / divergence(ratio * kappa, kappa),
                beside="ln(n/α)/D, trials on it", deviation=deviation, runs=runs, seed=seed,
            )  # fmt: skip
    runs = 2 if quick else 10
    failure = np.array([20 * kappa] * 30 + [0.0] * 970)
    counts = [
        fragile_at_least(_family(kappa, failure, [seed, run])[0], ERROR) for run in range(runs)
    ]
    yield Row(
        "counted_of_30", "30 of 1,000 inputs at 20κ: at least", float(min(counts)), 25,
        at_least=True, runs=runs, seed=seed,
    )  # fmt: skip


def _family(
    kappa: float, failure: np.ndarray, seed: Sequence[int]
) -> tuple[list[Result], np.ndarray]:
    """Results and trials of inputs that fail with these probabilities."""
    test = KappaTest(kappa, ERROR, max_trials=round(200 / kappa))
    family = KappaFamily(test, 0.0, (None,) * len(failure))
    results = simulate_all(family, 1 - failure, np.random.default_rng(seed))
    return results, np.array([one.trials for one in results])


PARTS: dict[str, Callable[[bool], Iterator[Row]]] = {
    "kappa": kappa_rows,
    "population": population_rows,
    "paired": paired_rows,
    "certify": certify_rows,
}


def figures_of(rows: Sequence[Row]) -> dict[str, float | int]:
    """The worst value of each figure, and how many rows missed their target."""
    figures: dict[str, float | int] = {}
    for name in dict.fromkeys(row.figure for row in rows):
        own = [row for row in rows if row.figure == name]
        worst = (min if own[0].at_least else max)(row.value for row in own)
        figures[name] = round(worst, 4)
    return {**figures, "rows": len(rows), "missed": sum(not row.passes for row in rows)}


def main() -> None:
    """Print the table, then one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--part", choices=PARTS, default=None)
    arguments = parser.parse_args()
    print_processor()
    names = [arguments.part] if arguments.part else list(PARTS)
    rows = [row for name in names for row in PARTS[name](arguments.quick)]
    print(f"one-sided error {ERROR:g}")
    print_table(_HEADER, [row.cells() for row in rows])
    print(json.dumps(figures_of(rows)))


if __name__ == "__main__":
    main()
