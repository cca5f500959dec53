"""What decides a result: model, inputs, perturbation, method, property, seed."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.claims import Randomness, Sampling
from surefoot.engine.clean_predictions import finite_scores
from surefoot.engine.input_check import refuse_bad_inputs
from surefoot.engine.input_layout import draws_nothing
from surefoot.engine.sampling_bench import SamplingBench
from surefoot.engine.streams import generator_for
from surefoot.inputs import fit
from surefoot.models import as_probabilities
from surefoot.perturb._ops.levels import level_of, level_words
from surefoot.population import Mean, Population, RobustShare, TailMean
from surefoot.procedure import Needs
from surefoot.properties import SameLabel
from surefoot.statistics import ExactBinomial, KappaTest, NormalTail
from surefoot.study.compatibility import refuse_misfits
from surefoot.study.registry import METHODS, PROPERTIES, describe, describe_perturbation
from surefoot.subject import Inputs, Model, Perturbation, Property, Reference, Scores, Signature

FORMAT = 3
_DECIMALS = 6
"""Digits of a score that rounding between batches leaves alone."""


@dataclass(frozen=True, eq=False)
class Setup:
    """Everything that decides the result, and nothing else: workers and batches do not.

    `by_class`: claims about each class too; None is what the method does by itself (sampling
    does, curves and radii do not). `population` is the kind of statement about the population
    that sampling makes; None is the one that suits the method.
    """

    model: Model
    inputs: Inputs
    perturbation: Perturbation
    method: Any
    property: Property = field(default_factory=SameLabel)
    population: Population | None = None
    seed: int = 1
    by_class: bool | None = None

    def __post_init__(self) -> None:
        refuse_misfits(self)
        refuse_bad_inputs(self.fitted, self.model, self.perturbation)

    @cached_property
    def needs(self) -> Needs:
        """What the method needs."""
        needs: Needs = self.method.needs
        return needs

    @cached_property
    def level(self) -> float:
        """The level of the perturbation, where the method does not choose levels itself."""
        return level_of(self.perturbation)

    @cached_property
    def class_by_class(self) -> bool:
        """Whether classes get claims of their own."""
        return self.needs is Needs.SAMPLES if self.by_class is None else self.by_class

    @cached_property
    def fitted(self) -> Inputs:
        """The inputs in the shape the model takes."""
        return fit(self.inputs, self.model.signature.shape)

    @cached_property
    def scorer(self) -> Model:
        """The model, giving the kind of scores that the property reads."""
        needs = self.property.needs
        return as_probabilities(self.model) if needs is Scores.PROBABILITIES else self.model

    @cached_property
    def sampling(self) -> Sampling:
        """How the inputs stand for the population: equally many of each class are a quota."""
        labels = self.fitted.labels
        sizes = Counter(() if labels is None else labels.tolist())
        even = len(sizes) > 1 and min(sizes.values()) == max(sizes.values()) > 1
        return Sampling.STRATIFIED if even else Sampling.INDEPENDENT

    @cached_property
    def randomness(self) -> Randomness:
        """What is random about a trial: fresh draws, or nothing where the perturbation draws none.

        A curve of exactly these inputs gives each input one draw, the same at every level.
        """
        if self.needs in (Needs.REGION, Needs.RADII):
            return Randomness.NOTHING
        if draws_nothing(self.perturbation, self.fitted):
            return Randomness.NOTHING
        one_draw = self.needs is Needs.LEVELS and getattr(self.method, "scope", "set") == "set"
        return Randomness.FIXED if one_draw else Randomness.FRESH

    @cached_property
    def aggregate(self) -> Population:
        """What sampling says of the population; by default what suits the method, at its error."""
        if self.population is not None:
            return self.population
        match self.method:
            case KappaTest(error=error) | ExactBinomial(error=error):
                return RobustShare(error, self.sampling)
            case NormalTail(error=error):
                return TailMean(error, self.sampling)
            case _:
                return Mean(self.method.error, self.sampling)

    @cached_property
    def clean(self) -> NDArray[np.floating]:
        """The scores of the clean inputs."""
        return finite_scores(self.model, self.fitted.x)

    @cached_property
    def predicted(self) -> NDArray[np.int64]:
        """What the model calls the clean inputs."""
        labels: NDArray[np.int64] = self.clean.argmax(axis=1).astype(np.int64)
        return labels

    @cached_property
    def references(self) -> NDArray[np.int64]:
        """The labels the property holds the model to."""
        labels = self.inputs.labels
        true = self.property.reference is Reference.TRUE
        return labels if true and labels is not None else self.predicted

    def bench(self) -> SamplingBench[Any]:
        """The bench that answers the tasks of a study that samples."""
        return SamplingBench(
            self.fitted,
            self.references,
            self.scorer,
            self.perturbation,
            self.property,
            self.method.evidence,
            self.seed,
        )

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The study as plain data; `words` says it to people and is not in the digest."""
        signature = self.model.signature
        bounds = signature.bounds
        samples = self.needs in (Needs.SAMPLES, Needs.LEVELS)
        return {
            "format": FORMAT,
            "model": {
                "digest": signature.digest,
                "covers": signature.covers,
                "shape": list(signature.shape),
                "classes": signature.classes,
                "scores": str(signature.scores),
                "preparation": signature.preparation,
                "answers": self._answers(),
            },
            "inputs": {
                "digest": self.fitted.digest(),
                "frame": list(self.fitted.frame),
                "axes": list(self.fitted.axes),
                "number": len(self.inputs),
                "selection": self.inputs.selection,
                "class_names": list(self.inputs.class_names),
                "reading": self.inputs.reading,
            },
            "bounds": None if bounds is None else asdict(bounds),
            "perturbation": describe_perturbation(self.perturbation),
            "property": describe(self.property, PROPERTIES),
            "method": describe(self.method, METHODS),
            "population": _described(self.aggregate) if self.needs is Needs.SAMPLES else None,
            "by_class": self.class_by_class,
            "seed": int(self.seed),
            "generator": generator_for(self.model.place(self.fitted.x[:1])),
            "block": self.bench().block if samples else 1,
            "words": {
                "perturbation": _in_words(self.perturbation, signature, self.needs),
                "property": self.property.phrase,
                "source": self.inputs.source,
                "reference": str(self.property.reference),
            },
        }

    def _answers(self) -> str:
        """A name for the clean scores, where the model's own digest does not cover all of it."""
        if not self.model.signature.covers.startswith("only"):
            return ""
        rounded = np.round(self.clean.astype(np.float64), _DECIMALS) + 0.0  # no negative zero
        order = sorted(range(len(rounded)), key=self.fitted.ids.__getitem__)
        return hashlib.sha256(rounded[order].tobytes()).hexdigest()

    @cached_property
    def digest(self) -> str:
        """The name of the run: two studies with the same digest have the same result."""
        decisive = {key: value for key, value in self.spec.items() if key != "words"}
        return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()


def _described(over: Population) -> dict[str, Any]:
    sampling = getattr(over, "sampling", None)
    return {"kind": over.kind, "error": over.error, "sampling": sampling and str(sampling)}


def _in_words(perturbation: Perturbation, signature: Signature, needs: Needs) -> str:
    """What is sampled, exactly: the distribution, its parameters, clipping and rounding."""
    bounds = signature.bounds
    if needs in (Needs.REGION, Needs.RADII):
        within = "" if bounds is None else f" inside [{bounds.low:g}, {bounds.high:g}]"
        given = perturbation.level
        radius = "" if given is None else f" of radius {level_words(given)}"
        return f"any point of the {getattr(perturbation, 'ball', '')} ball{radius}{within}"
    open_ = perturbation.level is None and "{level}" in perturbation.phrase
    level = "s" if perturbation.level is None else level_words(perturbation.level)
    clip = "" if bounds is None else f", then clipped to [{bounds.low:g}, {bounds.high:g}]"
    clip += ", then rounded to whole numbers" if signature.whole_numbers else ""
    clip += "; s is the level" if open_ else ""
    return perturbation.phrase.replace("{level}", level) + clip
