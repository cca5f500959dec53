"""The sentences a user reads. No number without how sure, and on what assumption."""

from __future__ import annotations

import shlex

from surefoot.population import sound
from surefoot.report.attacks import attack_cautions, baseline_table
from surefoot.report.kinds import population_of
from surefoot.report.phrases import (
    between,
    confidence,
    ended,
    nearly_all,
    odds,
    once_in,
    percent,
    short,
)
from surefoot.report.tables import class_table
from surefoot.results import Decision, Estimate, ExtrapolatedMean, Extrapolation, Result, Undecided
from surefoot.store.records import AnyRecord, Local, Record

SIL = {"SIL 1": 1e-1, "SIL 2": 1e-2, "SIL 3": 1e-3, "SIL 4": 1e-4}
"""Probability of failure on demand, IEC 61508, low demand."""


def headline(record: Record) -> str:
    """The claim in one sentence."""
    whole, held = record.population, record.spec["words"]["property"]
    scope = (
        f"({odds(record.spec['population']['error'])}; {record.trials:,} trials on "
        f"{len(record.local):,} inputs)"
    )
    match whole:
        case Undecided(reason=reason):
            return f"Undecided: {reason}."
        case ExtrapolatedMean(value=value, failure=failure, counted=Estimate() as counted):
            return (
                f"By counting, on average {percent(counted.value)} of perturbed inputs {held}; for "
                "the whole population of such inputs the mean is "
                f"{between(counted.interval)} {scope}. Extrapolated from normal tails that fitted "
                f"{whole.fitted:,} of {whole.inputs:,} inputs it is {nearly_all(value, failure)}: "
                "a model's guess, not a guarantee."
            )
        case ExtrapolatedMean(value=value, failure=failure):
            return f"Extrapolated from fitted normal tails, on average {percent(value)} {held}."
    if record.spec["population"]["kind"] == "robust-share":
        kappa = record.spec["procedure"]["kappa"]
        open_ = sum(isinstance(row.result, Undecided) for row in record.local)
        left = f", {open_:,} of {len(record.local):,} stayed undecided" if open_ else ""
        return (
            f"{percent(whole.value)} of the inputs were declared robust (at most {once_in(kappa)} "
            f"of their perturbed versions fail to {held}){left}; in the whole population of such "
            f"inputs the robust share is {between(whole.interval)} {scope}."
        )
    return (
        f"On average {percent(whole.value)} of perturbed inputs {held}; for the whole "
        f"population of such inputs the mean is {between(whole.interval)} {scope}."
    )


def about(record: Record) -> str:
    """Which model met which inputs, disturbed how."""
    model = short(record.source.model) if record.source else "a model in memory"
    inputs, words = record.spec["inputs"], record.spec["words"]
    return (
        f"{model} on {short(words['source'])}: {inputs['selection']} ({inputs['reading']}); "
        f"{words['perturbation']}."
    )


def cautions(record: Record) -> list[str]:
    """What the preflight found odd, and what contradicts itself: read before believing."""
    lines = [f"Look: {f.name}: {ended(f.finding)}" for f in record.findings if f.odd]
    wrong = [r for r in record.local if _contradicted(r.result)]
    if wrong:
        named = ", ".join(row.id for row in wrong[:3]) + (", …" if len(wrong) > 3 else "")
        lines.append(
            f"Look: for {len(wrong):,} inputs ({named}) the extrapolation contradicts the count "
            "of the same trials: do not believe it there."
        )
    return lines + attack_cautions({"": record.attack})


def _contradicted(result: Result) -> bool:
    return isinstance(result, Extrapolation) and result.contradicted


def how_sure(record: Record) -> list[str]:
    """What is promised, in the order a careful reader asks."""
    procedure, error = record.spec["procedure"], record.spec["population"]["error"]
    what = population_of(record).quantity
    lines = [
        f"The interval for {what} and the {len(record.classes)} per-class intervals hold all "
        f"together with confidence {confidence(error)} (the error is shared between them, "
        "Bonferroni)."
        if record.classes
        else f"The interval for {what} holds with confidence {confidence(error)}."
    ]
    if record.studied is not None:
        lines.append(
            "That is about the population the inputs come from. Of these "
            f"{len(record.local):,} inputs themselves, should they be all that matters, the mean "
            f"is {between(record.studied.interval)} ({odds(record.studied.guarantee.error)}, with "
            "no assumption about a population)."
        )
    if "width" in procedure:
        lines.append(
            f"The value of each single input is within {procedure['width']:g} of its true "
            f"probability ({odds(procedure['error'])}, each input by itself)."
        )
    if "draws" in procedure:
        lines.append(
            "An extrapolated number carries no guarantee at all; the count beside it does "
            f"({odds(procedure['error'])}, each input by itself)."
        )
    if "kappa" in procedure:
        lines += _about_kappa(procedure["kappa"], procedure["error"])
    return lines


