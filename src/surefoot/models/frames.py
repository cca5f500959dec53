"""Frames for estimators that were fitted on frames: columns by name, types and categories."""

from __future__ import annotations

import importlib
import importlib.util
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument, MissingPackage, ModelFailed
from surefoot.models.load_options import LoadOptions, Source
from surefoot.models.scores import model_errors, probe
from surefoot.subject.inputs import Feature
from surefoot.subject.protocols import HostArray, Item, Outputs

_LIBRARIES = ("pandas", "polars")
_DIGITS = 6
"""Decimal digits of a number that survive single precision."""
_SHOWN = 5
"""Columns named in a refusal."""
Run = Callable[[HostArray], Outputs]


@dataclass(frozen=True, eq=False)
class FrameRun:
    """`predict_proba` of an estimator on frames: rows of numbers in, scores out.

    `features` are the columns of the rows; `order` is where each column of the frame is in a row.
    `library` makes the frames.
    """

    predict_proba: Run
    features: tuple[Feature, ...]
    order: tuple[int, ...]
    library: str

    def __call__(self, x: HostArray) -> Outputs:
        """The scores of a batch."""
        return self.predict_proba(self.frame(x))

    def frame(self, x: HostArray) -> Item:
        """The rows as a frame, each column with the type it has in the data."""
        library = importlib.import_module(self.library)
        places = [(self.features[place], x[:, place]) for place in self.order]
        return library.DataFrame({f.heading: _column(f, cells, library) for f, cells in places})


def estimator_run(source: Source, run: Run, options: LoadOptions) -> Run:
    """`run`, a method of an estimator: on frames where it was fitted on them, else on arrays."""
    names = tuple(str(name) for name in getattr(source, "feature_names_in_", ()))
    features = options.features
    if features and not names:
        _refuse_other_number(getattr(source, "n_features_in_", len(features)), features)
    if not names and not any(f.dtype in ("text", "category", "ordered") for f in features):
        return run
    if not features:
        features = tuple(Feature(name, dtype="float32") for name in names)
    order = _order(names or tuple(f.heading for f in features), features)
    available = [name for name in _LIBRARIES if importlib.util.find_spec(name) is not None]
    if not available:
        if any(f.categories for f in features):
            raise MissingPackage("an estimator of columns by name needs frames: pip install pandas")
        return run
    runs = [FrameRun(run, features, order, library) for library in available]
    return _first_that_works(runs, options)


def _first_that_works(runs: Sequence[FrameRun], options: LoadOptions) -> FrameRun:
    """The first of these that answers; steps of a pipeline may take frames of one library only."""
    errors: list[ModelFailed] = []
    for run in runs:
        try:
            with model_errors():
                run(probe_rows(probe((len(run.features),), options.bounds), options.features))
        except ModelFailed as error:
            errors.append(error)
        else:
            return run
    if options.features:
        raise errors[0]
    headings = ", ".join(run.features[place].heading for place in run.order)
    raise InvalidArgument(
        f"the estimator was fitted on the columns {headings} and fails on plain numbers "
        f"({errors[0]}): pass features=inputs.features of the table to load_model"
    ) from errors[0]


def probe_rows(x: NDArray[np.float32], features: Sequence[Feature]) -> NDArray[np.float32]:
    """These rows; for a table one that its columns can hold, in place of each.

    An encoder knows the values that it was fitted on and may refuse all others.
    """
    if not features or x.shape[1:] != (len(features),):
        return x
    return np.tile(np.array([f.example for f in features], np.float32), (len(x), 1))


def _order(names: tuple[str, ...], features: tuple[Feature, ...]) -> tuple[int, ...]:
    """Where each column of the estimator is among the features; refuses other names."""
    headings = [feature.heading for feature in features]
    lacking = [name for name in names if name not in headings]
    extra = [heading for heading in headings if heading not in names]
    if not lacking and not extra:
        return tuple(headings.index(name) for name in names)
    parts = [f"the data lack {_some(lacking)}"] * bool(lacking)
    parts += [f"the data also have {_some(extra)}"] * bool(extra)
    label = extra[0] if len(extra) == 1 and not lacking else ""
    raise InvalidArgument(
        f"the estimator was fitted on {len(names)} columns ({_some(names)}), but "
        f"{' and '.join(parts)}: give it the same columns{_of_label(label)}"
    )


