"""The parts of a study: what decides its result, and whether they fit together."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from surefoot.catalogue.methods import METHODS, TAILS
from surefoot.catalogue.registry import (
    PROPERTIES,
    describe,
    describe_perturbation,
    perturbation_words,
)
from surefoot.conclude.facts import StudyFacts, suiting_population
from surefoot.conclude.scope import sampling_of
from surefoot.core.claims import About, Sampling
from surefoot.core.counts import Counts
from surefoot.core.procedure import Needs
from surefoot.core.results import InputResult
from surefoot.engine.chains import moves_in_steps, without_steps
from surefoot.engine.input_check import refuse_bad_inputs
from surefoot.engine.outputs import (
    Check,
    checked_scores,
    clean_batches,
    clean_outputs,
    joined,
    refuse_infinite,
)
from surefoot.engine.preflight import examine_model
from surefoot.engine.sampling_bench import SamplingBench, draws_blocks, draws_nothing
from surefoot.engine.streams import LONGEST_BLOCK, generator_for
from surefoot.errors import InvalidArgument
from surefoot.inputs import fit
from surefoot.models import as_probabilities
from surefoot.perturb._ops.arrays import level_of
from surefoot.perturb.table import for_columns
from surefoot.population import Mean, Population, RobustShare, TailMean
from surefoot.properties import SameLabel, TrueLabel
from surefoot.records import spec as specs
from surefoot.records.input_table import MOST_NAMED, InputTable
from surefoot.records.json_records import decisive_json
from surefoot.records.record import InputRow
from surefoot.records.spec import StudySpec
from surefoot.subject.inputs import Inputs, digest_of_rows
from surefoot.subject.items import digest_of_object
from surefoot.subject.protocols import (
    Ball,
    Model,
    Outputs,
    Perturbation,
    Property,
    Reference,
    Scores,
)

FORMAT = 6
"""Number of the layout of a spec and of the random streams. It is in the digest: runs of another
format have other names."""
_OF_MODEL_AND_INPUTS = (
    *("fitted", "row_digests", "scorer", "sampling", "references", "clean_kept", "model_checks"),
)
_OF_OUTPUTS = ("clean", "predicted", "labels")
"""What no perturbation has a part in; the latter where the model has classes."""
_PROVE_ON = re.compile(r"cpu(:0)?|cuda(:\d+)?")
"""`cpu:0` is the processor by PyTorch, which tries the same without a GPU."""
_DECIMALS = 6
"""Digits of a score that rounding between batches leaves alone."""


@dataclass(frozen=True, eq=False)
class StudyParts:
    """Everything that decides the result, and what follows from it before anything is run.

    The property is by default that the input gets its true label, where labels are known, else
    that it keeps the label that it gets when clean.

    A run, a plan and a replay take this; `Study` is the same with them as methods.
    """

    model: Model
    inputs: Inputs
    perturbation: Perturbation
    method: Any
    property: Property = None  # type: ignore[assignment]  # what labels allow, set below
    population: Population | None = None
    seed: int = 1
    by_class: bool | None = None
    prove_on: str = ""

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if self.property is None:
            labelled = self.inputs.labels is not None
            object.__setattr__(self, "property", TrueLabel() if labelled else SameLabel())
        object.__setattr__(self, "perturbation", for_columns(self.perturbation, self.fitted))
        check_compatibility(self)
        _check_place_of_proofs(self)
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
    def row_digests(self) -> list[bytes]:
        """A name for each input."""
        return self.fitted.row_digests()

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
        return replace(self.population, sampling=Sampling.GROUPED)

    @cached_property
    def facts(self) -> StudyFacts:
        """What a conclusion needs of this study, beside the answers; neither model nor data."""
        proves = self.needs in (Needs.REGION, Needs.RADII)
        over: Any = self.aggregate if self.needs.of_each_input else None
        if over is not None:
            over = replace(over, inputs=self.spec.inputs.digest)
        return StudyFacts(
            digest=self.digest,
            spec=self.spec,
            method=self.method,
            sampling=self.sampling,
            draws=not proves and not draws_nothing(self.perturbation, self.fitted),
            level=0.0 if self.needs.chooses_levels else self.level,
            population=over,
        )

    @cached_property
    def clean_unchecked(self) -> NDArray[np.floating]:
        """What the model gives for the clean inputs, where it has classes: NaN too."""
        scores: NDArray[np.floating] = clean_outputs(self.model, self.fitted.x)
        return scores

    @cached_property
    def clean(self) -> NDArray[np.floating]:
        """The scores of the clean inputs, where the model has classes."""
        return checked_scores(self.model, self.clean_unchecked)

    @cached_property
    def has_classes(self) -> bool:
        """Whether the model gives scores of classes."""
        return self.model.signature.classes > 0

    @cached_property
    def predicted(self) -> NDArray[np.int64]:
        """What the model calls the clean inputs, where it has classes."""
        return np.asarray(self.clean.argmax(axis=1), dtype=np.int64)

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

    @cached_property
    def model_checks(self) -> tuple[Check, ...]:
        """What was found of model and inputs before any perturbation."""
        clean = (lambda: self.clean_unchecked) if self.has_classes else None
        return tuple(examine_model(self.fitted, self.model, clean))

    def under(self, perturbation: Perturbation, method: Any, seed: int) -> Self:  # noqa: ANN401  any method
        """The same model and inputs otherwise; what is known of them is not computed again."""
        other = replace(
            self, inputs=self.fitted, perturbation=perturbation, method=method, seed=seed
        )
        known = _OF_OUTPUTS if self.has_classes else ()
        for name in (*_OF_MODEL_AND_INPUTS, *known):
            other.__dict__[name] = getattr(self, name)
        return other

    def row(
        self, i: int, result: InputResult, digest: str = "", *, clean_kept: bool | None = None
    ) -> InputRow:
        """One input with its result; what takes another pass over data or model is given."""
        inputs = self.fitted
        return InputRow(
            inputs.ids[i],
            None if inputs.labels is None else int(inputs.labels[i]),
            int(self.predicted[i]) if self.has_classes else None,
            result,
            digest,
            inputs.groups[i] if inputs.groups else "",
            clean_kept,
        )

    def rows(self, results: Sequence[InputResult]) -> tuple[InputRow, ...]:
        """All inputs with their results, in the order of the inputs."""
        known = zip(results, self.row_digests, self.clean_kept, strict=True)
        return tuple(
            self.row(i, one, digest.hex(), clean_kept=bool(kept))
            for i, (one, digest, kept) in enumerate(known)
        )

    def rows_tried(self, results: Mapping[int, InputResult]) -> Sequence[InputRow]:
        """All inputs, with the results of those that had a trial, by place."""
        inputs, digests = self.fitted, self.row_digests
        if len(results) == len(inputs):
            return self.rows([results[i] for i in range(len(inputs))])
        named = range(len(inputs)) if len(inputs) - len(results) <= MOST_NAMED else results
        return InputTable(
            inputs.ids,
            inputs.labels,
            self.predicted if self.has_classes else None,
            self.clean_kept,
            inputs.groups,
            {i: digests[i].hex() for i in named},
            results,
        )

    @cached_property
    def _few_trials_each(self) -> bool:
        """Whether a block of trials of one input would be drawn for a few of them.

        Only where whole blocks are drawn at all, on the host, by perturbations of ours, which draw
        row by row.
        """
        if self.needs is not Needs.MEAN or not draws_blocks(self.perturbation):
            return False
        on_host = generator_for(self.model.place(self.fitted.x[:1])) == "sfc64"
        return on_host and not self.fitted.holds_items and _is_ours(self.perturbation)

    def bench(self) -> SamplingBench[Any]:
        """The bench that answers the tasks of a study that samples."""
        model, prop = self.scorer, self.property
        if self.needs is Needs.SPLITTING:
            prop = without_steps(prop, self.model.signature.scores)
            model = model if prop is self.property else self.model
        return SamplingBench(
            self.fitted,
            self.references,
            model,
            self.perturbation,
            prop,
            self.method.evidence,
            self.seed,
            self._other_labels,
            longest_block=1 if self._few_trials_each else LONGEST_BLOCK,
        )

    @cached_property
    def has_other_labels(self) -> bool:
        """Whether some input has a true label and another one when clean, both of which count."""
        return self._other_labels is not None and bool((self._other_labels >= 0).any())

    @cached_property
    def _other_labels(self) -> NDArray[np.int64] | None:
        """The label that the property does not ask for, -1 where both agree; None where none may.

        So that a run for the true label also says how often a wrong one stays, and the other way.
        """
        labels, counts = self.inputs.labels, self.method.evidence is Counts
        if labels is None or not counts or not isinstance(self.property, SameLabel | TrueLabel):
            return None
        own = self.property.reference is Reference.TRUE
        other = self.predicted if own else labels
        return np.where(labels == self.predicted, -1, other).astype(np.int64)

    @cached_property
    def spec(self) -> StudySpec:
        """The study as plain data; its `words` are for people and are not in the digest."""
        signature, inputs = self.model.signature, self.inputs
        samples = self.needs not in (Needs.REGION, Needs.RADII)
        return StudySpec(
            format=FORMAT,
            model=specs.ModelSpec(
                digest=signature.digest,
                covers=signature.covers,
                shape=tuple(signature.shape),
                classes=signature.classes,
                scores=str(signature.scores),
                preparation=signature.preparation,
                answers=self._answers(),
            ),
            inputs=specs.InputsSpec(
                digest=digest_of_rows(self.row_digests),
                frame=tuple(self.fitted.frame),
                axes=tuple(self.fitted.axes),
                number=len(inputs),
                selection=inputs.selection,
                class_names=tuple(inputs.class_names),
                reading=inputs.reading,
                columns=tuple(
                    specs.ColumnSpec(f.heading, f.dtype, f.categories) for f in inputs.features
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
            population=_population(self.aggregate) if self.needs.of_each_input else None,
            by_class=self.class_by_class,
            seed=int(self.seed),
            generator=generator_for(self.model.place(self.fitted.x[:1])),
            block=self.bench().block if samples else 1,
            words=specs.SpecWords(
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


def _part(described: dict[str, Any]) -> specs.PartSpec:
    options = {name: value for name, value in described.items() if name != "kind"}
    return specs.PartSpec(described["kind"], options)


def _population(over: Population) -> specs.PopulationSpec:
    sampling = getattr(over, "sampling", None)
    known = None if sampling is None else str(sampling)
    return specs.PopulationSpec(over.kind, over.error, known, getattr(over, "anytime", False))


_EXAMPLES = {
    "model": ("predict", 'sf.load_model("model.onnx")'),
    "perturbation": ("draw", "sf.perturb.LinfNoise(8/255)"),
    "method": ("steps", "sf.methods.ExactSequential(width=0.02, error=0.01)"),
}


def check_seed(seed: Any) -> None:  # noqa: ANN401  whatever the caller passed
    """Refuse a seed that names no stream of random numbers."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidArgument(f"seed must be an integer ≥ 0, such as 1, got {seed!r}")


