"""What is said of a run of proofs that a time limit ended."""

from __future__ import annotations

from surefoot.records.record import Record
from surefoot.region.critical_level import NOT_REACHED
from surefoot.report.clauses import continuation_note
from surefoot.report.radii.tables import brackets_of


def continuing_note(record: Record) -> str:
    """Whether it may be continued; after a time limit brackets only become narrower."""
    note = continuation_note(record.claims)
    if not record.stopped_early:
        return note
    return (
        "The same command, or the same study with the same store, goes on where the time limit "
        f"ended the run; brackets only become narrower. {note}"
    )


def stopped_note(name: str, record: Record) -> str:
    """How many inputs the time limit left out."""
    brackets = brackets_of(record)
    number = sum(bracket.reason == NOT_REACHED.reason for _, bracket in brackets)
    left_out = (
        f"{number:,} of {len(brackets):,} inputs were not reached: nothing is proved or refuted "
        "for them, and they count as such"
        if number
        else "every input was tried, not all of them to the end"
    )
    return f"Note: {name + ': ' if name else ''}stopped early by the time limit: {left_out}."