def _about_kappa(kappa: float, error: float) -> list[str]:
    lines = [
        f"The decision on each single input is {odds(error)}, each by itself; an input that the "
        "evidence does not decide stays undecided."
    ]
    return lines + [
        f"A failure probability of {limit:g} is numerically the {level} low-demand limit of "
        "IEC 61508; this is a statement about a number, not a certification."
        for level, limit in SIL.items()
        if limit == kappa
    ]


def assumptions(record: Record) -> list[str]:
    """What the promise rests on."""
    lines = [
        "Trials are independent draws of the stated perturbation: "
        + record.spec["words"]["perturbation"]
        + "."
    ]
    whole = sound(record.population)
    if isinstance(whole, Estimate) and whole.guarantee.assumptions:
        note = whole.guarantee.condition
        lines.append(
            note[0].upper() + note[1:] + ". What is said of each single input needs no such thing."
        )
    if isinstance(record.population, ExtrapolatedMean):
        lines.append(
            "Extrapolated numbers suppose severities that are normal, after the transform named, "
            "far beyond what was seen; a test of normality cannot show that."
        )
    lines.append(
        "Robustness here is against random perturbations; an adversary who searches for a bad one "
        "is another question."
    )
    return lines


def strongest(record: Record) -> list[str]:
    """The strongest claims the evidence allows, each by itself."""
    local = [row.result for row in record.local]
    return [
        f"{claim.claim[0].upper()}{claim.claim[1:]} ({odds(claim.guarantee.error)})."
        for claim in population_of(record).strongest(local, record.population)
    ]


def facts(record: Record) -> list[str]:
    """What else the run showed."""
    lines = _decisions(record) or _tails(record) or _values(record)
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


def _tails(record: Record) -> list[str]:
    whole = record.population
    if not isinstance(whole, ExtrapolatedMean):
        return []
    lines = [
        f"A normal fitted the severities of {whole.fitted:,} of {whole.inputs:,} inputs "
        f"(completeness {percent(whole.completeness)}); the extrapolated average is over these "
        "alone" + ("" if whole.variance is None else f", with variance {whole.variance:.3g}") + "."
    ]
    failed = [row for row in record.local if isinstance(row.result, Undecided)]
    if failed:
        lines.append(f"Not fitted, for example {failed[0].id}: {failed[0].result.reason}.")  # type: ignore[union-attr]
    worst = min(record.local, key=lambda row: (_counted_share(row.result), row.id))
    lines.append(
        f"The least robust input by count is {worst.id}: "
        f"{percent(_counted_share(worst.result))} of its trials held."
    )
    return lines


def _values(record: Record) -> list[str]:
    known = [row for row in record.local if isinstance(row.result, Estimate)]
    steady = sum(1 for row in known if _value(row.result) == 1)
    lines = [
        f"{steady:,} of {len(record.local):,} inputs never slipped in any trial of their estimate."
    ]
    if len(known) < len(record.local):
        lines.append(f"{len(record.local) - len(known):,} inputs stayed undecided.")
    return lines + _least(known)


def _least(known: list[Local]) -> list[str]:
    worst = min(known, key=lambda row: (_value(row.result), row.id), default=None)
    if worst is None or _value(worst.result) == 1:
        return []
    return [
        f"The lowest value is that of {worst.id}: {percent(_value(worst.result))} (the lowest of "
        f"{len(known):,}, so more likely too low than too high)."
    ]


def _counted_share(result: Result) -> float:
    match result:
        case Extrapolation(counted=counted) | Undecided(counted=Estimate() as counted):
            return counted.value
        case _:
            return 1.0


def _value(result: Result) -> float:
    return result.value if isinstance(result, Estimate) else 0.0


def selection(record: AnyRecord) -> str:
    """Which inputs."""
    inputs, words = record.spec["inputs"], record.spec["words"]
    return f"{words['source']}: {inputs['selection']} ({inputs['number']:,}; {inputs['reading']})"


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
    if claims := strongest(record):
        lines += ["", "Strongest claims this evidence allows, each by itself:"]
        lines += [f"- {line}" for line in claims]
    if (beside := baseline_table(record)) is not None:
        lines += ["", *beside.text(), beside.note]
    if record.classes:
        lines += ["", *class_table(record).text()]
    return "\n".join(lines)
