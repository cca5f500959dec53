"""Which properties of ISO/IEC 24029 (robustness of neural networks) a run's claims are about.

Clauses of part 2 are those of its table of contents. Part 3 is a draft: its headings are cited
without numbers, and what falls under which is our reading of the headings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from surefoot.core import claims
from surefoot.core.claims import Claim, QuantileDifference, RobustAtRadius, Tail, Verdict

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

_ABOUT: dict[tuple[Property, ...], dict[type[Claim], str]] = {
    (): {
        claims.PublishedKappa: "what a published rule declares of these inputs, without guarantee",
    },
    (Property.RESPONSE,): {
        claims.Failure: "the failure probability of one input",
        claims.Worst: "the failure probability of the input that failed most often in this run",
        claims.MeanSet: "the mean failure probability of these inputs",
        claims.SuiteMean: "the accuracy averaged over the cells of a suite",
        claims.CorruptionError: "the mean corruption error against a baseline",
        claims.AccuracySet: "the accuracy on these inputs when perturbed",
        claims.AccuracyPopulation: "the accuracy on the population when perturbed",
        claims.CleanAccuracy: "the accuracy on the population when clean",
        claims.MeanPopulation: "the mean failure probability of the population",
        claims.FailureDifference: "how much more often one model fails than another",
        claims.Best: "which model may be the most robust",
        claims.NotWorse: "whether a model fails at most so much more often than the others",
        claims.ClassesDiffer: "which classes differ",
    },
    (Property.RELIABILITY,): {
        claims.Kappa: "whether one input fails with probability at most κ",
        Tail: "an extrapolated failure probability, beside the count",
        claims.RareFailure: "how rare failures are that no count shows",
        claims.CountKappa: "how many of these inputs fail with a probability above κ",
        claims.AllKappa: (
            "whether every one of these inputs, or a share, fails with probability at most κ"
        ),
        claims.ShareKappa: "the share of the population that fails with probability at most κ",
        claims.CaseFailure: (
            "how often cases fail in the population, of a test that was run elsewhere"
        ),
        claims.CasesFailed: "how many of these cases failed in a test that was run elsewhere",
        claims.CaseDifference: (
            "how much more often cases fail in one file of outcomes than in another"
        ),
    },
    (Property.STABILITY, Property.ADVERSARIAL): {
        claims.Radius: "the certified radius of one input",
        RobustAtRadius: "how many of these inputs are proved and refuted at a radius",
    },
    (Property.DROPS,): {
        claims.AccuracyDrop: "how much accuracy the perturbation costs in the population",
        claims.CurveSet: "up to which level these inputs keep an accuracy",
        claims.CurvePopulation: "up to which level the population keeps an accuracy",
        claims.CurveNotWorse: (
            "whether a model keeps an accuracy at nearly as many levels as another"
        ),
        claims.CountedAccuracy: "how many of these inputs are right when clean",
    },
    (Property.STABILITY,): {
        claims.Severity: (
            "the mean critical radius of those of these inputs that are refuted at a radius"
        ),
        claims.MeanRadius: "the mean critical radius of these inputs",
        claims.RadiusQuantile: "a quantile of the critical radius in the population",
        claims.RobustPopulation: "the share of the population that is robust at a radius",
        claims.MeanRadiusPopulation: "the mean critical radius of the population, up to a ceiling",
        claims.RadiusNotWorse: (
            "whether the mean radius of these inputs is nearly that of another model"
        ),
        QuantileDifference: "how much larger one model's quantile of the critical radius is",
        claims.SmoothedRadius: "the certified radius of the smoothed model",
        claims.CertifiedAccuracy: "the certified accuracy of the smoothed model",
    },
}
PROPERTIES: dict[type[Claim], tuple[str, tuple[Property, ...]]] = {
    kind: (words, places) for places, kinds in _ABOUT.items() for kind, words in kinds.items()
}
"""What each kind of claim says, and the properties that it is about."""


@dataclass(frozen=True)
class Coverage:
    """One property, and the kinds of claims of a run that are about it; none: not covered."""

    heading: Property
    kinds: tuple[type[Claim], ...]

    @property
    def place(self) -> Place:
        """Where it stands in the standard."""
        return PLACES[self.heading]

    @property
    def words(self) -> str:
        """What the run says of it."""
        if not self.kinds:
            return "not covered"
        return "; ".join(PROPERTIES[kind][0] for kind in self.kinds)


def coverage(claims: Sequence[Claim]) -> list[Coverage]:
    """Every property, with the claims that say something of it; one that is undecided does not."""
    covered: dict[Property, dict[type[Claim], None]] = {one: {} for one in PLACES}
    for claim in claims:
        for one in _properties(claim):
            covered[one][type(claim)] = None
    return [Coverage(one, tuple(kinds)) for one, kinds in covered.items()]


def _properties(claim: Claim) -> tuple[Property, ...]:
    """Of a claim that is decided; of proofs and counterexamples those that there are."""
    open_ = claim.is_open and not isinstance(claim, Tail)
    if open_ or claim.verdict is Verdict.UNDECIDED:
        return ()
    (_, places), around = PROPERTIES[type(claim)], claim.interval
    if around is None or isinstance(claim, QuantileDifference):
        return places
    largest = 1.0 if isinstance(claim, RobustAtRadius) else math.inf
    absent = {
        Property.STABILITY: around.low <= 0,  # nothing is proved
        Property.ADVERSARIAL: around.high >= largest,  # nothing is refuted
    }
    return tuple(one for one in places if not absent.get(one))
