"""Worlds of outcomes that were counted elsewhere: files whose cases fail with known chances."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np

import surefoot as sf
from tests.claims.worlds import Outcome, any_false, judged, missed, of_kind, world


def written(header: Sequence[str], rows: Iterable[Sequence[Any]], name: str = "a.csv") -> Path:
    path = Path(mkdtemp()) / name
    with path.open("w", newline="", encoding="utf-8") as opened:
        csv.writer(opened).writerows([header, *rows])
    return path


def single(failed: Any, name: str = "a.csv") -> Path:
    """One trial of each case."""
    return written(("case", "failed"), [(i, int(f)) for i, f in enumerate(failed)], name)


@world("case_failure", "25 cases, few of them fail", 0.1)
def _few(seed: int) -> Outcome:
    rng = np.random.default_rng([seed, 81])
    result = sf.tally(single(rng.random(25) < 0.04), confidence=0.9)
    return missed(result.claims[0], 0.04)


@world("case_failure", "12 trials of cases that fail always or never", 0.1)
def _epochs(seed: int) -> Outcome:
    """144 trials of 12 cases are a sample of 12."""
    result = sf.tally(epochs(seed, "case"), confidence=0.9)
    return missed(result.claims[0], 0.2)


def epochs(seed: int, heading: str) -> Path:
    rng = np.random.default_rng([seed, 82])
    failed = np.repeat(rng.random(12) < 0.2, 12)
    return written((heading, "failed"), [(i // 12, int(f)) for i, f in enumerate(failed)])


@world("case_failure", "more trials of the cases that fail more often", 0.1)
def _unequal(seed: int) -> Outcome:
    """Each case counts the same, whatever the number of its trials."""
    rng = np.random.default_rng([seed, 83])
    p = np.where(rng.random(20) < 0.3, 0.5, 0.1)
    trials = np.where(p > 0.2, 9, 2)
    rows = [(i, n, rng.binomial(n, f)) for i, (n, f) in enumerate(zip(trials, p, strict=True))]
    result = sf.tally(written(("case", "trials", "failures"), rows), confidence=0.9)
    return missed(result.claims[0], 0.3 * 0.5 + 0.7 * 0.1)


@world("case_failure", "groups of cases alike", 0.1)
def _groups(seed: int) -> Outcome:
    rng = np.random.default_rng([seed, 84])
    of_groups = rng.random(15) < 0.2
    rows = [(f"{g}-{i}", g, int(f)) for g, f in enumerate(of_groups) for i in range(1 + 9 * f)]
    path = written(("case", "patient", "failed"), rows)
    result = sf.tally(path, group="patient", confidence=0.9)
    assert result.claims[0].about.groups == 15
    return missed(result.claims[0], 0.2)


@world("case_failure", "three classes and all cases, together", 0.1)
def _classes(seed: int) -> Outcome:
    rng = np.random.default_rng([seed, 85])
    truths = {"a": 0.02, "b": 0.3, "c": 0.97}
    rows = [
        (f"{i}", name, int(rng.random() < truths[name]))
        for i, name in enumerate(rng.choice(list(truths), 60))
    ]
    claims = of_kind(sf.tally(written(("case", "class", "failed"), rows)).claims, "case_failure")
    means = {"": sum(truths.values()) / 3, **truths}
    return any_false([missed(claim, means[claim.about.name]) for claim in claims])


@world("case_failure", "requirements at the truth, and slightly above it", 0.1)
def _required(seed: int) -> Outcome:
    rng = np.random.default_rng([seed, 86])
    rows = [(i, "ab"[i % 2], int(rng.random() < 0.05)) for i in range(60)]
    path = written(("case", "class", "failed"), rows)
    met = sf.tally(path, require=0.95, require_each=0.95, confidence=0.9).verdicts
    not_met = sf.tally(path, require=0.951, require_each=0.951, confidence=0.9).verdicts
    verdicts = [*(judged(c, holds=True) for c in met), *(judged(c, holds=False) for c in not_met)]
    return any_false(verdicts)


@world("cases_failed", "a count", 0.0)
def _counted(seed: int) -> Outcome:
    failed = np.random.default_rng([seed, 87]).random(40) < 0.3
    return missed(of_kind(sf.tally(single(failed)).claims, "cases_failed")[0], failed.mean())


def two_files(seed: int, worse: float) -> tuple[Path, Path]:
    """Cases that both fail, or one of them; the first fails more often by `worse`."""
    rng = np.random.default_rng([seed, 88])
    kind = rng.choice(4, 80, p=(0.1 + worse, 0.1, 0.2, 0.6 - worse))
    return single((kind == 0) | (kind == 2)), single((kind == 1) | (kind == 2), "b.csv")


@world("case_difference", "two files that fail equally often, on the same cases or on others", 0.1)
def _difference(seed: int) -> Outcome:
    result = sf.tally(*two_files(seed, 0.0), confidence=0.9)
    return missed(of_kind(result.claims, "case_difference")[0], 0.0)


@world("case_difference", "few cases on which the files differ", 0.1)
def _few_discordant(seed: int) -> Outcome:
    kind = np.random.default_rng([seed, 89]).choice(4, 60, p=(0.03, 0.01, 0.2, 0.76))
    files = single((kind == 0) | (kind == 2)), single((kind == 1) | (kind == 2), "b.csv")
    claims = sf.tally(*files, confidence=0.9).claims
    return missed(of_kind(claims, "case_difference")[0], 0.02)


@world("case_difference", "five files alike, all pairs together", 0.1)
def _five(seed: int) -> Outcome:
    rng = np.random.default_rng([seed, 90])
    hard = rng.beta(1, 2, 60)
    files = [single(rng.random(60) < hard, f"{name}.csv") for name in "abcde"]
    pairs = of_kind(sf.tally(*files, confidence=0.9).claims, "case_difference")
    assert len(pairs) == 10
    return any_false([missed(claim, 0.0) for claim in pairs])


@world("case_difference", "several trials of each case, in one file more than in the other", 0.1)
def _unequal_trials(seed: int) -> Outcome:
    rng = np.random.default_rng([seed, 91])
    p, heads = np.where(rng.random(30) < 0.3, 0.6, 0.05), ("case", "trials", "failures")
    both = [
        [(i, n, rng.binomial(n, f)) for i, (n, f) in enumerate(zip(trials, p, strict=True))]
        for trials in (rng.integers(1, 9, 30), np.full(30, 3))
    ]
    files = [written(heads, rows, f"{name}.csv") for name, rows in zip("ab", both, strict=True)]
    return missed(of_kind(sf.tally(*files, confidence=0.9).claims, "case_difference")[0], 0.0)


@world("case_difference", "a file and each file's rate, together", 0.1)
def _together(seed: int) -> Outcome:
    difference, first, second = sf.tally(*two_files(seed, 0.1), confidence=0.9).claims
    truths = ((difference, 0.1), (first, 0.4), (second, 0.3))
    return any_false([missed(claim, truth) for claim, truth in truths])


@world("not_worse", "files with few cases on which they differ, at the margin and beyond it", 0.1)
def _few_not_worse(seed: int) -> Outcome:
    """Worse by 0.04: so not worse by more than that, and worse by more than slightly less."""
    rng = np.random.default_rng([seed, 92])
    kind = rng.choice(3, 200, p=(0.05, 0.01, 0.94))
    files = single(kind == 0), single(kind == 1, "b.csv")
    margin, holds = ((0.04, True), (0.0399, False))[seed % 2]
    return judged(sf.tally(*files, not_worse=margin, confidence=0.9).verdicts[0], holds=holds)


@world("not_worse", "files, worse by slightly more than the margin", 0.1)
def _not_worse(seed: int) -> Outcome:
    result = sf.tally(*two_files(seed, 0.1), not_worse=0.099, confidence=0.9)
    return judged(result.verdicts[0], holds=False)
