"""Checks of a perturbation on the inputs of a study, before it runs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.core.counts import Counts
from surefoot.core.tasks import Subject, Task
from surefoot.engine.outputs import CheckStatus, Finding
from surefoot.engine.sampling_bench import SamplingBench
from surefoot.errors import InvalidArgument, ModelFailed
from surefoot.perturb._ops.arrays import level_of
from surefoot.perturb.table_columns import Column, describe_misfits
from surefoot.perturb.table_columns import Feature as ColumnNoise
from surefoot.properties import SameLabel
from surefoot.subject.inputs import Feature, Inputs
from surefoot.subject.items import same_item
from surefoot.subject.protocols import Model, Perturbation, to_host
from surefoot.system.memory_limits import pieces, rows_together

_TRIALS = 4
"""Trials of each input that are compared with it."""
_ROUNDING = 1e-5
"""Part of the largest value by which a row may differ in another batch: sums in another order."""


def functions_of(perturbation: Any) -> list[Any]:  # noqa: ANN401  any perturbation
    """Those of its parts that are functions of the user."""
    return parts_with(perturbation, "function")


def parts_with(perturbation: Any, attribute: str) -> list[Any]:  # noqa: ANN401  any perturbation
    """Those of its parts that have this attribute, itself too."""
    if hasattr(perturbation, attribute):
        return [perturbation]
    inner = getattr(perturbation, "inner", None)
    parts = getattr(perturbation, "parts", ()) if inner is None else (inner,)
    return [found for part in parts for found in parts_with(part, attribute)]


def same_input(a: Any, b: Any, inputs: Inputs) -> bool:  # noqa: ANN401  arrays or items
    """Whether two inputs of this kind are the same."""
    if inputs.holds_items:
        return same_item(a, b, inputs.digest_item)
    return bool(np.array_equal(a, b))


def items_changed(bench: SamplingBench[Any], level: float, sample: int) -> tuple[bool, str]:
    """Whether any trial of the first inputs changes its item, and how many do, in words."""
    inputs = bench.inputs
    pairs = [
        (inputs.x[subject.rows[0]], item)
        for subject in inputs.subjects()[:sample]
        for item in bench.perturbed(Task(subject, level, 0, _TRIALS))
    ]
    changed = sum(not same_input(*pair, inputs) for pair in pairs)
    words = f"{changed} of {len(pairs)} trials change their input"
    advice = "" if changed else ": choose another perturbation or a higher level"
    return changed > 0, words + advice


def trials_repeat(bench: SamplingBench[Any], level: float, sample: int) -> tuple[bool, str]:
    """Whether trials are the same a second time and alone, and the way out if they are not."""
    subjects = bench.inputs.subjects()[:sample]
    for subject in subjects:
        task = Task(subject, level, 0, 1)
        first, second = (to_host(bench.perturbed(task))[0] for _ in range(2))
        if not same_input(first, second, bench.inputs):
            return False, (
                f"the same trial of input {subject.name} gives two results: let the function draw "
                "all its random numbers from rng (or u), and keep nothing from call to call"
            )
    rows = tuple(subject.rows[0] for subject in subjects[:_TRIALS])
    for subject in (*subjects, Subject("several inputs", rows)):
        if not _same_alone(bench, subject, level):
            return False, (
                f"the trials of {_of(subject)} are other ones in a batch than alone: let row i of "
                "the result depend on row i of x and u only, without sums, means or sorting over "
                "all rows"
            )
    if _always_first(bench, level, sample):
        return False, (
            f"every input becomes {subjects[0].name}, the first one: let the function keep nothing "
            "from call to call"
        )
    return True, "the same trial gives the same perturbed input, alone and in a batch"


def _of(subject: Subject) -> str:
    return subject.name if len(subject.rows) > 1 else f"input {subject.name}"


def _same_alone(bench: SamplingBench[Any], subject: Subject, level: float) -> bool:
    """Whether a few trials in one batch are what each of them is alone."""
    trials = min(_TRIALS, max(2, rows_together(bench.inputs.row_bytes)))
    together = to_host(bench.perturbed(Task(subject, level, 0, trials)))
    alone = (to_host(bench.perturbed(Task(subject, level, i, i + 1)))[0] for i in range(trials))
    pairs = zip(together, alone, strict=True)
    if bench.inputs.holds_items:
        return all(same_input(*pair, bench.inputs) for pair in pairs)
    size = max(1.0, float(together.max()), -float(together.min()))
    return all(float(np.abs(a - b).max()) <= _ROUNDING * size for a, b in pairs)


def _always_first(bench: SamplingBench[Any], level: float, sample: int) -> bool:
    """Whether each of the inputs, not all alike, becomes the first one, as it is in the data.

    A first input of one value throughout is what a perturbation may leave of any input.
    """
    inputs, subjects = bench.inputs, bench.inputs.subjects()[:sample]
    first = inputs.x[subjects[0].rows[0]]
    others = [s for s in subjects if not same_input(first, inputs.x[s.rows[0]], inputs)]
    if not others or (not inputs.holds_items and bool((first == first.flat[0]).all())):
        return False
    return all(
        same_input(
            first, to_host(bench.perturbed(Task(subject, level, trial, trial + 1)))[0], inputs
        )
        for subject in (subjects[0], *others)
        for trial in range(_TRIALS)
    )


_SHOWN = 3
"""Columns named in a finding."""
_SMALL = 0.25
"""Standard deviation of noise that rounding leaves alone in fewer than 5 of 100 trials."""
_APART = 10
"""Factor between the changes of two columns, each in its standard deviations, from which on one
level is not the same strength in both: columns that were standardised are at 1, iris at 4."""
_CODED = (
    "if a column of numbers is a category for the model, give it the noise 0, or the values that "
    "it may take (features=…)"
)
_WAY_OUT = "choose a perturbation that keeps columns what they are, such as table:0.1sd"


def refuse_other_classes(inputs: Inputs, model: Model) -> None:
    """Raise if an estimator was fitted with the classes of the inputs in another order."""
    fitted: tuple[str, ...] = getattr(model, "class_names", ())
    names = inputs.class_names
    if inputs.labels is None or names == fitted or not set(names) & set(fitted):
        return
    raise InvalidArgument(
        f"the estimator was fitted with the classes {', '.join(fitted)}, but {inputs.source} "
        f"numbers its labels {', '.join(names)}: pass class_names=list(estimator.classes_) to "
        "load_inputs"
    )


def column_problems(
    inputs: Inputs,
    model: Model,
    perturbation: Perturbation | None,
    perturbed: NDArray[np.floating],
) -> tuple[str, str]:
    """What is wrong with the columns of these perturbed rows, and what is doubtful; else empty."""
    kind = "" if perturbation is None else f"{perturbation.kind}: "
    if problem := _broken_category(inputs, perturbed):
        return kind + problem, ""
    frames = hasattr(getattr(model, "run", None), "frame")
    unknown = ""
    if frames:
        try:
            unknown = _unknown_values(model, perturbed)
        except ModelFailed as error:
            if "unknown categor" not in str(error):
                raise
            return f"{kind}{error}: {_CODED}", ""
    doubts = [
        unknown,
        _broken_integers(inputs, perturbed),
        _rounded_away(perturbation),
        "" if frames else _codes(inputs.features),
    ]
    return "", "; ".join(filter(None, doubts))


def _unknown_values(model: Model, perturbed: NDArray[np.floating]) -> str:
    """What an encoder says of values that it was not fitted on."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.predict(model.place(perturbed.astype(np.float32)))
    texts = [str(warning.message) for warning in caught]
    known = next((text for text in texts if "unknown categor" in text), "")
    return f"{known.partition('. ')[0]}: {_CODED}" if known else ""