def _check_place_of_proofs(study: StudyParts) -> None:
    if not study.prove_on:
        return
    if study.needs is not Needs.RADII:
        raise InvalidArgument(f"{_name(study.method)} proves no radii: leave out prove_on")
    if _PROVE_ON.fullmatch(study.prove_on) is None:
        raise InvalidArgument(
            f"prove_on (--prove-on) {study.prove_on}: proofs are searched on the processor or on "
            "one GPU: name cpu, cuda or cuda:1",
            option="prove_on",
            value=study.prove_on,
        )


def check_compatibility(study: StudyParts) -> None:
    """Refuse, with one sentence, what the method cannot honour."""
    for name, (has, example) in _EXAMPLES.items():
        part = getattr(study, name)
        if not hasattr(part, has) and not hasattr(part, "under"):
            raise InvalidArgument(f"{name} is {getattr(study, name)!r}: give one such as {example}")
    if not isinstance(getattr(study.method, "needs", None), Needs):
        raise InvalidArgument(
            f"{_name(study.method)} does not say what it needs: give it a class variable "
            "`needs`, one of sf.methods.Needs"
        )
    if study.needs in (Needs.REGION, Needs.RADII) and study.inputs.holds_items:
        raise InvalidArgument(
            f"{_name(study.method)} searches all points around an array of numbers, but "
            f"{study.inputs.source} holds {study.inputs.content}: sample its failures, or trace a "
            "curve"
        )
    _check_property(study)
    _check_level(study)
    match study.needs:
        case Needs.LEVELS:
            _check_range(study)
        case Needs.REGION | Needs.RADII:
            _check_region(study)
        case Needs.SMOOTHING:
            _check_smoothing(study)
        case Needs.SPLITTING:
            _check_splitting(study)
    _check_population(study)
    if study.needs is Needs.MEAN and study.by_class and not hasattr(study.method, "by_class"):
        raise InvalidArgument(
            f"{_name(study.method)} spends its trials on the mean over these inputs, and says "
            "nothing by class: leave out by_class, take the mean of the population "
            "(PopulationMean, --about population), or --each in place of --precision"
        )
    _check_groups(study)
    if study.needs in (Needs.REGION, Needs.SMOOTHING, Needs.SPLITTING) and study.by_class:
        raise InvalidArgument(f"{_name(study.method)} says nothing by class: leave out by_class")
    if study.by_class and getattr(study.method, "within", None) and study.needs is Needs.RADII:
        raise InvalidArgument(
            f"to ± {study.method.within:g} it takes as many inputs as the whole needs, which would "
            "break the error of a class: leave out within (--within) or by_class (--by-class)"
        )


