"""Beside a verdict: the number that was measured, with its interval."""

from __future__ import annotations

from collections.abc import Sequence

from surefoot.core.claims import Claim
from surefoot.report.key_figure import key_figure
from surefoot.report.verdict_sentences import COMPARED

_MEASURED_AS = {"all_kappa": "count_kappa", "not_worse": "difference"}
"""Kinds whose number stands in a claim of another kind; that of the others in one of their own."""
_OF_EACH = ("mean_population", "share_kappa", "curve_set", "curve_population", "mean_radius")
"""Kinds with the number of one model, where two are compared."""


def measured_words(verdict: Claim, claims: Sequence[Claim]) -> str:
    """What was measured of what is required, in a sentence; empty where no claim has a number."""
    figures = [key_figure(claim) for claim in measured_claims(verdict, claims)]
    lines = [figure.line for figure in figures if figure.number != "undecided"]
    return f"Measured: {'; '.join(lines)}." if lines else ""


def measured_claims(verdict: Claim, claims: Sequence[Claim]) -> list[Claim]:
    """The claims about the same inputs whose number decides, or what there is of each model."""
    kind = _MEASURED_AS.get(verdict.kind, verdict.kind)
    same = [c for c in claims if c.kind == kind and c.limit == verdict.limit]
    about = verdict.about
    if verdict.kind in COMPARED:
        pairs = [c for c in same if c.names[:1] == verdict.names[:1]]
        single = [(name,) for name in verdict.names]
        own = [c for c in claims if c.names in single and c.kind in _OF_EACH]
        same_scope = [c for c in own if (c.about.of, c.about.name) == (about.of, about.name)]
        return pairs or [c for c in same_scope if c.limit == verdict.limit]
    return [
        c
        for c in same
        if (c.about.of, c.about.name, c.names) == (about.of, about.name, verdict.names)
    ][:1]