def _broken_category(inputs: Inputs, perturbed: NDArray[np.floating]) -> str:
    """The first column of categories that holds something else."""
    for place, feature in enumerate(inputs.features):
        values = perturbed[:, place]
        if not feature.categories:
            continue
        wrong = ~np.isin(values, np.arange(len(feature.categories)))
        if wrong.any():
            return (
                f"{feature.name} is one of {_some(feature.categories)}, but becomes the code "
                f"{float(values[np.argmax(wrong)]):g}, which is none of them: {_WAY_OUT}"
            )
    return ""


def _broken_integers(inputs: Inputs, perturbed: NDArray[np.floating]) -> str:
    broken = [
        feature.name
        for place, feature in enumerate(inputs.features)
        if feature.whole and (perturbed[:, place] != np.round(perturbed[:, place])).any()
    ]
    return f"not whole numbers any more: {_some(broken)}: {_WAY_OUT}" if broken else ""


def _rounded_away(perturbation: Perturbation | None) -> str:
    """Columns of integers whose noise is nearly always rounded to nothing."""
    level = None if perturbation is None else perturbation.level
    features: tuple[Column, ...] = getattr(perturbation, "features", ())
    small = [
        f.name
        for f in features
        if isinstance(f, ColumnNoise) and f.whole and 0 < (f.noise or 0) * (level or 0) < _SMALL
    ]
    if not small:
        return ""
    return (
        f"hardly ever changed, since noise is rounded to whole numbers: {_some(small)}: choose a "
        "higher level, or give them a larger noise of their own"
    )