def _name(method: Any) -> str:  # noqa: ANN401  any method
    return type(method).__name__


def _check_property(study: StudyParts) -> None:
    prop = study.property
    _check_outputs(study)
    has_truth = study.inputs.labels is not None if study.has_classes else study.inputs.targets
    if prop.reference is Reference.TRUE and not has_truth:
        raise InvalidArgument(
            f"the property '{prop.kind}' is about true labels, but {study.inputs.source} holds "
            "none: add labels (class folders, a CSV, --label-pattern), or study 'same'"
            if study.has_classes
            else f"the property '{prop.kind}' is about true outputs, but {study.inputs.source} "
            "holds none: add them (y in the file, targets=… in Python), or leave out of=true"
        )
    rank = getattr(prop, "k", 0)
    if rank >= study.model.signature.classes > 0:
        raise InvalidArgument(
            f"topk: k = {rank} always holds for {study.model.signature.classes} classes: choose "
            "a smaller k"
        )
    measure = getattr(study.method, "measure", None)
    if study.needs is Needs.LEVELS and (measure == "confidence") != (prop.kind == "confidence"):
        raise InvalidArgument(
            "a curve of confidence needs the property sf.properties.Confidence(), and no other "
            f"curve does: got {prop.kind!r}"
        )


def _check_outputs(study: StudyParts) -> None:
    """The kind of output that the property reads is the one that the model gives."""
    prop, scores = study.property, study.model.signature.scores
    reads_classes = prop.needs is None or prop.needs.of_classes
    if scores.of_classes and not reads_classes:
        raise InvalidArgument(
            f"the property '{prop.kind}' reads {prop.needs}, and the model was loaded with class "
            f'scores: load it with scores="{prop.needs}" (--scores {prop.needs})'
        )
    if not scores.of_classes and reads_classes:
        raise InvalidArgument(
            f"the property '{prop.kind}' is about classes, and the model gives {scores}: state a "
            "property of outputs, such as sf.properties.Close(0.5) (--property close:0.5)"
        )
    if prop.needs is Scores.VALUES and scores is Scores.OBJECTS:
        raise InvalidArgument(
            f"the property '{prop.kind}' reads values, and the model gives objects: load it with "
            'scores="values" (--scores values), or use sf.properties.Kept'
        )
    if study.by_class and not scores.of_classes:
        raise InvalidArgument(
            "the model has no classes: leave out by_class (--by-class, --require-each)"
        )
    if isinstance(study.method, tuple(TAILS.values())) and getattr(prop, "yes_or_no", False):
        raise InvalidArgument(
            f"{_name(study.method)} fits a distribution to severities, and the property "
            f"'{prop.kind}' only says yes or no: give it a number with a limit, or use "
            "sf.methods.ExactSequential"
        )


