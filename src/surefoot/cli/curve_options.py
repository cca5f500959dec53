"""The options that decide how a curve is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surefoot.cli.numbers import error_from, number_list
from surefoot.cli.options import DEFAULT_CONFIDENCE
from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.results import Interval
    from surefoot.subject import Inputs


@dataclass(frozen=True)
class CurveOptions:
    """What is measured along the curve, and by which method.

    An option that is left out is None, so that one the method cannot honour is refused.
    """

    threshold: Annotated[str, typer.Option(help="Lowest accepted accuracy: 0.8, or 0.8,0.6.")] = (
        "0.8"
    )
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
    breaks: Annotated[
        str | None,
        typer.Option(
            help="Levels at which the curve may change direction (default: 0, if in the range)."
        ),
    ] = None
    curvature: Annotated[
        str | None,
        typer.Option(
            help="Assume bounded curvature instead of monotonicity: 128, in accuracy per squared "
            "range."
        ),
    ] = None
    method: Annotated[str, typer.Option(help="sequential, asap, uniform, random or quad.")] = (
        "sequential"
    )
    levels: Annotated[
        int | None, typer.Option(min=2, help="For uniform, random, quad: number of levels.")
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
        self._chosen_fields()

    def method_on(self, levels: Interval, seed: int) -> Any:  # noqa: ANN401
        """The method over this range of levels."""
        from surefoot.methods import CURVES

        chosen = self._chosen_fields()
        method = CURVES[self.method]
        if "seed" in _option_fields(method):
            chosen["seed"] = seed
        return method(levels.low, levels.high, **chosen)

    def _chosen_fields(self) -> dict[str, Any]:
        """The fields of the method that the options set."""
        from surefoot.methods import CURVES

        if self.method not in CURVES:
            raise InvalidArgument(
                f"there is no method {self.method!r}: choose one of {', '.join(CURVES)}"
            )
        takes = {name: _option_fields(kind) for name, kind in CURVES.items()}
        chosen = {}
        for name, value in self._values().items():
            field = _FIELDS.get(name, name)
            if field not in takes[self.method]:
                able = " or ".join(method for method in CURVES if field in takes[method])
                raise InvalidArgument(f"--{name} is not for --method {self.method}: use {able}")
            chosen[field] = value
        return chosen

    def _values(self) -> dict[str, Any]:
        """The options that were given, read."""
        from surefoot.study.registry import number

        readers: dict[str, Callable[[Any], Any]] = {
            "threshold": number_list,
            "confidence": error_from,
            "resolution": number,
            "scope": str,
            "measure": str,
            "breaks": number_list,
            "curvature": number,
            "levels": int,
        }
        return {
            name: read(getattr(self, name))
            for name, read in readers.items()
            if getattr(self, name) is not None
        }


_FIELDS = {"threshold": "thresholds", "confidence": "error"}
"""Options whose field has another name, because it holds several or the complement."""


def _option_fields(kind: type[Any]) -> set[str]:
    return {f.name for f in fields(kind)}