def uneven_changes(
    inputs: Inputs, perturbation: Perturbation | None, changes: NDArray[np.floating]
) -> str:
    """The columns that are changed by most and by least, in their own spread; empty where alike.

    `changes` has one row for each trial. Noise that is stated for each column is meant so.
    """
    if perturbation is None or parts_with(perturbation, "features"):
        return ""
    size = np.sqrt((changes.astype(np.float64) ** 2).mean(axis=0))
    spread = inputs.x.std(axis=0, dtype=np.float64)
    places = np.flatnonzero((size > 0) & (spread > 0))
    if not places.size:
        return ""
    shares = size[places] / spread[places]
    most, least = int(shares.argmax()), int(shares.argmin())
    factor = shares[most] / shares[least]
    if factor < _APART:
        return ""
    of_most, of_least = (
        f"{inputs.features[places[i]].name} by about {shares[i]:.2g} of its standard deviations"
        for i in (most, least)
    )
    return (
        f"{perturbation.kind} changes {of_most} and {of_least}, a factor of "
        f"{float(f'{factor:.2g}'):,.0f}: for noise in proportion to each column choose table:0.1sd"
    )


def largest_change(inputs: Inputs, perturbed: NDArray[np.floating]) -> float:
    """The largest change of a value, as a share of the range of its column."""
    low, high = inputs.x.min(axis=0), inputs.x.max(axis=0)
    span = np.where(high > low, high - low, 1)
    return float((np.abs(perturbed - inputs.x[:1]) / span).max())


def _codes(features: tuple[Feature, ...]) -> str:
    """Columns of text or categories, which a model of plain numbers gets as codes, or empty."""
    coded = [f for f in features if f.categories and f.dtype != "bool"]
    if not coded:
        return ""
    first = coded[0]
    return (
        f"the model takes numbers, so {_some([f.name for f in coded])} are given as codes "
        f"({first.name}: 0 is {first.categories[0]}, {len(first.categories) - 1} is "
        f"{first.categories[-1]}): was it trained with these?"
    )


def _some(names: tuple[object, ...] | list[str]) -> str:
    return ", ".join(map(str, names[:_SHOWN])) + (", …" if len(names) > _SHOWN else "")


SAMPLE = 16
"""Inputs of the checks that run the model several times."""
TRIALS = 4
"""Trials of each input in the checks that perturb."""
_LEAST_CHANGE = 1 / 1000
"""Part of the data's range that a perturbation should move a value by; below it the level is
probably in another unit."""


def bench_for_checks(
    inputs: Inputs, model: Model, perturbation: Perturbation
) -> SamplingBench[Counts]:
    """A bench that perturbs; what counts as failed plays no part."""
    labels = np.zeros(len(inputs), np.int64)
    return SamplingBench(inputs, labels, model, perturbation, SameLabel(), Counts, seed=0)


