"""The options that decide how a curve is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surefoot.cli.numbers import error_from, number, number_list
from surefoot.cli.options import DEFAULT_CONFIDENCE
from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.input_set import Inputs
    from surefoot.results import Interval


@dataclass(frozen=True)
class CurveOptions:
    """What is measured along the curve, and by which method.

    An option that is left out is None, so that one the method cannot honour is refused.
    """

    threshold: Annotated[
        list[str] | None,
        typer.Option(help="Lowest accepted accuracy: 0.8, or 0.8,0.6 (default: 0.8)."),
    ] = None
    measure: Annotated[
        str | None,
        typer.Option(
            help="accuracy, or confidence: the mean confidence in the label (default: accuracy)."
        ),
    ] = None
    prop: Annotated[
        str | None,
        typer.Option(
            "--property",
            help="When an output counts as correct: true, same, topk:5 (default: true, or same "
            "without labels).",
        ),
    ] = None
    scope: Annotated[
        str | None,
        typer.Option(
            help="What the curve is about: set (exactly these inputs) or population (what they "
            "are a random sample of) (default: set)."
        ),
    ] = None
    confidence: Annotated[
        str | None,
        typer.Option(help=f"Confidence of the result (default: {DEFAULT_CONFIDENCE})."),
    ] = None
    resolution: Annotated[
        str | None,
        typer.Option(
            help="How precisely to locate a crossing, as a share of the range (default: 0.001)."
        ),
    ] = None
    assume: Annotated[
        str | None,
        typer.Option(
            help="What is assumed between the levels: wiggle:0.01 (at most 1 point beyond both "
            "neighbours), one-crossing (once below the threshold, below at all stronger levels), "
            "monotone (an input that fails keeps failing), curvature:128 (default: wiggle:0.01)."
        ),
    ] = None
    fixed_draws: Annotated[
        bool,
        typer.Option(
            "--fixed-draws",
            help="For a random perturbation: one draw for each input, the same at every level, "
            "instead of fresh draws.",
        ),
    ] = False
    method: Annotated[str, typer.Option(help="sequential, asap, uniform, random or quad.")] = (
        "sequential"
    )
    compare_methods: Annotated[
        bool,
        typer.Option(
            "--compare-methods", help="Also run asap, uniform and quad, on the same inputs."
        ),
    ] = False
    levels: Annotated[
        int | None, typer.Option(min=2, help="For uniform, random, quad: number of levels.")
    ] = None
    as_printed: Annotated[
        bool, typer.Option("--as-printed", help="For asap: exactly as the paper prints it.")
    ] = False
    curvature: Annotated[
        str | None,
        typer.Option(
            help="For asap: the paper's â, in accuracy per squared range (default: from the data; "
            "as printed 128)."
        ),
    ] = None
    grid: Annotated[
        int | None,
        typer.Option(help="For asap: the paper's n, no pair of levels is closer (default: 1024)."),
    ] = None
    step: Annotated[
        str | None,
        typer.Option(help="For asap, instead of --grid: the smallest step, a share of the range."),
    ] = None

    def property_for(self, inputs: Inputs) -> str:
        """The property as text: --property, or what suits measure and labels."""
        if self.prop is not None:
            return self.prop
        labelled = inputs.labels is not None
        if self.measure == "confidence":
            return "confidence" if labelled else "confidence:predicted"
        return "true" if labelled else "same"

    def check(self) -> None:
        """Refuse an option that the method does not have, before files are read."""
        for method in self.methods:
            self._chosen_fields(method)
        for name, value in (("--scope", self.scope), ("--measure", self.measure)):
            if self.compare_methods and value not in (None, "set", "accuracy"):
                raise InvalidArgument(
                    f"--compare-methods is about the accuracy of exactly these inputs, got {name} "
                    f"{value}: leave out one of the two"
                )

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that are run, the chosen one first."""
        return tuple(dict.fromkeys((self.method, *(_COMPARED if self.compare_methods else ()))))

    def method_on(self, levels: Interval, seed: int, name: str = "") -> Any:  # noqa: ANN401
        """The chosen method over this range of levels, or another of `methods`."""
        from surefoot.methods import CURVES

        chosen = self._chosen_fields(name or self.method)
        method = CURVES[name or self.method]
        if "seed" in _option_fields(method):
            chosen["seed"] = seed
        return method(levels.low, levels.high, **chosen)

    def _chosen_fields(self, method: str) -> dict[str, Any]:
        """The fields that the options set; of a method to compare with, what it shares."""
        from surefoot.methods import CURVES

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
                option = f"--{name.replace('_', '-')}"
                raise InvalidArgument(f"{option} is not for --method {method}: use {able}")
        return chosen

    def _is_for_another(self, field: str, takes: dict[str, set[str]]) -> bool:
        """Whether one of the other methods that are run has this field."""
        return any(field in takes[name] for name in self.methods[1:])

    def _values(self) -> dict[str, Any]:
        """The options that were given, read."""
        readers: dict[str, Callable[[Any], Any]] = {
            "threshold": lambda texts: number_list("--threshold", ",".join(texts)),
            "confidence": error_from,
            "resolution": partial(number, "--resolution"),
            "scope": str,
            "measure": str,
            "assume": str,
            "fixed_draws": bool,
            "curvature": partial(number, "--curvature"),
            "grid": int,
            "step": partial(number, "--step"),
            "as_printed": bool,
            "levels": int,
        }
        return {
            name: read(getattr(self, name))
            for name, read in readers.items()
            if getattr(self, name) not in (None, False)
        }


_FIELDS = {"threshold": "thresholds", "confidence": "error"}
"""Options whose field has another name, because it holds several or the complement."""
_COMPARED = ("asap", "uniform", "quad")
"""Methods of --compare-methods: the paper's, and the two without chance that it compares with."""


def _option_fields(kind: type[Any]) -> set[str]:
    return {f.name for f in fields(kind)}
