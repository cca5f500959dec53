"""What a mean is called: accuracy where true labels are wanted, else a failure probability."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from surefoot.catalogue.methods import METHODS
from surefoot.conclude.facts import StudyFacts
from surefoot.conclude.scope import classes_of, sampled_of
from surefoot.core import claims as kinds
from surefoot.core.claims import About, Claim, Height, Said
from surefoot.core.counts import Counts
from surefoot.core.procedure import Joint, Needs, Pinned, Settled
from surefoot.core.results import Decision, Estimate, Guarantee, Interval, complement
from surefoot.core.tasks import Entry
from surefoot.population import Mean
from surefoot.population.family import KappaFamily
from surefoot.records.input_table import clean_kinds, tried_rows
from surefoot.records.record import InputRow, OtherLabel, RecordBody, Samples
from surefoot.records.spec import StudySpec
from surefoot.report.clauses import curve_quantity, perturbation_at_level
from surefoot.statistics.kappa import KappaTest, PublishedDoubling, kappa_claim

MeanClaim = (
    kinds.MeanSet | kinds.MeanPopulation | kinds.AccuracySet | kinds.AccuracyPopulation
)  # fmt: skip


def failure_interval(interval: Interval) -> Interval:
    """Of failing, from an interval of being kept; and the other way round.

    By decimals: 1 - 0.07 is a little less than 0.93 in floating point, and a count of exactly 93 %
    meets a requirement of 93 %.
    """
    return Interval(max(0.0, complement(interval.high)), min(1.0, complement(interval.low)))


def kept_as(spec: StudySpec) -> Height | None:
    """What a trial that does not fail is, where it has a name; a tail is of rare failures."""
    return None if spec.is_tail else named_height(spec)


def named_height(spec: StudySpec) -> Height | None:
    """What the property keeps, where sentences have a name for it."""
    height = curve_quantity(spec.property.kind)
    return height if height in (Height.ACCURACY, Height.LABELS_KEPT) else None


def confident_from(spec: StudySpec) -> float | None:
    """The confidence that makes another label a failure; None where any other label is one."""
    return spec.property.number("limit") if spec.property.kind == "confident" else None


def claim_of_mean(
    spec: StudySpec,
    rows: Sequence[InputRow],
    said: Said,
    kept: float | None = None,
    around: Interval | None = None,
) -> MeanClaim:
    """The mean share of trials that are kept; `rows` are the inputs that it is about."""
    these = said.about.of is About.THESE
    if spec.means_accuracy:
        accuracy = kinds.AccuracySet if these else kinds.AccuracyPopulation
        clean, under = right_when_clean(rows), perturbation_at_level(spec)
        return accuracy(said, clean=clean, under=under, value=kept, interval=around)
    failure = kinds.MeanSet if these else kinds.MeanPopulation
    value = None if kept is None else 1 - kept
    return failure(said, value=value, interval=around and failure_interval(around))


def kept_interval(claim: MeanClaim) -> Interval | None:
    """The share kept that the claim is about."""
    accuracy = isinstance(claim, kinds.AccuracySet | kinds.AccuracyPopulation)
    if claim.interval is None or accuracy:
        return claim.interval
    return failure_interval(claim.interval)


def right_when_clean(rows: Sequence[InputRow]) -> int:
    """How many get their true label when clean; a tie counts as wrong, as in trials."""
    return sum(number for kind, number in clean_kinds(rows).items() if kind.right)


_WRONG_WHEN_CLEAN = Decision("right when clean", False, Guarantee.sound(), 0, p_value=0.0)
"""The result of an input that has no trials since its clean label is not the true one."""


@dataclass(frozen=True)
class OneTrial:
    """What takes the place of a method where nothing is random: further trials say the same."""

    kappa: float | None

    def steps(self) -> Generator[int, Counts, Estimate | Decision]:
        """Whether the input is kept, with certainty."""
        counts = yield 1
        exact = _for_certain(counts.rate)
        if self.kappa is None:
            return exact
        claim, holds = kappa_claim(self.kappa), counts.rate == 1
        return Decision(claim, holds, exact.guarantee, 1, counts.kept, 0.0, exact)


def method_of_trials(facts: StudyFacts) -> Any:  # noqa: ANN401  any method
    """The method; of a perturbation that draws nothing one trial, unless tails are fitted."""
    counts = facts.needs is Needs.SAMPLES and facts.method.evidence is Counts
    own = facts.spec.method.kind not in METHODS or isinstance(facts.method, PublishedDoubling)
    if facts.draws or not counts or own:  # a user's own, and a rule as published, are kept
        return facts.method
    return OneTrial(getattr(facts.method, "kappa", None))


def procedures_of(
    facts: StudyFacts, kept: Mapping[str, bool | None]
) -> dict[str, Any] | Joint[list[Any]]:
    """The method for each input by name, where it is known whether the property keeps it clean.

    An input with a wrong label when clean is not robust, whatever perturbations say: where each
    input is decided on, it is so before any trial. κ-tests are one procedure for all inputs.
    """
    method = method_of_trials(facts)
    pinned: Any = Pinned(method, facts.level)
    wrong = {name for name, right in kept.items() if right is False}
    if not facts.spec.means_accuracy or not hasattr(facts.method, "kappa"):
        wrong = set()
    if isinstance(method, KappaTest):
        known = tuple(_WRONG_WHEN_CLEAN if name in wrong else None for name in kept)
        return Joint(KappaFamily(method, facts.level, known))
    settled = Settled(_WRONG_WHEN_CLEAN)
    return {name: settled if name in wrong else pinned for name in kept}


def each_result(
    procedures: dict[str, Any] | Joint[list[Any]], answers: Sequence[Any]
) -> Sequence[Any]:
    """The result of each input, from what the procedures answered."""
    return answers[0] if isinstance(procedures, Joint) else answers


def wrong_when_clean(rows: Sequence[InputRow]) -> int:
    """How many inputs were decided on before any trial."""
    return sum(row.result == _WRONG_WHEN_CLEAN for row in rows)


def right_results(rows: Sequence[InputRow]) -> list[Any]:
    """The results of the others."""
    return [row.result for row in rows if row.result != _WRONG_WHEN_CLEAN]


def drop_claims(
    spec: StudySpec, rows: Sequence[InputRow], said: Said, over: Mean, kept: float | None
) -> list[Claim]:
    """Clean accuracy and what the perturbation costs, of the population; each at the whole error.

    `rows` have results with unbiased estimates, `kept` is the best estimate of the accuracy. An
    input is seen clean and perturbed, so the interval of the difference is that of pairs.
    """
    # one look at a clean input is all there is to know
    clean_rows = [
        replace(row, result=_for_certain(float(row.clean_kept is not False))) for row in rows
    ]
    clean, perturbed = sampled_of(clean_rows), sampled_of(rows)
    whole = over.conclude(clean, over.error)
    if not isinstance(whole, Estimate) or kept is None:
        return []
    over = replace(over, classes=classes_of(rows))
    around = over.difference(clean, perturbed, over.error)
    drop = min(max(whole.value - kept, around.low), around.high)
    said = replace(said, guarantee=replace(said.guarantee, error=over.error, jointly=None))
    under = perturbation_at_level(spec)
    return [
        kinds.AccuracyDrop(said, under=under, value=drop, interval=around),
        kinds.CleanAccuracy(said, value=whole.value, interval=whole.interval),
    ]


def with_other_label(body: RecordBody, entries: Mapping[str, Sequence[Entry]]) -> RecordBody:
    """What follows from the trials, with how often inputs had the other of their two labels."""
    if not isinstance(body.details, Samples):
        return body
    kinds_of = clean_kinds(body.inputs)
    tried = (row for row in tried_rows(body.inputs) if row.label is not None)
    names = [row.id for row in tried if row.label != row.predicted]
    rows = [e.evidence for name in names for e in entries.get(name, ())]
    known = [c for c in rows if isinstance(c, Counts) and c.other is not None]
    if not known:
        return body
    had_it = sum(c.other or 0 for c in known)
    number = sum(n for kind, n in kinds_of.items() if kind.labelled and kind.same is not True)
    other = OtherLabel(number, sum(c.trials for c in known), had_it)
    return replace(body, details=replace(body.details, other_label=other))


def _for_certain(kept: float) -> Estimate:
    """Nothing is random: of one trial."""
    return Estimate(kept, Interval(kept, kept), Guarantee.sound(), 1, kept, 1)
