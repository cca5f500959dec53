"""What the inputs of a study add to what its claims are about."""

from __future__ import annotations

from dataclasses import replace

from surefoot.core.claims import About, Claim
from surefoot.records.spec import StudySpec


def in_scope(claim: Claim, study: StudySpec) -> Claim:
    """The claim about the part of the population, and the classes, that the inputs stand for.

    Without labels, classes are those that are predicted.
    """
    if claim.about.of not in (About.CLASS, About.POPULATION):
        return claim
    predicted = study.model.classes > 0 and not study.inputs.labelled
    about = replace(claim.about, predicted=predicted, only=study.inputs.only)
    claim = replace(claim, about=about)
    if not predicted:
        return claim
    together = claim.guarantee.jointly.replace(" classes", " predicted classes")
    return replace(claim, guarantee=replace(claim.guarantee, jointly=together))


def all_in_scope(claims: tuple[Claim, ...], study: StudySpec) -> tuple[Claim, ...]:
    """The claims of a run, each in its scope."""
    return tuple(in_scope(claim, study) for claim in claims)
