"""Checks of a perturbation on the inputs of a study, before it runs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.core.counts import Counts
from surefoot.core.reasons import Reason, Why
from surefoot.core.tasks import Subject, Task
from surefoot.engine.outputs import Check, CheckStatus, Finding, checked
from surefoot.engine.sampling_bench import SamplingBench
from surefoot.errors import ModelFailed
from surefoot.perturb._ops.arrays import level_of
from surefoot.perturb.own_function import InputFormat
from surefoot.perturb.table_columns import Column, describe_misfits
from surefoot.perturb.table_columns import Feature as ColumnNoise
from surefoot.properties import SameLabel
from surefoot.records.record import COLUMNS
from surefoot.statistics.plausible import below_grey_level
from surefoot.subject.inputs import Category, Inputs
from surefoot.subject.items import same_item
from surefoot.subject.protocols import HostArray, Item, Model, Perturbation, to_host
from surefoot.system.memory_limits import pieces, rows_together

SAMPLE = 16
"""Inputs of the checks that run the model several times."""
TRIALS = 4
"""Trials of each input in the checks that perturb."""
_ROUNDING = 1e-5
"""Part of the largest value by which a row may differ in another batch: sums in another order."""
_LEAST_CHANGE = 1 / 1000
"""Part of the data's range that a perturbation should move a value by; below it the level is
probably in another unit."""
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


def examine_perturbation(
    inputs: Inputs, model: Model, perturbation: Perturbation | None
) -> Iterator[Check]:
    """The checks of a perturbation, and of the columns of a table that it may change."""
    if perturbation is not None and perturbation.level:
        yield checked(
            "strength of the perturbation", lambda: check_strength(inputs, model, perturbation)
        )
    columns: tuple[Column, ...] = getattr(perturbation, "features", ())
    if columns:
        wrong = describe_misfits(columns, inputs.x)
        finding = f"all rows are as described for {len(columns)} features"
        status = CheckStatus.WARNING if wrong else CheckStatus.OK
        yield Check("features are as described", status, "; ".join(wrong[:_SHOWN]) or finding)
    if inputs.features and inputs.x.ndim == 2:
        yield checked(COLUMNS, lambda: check_columns(inputs, model, perturbation))
    if perturbation is None:
        return
    for part in parts_with(perturbation, "can_change"):
        yield checked("texts that can change", partial(_changeable_texts, inputs, part))
    if perturbation.level and functions_of(perturbation):
        yield checked(
            "the perturbation repeats", lambda: check_repeats(inputs, model, perturbation)
        )
    yield checked("level 0 changes nothing", lambda: check_identity(inputs, model, perturbation))


def functions_of(perturbation: Perturbation) -> list[Perturbation]:
    """Those of its parts that are functions of the user."""
    return parts_with(perturbation, "function")


def parts_with(perturbation: Perturbation, attribute: str) -> list[Perturbation]:
    """Those of its parts that have this attribute, itself too."""
    if hasattr(perturbation, attribute):
        return [perturbation]
    inner = getattr(perturbation, "inner", None)
    parts = getattr(perturbation, "parts", ()) if inner is None else (inner,)
    return [found for part in parts for found in parts_with(part, attribute)]


def same_input(a: Item, b: Item, inputs: Inputs) -> bool:
    """Whether two inputs of this kind, arrays or items, are the same."""
    if inputs.holds_items:
        return same_item(a, b, inputs.digest_item)
    return bool(np.array_equal(a, b))


def bench_for_checks(
    inputs: Inputs, model: Model, perturbation: Perturbation
) -> SamplingBench[Counts]:
    """A bench that perturbs; what counts as failed plays no part."""
    labels = np.zeros(len(inputs), np.int64)
    return SamplingBench(inputs, labels, model, perturbation, SameLabel(), Counts, seed=0)


def check_strength(
    inputs: Inputs, model: Model, perturbation: Perturbation
) -> Finding | tuple[CheckStatus, str, None, Reason]:
    """Whether the perturbation changes the inputs noticeably.

    Less than a grey level in pixels of 0 to 255 takes a PASS away.
    """
    bench, level = bench_for_checks(inputs, model, perturbation), level_of(perturbation)
    if inputs.holds_items:
        same = [
            same_input(inputs.x[subject.rows[0]], item, inputs)
            for subject in inputs.subjects()[:SAMPLE]
            for item in bench.perturbed(Task(subject, level, 0, TRIALS))
        ]
        finding = f"{same.count(False)} of {len(same)} trials change their input"
        if not all(same):
            return CheckStatus.OK, finding
        return CheckStatus.WARNING, f"{finding}: choose another perturbation or a higher level"
    first = inputs.subjects()[0]
    change = _largest_change(bench, first, level)
    span = float(inputs.largest - inputs.least)
    finding = f"values change by up to {change:.2g}; the data range over {span:.3g}"
    if inputs.features and inputs.x.ndim == 2 and change > 0:
        low, high = inputs.x.min(axis=0), inputs.x.max(axis=0)
        ranges = np.where(high > low, high - low, 1)
        change, span = _largest_change(bench, first, level, ranges), 1.0
        finding = f"a value changes by up to {100 * change:.2g} % of the range of its column"
    if change == 0:
        return CheckStatus.WARNING, (
            "the perturbation changes nothing in these inputs: choose another one or a higher level"
        )
    if _below_grey_level(bench, level, span, change):
        return CheckStatus.WARNING, "hardly a change", None, Why.HARDLY_A_CHANGE.of(change, span)
    if change < _LEAST_CHANGE * span:
        return CheckStatus.WARNING, (
            finding + ": hardly a change; is the level in the unit of the data?"
        )
    return CheckStatus.OK, finding


def _below_grey_level(
    bench: SamplingBench[Counts], level: float, span: float, change: float
) -> bool:
    """Whether these are pixels of 0 to 255, and no trial of several images changes one by a level.

    `change` is that of the first of them.
    Of noise on every value its own level counts: of many values some change by far more.
    """
    if not bench.inputs.frame:
        return False
    drawn_level = getattr(bench.perturbation, "inner", bench.perturbation)
    if getattr(drawn_level, "additive", None) is not None:
        return below_grey_level(level, span)
    others = bench.inputs.subjects()[1:SAMPLE]
    return below_grey_level(change, span) and all(
        below_grey_level(_largest_change(bench, one, level), span) for one in others
    )


def _largest_change(
    bench: SamplingBench[Counts], subject: Subject, level: float, ranges: HostArray | float = 1.0
) -> float:
    """By how much a few trials of an input change a value, in these units."""
    clean, change = bench.inputs.x[list(subject.rows)], 0.0
    for trials in pieces(TRIALS, bench.inputs.row_bytes):
        perturbed = to_host(bench.perturbed(Task(subject, level, trials.start, trials.stop)))
        change = max(change, float((np.abs(perturbed - clean) / ranges).max()))
    return change


def _changeable_texts(inputs: Inputs, part: Any) -> Finding:  # noqa: ANN401  `OfTexts`
    """Whether the perturbation can change every text."""
    fixed = [name for name, x in zip(inputs.ids, inputs.x, strict=True) if not part.can_change(x)]
    if not fixed:
        return CheckStatus.OK, f"each of the {len(inputs):,} texts has something to change"
    return CheckStatus.WARNING, (
        f"{part.kind} can change nothing in {len(fixed):,} of {len(inputs):,} texts, such as input "
        f"{fixed[0]}, which stay as they are in every trial: leave them out, or choose another "
        "perturbation"
    )


def check_repeats(inputs: Inputs, model: Model, perturbation: Perturbation) -> Finding:
    """Whether trials are the same a second time and alone, and the way out if they are not."""
    bench, level = bench_for_checks(inputs, model, perturbation), level_of(perturbation)
    subjects = inputs.subjects()[:SAMPLE]
    for subject in subjects:
        task = Task(subject, level, 0, 1)
        first, second = (to_host(bench.perturbed(task))[0] for _ in range(2))
        if not same_input(first, second, inputs):
            return CheckStatus.FAILED, (
                f"the same trial of input {subject.name} gives two results: let the function draw "
                "all its random numbers from rng (or u), and keep nothing from call to call"
            )
    rows = tuple(subject.rows[0] for subject in subjects[:TRIALS])
    named = [(f"input {subject.name}", subject) for subject in subjects]
    for words, subject in (*named, ("several inputs", Subject("several inputs", rows))):
        if not _same_alone(bench, subject, level):
            return CheckStatus.FAILED, (
                f"the trials of {words} are other ones in a batch than alone: let row i of "
                "the result depend on row i of x and u only, without sums, means or sorting over "
                "all rows"
            )
    if _always_first(bench, level, subjects):
        return CheckStatus.FAILED, (
            f"every input becomes {subjects[0].name}, the first one: let the function keep nothing "
            "from call to call"
        )
    return CheckStatus.OK, "the same trial gives the same perturbed input, alone and in a batch"


def _same_alone(bench: SamplingBench[Counts], subject: Subject, level: float) -> bool:
    """Whether a few trials in one batch are what each of them is alone."""
    trials = min(TRIALS, max(2, rows_together(bench.inputs.row_bytes)))
    together = to_host(bench.perturbed(Task(subject, level, 0, trials)))
    alone = (to_host(bench.perturbed(Task(subject, level, i, i + 1)))[0] for i in range(trials))
    pairs = zip(together, alone, strict=True)
    if bench.inputs.holds_items:
        return all(same_input(*pair, bench.inputs) for pair in pairs)
    size = max(1.0, float(together.max()), -float(together.min()))
    return all(float(np.abs(a - b).max()) <= _ROUNDING * size for a, b in pairs)


def _always_first(bench: SamplingBench[Counts], level: float, subjects: Sequence[Subject]) -> bool:
    """Whether each of the inputs, not all alike, becomes the first one, as it is in the data.

    A first input of one value throughout is what a perturbation may leave of any input.
    """
    inputs = bench.inputs
    first = inputs.x[subjects[0].rows[0]]
    others = [s for s in subjects if not same_input(first, inputs.x[s.rows[0]], inputs)]
    if not others or (not inputs.holds_items and bool((first == first.flat[0]).all())):
        return False
    tasks = (Task(s, level, i, i + 1) for s in (subjects[0], *others) for i in range(TRIALS))
    return all(same_input(first, to_host(bench.perturbed(task))[0], inputs) for task in tasks)


def check_columns(inputs: Inputs, model: Model, perturbation: Perturbation | None) -> Finding:
    """Whether the columns of a table stay what they are, and how the model gets them."""
    perturbed = clean = inputs.x[:SAMPLE]
    kind, uneven = "", ""
    if perturbation is not None:
        kind = f"{perturbation.kind}: "
        if perturbation.level:
            tasks = [Task(s, perturbation.level, 0, TRIALS) for s in inputs.subjects()[:SAMPLE]]
            perturbed = to_host(bench_for_checks(inputs, model, perturbation).perturbed_all(tasks))
            clean = np.repeat(clean, TRIALS, axis=0)
        uneven = _uneven_changes(inputs, perturbation, perturbed - clean)
    for feature, values in zip(inputs.features, perturbed.T, strict=False):
        wrong = ~np.isin(values, np.arange(len(feature.categories)))
        if feature.categories and wrong.any():
            return CheckStatus.FAILED, (
                f"{kind}{feature.name} is one of {_some(feature.categories)}, but becomes the code "
                f"{float(values[np.argmax(wrong)]):g}, which is none of them: {_WAY_OUT}"
            )
    takes_frames, unknown = hasattr(getattr(model, "run", None), "frame"), ""
    if takes_frames:
        try:
            unknown = _unknown_values(model, perturbed)
        except ModelFailed as error:
            if _UNKNOWN not in str(error):
                raise
            return CheckStatus.FAILED, f"{kind}{error}: {_CODED}"
    broken = [
        feature.name
        for feature, values in zip(inputs.features, perturbed.T, strict=False)
        if feature.whole and (values != np.round(values)).any()
    ]
    doubts = (
        unknown,
        f"not whole numbers any more: {_some(broken)}: {_WAY_OUT}" if broken else "",
        _rounded_away(perturbation),
        "" if takes_frames else _codes(inputs),
        uneven,
    )
    if any(doubts):
        return CheckStatus.WARNING, "; ".join(filter(None, doubts))
    return CheckStatus.OK, f"{len(inputs.features)} columns, each of the type that the data have"


_UNKNOWN = "unknown categor"
"""In what scikit-learn says, as a warning or an error, of a category it was not fitted on."""


def _unknown_values(model: Model, perturbed: NDArray[np.floating]) -> str:
    """What an encoder says of values that it was not fitted on."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.predict(model.place(perturbed.astype(np.float32)))
    texts = [str(warning.message) for warning in caught]
    known = next((text for text in texts if _UNKNOWN in text), "")
    return f"{known.partition('. ')[0]}: {_CODED}" if known else ""


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


