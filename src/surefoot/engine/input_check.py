"""Refuse inputs and labels of which no result would mean anything: cheap, no forward pass."""

from __future__ import annotations

from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument
from surefoot.inputs.arrays import channels_last
from surefoot.perturb._ops.definition import refuse_other_channels
from surefoot.perturb.text import OfTexts
from surefoot.subject.inputs import Inputs
from surefoot.subject.items import kind_of_items
from surefoot.subject.protocols import Model, Perturbation, View

WAY_OUT = "number the classes from 0, or pass their names in the model's order (--class-names)"


def refuse_bad_inputs(inputs: Inputs, model: Model, perturbation: Perturbation) -> None:
    """Raise if values, labels or level are outside what model and perturbation take."""
    signature, names = model.signature, inputs.class_names
    bounds, classes = signature.bounds, signature.classes
    if bounds is not None and not inputs.holds_items:
        low, high = inputs.least, inputs.largest
        if low < bounds.low or high > bounds.high:
            raise InvalidArgument(
                f"values of {inputs.source} must lie within the bounds [{bounds.low:g}, "
                f"{bounds.high:g}], got {low:g} to {high:g}: scale the data (scale=, --scale) or "
                "pass other bounds (bounds=, --bounds)"
            )
    if inputs.labels is not None and not classes:
        raise InvalidArgument(
            f"{inputs.source} holds class labels, but the model has no classes: pass what its "
            "output should be as targets=…, or leave the labels out"
        )
    if inputs.labels is not None and inputs.labels.max() >= classes:
        raise InvalidArgument(
            f"{inputs.source} holds label {inputs.labels.max()}, but the model has "
            f"{classes} classes (0 to {classes - 1}): {WAY_OUT}"
        )
    fitted: tuple[str, ...] = getattr(model, "class_names", ())
    if inputs.labels is not None and names != fitted and set(names) & set(fitted):
        raise InvalidArgument(
            f"the estimator was fitted with the classes {', '.join(fitted)}, but {inputs.source} "
            f"numbers its labels {', '.join(names)}: pass class_names=list(estimator.classes_) to "
            "load_inputs"
        )
    if classes and len(names) not in (0, classes):  # they cannot be in the model's order
        some = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
        raise InvalidArgument(
            f"{inputs.source} has names of {len(names)} classes ({some}), but the model has "
            f"{classes}: pass one name for each of its outputs, in their order (--class-names "
            "names.txt, class_names=), or leave the labels out (--labels none)"
        )
    refuse_unsuited(inputs, perturbation, bounds)


def refuse_unsuited(inputs: Inputs, perturbation: Perturbation, bounds: Interval | None) -> None:
    """Refuse what a perturbation or a part of it is not for: images, signals, items, levels."""
    kind, shape = perturbation.kind, inputs.x.shape[1:]
    inner: Perturbation | None = getattr(perturbation, "inner", None)
    parts: tuple[Perturbation, ...] = getattr(perturbation, "parts", ())
    combined = hasattr(perturbation, "parts") or hasattr(perturbation, "inner")
    if isinstance(perturbation, OfTexts):
        _refuse_texts(inputs, perturbation)
    elif inputs.holds_items:
        if not combined and not getattr(perturbation, "takes_items", False):
            of_texts = "one of texts such as typos:0.05, or " if inputs.content == "text" else ""
            raise InvalidArgument(
                f"{kind} is for arrays of numbers, but {inputs.source} holds {inputs.content}: "
                f"give {of_texts}a function of (item, rng, level), as in "
                "sf.perturb.custom(f, 0.1) or --perturb mine.py:f:0.1"
            )
    elif perturbation.view is View.IMAGE:
        frame = inputs.frame
        if not frame:
            raise InvalidArgument(
                f"{kind} needs images, but one input of {inputs.source} has shape "
                f"{shape}: use images, or choose a perturbation of values such as linf"
            )
        channels = 1 if len(frame) < 3 else frame[-1] if channels_last(frame) else frame[0]
        refuse_other_channels(perturbation, channels)
    elif perturbation.view is View.SERIES and len(shape) > 2:
        raise InvalidArgument(
            f"{kind} needs signals of shape (length,) or (channels, length), but one "
            f"input of {inputs.source} has shape {shape}: choose a perturbation of values such as "
            "linf"
        )
    for part in (*parts, *filter(None, [inner])):
        refuse_unsuited(inputs, part, bounds)
    levels, level = perturbation.levels(bounds), perturbation.level
    if level is not None and level not in levels:
        hint = f" (did you mean {level:g}/255?)" if level >= 1 else ""
        raise InvalidArgument(
            f"{kind}: level must lie within [{levels.low:g}, {levels.high:g}] for "
            f"these bounds, got {level:g}{hint}"
        )


def _refuse_texts(inputs: Inputs, perturbation: OfTexts) -> None:
    """Refuse inputs that are no texts, texts without words, and texts none of which can change."""
    kind = perturbation.kind
    others = (kind_of_items(item) for item in inputs.x if not isinstance(item, str))
    found = next(others, "") if inputs.holds_items else inputs.content
    if found:
        raise InvalidArgument(
            f"{kind} is for texts, but {inputs.source} holds {found}: choose another perturbation "
            "(`surefoot perturb --list`), or read the data as text"
        )
    blank = next((i for i, text in enumerate(inputs.x) if not text.strip()), None)
    if blank is not None:
        empty = "only spaces" if inputs.x[blank] else "empty"
        raise InvalidArgument(
            f"{inputs.source}: the text of input {inputs.ids[blank]} is {empty}, and {kind} cannot "
            "change it: leave the input out"
        )
    if not any(map(perturbation.can_change, inputs.x)):
        raise InvalidArgument(
            f"{kind} can change none of the {len(inputs):,} texts of {inputs.source}: choose "
            "another perturbation (`surefoot perturb --list`)"
        )
