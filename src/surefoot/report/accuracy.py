"""Accuracy clean and perturbed, and what the perturbation costs: three numbers from claims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from surefoot.core.claims import (
    About,
    AccuracyDrop,
    AccuracyPopulation,
    AccuracySet,
    Claim,
    CleanAccuracy,
)
from surefoot.core.results import UNIT, Interval
from surefoot.report.clauses import over_groups, sample_condition, scope_phrase
from surefoot.report.formatting import confidence, percent, percent_range, points_between
from surefoot.report.key_figure import KeyFigure, key_figure, signed_points


@dataclass(frozen=True)
class _Known:
    """A number with its interval and error; without an interval it is counted."""

    value: float
    around: Interval | None = None
    error: float = 0.0

    def fields(self, name: str) -> dict[str, float]:
        """For JSON."""
        ends = (
            {f"{name}_low": self.around.low, f"{name}_high": self.around.high}
            if self.around
            else {}
        )
        return {name: self.value, **ends}

    def figure(self, number: str, around: str, meaning: str) -> KeyFigure:
        """With its words."""
        certain = f"confidence {confidence(self.error)}" if self.error and self.around else ""
        return KeyFigure(number, around, certain, meaning)


@dataclass(frozen=True)
class Accuracy:
    """What a claim about accuracy says, and beside it clean accuracy and the drop.

    Clean accuracy of the inputs studied is counted. The drop of these inputs has the interval of
    the claim, at the same error; the population's is a claim of its own, or None.
    """

    claim: AccuracySet | AccuracyPopulation
    clean: _Known
    drop: _Known | None = None

    @property
    def fields(self) -> dict[str, float | str | None]:
        """For JSON; what is not known is left out."""
        claim, around = self.claim, self.claim.interval or UNIT
        return {
            "under": claim.under, "about": claim.about.of.value, "inputs": claim.about.inputs,
            **self.clean.fields("clean"),
            "perturbed": claim.value, "low": around.low, "high": around.high,
            **({} if self.drop is None else self.drop.fields("drop")),
        }  # fmt: skip

    @property
    def key_figures(self) -> list[KeyFigure]:
        """Perturbed, clean, and the drop."""
        claim, clean, drop = self.claim, self.clean, self.drop
        named = f"{', '.join(claim.names)}: " if claim.names else ""
        where = f"{named}accuracy on {scope_phrase(claim)} under {claim.under}{over_groups(claim)}"
        condition = sample_condition(claim)
        perturbed = replace(key_figure(claim), meaning=", ".join(filter(None, [where, condition])))
        studied = "" if claim.about.of is About.THESE else " of those studied"
        counted = f"{claim.clean:,} of {claim.about.inputs:,}{studied}, counted"
        within = counted if clean.around is None else percent_range(clean.around)
        figures = [perturbed, clean.figure(percent(clean.value), within, "accuracy when clean")]
        if drop is not None:
            between = "" if drop.around is None else points_between(drop.around)
            figures.append(drop.figure(signed_points(drop.value), between, "drop in accuracy"))
        return figures

    @property
    def line(self) -> str:
        """All of it in one line."""
        return "; ".join(figure.line for figure in self.key_figures)


def clean_words(shares: Mapping[str, float]) -> str:
    """Clean accuracy as a list of runs shows it, of each model where there are several."""
    return ", ".join(f"{name} {percent(share)}".strip() for name, share in shares.items())


def accuracy_of(claims: Iterable[Claim]) -> Accuracy | None:
    """From the first claim; None where that is not about accuracy, or where nothing is known."""
    plain = [claim for claim in claims if claim.verdict is None]
    first = plain[0] if plain else None
    if not isinstance(first, AccuracySet | AccuracyPopulation) or first.interval is None:
        return None
    around, counted = first.interval, first.clean / max(first.about.inputs, 1)
    if first.about.of is About.CLASS or (around == UNIT and first.reason):
        return None
    if isinstance(first, AccuracySet) and first.value is not None:
        apart = Interval(counted - around.high, counted - around.low) if around.width else None
        fallen = _Known(counted - first.value, apart, first.guarantee.error)
        return Accuracy(first, _Known(counted), fallen)
    same = [one for one in plain if one.names == first.names and one.about == first.about]
    known = {
        type(c): _Known(c.value, c.interval, c.guarantee.error) for c in same if c.value is not None
    }
    clean, drop = known.get(CleanAccuracy), known.get(AccuracyDrop)
    if clean is None or drop is None:
        return Accuracy(first, _Known(counted))
    return Accuracy(first, clean, drop)