def _uneven_changes(
    inputs: Inputs, perturbation: Perturbation, changes: NDArray[np.floating]
) -> str:
    """The columns that are changed by most and by least, in their own spread; empty where alike.

    `changes` has one row for each trial. Noise that is stated for each column is meant so.
    """
    if parts_with(perturbation, "features"):
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


def _codes(inputs: Inputs) -> str:
    """Columns of text or categories, which a model of plain numbers gets as codes, or empty."""
    coded = [f for f in inputs.features if f.categories and f.dtype != "bool"]
    if not coded:
        return ""
    first = coded[0]
    return (
        f"the model takes numbers, so {_some([f.name for f in coded])} are given as codes "
        f"({first.name}: 0 is {first.categories[0]}, {len(first.categories) - 1} is "
        f"{first.categories[-1]}): was it trained with these?"
    )


def _some(names: Sequence[Category]) -> str:
    return ", ".join(map(str, names[:_SHOWN])) + (", …" if len(names) > _SHOWN else "")


def check_identity(inputs: Inputs, model: Model, perturbation: Perturbation) -> Finding:
    """Whether level 0 leaves inputs as they are."""
    # no more numbers than that, which change nothing here: whole blocks of a texture take long
    bench = replace(bench_for_checks(inputs, model, perturbation), longest_block=1)
    subjects = inputs.subjects()[: max(1, min(SAMPLE, rows_together(inputs.row_bytes)))]
    x = to_host(bench.perturbed_all([Task(subject, 0.0, 0, 1) for subject in subjects]))
    for row, subject in enumerate(subjects):
        if not same_input(x[row], inputs.x[row], inputs):
            return CheckStatus.FAILED, (
                f"level 0 must leave inputs unchanged, but it changes input {subject.name}: "
                "let it return its input there"
            )
    return CheckStatus.OK, f"{perturbation.kind} at level 0 leaves every input unchanged"


