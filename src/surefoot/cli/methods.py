"""The sampling methods, built from the options of a command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from surefoot.cli.numbers import error_from, number, share
from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.statistics import NormalTail

TRIALS_TIMES_KAPPA = 200
"""max_trials is this over kappa by default: an input that fails half as often as kappa is decided
long before."""


def estimate_method(method: str, width: str, confidence: str) -> Any:  # noqa: ANN401
    """The method of this name that estimates a failure probability."""
    from surefoot.methods import ESTIMATORS

    if method not in ESTIMATORS:
        raise InvalidArgument(
            f"there is no method {method!r}: choose one of {', '.join(ESTIMATORS)}"
        )
    return ESTIMATORS[method](number("--width", width), error_from(confidence))


def kappa_method(
    method: str,
    kappa: str,
    confidence: str,
    max_trials: int | None = None,
    looks: int | None = None,
) -> Any:  # noqa: ANN401
    """The method of this name that tests whether a failure probability is at most kappa."""
    from surefoot.methods import TESTS

    if method not in TESTS:
        raise InvalidArgument(f"there is no method {method!r}: choose one of {', '.join(TESTS)}")
    if looks is not None and method != "exact-binomial":
        raise InvalidArgument(f"--looks is for --method exact-binomial, not for {method}")
    limit = number("--kappa", kappa)
    most = max_trials or max(1, round(TRIALS_TIMES_KAPPA / max(limit, 1e-12)))
    more = {} if looks is None else {"looks": looks}
    return TESTS[method](limit, error_from(confidence), most, **more)


def tail_method(
    confidence: str,
    draws: int = 1000,
    normality: str = "0.05",
    transforms: str = "none,box-cox",
) -> NormalTail:
    """RoMA with these settings."""
    from surefoot.statistics import NormalTail

    return NormalTail(
        draws=draws,
        normality=share("--normality", normality),
        transforms=tuple(part.strip() for part in transforms.split(",")),
        error=error_from(confidence),
    )
