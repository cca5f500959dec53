"""The failure rate of an attack: what it is, and what it is not."""

from __future__ import annotations

from collections.abc import Mapping

from surefoot.claims import Claim
from surefoot.report.figures import attack_chart, svg
from surefoot.report.formatting import ended, percent, short
from surefoot.report.provenance import about_run, findings_section, odd_findings, provenance
from surefoot.report.tables import Table, mean_cells, quantity_heading
from surefoot.report.view import Figure, Section, View
from surefoot.store.records import AttackSummary, Record, Samples

HEADING = "attack failure rate"


def view(record: Record, found: AttackSummary, verdicts: tuple[Claim, ...], command: str) -> View:
    """How many inputs an attack broke."""
    return View(
        title=record.spec["words"]["source"],
        headline=record.claims[:1],
        about=about_run(record),
        cautions=(*odd_findings(record), *no_gradient_cautions({"": found})),
        claims=record.claims[1:],
        verdicts=verdicts,
        facts=(f"Attack failure rate: {attack_cell(found)}.", *attack_lines({"": found})),
        assumptions=(),
        sections=(
            Section("attack", "How many inputs the attack broke", (), (_drawn(record),)),
            findings_section(record),
        ),
        command=command,
        provenance=(("", tuple(provenance(record))),),
    )


def _drawn(record: Record) -> Figure:
    return Figure(
        svg(attack_chart(record)), "Broken: a point of the ball fails, or the input itself."
    )


def attack_cell(attack: AttackSummary | None) -> str:
    """The rate in a table."""
    if attack is None:
        return ""
    return "none" if attack.failure_rate is None else percent(attack.failure_rate)


def baseline_table(record: Record, found: Samples) -> Table:
    """Accuracy, attack failure rate and the study's own quantity in one line."""
    model = short(record.source.model) if record.source else "the model"
    clean = record.clean_accuracy
    row = (
        "" if clean is None else percent(clean),
        attack_cell(found.attack),
        *mean_cells(record, found.whole),
    )
    headings = ("model", "clean accuracy", HEADING, quantity_heading(record), "interval")
    note = " ".join(attack_lines({"": found.attack}))
    return Table("Beside accuracy and an attack", headings, ((model, *row),), 1, note)


def attack_lines(attacks: Mapping[str, AttackSummary | None]) -> list[str]:
    """What the column says, by the names in the table; and for which of them it is empty."""
    made = [(name, a) for name, a in attacks.items() if a is not None]
    done = [(name, a) for name, a in made if a.failure_rate is not None]
    lines = []
    if done:
        one = done[0][1]
        balls = list(dict.fromkeys(a.ball for _, a in done))
        where = balls[0] if len(balls) == 1 else "ball around each"
        lines += [
            f"The attack failure rate is the share of the {one.inputs:,} inputs for which a "
            f"gradient attack found no point of the {where} that fails (an input that fails when "
            f"clean counts as found). {_effort(one)} Every point counted was run again through the "
            "model itself and lies in the ball and the bounds.",
            "A failed attack proves nothing, for a better one may succeed: the share of these "
            "inputs that withstand every point of the ball is at most this rate.",
        ]
    lines += [f"{_of(name)}{_counts(a)}" for name, a in done if _counts(a)]
    empty = [(name, a) for name, a in made if a.failure_rate is None]
    return lines + [f"{_of(name)}No attack failure rate: {ended(a.reason)}" for name, a in empty]


def _of(name: str) -> str:
    return f"{name}: " if name else ""


def _effort(attack: AttackSummary) -> str:
    starts = "1 descent" if attack.starts == 1 else f"{attack.starts} descents"
    one = attack.targets == 1
    targets = "the target class" if one else f"each of {attack.targets} target classes"
    return (
        f"It made {starts} of {attack.iterations} steps towards {targets}, or until one succeeded."
    )


def _counts(attack: AttackSummary) -> str:
    """What went on behind the rate, where there is something to say."""
    parts = []
    if attack.clean:
        parts.append(f"of the {attack.broken:,} inputs broken {attack.clean:,} fail when clean")
    if attack.discarded:
        parts.append(f"{attack.discarded:,} points were discarded that the model did not confirm")
    told = "; ".join(parts)
    return ended(told[0].upper() + told[1:]) if told else ""


def no_gradient_cautions(attacks: Mapping[str, AttackSummary | None]) -> tuple[str, ...]:
    """Where an attack had nothing to follow."""
    return tuple(
        f"Look: {_of(name)}at {a.blind:,} of {a.inputs:,} inputs every gradient was zero and the "
        "attack had nothing to follow: its failure there says nothing (masked gradients?)."
        for name, a in attacks.items()
        if a is not None and a.blind
    )
