"""The words of reasons, in one table."""

from __future__ import annotations

import math
from collections.abc import Callable

from surefoot.core.reasons import Reason, Why
from surefoot.core.results import Interval
from surefoot.report.formatting import percent_range, radius_range
from surefoot.statistics.tail import LEAST_P

_NO_DISTRIBUTION = "which needs no distribution"
_ANOTHER_WAY = "another assume (--assume), a finer resolution (--resolution)"
_NEEDS = {
    "box-cox": "severities above 0",
    "logit": "severities and a limit between 0 and 1",
}
"""What a transform of severities is defined for."""


def reason_words(reason: Reason | str | None) -> str:
    """A reason as a clause; nothing where there is none, and an author's own words as they are."""
    if not isinstance(reason, Reason):
        return reason or ""
    values = [reason_words(v) if isinstance(v, Reason) else v for v in reason.values]
    known = [math.inf if value is None else value for value in values]
    words = WORDS[reason.why]
    return words.format(*known) if isinstance(words, str) else words(*known)


def _number(count: int, one: str, several: str) -> str:
    """With the noun or clause for one or for several."""
    return f"{count:,} {one if count == 1 else several}"


def _percents(low: float, high: float) -> str:
    return percent_range(Interval(low, high))


def _radii(low: float, high: float) -> str:
    return radius_range(Interval(low, high))


def _chance(chance: float) -> str:
    """Of a forecast, which is never certain."""
    return "over 99 %" if chance > 0.995 else f"{100 * chance:.0f} %"


def _trials_needed(trials: float) -> str:
    """To two digits, downwards: no more is known than that fewer are not enough."""
    if math.isinf(trials):
        return "no number of trials shows it"
    unit = 10 ** max(0, math.floor(math.log10(trials)) - 1)
    return f"at least {trials // unit * unit:,.0f} trials are needed to show it"


def _certified(shown: int, inputs: int, passing: float) -> str:
    never = math.isinf(passing)
    passes = "no number of certificates at this error can" if never else f"PASS takes {passing}"
    return f"{shown} of {inputs} inputs are certified, and {passes}; the others are not refuted"


def _of_these(robust: int, inputs: int, fragile: int, passing: float, failing: float) -> str:
    reached = f"PASS takes {passing} of them"
    never = "no number of decisions at this error can give PASS"
    refuted = "more inputs" if math.isinf(failing) else f"{failing} above"
    return (
        f"{robust} of {inputs} inputs were decided to be at most that, {fragile} above, "
        f"{inputs - robust - fragile} undecided; {never if math.isinf(passing) else reached}, "
        f"FAIL {refuted}, or stronger evidence against fewer (--method exact-binomial --looks 1)"
    )


def _classes(number: int, *names: str) -> str:
    """By the first of them."""
    examples = ", ".join(names) + (", …" if number > len(names) else "")
    classes = f"class {examples}" if number == 1 else f"{number:,} classes ({examples})"
    return f"the evidence does not decide it for {classes}"


def _not_normal(level: float, tried: str, undefined: str) -> str:
    others = "severities that stay finite and vary after it"
    needs = [f"; {name} needs {_NEEDS.get(name, others)}" for name in undefined.split()]
    named = ", ".join(tried.split()) or "none could be"
    return (
        f"the severities are not normal at the {level:g} % level (tried: {named}{''.join(needs)})"
    )


def _clean(wrong: int, inputs: int) -> str:
    return f"{wrong} of {inputs} inputs {'is' if wrong == 1 else 'are'} wrong or tied when clean"


def _lower_end_zero(wrong: int, unproved: int, inputs: int) -> str:
    unknown = f"nothing was proved for {unproved} of {inputs} inputs"
    known = [_clean(wrong, inputs)] * (wrong > 0) + [unknown] * (unproved > 0)
    return f"{' and '.join(known)}, so the lower end is 0"


_PREPARATIONS = {
    "over-255": ("values divided by 255", "--scale 255"),
    "times-255": (
        "values times 255",
        "--bounds 0,255, with --scale 1 for data of 0 to 255, --scale 0.00392157 of 0 to 1",
    ),
    "normalised": ("the images as they are", "no --normalise"),
    "bgr": ("the channels in reverse order (BGR)", "the channels in that order"),
    "layout": ("the channels read as the other axis", "arrays whose axes are as their shape says"),
}
"""What is done to the images, and what to pass."""


