"""A study: what decides its result, and the run, the plan and the replay of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.catalogue.methods import METHODS
from surefoot.catalogue.registry import PROPERTIES, describe, describe_perturbation
from surefoot.catalogue.words import perturbation_words
from surefoot.conclude.facts import StudyFacts, suiting_population
from surefoot.conclude.scope import sampling_of
from surefoot.core.claims import Sampling
from surefoot.core.procedure import Needs
from surefoot.core.results import InputResult
from surefoot.engine.input_check import refuse_bad_inputs
from surefoot.engine.outputs import (
    clean_batches,
    clean_outputs,
    finite_scores,
    joined,
    refuse_infinite,
)
from surefoot.engine.progress import Progress
from surefoot.engine.sampling_bench import SamplingBench, draws_nothing
from surefoot.engine.streams import generator_for
from surefoot.executors.pool import AnyExecutor, WorkerNote, warn_of_fallback
from surefoot.inputs import fit
from surefoot.models import as_probabilities
from surefoot.perturb._ops.arrays import level_of
from surefoot.perturb.table import for_columns
from surefoot.population import Population
from surefoot.properties import SameLabel
from surefoot.records.json_records import decisive_json
from surefoot.records.record import InputRow, Source
from surefoot.records.spec import (
    ColumnSpec,
    InputsSpec,
    ModelSpec,
    PartSpec,
    PopulationSpec,
    SpecWords,
    StudySpec,
)
from surefoot.region import GivenAttack
from surefoot.study.compatibility import check_compatibility, check_seed
from surefoot.study.cost_plan import Plan, plan
from surefoot.study.replay_trial import Replay, replay
from surefoot.study.result import Result
from surefoot.study.run import RunSettings, run
from surefoot.subject.inputs import Inputs
from surefoot.subject.items import digest_of_object
from surefoot.subject.protocols import Model, Outputs, Perturbation, Property, Reference, Scores

FORMAT = 6
"""Number of the layout of a spec and of the random streams. It is in the digest: runs of another
format have other names."""
_DECIMALS = 6
"""Digits of a score that rounding between batches leaves alone."""


@dataclass(frozen=True, eq=False)
class Study:
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
    def aggregate(self) -> Population:
        """What sampling says of the population; by default what suits the method, at its error."""
        if self.population is None:
            return suiting_population(self.method, self.sampling)
        if not self.fitted.groups:
            return self.population
        grouped: Population = replace(self.population, sampling=Sampling.GROUPED)  # type: ignore[type-var]
        return grouped

    @cached_property
    def facts(self) -> StudyFacts:
        """What a conclusion needs of this study, beside the answers; neither model nor data."""
        proves = self.needs in (Needs.REGION, Needs.RADII)
        return StudyFacts(
            digest=self.digest,
            spec=self.spec,
            method=self.method,
            sampling=self.sampling,
            draws=not proves and not draws_nothing(self.perturbation, self.fitted),
            level=0.0 if self.needs.chooses_levels else self.level,
            population=self.aggregate if self.needs is Needs.SAMPLES else None,
        )

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
    def labels(self) -> NDArray[np.int64]:
        """The class of each input: the true one, or where that is unknown the predicted one.

        Empty where the model has no classes.
        """
        if not self.has_classes:
            return np.empty(0, dtype=np.int64)
        return self.predicted if self.fitted.labels is None else self.fitted.labels

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

    def row(self, i: int, result: InputResult) -> InputRow:
        """One input with its result; not what takes another pass over data or model."""
        inputs = self.fitted
        return InputRow(
            inputs.ids[i],
            None if inputs.labels is None else int(inputs.labels[i]),
            int(self.predicted[i]) if self.has_classes else None,
            result,
            group=inputs.groups[i] if inputs.groups else "",
        )

    def rows(self, results: Sequence[InputResult]) -> tuple[InputRow, ...]:
        """All inputs with their results, in the order of the inputs."""
        digests = self.fitted.row_digests()
        known = zip(results, digests, self.clean_kept, strict=True)
        return tuple(
            replace(self.row(i, one), digest=digest, clean_kept=bool(kept))
            for i, (one, digest, kept) in enumerate(known)
        )

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
        if not self.model.signature.partial:
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

    def run(
        self,
        store: str | None = None,
        *,
        workers: int | None = None,
        batch: int | None = None,
        on_progress: Callable[[Progress], None] = lambda _: None,
        source: Source | None = None,
        attack: GivenAttack | None = None,
        on_interrupt: Callable[[Result], None] = lambda _: None,
        time_limit: float | None = None,
        executor: AnyExecutor = None,
        on_workers: Callable[[WorkerNote], None] = warn_of_fallback,
    ) -> Result:
        """Measure every input and conclude; with a store, go on where an earlier run stopped.

        An attack, or a function of (model, images, labels, radius), adds its failure rate, for
        comparison; it is not part of what names the run.
        `on_progress` is called after each batch; `on_interrupt` gets the result so far where the
        run is interrupted and that already says something. `source` names the files, for a replay.
        After `time_limit` seconds of measuring the method concludes with what it knows; the same
        study goes on from there, with a store. Only for methods that can conclude early.
        `executor`: "threads", "processes", "ray" or `executors.Ray(...)`, or an executor of
        `concurrent.futures`, which stays open; None is what helps. `on_workers` gets a note on
        where the batches run.
        """
        options = RunSettings(
            workers, batch, on_progress, on_interrupt, source, time_limit, executor, on_workers
        )
        return run(self, store, options, attack)

    def plan(
        self, assumed: Sequence[float] = (1.0, 0.999, 0.99, 0.9, 0.5), workers: int | None = None
    ) -> Plan:
        """What `run` will cost if inputs are kept with these probabilities; times the model."""
        return plan(self, assumed, workers)

    def replay(self, subject: str, trial: int) -> Replay:
        """Run one trial again, by its name."""
        return replay(self, subject, trial)


def _part(described: dict[str, Any]) -> PartSpec:
    options = {name: value for name, value in described.items() if name != "kind"}
    return PartSpec(described["kind"], options)


def _population(over: Population) -> PopulationSpec:
    sampling = getattr(over, "sampling", None)
    return PopulationSpec(over.kind, over.error, None if sampling is None else str(sampling))
