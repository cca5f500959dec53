"""Claims and guarantees as records had them when one record held the claims of all kinds."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from pydantic import TypeAdapter

from surefoot.core import claims
from surefoot.core.claims import Claim, CleanFault
from surefoot.core.reasons import Reason
from surefoot.core.results import Guarantee
from surefoot.records.json_records import claim_from_plain, plain_numbers
from surefoot.report import clauses
from surefoot.report.claim_sentences import clean_clause
from surefoot.report.reasons import reason_words
from tests.in_words import together

FORMAT = 2
"""Of an evidence file."""
OLD_NAMES = {"withstood": "failure_rate"}
"""Fields that have another name by now."""
OF_REASONS = {"reason", "note", "fit", "contradiction"}
"""Fields that held a sentence, and nothing as an empty one."""
_READERS = {kind: TypeAdapter(kind) for kind in (Guarantee, Reason)}
_REASON = {field.name for field in fields(Reason)}
_GUARANTEE = {field.name for field in fields(Guarantee)}
_FAULTS = {
    CleanFault.FAILS: "it fails already when clean",
    CleanFault.WRONG_LABEL: "its label is wrong already when clean",
}


def is_guarantee(part: dict[str, Any]) -> bool:
    """Whether it is one in the format of today."""
    return part.keys() == _GUARANTEE and not isinstance(part["jointly"], str)


def old_guarantee(part: dict[str, Any]) -> dict[str, Any]:
    """One that stands outside a claim."""
    guarantee = _READERS[Guarantee].validate_python(part)
    return _in_words(guarantee, list(map(clauses.assumption_words, guarantee.assumptions)))


def is_reason(part: dict[str, Any]) -> bool:
    """Whether it is one in the format of today."""
    return part.keys() == _REASON


def old_reason(part: dict[str, Any]) -> str:
    """Its words."""
    return reason_words(_READERS[Reason].validate_python(part))


def old_json(plain: dict[str, Any]) -> dict[str, Any]:
    """A claim; what JSON says beside its fields, as its sentence, stays."""
    kind = claims.KINDS[plain["kind"]]
    own = {field.name for field in fields(kind)} - {"said"}
    said = plain.get("said") or {field.name: plain[field.name] for field in fields(claims.Said)}
    values = {name: plain[name] for name in own}
    if "sentence" in plain and "requirement" in own and plain["verdict"] is not None:
        values["requirement"] = {"number": plain["requirement"], "verdict": plain["verdict"]}
    claim = claim_from_plain({"said": said} | values)
    sentence = {"sentence": plain["sentence"]} if "sentence" in plain else {}
    return plain_numbers(_old_claim(claim)) | sentence


def _old_claim(claim: Claim) -> dict[str, Any]:
    in_remarks = isinstance(claim, claims.RobustAtRadius | claims.Severity | claims.MeanRadius)
    assumed = claim.guarantee.assumptions
    words = clauses.remarks(claim) if in_remarks else list(map(clauses.assumption_words, assumed))
    scope = asdict(claim.about)
    if scope.pop("networks"):
        scope["name"] = clauses.scope_phrase(claim)
    return {
        "kind": claim.kind,
        "about": scope,
        "random": str(claim.random),
        "quantity": clauses.quantity_words(claim),
        "guarantee": _in_words(claim.guarantee, words),
        "continues": str(claim.continues),
        "value": _value(claim),
        "interval": None if claim.interval is None else asdict(claim.interval),
        "limit": _limit(claim),
        "requirement": None if claim.requirement is None else claim.requirement.number,
        "verdict": claim.verdict,
        "names": list(claim.names),
        "reason": "; ".join(filter(None, _reasons(claim))),
        "trials": claim.trials,
        "seed": claim.seed if isinstance(claim, _CURVES) else None,
    }


_CURVES = claims.CurveSet | claims.CurvePopulation | claims.CurveNotWorse


def _value(claim: Claim) -> float | None:
    match claim:
        case claims.Best(models=number) | claims.ClassesDiffer(differ=number):
            return float(number)
        case _:
            return claim.value


def _limit(claim: Claim) -> float | None:
    match claim:
        case claims.Tail(fitted=int(number)) | claims.CasesFailed(failed=number):
            return float(number)
        case claims.ClassesDiffer():
            return float(claim.pairs)
        case _:
            return claims.limit_of(claim)


def _reasons(claim: Claim) -> list[str]:  # noqa: PLR0911  one of each kind
    match claim:
        case claims.Worst(clean_fault=CleanFault() as fault):
            return [_FAULTS[fault]]
        case claims.CountKappa(fragile=fragile, robust=robust):
            count = claim.about.inputs - fragile - robust
            undecided = "1 is undecided" if count == 1 else f"{count:,} are undecided"
            return [f"{robust:,} under at most that" + (f", {undecided}" if count else "")]
        case claims.RobustAtRadius(clean=clean):
            return [clean_clause(clean, "count as not robust")]
        case claims.RobustPopulation(clean=clean):
            return [reason_words(claim.reason), clean_clause(clean, "count as not robust")]
        case claims.Severity(clean=clean, open=number):
            no_part = f"the {number:,} open at that radius have no part in it" if number else ""
            return [clean_clause(clean, "count as 0"), no_part]
        case claims.MeanRadius(clean=clean, distance=float(distance)):
            known = f"the {claim.counterexamples:,} counterexamples that are known are at a mean"
            return [clean_clause(clean, "count as 0"), f"{known} distance of {distance:.4g}"]
        case claims.MeanRadius(clean=clean) | claims.MeanRadiusPopulation(clean=clean):
            return [clean_clause(clean, "count as 0")]
        case claims.NotWorse(common=int(common)):
            both = f"compared on the {common:,} inputs that both runs have"
            return [both, reason_words(claim.reason)]
        case _:
            return [reason_words(claim.reason)]


def _in_words(guarantee: Guarantee, assumptions: list[str]) -> dict[str, Any]:
    return {
        "footing": str(guarantee.footing),
        "error": guarantee.error,
        "assumptions": assumptions,
        "jointly": together(guarantee),
    }
