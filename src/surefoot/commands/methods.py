"""The settings of Bu & Sun's method, for every command that takes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from surefoot.commands.options import WIDTH, KappaOptions, TailOptions
from surefoot.commands.values import Number, Numbers, as_number, as_numbers, error_from, share
from surefoot.errors import InvalidArgument
from surefoot.records.options import option, option_name

if TYPE_CHECKING:
    from surefoot.statistics import NormalTail


@dataclass(frozen=True)
class BuSunOptions:
    """The two settings of Bu & Sun's method."""

    pilot_error: Number | None = option(
        None,
        "For bu-sun: the part of the error that the interval of its second stage may use "
        "(default: a twentieth of the error).",
    )
    candidates: Numbers | None = option(
        None,
        "For bu-sun: sizes of its second stage to choose from, as shares of Okamoto's number "
        "(default: 0.01,0.02,…,0.2).",
    )


class MeanOptions(Protocol):
    """Options that ask for a mean, or for each input."""

    @property
    def precision(self) -> Number | None: ...  # noqa: D102  the name says it
    @property
    def about(self) -> str | None: ...  # noqa: D102  the name says it
    @property
    def width(self) -> Number | None: ...  # noqa: D102  the name says it
    @property
    def confidence(self) -> Number: ...  # noqa: D102  the name says it


SIL = {1: 1e-1, 2: 1e-2, 3: 1e-3, 4: 1e-4}
"""Probability of failure on demand, IEC 61508, low demand."""
TRIALS_TIMES_KAPPA = 200
"""max_trials is this over kappa by default: an input that fails half as often as kappa is decided
long before."""


def mean_or_each(
    options: MeanOptions,
    method: str | None = None,
    stages: BuSunOptions = BuSunOptions(),
) -> Any:  # noqa: ANN401  any method
    """The method for a mean to a precision, or for each input to a width."""
    from surefoot.catalogue.methods import MEANS

    if options.precision is None:
        if options.about is not None:
            raise InvalidArgument(
                f"{option_name('about')} {options.about} is for a mean to a precision: add "
                "precision (--precision 0.02); an estimate of each input is about these inputs and "
                "the population anyway"
            )
        width = WIDTH if options.width is None else options.width
        return estimate_method(width, options.confidence, method, stages)
    for name, value in {"width": options.width, "method": method, **vars(stages)}.items():
        if value is not None:
            raise InvalidArgument(
                f"{option_name(name)} {value} is for an estimate of each input: leave it out, or "
                "leave out precision (--precision), which is for the mean"
            )
    about = "these" if options.about is None else options.about
    if about not in MEANS:
        raise InvalidArgument(
            f"{option_name('about')} must be these or population, got {about!r}: the mean over "
            "these inputs, or over the population that they are a sample of"
        )
    return MEANS[about](as_number("precision", options.precision), error_from(options.confidence))


def estimate_method(
    width: Number,
    confidence: Number,
    method: str | None = None,
    stages: BuSunOptions = BuSunOptions(),
) -> Any:  # noqa: ANN401  any method
    """The method of this name that estimates a failure probability; its default is the cheapest."""
    from surefoot.catalogue.methods import ESTIMATORS

    estimator = _named(method or "exact-sequential", ESTIMATORS)
    more: dict[str, Any] = {}
    for name, value in vars(stages).items():
        if value is None:
            continue
        if method != "bu-sun":
            raise InvalidArgument(
                f"{option_name(name)} {value} is for method bu-sun: leave it out, or add method "
                "bu-sun (--method bu-sun)"
            )
        more[name] = as_numbers(name, value) if name == "candidates" else as_number(name, value)
    return estimator(as_number("width", width), error_from(confidence), **more)


def refuse_method(method: str | None, stages: BuSunOptions, quantity: str) -> None:
    """Refuse a method, or a setting of one, where another option settles the method."""
    for name, value in {"method": method, **vars(stages)}.items():
        if value is not None:
            raise InvalidArgument(
                f"{option_name(name)} {value} is for an estimate of each input: leave it out, or "
                f"leave out {option_name(quantity)}"
            )


def kappa_method(options: KappaOptions) -> Any:  # noqa: ANN401  any method
    """The method that tests whether a failure probability is at most kappa."""
    from surefoot.catalogue.methods import TESTS

    test = _named(options.method, TESTS)
    if options.looks is not None and options.method != "exact-binomial":
        raise InvalidArgument(
            f"{option_name('looks')} is for method exact-binomial, not for {options.method}: leave "
            "it out, or add method exact-binomial (--method exact-binomial)"
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
    if options.kappa is not None and options.sil is None:
        return as_number("kappa", options.kappa)
    if options.sil is not None and options.kappa is None:
        return SIL[options.sil]
    raise InvalidArgument("give either kappa (--kappa 1e-3) or sil (--sil 1 to 4)")


def _named(method: str, known: dict[str, type[Any]]) -> type[Any]:
    if method not in known:
        raise InvalidArgument(f"there is no method {method!r}: choose one of {', '.join(known)}")
    return known[method]