def check_strength(inputs: Inputs, model: Model, perturbation: Perturbation) -> Finding:
    """Whether the perturbation changes the inputs noticeably."""
    bench = bench_for_checks(inputs, model, perturbation)
    if inputs.holds_items:
        changed, finding = items_changed(bench, level_of(perturbation), SAMPLE)
        return (CheckStatus.OK if changed else CheckStatus.WARNING), finding
    subject, change = inputs.subjects()[0], 0.0
    for trials in pieces(TRIALS, inputs.row_bytes):
        task = Task(subject, level_of(perturbation), trials.start, trials.stop)
        perturbed = to_host(bench.perturbed(task))
        moved = perturbed - inputs.x[:1]
        change = max(change, float(moved.max()), -float(moved.min()))
    span = float(inputs.x.max() - inputs.x.min())
    finding = f"values change by up to {change:.2g}; the data range over {span:.3g}"
    if inputs.features and inputs.x.ndim == 2 and change > 0:
        change, span = largest_change(inputs, perturbed), 1.0
        finding = f"a value changes by up to {100 * change:.2g} % of the range of its column"
    if change == 0:
        return CheckStatus.WARNING, (
            "the perturbation changes nothing in these inputs: choose another one or a higher level"
        )
    if change < _LEAST_CHANGE * span:
        return CheckStatus.WARNING, (
            finding + ": hardly a change; is the level in the unit of the data?"
        )
    return CheckStatus.OK, finding


def check_repeats(inputs: Inputs, model: Model, perturbation: Perturbation) -> Finding:
    """Whether a trial run again is the same."""
    bench = bench_for_checks(inputs, model, perturbation)
    repeats, finding = trials_repeat(bench, level_of(perturbation), SAMPLE)
    return (CheckStatus.OK if repeats else CheckStatus.FAILED), finding


def check_features(inputs: Inputs, perturbation: Any) -> Finding:  # noqa: ANN401  any perturbation
    """Whether the columns of the data are as the perturbation describes them."""
    wrong = describe_misfits(perturbation.features, inputs.x)
    if wrong:
        return CheckStatus.WARNING, "; ".join(wrong[:3])
    return CheckStatus.OK, f"all rows are as described for {len(perturbation.features)} features"


def check_columns(inputs: Inputs, model: Model, perturbation: Perturbation | None) -> Finding:
    """Whether the columns of a table stay what they are, and how the model gets them."""
    perturbed = clean = inputs.x[:SAMPLE]
    if perturbation is not None and perturbation.level:
        tasks = [Task(s, perturbation.level, 0, TRIALS) for s in inputs.subjects()[:SAMPLE]]
        perturbed = to_host(bench_for_checks(inputs, model, perturbation).perturbed_all(tasks))
        clean = np.repeat(clean, TRIALS, axis=0)
    wrong, doubts = column_problems(inputs, model, perturbation, perturbed)
    if wrong:
        return CheckStatus.FAILED, wrong
    found = [doubts, uneven_changes(inputs, perturbation, perturbed - clean)]
    if any(found):
        return CheckStatus.WARNING, "; ".join(filter(None, found))
    return CheckStatus.OK, f"{len(inputs.features)} columns, each of the type that the data have"


def check_identity(inputs: Inputs, model: Model, perturbation: Perturbation) -> Finding:
    """Whether level 0 leaves inputs as they are."""
    bench = bench_for_checks(inputs, model, perturbation)
    subjects, trials = inputs.subjects()[:SAMPLE], min(2, rows_together(inputs.row_bytes))
    for row, subject in enumerate(subjects):
        x = to_host(bench.perturbed(Task(subject, 0.0, 0, trials)))
        if not same_input(x[0], inputs.x[row], inputs):
            return CheckStatus.FAILED, (
                f"level 0 must leave inputs unchanged, but it changes input {subject.name}: "
                "let it return its input there"
            )
    return CheckStatus.OK, f"{perturbation.kind} at level 0 leaves every input unchanged"