def _prepared(name: str, then: int, now: int, inputs: int) -> str:
    """Of an image prepared otherwise: parts with a name, else a normalisation, or one undone."""
    known = [_PREPARATIONS.get(n, (f"normalisation {n}", f"--normalise {n}")) for n in name.split()]
    if name.startswith("undo:"):
        n = name.removeprefix("undo:")
        known = [(f"normalisation {n} undone", "the images as they were before it")]
    words, options = zip(*known, strict=True)
    return (
        f"with {' and '.join(words)}, {then} of {inputs} tried are right, not {now}: pass "
        f"{' '.join(options)}"
    )


def _tested(outcome: str) -> Callable[[float, float], str]:
    def words(level: float, p: float) -> str:
        stated = f"p = {p:.2g}" if p > LEAST_P else f"p < {LEAST_P:g}"
        return f"log-normal {outcome} at the {level:g} % level (Anderson-Darling, {stated})"

    return words


WORDS: dict[Why, str | Callable[..., str]] = {
    Why.STATED: "{0}",
    Why.SEVERAL: lambda *clauses: "; ".join(clauses),
    # Forecasts.
    Why.LIKELY_DECIDES: lambda many, unit, chance: (
        f"with about {many:,} {unit} in all the chance to decide it is {_chance(chance)}"
    ),
    Why.PRECISION_LIKELY_DECIDES: lambda precision, chance: (
        f"with --precision {precision:g} the chance to decide it is {_chance(chance)}"
    ),
    Why.MANY_MAY_DECIDE: lambda many, unit, chance: (
        f"even with {many:,} {unit} the chance to decide it is {100 * chance:.0f} %: the truth may "
        "be what is required"
    ),
    Why.SMALLER_PRECISION_MAY_DECIDE: (
        "a new run with a smaller precision (--precision) and another seed may decide it"
    ),
    Why.NARROWER_MAY_DECIDE: "a smaller precision (--precision) may decide it",
    Why.MORE_TIME_MAY_DECIDE: "more time may decide it",
    Why.TRIALS_NEEDED: _trials_needed,
    Why.PROOFS_MAY_DECIDE: "more seconds, or nodes, for the open ones may decide it",
    Why.NEW_RUN_AND_PROOFS_MAY_DECIDE: (
        "a new run with more inputs, and more seconds or nodes for the open ones, may decide it, "
        "but the quantile is close to the required radius"
    ),
    # Trials and populations.
    Why.KAPPA_OPEN: (
        "{0} of {1:,} trials failed, which does not decide whether the failure probability is at "
        "most {2!r}; it does show at most {3:g}"
    ),
    Why.DECLARED_ROBUST: (
        "{0} of {1:,} trials failed, of which the published rule declares that the failure "
        "probability is at most {2!r}, without guarantee"
    ),
    Why.DECLARED_FRAGILE: (
        "{0} of {1:,} trials failed, of which the published rule declares that the failure "
        "probability is more than {2!r}, without guarantee"
    ),
    Why.DECLARED_NOTHING: (
        "{0} of {1:,} trials failed, of which the published rule declares nothing"
    ),
    Why.NO_TRIAL: "no trial of it was needed for the mean",
    Why.NO_ESTIMATE: "no input gave an estimate",
    Why.NOTHING_DECIDED: "no input could be decided",
    Why.CELL_OF_THESE: "the suite is about these inputs (--about population for the population)",
    Why.FEW_TRIED: "too few inputs had a trial for a statement about the population",
    Why.SHARE_OF_THESE_OPEN: _of_these,
    Why.EVIDENCE_OPEN: "the evidence is not enough for either answer: {0}",
    Why.CLASS_OPEN: "the evidence does not decide {0!r}",
    Why.CLASSES_OPEN: _classes,
    Why.FAILURE_OPEN: lambda low, high, *ways: f"{_percents(low, high)} fail: {'; '.join(ways)}",
    Why.ACCURACY_OPEN: lambda low, high, *ways: f"it is {_percents(low, high)}: {'; '.join(ways)}",
    Why.NONE_RIGHT_WHEN_CLEAN: "all {0:,} inputs are wrong when clean, so that none is left",
    Why.OUT_OF_REACH: lambda trials: (
        f"{_trials_needed(trials)}: require less, or prove it (surefoot critical)"
    ),
    Why.MAY_BE_WORSE: lambda name, margin, forecast, *others: (
        f"{name} may be worse than {', '.join(others)} by more than "
        f"{100 * margin:.12g} points: {forecast}"
    ),
    Why.OTHER_INPUTS: (
        "the difference is {0:+.3g} to {1:+.3g} points; on other inputs nothing cancels that the "
        "two have in common: measure the earlier model on these inputs (previous-model), where "
        "that is possible"
    ),
    Why.PRECISION_LATE: "the time was up at ± {0:.2g}; more time narrows it",
    Why.DESIGN_LATE: "the time was up before the design ended: give it more",
    Why.PRECISION_LIMITED: lambda inputs, reached, needed: (
        f"{_number(inputs, 'input allows', 'inputs allow')} ± {reached:.2g}, and more trials would "
        f"hardly narrow it; about {needed:,} inputs would be enough"
    ),
    Why.FEW_MODELS: "{0} models are too few for a correlation: at least three",
    Why.EQUAL_VALUES: "all models have the same value, so there is nothing to correlate",
    # Answers to clean inputs.
    Why.IMPLAUSIBLE: lambda right, inputs, doubt: (
        f"{right:,} of {inputs:,} clean inputs are right: {doubt} (--accept-clean-accuracy "
        "overrides this)"
    ),
    Why.ONE_CLASS_GIVEN: (
        "the model gives all of them one class, and the labels have {0:,}: check scaling, "
        "normalisation and layout"
    ),
    Why.LABELS_READ_OTHERWISE: lambda accuracy, reading, question, way_out: (
        f"with {reading} it would be {100 * accuracy:.1f} %: {question} Then {way_out}"
    ),
    Why.PREPARED_OTHERWISE: _prepared,
    Why.LITTLE_SKILL: (
        "hardly better than guessing (balanced skill {0:.2g}, with 99 % confidence below 0.25): "
        "check scaling, normalisation and labels"
    ),
    Why.CHANCE_EXPLAINS: (
        "no better than the same predictions in random order (p = {0:.2g}): check scaling, "
        "normalisation and labels"
    ),
    Why.FEW_TO_DOUBT: "{0}; the inputs are too few to tell",
    Why.HARDLY_A_RADIUS: (
        "the images range over {1:.3g}, and a radius of {0:.2g} is less than one grey level: "
        "require it in the unit of the data, 8 for 8/255 (--accept-clean-accuracy overrides this)"
    ),
    Why.HARDLY_A_CHANGE: (
        "the images range over {1:.3g}, and trials of the first change a value by up to {0:.2g}: "
        "give the level in that unit, or pass --scale 255 (the model takes 0 to 1) or --bounds "
        "0,255 (levels are shares of it; --accept-clean-accuracy overrides this)"
    ),
    # Tails.
    Why.EQUAL_SEVERITIES: "all {0} severities are {1:g}: there is no distribution to fit",
    Why.NOT_NORMAL: _not_normal,
    Why.NO_TAIL_FITTED: "no input had severities that a normal fits",
    Why.SEVERITY_TIES: (
        "{0:,} of {1:,} perturbations have the severity of another one, and splitting needs one "
        "without steps: let the model give logits in place of rounded or saturated probabilities"
    ),
    Why.CHAINS_STALLED: (
        "{0:,} of the last {1:,} chains accepted no step at all, so that nothing moves any more"
    ),
    Why.LEVELS_STALLED: (
        "what was found, down to a probability of {0:.1g}, comes to an end below the limit: there "
        "may be failures of another kind, or none"
    ),
    Why.CHAINS_REMEMBER: (
        "chains keep {0:.2g} of the rank from which they began: take longer ones (--chain 50)"
    ),
    Why.RUNS_DISAGREE: (
        "the {0} runs disagree, from {1:.1e} to {2:.1e}, by more than chance explains: some of "
        "them missed a kind of failure"
    ),
    Why.COUNT_DISAGREES: (
        "{0:,} of {1:,} ordinary trials failed, which contradicts {2:.1e} to {3:.1e}"
    ),
    Why.RARE_INPUTS_OPEN: "{0} of {1} inputs are undecided, input {2} since {3}",
    # Critical radii.
    Why.NO_BRACKETS: "there are no brackets to take a quantile of",
    Why.NO_BRACKETS_TO_DECIDE: "there are no brackets to decide a requirement with",
    Why.RADIUS_OPEN: lambda proved, inputs, radius, refuted, left, advice: (
        f"{proved:,} of {inputs:,} inputs are proved up to {radius:g}, "
        f"{_number(refuted, 'has', 'have')} a nearer counterexample, "
        f"{_number(left, 'is', 'are')} open: {advice}"
    ),
    Why.RADIUS_OF_GROUPS_OPEN: (
        "averaged over {0:,} groups, {1:.1%} of the inputs are proved up to {2:g} and {3:.1%} have "
        "a nearer counterexample: {4}"
    ),
    Why.WITHIN_INTERVAL: lambda radius, low, high: (
        f"{radius:g} lies within the interval, {_radii(low, high)}: ask for a smaller width, with "
        "more inputs, or more seconds or nodes for each"
    ),
    Why.SUITE_OPEN: lambda low, high, *forecast: (
        f"it is {_percents(low, high)}: "
        + (
            forecast[0]
            if forecast
            else "a smaller precision (--precision), or more passes (--passes), may decide it"
        )
    ),
    Why.BASELINE_RIGHT: (
        "the baseline is not shown to fail at all under {0}, by whose errors those of the model "
        "are divided: take another baseline, a smaller precision (--precision) or other rows"
    ),
    Why.RADII_OPEN: lambda first, low, high, second, least, most: (
        f"it is {_radii(low, high)} with {first} and {_radii(least, most)} with {second}: narrower "
        "brackets (--tolerance, more seconds or nodes for each input) or a larger margin may "
        "decide it"
    ),
    Why.POINT_FAILED: "a point failed within a radius that was proved",
    Why.CERTIFIED_OPEN: _certified,
    Why.RADIUS_NOT_SHOWN: "the radius {0:g} is not shown",
    Why.INPUTS_CHOSEN: "the search chose how many inputs it took: leave out within (--within)",
    Why.QUANTILE_ZERO: lambda wrong, inputs: f"{_clean(wrong, inputs)}, so the quantile is 0",
    Why.FEW_FOR_LOWER_END: (
        "{0} inputs are too few to bound the {1:g} % quantile from below, so the lower end is 0: "
        "that takes {2} or more"
    ),
    Why.LOWER_END_ZERO: _lower_end_zero,
    Why.FEW_FOR_UPPER_END: "{0} inputs give no upper end",
    Why.NO_UPPER_END: (
        "no counterexample is known for {0} of {1} inputs, so there is no upper end"
    ),
    Why.NOT_WITHIN: "{0} inputs were not enough for ± {1:g}",
    Why.GROUPS_LOWER_END_ZERO: lambda groups, share: (
        f"with {f'{groups:,} groups' if groups > 1 else 'one group'} the lower end of the "
        f"{share:g}-quantile is 0: more groups, or more seconds for the inputs without a proof, "
        "may raise it"
    ),
    Why.GROUPS_NO_UPPER_END: "so few groups, or so few refuted inputs, give no upper end",
    Why.POOLED_NO_LOWER_END: (
        "{0:,} inputs, or what is proved of them, are too little for a lower end"
    ),
    Why.POOLED_NO_UPPER_END: "{0:,} inputs, or what is refuted of them, give no upper end",
    # Log-normal radii.
    Why.REJECTED: _tested("rejected"),
    Why.NOT_REJECTED: _tested("not rejected"),
    Why.NOT_TESTED: "not tested: {0}",
    Why.NEVER_REFUTED: lambda inputs: (
        f"{_number(inputs, 'input was', 'inputs were')} never refuted"
    ),
    Why.FEW_TO_TEST: "fewer than {0} inputs",
    Why.CONTRADICTED: (
        f"the data contradict the assumption ({{0}}): use the estimator {{1}}, {_NO_DISTRIBUTION}"
    ),
    Why.NOT_TESTABLE: (
        "whether critical radii are log-normal, as the interval assumes, could not be tested "
        f"({{0}}): use the estimator {{1}}, {_NO_DISTRIBUTION}"
    ),
    Why.FEW_FOR_POSTERIOR: (
        "{0} inputs are too few for the log-normal posterior, which would mostly repeat its prior: "
        "use at least {1}"
    ),
    Why.ZERO_LEVELS: "{0} inputs have a critical level of 0, which no log-normal has",
    Why.ZERO_LEVEL: "an input has a critical level of 0, which no log-normal has",
    Why.NOTHING_REFUTED: "no input was refuted below the ceiling: there is nothing to fit",
    Why.NO_LENGTH: (
        "a bracket from {0:g} to {1:g} has no length, and so no probability in algorithm 1: use "
        "another estimator"
    ),
    Why.IMPOSSIBLE: (
        "the first input alone has a likelihood of 0 in single precision: its bracket is too "
        "short, or lies too far above the ceiling of the prior"
    ),
    Why.NO_MORE_INPUTS: "there are no more",
    Why.SHORT_ENOUGH: "the interval is no longer than {0:g}",
    Why.UNDERFLOW: (
        "with one more the likelihood falls below {0:.2g} and single precision rounds it to 0, "
        "before the interval is as short as {1:g}"
    ),
    Why.INPUTS_USED: "algorithm 1 used {0:,} of {1:,} inputs: {2}",
    Why.RANDOM_ORDER: "the order is random",
    Why.STOPPED_TOO_SOON: lambda used, inputs, stopped, least, estimator: (
        f"algorithm 1 stopped after {used} input{'' if used == 1 else 's'} of {inputs:,} "
        f"({stopped}), and below {least} its interval misses far more often than stated: use the "
        f"estimator {estimator}, {_NO_DISTRIBUTION}"
    ),
    # Curves.
    Why.NO_PROMISE: "this method promises nothing: use sequential or asap",
    Why.SHARE_OPEN: lambda low, high: (
        f"it is {_percents(low, high)}: {_ANOTHER_WAY} or a new run with more inputs may decide it"
    ),
    Why.SHARES_OPEN: lambda first, low, high, second, least, most: (
        f"it is {_percents(low, high)} with {first} and {_percents(least, most)} with {second}: "
        f"{_ANOTHER_WAY}, new runs of both with more inputs or a larger margin may decide it"
    ),
    Why.NOT_LOCATED: (
        "with these {0:,} inputs and this assumption it may be at any level from {1:g} to {2:g}, "
        "or at none"
    ),
    Why.COMES_BACK: "the curve comes back at stronger levels than {0:.4g}",
    Why.INPUTS_COME_BACK: lambda level, inputs: (
        f"{'an input fails' if inputs == 1 else f'{inputs:,} inputs fail'} at a weaker level and "
        f"not at {level:.4g}"
    ),
    Why.CONFIDENCE_COMES_BACK: "{1:,} of the inputs have more confidence at {0:.4g} than before",
    Why.RISES: "from level {0:.4g} to level {1:.4g} the curve rises by {2:.2g} points",
    Why.ASSUMED_INSTEAD: "{0}; it is assumed instead that the {1} rises by at most {2:.2g} points",
    Why.NO_INTERVAL: "{0}; no interval is given: run it with one-crossing assumed instead",
    Why.STOPPED_EARLY: lambda levels: (
        "stopped early: the time limit was reached after "
        + (f"{levels} level" if levels == 1 else f"{levels} levels")
    ),
    Why.CURVATURE_CHECKED: (
        "the curvature {0:.3g} was chosen from the data; a last check at level {1:.4g} found no "
        "stronger bend"
    ),
    Why.CURVATURE_NOT_CHECKED: ("the curvature {0:.3g} was chosen from the data and not checked"),
    Why.INTEGRAL_OPEN: "the integral for {0:g} had not settled when its levels ran out",
}