def _check_population(study: StudyParts) -> None:
    """Decisions make a share, estimates a mean; other methods make a statement of their own."""
    over, method = study.population, study.method
    if over is None:
        return
    name, kind = _name(method), type(over).__name__
    if not study.needs.of_each_input:
        raise InvalidArgument(
            f"{name} makes its own statement about the population: leave out population={kind}(…)"
        )
    decides = hasattr(method, "kappa") or study.needs is Needs.SMOOTHING
    if decides and isinstance(over, Mean | TailMean):
        raise InvalidArgument(
            f"{name} decides about each input, and decisions have no mean: use "
            f"population=sf.population.RobustShare({over.error:g}), or leave it out"
        )
    if not decides and isinstance(over, RobustShare):
        raise InvalidArgument(
            f"RobustShare counts decisions, and {name} makes none: use "
            f"population=sf.population.Mean({over.error:g}), or leave it out"
        )
    if isinstance(over, TailMean) and not isinstance(method, tuple(TAILS.values())):
        raise InvalidArgument(
            f"TailMean averages extrapolations, and {name} makes none: use "
            f"population=sf.population.Mean({over.error:g}), or leave it out"
        )


def _check_groups(study: StudyParts) -> None:
    """Refuse what would take the inputs of a group for independent."""
    over, method = study.population, study.method
    sampling = getattr(over, "sampling", None)
    if not study.inputs.groups:
        if sampling is Sampling.GROUPED:
            raise InvalidArgument(
                "the population is one of groups, but the inputs have none: name the group of each "
                "with sf.load_inputs(…, groups=[…])"
            )
        return
    if over is not None and sampling in (None, Sampling.STRATIFIED):
        raise InvalidArgument(
            f"the inputs have groups, and {type(over).__name__} takes single inputs for the "
            "sample: leave out population, or load the inputs without groups"
        )
    labels = study.inputs.labels
    pairs = set() if labels is None else set(zip(study.inputs.groups, labels.tolist(), strict=True))
    if study.by_class and len(pairs) > len(set(study.inputs.groups)):
        raise InvalidArgument(
            "some groups have inputs of several classes, and of such classes nothing can be said: "
            "leave out by_class (--by-class), or load the inputs without groups"
        )
    if study.needs is Needs.MEAN and method.about is About.POPULATION:
        raise InvalidArgument(
            "a mean of the population to a precision takes single inputs for the sample, and these "
            "have groups: take --each instead, or ask for these inputs (--about these)"
        )
    if study.needs is Needs.LEVELS and getattr(method, "scope", "set") == "population":
        raise InvalidArgument(
            "a curve of the population takes single inputs for the sample, and these have groups: "
            "use the scope 'set' (--scope set), which is about exactly these inputs"
        )
    if study.needs is Needs.RADII and hasattr(method, "within"):
        raise InvalidArgument(
            "the search for a quantile counts single inputs, and these have groups: bracket every "
            "input (CriticalLevel; leave out --quantile-only and --within)"
        )


