"""The numbers that a reader sees first: of a claim, and of accuracy clean and perturbed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import singledispatch

from surefoot.core import claims
from surefoot.core.claims import (
    About,
    AccuracyDrop,
    AccuracyPopulation,
    AccuracySet,
    Claim,
    CleanAccuracy,
)
from surefoot.core.results import UNIT, Interval
from surefoot.report.claim_sentences import case_scope, levels_of, over_cases
from surefoot.report.clauses import (
    counts_inputs,
    fails,
    failure_probability,
    in_kept,
    model_fails,
    norm_word,
    over_groups,
    sample_condition,
    scope_phrase,
    subject,
)
from surefoot.report.formatting import (
    at_least,
    at_most,
    confidence,
    exact_percent,
    four_digits,
    of_perturbations,
    percent,
    percent_at_least,
    percent_range,
    points,
    points_apart,
    points_between,
    points_range,
    radius_range,
    rare_range,
    rare_share,
    signed_range,
)
from surefoot.system.text import level_words

_NO_POINTS = 0.5e-4
"""Half of a hundredth of a percentage point: less is written without a sign."""
_Parts = tuple[str, str, str]
"""The number, its interval and what it is of, as text."""


@dataclass(frozen=True)
class KeyFigure:
    """A number with its interval and confidence, and the noun phrase that says what it is."""

    number: str
    interval: str
    confidence: str
    meaning: str

    @property
    def around(self) -> str:
        """Interval and confidence, as far as there are any."""
        return ", ".join(filter(None, [self.interval, self.confidence]))

    @property
    def line(self) -> str:
        """All of it in one line, the number first."""
        around = f" ({self.around})" if self.around else ""
        return f"{self.number}{around}: {self.meaning}"


def key_figure(claim: Claim) -> KeyFigure:
    """The number of this claim; "undecided" where it has none."""
    number, interval, meaning = _parts(claim)
    named = "" if isinstance(claim, _PAIRS) else subject(claim)
    counts = isinstance(claim, claims.CountKappa)
    nothing_known = claim.interval == UNIT and bool(claim.reason) and not counts
    if isinstance(claim, claims.PublishedKappa):
        return KeyFigure(number, "", "without guarantee", f"{named}{meaning}")
    if claim.interval is None or nothing_known or claim.is_open:
        return KeyFigure("undecided", "", "", f"{named}{meaning}")
    condition = sample_condition(claim)
    meaning += f", {condition}" if condition else ""
    error = claim.guarantee.error
    certain = f"confidence {confidence(error)}" if error and (interval or not counts) else ""
    around = "" if interval == number else interval
    return KeyFigure(number, around, certain, f"{named}{meaning}")


def _around(claim: Claim) -> Interval:
    return claim.interval or UNIT


@singledispatch
def _parts(claim: Claim) -> _Parts:
    """A share of perturbations, unless the kind says otherwise below."""
    claim = in_kept(claim)
    number, around = _shares(claim)
    kept = claim.kept is not None and claim.about.of is not About.INPUT
    if counts_inputs(claim) and claim.about.of is not About.INPUT:
        do = "keep their label" if kept else fails(claim)[1]
        return number, around, f"share of {scope_phrase(claim)} that {do} when perturbed"
    one = claim.about.of is About.INPUT or scope_phrase(claim) == "this input"
    mean = f"{'' if one else 'mean '}failure probability of"
    if claim.confident is not None:
        mean = f"{failure_probability(claim)},"
    return number, around, f"{'share of labels kept,' if kept else mean} {scope_phrase(claim)}"


def _shares(claim: Claim) -> tuple[str, str]:
    """The number, or its interval where there is none, and the interval."""
    around, n = percent_range(_around(claim)), claim.about.inputs
    if claim.value is None:
        return around, around
    counted = claim.interval is not None and claim.interval.width == 0
    if counted and claim.about.of is About.THESE and claim.value * n == round(claim.value * n):
        return f"{claim.value * n:,.0f} of {n:,}", percent(claim.value)
    return percent(claim.value), around


@_parts.register
def _(claim: claims.AccuracySet | claims.AccuracyPopulation) -> _Parts:
    where = f"accuracy on {scope_phrase(claim)} under {claim.under}{over_groups(claim)}"
    clean = percent(claim.clean / claim.about.inputs)
    counted = clean if claim.about.of is About.THESE else f"{clean} of those studied"
    return *_shares(claim), f"{where}; clean {counted}"


@_parts.register
def _(claim: claims.CleanAccuracy) -> _Parts:
    return *_shares(claim), f"accuracy on clean {scope_phrase(claim)}{over_groups(claim)}"


@_parts.register
def _(claim: claims.AccuracyDrop) -> _Parts:
    meaning = f"accuracy that {claim.under} costs on {scope_phrase(claim)}{over_groups(claim)}"
    return signed_points(claim.value or 0.0), points_between(_around(claim)), meaning


def signed_points(drop: float) -> str:
    """A drop in percentage points; below zero where accuracy rises."""
    return f"{'-' if drop < -_NO_POINTS else ''}{points_apart(drop)}"


@_parts.register
def _(claim: claims.CountKappa) -> _Parts:
    number = f"{claim.fragile:,} of {claim.about.inputs - claim.clean:,}"
    truly = f"{claim.at_least:,} or more truly do" if claim.at_least else ""
    meaning = f"inputs decided {fails(claim)[2]} under more than {of_perturbations(claim.kappa)}"
    return number, truly, meaning + f"; {claim.clean:,} more wrong when clean" * bool(claim.clean)


@_parts.register
def _(claim: claims.PublishedKappa) -> _Parts:
    number = f"{claim.robust:,} of {claim.about.inputs - claim.clean:,}"
    limit = of_perturbations(claim.kappa)
    meaning = f"inputs that the published rule declares {fails(claim)[2]} under at most {limit}"
    return number, "", meaning


@_parts.register
def _(claim: claims.CountedAccuracy) -> _Parts:
    number = f"{claim.right:,} of {claim.about.inputs:,}"
    return number, "", "inputs that get their true label when clean"


@_parts.register
def _(claim: claims.ShareKappa) -> _Parts:
    limit, around = of_perturbations(claim.kappa), percent_range(_around(claim))
    # no estimate: the share that was decided so leaves out what was not decided
    return around, around, f"{scope_phrase(claim)} that {fails(claim)[1]} under at most {limit}"


@_parts.register
def _(claim: claims.CurveSet | claims.CurvePopulation) -> _Parts:
    quantity, around, value = claim.quantity, _around(claim), claim.value or 0.0
    kept = f"{quantity.height} is {exact_percent(claim.threshold)} or more"
    if quantity.is_share:
        around_clean = ", around the clean one," if quantity.around_clean else ""
        meaning = f"share of the {levels_of(quantity)}{around_clean} where {kept}"
        return percent(value), percent_range(around), meaning
    unit, low = f" {quantity.unit}" if quantity.unit else "", quantity.span.low
    start = f", from {low:g} on," if low else ""
    meaning = f"level of {quantity.perturbation} up to which{start} {kept}"
    return f"{four_digits(value)}{unit}", radius_range(around), meaning


@_parts.register
def _(claim: claims.RadiusQuantile) -> _Parts:
    share = "a" if claim.share is None else exact_percent(claim.share)
    about = claim.about
    around = _around(claim)
    number = at_least(around.low)  # what the sentence claims, not the middle
    narrowed = about.name or about.networks or about.only
    grouped = f" of {scope_phrase(claim)}" if narrowed else ""
    radius = f"critical {norm_word(claim)}radius"
    meaning = f"{share} quantile of the {radius}{grouped}{over_groups(claim)}"
    if claim.bounded_above_only:
        number = f"at most {at_most(around.high)}"
        meaning += "" if claim.value is None else f"; estimate {four_digits(claim.value)}"
    return number, radius_range(around), meaning


@_parts.register
def _(claim: claims.RobustAtRadius) -> _Parts:
    n = claim.about.inputs
    open_ = n - claim.proved - claim.refuted
    rest = f"{open_:,} open" if open_ else ""
    meaning = f"inputs made to fail within {norm_word(claim)}radius {level_words(claim.radius)}"
    return f"{claim.refuted:,} of {n:,}", rest, meaning


@_parts.register
def _(claim: claims.CertifiedAccuracy) -> _Parts:
    around, distance = _around(claim), f"within {claim.noise.norm} distance"
    near = f" {distance} {level_words(claim.radius)}" if claim.radius else ""
    if claim.about.of is not About.THESE:
        least = f"at least {percent_at_least(around.low)}"
        return least, "", f"certified accuracy of the smoothed model{near}, {scope_phrase(claim)}"
    n = claim.about.inputs
    truly = f"{around.low * n:,.0f} or more truly are" if claim.shown else ""
    meaning = f"inputs on which the smoothed model is certified{near}"
    return f"{claim.shown:,} of {n:,}", truly, meaning


@_parts.register
def _(claim: claims.SmoothedRadius) -> _Parts:
    low, norm = at_least(_around(claim).low), claim.noise.norm
    if claim.about.of is About.INPUT:
        return low, "", f"{norm} distance up to which the smoothed model keeps the class"
    meaning = f"average certified {norm} distance of {scope_phrase(claim)}, smoothed model"
    return at_least(claim.value or 0.0), f"truly at least {low}", meaning


@_parts.register
def _(claim: claims.RareFailure) -> _Parts:
    around, meaning = _around(claim), f"perturbations under which {scope_phrase(claim)} "
    meaning += fails(claim)[claim.about.of is not About.INPUT]
    meaning += ", if every kind of failure was reached"
    if claim.value is None:
        return rare_range(Interval(0.0, around.high)), "", meaning
    return f"about {rare_share(claim.value)}", rare_range(around), meaning


@_parts.register
def _(claim: claims.RobustPopulation) -> _Parts:
    around = percent_range(_around(claim))
    radius = f"{norm_word(claim)}radius {level_words(claim.radius)}"
    return around, around, f"{scope_phrase(claim)} robust up to {radius}"


@_parts.register
def _(claim: claims.Severity | claims.MeanRadius | claims.MeanRadiusPopulation) -> _Parts:
    around, which = radius_range(_around(claim)), ""
    if isinstance(claim, claims.Severity):
        which = f" refuted within {level_words(claim.radius)}"
    norm = "" if isinstance(claim, claims.MeanRadiusPopulation) else norm_word(claim)
    return around, around, f"mean critical {norm}radius of {scope_phrase(claim)}{which}"


@_parts.register
def _(claim: claims.FailureDifference | claims.CaseDifference) -> _Parts:
    first, second = claim.names
    meaning = f"how much more often {first} {model_fails(claim)} than {second}"
    if isinstance(claim, claims.FailureDifference) and claim.kappa is not None:
        meaning = f"how much larger the robust share of {first} is than that of {second}"
    elif claim.kept is claims.Height.ACCURACY:
        meaning = f"how much more accurate {first} is than {second}"
    elif claim.kept is not None:
        meaning = f"how much more often {first} keeps its label than {second}"
    around = _around(claim)
    meaning += ": not shown to differ" * (around.low <= 0 <= around.high)
    return f"{points(claim.value or 0.0)} points", points_range(around), meaning


@_parts.register
def _(claim: claims.QuantileDifference) -> _Parts:
    first, second = claim.names
    around = signed_range(_around(claim))
    number = around if claim.value is None else f"{claim.value:+.4g}"
    of = f"{exact_percent(claim.share)} quantile of the critical radius"
    return number, around, f"{of} of {first} less that of {second}"


@_parts.register
def _(claim: claims.SuiteMean) -> _Parts:
    over = f"averaged over the {claim.cells:,} cells of {claim.suite}"
    return *_shares(claim), f"{claim.height}, {over}"


@_parts.register
def _(claim: claims.CorruptionError) -> _Parts:
    number = "undecided" if claim.value is None else percent(claim.value)
    around = "" if claim.interval is None else percent_range(claim.interval)
    return number, around, f"mCE of {claim.rows:,} perturbations against the baseline"


@_parts.register
def _(claim: claims.CaseFailure) -> _Parts:
    return *_shares(claim), f"failure rate of {case_scope(claim)}{over_cases(claim)}"


@_parts.register
def _(claim: claims.CasesFailed) -> _Parts:
    meaning = f"failure rate of {case_scope(claim)}, counted{over_cases(claim)}"
    return percent(claim.rate), "", meaning


_PAIRS = claims.FailureDifference | claims.QuantileDifference | claims.CaseDifference
"""Kinds whose names are in the meaning."""


@dataclass(frozen=True)
class _Known:
    """A number with its interval and error; without an interval it is counted."""

    value: float
    around: Interval | None = None
    error: float = 0.0

    def fields(self, name: str) -> dict[str, float]:
        """For JSON."""
        around = self.around
        ends = {} if around is None else {f"{name}_low": around.low, f"{name}_high": around.high}
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
        where = f"accuracy on {scope_phrase(claim)} under {claim.under}{over_groups(claim)}"
        meaning = ", ".join(filter(None, [subject(claim) + where, sample_condition(claim)]))
        perturbed = replace(key_figure(claim), meaning=meaning)
        studied = "" if claim.about.of is About.THESE else " of those studied"
        counted = f"{claim.clean:,} of {claim.about.inputs:,}{studied}, counted"
        within = counted if clean.around is None else percent_range(clean.around)
        figures = [perturbed, clean.figure(percent(clean.value), within, "accuracy when clean")]
        if drop is not None:
            rises = drop.value < -_NO_POINTS
            around = drop.around
            if around is not None and rises:
                around = Interval(-around.high, -around.low)
            between = "" if around is None else points_between(around)
            what = f"{'rise' if rises else 'drop'} in accuracy"
            figures.append(drop.figure(points_apart(drop.value), between, what))
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
    known = {
        type(c): _Known(c.value, c.interval, c.guarantee.error)
        for c in plain
        if (c.names, c.about) == (first.names, first.about) and c.value is not None
    }
    clean, drop = known.get(CleanAccuracy), known.get(AccuracyDrop)
    if clean is None or drop is None:
        return Accuracy(first, _Known(counted))
    return Accuracy(first, clean, drop)
