"""The methods that the options of a command name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from surefoot.commands.option import option_name
from surefoot.commands.options import KappaOptions, TailOptions
from surefoot.commands.values import Number, as_number, error_from, share
from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.statistics import NormalTail

TRIALS_TIMES_KAPPA = 200
"""max_trials is this over kappa by default: an input that fails half as often as kappa is decided
long before."""


def estimate_method(width: Number, confidence: Number, method: str = "exact-sequential") -> Any:  # noqa: ANN401
    """The method of this name that estimates a failure probability."""
    from surefoot.methods import ESTIMATORS

    return _named(method, ESTIMATORS)(as_number("width", width), error_from(confidence))


def kappa_method(options: KappaOptions) -> Any:  # noqa: ANN401
    """The method that tests whether a failure probability is at most kappa."""
    from surefoot.methods import TESTS

    test = _named(options.method, TESTS)
    if options.looks is not None and options.method != "exact-binomial":
        raise InvalidArgument(
            f"{option_name('looks')} is for method exact-binomial, not for {options.method}"
        )
    limit = _kappa(options)
    most = options.max_trials or max(1, round(TRIALS_TIMES_KAPPA / max(limit, 1e-12)))
    more = {} if options.looks is None else {"looks": options.looks}
    return test(limit, error_from(options.confidence), most, **more)


def tail_method(options: TailOptions) -> NormalTail:
    """RoMA with these settings."""
    from surefoot.statistics import NormalTail

    transforms = options.transforms
    names = transforms.split(",") if isinstance(transforms, str) else transforms
    return NormalTail(
        draws=options.draws,
        normality=share("normality", options.normality),
        transforms=tuple(name.strip() for name in names),
        error=error_from(options.confidence),
    )


def _kappa(options: KappaOptions) -> float:
    from surefoot.report.sampling.view import SIL

    if options.kappa is not None and options.sil is None:
        return as_number("kappa", options.kappa)
    if options.sil is not None and options.kappa is None:
        return SIL[f"SIL {options.sil}"]
    raise InvalidArgument("give either kappa (--kappa 1e-3) or sil (--sil 1 to 4)")


def _named(method: str, known: dict[str, type[Any]]) -> type[Any]:
    if method not in known:
        raise InvalidArgument(f"there is no method {method!r}: choose one of {', '.join(known)}")
    return known[method]
