"""The options that commands share, and how they become a study's parts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.store.records import Source
    from surefoot.subject import Inputs, Model

DEFAULT_STORE = "surefoot.db"

READING, CHOOSING, RUNNING = "Reading model and data", "Choosing inputs", "Running"

ModelArg = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="model.onnx, model.pt2, model.pt (TorchScript), or package.module:function",
    ),
]
DataArg = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="test.npz, x.npy (with --labels), an image folder, or a .csv"
    ),
]
Bounds = Annotated[
    str | None,
    typer.Option(help="Range of input values, such as 0,1.", rich_help_panel=READING),
]
Mean = Annotated[
    str | None,
    typer.Option(
        "--mean",
        help="Normalisation: one number, or one a channel: 0.485,0.456,0.406",
        rich_help_panel=READING,
    ),
]
Std = Annotated[str | None, typer.Option("--std", help="Normalisation.", rich_help_panel=READING)]
ScoresOption = Annotated[
    str | None,
    typer.Option(
        "--scores",
        help="logits or probabilities, where the output does not tell.",
        rich_help_panel=READING,
    ),
]
ShapeOption = Annotated[
    str | None,
    typer.Option(
        "--shape",
        help="Shape of one input, such as 1,28,28, for models that do not say it.",
        rich_help_panel=READING,
    ),
]
Output = Annotated[
    str | None, typer.Option(help="Which output of an ONNX file.", rich_help_panel=READING)
]
Labels = Annotated[
    str | None, typer.Option(help="Labels that go with x.npy.", rich_help_panel=READING)
]
Scale = Annotated[
    float | None,
    typer.Option(
        help="Divide data by this (default: 255 for uint8 and float models, else 1).",
        rich_help_panel=READING,
    ),
]
Size = Annotated[
    str | None,
    typer.Option(help="Resize pictures to HEIGHTxWIDTH.", rich_help_panel=READING),
]
Names = Annotated[
    str | None,
    typer.Option(
        "--class-names", help="Names of the classes, comma-separated.", rich_help_panel=READING
    ),
]
Device = Annotated[
    str | None,
    typer.Option(help="For PyTorch models: cpu or cuda.", rich_help_panel=READING),
]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust", help="Read model files that can run code (pickles).", rich_help_panel=READING
    ),
]
Classes = Annotated[
    str | None,
    typer.Option(
        "--classes",
        help="Only these classes: numbers or names, comma-separated.",
        rich_help_panel=CHOOSING,
    ),
]
First = Annotated[int | None, typer.Option(help="Only the first n.", rich_help_panel=CHOOSING)]
Random = Annotated[
    int | None,
    typer.Option("--random", help="A random n (by --seed).", rich_help_panel=CHOOSING),
]
Correct = Annotated[
    bool,
    typer.Option(
        "--correct-only",
        help="Only inputs the model classifies correctly.",
        rich_help_panel=CHOOSING,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="The whole result as JSON on stdout.")]
StoreOption = Annotated[
    str, typer.Option("--store", help="Where evidence is kept; the same command resumes from it.")
]


@dataclass(frozen=True)
class Reading:
    """How model and data are read and chosen; kept in the store, so a trial can be replayed."""

    model: str
    data: str
    bounds: str | None = None
    mean: str | None = None
    std: str | None = None
    scores: str | None = None
    shape: str | None = None
    output: str | None = None
    labels: str | None = None
    scale: float | None = None
    size: str | None = None
    class_names: str | None = None
    device: str | None = None
    trust: bool = False
    classes: str | None = None
    first: int | None = None
    random: int | None = None
    correct_only: bool = False
    seed: int = 1

    def source(self, **more: Any) -> Source:  # noqa: ANN401
        """For the record."""
        from surefoot.store.records import Source

        options = {
            k: v for k, v in asdict(self).items() if v is not None and k not in ("model", "data")
        }
        return Source(self.model, self.data, {**options, **more})

    def load(self) -> tuple[Model, Inputs]:
        """Model and chosen inputs."""
        from surefoot.inputs import Selection, load_inputs
        from surefoot.study import select

        names = self.class_names.split(",") if self.class_names else ()
        inputs = load_inputs(
            self.data, self.labels, class_names=names, scale=self.scale, size=_size(self.size)
        )
        model = self._model(inputs, self.bounds or ("0,1" if _pixels(inputs) else None))
        if model.signature.whole_numbers and _pixels(inputs) and self.scale is None:
            inputs = load_inputs(
                self.data, self.labels, class_names=names, scale=1.0, size=_size(self.size)
            )
            model = self._model(inputs, self.bounds or "0,255")
        selection = Selection(
            classes=_class_numbers(self.classes, inputs),
            first=self.first,
            random=self.random,
            seed=self.seed,
            correct_only=self.correct_only,
        )
        return model, select(inputs, model, selection)

    def _model(self, inputs: Inputs, bounds: str | None) -> Model:
        from surefoot.models import load_model

        return load_model(
            self.model,
            bounds=_numbers(bounds),
            mean=_numbers(self.mean),
            std=_numbers(self.std),
            scores=self.scores,
            shape=_shape(self.shape) or inputs.x.shape[1:],
            output=self.output,
            device=self.device,
            trust=self.trust,
        )


def _pixels(inputs: Inputs) -> bool:
    return inputs.reading == "values divided by 255"


def _numbers(text: str | None) -> tuple[float, ...] | None:
    from surefoot.study.registry import number

    return None if text is None else tuple(number(part) for part in text.split(","))


def _shape(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() and int(part) > 0 for part in parts):
        raise InvalidArgument(f"--shape is the shape of one input, such as 1,28,28, got {text!r}")
    return tuple(int(part) for part in parts)


def _size(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    height, _, width = text.lower().partition("x")
    if not (height.isdigit() and width.isdigit()):
        raise InvalidArgument(f"--size is HEIGHTxWIDTH, such as 224x224, got {text!r}")
    return int(height), int(width)


def _class_numbers(text: str | None, inputs: Inputs) -> tuple[int, ...]:
    if text is None:
        return ()
    found = []
    for part in (p.strip() for p in text.split(",")):
        if part in inputs.class_names:
            found.append(inputs.class_names.index(part))
        elif part.isdigit():
            found.append(int(part))
        else:
            raise InvalidArgument(f"there is no class {part!r} in {inputs.source}")
    return tuple(found)


def reading_of(source: Source) -> Reading:
    """The reading that a record remembers."""
    known = {k: v for k, v in source.options.items() if k in Reading.__dataclass_fields__}
    return Reading(source.model, source.data, **known)


def check_folder(path: str | None) -> None:
    """Refuse early, before hours of work, a report that could not be written."""
    if path is not None and not Path(path).absolute().parent.is_dir():
        raise InvalidArgument(f"there is no folder {Path(path).absolute().parent} for {path}")
