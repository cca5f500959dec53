"""Mu & Lim: is the failure probability below kappa, and for which share of inputs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from math import inf
from typing import Any

import surefoot as sf
from papers.exhibit import Exhibit, Row, Sheet, beside, published
from papers.paper import InvalidArgument, Paper, Request, error_of
from papers.words import Interval, confidence, percent, percent_range

falsely_robust, doubling = sf.statistics.falsely_robust, sf.statistics.doubling
METHODS = {
    "kappa-test": sf.methods.KappaTest,
    "exact-binomial": sf.methods.ExactBinomial,
    "published-doubling": sf.methods.PublishedDoubling,
}

PAPER = Paper(
    "mu-lim",
    "Wenchuan Mu and Kwan Hui Lim",
    "Towards Precise Observations of Neural Model Robustness in Classification",
    "ICSE Companion 2024",
    "Tests of each input whether it fails under at most kappa, by the exact binomial test, "
    "and states the share of inputs that do.",
)
Results = Mapping[str, sf.Result]
_QUICK = sf.methods.Attack(starts=1, iterations=10)
"""Our own attack in the quick version."""
_TRIALS_TIMES_KAPPA = 200
"""The most trials of an input are this over kappa, as for `sf.certify`."""
_RULE_KAPPA, _RULE_TRIALS = 0.1, 1000
"""Where the published stopping rule is computed: 100/kappa trials, in less than a second."""
_SECONDS_BETWEEN_LINES = 5.0
_HEAD = ("perturb", "kappa", "method")


@PAPER.exhibit(
    "table 1",
    "Accuracy, attack failure rate, and the share of inputs that fail under at most kappa",
    {
        "perturb": ("linf:8/255",),
        "kappa": (1e-4,),
        "method": ("kappa-test", "published-doubling"),
        "confidence": 0.95,
        "images": None,
        "property": "true",
        "attack_step": None,
        "attack_iterations": 10,
        "attack_starts": 1,
    },
    quick={"kappa": (0.1,), "images": (30,), "method": tuple(METHODS)},
)
def table_1(request: Request) -> Exhibit:
    """One row for each model, perturbation, kappa and method."""
    request.refuse_correct_only()
    options, error = request.options, error_of(request.options["confidence"])
    models, inputs = _loaded(request)
    rows, empty, results = list[dict[str, Any]](), list[str](), dict[str, sf.Result]()
    for name, model in models.items():
        for perturb in options["perturb"]:
            request.announce(f"{name}, {perturb}")
            run = partial(_run, request, model, inputs, perturb)
            attacks, why = _attacked(run, request)
            empty += [f"{name}, {perturb}: no attack, because {why}."] if why else []
            results |= {f"{name}, {perturb}, {what}": r for what, r in attacks.items()}
            for kappa, method in product(options["kappa"], _methods(options["method"])):
                most = max(1, round(_TRIALS_TIMES_KAPPA / max(kappa, 1e-12)))
                result = run(METHODS[method](kappa, error, most))
                results[f"{name}, {perturb}, kappa {kappa:g}, {method}"] = result
                head = {"model": name, "perturb": perturb, "kappa": kappa, "method": method}
                rows.append({**head, **_cells(result, attacks, error)})
    n, perturbs = rows[0]["inputs"], " and ".join(dict.fromkeys(r["perturb"] for r in rows))
    several = "*perturbation=perturb; " if len(options["perturb"]) > 1 else ""
    title = "Accuracy, attacks and probabilistic robustness"
    note = (
        f"Of {n:,} inputs under {perturbs}. Intervals are for the population, if the inputs are a "
        f"random sample of it, each at {confidence(error)} by itself. Withstood: the attack found "
        "no point of the ball that fails; every point counted was run again through the model "
        "itself. The upper end of its interval bounds the robust accuracy of the population from "
        "above. Undecided inputs are declared neither robust nor fragile. published-doubling is "
        "the paper's rule: what it declares has no guarantee and gives no share of the population."
    )
    eq_7 = (
        "Eq. 7 as printed takes k′/n′ for the truth: it has no error over inputs, and is no claim."
    )
    return Exhibit.of(
        _seen(rows),
        *empty,
        *_departures(options["property"]),
        sheets=(
            Sheet(title, f"*model; {several}{_COLUMNS}", rows, note),
            Sheet("From k′/n′ to the share of the population", _BOUNDS, rows, eq_7),
            _published_sheet(rows),
            _rule_sheet(error),
        ),
        results=results,
    )


def _methods(names: Sequence[str]) -> Sequence[str]:
    """The names, all of them methods."""
    for name in names:
        if name not in METHODS:
            raise InvalidArgument(
                f"method (--method) {name}: there is none of this name; choose one of "
                f"{', '.join(METHODS)}"
            )
    return names


def _loaded(request: Request) -> tuple[dict[str, Any], Any]:
    """The models, and the inputs that all of them are given.

    The quick version takes a few random inputs, where none were chosen, or all if there are fewer.
    """
    reads, files = sf.parse_property(request.options["property"]).needs, request.files
    said = {} if reads is None or reads.of_classes or "scores" in files else {"scores": str(reads)}
    models, inputs = request.load(**said)
    images = request.options["images"]
    if images is not None and not any(files.get(n) for n in ("first", "random", "classes")):
        few, available = int(images[0]), len(set(inputs.groups)) or len(inputs)
        if few > available and images != request.part.quick["images"]:
            raise InvalidArgument(
                f"images (--images) {few}: {inputs.source} has {available}; write {available} or "
                "less, or leave it out"
            )
        if few < available:
            choice = sf.Selection(random=few, seed=request.seed)
            inputs = sf.select(inputs, list(models.values()), choice)
    return models, inputs


def _run(request: Request, model: Any, inputs: Any, perturb: str, method: Any) -> sf.Result:
    """A method on this model: all methods meet the same inputs and perturbation.

    Nothing is said of single classes, so that the whole error is spent on the population.
    """
    prop = sf.parse_property(request.options["property"])
    noise = sf.parse_perturbation(perturb, inputs.frame)
    own: dict[str, Any] = {"property": prop, "seed": request.seed, "by_class": False}
    study, last = sf.Study(model, inputs, noise, method, **own), time.monotonic()

    def watch(now: Any) -> None:
        nonlocal last
        if request.progress and time.monotonic() - last > _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            sys.stderr.write(f"{now.doing}: {now.trials:,} of {now.expected:,} {now.unit}\n")

    store = None if request.store is None else str(request.store)
    return study.run(store, workers=request.workers, on_progress=watch)


def _attacked(run: Callable[[Any], sf.Result], request: Request) -> tuple[Results, str]:
    """PGD as published and our own attack, by the key of their column; or why there is none."""
    effort = {n: request.options[f"attack_{n}"] for n in ("step", "iterations", "starts")}
    ours = _QUICK if request.quick else sf.methods.Attack()
    try:
        return {"pgd": run(sf.methods.PGD(**effort)), "margin": run(ours)}, ""
    except (InvalidArgument, sf.errors.MissingPackage, sf.errors.ModelFailed) as error:
        return {}, str(error)


def _cells(result: sf.Result, attacks: Results, error: float) -> dict[str, Any]:
    """What is known of one model at one kappa; every interval is of the population."""
    share = next(
        claim
        for claim in result.claims
        if isinstance(claim, sf.claims.ShareKappa) and claim.about.of is sf.claims.About.POPULATION
    )
    sampling = share.about.sampling or sf.claims.Sampling.INDEPENDENT
    groups = [row.group for row in result.inputs]
    counted: Any = result.claims[0]  # of decisions, or of what the paper's rule declares
    n, robust = len(result.inputs), counted.robust
    undecided = n - counted.clean - robust - counted.fragile
    labelled = all(row.label is not None for row in result.inputs)
    true = {"accuracy": [r.label == r.predicted for r in result.inputs] if labelled else []}
    for key, attack in attacks.items():
        true[key] = [
            isinstance(r.result, sf.results.Bracket) and r.result.high == inf for r in attack.inputs
        ]
    row: dict[str, Any] = {}
    for key, each in true.items():
        row[key] = sum(each) / len(each) if each else None
        row[f"{key}_between"] = share_of_inputs(each, groups, sampling, error) if each else None
    printed = max(0.0, (robust / n - error) / (1 + error)), min(1.0, robust / n / (1 - error))
    row |= {"declared": robust, "inputs": n, "observed": robust / n, "undecided": undecided}
    row |= {"printed": Interval(*printed), "false": getattr(counted, "measured", error)}
    row["share_between"] = None if hasattr(counted, "measured") else share.interval
    return row | {"trials": result.record.trials}


def share_of_inputs(
    true: Sequence[bool], groups: Sequence[str], sampling: sf.claims.Sampling, error: float
) -> Interval | None:
    """An interval for the share of the population of which it is true: each input is one trial.

    Clopper and Pearson's, or a bet on the averages of groups, where groups were sampled.
    """
    whole, certain = Interval(0, 1), sf.results.Guarantee(sf.results.Footing.SOUND, 0.0)
    local: Any = [sf.results.Estimate(float(x), whole, certain, 1, float(x), 1) for x in true]
    if any(groups):
        local = sf.population.by_group(local, groups)
    known = sf.population.Mean(error, sampling).conclude(local, error)
    return known.interval if isinstance(known, sf.results.Estimate) else None


_COLUMNS = (
    "kappa; *method; accuracy:percent; interval=accuracy_between:whole; withstood PGD=pgd:percent; "
    "interval=pgd_between:whole; withstood ours=margin:percent; interval=margin_between:whole; "
    "declared robust=observed:percent; share robust=share_between:whole"
)
_BOUNDS = (
    "*model; kappa; *method; inputs n′=inputs; robust k′=declared; undecided; trials; "
    "at kappa called robust=false:at most; Eq. 7 as printed=printed:range; "
    "ours=share_between:range"
)


def _seen(rows: list[dict[str, Any]]) -> str:
    """What is seen of each model at the first kappa, and where the two columns disagree."""
    kappa, parts = rows[0]["kappa"], []
    first = rows[0]["method"]
    for row in (row for row in rows if (row["kappa"], row["method"]) == (kappa, first)):
        between = row["share_between"]
        share = "an unknown share" if between is None else percent_range(between)
        withstood = f"{percent(row['pgd'])} of the inputs withstand PGD, " if "pgd" in row else ""
        parts.append(f"{row['model']}, {withstood}{share} of such inputs fail rarely")
    limit = f"{100 * kappa:.9g} % of the perturbations"
    seen = f"{'; '.join(parts)}: under at most {limit}, if these inputs are a random sample."
    known = [r for r in rows if r["share_between"] and r.get("pgd_between")]
    above = sum(r["share_between"].low > r["pgd_between"].high for r in known)
    if not above:
        return seen
    every = "every row" if above == len(rows) else f"{above} of {len(rows)} rows"
    return (
        f"{seen} In {every} that share lies above the one that withstands PGD: the two answer "
        "different questions."
    )


def _departures(prop: str) -> tuple[str, ...]:
    """Where we depart from the paper, and why."""
    meanings = {
        "true": "correctness (the true label), as in the paper's table",
        "same": "stability (the label of the clean input), as in the paper's definitions",
    }
    return (
        f"Robust here means {meanings.get(prop, f'the property {prop}')}. The paper defines "
        "stability and tabulates correctness; --property same or true chooses.",
        "The published stopping rule (test again and again until a tail is rejected) errs far more "
        "often than it says, see the last table: published-doubling runs it, beside tests that "
        "keep their error after every look (kappa-test, exact-binomial).",
        "Eq. 5 has a sign error: the lower end is (P(w) - a)/(1 - a), not (P(w) - a)/(1 + a), "
        "which is valid but too low; and k'/n' is itself an estimate, which Eq. 7 takes for the "
        "truth. Ours puts Clopper-Pearson ends in its place; undecided inputs widen it.",
        "An attack failure rate is an upper bound on robust accuracy: an attack that finds nothing "
        "proves nothing. The share of inputs that rarely fail under random perturbations is no "
        "lower bound on it either.",
    )


def _published_sheet(ours: Sequence[Row]) -> Sheet:
    """The numbers of the paper, of other networks and other data, beside those of each model."""
    first = [row for row in ours if [row[n] for n in _HEAD] == [ours[0][n] for n in _HEAD]]
    shown = (
        "*training=network; *model; accuracy:percent; published=published_accuracy:percent; "
        "withstood PGD=pgd:percent; published=published_pgd:percent; "
        "declared robust=observed:percent; published=published_observed:percent"
    )
    note = (
        "About other networks and data: a difference says something only where a model is named "
        "like its training and is the same. Theirs is at kappa 1e-4; neither the radius nor the "
        "steps of PGD are stated. The text has 48.59 for MART."
    )
    title = "As published (CIFAR-10, their networks), beside ours"
    return Sheet(title, shown, beside(published("mu-lim table 1"), first, "network"), note)


def _rule_sheet(error: float) -> Sheet:
    """How often the published stopping rule declares an input robust that is just not."""
    looks = {
        "after every trial": range(1, _RULE_TRIALS + 1),
        "at twice as many trials each time": doubling(round(1 / _RULE_KAPPA), _RULE_TRIALS),
        "once, at the end": [_RULE_TRIALS],
    }
    rows = tuple(
        {"looks": name, "robust": falsely_robust(_RULE_KAPPA, error, at)}
        for name, at in looks.items()
    )
    note = (
        f"Computed exactly at a failure probability of exactly kappa = {_RULE_KAPPA:g}, at most "
        f"{_RULE_TRIALS:,} trials; {percent(error)} is promised. The longer the rule may go on, "
        "the more often it errs."
    )
    shown = "*looks; declared robust=robust:percent"
    title = "The published stopping rule, where it must not declare robust"
    return Sheet(title, shown, rows, note)
