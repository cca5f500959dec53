"""What a method needs and what perturbation, property and model offer: a misfit is refused."""

from __future__ import annotations

import builtins
from typing import Any, Protocol

import numpy as np

from surefoot.catalogue.methods import TAILS
from surefoot.core.claims import About, Sampling
from surefoot.core.procedure import Needs
from surefoot.errors import InvalidArgument
from surefoot.population import Mean, Population, RobustShare, TailMean
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Ball, Model, Perturbation, Property, Reference, Scores

_EXAMPLES = {
    "model": ("predict", 'sf.load_model("model.onnx")'),
    "perturbation": ("draw", "sf.perturb.LinfNoise(8/255)"),
    "method": ("steps", "sf.methods.ExactSequential(width=0.02, error=0.01)"),
}


class Parts(Protocol):
    """The parts of a study, which must fit together."""

    @builtins.property
    def model(self) -> Model: ...  # noqa: D102  the name says it
    @builtins.property
    def inputs(self) -> Inputs: ...  # noqa: D102  the name says it
    @builtins.property
    def perturbation(self) -> Perturbation: ...  # noqa: D102  the name says it
    @builtins.property
    def method(self) -> Any: ...  # noqa: ANN401, D102  any method; the name says it
    @builtins.property
    def property(self) -> Property: ...  # noqa: D102  the name says it
    @builtins.property
    def population(self) -> Population | None: ...  # noqa: D102  the name says it
    @builtins.property
    def by_class(self) -> bool | None: ...  # noqa: D102  the name says it
    @builtins.property
    def needs(self) -> Needs: ...  # noqa: D102  the name says it


def check_seed(seed: Any) -> None:  # noqa: ANN401  whatever the caller passed
    """Refuse a seed that names no stream of random numbers."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidArgument(f"seed must be an integer ≥ 0, such as 1, got {seed!r}")


def check_compatibility(study: Parts) -> None:
    """Refuse, with one sentence, what the method cannot honour."""
    for name, (has, example) in _EXAMPLES.items():
        if not hasattr(getattr(study, name), has):
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
    _check_population(study)
    if study.needs is Needs.MEAN and study.by_class:
        raise InvalidArgument(
            f"{_name(study.method)} spends its trials on the mean over all inputs, and says "
            "nothing by class: leave out by_class, or give a width (--width) instead of a precision"
        )
    _check_groups(study)
    if study.needs is Needs.REGION and study.by_class:
        raise InvalidArgument(f"{_name(study.method)} says nothing by class: leave out by_class")
    if study.by_class and getattr(study.method, "within", None) and study.needs is Needs.RADII:
        raise InvalidArgument(
            f"to ± {study.method.within:g} it takes as many inputs as the whole needs, which would "
            "break the error of a class: leave out within (--within) or by_class (--by-class)"
        )


def _name(method: Any) -> str:  # noqa: ANN401  any method
    return type(method).__name__


def _check_property(study: Parts) -> None:
    prop = study.property
    _check_outputs(study)
    if prop.reference is Reference.TRUE and _no_truth(study):
        raise InvalidArgument(
            f"the property '{prop.kind}' is about true labels, but {study.inputs.source} holds "
            "none: add labels (class folders, a CSV, --label-pattern), or study 'same'"
            if study.model.signature.classes
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


def _no_truth(study: Parts) -> bool:
    """Whether the data do not say what the model should give."""
    if study.model.signature.classes:
        return study.inputs.labels is None
    return not study.inputs.targets


def _check_outputs(study: Parts) -> None:
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


def _check_population(study: Parts) -> None:
    """Decisions make a share, estimates a mean; other methods make a statement of their own."""
    over, method = study.population, study.method
    if over is None:
        return
    name, kind = _name(method), type(over).__name__
    if study.needs is not Needs.SAMPLES:
        raise InvalidArgument(
            f"{name} makes its own statement about the population: leave out population={kind}(…)"
        )
    decides = hasattr(method, "kappa")
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


def _check_groups(study: Parts) -> None:
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
            "have groups: give a width (--width) instead, or ask for these inputs (--about these)"
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


def _check_level(study: Parts) -> None:
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


def _check_range(study: Parts) -> None:
    perturbation, method = study.perturbation, study.method
    known = perturbation.levels(study.model.signature.bounds)
    least = -known.high if getattr(perturbation, "signed", False) else known.low
    if method.low < least or method.high > known.high:
        raise InvalidArgument(
            f"{perturbation.kind}: levels go from {least:g} to {known.high:g}, not from "
            f"{method.low:g} to {method.high:g}: choose from that range"
        )


def _check_region(study: Parts) -> None:
    """A ball to search or to prove, a property that is about one label, a model that offers it."""
    ball, method = getattr(study.perturbation, "ball", None), _name(study.method)
    proves = study.needs is Needs.RADII
    able = (Ball.LINF,) if proves else (Ball.LINF, Ball.L2)
    if ball not in able:
        raise InvalidArgument(
            f"{method} is about all points of an {' or '.join(able)} ball, and the perturbation "
            f"{study.perturbation.kind} offers none: use linf:8/255 (sf.perturb.LinfNoise)"
        )
    if not study.model.signature.classes:
        raise InvalidArgument(
            f"{method} is about another class winning, and the model has no classes: sample "
            "instead, with sf.methods.KappaTest or ExactSequential (certify, estimate)"
        )
    if not study.property.provable:
        raise InvalidArgument(
            f"{method} is about another label winning, which the property "
            f"'{study.property.kind}' is not: use sf.properties.SameLabel() or "
            "sf.properties.TrueLabel()"
        )
    signature = study.model.signature
    if proves and signature.bounds is None:
        raise InvalidArgument("proofs need the range of input values: pass bounds (--bounds 0,1)")
    if proves and not hasattr(study.model, "graph"):
        served = hasattr(study.model, "connection")
        way_out = "give the ONNX file that the server runs" if served else "export it to ONNX"
        raise InvalidArgument(
            f"proofs read the graph of an ONNX file, and this model has none: {way_out}"
        )
    follows_gradients = not proves and not hasattr(study.method, "function")
    if follows_gradients and not hasattr(study.model, "margin_and_gradient"):
        raise InvalidArgument(
            "the model gives scores but no gradients: give a PyTorch model or an ONNX file, or an "
            "attack of your own (attack=function)"
        )
    if ball is Ball.L2 and signature.whole_numbers:
        raise InvalidArgument(
            "the model takes whole numbers, and in an L2 ball the attack does not: use linf"
        )
