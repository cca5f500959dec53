"""What is the matter with inputs that are not right when clean: a wrong label, a tie, a failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from surefoot.records.record import InputRow, Record

WRONG, TIED, FAILS = "wrong", "tied", "fails"
_FAULTS = (WRONG, TIED, FAILS)
_LABEL_KEPT = ("same", "true")
"""Properties that a clean input with the right label fails only where its scores are tied."""


def clean_fault(record: Record, row: InputRow) -> str:
    """`WRONG`, `TIED` or `FAILS` when clean; empty where it is right."""
    if row.right_when_clean:
        return ""
    if row.label is not None and row.predicted is not None and row.label != row.predicted:
        return WRONG
    return TIED if record.study.property.kind in _LABEL_KEPT else FAILS


def clean_faults_note(record: Record) -> str:
    """How many inputs are not right when clean, and so no examples; empty for none."""
    counts = Counter(clean_fault(record, row) for row in record.inputs)
    note = faults_note([(fault, counts[fault]) for fault in _FAULTS], len(record.inputs))
    if counts[WRONG] and record.study.property.kind == "same":
        note += " A wrong input fails here only where its label changes."
    return note


def faults_note(counts: Sequence[tuple[str, int]], inputs: int, unit: str = "inputs") -> str:
    """So many of these inputs have each fault; empty for none.

    `unit`: what is counted, where it is not single inputs.
    """
    some = [(fault, number) for fault, number in counts if number]
    if not some:
        return ""
    (fault, number), *others = some
    first = f"{number:,} of {inputs:,} {unit} {_words(fault, number)} already when clean"
    listed = " and ".join([first, *(f"{n:,} {_words(fault, n)}" for fault, n in others)])
    they = "it counts" if sum(n for _, n in some) == 1 else "they count"
    return (
        f"{listed}: {they} in the result above, but this list is of inputs that are right until "
        "they are perturbed."
    )


def ties_clause(record: Record) -> str:
    """How many inputs have their true label by a tie alone, after a comma; empty for none."""
    labelled = [row for row in record.inputs if row.label is not None]
    tied = sum(clean_fault(record, row) == TIED for row in labelled)
    return f", {tied:,} of them in a tie with another, which fails" if tied else ""


def _words(fault: str, number: int) -> str:
    if fault == FAILS:
        return "fails" if number == 1 else "fail"
    return f"{'is' if number == 1 else 'are'} {fault}"
