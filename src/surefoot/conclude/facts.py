"""What a conclusion needs of a study, whether that runs now or is read from a record."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.catalogue.methods import METHODS, TAILS, TESTS, SmoothedRadius
from surefoot.catalogue.registry import PERTURBATIONS, UNLISTED
from surefoot.conclude.scope import POPULATIONS, sampling_of, stated_population
from surefoot.core.claims import LINF, Randomness, Sampling
from surefoot.core.procedure import Needs
from surefoot.core.results import Interval
from surefoot.engine.sampling_bench import draws_nothing
from surefoot.errors import InvalidArgument
from surefoot.population import Mean, Population, RobustShare, TailMean
from surefoot.records.record import InputRow
from surefoot.records.spec import StudySpec
from surefoot.subject.inputs import Inputs

_MOST_VALUES = 10_000_000
"""Of one input: a hostile file cannot fill the memory with its shape."""
_MOST_SIDE = 4096
"""Pixels of an image, for the same reason: fog is drawn on a square of its longer side."""


@dataclass(frozen=True, eq=False)
class StudyFacts:
    """Everything but the answers from which claims follow; neither model nor data.

    A study that runs makes its own; `recorded_facts` makes those of a record. `draws`: the
    perturbation is random. `level` is that of the trials, 0 where the method chooses levels.
    `population` is what sampling says of the population, None for other methods.
    """

    digest: str
    spec: StudySpec
    method: Any
    sampling: Sampling
    draws: bool
    level: float
    population: Population | None

    @property
    def needs(self) -> Needs:
        """What the method needs."""
        needs: Needs = self.method.needs
        return needs

    @property
    def has_classes(self) -> bool:
        """Whether the model gives scores of classes."""
        return self.spec.model.classes > 0

    @property
    def class_by_class(self) -> bool:
        """Whether classes get claims of their own."""
        return self.has_classes and self.spec.by_class

    @property
    def of_population(self) -> bool:
        """Whether a curve is that of the population; otherwise it is that of these inputs."""
        return getattr(self.method, "scope", "set") == "population"

    @property
    def randomness(self) -> Randomness:
        """What is random about a trial: fresh draws, or nothing where the perturbation draws none.

        A published curve gives each input one draw, the same at every level, and so does any curve
        of exactly these inputs with `fixed_draws`.
        """
        if self.needs in (Needs.REGION, Needs.RADII) or not self.draws:
            return Randomness.NOTHING
        one_draw = self.needs is Needs.LEVELS and getattr(self.method, "fixed_draws", True)
        return Randomness.FIXED if one_draw and not self.of_population else Randomness.FRESH

    @property
    def scales_from_inputs(self) -> bool:
        """Whether a part of the perturbation is relative to the spread of these inputs."""
        return _has_scales(self.spec.perturbation.options)

    @property
    def aggregate(self) -> Population:
        """What is said of the population, for a study that samples at one level."""
        if self.population is None:
            raise InvalidArgument(f"{self.spec.method.kind} says nothing of a population")
        return self.population

    @property
    def bounds(self) -> Interval:
        """The range of input values, without which nothing can be proved."""
        if self.spec.bounds is None:
            raise InvalidArgument(
                "proofs need the range of input values, got none: pass bounds (--bounds 0,1)"
            )
        return self.spec.bounds


def _has_scales(options: dict[str, Any]) -> bool:
    """Of a perturbation, of the one inside it, or of one of several together."""
    parts = [*options.get("parts", ()), options.get("inner")]
    own = bool(options.get("relative_to"))
    return own or any(_has_scales(part) for part in parts if isinstance(part, dict))


_NORMS = {"l2": "L2", "l1": "L1", "table": "feature-wise"}


def norm_of(spec: StudySpec) -> str:
    """The norm in which radii of a study are measured, as claims name it."""
    return _NORMS.get(spec.perturbation.kind, LINF)


def suiting_population(method: Any, sampling: Sampling) -> Population:  # noqa: ANN401  any method that samples
    """What is said of the population where the user asks for nothing else."""
    return _suiting(method)(method.error, sampling)


def _suiting(method: Any) -> type[Mean] | type[RobustShare] | type[TailMean]:  # noqa: ANN401  any method that samples
    if isinstance(method, (*TESTS.values(), SmoothedRadius)):
        return RobustShare
    return TailMean if isinstance(method, tuple(TAILS.values())) else Mean


def recorded_facts(
    digest: str, spec: StudySpec, rows: Sequence[InputRow], *, draws: bool, level: float
) -> StudyFacts:
    """Those of a study of which there is the record alone: its spec and the rows of its inputs."""
    labels = [row.label for row in rows if row.label is not None]
    groups = [row.group for row in rows if row.group]
    for known, of in ((labels, "label"), (groups, "group")):
        if known and len(known) < len(rows):
            raise InvalidArgument(f"some inputs have a {of} and some have none")
    method = method_of(spec)
    return StudyFacts(
        digest=digest,
        spec=spec,
        method=method,
        sampling=sampling_of(labels, groups),
        draws=draws,
        level=level,
        population=_stated_population(spec, method) if method.needs.of_each_input else None,
    )


def _stated_population(spec: StudySpec, method: Any) -> Population:  # noqa: ANN401  any method that samples
    """What the spec says; a mean follows from every method, the others from their own alone."""
    stated = spec.population
    if stated is None or stated.kind not in POPULATIONS or stated.sampling is None:
        raise InvalidArgument(f"there is no statement about a population {stated}")
    over = POPULATIONS[stated.kind]
    if over not in (Mean, _suiting(method)):
        raise InvalidArgument(f"{stated.kind} does not follow from {spec.method.kind}")
    return stated_population(stated, spec.inputs.digest)


def method_of(spec: StudySpec) -> Any:  # noqa: ANN401  any method of the package
    """The method of a spec; refused where it is code of the user's own."""
    kind = spec.method.kind
    if kind not in METHODS:
        raise InvalidArgument(f"the method {kind} is not one of surefoot's own")
    return METHODS[kind](**_as_tuples(spec.method.options))


def draws_of(spec: StudySpec) -> bool | None:
    """Whether a perturbation of the catalogue is random; None where it cannot be made again."""
    part, shape = spec.perturbation, spec.model.shape
    side = max(spec.inputs.frame, default=0)
    too_large = not 0 < math.prod(shape) <= _MOST_VALUES or side > _MOST_SIDE
    known = PERTURBATIONS | UNLISTED
    if part.kind not in known or too_large:
        return None
    try:
        x = np.zeros((1, *shape), dtype=np.float32)
        inputs = Inputs(x, None, ("0",), "", frame=spec.inputs.frame, axes=spec.inputs.axes)
        return not draws_nothing(known[part.kind](**_as_tuples(part.options)), inputs)
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
        return None


def _as_tuples(options: dict[str, Any]) -> dict[str, Any]:
    """Options as they were before JSON made lists of them."""
    return {n: tuple(value) if isinstance(value, list) else value for n, value in options.items()}
