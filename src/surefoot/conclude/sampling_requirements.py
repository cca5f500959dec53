"""Requirements on samples: of classes, of exactly these inputs, of a mean to a precision."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

import numpy as np

from surefoot.catalogue.registry import MOST_DIGITS
from surefoot.conclude.accuracy import (
    MeanClaim,
    failure_interval,
    kept_interval,
    right_results,
    right_when_clean,
    wrong_when_clean,
)
from surefoot.conclude.sampling import verdict_of
from surefoot.conclude.scope import (
    by_class,
    claim_of_population,
    distinct_names,
    groups_in,
    groups_within_classes,
    in_scope,
    sampled_of,
    trials_of,
)
from surefoot.core import claims as kinds
from surefoot.core.assumptions import Assumed, Jointly, Together
from surefoot.core.claims import About, Claim, Requirement, Sampling, Scope, Verdict
from surefoot.core.reasons import Reason, Why
from surefoot.core.results import (
    UNIT,
    Decision,
    Estimate,
    Guarantee,
    Interval,
    Undecided,
    complement,
)
from surefoot.errors import InvalidArgument
from surefoot.population import Population, requirement_of_each, robust_of_these
from surefoot.population.precision import design_fits
from surefoot.population.requirement import more_inputs
from surefoot.records.input_table import tried_rows
from surefoot.records.record import InputRow, OfClasses, Record, Samples, results_of
from surefoot.records.spec import InputsSpec, StudySpec
from surefoot.statistics.bounds import two_sided
from surefoot.statistics.counted import Sides, Tested, rung
from surefoot.statistics.designs import ends_after_stop
from surefoot.statistics.fixed_width import design_for
from surefoot.statistics.intervals import betting_trials

_NEAR, _LISTED = 3, 10
"""Near names that a refusal proposes, and classes that it lists where there are none."""


def of_each_class(record: Record, over: Population, least: OfClasses) -> list[Claim]:
    """The verdict on all of them together, then on each."""
    classes, inputs = by_class(record.inputs), record.study.inputs
    if not groups_within_classes(classes):
        raise InvalidArgument(
            "some groups have inputs of several classes, and of such classes nothing can be "
            "said: leave out of_each_class (--require-each), or load the inputs without groups"
        )
    named = distinct_names(classes, inputs.class_name)
    required = named_classes(least, named, without_inputs(inputs, classes))
    number = least if not isinstance(least, Mapping) else None
    if len(required) == 1:
        (number,) = required.values()
    together, *each = decide_classes(over, classes, named, required, record.rung)
    names = tuple(required) if isinstance(least, Mapping) else ()
    claims = [sampled_claim(record, over, together, number).saying(names=names)]
    return claims + [sampled_claim(record, over, one, required[one.scope.name]) for one in each]


@dataclass(frozen=True)
class Decided:
    """What was decided of the population, a class, or all of them together.

    `rows` are the inputs of one class; None: all of them.
    """

    scope: Scope
    answer: Decision | Undecided
    rows: Sequence[InputRow] | None = None


def decide_classes(
    over: Population,
    classes: Mapping[int, Sequence[InputRow]],
    named: Mapping[int, str],
    required: Mapping[str, float],
    run: int | None = None,
) -> Iterator[Decided]:
    """All classes of which something is required together, then each."""
    rows = {named[label]: members for label, members in classes.items() if named[label] in required}
    own = {name: sampled_of(members) for name, members in rows.items()}
    each = requirement_of_each(over, own, required, run)
    inputs, groups = sum(map(len, rows.values())), sum(map(groups_in, own.values()))
    yield Decided(Scope(About.CLASS, inputs, groups=groups), each.together)
    for name, one in each.classes.items():
        scope = Scope(About.CLASS, len(rows[name]), name, groups=groups_in(own[name]))
        yield Decided(scope, one, rows[name])


def without_inputs(inputs: InputsSpec, present: Collection[int]) -> list[str]:
    """The names of classes that data or user speak of and that have no input here."""
    known = inputs.classes or range(len(inputs.class_names))
    return [inputs.class_name(i) for i in known if i not in present]


def named_classes(
    least: OfClasses, names: Mapping[int, str], absent: Sequence[str] = ()
) -> dict[str, float]:
    """What is required of each class, by the name it has here, in the order of `names`.

    A name that a class has goes before a number. Where a class is `absent`, nothing can be shown
    of every class, as nothing can be of that class where it is named.
    """
    if not isinstance(least, Mapping):
        if absent:
            own = _some([f"{name}={least:g}" for name in names.values()], ",")
            raise InvalidArgument(
                f"nothing of class{'es' * (len(absent) > 1)} {_some(absent, ', ')} is studied "
                "here, so nothing can be shown of every class: name those that have something "
                f"(--require-each {own}), or study some of every class"
            )
        return dict.fromkeys(names.values(), least)
    if not least:
        raise InvalidArgument("of_each_class names no class: give a number, or {'stop': 0.99}")
    required: dict[str, float] = {}
    for key, value in least.items():
        name = _class_of(key, names)
        if name in required:
            raise InvalidArgument(f"class {name} is named twice: require one number of it")
        required[name] = value
    return {name: required[name] for name in names.values() if name in required}


def _some(names: Sequence[str], comma: str) -> str:
    return comma.join(names[:_LISTED]) + f"{comma}…" * (len(names) > _LISTED)


def _class_of(key: str | int, names: Mapping[int, str]) -> str:
    text = str(key).strip()
    if text in names.values():
        return text
    if text.isdecimal() and len(text) <= MOST_DIGITS and int(text) in names:
        return names[int(text)]
    near = get_close_matches(text, names.values(), n=_NEAR)
    near = near or [n for n in names.values() if text and text.lower() in n.lower()][:_NEAR]
    listed = _some([f"{n} ({i})" if n != str(i) else n for i, n in names.items()], ", ")
    way_out = f"do you mean {' or '.join(near)}?" if near else f"there are {listed}; name one"
    raise InvalidArgument(f"there is no class {text!r} among these inputs: {way_out}")


def check_classes(spec: StudySpec, labels: Iterable[int], least: OfClasses) -> None:
    """Refuse classes that the inputs of this study do not have, before it runs."""
    if not spec.model.classes:
        raise InvalidArgument(
            "the model has no classes to require something of: leave out require_each "
            "(--require-each)"
        )
    present = sorted({int(label) for label in labels})
    names = distinct_names(present, spec.inputs.class_name)
    named_classes(least, names, without_inputs(spec.inputs, present))


def sampled_claim(record: Record, over: Population, decided: Decided, least: float | None) -> Claim:
    """The mean is required as the share kept, and claimed as the failure probability."""
    model, scope, answer = claim_of_population(record), decided.scope, decided.answer
    verdict, reason = verdict_of(answer)
    proved = answer.guarantee if isinstance(answer, Decision) else None
    guarantee = proved or Guarantee.given(over.error, model.guarantee.assumptions)
    given = {Assumed.GIVEN_SCALES}.intersection(model.guarantee.assumptions)
    assumed = tuple(dict.fromkeys((*guarantee.assumptions, *given)))
    together = Jointly(Together.EVERY_CLASS) if scope.name else None
    mean = isinstance(model, kinds.MeanPopulation)
    if decided.rows is not None and isinstance(model, kinds.AccuracyPopulation):
        model = replace(model, clean=right_when_clean(decided.rows))
    elif decided.rows is not None and isinstance(model, kinds.ShareKappa):
        model = replace(model, clean=wrong_when_clean(decided.rows))
    said = replace(
        model.said,
        about=replace(scope, sampling=model.about.sampling),
        guarantee=Guarantee(guarantee.footing, guarantee.error, assumed, together),
        trials=record.trials if decided.rows is None else trials_of(decided.rows),
        reason=reason,
    )
    number = complement(least) if mean and least is not None else least
    claim = replace(model, said=said, value=None, interval=None)
    return in_scope(replace(claim, requirement=Requirement(number, verdict)), record.study)


EVERY = "all"
"""What is required of every one of these inputs, as Python and the command line write it."""


def share_of_all(word: str, of_these: float | None) -> float:
    """1 for "all"; refuses another word, and a share of these inputs beside it."""
    if word != EVERY:
        raise InvalidArgument(
            f"a requirement is a number such as 0.95, or {EVERY!r}, got {word!r}: write one of them"
        )
    if of_these is not None:
        raise InvalidArgument(f"{EVERY!r} is all of these inputs: leave out of_these")
    return 1.0


def of_these(record: Record, least: float, error: float) -> Claim:
    """Whether such a share of exactly these inputs fails at most so often.

    "Every input" is about those that are right when clean; of a share the others are a part, and
    fail.
    """
    counted = record.claims[0]
    if not isinstance(counted, kinds.CountKappa):
        raise InvalidArgument(
            "every input, or a share of these inputs, is required of decisions: use certify or "
            "KappaTest; or require a mean, such as 0.95"
        )
    if not 0 <= least <= 1:
        raise InvalidArgument(
            f"a share of these inputs lies between 0 and 1, got {least:g}: write 0.95 for 95 %"
        )
    local, clean = right_results(record.inputs), counted.clean if least == 1 else 0
    verdict, reason = verdict_of(robust_of_these(local, least, error, counted.clean - clean))
    if clean and not local:
        reason = Why.NONE_RIGHT_WHEN_CLEAN.of(clean)
    said = replace(counted.said, guarantee=Guarantee.sound(error), reason=reason)
    requirement = Requirement(least, verdict)
    return kinds.AllKappa(said, kappa=counted.kappa, clean=clean, requirement=requirement)


_MOST_TRIALS = 10**10
"""Beyond this a requirement is out of reach: a day of a hundred thousand trials a second."""


def of_precision(record: Record, least: float) -> Claim:
    """Of the mean to a precision, one-sided, at what this run of the study may spend."""
    if not 0 <= least <= 1:
        raise InvalidArgument(
            f"a required share lies between 0 and 1, got {least:g}: write 0.95 for 95 %"
        )
    measured, most = _precise_mean(record), complement(least)
    claim = replace(measured, value=None)
    accuracy = isinstance(measured, kinds.AccuracySet | kinds.AccuracyPopulation)
    number, error = least if accuracy else most, measured.guarantee.error
    in_kept = accuracy or measured.kept is not None
    kept = kept_at(record, rung(error, record.rung)) if error else kept_interval(measured)
    kept = kept or UNIT
    if kept.low >= least:
        return replace(claim, interval=None).answered(number, Verdict.PASS)
    if kept.high < least:
        return replace(claim, interval=None).answered(number, Verdict.FAIL)
    needed, late = _least_trials(record, most), measured.reason is not None
    if out_of_reach(record, least):
        ways = [Why.OUT_OF_REACH.of(needed)]
    elif claim.about.of is About.POPULATION:
        ways = [_new_run(record, least)]
    else:
        ways = [(Why.MORE_TIME_MAY_DECIDE if late else Why.NARROWER_MAY_DECIDE).of()]
        ways += [Why.TRIALS_NEEDED.of(needed)] * (needed > record.trials)
    kept = kept_interval(measured) or UNIT
    around = kept if in_kept else failure_interval(kept)
    open_ = Why.ACCURACY_OPEN if in_kept else Why.FAILURE_OPEN
    reason = open_.of(around.low, around.high, *ways)
    return claim.answered(number, Verdict.UNDECIDED, reason)


def kept_at(record: Record, error: float) -> Interval:
    """The share kept, each end by itself wrong with at most `error`, whenever the run stopped.

    Rounds have bounds that hold at any error. First trials of a number of inputs that was settled
    are counted, beside bets on all trials. Of single trials that the design stopped, what it does
    is known for every mean; bets hold whatever else made them stop, such as a time limit.
    """
    samples, twice = record.details, two_sided(error)
    if isinstance(samples, Samples) and samples.bounds is not None:
        return failure_interval(samples.bounds.interval(twice))
    known = results_of(tried_rows(record.inputs), Estimate)
    if isinstance(samples, Samples) and samples.once is not None:
        rates = np.array([one.value for one in known])
        unequal = record.claims[0].about.sampling is not Sampling.INDEPENDENT
        return Sides.of_counts(samples.once, rates, unequal=unequal).interval(twice)
    trials = sum(one.trials for one in known)
    kept = round(sum(one.value * one.trials for one in known))
    if not trials:
        return UNIT
    method = record.study.method
    precision, spent = method.number("precision"), method.number("error")
    if precision and spent and design_fits(precision, spent, _MOST_TRIALS):
        design = design_for(precision, spent)
        if trials in design.looks and design.stops(design.looks.index(trials), kept):
            return ends_after_stop(design, trials, kept, error)
    return betting_trials(np.array([kept]), np.array([trials]), twice)


def _precise_mean(record: Record) -> MeanClaim:
    """The mean to a precision, which comes first."""
    claim = record.claims[0]
    if not isinstance(claim, MeanClaim):
        raise InvalidArgument(f"run {record.digest[:12]} is no mean to a precision: use estimate")
    return claim


def _failing(record: Record) -> float:
    """The best guess of how often trials fail; 0 where there is none."""
    claim = _precise_mean(record)
    if claim.value is None:
        return 0.0
    failure = isinstance(claim, kinds.MeanSet | kinds.MeanPopulation)
    return claim.value if failure else 1 - claim.value


def out_of_reach(record: Record, least: float) -> bool:
    """Whether nothing but a proof may decide the requirement."""
    return _least_trials(record, complement(least)) > _MOST_TRIALS


def _least_trials(record: Record, most: float) -> float:
    """Trials without which no method can show that at most `most` fail, at the error of the run.

    Were a little more than that to fail, of every input, then fewer trials would all be kept too
    often. 0 where trials failed already more often than that: a FAIL may take few more.
    """
    known, error = results_of(tried_rows(record.inputs), Estimate), record.claims[0].guarantee.error
    failed = any(one.value < 1 for one in known)
    if error == 0 or (failed and _failing(record) > most):
        return 0.0
    return math.inf if most == 0 else math.ceil(math.log(error) / math.log1p(-most))


def _new_run(record: Record, least: float) -> Reason:
    """What may decide a requirement on the population that this run leaves open: a forecast."""
    claim, samples = record.claims[0], record.details
    once = samples.once if isinstance(samples, Samples) else None
    if once is None:
        return Why.SMALLER_PRECISION_MAY_DECIDE.of()
    ones = np.repeat([1.0, 0.0], [once.kept, once.trials - once.kept])
    later = rung(claim.guarantee.error, record.rung + 1)
    tested = Tested(Sides.of_counts(once, ones), least, least, least, later)
    return more_inputs(lambda inputs: tested.chance(inputs, later), once.trials)
