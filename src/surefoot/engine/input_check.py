"""Refuse inputs for which no result would mean anything: cheap, no forward pass."""

from __future__ import annotations

from surefoot.core.results import Interval
from surefoot.engine.label_check import WAY_OUT
from surefoot.engine.table_check import refuse_other_classes
from surefoot.errors import InvalidArgument
from surefoot.inputs.arrays import channels_last
from surefoot.perturb._ops.definition import refuse_other_channels
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Model, Perturbation, View


def refuse_bad_inputs(inputs: Inputs, model: Model, perturbation: Perturbation) -> None:
    """Raise if values, labels or level are outside what model and perturbation take."""
    signature = model.signature
    bounds = signature.bounds
    if bounds is not None and not inputs.holds_items:
        _refuse_outside(inputs, bounds)
    if inputs.labels is not None and not signature.classes:
        raise InvalidArgument(
            f"{inputs.source} holds class labels, but the model has no classes: pass what its "
            "output should be as targets=…, or leave the labels out"
        )
    if inputs.labels is not None and inputs.labels.max() >= signature.classes:
        raise InvalidArgument(
            f"{inputs.source} holds label {inputs.labels.max()}, but the model has "
            f"{signature.classes} classes (0 to {signature.classes - 1}): {WAY_OUT}"
        )
    refuse_other_classes(inputs, model)
    _refuse_names(inputs, signature.classes)
    _refuse_unsuited(inputs, perturbation)
    inner: Perturbation | None = getattr(perturbation, "inner", None)
    for part in (*getattr(perturbation, "parts", ()), *filter(None, [inner])):
        refuse_bad_inputs(inputs, model, part)
    levels, level = perturbation.levels(bounds), perturbation.level
    if level is not None and level not in levels:
        hint = f" (did you mean {level:g}/255?)" if level >= 1 else ""
        raise InvalidArgument(
            f"{perturbation.kind}: level must lie within [{levels.low:g}, {levels.high:g}] for "
            f"these bounds, got {level:g}{hint}"
        )


def _refuse_outside(inputs: Inputs, bounds: Interval) -> None:
    low, high = inputs.x.min(), inputs.x.max()
    if low < bounds.low or high > bounds.high:
        raise InvalidArgument(
            f"values of {inputs.source} must lie within the bounds [{bounds.low:g}, "
            f"{bounds.high:g}], got {low:g} to {high:g}: scale the data (scale=, --scale) or "
            "pass other bounds (bounds=, --bounds)"
        )


def _refuse_names(inputs: Inputs, classes: int) -> None:
    """Refuse names of more or fewer classes than the model has: they cannot be in its order."""
    named = len(inputs.class_names)
    if named in (0, classes) or not classes:
        return
    some = ", ".join(inputs.class_names[:4]) + (", …" if named > 4 else "")
    raise InvalidArgument(
        f"{inputs.source} has names of {named} classes ({some}), but the model has {classes}: pass "
        "one name for each of its outputs, in their order (--class-names names.txt, class_names=), "
        "or leave the labels out (--labels none)"
    )


def _refuse_unsuited(inputs: Inputs, perturbation: Perturbation) -> None:
    """Refuse inputs that are not what the perturbation is for: images, signals, or items."""
    if inputs.holds_items:
        _refuse_items(inputs, perturbation)
        return
    shape = inputs.x.shape[1:]
    if perturbation.view is View.IMAGE and not inputs.frame:
        raise InvalidArgument(
            f"{perturbation.kind} needs images, but one input of {inputs.source} has shape "
            f"{shape}: use images, or choose a perturbation of values such as linf"
        )
    if perturbation.view is View.IMAGE:
        refuse_other_channels(perturbation, _channels(inputs.frame))
    if perturbation.view is View.SERIES and len(shape) > 2:
        raise InvalidArgument(
            f"{perturbation.kind} needs signals of shape (length,) or (channels, length), but one "
            f"input of {inputs.source} has shape {shape}: choose a perturbation of values such as "
            "linf"
        )


def _channels(frame: tuple[int, ...]) -> int:
    """How many channels an image of this shape has."""
    if len(frame) < 3:
        return 1
    return frame[-1] if channels_last(frame) else frame[0]


def _refuse_items(inputs: Inputs, perturbation: Perturbation) -> None:
    """Text, bytes and other items are perturbed by functions of one input at a time alone."""
    combined = hasattr(perturbation, "parts") or hasattr(perturbation, "inner")
    if combined or getattr(perturbation, "takes_items", False):
        return
    raise InvalidArgument(
        f"{perturbation.kind} is for arrays of numbers, but {inputs.source} holds "
        f"{inputs.content}: give a function of (item, rng, level), as in sf.perturb.custom(f, 0.1) "
        "or --perturb mine.py:f:0.1"
    )
