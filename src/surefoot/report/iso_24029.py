"""Which properties of ISO/IEC 24029 (robustness of neural networks) a run's claims are about.

Clauses of part 2 are those of its table of contents. Part 3 is a draft: its headings are cited
without numbers, and what falls under which is our reading of the headings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from surefoot.core.claims import KINDS, Claim, Verdict
from surefoot.core.results import Footing

FORMAL = "ISO/IEC 24029-2:2023 (formal methods)"
STATISTICAL = "ISO/IEC DIS 24029-3 (statistical methods, draft of December 2025)"


class Property(StrEnum):
    """A property that the standard assesses, by its heading."""

    STABILITY = "Stability"
    SENSITIVITY = "Sensitivity"
    RELEVANCE = "Relevance"
    REACHABILITY = "Reachability"
    RESPONSE = "Targeted assessment of the system's response to a perturbation"
    DROPS = "Robustness assessment based on performance drops"
    RELIABILITY = "Assessment through statistical reliability engineering"
    ADVERSARIAL = "Measuring adversarial robustness"
    SEPARABILITY = "Assessment through separability metrics"
    CURVATURE = "Robustness assessment through curvature analysis"


@dataclass(frozen=True)
class Place:
    """Where a property stands in the standard, and what it says, in our words."""

    part: str
    clause: str
    meaning: str


PLACES: dict[Property, Place] = {
    Property.STABILITY: Place(FORMAL, "5.3", "proved: the output stays the same within a domain"),
    Property.SENSITIVITY: Place(FORMAL, "5.4", "proved: how far the output varies with the input"),
    Property.RELEVANCE: Place(FORMAL, "5.5", "proved: which parts of an input decide the output"),
    Property.REACHABILITY: Place(
        FORMAL, "5.6", "proved: which states a system that acts on the outputs can reach"
    ),
    Property.RESPONSE: Place(STATISTICAL, "", "how often the output changes or fails"),
    Property.DROPS: Place(STATISTICAL, "", "how performance falls as the level rises"),
    Property.RELIABILITY: Place(STATISTICAL, "", "whether failures are rarer than a limit"),
    Property.ADVERSARIAL: Place(STATISTICAL, "", "what a search for failures comes to"),
    Property.SEPARABILITY: Place(STATISTICAL, "", "how far apart classes are inside the model"),
    Property.CURVATURE: Place(STATISTICAL, "", "how the decision boundary bends"),
}
"""Every property, in the order of the standard."""

_RESPONSE = (Property.RESPONSE,)
_LIMIT = (Property.RELIABILITY,)
_PROVED = (Property.STABILITY,)
_DROPS = (Property.DROPS,)
PROPERTIES: dict[str, tuple[Property, ...]] = {
    "failure": _RESPONSE,
    "kappa": _LIMIT,
    "radius": (Property.STABILITY, Property.ADVERSARIAL),
    "worst": _RESPONSE,
    "tail": _LIMIT,
    "mean_set": _RESPONSE,
    "count_kappa": _LIMIT,
    "all_kappa": _LIMIT,
    "curve_set": _DROPS,
    "robust_accuracy": (Property.STABILITY, Property.ADVERSARIAL),
    "severity": _PROVED,
    "mean_radius": _PROVED,
    "mean_population": _RESPONSE,
    "share_kappa": _LIMIT,
    "radius_quantile": _PROVED,
    "robust_accuracy_population": _PROVED,
    "mean_radius_population": _PROVED,
    "curve_population": _DROPS,
    "case_failure": _LIMIT,
    "cases_failed": _LIMIT,
    "case_difference": _LIMIT,
    "difference": _RESPONSE,
    "best": _RESPONSE,
    "not_worse": _RESPONSE,
    "curve_not_worse": _DROPS,
    "radius_not_worse": _PROVED,
    "quantile_difference": _PROVED,
    "classes": _RESPONSE,
}
"""What each kind of claim is about."""


@dataclass(frozen=True)
class Coverage:
    """One property, and the kinds of claims of a run that are about it; none: not covered."""

    heading: Property
    kinds: tuple[str, ...]

    @property
    def place(self) -> Place:
        """Where it stands in the standard."""
        return PLACES[self.heading]

    @property
    def words(self) -> str:
        """What the run says of it."""
        if not self.kinds:
            return "not covered"
        return "; ".join(KINDS[kind] for kind in self.kinds)


def coverage(claims: Sequence[Claim]) -> list[Coverage]:
    """Every property, with the claims that say something of it; one that is undecided does not."""
    covered: dict[Property, dict[str, None]] = {one: {} for one in PLACES}
    for claim in claims:
        for one in _properties(claim):
            covered[one][claim.kind] = None
    return [Coverage(one, tuple(kinds)) for one, kinds in covered.items()]


def _properties(claim: Claim) -> tuple[Property, ...]:
    """Of a claim that is decided; of proofs and counterexamples those that there are."""
    undecided = claim.verdict is Verdict.UNDECIDED
    unfounded = claim.guarantee.footing is Footing.NONE and claim.kind != "tail"
    if undecided or unfounded:
        return ()
    places, around = PROPERTIES[claim.kind], claim.interval
    if around is None or claim.kind == "quantile_difference":
        return places
    largest = 1.0 if claim.kind == "robust_accuracy" else math.inf
    absent = {
        Property.STABILITY: around.low <= 0,  # nothing is proved
        Property.ADVERSARIAL: around.high >= largest,  # nothing is refuted
    }
    return tuple(one for one in places if not absent.get(one))
