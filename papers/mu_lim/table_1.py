"""Table 1: accuracy, attack failure rate, and the share of inputs that fail rarely."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil, floor, inf
from typing import TYPE_CHECKING, Any

from papers.exhibit import Column, Exhibit, Sheet
from papers.mu_lim.published import published_sheet
from papers.mu_lim.stopping_rule import rule_sheet
from papers.request import Request
from surefoot.catalogue.methods import PGD, Attack
from surefoot.commands.methods import SIL, kappa_method
from surefoot.commands.options import KappaOptions
from surefoot.commands.values import as_perturbation, as_property, error_from
from surefoot.core.claims import About, Sampling
from surefoot.core.results import Bracket, Decision, Estimate, Interval
from surefoot.errors import InvalidArgument, MissingPackage, ModelFailed
from surefoot.inputs import Selection
from surefoot.population.mean import share_of_inputs
from surefoot.report.formatting import confidence, of_perturbations, percent, percent_range
from surefoot.study import Study
from surefoot.study.load_files import load_files, select

if TYPE_CHECKING:
    from surefoot.core.claims import Claim
    from surefoot.study import Result
    from surefoot.subject.inputs import Inputs
    from surefoot.subject.protocols import Model

_QUICK = Attack(starts=1, iterations=10)
"""Our own attack in the quick version."""


def make(request: Request) -> Exhibit:
    """One row for each model, perturbation and kappa."""
    request.refuse_correct_only()
    models, inputs = _loaded(request)
    error = error_from(request.options["confidence"])
    rows: list[dict[str, Any]] = []
    empty: list[str] = []
    results: dict[str, Result] = {}
    for name, model in models.items():
        for perturb in request.options["perturb"]:
            request.caller.announce(f"{name}, {perturb}")
            run = _runner(request, model, inputs, perturb)
            attacks, why = _attacked(run, request)
            empty += [f"{name}, {perturb}: no attack, because {why}."] if why else []
            results |= {f"{name}, {perturb}, {what}": r for what, r in attacks.items()}
            for kappa in request.options["kappa"]:
                test = KappaOptions(kappa=kappa, confidence=request.options["confidence"])
                result = run(kappa_method(test))
                results[f"{name}, {perturb}, kappa {kappa:g}"] = result
                rows.append(_row(name, perturb, kappa, result, attacks, error))
    return Exhibit(
        name=request.part.name,
        title="Table 1: accuracy, attack failure rate, and the share of inputs that fail under at "
        "most kappa",
        lines=(_seen(rows), *empty, *_departures(request, rows)),
        sheets=(
            Sheet(_TITLE, _columns(request), tuple(rows), _note(rows, error)),
            Sheet("From k′/n′ to the share of the population", _BOUNDS, tuple(rows), _EQ_7),
            published_sheet(),
            rule_sheet(error),
        ),
        results=results,
    )


def _loaded(request: Request) -> tuple[dict[str, Model], Inputs]:
    """The models, and the inputs that all of them are given.

    The quick version takes a few random inputs, where none were chosen, or all if there are fewer.
    """
    needs, files = as_property(request.options["property"]).needs, request.files
    loaded, inputs = load_files(
        files, list(request.models.values()), request.data, request.seed, needs
    )
    images = request.options.get("images")
    if images is not None and not (files.first or files.random or files.classes):
        few, available = int(images[0]), len(set(inputs.groups)) or len(inputs)
        if few > available and images != request.part.quick["images"]:
            raise InvalidArgument(
                f"images (--images) {few}: {inputs.source} has {available}; write {available} or "
                "less, or leave it out"
            )
        if few < available:
            inputs = select(inputs, loaded, Selection(random=few, seed=request.seed))
    return dict(zip(request.models, loaded, strict=True)), inputs


def _attacked(run: Callable[[Any], Result], request: Request) -> tuple[dict[str, Result], str]:
    """PGD as published and our own attack, by the key of their column; or why there is none."""
    effort = {n: request.options[f"attack_{n}"] for n in ("step", "iterations", "starts")}
    attacks = {"pgd": PGD(**effort), "margin": _QUICK if request.quick else Attack()}
    try:
        return {key: run(attack) for key, attack in attacks.items()}, ""
    except (InvalidArgument, MissingPackage, ModelFailed) as error:
        return {}, str(error)


def _runner(
    request: Request, model: Model, inputs: Inputs, perturb: str
) -> Callable[[Any], Result]:
    """Runs a method on this model: the same inputs and perturbation for all methods.

    Nothing is said of single classes, so that the whole error is spent on the population.
    """
    prop = as_property(request.options["property"])
    noise = as_perturbation(perturb, inputs.frame)
    store = None if request.store is None else str(request.store)

    def run(method: Any) -> Result:  # noqa: ANN401  any method
        study = Study(
            model, inputs, noise, method, property=prop, seed=request.seed, by_class=False
        )
        with request.caller.display("inputs") as watch:
            return study.run(store, workers=request.workers, on_progress=watch)

    return run


def _row(
    name: str,
    perturb: str,
    kappa: float,
    result: Result,
    attacks: Mapping[str, Result],
    error: float,
) -> dict[str, Any]:
    """What is known of one model at one kappa; every interval is of the population."""
    share = _share_claim(result)
    local = [row.result for row in result.inputs]
    robust = sum(isinstance(r, Decision) and r.holds for r in local)
    undecided = sum(not isinstance(r, Decision) for r in local)
    n = len(local)
    row: dict[str, Any] = {"model": name, "perturb": perturb, "kappa": kappa}
    row |= _rate("accuracy", result, [r.label == r.predicted for r in result.inputs], error)
    for key, attack in attacks.items():
        held = [isinstance(r.result, Bracket) and r.result.high == inf for r in attack.inputs]
        row |= _rate(key, result, held, error)
    return row | {
        "declared": robust,
        "inputs": n,
        "observed": robust / n,
        "share_between": share.interval,
        "printed": Interval(
            max(0.0, (robust / n - error) / (1 + error)), min(1.0, robust / n / (1 - error))
        ),
        "undecided": undecided,
        "trials": result.record.trials,
    }


def _rate(key: str, result: Result, true: list[bool], error: float) -> dict[str, Any]:
    """The share of these inputs, and an interval for that of the population.

    There is no accuracy without labels.
    """
    if key == "accuracy" and any(row.label is None for row in result.inputs):
        return {key: None, f"{key}_between": None}
    groups = [row.group for row in result.inputs]
    sampling = _share_claim(result).about.sampling or Sampling.INDEPENDENT
    known = share_of_inputs(true, groups, sampling, error)
    around = known.interval if isinstance(known, Estimate) else None
    return {key: sum(true) / len(true), f"{key}_between": around}


def _share_claim(result: Result) -> Claim:
    """What is claimed of the share of the population that fails under at most kappa."""
    return next(
        claim
        for claim in result.claims
        if claim.kind == "share_kappa" and claim.about.of is About.POPULATION
    )


_EQ_7 = "Eq. 7 as printed takes k′/n′ for the truth: it has no error over inputs, and is no claim."
_TITLE = "Accuracy, attacks and probabilistic robustness"


def _outwards(interval: Interval) -> str:
    """An interval in whole percent, which contains it: 75–98 %."""
    return f"{floor(100 * interval.low):g}–{ceil(100 * interval.high):g} %"


_PERTURBATION = Column("perturbation", "perturb", is_name=True)
_COLUMNS = (
    Column("model", "model", is_name=True),
    Column("kappa", "kappa"),
    Column("accuracy", "accuracy", percent),
    Column("interval", "accuracy_between", _outwards),
    Column("withstood PGD", "pgd", percent),
    Column("interval", "pgd_between", _outwards),
    Column("withstood ours", "margin", percent),
    Column("interval", "margin_between", _outwards),
    Column("declared robust", "observed", percent),
    Column("share robust", "share_between", _outwards),
)
_BOUNDS = (
    Column("model", "model", is_name=True),
    Column("kappa", "kappa"),
    Column("inputs n′", "inputs"),
    Column("robust k′", "declared"),
    Column("undecided", "undecided"),
    Column("trials", "trials"),
    Column("Eq. 7 as printed", "printed", percent_range),
    Column("ours", "share_between", percent_range),
)


def _columns(request: Request) -> tuple[Column, ...]:
    """The perturbation stands in the table where there are several."""
    several = len(request.options["perturb"]) > 1
    return (_COLUMNS[0], _PERTURBATION, *_COLUMNS[1:]) if several else _COLUMNS


def _seen(rows: list[dict[str, Any]]) -> str:
    """What is seen of each model at the first kappa, and where the two columns disagree."""
    first = [row for row in rows if row["kappa"] == rows[0]["kappa"]]
    parts = []
    for row in first:
        between = row["share_between"]
        share = "an unknown share" if between is None else percent_range(between)
        withstood = f"{percent(row['pgd'])} of the inputs withstand PGD, " if "pgd" in row else ""
        parts.append(f"{row['model']}, {withstood}{share} of such inputs fail rarely")
    seen = (
        f"{'; '.join(parts)}: under at most {of_perturbations(rows[0]['kappa'])}, if these "
        "inputs are a random sample."
    )
    known = [r for r in rows if r["share_between"] and r.get("pgd_between")]
    above = sum(r["share_between"].low > r["pgd_between"].high for r in known)
    if not above:
        return seen
    every = "every row" if above == len(rows) else f"{above} of {len(rows)} rows"
    return (
        f"{seen} In {every} that share lies above the one that withstands PGD: the two answer "
        "different questions."
    )


def _departures(request: Request, rows: list[dict[str, Any]]) -> tuple[str, ...]:
    """Where we depart from the paper, and why."""
    of_label = (
        "correctness (the true label), as in the paper's table"
        if request.options["property"] == "true"
        else "stability (the label of the clean input), as in the paper's definitions"
        if request.options["property"] == "same"
        else f"the property {request.options['property']}"
    )
    limits = {limit: f"SIL {level}" for level, limit in SIL.items()}
    presets = [kappa for kappa in dict.fromkeys(r["kappa"] for r in rows) if kappa in limits]
    lines = [
        f"Robust here means {of_label}. The paper defines stability and tabulates correctness; "
        "--property same or true chooses.",
        "The published stopping rule (test again and again until a tail is rejected) is not used: "
        "it errs far more often than it says, see the last table. Here each input is decided by a "
        "test that may look after every trial (kappa-test), or stays undecided.",
        "Eq. 5 has a sign error: the lower end is (P(w) - a)/(1 - a), not (P(w) - a)/(1 + a), "
        "which is valid but too low; and k'/n' is itself an estimate, which Eq. 7 takes for the "
        "truth. Ours puts Clopper-Pearson ends in its place; undecided inputs widen it.",
        "An attack failure rate is an upper bound on robust accuracy: an attack that finds nothing "
        "proves nothing. The share of inputs that rarely fail under random perturbations is no "
        "lower bound on it either.",
    ]
    lines += [
        f"Kappa {kappa:g} is numerically the {limits[kappa]} low-demand limit of IEC 61508: a "
        "number, not a certificate."
        for kappa in presets
    ]
    return tuple(lines)


def _note(rows: list[dict[str, Any]], error: float) -> str:
    n, perturbs = rows[0]["inputs"], " and ".join(dict.fromkeys(r["perturb"] for r in rows))
    return (
        f"Of {n:,} inputs under {perturbs}. Intervals are for the population, if the inputs are a "
        f"random sample of it, each at {confidence(error)} by itself. Withstood: the attack found "
        "no point of the ball that fails; every point counted was run again through the model "
        "itself. The upper end of its interval bounds the robust accuracy of the population from "
        "above. Undecided inputs are declared neither robust nor fragile."
    )
