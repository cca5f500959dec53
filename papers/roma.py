"""RoMA: a rare confident mistake, extrapolated from the scores, always beside the count."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import logsumexp, ndtr
from scipy.stats import binomtest

import surefoot as sf
from papers import charts, words
from papers.exhibit import Exhibit, Row, Sheet, beside, published
from papers.paper import InvalidArgument, Paper, Request, error_of, exact_interval
from papers.words import Interval, confidence, percent, percent_range, small_probability

PAPER = Paper(
    "roma",
    "Natan Levy and Guy Katz",
    "RoMA: a Method for Neural Network Robustness Measurement and Assessment",
    "arXiv:2110.11088, 2021",
    "Fits a normal distribution to the scores of perturbed inputs and extrapolates the "
    "probability of a confident mistake.",
)
_NO_GUARANTEE = (
    "Extrapolated numbers come from a normal distribution fitted to the scores: they have no "
    "guarantee. They average over the inputs whose scores a normal fitted, whose share is the "
    "completeness; the counted numbers are of all inputs and hold with the stated confidence."
)
_COMPLEMENT = (
    "The paper's Definition 3 and line 11 of its algorithm give the complement of what is meant; "
    "here plr is the probability that no confident mistake happens, as in its text."
)


COLUMNS = (
    "inputs; completeness:percent; plr, extrapolated=failure:plr; variance:variance; "
    "counted failure probability=counted:percent; interval of the counted=interval:range"
)
"""What RoMA prints, and beside it the count with its interval."""


def row_of(whole: Any, inputs: int) -> Row:
    """The values of the columns; those of the extrapolation are missing where none was made."""
    row: Row = {"inputs": inputs, "completeness": 0.0}
    if isinstance(whole, sf.results.ExtrapolatedMean):
        own = ("completeness", "failure", "variance", "fitted", "contradicted")
        row |= {name: getattr(whole, name) for name in own}
    counted = sf.population.sound(whole)
    if isinstance(counted, sf.results.Estimate):
        row |= {"counted": 1 - counted.value, "interval": failing(counted)}
    return row


def failing(counted: sf.results.Estimate) -> Interval:
    """The interval of failing, from that of being kept."""
    low, high = 1 - counted.interval.high, 1 - counted.interval.low
    return Interval(max(0.0, low), min(1.0, high))


def _words_of(row: Row) -> str:
    """One average in words: extrapolated, completeness, counted with its interval."""
    counted = ""
    if "interval" in row:
        counted = f"by count {percent(row['counted'])} fail ({percent_range(row['interval'])})"
    if "failure" not in row:
        return f"no extrapolation; {counted}"
    return (
        f"extrapolated failure probability {small_probability(row['failure'])} over the "
        f"{percent(row['completeness'])} of inputs that were fitted; {counted}"
    )


def _tail(request: Request, model: Any, **more: Any) -> sf.Result:
    """`sf.tail` with the perturbation, the limit, the trials and the inputs of the request."""
    perturb, *_ = request.options["perturb"]
    own = {n: request.options[n] for n in ("limit", "draws", "confidence") if n in request.options}
    return request.run("tail", model, perturb, **own, **_number_of_inputs(request), **more)


def _number_of_inputs(request: Request) -> dict[str, int]:
    """As many first inputs as the option `images` says, of those that the user chose."""
    images, files = request.options.get("images"), request.files
    if images is None:
        return {}
    most, way = int(images[0]), "random" if files.get("random") else "first"
    return {way: min(files.get(way, most), most)}


# Figures 1 and 2: scores of one input, raw and after Box-Cox, with the fit and the limit


def recomputed(name: str, *printed: float | None) -> Row:
    """One of the paper's examples: the fit that it prints, its z and its failure probability.

    `printed`: mean, deviation, limit, λ of Box and Cox, z, failure. Recomputed from the first four:
    the limit, transformed as the scores were, z with its sign, and the probabilities to stay below
    the limit (plr) and to reach it (failure).
    """
    keys = ("mean", "deviation", "limit", "power", "published_z", "published_failure")
    row: Row = {"name": name, **dict(zip(keys, printed, strict=True))}
    if row["power"] is not None:
        row["limit"] = (row["limit"] ** row["power"] - 1) / row["power"]
    z = (row["limit"] - row["mean"]) / row["deviation"]
    return row | {"z": z, "plr": float(ndtr(z)), "failure": float(ndtr(-z))}


FIGURE_1 = recomputed("Figure 1", 0.473, 0.053, 0.6, None, 2.396, 0.008288)
"""Section 3.2: N(0.473, 0.053²), δ = 0.6; printed plr 0.991712."""
FIGURE_2B = recomputed("Figure 2b", -0.33, 0.020, 0.6, 0.257, 7.45, 4.66e-14)
"""Section 3.3: λ = 0.257, N(−0.33, 0.020²); printed Z-score 7.45 and plr 1 − 4.66e-14."""
_OF_PAPER = {
    "Figure 1": "The paper's 1 - plr is from the rounded z.",
    "Figure 2b": "The published plr needs the other sign of z: with the paper's own numbers nearly "
    "every perturbation is a confident mistake.",
}
_COMMON: Row = {"perturb": ("linf:0.04",), "limit": 0.6, "draws": 10_000, "images": (100,)}
_ONE: Row = _COMMON | {"input": None}
_AVERAGE: Row = _COMMON | {"confidence": 0.95}
_QUICK = {"perturb": ("linf:0.15",), "draws": 100, "images": (20,)}
_FITS = (
    "*model; *input; *transform; mean:.3g; deviation:.3g; z:.3g; A²=statistic:.3g; p; "
    "extrapolated=failure:small; interval of the counted=interval:range"
)
_EXAMPLES = (
    "*example=name; mean; deviation; limit, transformed=limit; z, recomputed=z; "
    "z, published=published_z; 1 - plr, recomputed=failure:.6g; "
    "1 - plr, published=published_failure:.6g"
)


def _fits(row: Any) -> Sequence[Any]:
    """The normal distributions that were fitted to the scores of an input."""
    return getattr(row.result, "fits", ())


@PAPER.exhibit("figure 1", "Scores of an input that are normal as they are", _ONE, quick=_QUICK)
def figure_1(request: Request) -> Exhibit:
    """The first input whose scores are normal as they are."""
    return _scores(request, FIGURE_1, "normal as they are", lambda fits: fits[0].accepted)


@PAPER.exhibit(
    "figure 2", "Scores of an input that are normal only after Box-Cox", _ONE, quick=_QUICK
)
def figure_2(request: Request) -> Exhibit:
    """The first input whose scores are normal after Box-Cox and not before."""
    only_after = "normal after Box-Cox alone"
    return _scores(
        request, FIGURE_2B, only_after, lambda fits: not fits[0].accepted and fits[-1].accepted
    )


def _scores(
    request: Request, example: Row, kind: str, fitting: Callable[[Sequence[Any]], bool]
) -> Exhibit:
    drawn, rows, lines, results = {}, list[Row](), [], {}
    for name, model in request.models.items():
        results[name], without = _shown(request, model, fitting)
        (row,) = results[name].inputs
        counted = getattr(row.result, "counted", None)
        tail = row.result if isinstance(row.result, sf.results.Extrapolation) else None
        outcome = "No extrapolation."
        if tail is not None:
            outcome = (
                f"Extrapolated failure probability {small_probability(tail.failure)}: an "
                "extrapolation of a fitted model, without guarantee."
            )
        if counted is not None:
            outcome += (
                f" By count it fails under {percent_range(failing(counted))} of the perturbations "
                f"(confidence {confidence(counted.guarantee.error)}, this input by itself)."
            )
        note = ""
        if without:
            note = (
                f" None of the {without:,} inputs studied has scores that the test calls {kind}: "
                "shown is the one that comes nearest."
            )
        lines.append(f"{name}: input {row.id}. {outcome}{note}")
        for fit in _fits(row):
            values = {n: v for n, v in vars(fit).items() if n != "scores"}
            values |= {"transform": words.transform(fit), "p": _p_words(fit)}
            if tail is not None and fit.accepted:
                values["failure"] = tail.failure
            if counted is not None:
                values["interval"] = failing(counted)
            rows.append({"model": name, "input": row.id, **values})
        if _fits(row):
            panels = "; ".join(map(_fit_words, _fits(row)))
            drawn[f"{name}, {row.id}: {panels}. {outcome}"] = charts.score_chart(_fits(row))
    note = (
        "A²: Anderson and Darling's statistic; p: of normality. An extrapolation has no guarantee; "
        "the interval of the count holds with the stated confidence, for this input by itself."
    )
    again = "The paper's example is of another network; it is recomputed from its own numbers."
    return Exhibit.of(
        *lines,
        _OF_PAPER[example["name"]],
        _COMPLEMENT,
        sheets=(
            Sheet("Fits", _FITS, rows, note),
            Sheet("The paper's example, recomputed", _EXAMPLES, (example,), again),
        ),
        charts=drawn,
        results=results,
    )


def _p_words(fit: Any) -> str:
    return f"< {fit.p_value:.0e}" if fit.p_is_bound else words.p_value(fit.p_value)


def _fit_words(fit: Any) -> str:
    """Mean, deviation, z and the test of one fit."""
    outcome, p = "not rejected" if fit.accepted else "rejected", _p_words(fit)
    power = "" if fit.power is None else f", λ = {fit.power:.3g}"
    return (
        f"{words.transform(fit)}{power}: mean {fit.mean:.4g}, deviation {fit.deviation:.4g}, z = "
        f"{fit.z:.3g}, normality {outcome} at {100 * fit.level:.9g} % (Anderson-Darling, p "
        f"{p if p.startswith('<') else f'= {p}'})"
    )


def _shown(
    request: Request, model: Any, fitting: Callable[[Sequence[Any]], bool]
) -> tuple[sf.Result, int]:
    """The input named, or the first that fits, studied alone; and of how many none fits, or 0."""
    wanted, without = request.options["input"], 0
    single = replace(request, models={"": model})
    if wanted is None:
        searched = _tail(single, model).inputs
        usable = [row for row in searched if _fits(row)] or list(searched)
        fitted = [row for row in usable if _fits(row) and fitting(_fits(row))]
        nearest = max(usable, key=lambda row: max((f.p_value for f in _fits(row)[:1]), default=0))
        without, wanted = 0 if fitted else len(searched), (fitted or [nearest])[0].id
        first = {n: v for n, v in _number_of_inputs(single).items() if n == "first"}
        single = replace(single, files={**single.files, **first})
    loaded, inputs = single.load()
    if wanted not in inputs.ids:
        raise InvalidArgument(
            f"there is no input {wanted!r} among the {len(inputs):,} chosen: the first is "
            f"{inputs.ids[0]}; name one of them"
        )
    one = inputs.subset([inputs.ids.index(wanted)])
    own = {n: v for n, v in request.options.items() if n != "images"}
    alone = replace(single, data=one, files={}, store=None, options=own)
    return _tail(alone, loaded[""]), without


# Table 1

_ACCURACY = (
    "*model; inputs; accuracy:percent; interval of the accuracy=interval:range; "
    "loss:.4g; inputs of infinite loss=infinite"
)


@PAPER.exhibit("table 1", "Accuracy and loss of the models", {"confidence": 0.95})
def table_1(request: Request) -> Exhibit:
    """One row a model: no trials, the clean inputs alone."""
    request.refuse_correct_only()
    models, inputs = request.load()
    error, rows = error_of(request.options["confidence"]), list[Row]()
    nothing = sf.perturb.GaussianNoise(0.0), sf.methods.Okamoto(0.5, 0.5)
    for name, model in models.items():
        study = sf.Study(model, inputs, *nothing)  # not run: it reads the clean inputs
        labels = study.fitted.labels
        if labels is None or not study.has_classes:
            raise InvalidArgument(
                f"accuracy and loss of {name} need labels and a model with class scores: add "
                "labels to the data"
            )
        n, right = len(labels), int((study.predicted == labels).sum())
        row = {"model": name, "inputs": n, "accuracy": right / n}
        row["interval"] = exact_interval(right, n, error)
        rows.append({**row, **_loss(study.clean, labels, model.signature.scores)})
    shown = (
        "*network; *model; accuracy:percent; published=published_accuracy:percent; loss:.4g; "
        "published=published_loss:.4g"
    )
    printed = beside(published("roma table 1"), rows, "network")
    return Exhibit.of(
        _best(rows),
        f"The interval of the accuracy is Clopper and Pearson's (confidence "
        f"{confidence(error)}, each model by itself, if the inputs are an independent random "
        "sample). A loss has no upper bound, so that no sample gives an interval for its mean "
        "without a further assumption.",
        sheets=(
            Sheet("Models", _ACCURACY, rows),
            Sheet("Published: other networks, on CIFAR10, beside ours", shown, printed),
        ),
    )


def _loss(scores: Any, labels: Any, kind: str) -> Row:
    """The mean cross-entropy; none where a label is no class, or a true class has probability 0."""
    if not ((labels >= 0) & (labels < scores.shape[1])).all():
        return {"loss": None, "infinite": None}
    exact = np.asarray(scores, dtype=np.float64)
    own = exact[np.arange(len(exact)), labels]
    with np.errstate(divide="ignore"):
        each = logsumexp(exact, axis=1) - own if kind == "logits" else -np.log(own.clip(0, 1))
    infinite = int(np.isinf(each).sum())
    return {"loss": None if infinite else float(each.mean()), "infinite": infinite or None}


def _best(rows: Sequence[Row]) -> str:
    """The model that is right most often, or all that are; nothing is said of the population."""
    most = max(row["accuracy"] for row in rows)
    best = " and ".join(row["model"] for row in rows if row["accuracy"] == most)
    of_all = ", the most of these models" if len(rows) > 1 else ""
    return f"{best}: right on {percent(most)} of {rows[0]['inputs']:,} clean inputs{of_all}."


# Figures 3 and 4, Table 2: averages by level, by model and by class


@PAPER.exhibit(
    "figure 3",
    "Extrapolated and counted failure probability against the level",
    _AVERAGE | {"perturb": ("linf",), "levels": (0.01, 0.02, 0.03, 0.04, 0.05, 0.06)},
    quick={"levels": (0.05, 0.1, 0.2), "draws": 100, "images": (8,)},
)
def figure_3(request: Request) -> Exhibit:
    """One row a model and a level, one figure a model."""
    rows, drawn, lines, results = list[Row](), {}, [], {}
    for name, model in request.models.items():
        results[name] = result = _tail(request, model, levels=tuple(request.options["levels"]))
        drawn[
            f"{name}: counted failure probability with its interval, and the extrapolated average"
        ] = result.plot()
        details: Any = result.details
        own = {
            member.name: {"model": name, "level": member.level}
            | row_of(member.whole, len(result.parts[member.name].inputs))
            for member in details.members
            if member.whole is not None
        }
        rows += own.values()
        for level in [*own][:1] + [*own][-1:]:
            lines.append(f"{name} at {level}: {_words_of(own[level])}.")
    return Exhibit.of(
        *lines,
        _NO_GUARANTEE,
        _COMPLEMENT,
        "The paper prints the averages alone. Where the completeness falls, the average is of "
        "ever fewer inputs, and those that are left out are not a random part.",
        title="Figure 3: robustness against the level",
        sheets=(Sheet("Results by level", f"*model; level; {COLUMNS}", rows),),
        charts=drawn,
        results=results,
    )


@PAPER.exhibit(
    "figure 4",
    "Models side by side",
    _AVERAGE,
    quick={"perturb": ("linf:0.15",), "draws": 150, "images": (10,)},
)
def figure_4(request: Request) -> Exhibit:
    """One row a model; two models or more are compared by their counts."""
    results: Mapping[str, sf.Result]
    results = parts = {name: _tail(request, model) for name, model in request.models.items()}
    found: dict[str, Any] = {name: part.details for name, part in parts.items()}
    rows = {name: row_of(found[name].whole, len(part.inputs)) for name, part in parts.items()}
    lines = [
        f"One model alone is not compared. {name}: {_words_of(row)}." for name, row in rows.items()
    ]
    if len(parts) > 1:
        whole = sf.compare(parts)
        results = {"models side by side": whole}
        ranking = (sf.claims.Best, sf.claims.FailureDifference)
        lines = sf.sentences([c for c in whole.claims if isinstance(c, ranking)])
    counted = [
        {"name": name, "value": 100 * row["counted"], "low": 100 * row["interval"].low,
         "high": 100 * row["interval"].high,
         "extrapolated": 100 * row["failure"] if "failure" in row else None}
        for name, row in sorted(rows.items(), key=lambda pair: pair[1].get("counted", 1.0))
        if "interval" in row
    ]  # fmt: skip
    caption = (
        "Dot: counted over the inputs. Line: interval for the population. Diamond: the "
        "extrapolated average, without guarantee."
    )
    own = tuple({"model": name, **row} for name, row in rows.items())
    return Exhibit.of(
        *lines,
        _NO_GUARANTEE,
        _COMPLEMENT,
        "The paper ranks by the extrapolated averages, each over other inputs; here models are "
        "compared by their counts on the same inputs and perturbations.",
        sheets=(Sheet("Models", f"*model; {COLUMNS}", own),),
        charts={caption: charts.interval_chart(counted, "counted failure probability (%)")},
        results=results,
    )


TABLE_2 = published("roma table 2")
"""VGG16-10 on the 10,000 CIFAR10 test images, 1,000 a class, δ = 0.6, ε = 0.04: 1 less the printed
average, and the variance."""
_PAIRS = (
    "*model; *class=first; *and class=second; fails more (points)=difference:points; "
    "permutation p=permutation:p; Welch p=welch:p; the paper's binomial p=binomial:p"
)
_PUBLISHED_2 = (
    "*class=published_class; *model; *ours of=class; extrapolated failure=failure:small; "
    "published=published_failure:small; variance:variance; published=published_variance:variance"
)


@PAPER.exhibit(
    "table 2",
    "Results by class: average, variance and completeness, beside the count",
    _AVERAGE | {"draws": 1000, "images": None},
    quick={"perturb": ("linf:0.15",), "draws": 60, "images": (40,)},
)
def table_2(request: Request) -> Exhibit:
    """One row a model and a class, then every pair of classes."""
    rows, pairs, lines, results = list[Row](), list[Row](), list[str](), {}
    for name, model in request.models.items():
        results[name] = result = _tail(request, model)
        details: Any = result.details
        of_all = row_of(details.whole, len(result.inputs))
        rows += [{"model": name, "class": c.name, **row_of(c.result, c.inputs)}
                 for c in details.classes]  # fmt: skip
        rows.append({"model": name, "class": "all", **of_all})
        trials = _trials_of_classes(result)
        pairs += [
            {"model": name, "first": c.first, "second": c.second, "difference": -c.difference,
             "permutation": c.permutation, "welch": c.welch,
             "binomial": binomial_p(trials[c.first], trials[c.second])}
            for c in sorted(details.contrasts, key=lambda c: c.permutation)
        ]  # fmt: skip
        differ = [c for c in result.claims if isinstance(c, sf.claims.ClassesDiffer)]
        lines += [f"{name}: {line}" for line in (*sf.sentences(differ), f"{_words_of(of_all)}.")]
    alike = {row["class"] for row in rows} & {row["class"] for row in TABLE_2}
    theirs = [{**row, "of": row["class"] if alike else "all"} for row in TABLE_2]
    printed = beside(theirs, [{**row, "of": row["class"]} for row in rows], "of")
    holm = (
        "p-values are adjusted for all pairs (Holm), but those of the paper's test. The "
        "permutation test is exact where two classes have the same distribution of values."
    )
    title = "Published: VGG16-10 on CIFAR10, another network and other images, beside ours"
    together = "The intervals hold for the classes and all inputs of a model together."
    return Exhibit.of(
        *lines,
        _NO_GUARANTEE,
        _COMPLEMENT,
        dog_line(),
        "The paper's binomial test between two classes takes all trials of a class for one sample. "
        "Trials of the same input are no sample of its class, so that it calls classes different "
        "that are alike; relabelling whole inputs does not, and only that is claimed.",
        title="Table 2: results by class",
        sheets=(
            Sheet("Results by class", f"*model; *class; {COLUMNS}", rows, together),
            *([Sheet("Do classes differ?", _PAIRS, tuple(pairs), holm)] if pairs else []),
            Sheet(title, _PUBLISHED_2, printed),
        ),
        results=results,
    )


def _trials_of_classes(result: sf.Result) -> dict[str, tuple[int, int]]:
    """Failed and all trials of the inputs of each class, by its name."""
    name_of, counts = result.record.study.inputs.class_name, dict[str, tuple[int, int]]()
    for row in result.inputs:
        counted = getattr(row.result, "counted", None)
        name = name_of((row.predicted or 0) if row.label is None else row.label)
        failed, trials = counts.get(name, (0, 0))
        if counted is not None:
            failed += round((1 - counted.value) * counted.trials)
            trials += counted.trials
        counts[name] = failed, trials
    return counts


def binomial_p(one: tuple[int, int], other: tuple[int, int]) -> float | None:
    """Of all failures of two classes, those of the first against its share of the trials."""
    failed, trials = one[0] + other[0], one[1] + other[1]
    return float(binomtest(one[0], failed, one[1] / trials).pvalue) if failed else None


def dog_line() -> str:
    """Which class of the paper's table is the most robust."""
    failures = {row["class"]: row["failure"] for row in TABLE_2}
    best = min(failures, key=lambda name: failures[name])
    least, bird = failures[best], failures["Bird"]
    return (
        f"In the paper's table {best} is the most robust class, 1 - plr = {least:.2g}; that of "
        f"Bird is {bird / least:.0f} times as large, where the text says that the robustness of "
        "Bird is more than ten times that of Dog."
    )
