"""The attack failure rate, beside accuracy and robustness: what it is, and what it is not."""

from __future__ import annotations

from collections.abc import Mapping

from surefoot.report.kinds import population_of
from surefoot.report.phrases import ended, percent, short
from surefoot.report.tables import Table, tail_cells, value_and_interval
from surefoot.store.attacked import Attacked
from surefoot.store.records import Record

HEADING = "attack failure rate"


def accuracy(record: Record) -> float | None:
    """The share of inputs that get their true label undisturbed, where labels are known."""
    labelled = [row for row in record.local if row.label is not None]
    return sum(r.label == r.predicted for r in labelled) / len(labelled) if labelled else None


def attack_cell(attack: Attacked | None) -> str:
    """The rate in a table."""
    if attack is None:
        return ""
    return "none" if attack.failure_rate is None else percent(attack.failure_rate)


def baseline_table(record: Record) -> Table | None:
    """Accuracy, attack failure rate and robustness in one line, if the model was attacked."""
    if record.attack is None:
        return None
    model = short(record.source.model) if record.source else "the model"
    clean = accuracy(record)
    if record.spec["population"]["kind"] == "tail-mean":
        what, value = "counted mean", tail_cells(record.population)[3:]
    else:
        what = population_of(record).quantity.removeprefix("the ")
        value = value_and_interval(record.population)
    row = ("" if clean is None else percent(clean), attack_cell(record.attack), *value)
    headings = ("model", "accuracy undisturbed", HEADING, what, "interval")
    note = " ".join(attack_words({"": record.attack}))
    return Table("Beside accuracy and an attack", headings, ((model, *row),), 1, note)


def attack_words(attacks: Mapping[str, Attacked | None]) -> list[str]:
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
            f"gradient attack found no point of the {where} that breaks the property (an input "
            f"that breaks it undisturbed counts as found). {_effort(one)} Every point counted was "
            "replayed through the model itself and lies in the ball and the bounds.",
            "A failed attack proves nothing, for a better one may succeed: the share of these "
            "inputs that withstand every point of the ball is at most this rate.",
        ]
    lines += [f"{_of(name)}{_counts(a)}" for name, a in done if _counts(a)]
    empty = [(name, a) for name, a in made if a.failure_rate is None]
    lines += [f"{_of(name)}No attack failure rate: {ended(a.reason)}" for name, a in empty]
    return lines


def _of(name: str) -> str:
    return f"{name}: " if name else ""


def _effort(attack: Attacked) -> str:
    starts = "1 descent" if attack.starts == 1 else f"{attack.starts} descents"
    rivals = "the rival class" if attack.rivals == 1 else f"each of {attack.rivals} rival classes"
    return f"It made {starts} of {attack.steps} steps towards {rivals}, or until one succeeded."


def _counts(attack: Attacked) -> str:
    """What went on behind the rate, where there is something to tell."""
    parts = []
    if attack.undisturbed:
        parts.append(
            f"of the {len(attack.broken):,} inputs broken {attack.undisturbed:,} are so undisturbed"
        )
    if attack.discarded:
        parts.append(f"{attack.discarded:,} points were discarded that the model did not confirm")
    said = "; ".join(parts)
    return ended(said[0].upper() + said[1:]) if said else ""


def attack_cautions(attacks: Mapping[str, Attacked | None]) -> list[str]:
    """Where an attack saw nothing."""
    return [
        f"Look: {_of(name)}at {a.blind:,} of {a.inputs:,} inputs every gradient was zero and the "
        "attack had nothing to follow: its failure there says nothing (masked gradients?)."
        for name, a in attacks.items()
        if a is not None and a.blind
    ]
