"""Beside a verdict: the number that was measured, with its interval."""

from __future__ import annotations

from collections.abc import Sequence

from surefoot.claims import Claim
from surefoot.report.key_figure import key_figure

_MEASURED_AS = {"all_kappa": "count_kappa", "not_worse": "difference"}
"""Kinds whose number stands in a claim of another kind; that of the others in one of their own."""


def measured_words(verdict: Claim, claims: Sequence[Claim]) -> str:
    """What was measured of what is required, in a sentence; empty where no claim has a number."""
    figures = [key_figure(claim) for claim in _measured(verdict, claims)]
    lines = [figure.line for figure in figures if figure.number != "undecided"]
    return f"Measured: {'; '.join(lines)}." if lines else ""


def _measured(verdict: Claim, claims: Sequence[Claim]) -> list[Claim]:
    """The claims about the same inputs whose number decides, or what there is of each model."""
    kind = _MEASURED_AS.get(verdict.kind, verdict.kind)
    same = [c for c in claims if c.kind == kind and c.limit == verdict.limit]
    if verdict.kind == "not_worse":
        pairs = [c for c in same if c.names[:1] == verdict.names[:1]]
        single = [(name,) for name in verdict.names]
        return pairs or [c for c in claims if c.names in single and c.about == verdict.about]
    about = verdict.about
    return [
        c
        for c in same
        if (c.about.of, c.about.name, c.names) == (about.of, about.name, verdict.names)
    ][:1]
