"""Bu & Sun: the probability that a label is kept, with a fixed width and few trials. Its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

import surefoot as sf
from papers.exhibit import Exhibit, Row, Sheet, beside, printed, published
from papers.paper import InvalidArgument, Paper, Request, numbers, whole
from papers.words import Interval, percent, spread

PAPER = Paper(
    "bu-sun",
    "Hao Bu and Meng Sun",
    "Measuring Robustness of Deep Neural Networks from the Lens of Statistical Model Checking",
    "IJCNN 2023",
    "Estimates how often the label of one image is kept, to a fixed width, with fewer "
    "trials than Okamoto's bound; and compares networks by their mean over few images.",
)
Floats = NDArray[np.float64]
PAIRS = ("0.05,0.05", "0.03,0.03", "0.01,0.01", "0.003,0.001", "0.002,0.001", "0.001,0.001")
GLASS, FOG, GAUSSIAN = "glass:5,size=small", "fog:5,size=small", "gaussian:0.1"
"""The constants of the paper: glass blur (0.4, 1, 2) and fog (1.5, 1.75) are severity 5 of small
images, Gaussian noise has a standard deviation of 0.1."""
CONTRAST = "contrast:0.5..1"
"""A factor of the contrast between 0 and 0.5, at random: the level is what is taken away."""
NAMES = {"ours": "exact sequential", "bu_sun": "Bu & Sun", "baseline": "baseline"}
KEYS = tuple(NAMES)
_METHODS = {"okamoto": "okamoto", "bu_sun": "bu-sun", "ours": "exact-sequential"}
"""The methods that estimate each image, by the key of their columns."""


@dataclass(frozen=True)
class Pair:
    """How far an estimate may be from the truth, and how often it may be farther."""

    width: float
    error: float

    def __post_init__(self) -> None:
        sf.statistics.Okamoto(self.width, self.error)  # refuses what is neither

    def __str__(self) -> str:
        return f"width {self.width:g}, error {self.error:g}"


def read_pairs(given: Sequence[object]) -> list[Pair]:
    """The pairs of `pairs` (`--pairs 0.05,0.05 --pairs 0.01,0.01`)."""
    pairs = []
    for one in given:
        ends = numbers("pairs", one)
        if len(ends) != 2:
            raise InvalidArgument(
                f"pairs (--pairs) takes a width and an error, 0.05,0.05, got {one!r}: give each "
                "pair by itself"
            )
        pairs.append(Pair(*ends))
    return pairs


def with_images(request: Request, *, right: bool = True, most: int | None = None) -> Request:
    """The request with its models and images loaded, at most `most` of these, drawn at random.

    `right`: only images that every model classifies correctly when clean, as in the paper.
    """
    models, inputs = request.load(**({"correct_only": True} if right else {}))
    if most is not None and most < len(inputs):
        rng = np.random.default_rng([request.seed, most])
        rows = np.sort(rng.permutation(len(inputs))[:most])
        words = f"{most} of {len(inputs)} inputs drawn at random (seed {request.seed})"
        inputs = chosen(inputs, rows, words)
    return replace(request, models=models, data=inputs, files={})


def chosen(inputs: Any, rows: Any, words: str) -> Any:
    """These inputs; `words` say which they are."""
    after = f", after: {inputs.selection}" if inputs.selection else ""
    return replace(inputs, selection=words + after).subset(rows)


def estimates(result: sf.Result) -> Floats:
    """The estimated probability of being kept of each image, in order."""
    rows = (row.result for row in result.inputs)
    return np.array([getattr(row, "value", np.nan) for row in rows])


# Table 1: trials over Okamoto's number. Its third Okamoto number is a misprint:
# ⌈ln(2/0.01) / (2 · 0.01²)⌉ is 26,492, as the text of the paper says too.

GRID = np.round(np.linspace(0, 1, 501), 3)
"""p = 0, 0.002, …, 1, as in the paper."""
LARGE_DESIGN = 100_000
"""Trials of a design whose exact expectation takes a tenth of a second or more at each p."""
_EVERY = 10
"""Of such a design every tenth p is computed: the curve is smooth, and a minute becomes seconds."""


def simulated(pair: Pair, repeats: int, seed: int) -> Floats:
    """Bu & Sun's mean trials at each p of the grid, over so many simulated runs."""
    rng = np.random.default_rng([seed, round(1 / pair.width), round(1 / pair.error)])
    method = sf.statistics.BuSun(pair.width, pair.error)
    means: Floats = simulate_bu_sun(method, GRID, repeats, rng).mean(axis=1)
    return means