def _check_level(study: StudyParts) -> None:
    """A level is given where it plays a part, and nowhere else."""
    perturbation = study.perturbation
    example = f"sf.perturb.{type(perturbation).__name__}("
    if hasattr(perturbation, "function"):
        example = f"sf.perturb.custom({getattr(perturbation.function, '__name__', 'function')}"
    if study.needs.chooses_levels and perturbation.level is not None:
        raise InvalidArgument(
            f"{_name(study.method)} chooses levels itself: leave out the level "
            f"{perturbation.level:g} of {perturbation.kind}, as in {example})"
        )
    if not study.needs.chooses_levels and perturbation.level is None:
        raise InvalidArgument(
            f"{perturbation.kind} needs a level for {_name(study.method)}: write "
            f"{example}{', level=' if example[-1] != '(' else ''}0.1)"
        )


def _check_range(study: StudyParts) -> None:
    perturbation, method = study.perturbation, study.method
    known = perturbation.levels(study.model.signature.bounds)
    least = -known.high if getattr(perturbation, "signed", False) else known.low
    if method.low < least or method.high > known.high:
        raise InvalidArgument(
            f"{perturbation.kind}: levels go from {least:g} to {known.high:g}, not from "
            f"{method.low:g} to {method.high:g}: choose from that range"
        )


