"""The sentences a user reads. No number without how sure, and on what assumption."""

from __future__ import annotations

import math
import shlex
from fractions import Fraction

from surefoot.results import Decision, Estimate, Interval, Result, Undecided
from surefoot.store.records import Record

QUANTITIES = {"mean": "the mean robustness", "robust-share": "the robust share"}
SIL = {"SIL 1": 1e-1, "SIL 2": 1e-2, "SIL 3": 1e-3, "SIL 4": 1e-4}
"""Probability of failure on demand, IEC 61508, low demand."""


def percent(value: float) -> str:
    """A share as people say it; never rounded up to 100 % or down to 0 %."""
    shown = f"{100 * value:.2f}".rstrip("0").rstrip(".")
    if shown == "100" and value < 1:
        return "above 99.99 %"
    if shown == "0" and value > 0:
        return "below 0.01 %"
    return f"{shown} %"


def between(interval: Interval) -> str:
    """Both ends, rounded outwards so that the words claim no more than the numbers."""
    low = int(interval.low * 1e4) / 100
    high = -int(-interval.high * 1e4 // 1) / 100
    return f"between {low:g} % and {high:g} %"


def odds(error: float) -> str:
    """How often at most a statement is wrong."""
    share = Fraction(error).limit_denominator(1_000_000)
    if share.numerator == 1 and abs(share - Fraction(error)) < 1e-9 * error:
        return f"wrong at most 1 time in {share.denominator:,}"
    for base in (100, 1000, 10_000, 100_000, 1_000_000):
        if round(error * base) and abs(error * base - round(error * base)) < 1e-9:
            return f"wrong at most {round(error * base)} times in {base:,}"
    return f"wrong with probability at most {error:.2g}"


def confidence(error: float) -> str:
    """1 - error as a percentage, never rounded up."""
    for digits in range(12):
        shown = math.floor((100 - 100 * error) * 10**digits + 1e-6) / 10**digits
        if 100 - shown < 2 * 100 * error:
            return f"{shown:.{digits}f} %"
    return f"100 % less {100 * error:.2g} %"


def headline(record: Record) -> str:
    """The claim in one sentence."""
    whole, held = record.population, record.spec["words"]["property"]
    if isinstance(whole, Undecided):
        return f"Undecided: {whole.reason}."
    if record.spec["population"]["kind"] == "robust-share":
        kappa = record.spec["procedure"]["kappa"]
        claim = (
            f"{percent(whole.value)} of the inputs were declared robust (at most {_in(kappa)} of "
            f"their perturbed versions fail to {held}); in the whole population of such inputs the "
            f"robust share is {between(whole.interval)}"
        )
    else:
        claim = (
            f"On average {percent(whole.value)} of perturbed inputs {held}; for the whole "
            f"population of such inputs the mean is {between(whole.interval)}"
        )
    return (
        f"{claim} ({odds(record.spec['population']['error'])}; {record.trials:,} trials on "
        f"{len(record.local):,} inputs)."
    )


def _in(kappa: float) -> str:
    """A small probability as people say it."""
    once = 1 / kappa
    return f"1 in {round(once):,}" if abs(once - round(once)) < 1e-6 * once else f"{kappa:g}"


def about(record: Record) -> str:
    """Which model met which inputs, disturbed how."""
    model = _short(record.source.model) if record.source else "a model in memory"
    inputs, words = record.spec["inputs"], record.spec["words"]
    return (
        f"{model} on {_short(words['source'])}: {inputs['selection']} ({inputs['reading']}); "
        f"{words['perturbation']}."
    )


def _short(place: str) -> str:
    """The last part of a path."""
    return place.rstrip("/").rpartition("/")[2] or place


def cautions(record: Record) -> list[str]:
    """What the preflight found odd: read before believing."""
    return [f"Look: {f.name}: {f.finding}." for f in record.findings if f.verdict == "odd"]


def how_sure(record: Record) -> list[str]:
    """What is promised, in the order a careful reader asks."""
    procedure, error = record.spec["procedure"], record.spec["population"]["error"]
    what = QUANTITIES[record.spec["population"]["kind"]]
    together = (
        f"The interval for {what} and the {len(record.classes)} per-class intervals hold all "
        f"together with confidence {confidence(error)}."
        if record.classes
        else f"The interval for {what} holds with confidence {confidence(error)}."
    )
    lines = [together]
    if "width" in procedure:
        lines.append(
            f"The value of each single input is within {procedure['width']:g} of its true "
            f"probability ({odds(procedure['error'])}, each input by itself)."
        )
    if "kappa" in procedure:
        lines.append(
            f"The decision on each single input is {odds(procedure['error'])}, each by itself; "
            "an input that the evidence does not decide stays undecided."
        )
        lines += [
            f"A failure probability of {limit:g} is numerically the {level} low-demand limit of "
            "IEC 61508; this is a statement about a number, not a certification."
            for level, limit in SIL.items()
            if limit == procedure["kappa"]
        ]
    return lines


def assumptions(record: Record) -> list[str]:
    """What the promise rests on."""
    lines = [
        "Trials are independent draws of the stated perturbation: "
        + record.spec["words"]["perturbation"]
        + "."
    ]
    if isinstance(record.population, Estimate) and record.population.guarantee.assumption:
        note = record.population.guarantee.assumption
        lines.append(
            note[0].upper() + note[1:] + ". What is said of each single input needs no such thing."
        )
    lines.append(
        "Robustness here is against random perturbations; an adversary who searches for a bad one "
        "is another question."
    )
    return lines


def facts(record: Record) -> list[str]:
    """What else the run showed."""
    lines = _decisions(record) or _values(record)
    labelled = [row for row in record.local if row.label is not None]
    if labelled:
        right = sum(row.label == row.predicted for row in labelled)
        lines.append(f"Undisturbed, {right:,} of {len(labelled):,} inputs get their true label.")
    return lines


def _decisions(record: Record) -> list[str]:
    made = [row.result for row in record.local if isinstance(row.result, Decision)]
    if not made:
        return []
    robust, whole = sum(r.holds for r in made), len(record.local)
    return [
        f"{robust:,} of {whole:,} inputs were declared robust, {len(made) - robust:,} fragile, "
        f"{whole - len(made):,} stayed undecided."
    ]


def _values(record: Record) -> list[str]:
    known = [row for row in record.local if isinstance(row.result, Estimate)]
    steady = sum(1 for row in known if _value(row.result) == 1)
    lines = [
        f"{steady:,} of {len(record.local):,} inputs never slipped in any trial of their estimate."
    ]
    if len(known) < len(record.local):
        lines.append(f"{len(record.local) - len(known):,} inputs stayed undecided.")
    worst = sorted(known, key=lambda row: (_value(row.result), row.id))[:1]
    if worst and _value(worst[0].result) < 1:
        lines.append(
            f"The least robust input is {worst[0].id}: it holds under about "
            f"{percent(_value(worst[0].result))} of its perturbations"
            + (f" (within {width:g})." if (width := record.spec["procedure"].get("width")) else ".")
        )
    return lines


def _value(result: Result) -> float:
    return result.value if isinstance(result, Estimate) else 0.0


def selection(record: Record) -> str:
    """Which inputs."""
    inputs, words = record.spec["inputs"], record.spec["words"]
    return f"{words['source']}: {inputs['selection']} ({inputs['number']:,}; {inputs['reading']})"


def verdict(decision: Decision | Undecided) -> str:
    """A requirement's outcome in one line."""
    match decision:
        case Decision(claim=claim, holds=True):
            return f"PASS: {claim} ({odds(decision.guarantee.error)})."
        case Decision(claim=claim):
            return f"FAIL: it is refuted that {claim} ({odds(decision.guarantee.error)})."
        case Undecided(reason=reason):
            return f"UNDECIDED: {reason}."


def cells(result: Result) -> tuple[str, str]:
    """Value and interval, for a table."""
    if isinstance(result, Estimate):
        return percent(result.value), between(result.interval)[8:].replace(" and ", " to ")
    return "undecided", result.reason if isinstance(result, Undecided) else ""


def replay_command(record: Record, subject: str, trial: int, store: str) -> str:
    """What to type to see that trial again."""
    if record.source is None:
        return f"study.replay({subject!r}, {trial})"
    where, name, run = shlex.quote(store), shlex.quote(subject), record.digest[:12]
    if subject.startswith("-"):
        return f"surefoot replay --store {where} -- {run} {name} {trial}"
    return f"surefoot replay {run} {name} {trial} --store {where}"


def summary(record: Record) -> str:
    """The whole outcome as text."""
    lines = [headline(record), about(record), *cautions(record)]
    lines += ["", *how_sure(record), "", "Assumptions:"]
    lines += [f"- {line}" for line in assumptions(record)]
    lines += ["", *facts(record)]
    if record.classes:
        width = max(len(row.name) for row in record.classes)
        lines += ["", f"{'class':<{width}}  inputs  robustness  interval"]
        for row in record.classes:
            value, interval = cells(row.result)
            lines.append(f"{row.name:<{width}}  {row.inputs:>6}  {value:>10}  {interval}")
    return "\n".join(lines)