def simulate_bu_sun(
    method: sf.statistics.BuSun, probabilities: Floats, runs: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Trials of each of `runs` runs (columns) at each p (rows), all of them at once.

    The method is asked once for each count that comes up.
    """
    p, counted = np.repeat(np.asarray(probabilities)[:, None], runs, axis=1), sf.methods.Counts
    trials = np.full(p.shape, sf.statistics.okamoto(method.width, method.error), dtype=np.int64)
    if method.width < 1 / 3:  # else it has no stages
        pilot = method.pilot_size
        sizes = [method.bracket_size(counted(pilot, k)) or 0 for k in range(pilot + 1)]
        second = np.array(sizes)[rng.binomial(pilot, p)]
        trials += pilot
        for size in np.unique(second[second > 0]).tolist():
            here = second == size
            counts, where = np.unique(rng.binomial(size, p[here]), return_inverse=True)
            last = np.array([method.final_size(counted(size, k)) for k in counts.tolist()])
            trials[here] = pilot + size + last[where]
    return trials


@lru_cache(maxsize=16)
def expected(pair: Pair) -> tuple[tuple[float, float], ...]:
    """Expected trials of the exact sequential method, exactly, at the values of p."""
    design = sf.statistics.design_for(pair.width, pair.error)
    every = _EVERY if design.looks[-1] > LARGE_DESIGN else 1
    half = GRID[: len(GRID) // 2 + 1 : every].tolist()
    points = [(p, sf.statistics.expected_trials(design, p)) for p in half]
    return (*points, *((round(1 - p, 3), trials) for p, trials in points[-2::-1]))


def limits(pair: Pair) -> Floats:
    """Trials that any sound method needs on average as the width goes to 0: z² p(1-p)/width²."""
    z = float(ndtri(pair.error / 2))
    return z**2 * GRID * (1 - GRID) / pair.width**2


def words_of_simulation(repeats: int) -> str:
    """How the numbers of Bu & Sun's method came about."""
    return (
        f"Bu & Sun, recomputed: means of {repeats:,} simulated runs at each p, as in the paper "
        "(100 there); max and min are over these means, and the largest of 501 noisy means is a "
        "little above the largest expectation."
    )


@PAPER.exhibit(
    "table 1",
    "Trials of an estimate over Okamoto's number, for six widths and errors",
    {"pairs": PAIRS, "repeats": 100},
    quick={"pairs": PAIRS[:3], "repeats": 20},
    needs=(),
)
def table_1(request: Request) -> Exhibit:
    """One row for each pair of width and error."""
    repeats, rows = request.options["repeats"], []
    for pair in read_pairs(request.options["pairs"]):
        request.announce(str(pair))
        okamoto = sf.statistics.okamoto(pair.width, pair.error)
        row: dict[str, Any] = {"width": pair.width, "error": pair.error, "okamoto": okamoto}
        row |= printed("bu-sun table 1", width=pair.width, error=pair.error)
        theirs = simulated(pair, repeats, request.seed)
        ours = np.array([trials for _, trials in expected(pair)])
        for name, trials in (("bu_sun", theirs), ("ours", ours)):
            ratios = trials / okamoto
            row[f"{name}_average"] = float(ratios.mean())
            row[f"{name}_largest"] = float(ratios.max())
            row[f"{name}_smallest"] = float(ratios.min())
        rows.append({**row, "limit": float(limits(pair).mean()) / okamoto})
    averages = (
        spread([100 * row[f"{who}_average"] for row in rows], lambda v: f"{v:.1f} %")
        for who in ("bu_sun", "ours")
    )
    title = (
        "Trials over Okamoto's number, for p = 0, 0.002, …, 1: Bu & Sun's method as published and "
        "recomputed, and the exact sequential method; average, max and min"
    )
    return Exhibit.of(
        "Averaged over p, Bu & Sun's method takes {} of Okamoto's number of trials, and the "
        "exact sequential method {}.".format(*averages),
        words_of_simulation(repeats),
        "Exact sequential: expected trials by an exact recursion, nothing simulated; where its "
        f"design has more than {LARGE_DESIGN:,} trials, at every tenth p.",
        "Limit: what any sound method needs on average as the width goes to 0, averaged over "
        "p; for a single p near 0 or 1 and a finite width it is not a bound.",
        "The paper prints 24692 for Okamoto's number at 0.01, 0.01; the right value, which its "
        "text has, is 26492.",
        title="Table 1: trials of an estimate, relative to Okamoto's number",
        sheets=(Sheet(title, _COLUMNS_1, rows),),
    )


_COLUMNS_1 = (
    "*width; *error; Okamoto=okamoto; published=published_okamoto; "
    "recomputed=bu_sun_average:.3f; published=published_average:.3f; max=bu_sun_largest:.3f; "
    "published=published_largest:.3f; min=bu_sun_smallest:.3f; published=published_smallest:.3f; "
    "exact=ours_average:.3f; max=ours_largest:.3f; min=ours_smallest:.3f; limit:.3f"
)


# Table 2: Okamoto, Bu & Sun and the exact sequential method on the same images

TABLE_2 = published("bu-sun table 2")
"""Its perturbations as texts; shot noise 20 is a level of 1/√20."""


def configurations(perturb: Sequence[str], pairs: Sequence[Pair]) -> list[tuple[str, Pair]]:
    """One pair for each perturbation, in order; a single pair or perturbation serves for all."""
    if len(pairs) != len(perturb) and 1 not in (len(pairs), len(perturb)):
        raise InvalidArgument(
            f"there are {len(perturb)} perturbations and {len(pairs)} pairs: give one pair "
            "(--pairs 0.05,0.05), or one for each perturbation"
        )
    most = max(len(perturb), len(pairs))
    return [(perturb[i % len(perturb)], pairs[i % len(pairs)]) for i in range(most)]


@PAPER.exhibit(
    "table 2",
    "Okamoto, Bu & Sun and the exact sequential method on the same images",
    {
        "perturb": tuple(row["perturb"] for row in TABLE_2),
        "pairs": tuple(f"{row['width']},{row['error']}" for row in TABLE_2),
        "images": (100,),
    },
    quick={"perturb": (GAUSSIAN,), "pairs": ("0.02,0.02",), "images": (6,)},
)
def table_2(request: Request) -> Exhibit:
    """One row for each model and configuration."""
    options, rows, results = request.options, list[Row](), dict[str, sf.Result]()
    several = configurations(options["perturb"], read_pairs(options["pairs"]))
    loaded = with_images(request, most=whole("images", request.only("images"), 1))
    for name, model in loaded.models.items():
        for perturb, pair in several:
            request.announce(f"{name}, {perturb}, {pair}")
            goal = {"each": pair.width, "confidence": 1 - pair.error}
            by_method = {  # draws of its own each, so that differences are not understated
                key: loaded.run(
                    "estimate", model, perturb, method=method, seed=seed, property="same", **goal
                )
                for seed, (key, method) in enumerate(_METHODS.items(), loaded.seed)
            }
            rows.append({"model": name, "perturb": perturb, **_row_2(pair, by_method)})
            results[f"{name}, {perturb}, {pair}"] = by_method["ours"]
    theirs, ours = (spread([r[f"{k}_ratio"] for r in rows], percent) for k in ("bu_sun", "ours"))
    largest = max(max(row["bu_sun_largest"], row["ours_largest"]) / row["width"] for row in rows)
    title = "Results: difference of an image from Okamoto's, average and largest"
    return Exhibit.of(
        f"Of Okamoto's trials Bu & Sun's method takes {theirs} and the exact sequential method "
        f"{ours}; the largest difference from Okamoto's result is {largest:.2f} times the width.",
        "Images are those that every given model classifies correctly when clean. Each method "
        "draws perturbations of its own: with common ones the differences would look smaller "
        "than they are.",
        "Two estimates of one image differ by more than twice the width with probability at most "
        "twice the error, each image by itself: a small difference is no proof of either result.",
        "The paper's ratio is of seconds; seconds of a short run here are mostly start-up, so "
        "that the ratio of trials is the one to read.",
        title="Table 2: three methods on the same images",
        sheets=(
            Sheet("Trials for all images; ratios to Okamoto's", _TRIALS, rows),
            Sheet("Seconds for all images; ratios to Okamoto's", _SECONDS, rows),
            Sheet(title, _DIFFERENCES, rows),
            Sheet(
                "Published (their networks, images and machine), beside ours",
                _PUBLISHED_2,
                beside(TABLE_2, rows, "perturb", "width", "error"),
                "Ours where perturbation, width and error are the same. Seconds of an image.",
            ),
        ),
        results=results,
    )


def _row_2(pair: Pair, by_method: Mapping[str, sf.Result]) -> Row:
    okamoto, claim = by_method["okamoto"], by_method["ours"].view.headline[0]
    row: dict[str, Any] = {"width": pair.width, "error": pair.error, "images": len(okamoto.inputs)}
    row |= {"mean": claim.value, "between": claim.interval}
    for key, result in by_method.items():
        trials, seconds = result.record.trials, result.record.seconds
        row |= {f"{key}_trials": trials, f"{key}_seconds": seconds}
        row[f"{key}_each"] = seconds / len(result.inputs)
        if key != "okamoto":
            apart, base = np.abs(estimates(result) - estimates(okamoto)), okamoto.record
            row[f"{key}_ratio"] = trials / base.trials
            row[f"{key}_time"] = seconds / base.seconds if base.seconds else None
            row |= {f"{key}_difference": float(apart.mean()), f"{key}_largest": float(apart.max())}
    return row


_NAMES_2 = "*model; *perturbation=perturb; *width; *error; "
_TRIALS = (
    f"{_NAMES_2}images; Okamoto: trials=okamoto_trials; Bu & Sun: trials=bu_sun_trials; "
    "ratio=bu_sun_ratio:.3f; exact sequential: trials=ours_trials; ratio=ours_ratio:.3f"
)
_SECONDS = (
    f"{_NAMES_2}Okamoto: seconds=okamoto_seconds:.2f; Bu & Sun: seconds=bu_sun_seconds:.2f; "
    "ratio=bu_sun_time:.3f; exact sequential: seconds=ours_seconds:.2f; ratio=ours_time:.3f"
)
_DIFFERENCES = (
    f"{_NAMES_2}mean failure=mean:percent; interval=between:range; Bu & Sun=bu_sun_difference:.4f; "
    "largest=bu_sun_largest:.4f; exact sequential=ours_difference:.4f; largest=ours_largest:.4f"
)
_PUBLISHED_2 = (
    "*data=published_data; *network=published_network; *perturbation=perturb; *model; width; "
    "error; Bu & Sun, s=bu_sun_each:.2f; published=published_bu_sun_each:.2f; "
    "Okamoto, s=okamoto_each:.2f; published=published_okamoto_each:.2f; "
    "ratio=bu_sun_time:.3f; published=published_bu_sun_time:.3f; "
    "difference from Okamoto=bu_sun_difference:.6f; published=published_bu_sun_difference:.6f"
)


# Table 3 and Figure 4: global robustness from few images, against the standard method

MEANS: Row = {"width": 0.05, "confidence": 0.95, "repeats": 25}
QUICK_MEANS: Row = {"perturb": (GAUSSIAN,), "width": 0.05, "repeats": 5}
LEAST_MODELS = 3
"""Two models always correlate perfectly, or not at all."""


def image_numbers(request: Request) -> list[int]:
    """Numbers of images, in rising order."""
    return sorted({whole("images", number, 1) for number in request.options["images"]})


def _choose(request: Request) -> tuple[Request, NDArray[np.intp]]:
    """The images that are drawn in any repeat, of those that every model classifies correctly.

    Only these are measured. Second: which of them a repeat takes, one row each; its first n entries
    are the n images of that repeat.
    """
    loaded = with_images(request)
    size, most = len(loaded.data), max(image_numbers(request))
    if most > size:
        raise InvalidArgument(
            f"images (--images) {most}: {size} images are classified correctly by all models; "
            f"write {size} or less, or give more images"
        )
    repeats = request.options["repeats"]
    rng = np.random.default_rng([request.seed, repeats])
    drawn = np.stack([rng.permutation(size)[:most] for _ in range(repeats)])
    used, places = np.unique(drawn, return_inverse=True)
    words = f"{len(used)} of {size} inputs, drawn for {repeats} choices of {most} at random"
    data = chosen(loaded.data, used, words)
    return replace(loaded, data=data), places.reshape(drawn.shape)


def _measure(every: Request, request: Request, model: Any, perturb: str) -> dict[str, sf.Result]:
    """Every image of every choice once, by each method; and the standard method on all images."""
    goal = {"each": request.options["width"], "confidence": request.options["confidence"]}
    # One trial is within 1 - error/2 of every probability with an error of at most error/2: the
    # smallest fixed size of that width is 1. Each has draws of its own.
    once = {**goal, "method": "fixed-size", "each": 1 - (1 - goal["confidence"]) / 2}
    own = ("estimate", model, perturb)
    return {
        "ours": request.run(*own, method=_METHODS["ours"], property="same", **goal),
        "bu_sun": request.run(*own, method=_METHODS["bu_sun"], property="same", **goal),
        "baseline": request.run(*own, **once, property="true", seed=request.seed + 1),
        "standard": every.run(*own, **once, property="true", seed=request.seed + 2),
    }


def kept(result: sf.Result) -> tuple[float, Interval]:
    """What the first claim, which is about failing, says about being kept."""
    claim = result.view.headline[0]
    if claim.value is None or claim.interval is None:
        why = sf.reason_words(claim.reason)
        raise InvalidArgument(f"there is no mean: {why}; give more images (--images)")
    low, high = claim.interval.low, claim.interval.high
    return 1 - claim.value, Interval(1 - high, 1 - low)


def correlation(ours: Sequence[float], reference: Sequence[float]) -> tuple[float, float] | None:
    """Pearson's and Spearman's; None where one of the lists does not vary."""
    if np.ptp(ours) == 0 or np.ptp(reference) == 0:
        return None
    ranks = np.corrcoef(rankdata(ours), rankdata(reference))[0, 1]
    return float(np.corrcoef(ours, reference)[0, 1]), float(ranks)


def global_means(request: Request) -> tuple[Exhibit, list[Row]]:
    """What Table 3 and Figure 4 have in common, and the correlations."""
    every = with_images(request, right=False)
    few, orders = _choose(every)
    correlations, means, pool = list[Row](), list[Row](), list[Row]()
    results: dict[str, sf.Result] = {}
    for perturb in request.options["perturb"]:
        models, standard = {}, {}
        for name, model in few.models.items():
            request.announce(f"{name}, {perturb}")
            models[name] = own = _measure(every, few, model, perturb)
            standard[name], (value, around) = kept(own["standard"]), kept(own["ours"])
            head = {"perturb": perturb, "model": name}
            pool.append({**head, "images": len(few.data), "kept": value, "interval": around})
            results[f"{name}, {perturb}: mean of the images"] = own["ours"]
            results[f"{name}, {perturb}: standard method"] = own["standard"]
        for images in image_numbers(request):
            each = {  # a row a repeat, a column a model
                key: np.stack(
                    [estimates(m[key])[orders[:, :images]].mean(axis=1) for m in models.values()],
                    axis=1,
                )
                for key in KEYS
            }
            if len(models) >= LEAST_MODELS:
                row = _correlations(each, [accuracy for accuracy, _ in standard.values()])
                correlations.append({"perturb": perturb, "images": images, **row})
            for i, (name, (accuracy, around)) in enumerate(standard.items()):
                of_model: Row = {"perturb": perturb, "model": name, "images": images}
                for key in KEYS:
                    of_repeats = each[key][:, i].tolist()
                    of_model[key] = float(np.mean(of_repeats))
                    of_model[f"{key}_range"] = Interval(min(of_repeats), max(of_repeats))
                means.append({**of_model, "standard": accuracy, "standard_interval": around})
    title = "correlation with the standard method, mean over the repeats"
    first = (
        Sheet(f"Pearson {title} and range", _PEARSON, correlations),
        Sheet(f"Spearman {title}", _SPEARMAN, correlations),
    )
    sheets = (
        *(first if correlations else ()),
        Sheet("Share of perturbations kept, mean over few images and repeats", _MEANS, means),
        Sheet("Range of these means over the repeats", _RANGES, means),
        Sheet("Mean over all images that came up (exact sequential)", _POOL, pool),
    )
    seen = _seen(len(request.models), correlations)
    departures = _departures(request.options, len(few.data), len(every.data))
    return Exhibit((seen, *departures), sheets, results=results), correlations


def _correlations(each: Mapping[str, Floats], accuracies: Sequence[float]) -> Row:
    """With the standard method, over the repeats in which there is a correlation."""
    row: dict[str, Any] = {}
    for key, means in each.items():
        known = [c for m in means if (c := correlation(m.tolist(), accuracies)) is not None]
        row[f"{key}_repeats"] = len(known)
        if known:
            pearson, spearman = zip(*known, strict=True)
            row[f"{key}_pearson"] = float(np.mean(pearson))
            row[f"{key}_range"] = Interval(min(pearson), max(pearson))
            row[f"{key}_spearman"] = float(np.mean(spearman))
    return row


def _seen(models: int, rows: Sequence[Row]) -> str:
    if not rows:
        are = "is 1 model" if models == 1 else f"are {models} models"
        return (
            f"There {are}, and a correlation needs {LEAST_MODELS} or more: only the means are "
            "shown."
        )
    parts = []
    for row in rows:
        known = [f"{NAMES[k]} {row[f'{k}_pearson']:.3f}" for k in KEYS if f"{k}_pearson" in row]
        parts.append(f"{row['perturb']}, {row['images']} images: {', '.join(known)}")
    return (
        f"Mean Pearson correlation of {models} models with the standard method: {'; '.join(parts)}."
    )


def _departures(options: Mapping[str, Any], pool: int, every: int) -> tuple[str, ...]:
    return (
        f"Each of {options['repeats']:,} repeats takes its images at random from those that every "
        f"model classifies correctly when clean; {pool:,} images came up, each estimated once to a "
        f"width of {options['width']:g} (confidence {percent(options['confidence'])}, each image "
        "by itself). The range is from the least to the greatest of the repeats: repeats share "
        "images and models, so it is no confidence interval, neither for other images nor for "
        "other models.",
        f"Standard method: accuracy on one perturbed image of each of the {every:,} images given, "
        "with an interval for these images (Clopper-Pearson). The paper's is on 50,000 images of "
        "CIFAR-10-C or 250,000 of ImageNet-C, all five severities. Baseline: one perturbed image "
        "of each image of the repeat, with other draws than the standard method.",
        "The mean is over images that all models classify correctly, as the authors do; the "
        "standard method counts mistakes on clean images too, so that the two may order models of "
        "different clean accuracy differently.",
    )


@PAPER.exhibit(
    "table 3",
    "Means over few images, correlated with the standard method",
    MEANS | {"perturb": (CONTRAST, FOG, GAUSSIAN, GLASS), "images": (10,)},
    quick=QUICK_MEANS | {"images": (5,)},
)
def table_3(request: Request) -> Exhibit:
    """Correlations of a mean over few images with the standard method, for each perturbation."""
    made, correlations = global_means(request)
    rows = beside(published("bu-sun table 3"), correlations, "perturb")
    note = "Of eight CIFAR-10 networks, 10 images, 25 repeats."
    shown = Sheet("Published (Pearson), beside ours", _PUBLISHED_3, rows, note)
    title = "Table 3: robustness of models from few images"
    return replace(made, title=title, sheets=(*made.sheets, shown))


def _of_each(text: str) -> str:
    """Columns of every method: `text` with its name and its key."""
    return "; ".join(text.format(name=name, key=key) for key, name in NAMES.items())


_OF_A_MODEL = "*perturbation=perturb; *model; images; "
_PEARSON = "*perturbation=perturb; images; " + _of_each(
    "{name}={key}_pearson:.3f; range={key}_range:correlations"
)
_SPEARMAN = "*perturbation=perturb; images; " + _of_each(
    "{name}={key}_spearman:.3f; repeats={key}_repeats"
)
_MEANS = (
    f"{_OF_A_MODEL}{_of_each('kept, {name}={key}:percent')}; "
    "accuracy, standard method=standard:percent; interval=standard_interval:range"
)
_RANGES = _OF_A_MODEL + _of_each("{name}={key}_range:range")
_POOL = f"{_OF_A_MODEL}kept:percent; interval:range"
_PUBLISHED_3 = (
    "*perturbation=perturb; images; Bu & Sun=bu_sun_pearson:.4f; "
    "published=published_bu_sun_pearson:.4f; baseline=baseline_pearson:.4f; "
    "published=published_baseline_pearson:.4f"
)