def _refuse_other_number(fitted: int, features: tuple[Feature, ...]) -> None:
    """Refuse a table of more or fewer columns than an estimator without their names takes."""
    if fitted == len(features):
        return
    texts = [f.heading for f in features if f.dtype in ("text", "category", "ordered")]
    label = ""
    if fitted == len(features) - 1:  # the one of text, else the last: where labels usually are
        label = texts[0] if len(texts) == 1 else features[-1].heading
    raise InvalidArgument(
        f"the estimator was fitted on {fitted} columns, but the data have {len(features)} "
        f"({_some([f.heading for f in features])}): give it the same columns{_of_label(label)}"
    )


def _of_label(label: str) -> str:
    """What to say of labels where the columns are others; `label` may be the one too many."""
    if not label:
        return " (the labels are the column that --labels names)"
    return f"; is {label} the label? Then say --labels {shlex.quote(label)} (labels={label!r})"


def _some(names: Sequence[str]) -> str:
    """The first names, and that there are more."""
    return ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")


def _column(feature: Feature, values: HostArray, library: ModuleType) -> Item:
    """One column of a frame."""
    if feature.categories:
        return _category_column(feature, _codes(feature, values), library)
    if feature.whole:
        whole = np.array_equal(values, np.round(values))
        return values.astype(feature.dtype if whole else np.float64)
    if feature.dtype == "float64" and values.dtype == np.float32:
        return nearest_decimals(values)
    return values.astype(feature.dtype)


def _codes(feature: Feature, values: HostArray) -> NDArray[np.int64]:
    codes = np.asarray(values).astype(np.int64)
    wrong = (codes != values) | (codes < 0) | (codes >= len(feature.categories))
    if wrong.any():
        raise InvalidArgument(
            f"column {feature.name!r} holds categories, and {float(values[np.argmax(wrong)]):g} is "
            "none of their codes: choose a perturbation that leaves categories alone, such as "
            "table:0.1sd"
        )
    return codes


def _category_column(feature: Feature, codes: NDArray[np.int64], library: ModuleType) -> Item:
    if feature.dtype == "bool":
        return codes.astype(bool)
    pandas = library.__name__ == "pandas"
    if feature.dtype in ("category", "ordered"):
        names = list(feature.categories)
        if pandas:
            return library.Categorical.from_codes(
                codes, categories=names, ordered=feature.dtype == "ordered"
            )
        if all(isinstance(name, str) for name in names):
            texts = [str(names[code]) for code in codes.tolist()]
            return library.Series(texts, dtype=library.Enum(names))
    values = np.array(feature.categories, dtype=object)[codes]
    return values if pandas else values.tolist()


def nearest_decimals(values: NDArray[np.float32]) -> NDArray[np.float64]:
    """Each number as the decimal of six digits that single precision rounds to it, if there is one.

    0.1 of a table comes back as 0.1 and not as 0.100000001: an encoder knows its categories.
    """
    exact = values.astype(np.float64)
    size = np.abs(exact)
    places = _DIGITS - 1 - np.floor(np.log10(np.where(size > 0, size, 1)))
    scale = 10.0 ** np.abs(places)
    rounded = np.where(
        places >= 0, np.round(exact * scale) / scale, np.round(exact / scale) * scale
    )
    return np.where(rounded.astype(np.float32) == values, rounded, exact)


def fitted_classes(source: Source) -> tuple[str, ...]:
    """The classes of an estimator as text, 3.0 as 3; empty where they are the numbers from 0."""
    classes = getattr(source, "classes_", None)
    if classes is None or np.ndim(classes) != 1:
        return ()
    values = np.asarray(classes).tolist()
    if values == list(range(len(values))) and not isinstance(values[0], bool):
        return ()
    whole = [isinstance(value, float) and value.is_integer() for value in values]
    return tuple(str(int(v) if w else v) for v, w in zip(values, whole, strict=True))