_TINY = 1e-12
"""The level next to 0, as a share of the highest: even its square root changes nothing to see."""
_UNCHANGED, _UNCHANGED_BYTES = 1e-4, 1 / 256
"""Mean change, as a share of the range of the data, that rounding explains: of single precision,
and of 256 values a pixel."""


def examine_level_zero(inputs: Inputs, model: Model, perturbation: Perturbation) -> Iterator[Check]:
    """A check for every function of the user: `apply` does not call it at level 0 itself."""
    for part in functions_of(perturbation):
        if not getattr(part, "only", ()):
            yield checked(
                f"{part.kind} at level 0", partial(_unchanged_next_to_0, inputs, model, part)
            )


def _unchanged_next_to_0(inputs: Inputs, model: Model, part: Perturbation) -> Finding:
    bench, level = bench_for_checks(inputs, model, part), _TINY * level_of(part)
    in_bytes = getattr(part, "input_format", None) in (InputFormat.BYTES, InputFormat.PILLOW)
    most, bounds = _UNCHANGED_BYTES if in_bytes else _UNCHANGED, model.signature.bounds
    if bounds is not None:
        most *= bounds.width
    elif not inputs.holds_items:
        most *= float(inputs.largest - inputs.least)
    problem = "a curve begins with the clean input, but next to level 0 the function changes input"
    for row, subject in enumerate(inputs.subjects()[:SAMPLE]):
        perturbed = to_host(bench.perturbed(Task(subject, level, 0, 1)))[0]
        if inputs.holds_items:
            if same_input(perturbed, inputs.x[row], inputs):
                continue
            return CheckStatus.FAILED, (
                f"{problem} {subject.name}: let it change less as the level falls, and nothing at 0"
            )
        change = float(np.abs(perturbed - inputs.x[row]).mean())
        if change > most:
            return CheckStatus.FAILED, (
                f"{problem} {subject.name} by {change:.2g} on average: let it return its input at "
                "level 0, such as x + level * u"
            )
    return CheckStatus.OK, "the function changes nothing next to level 0"
