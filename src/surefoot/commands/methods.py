"""The settings of Bu & Sun's method, for every command that takes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from surefoot.commands import options as o
from surefoot.commands import values as v
from surefoot.errors import InvalidArgument
from surefoot.records.options import PRECISION, option, option_name, refused, refused_value


@dataclass(frozen=True)
class BuSunOptions:
    """The two settings of Bu & Sun's method."""

    pilot_error: v.Number | None = option(
        None,
        "For bu-sun: the part of the error that the interval of its second stage may use "
        "(default: a twentieth of the error).",
    )
    candidates: v.Numbers | None = option(
        None,
        "For bu-sun: sizes of its second stage to choose from, as shares of Okamoto's number "
        "(default: 0.01,0.02,…,0.2).",
    )


SIL = {1: 1e-1, 2: 1e-2, 3: 1e-3, 4: 1e-4}
"""Probability of failure on demand, IEC 61508, low demand."""
TRIALS_TIMES_KAPPA = 200
"""max_trials is this over kappa by default: an input that fails half as often as kappa is decided
long before."""


def mean_or_each(
    options: o.EstimateOptions, stages: BuSunOptions, *, of_each: bool = False
) -> v.AnyMethod:
    """The method for a mean to a precision, or for each input to a width.

    `of_each`: something is wanted that only estimates of each input answer.
    """
    from surefoot.catalogue.methods import MEANS

    own = {"each": options.each, "method": options.method, **vars(stages)}
    own |= {"anytime": options.anytime or None, "planned": options.planned}
    if options.planned is not None and not options.anytime:
        raise refused_value(
            "planned",
            options.planned,
            "is for inputs that are added at any time: add anytime (--anytime), or leave it out",
        )
    if options.precision is None and (of_each or any(x is not None for x in own.values())):
        if options.about is not None:
            raise refused_value(
                "about",
                options.about,
                "is for a mean to a precision: add precision (--precision 0.02); an estimate of "
                "each input is about these inputs and the population anyway",
            )
        check_each(options.each)
        return estimate_method(options.each, options.confidence, options.method, stages)
    for name, value in own.items():
        if value is not None:
            raise refused_value(
                name,
                value,
                "is for an estimate of each input: leave it out, or leave out precision "
                "(--precision), which is for the mean",
            )
    about = "these" if options.about is None else options.about
    if about not in MEANS:
        raise refused(
            "about",
            about,
            f"must be these or population, got {about!r}: the mean over these inputs, or over the "
            "population that they are a sample of",
        )
    stated = PRECISION if options.precision is None else options.precision
    precision = v.as_number("precision", stated)
    return MEANS[about](precision=precision, error=v.error_from(options.confidence))


def check_each(each: v.Number | None) -> None:
    """Refuse a width that none can have, by the name that it has where it is given."""
    if each is not None and not 0 < v.as_number("each", each) < 1:
        raise refused_value("each", each, "must lie between 0 and 1: try 0.02")


def estimate_method(
    each: v.Number | None,
    confidence: v.Number,
    method: str | None = None,
    stages: BuSunOptions = BuSunOptions(),
    default_width: float = o.WIDTH,
) -> v.AnyMethod:
    """The method of this name that estimates a failure probability; its default is the cheapest.

    It is given the options that it has fields for, by name: a method need not have a width.
    """
    from surefoot.catalogue.methods import ESTIMATORS

    kind = named_method(method or "exact-sequential", ESTIMATORS)
    takes, chosen = fields_of(kind), dict[str, float | tuple[float, ...]]()
    for name, value in {**vars(stages), "each": each}.items():
        if value is None:
            continue
        field = "width" if name == "each" else name
        if field not in takes:
            able = " or ".join(n for n, other in ESTIMATORS.items() if field in fields_of(other))
            raise refused_value(
                name,
                value,
                f"is for method {able}: leave it out, or add method {able} (--method {able})",
            )
        chosen[field] = (
            v.as_numbers(name, value) if name == "candidates" else v.as_number(name, value)
        )
    if "width" in takes:
        chosen.setdefault("width", default_width)
    if "error" in takes:
        chosen["error"] = v.error_from(confidence)
    return kind(**chosen)


def refuse_method(method: str | None, stages: BuSunOptions, quantity: str) -> None:
    """Refuse a method, or a setting of one, where another option settles the method."""
    for name, value in {"method": method, **vars(stages)}.items():
        if value is not None:
            raise refused_value(
                name,
                value,
                "is for an estimate of each input: leave it out, or leave out "
                f"{option_name(quantity)}",
            )


def kappa_method(options: o.KappaOptions) -> v.AnyMethod:
    """The method that tests whether a failure probability is at most kappa."""
    from surefoot.catalogue.methods import TESTS

    kind = named_method(options.method, TESTS)
    takes = fields_of(kind)
    own = {"looks": options.looks, "extra_trials": options.extra_trials}
    for name, value in own.items():
        if value is not None and name not in takes:
            able = " or ".join(n for n, other in TESTS.items() if name in fields_of(other))
            raise refused(
                name,
                value,
                f"is for method {able}, not for {options.method}: leave it out, or add method "
                f"{able} (--method {able})",
            )
    if options.kappa is not None and options.sil is None:
        limit = v.as_number("kappa", options.kappa)
    elif options.sil is not None and options.kappa is None:
        limit = SIL[options.sil]
    else:
        raise InvalidArgument("give either kappa (--kappa 1e-3) or sil (--sil 1 to 4)")
    values = {
        "kappa": limit,
        "error": v.error_from(options.confidence),
        "max_trials": options.max_trials or max(1, round(TRIALS_TIMES_KAPPA / max(limit, 1e-12))),
        "looks": options.looks,
    }
    if options.extra_trials is not None:
        values["extra_trials"] = v.as_number("extra_trials", options.extra_trials)
    return kind(**{n: x for n, x in values.items() if n in takes and x is not None})


def tail_method(options: o.TailOptions) -> v.AnyMethod:
    """RoMA or splitting, with the settings that it has fields for."""
    from surefoot.catalogue.methods import RARE

    kind, values = named_method(options.method or next(iter(RARE)), RARE), dict[str, Any]()
    for field, value in vars(options).items():
        if value is None or field in ("method", "limit", "property", "confidence"):
            continue
        if field not in fields_of(kind):
            able = next(n for n, other in RARE.items() if field in fields_of(other))
            raise refused_value(
                field, value, f"is for method {able}: leave it out, or pass --method {able}"
            )
        values[field] = value
    if "normality" in values:
        values["normality"] = v.share("normality", values["normality"])
    if "least" in values:
        values["least"] = v.as_number("least", values["least"])
    if "transforms" in values:
        given = values["transforms"]
        names = given.split(",") if isinstance(given, str) else given
        values["transforms"] = tuple(one.strip() for one in names)
    return kind(**values, error=v.error_from(options.confidence))


def fields_of(kind: type[v.AnyMethod]) -> set[str]:
    """The options that a method names: those of its fields."""
    return {field.name for field in fields(kind)}


def named_method(method: str, known: Mapping[str, type[v.AnyMethod]]) -> type[v.AnyMethod]:
    """The method of this name among those known."""
    if method not in known:
        raise InvalidArgument(
            f"there is no method {method!r}: choose one of {', '.join(known)}",
            option="method",
            value=method,
        )
    return known[method]