def _check_region(study: StudyParts) -> None:
    """A ball to search or to prove, a property that is about one label, a model that offers it."""
    ball, method = getattr(study.perturbation, "ball", None), _name(study.method)
    proves = study.needs is Needs.RADII
    rectangle = getattr(study.perturbation, "rectangle", None) if proves else None
    if ball is None and rectangle is None:
        raise InvalidArgument(
            f"{method} is about all points of an {' or '.join(Ball)} ball, and the perturbation "
            f"{study.perturbation.kind} offers none: use linf:8/255 (sf.perturb.LinfNoise)"
        )
    if rectangle is not None:
        rectangle()  # refuses features that change in steps
        if hasattr(study.method, "within"):
            raise InvalidArgument(
                "the search for a quantile needs one scale for all values, and a table has many: "
                "bracket every input (CriticalLevel; leave out --quantile-only and --within)"
            )
    if not study.model.signature.classes:
        raise InvalidArgument(
            f"{method} is about another class winning, and the model has no classes: sample "
            "instead, with sf.methods.KappaTest or ExactSequential (certify, estimate)"
        )
    ranked = getattr(study.property, "rank", 1) > 1
    if not ((study.property.provable or ranked) if proves else hasattr(study.property, "margin")):
        more = ", TopK(k), k ≥ 2" if proves else ", TopK(k) or NoConfidentMistake(limit)"
        raise InvalidArgument(
            f"{method} is about another label winning, which the property "
            f"'{study.property.kind}' is not: use sf.properties.SameLabel() or "
            f"sf.properties.TrueLabel(){more}"
        )
    signature = study.model.signature
    if proves and not hasattr(study.model, "graph"):
        served = hasattr(study.model, "connection")
        own = "export it to ONNX (torch.onnx.export, skl2onnx.to_onnx), the scores as only output"
        way_out = "give the ONNX file that the server runs" if served else own
        raise InvalidArgument(
            f"proofs read the graph of an ONNX file, and this model has none: {way_out}, or sample "
            "instead (estimate, certify)"
        )
    if proves and signature.bounds is None:
        raise InvalidArgument("proofs need the range of input values: pass bounds (--bounds 0,1)")
    follows_gradients = not proves and not hasattr(study.method, "function")
    if follows_gradients and not hasattr(study.model, "logits_and_gradient"):
        raise InvalidArgument(
            "the model gives scores but no gradients: give a PyTorch model or an ONNX file, or an "
            "attack of your own (attack=function)"
        )
    if ball is not None and ball is not Ball.LINF and signature.whole_numbers:
        raise InvalidArgument(
            f"the model takes whole numbers, and in an {ball} ball the attack does not: use linf"
        )


