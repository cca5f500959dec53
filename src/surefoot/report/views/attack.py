"""The attack beside a study as tables, a figure and sections of a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from math import inf

from surefoot.core.results import Bracket
from surefoot.records.record import AttackSummary, Record, Samples
from surefoot.region.attack_method import LONGER_STARTS, LOWEST_TARGETS
from surefoot.report import alt, provenance
from surefoot.report.clauses import capitalised
from surefoot.report.figures import STEADY, WEAK, bar_chart
from surefoot.report.formatting import file_name, percent, with_full_stop
from surefoot.report.tables import Table, mean_cells, quantity_heading
from surefoot.report.view import Caution, Figure, Section, View


def attack_chart(record: Record) -> alt.ChartType:
    """How many inputs an attack broke, and how many not."""
    broken = sum(isinstance(r.result, Bracket) and r.result.high < inf for r in record.inputs)
    counts = {"not broken": len(record.inputs) - broken, "broken": broken}
    return bar_chart(counts, [STEADY, WEAK], len(record.inputs))


_HEADINGS = {"margin": "withstood the attack", "pgd": "withstood PGD"}


def attack_heading(attacks: Iterable[AttackSummary | None]) -> str:
    """The heading of a column of rates: all are of the same attack."""
    first = next((a for a in attacks if a is not None), None)
    if first is None:
        return _HEADINGS["margin"]
    return _HEADINGS.get(first.method, f"withstood {first.name}")


def attack_cell(attack: AttackSummary | None) -> str:
    """The rate in a table."""
    if attack is None:
        return ""
    return "none" if attack.withstood is None else percent(attack.withstood)


def baseline_table(record: Record, samples: Samples) -> Table:
    """Accuracy, the share that withstood an attack and the study's own quantity in one line."""
    model = file_name(record.source.model) if record.source else "the model"
    clean = record.clean_accuracy
    row = (
        "" if clean is None else percent(clean),
        attack_cell(samples.attack),
        *mean_cells(record, samples.whole),
    )
    heading = attack_heading([samples.attack])
    headings = ("model", "clean accuracy", heading, quantity_heading(record), "interval")
    note = " ".join(attack_notes({"": samples.attack}))
    return Table("Compared with accuracy and an attack", headings, ((model, *row),), 1, note)


def attack_notes(attacks: Mapping[str, AttackSummary | None]) -> list[str]:
    """What the rate means, and for which names of the table there is none."""
    known = [(name, a) for name, a in attacks.items() if a is not None]
    done = [(name, a) for name, a in known if a.withstood is not None]
    lines = []
    if done:
        one = done[0][1]
        balls = list(dict.fromkeys(a.ball for _, a in done))
        where = balls[0] if len(balls) == 1 else "ball around each"
        lines += [
            f"An input withstood the attack if this found no point of the {where} that fails; an "
            f"input that fails when clean did not withstand it. {_effort(one)} "
            "Every point counted was run again through the model itself and lies in the ball and "
            "the bounds.",
            "A failed attack proves nothing: a better one may succeed. The share of these inputs "
            "that no point of the ball makes fail is at most the share that withstood the attack.",
        ]
    lines += [f"{_of(name)}{_counts(a)}" for name, a in done if _counts(a)]
    empty = [(name, a) for name, a in known if a.withstood is None]
    return lines + [f"{_of(name)}No attack: {with_full_stop(a.reason)}" for name, a in empty]


def _of(name: str) -> str:
    return f"{name}: " if name else ""


def _effort(attack: AttackSummary) -> str:
    if attack.method == "function":
        return f"The attack was {attack.name}, a function of the user."
    if attack.method == "pgd":
        points = "1 random point" if attack.starts == 1 else f"{attack.starts} random points"
        return (
            "The attack was PGD as published (Madry et al. 2018): untargeted, up the "
            f"cross-entropy, from {points} of the ball, {attack.iterations} steps of length "
            f"{attack.step} each."
        )
    starts = "1 descent" if attack.starts == 1 else f"{attack.starts} descents"
    one = attack.targets == 1
    targets = "the target class" if one else f"each of {attack.targets} target classes"
    lowest = "it" if one else f"the {min(attack.targets, LOWEST_TARGETS)} of the lowest margins"
    return (
        f"It made 1 descent of {attack.iterations} steps towards the nearest class, {starts} "
        f"towards {targets}, {LONGER_STARTS} of {2 * attack.iterations} steps towards {lowest}, "
        "and went on from the lowest points in short steps, or until one succeeded."
    )


def _counts(attack: AttackSummary) -> str:
    """How many inputs fail when clean, and how many points were discarded; empty for none."""
    parts = []
    if attack.clean:
        parts.append(f"of the {attack.broken:,} inputs broken {attack.clean:,} fail when clean")
    if attack.discarded:
        points = "1 point was" if attack.discarded == 1 else f"{attack.discarded:,} points were"
        if attack.method == "function":
            parts.append(f"{points} ignored that the function put outside the ball or the bounds")
        else:
            parts.append(f"{points} discarded that the model did not confirm")
    return with_full_stop(capitalised("; ".join(parts))) if parts else ""


def no_gradient_cautions(attacks: Mapping[str, AttackSummary | None]) -> tuple[Caution, ...]:
    """A caution for each attack that had no gradient to follow at some inputs."""
    return tuple(
        Caution(
            f"Note: {_of(name)}at {a.blind:,} of {a.inputs:,} inputs every gradient was zero and "
            "the attack had nothing to follow: its failure there says nothing (masked gradients?)."
        )
        for name, a in attacks.items()
        if a is not None and a.blind
    )


_CAPTION = "Broken: the model fails at a point of the ball, or at the input itself."


def view(shown: provenance.Shown, attack: AttackSummary) -> View:
    """How many inputs an attack broke."""
    record = shown.record
    figure = Figure(partial(attack_chart, record), _CAPTION, description=_withstood(attack))
    return shown.view_of_run(
        warnings=(*provenance.preflight_cautions(record), *no_gradient_cautions({"": attack})),
        facts=(_withstood(attack), *attack_notes({"": attack})),
        sections=[Section("attack", "How many inputs the attack broke", (), (figure,))],
    )


def _withstood(attack: AttackSummary) -> str:
    kept, rate = attack.inputs - attack.broken, attack_cell(attack)
    return f"{kept:,} of {attack.inputs:,} inputs ({rate}) withstood the attack."
