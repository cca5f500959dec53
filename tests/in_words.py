"""What a guarantee takes for granted, in words, and where a result says what came before it."""

import surefoot as sf
from surefoot.core.results import Guarantee
from surefoot.records.record import Record
from surefoot.report.clauses import assumption_words, together_words
from surefoot.report.provenance import rung_facts


def condition(guarantee: Guarantee) -> str:
    """All of its assumptions."""
    return "; ".join(map(assumption_words, guarantee.assumptions))


def together(guarantee: Guarantee) -> str:
    """The statements that share its error; empty where it stands alone."""
    return "" if guarantee.jointly is None else together_words(guarantee.jointly)


def said_of_earlier_runs(result: sf.Result, run: Record) -> str:
    """Where a result says, once, that its question was asked before: as a note, or as a fact."""
    (line,) = rung_facts(run, ())
    view = result.view
    assert view.text().count(line) == 1
    if line in view.facts:
        return "fact"
    assert any(line in note for note in view.first_cautions)
    return "note"
