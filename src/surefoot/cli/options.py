"""The options that commands share, and how they become a study's parts."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.store.records import Source
    from surefoot.subject import Inputs, Model

DEFAULT_STORE = "surefoot.db"

READING, CHOOSING, RUNNING = "Reading model and data", "Choosing inputs", "Running"

Json = Annotated[bool, typer.Option("--json", help="The whole result as JSON on stdout.")]
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
QuantileOption = Annotated[
    str, typer.Option(help="Of which share of the inputs to give the radius.")
]
SureOption = Annotated[str, typer.Option(help="How sure to be of the quantile.")]
RadiusOption = Annotated[
    str | None, typer.Option(help="Claim that the quantile is at least this radius: 8/255.")
]
RadiiFigure = Annotated[
    str | None, typer.Option(help="Write the figure here: critical.svg, .png or .json.")
]
StoreOption = Annotated[
    str, typer.Option("--store", help="Where evidence is kept; the same command resumes from it.")
]


def expanded(command: Callable[..., int]) -> Callable[..., int]:
    """The command with every dataclass among its parameters replaced by the fields of it."""
    hints = get_type_hints(command, include_extras=True)
    groups = {n: k for n, k in hints.items() if isinstance(k, type) and is_dataclass(k)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name not in groups:
            parameters.append(_parameter(name, hints[name], parameter.default))
            continue
        inner = get_type_hints(groups[name], include_extras=True)
        for f in fields(groups[name]):
            default = inspect.Parameter.empty if f.default is MISSING else f.default
            parameters.append(_parameter(f.name, inner[f.name], default))

    @functools.wraps(command)
    def run(**given: Any) -> int:  # noqa: ANN401
        parts = {
            name: kind(**{f.name: given.pop(f.name) for f in fields(kind)})
            for name, kind in groups.items()
        }
        return command(**parts, **given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def _parameter(name: str, kind: object, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _reads(text: str, name: str | None = None) -> Any:  # noqa: ANN401
    return typer.Option(*filter(None, [name]), help=text, rich_help_panel=READING)


def _chooses(text: str, name: str | None = None) -> Any:  # noqa: ANN401
    return typer.Option(*filter(None, [name]), help=text, rich_help_panel=CHOOSING)


@dataclass(frozen=True)
class Reading:
    """How model and data are read and chosen; kept in the store, so a trial can be replayed."""

    bounds: Annotated[str | None, _reads("Range of input values, such as 0,1.")] = None
    mean: Annotated[
        str | None, _reads("Normalisation: one number, or one a channel: 0.485,0.456,0.406")
    ] = None
    std: Annotated[str | None, _reads("Normalisation.")] = None
    scores: Annotated[
        str | None, _reads("logits or probabilities, where the output does not tell.")
    ] = None
    shape: Annotated[
        str | None, _reads("Shape of one input, such as 1,28,28, for models that do not say it.")
    ] = None
    output: Annotated[str | None, _reads("Which output of an ONNX file.")] = None
    labels: Annotated[str | None, _reads("Labels that go with x.npy.")] = None
    scale: Annotated[
        float | None,
        _reads("Divide data by this (default: 255 for uint8 and float models, else 1)."),
    ] = None
    size: Annotated[str | None, _reads("Resize images to HEIGHTxWIDTH.")] = None
    class_names: Annotated[str | None, _reads("Names of the classes, comma-separated.")] = None
    device: Annotated[str | None, _reads("For PyTorch models: cpu or cuda.")] = None
    half: Annotated[
        bool, _reads("Run a PyTorch model in half precision; labels may differ.", "--half")
    ] = False
    trust: Annotated[bool, _reads("Read model files that can run code (pickles).", "--trust")] = (
        False
    )
    classes: Annotated[
        str | None, _chooses("Only these classes: numbers or names, comma-separated.")
    ] = None
    first: Annotated[int | None, _chooses("Only the first n.")] = None
    random: Annotated[int | None, _chooses("A random n (by --seed).")] = None
    correct_only: Annotated[
        bool, _chooses("Only inputs the model classifies correctly.", "--correct-only")
    ] = False

    def source(self, model: str, data: str, **more: Any) -> Source:  # noqa: ANN401
        """For the record."""
        from surefoot.store.records import Source

        options = {k: v for k, v in asdict(self).items() if v is not None}
        return Source(model, data, options, **more)

    def load(self, name: str, data: str, seed: int = 1) -> tuple[Model, Inputs]:
        """Model and chosen inputs; the seed is for a random choice."""
        models, inputs = self.load_all([name], data, seed)
        return models[0], inputs

    def load_all(
        self, paths: Sequence[str], data: str, seed: int = 1
    ) -> tuple[list[Model], Inputs]:
        """Models, and inputs chosen for all of them."""
        from surefoot.study.load_files import FileOptions

        return FileOptions(**asdict(self)).load(paths, data, seed)


def check_file(path: str | None) -> None:
    """Refuse early, before hours of work, a file that could not be written."""
    if path is None:
        return
    place = Path(path).absolute()
    if place.is_dir():
        raise InvalidArgument(f"{path} is a folder: name a file, such as {Path(path) / 'out.html'}")
    if not place.parent.is_dir():
        raise InvalidArgument(f"there is no folder {place.parent} for {path}")
    if place.exists() and not place.is_file():
        raise InvalidArgument(f"{path} is no file that could be replaced: choose another place")
    _try(path, place.parent, f".{place.name}.")


def check_folder(path: str | None) -> None:
    """The same of a folder to write into, which may be yet to be made."""
    if path is None:
        return
    place = Path(path).absolute()
    if place.exists() and not place.is_dir():
        raise InvalidArgument(f"{path} is a file: name a folder to write into")
    if not place.is_dir() and not place.parent.is_dir():
        raise InvalidArgument(f"there is no folder {place.parent} for {path}")
    _try(path, place if place.is_dir() else place.parent, ".")


def _try(path: str, folder: Path, prefix: str) -> None:
    """A file beside it, gone at once: what no look at permissions tells for certain."""
    import tempfile

    try:
        tempfile.NamedTemporaryFile(dir=folder, prefix=prefix).close()
    except OSError as error:
        raise InvalidArgument(
            f"{path} cannot be written ({error.strerror or error}): choose another place"
        ) from error
