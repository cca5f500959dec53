"""A study: model, inputs, perturbation, property, procedure, seed. Its digest names it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.engine.attacking import Attack
from surefoot.engine.bench import SamplingBench
from surefoot.engine.drive import Progress
from surefoot.engine.preflight import clean_labels, refuse_bad_inputs
from surefoot.engine.streams import generator_for
from surefoot.engine.trays import LARGEST, LARGEST_ON_DEVICE
from surefoot.errors import InvalidArgument
from surefoot.inputs import fit
from surefoot.models import as_probabilities
from surefoot.perturb.levels import level_words
from surefoot.population import Mean, Population, RobustShare, TailMean
from surefoot.properties import SameLabel
from surefoot.statistics import ExactBinomial, KappaTest, NormalTail
from surefoot.store.records import Source
from surefoot.study import running
from surefoot.study.assessment import Assessment
from surefoot.study.registry import METHODS, PROPERTIES, describe, describe_perturbation
from surefoot.subject import (
    Inputs,
    Model,
    Perturbation,
    Property,
    Reference,
    Scores,
    Signature,
)

FORMAT = 2
_EXAMPLES = {
    "model": 'sf.load_model("model.onnx")',
    "perturbation": "sf.perturb.LinfNoise(8/255)",
    "procedure": "sf.ExactSequential(width=0.02, error=0.01)",
}


@dataclass(frozen=True, eq=False)
class Study:
    """Everything that decides the result, and nothing else: workers and batches do not."""

    model: Model
    inputs: Inputs
    perturbation: Perturbation
    procedure: Any
    property: Property = field(default_factory=SameLabel)
    population: Population | None = None
    seed: int = 1
    by_class: bool = False

    def __post_init__(self) -> None:
        for name, has in (("perturbation", "draw"), ("procedure", "steps"), ("model", "predict")):
            if not hasattr(getattr(self, name), has):
                raise InvalidArgument(
                    f"{name} is {getattr(self, name)!r}: give one such as {_EXAMPLES[name]}"
                )
        if self.property.reference is Reference.TRUE and self.inputs.labels is None:
            raise InvalidArgument(
                f"the property '{self.property.kind}' is about true labels, but "
                f"{self.inputs.source} holds none: add labels, or study 'same'"
            )
        rank = getattr(self.property, "k", 0)
        if rank >= self.model.signature.classes:
            raise InvalidArgument(
                f"topk: k = {rank} always holds for {self.model.signature.classes} classes: "
                "choose a smaller k"
            )
        if self.traces:
            self._check_range()
        refuse_bad_inputs(self.fitted, self.model, self.perturbation)

    @cached_property
    def traces(self) -> bool:
        """Whether the procedure traces a curve over levels, instead of studying single inputs."""
        return bool(getattr(self.procedure, "curves", False))

    @cached_property
    def proves(self) -> bool:
        """Whether the procedure brackets critical levels by proof."""
        return bool(getattr(self.procedure, "proves", False))

    def _check_range(self) -> None:
        """Refuse levels that mean nothing, and a measure that the property cannot give."""
        made, asked = self.perturbation, self.procedure
        known = made.levels(self.model.signature.bounds)
        least = -known.high if getattr(made, "signed", False) else known.low
        if asked.low < least or asked.high > known.high:
            raise InvalidArgument(
                f"{made.kind}: levels go from {least:g} to {known.high:g}, not from "
                f"{asked.low:g} to {asked.high:g}"
            )
        confident = getattr(asked, "measure", "accuracy") == "confidence"
        if confident != (self.property.kind == "confidence"):
            raise InvalidArgument(
                "a curve of confidence needs the property sf.Confidence(), and no other curve "
                f"does: got {self.property.kind!r}"
            )

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
    def over(self) -> Population:
        """What is said of the population; by default what suits the procedure, at its error."""
        if self.population is not None:
            return self.population
        match self.procedure:
            case KappaTest(error=error) | ExactBinomial(error=error):
                return RobustShare(error)
            case NormalTail(error=error):
                return TailMean(error)
            case _:
                return Mean(self.procedure.error)

    @cached_property
    def predicted(self) -> NDArray[np.int64]:
        """What the model calls the undisturbed inputs."""
        return clean_labels(self.model, self.fitted.x)

    @cached_property
    def references(self) -> NDArray[np.int64]:
        """The labels the property holds the model to."""
        labels = self.inputs.labels
        true = self.property.reference is Reference.TRUE
        return labels if true and labels is not None else self.predicted

    def bench(self) -> SamplingBench[Any]:
        """The bench that answers this study's tasks."""
        return SamplingBench(
            self.fitted,
            self.references,
            self.scorer,
            self.perturbation,
            self.property,
            self.procedure.evidence,
            self.seed,
        )

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The study as plain data; `words` says it to people and is not in the digest."""
        signature = self.model.signature
        bounds = signature.bounds
        return {
            "format": FORMAT,
            "model": {
                "digest": signature.digest,
                "covers": signature.covers,
                "shape": list(signature.shape),
                "classes": signature.classes,
                "scores": str(signature.scores),
                "preparation": signature.preparation,
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
            "procedure": describe(self.procedure, METHODS),
            "population": self._population_told(),
            "seed": int(self.seed),
            "generator": generator_for(self.model.place(self.fitted.x[:1])),
            "block": 1 if self.proves else self.bench().block,
            "words": {
                "perturbation": _said(
                    self.perturbation, signature, traced=self.traces or self.proves
                ),
                "property": self.property.phrase,
                "source": self.inputs.source,
                "reference": str(self.property.reference),
            },
        }

    def _population_told(self) -> dict[str, Any]:
        if self.proves:
            return {"kind": "critical", "error": self.procedure.error, "by_class": self.by_class}
        if self.traces:
            return {"kind": "curve", "error": self.procedure.error, "by_class": self.by_class}
        return {"kind": self.over.kind, "error": self.over.error}

    @cached_property
    def largest_tray(self) -> int:
        """A device is filled by far larger trays than a processor."""
        return LARGEST if self.spec["generator"] == "sfc64" else LARGEST_ON_DEVICE

    @cached_property
    def digest(self) -> str:
        """The name of the run: two studies with the same digest have the same result."""
        decisive = {key: value for key, value in self.spec.items() if key != "words"}
        return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()

    def run(
        self,
        store: str | None = None,
        *,
        workers: int | None = None,
        batch: int | None = None,
        watch: Callable[[Progress], None] | None = None,
        source: Source | None = None,
        attack: Attack | None = None,
    ) -> Assessment:
        """Measure every input and conclude; with a store, go on where an earlier run stopped.

        An attack adds its failure rate, for comparison; it is not part of what names the run.
        """
        told = watch or (lambda _: None)
        return running.run(self, store, workers, batch, told, source, attack)

    def plan(
        self, assumed: Sequence[float] = (1.0, 0.999, 0.99, 0.9, 0.5), workers: int | None = None
    ) -> running.Plan:
        """What `run` will cost if inputs hold with these probabilities; times the model briefly."""
        return running.plan(self, assumed, workers)

    def replay(self, subject: str, trial: int) -> running.Replay:
        """Run one trial again, by its name."""
        return running.replay(self, subject, trial)


def _said(perturbation: Perturbation, signature: Signature, *, traced: bool = False) -> str:
    """What is sampled, exactly: the distribution, its parameters, clipping and rounding."""
    level, bounds = level_words(perturbation.level), signature.bounds
    level = "the level" if traced else level
    clip = "" if bounds is None else f", then clipped to [{bounds.low:g}, {bounds.high:g}]"
    clip += ", then rounded to whole numbers" if signature.whole_numbers else ""
    return perturbation.phrase.replace("{level}", level) + clip
