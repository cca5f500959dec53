"""The options that decide how a curve is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from surefoot.commands.option import option, option_name
from surefoot.commands.options import CONFIDENCE
from surefoot.commands.values import Number, Numbers, as_number, as_numbers, error_from
from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.core.results import Interval
    from surefoot.subject.inputs import Inputs


@dataclass(frozen=True)
class CurveOptions:
    """What is measured along the curve, and by which method.

    An option that is left out is None, so that one the method cannot honour is refused.
    """

    threshold: Numbers | None = option(
        None, "Lowest accepted accuracy: 0.8, or 0.8,0.6 (default: 0.8).", repeats=True
    )
    measure: str | None = option(
        None, "accuracy, or confidence: the mean confidence in the label (default: accuracy)."
    )
    property: str | object | None = option(
        None,
        "When an output counts as correct: true, same, topk:5; without classes close:0.5, "
        "pixels:0.95, iou:0.8, boxes:0.5, labels:0.5 (default: true, or same without labels).",
    )
    scope: str | None = option(
        None,
        "What the curve is about: set (exactly these inputs) or population (what they are a random "
        "sample of) (default: set).",
    )
    confidence: Number | None = option(None, f"Confidence of the result (default: {CONFIDENCE}).")
    resolution: Number | None = option(
        None, "How precisely to locate a crossing, as a share of the range (default: 0.001)."
    )
    assume: str | None = option(
        None,
        "What is assumed between the levels: wiggle:0.01 (at most 1 point beyond both neighbours), "
        "one-crossing (once below the threshold, below at all stronger levels), monotone (an input "
        "that fails keeps failing), curvature:128 (default: wiggle:0.01).",
    )
    fixed_draws: bool = option(
        False,
        "For a random perturbation: one draw for each input, the same at every level, instead of "
        "fresh draws.",
    )
    method: str = option("sequential", "sequential, asap, uniform, random or quad.")
    compare_methods: bool = option(False, "Also run asap, uniform and quad, on the same inputs.")
    levels: int | None = option(None, "For uniform, random, quad: number of levels.", least=2)
    as_printed: bool = option(False, "For asap: exactly as the paper prints it.")
    curvature: Number | None = option(
        None,
        "For asap: the paper's â, in accuracy per squared range (default: from the data; as "
        "printed 128).",
    )
    grid: int | None = option(
        None, "For asap: the paper's n, no pair of levels is closer (default: 1024)."
    )
    step: Number | None = option(
        None, "For asap, instead of --grid: the smallest step, a share of the range."
    )

    def property_for(self, inputs: Inputs) -> Any:  # noqa: ANN401  any property
        """The property: the one given, or what suits measure and labels."""
        if self.property is not None:
            return self.property
        labelled = inputs.labels is not None
        if self.measure == "confidence":
            return "confidence" if labelled else "confidence:predicted"
        return "true" if labelled else "same"

    def check(self) -> None:
        """Refuse an option that the method does not have, before files are read."""
        for method in self.methods():
            self._chosen_fields(method)
        for name, value in (("scope", self.scope), ("measure", self.measure)):
            if self.compare_methods and value not in (None, "set", "accuracy"):
                raise InvalidArgument(
                    f"{option_name('compare_methods')} is about the accuracy of exactly these "
                    f"inputs, got {option_name(name)} {value}: leave out one of the two"
                )

    def methods(self) -> tuple[str, ...]:
        """The methods that are run, the chosen one first."""
        return tuple(dict.fromkeys((self.method, *(_COMPARED if self.compare_methods else ()))))

    def method_on(self, levels: Interval, seed: int, name: str = "") -> Any:  # noqa: ANN401  any method
        """The chosen method over this range of levels, or another of `methods`."""
        from surefoot.catalogue.methods import CURVES

        chosen = self._chosen_fields(name or self.method)
        method = CURVES[name or self.method]
        if "seed" in _option_fields(method):
            chosen["seed"] = seed
        return method(levels.low, levels.high, **chosen)

    def _chosen_fields(self, method: str) -> dict[str, Any]:
        """The fields that the options set; of a method to compare with, what it shares."""
        from surefoot.catalogue.methods import CURVES

        if method not in CURVES:
            raise InvalidArgument(
                f"there is no method {method!r}: choose one of {', '.join(CURVES)}"
            )
        takes = {name: _option_fields(kind) for name, kind in CURVES.items()}
        chosen = {}
        for name, value in self._values().items():
            field = _FIELDS.get(name, name)
            if field in takes[method]:
                chosen[field] = value
            elif method == self.method and not self._is_for_another(field, takes):
                able = " or ".join(method for method in CURVES if field in takes[method])
                raise InvalidArgument(f"{option_name(name)} is not for method {method}: use {able}")
        return chosen

    def _is_for_another(self, field: str, takes: dict[str, set[str]]) -> bool:
        """Whether one of the other methods that are run has this field."""
        return any(field in takes[name] for name in self.methods()[1:])

    def _values(self) -> dict[str, Any]:
        """The options that were given, read."""
        readers: dict[str, Callable[[str, Any], Any]] = {
            "threshold": as_numbers,
            "confidence": lambda _, value: error_from(value),
            "resolution": as_number,
            "scope": _as_it_is,
            "measure": _as_it_is,
            "assume": _as_it_is,
            "fixed_draws": _as_it_is,
            "curvature": as_number,
            "grid": _as_it_is,
            "step": as_number,
            "as_printed": _as_it_is,
            "levels": _as_it_is,
        }
        given = {name: getattr(self, name) for name in readers}
        return {
            name: readers[name](name, value)
            for name, value in given.items()
            if value is not None and value is not False
        }


_FIELDS = {"threshold": "thresholds", "confidence": "error"}
"""Options whose field has another name, because it holds several or the complement."""
_COMPARED = ("asap", "uniform", "quad")
"""Methods of compare_methods: the paper's, and the two without chance that it compares with."""


def _as_it_is(_: str, value: Any) -> Any:  # noqa: ANN401  any value
    return value


def _option_fields(kind: type[Any]) -> set[str]:
    return {f.name for f in fields(kind)}
