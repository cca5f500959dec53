"""What decides a result: model, inputs, perturbation, method, property, seed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.catalogue.methods import METHODS, TAILS, TESTS
from surefoot.catalogue.registry import PROPERTIES, describe, describe_perturbation
from surefoot.catalogue.words import perturbation_words
from surefoot.conclude.recorded_study import randomness_of_draws
from surefoot.conclude.scope import sampling_of
from surefoot.core.claims import Randomness, Sampling
from surefoot.core.procedure import Needs
from surefoot.engine.input_check import refuse_bad_inputs
from surefoot.engine.outputs import (
    clean_batches,
    clean_outputs,
    finite_scores,
    joined,
    refuse_infinite,
)
from surefoot.engine.sampling_bench import SamplingBench, draws_nothing
from surefoot.engine.streams import generator_for
from surefoot.inputs import fit
from surefoot.models import as_probabilities
from surefoot.perturb._ops.arrays import level_of
from surefoot.perturb.table import for_columns
from surefoot.population import Mean, Population, RobustShare, TailMean
from surefoot.properties import SameLabel
from surefoot.records.json_records import decisive_json
from surefoot.records.spec import (
    ColumnSpec,
    InputsSpec,
    ModelSpec,
    PartSpec,
    PopulationSpec,
    SpecWords,
    StudySpec,
)
from surefoot.study.compatibility import check_compatibility, check_seed
from surefoot.subject.inputs import Inputs
from surefoot.subject.items import digest_of_object
from surefoot.subject.protocols import Model, Outputs, Perturbation, Property, Reference, Scores

FORMAT = 6
"""Number of the layout of a spec and of the random streams. It is in the digest: runs of another
format have other names."""
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
        check_seed(self.seed)
        object.__setattr__(self, "perturbation", for_columns(self.perturbation, self.fitted))
        check_compatibility(self)
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
        if not self.has_classes:
            return False
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
        return sampling_of(() if labels is None else labels.tolist(), self.fitted.groups)

    @cached_property
    def randomness(self) -> Randomness:
        """What is random about a trial: fresh draws, or nothing where the perturbation draws none.

        A published curve gives each input one draw, the same at every level, and so does any curve
        of exactly these inputs with `fixed_draws`.
        """
        if self.needs in (Needs.REGION, Needs.RADII):
            return Randomness.NOTHING
        if draws_nothing(self.perturbation, self.fitted):
            return Randomness.NOTHING
        return randomness_of_draws(self.method)

    @cached_property
    def aggregate(self) -> Population:
        """What sampling says of the population; by default what suits the method, at its error."""
        if self.population is not None:
            return _of_groups(self.population) if self.fitted.groups else self.population
        error = self.method.error
        if isinstance(self.method, tuple(TESTS.values())):
            return RobustShare(error, self.sampling)
        if isinstance(self.method, tuple(TAILS.values())):
            return TailMean(error, self.sampling)
        return Mean(error, self.sampling)

    @cached_property
    def clean(self) -> NDArray[np.floating]:
        """The scores of the clean inputs, where the model has classes."""
        return finite_scores(self.model, self.fitted.x)

    @cached_property
    def has_classes(self) -> bool:
        """Whether the model gives scores of classes."""
        return self.model.signature.classes > 0

    @cached_property
    def predicted(self) -> NDArray[np.int64]:
        """What the model calls the clean inputs, where it has classes."""
        labels: NDArray[np.int64] = self.clean.argmax(axis=1).astype(np.int64)
        return labels

    @cached_property
    def references(self) -> Outputs:
        """What the property holds the model to: one label, or one output, for each input."""
        inputs, prop, true = self.inputs, self.property, self.property.reference is Reference.TRUE
        if self.has_classes:
            return inputs.labels if true and inputs.labels is not None else self.predicted
        prop_of_outputs: Any = prop
        targets = inputs.targets if true else ()
        parts = []
        for start, outputs in clean_batches(self.model, self.fitted.x):
            refuse_infinite(outputs)
            rows = slice(start, start + len(outputs))
            parts.append(prop_of_outputs.references(outputs, targets[rows], inputs.ids[rows]))
        return joined(parts)

    @cached_property
    def clean_kept(self) -> NDArray[np.bool_]:
        """Which inputs the property keeps when clean; the others fail without any perturbation."""
        if self.has_classes and self.scorer is self.model:
            severity = self.property.severity(self.clean, self.references)
            return np.asarray(severity) < self.property.limit
        parts = []
        for start, outputs in clean_batches(self.scorer, self.fitted.x):
            refuse_infinite(outputs)
            references = self.references[start : start + len(outputs)]
            severity = self.property.severity(outputs, references)
            parts.append(np.asarray(severity) < self.property.limit)
        return np.concatenate(parts)

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
    def spec(self) -> StudySpec:
        """The study as plain data; its `words` are for people and are not in the digest."""
        signature, inputs = self.model.signature, self.inputs
        samples = self.needs in (Needs.SAMPLES, Needs.LEVELS, Needs.MEAN)
        return StudySpec(
            format=FORMAT,
            model=ModelSpec(
                digest=signature.digest,
                covers=signature.covers,
                shape=tuple(signature.shape),
                classes=signature.classes,
                scores=str(signature.scores),
                preparation=signature.preparation,
                answers=self._answers(),
            ),
            inputs=InputsSpec(
                digest=self.fitted.digest(),
                frame=tuple(self.fitted.frame),
                axes=tuple(self.fitted.axes),
                number=len(inputs),
                selection=inputs.selection,
                class_names=tuple(inputs.class_names),
                reading=inputs.reading,
                columns=tuple(
                    ColumnSpec(f.heading, f.dtype, f.categories) for f in inputs.features
                ),
                groups=len(set(inputs.groups)),
                classes=tuple(inputs.classes),
                labelled=inputs.labels is not None,
                only=inputs.only,
            ),
            bounds=signature.bounds,
            perturbation=_part(describe_perturbation(self.perturbation)),
            property=_part(describe(self.property, PROPERTIES)),
            method=_part(describe(self.method, METHODS)),
            population=_population(self.aggregate) if self.needs is Needs.SAMPLES else None,
            by_class=self.class_by_class,
            seed=int(self.seed),
            generator=generator_for(self.model.place(self.fitted.x[:1])),
            block=self.bench().block if samples else 1,
            words=SpecWords(
                perturbation=perturbation_words(
                    self.perturbation,
                    signature.bounds,
                    self.needs,
                    whole_numbers=signature.whole_numbers,
                ),
                property=self.property.phrase,
                source=inputs.source,
                reference=str(self.property.reference),
            ),
        )

    def _answers(self) -> str:
        """A name for the clean outputs, where the model's own digest does not cover all of it."""
        if not self.model.signature.covers.startswith("only"):
            return ""
        if not self.has_classes:
            outputs = clean_outputs(self.model, self.fitted.x)
            named = sorted(zip(self.fitted.ids, map(digest_of_object, outputs), strict=True))
            return hashlib.sha256(repr(named).encode()).hexdigest()
        rounded = np.round(self.clean.astype(np.float64), _DECIMALS) + 0.0  # no negative zero
        order = sorted(range(len(rounded)), key=self.fitted.ids.__getitem__)
        return hashlib.sha256(rounded[order].tobytes()).hexdigest()

    @cached_property
    def digest(self) -> str:
        """The name of the run: two studies with the same digest have the same result."""
        return hashlib.sha256(decisive_json(self.spec).encode()).hexdigest()


def _of_groups(population: Any) -> Population:  # noqa: ANN401  one with a `sampling`
    grouped: Population = replace(population, sampling=Sampling.GROUPED)
    return grouped


def _part(described: dict[str, Any]) -> PartSpec:
    options = {name: value for name, value in described.items() if name != "kind"}
    return PartSpec(described["kind"], options)


def _population(over: Population) -> PopulationSpec:
    sampling = getattr(over, "sampling", None)
    return PopulationSpec(over.kind, over.error, None if sampling is None else str(sampling))
