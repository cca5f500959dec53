"""The view of an attack: how many inputs withstood it, and what that does not show."""

from __future__ import annotations

from surefoot.core.claims import Claim
from surefoot.records.record import AttackSummary, Record
from surefoot.report.attack.figures import attack_chart
from surefoot.report.attack.tables import attack_cell, attack_notes, no_gradient_cautions
from surefoot.report.figures import svg
from surefoot.report.provenance import (
    about_run,
    findings_section,
    preflight_cautions,
    provenance,
)
from surefoot.report.view import Figure, Section, View

_PURPOSE = "how many inputs an attack makes fail, and what that does not show"
_CAPTION = "Broken: the model fails at a point of the ball, or at the input itself."


def view(record: Record, attack: AttackSummary, verdicts: tuple[Claim, ...], command: str) -> View:
    """How many inputs an attack broke."""
    figure = Figure(lambda: svg(attack_chart(record)), _CAPTION, description=_withstood(attack))
    return View(
        title=record.study.words.source,
        headline=record.claims[:1],
        about=about_run(record),
        cautions=(*preflight_cautions(record), *no_gradient_cautions({"": attack})),
        claims=record.claims[1:],
        verdicts=verdicts,
        facts=(_withstood(attack), *attack_notes({"": attack})),
        assumptions=(),
        sections=(
            Section("attack", "How many inputs the attack broke", (), (figure,)),
            findings_section(record),
        ),
        command=command,
        purpose=_PURPOSE,
        provenance=(("", tuple(provenance(record))),),
    )


def _withstood(attack: AttackSummary) -> str:
    kept, rate = attack.inputs - attack.broken, attack_cell(attack)
    return f"{kept:,} of {attack.inputs:,} inputs ({rate}) withstood the attack."
