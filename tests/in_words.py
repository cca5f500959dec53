"""What a guarantee takes for granted, in words."""

from surefoot.core.results import Guarantee
from surefoot.report.clauses import assumption_words, together_words


def condition(guarantee: Guarantee) -> str:
    """All of its assumptions."""
    return "; ".join(map(assumption_words, guarantee.assumptions))


def together(guarantee: Guarantee) -> str:
    """The statements that share its error; empty where it stands alone."""
    return "" if guarantee.jointly is None else together_words(guarantee.jointly)