def _check_smoothing(study: StudyParts) -> None:
    """A noise whose shifts are known, inputs and generator that keep it exact, a class to keep."""
    noise: Any = study.perturbation
    if not hasattr(noise, "smoothing"):
        raise InvalidArgument(
            f"{_name(study.method)} needs noise of which it is known how it changes when the input "
            f"moves, and {noise.kind} is none: use sf.perturb.GaussianGrid, UniformGrid or "
            "GaussianShift (--sigma, --uniform, --shift); images that are turned, or shifted by "
            "parts of a pixel, are interpolated, which is none either"
        )
    if not study.model.signature.classes or not study.property.provable:
        raise InvalidArgument(
            f"{_name(study.method)} is about a class that stays the most frequent one, which the "
            f"property '{study.property.kind}' is not: use sf.properties.TrueLabel() or SameLabel()"
        )
    if noise.level == 0:
        raise InvalidArgument(
            "noise of 0 smooths nothing: give sigma (--sigma 0.25)", option="sigma", value=0.0
        )
    if study.inputs.holds_items:
        raise InvalidArgument(
            f"noise is added to numbers, and {study.inputs.source} holds {study.inputs.content}: "
            "give an array of numbers"
        )
    off = noise.off_grid(study.fitted.x)
    if off.any() and not noise.rounds:
        scales = ", and scale its columns alike: one sigma is for all" * bool(study.inputs.features)
        raise InvalidArgument(
            f"input {study.inputs.ids[int(off.argmax())]} lies between the points of the grid, on "
            f"which a certificate holds (steps of {noise.grid_words}): round the inputs to a finer "
            f"one, --grid 1/1024{scales}",
            option="grid",
            value=noise.grid,
        )
    test, radii = study.method.under(noise.smoothing(study.fitted.x[0].size)), study.method.radii
    shortest = min((r for r in radii if r), default=noise.grid) if radii else test.limit or 0.0
    if shortest < noise.grid:
        raise InvalidArgument(
            f"within radius {shortest:.3g} of an input lies no other point of the grid (steps of "
            f"{noise.grid_words or '1 pixel'}), so that nothing is said of other inputs: take a "
            "larger radius (--radius), a finer grid (--grid), or more noise",
            option="radius",
            value=shortest,
        )
    generator = generator_for(study.model.place(study.fitted.x[:1]))
    if generator.startswith("torch-"):
        raise InvalidArgument(
            f"the random numbers of this device ({generator}) are not uniform to the last bit: run "
            "on the processor (--device cpu), or on a GPU with Triton"
        )


def _check_splitting(study: StudyParts) -> None:
    """A perturbation that can be moved in small steps, and a severity that is a number."""
    perturbation, prop = study.perturbation, study.property
    if study.inputs.holds_items or not moves_in_steps(perturbation):
        raise InvalidArgument(
            f"splitting moves perturbations in small steps, and {perturbation.kind} has none: use "
            "a perturbation of numbers that draws from its stream, such as linf or gaussian"
        )
    if draws_nothing(perturbation, study.fitted):
        raise InvalidArgument(
            f"{perturbation.kind} draws nothing, so that an input fails always or never: use "
            "estimate, or a perturbation that is random"
        )
    if getattr(prop, "yes_or_no", False):
        raise InvalidArgument(
            f"splitting follows how close a trial came to failing, and the property '{prop.kind}' "
            "only says yes or no: give it a number with a limit, or count (surefoot certify)"
        )


def _is_ours(perturbation: Perturbation) -> bool:
    """Whether no part of it is code of a user."""
    given: Any = perturbation
    parts = (given.inner,) if hasattr(given, "inner") else getattr(given, "parts", ())
    own = type(given).__module__.startswith("surefoot.") and not hasattr(given, "function")
    return own and all(map(_is_ours, parts))
