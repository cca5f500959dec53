"""How the error of a file is shared by its requirements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_DOWN, Decimal
from typing import Any

from surefoot.commands.values import error_from
from surefoot.errors import InvalidArgument
from surefoot.gate.gate import GateStudy

_DIGITS = Decimal("1e-12")
"""A share is rounded down to as many digits as a confidence is read with: never up."""
_LEAST_SHARE = 1e-9
"""Below this the arithmetic of the methods is not trusted, and no run would end."""


def with_shares(studies: Sequence[GateStudy], error: float) -> tuple[GateStudy, ...]:
    """The studies, each with the error that its requirements may spend.

    Every requirement gets the same share of what is left after the studies that state a confidence
    of their own, which spend what that says; two curves that are compared spend that of both, and
    so does what is required of the first. Whatever the dependence between studies, the
    probability that any verdict is wrong is at most the sum of the shares, at most `error`.
    """
    stated = {s.name: stated_error(s) for s in studies if _spends_as_stated(s)}
    left = Decimal(str(error)) - sum((Decimal(str(e)) for e in stated.values()), Decimal(0))
    if left < 0:
        raise InvalidArgument(
            f"the studies {', '.join(stated)} state confidences that spend {sum(stated.values()):g}"
            f", more than the error of the file, {error:g}: raise one of them"
        )
    number = sum(_shares_of(s) for s in studies)
    share = float((left / number).quantize(_DIGITS, ROUND_DOWN)) if number else 0.0
    if number and share < _LEAST_SHARE:
        raise InvalidArgument(
            f"error {error:g} leaves {share:g} for each of {number} requirements, and "
            f"{_LEAST_SHARE:g} is the least: raise error, or a confidence that takes too much of it"
        )
    return tuple(
        replace(
            s,
            error=stated[s.name] if s.name in stated else s.requirements * share,
            share=share,
        )
        for s in studies
    )


def confidence_for(study: GateStudy) -> float | None:
    """The confidence that its command gets; None where it is the command's own default.

    A comparison with an earlier model spends its share by itself, on results at that error; two
    curves divide it.
    """
    if _states(study):
        return None
    spent = study.error or (study.share if study.regression is not None else 0.0)
    if spent == 0:
        return None
    each = (Decimal(str(spent)) / study.parts).quantize(_DIGITS, ROUND_DOWN)
    return float(1 - each)


def stated_error(study: GateStudy) -> float:
    """What a study spends whose confidence is its own: that of each of its parts."""
    values: Mapping[str, Any] = study.options
    return study.parts * error_from(values["confidence"])


def comparison_error(study: GateStudy) -> float:
    """What the comparison with an earlier model may spend."""
    return study.error if study.compares_curves and _states(study) else study.share


def _spends_as_stated(study: GateStudy) -> bool:
    return _states(study) and (study.requirements > 0 or study.compares_curves)


def _shares_of(study: GateStudy) -> int:
    """How many of the equal shares are for its requirements."""
    if not _states(study):
        return study.requirements + (study.regression is not None)
    return int(study.regression is not None and not study.compares_curves)


def _states(study: GateStudy) -> bool:
    return "confidence" in study.options
