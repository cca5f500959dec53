"""How model and data are read, and which inputs are chosen."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from surefoot.study.load_files import FileOptions

_READING_PANEL, _CHOICE_PANEL = "Reading model and data", "Choosing inputs"


def _reading_option(text: str, name: str | None = None) -> Any:  # noqa: ANN401  an option of Typer
    return typer.Option(*filter(None, [name]), help=text, rich_help_panel=_READING_PANEL)


def _choice_option(text: str, name: str | None = None) -> Any:  # noqa: ANN401  an option of Typer
    return typer.Option(*filter(None, [name]), help=text, rich_help_panel=_CHOICE_PANEL)


@dataclass(frozen=True)
class InputOptions:
    """How model and data are read and chosen; stored with the run, so a trial can be replayed."""

    bounds: Annotated[
        str | None, _reading_option("Valid range of input values, for example 0,1.")
    ] = None
    mean: Annotated[
        str | None,
        _reading_option(
            "Mean for normalisation: one number, or one per channel: 0.485,0.456,0.406"
        ),
    ] = None
    std: Annotated[
        str | None, _reading_option("Standard deviation for normalisation, like --mean.")
    ] = None
    scores: Annotated[
        str | None,
        _reading_option(
            "What the model returns, if unclear: logits, probabilities, values (no class "
            "scores), objects (boxes)."
        ),
    ] = None
    shape: Annotated[
        str | None,
        _reading_option("Shape of one input, if the model does not say: 1,28,28"),
    ] = None
    output: Annotated[
        str | None, _reading_option("Name of the output of an ONNX file or an HTTP model.")
    ] = None
    labels: Annotated[
        str | None,
        _reading_option(
            "Column of a table with the labels, file with the labels for x.npy, or none."
        ),
    ] = None
    label_pattern: Annotated[
        str | None,
        _reading_option(r'Labels from file names, by a pattern: "(?P<label>.+)_\d+"'),
    ] = None
    scale: Annotated[
        float | None,
        _reading_option("Divide the data by this (default: 255 for uint8 data, else 1)."),
    ] = None
    size: Annotated[
        str | None,
        _reading_option("Resize images to HEIGHTxWIDTH (default: the size the model takes)."),
    ] = None
    length: Annotated[
        float | None,
        _reading_option("Cut sounds to this many seconds, or fill them up with silence."),
    ] = None
    class_names: Annotated[
        str | None,
        _reading_option("Names of the classes: a file (one a line, or JSON), or comma-separated."),
    ] = None
    read_as: Annotated[
        str | None, _reading_option("Read every file of a folder as one input: bytes or text.")
    ] = None
    group: Annotated[
        str | None,
        _reading_option(
            "Column (CSV) or array (.npz) that names the group of each input, such as a patient; "
            "or pattern:REGEX for file names. Then groups are the sample."
        ),
    ] = None
    device: Annotated[
        str | None,
        _reading_option("For PyTorch models: cpu, cuda (every GPU), or GPUs by number: cuda:0,2"),
    ] = None
    half: Annotated[
        bool,
        _reading_option("Run a PyTorch model in half precision; labels may change.", "--half"),
    ] = False
    trust: Annotated[
        bool, _reading_option("Read model files that can execute code (pickles).", "--trust")
    ] = False
    token_variable: Annotated[
        str | None,
        _reading_option(
            "Environment variable with the bearer token of an HTTP model (default: SUREFOOT_TOKEN)."
        ),
    ] = None
    classes: Annotated[
        str | None, _choice_option("Only these classes: numbers or names, comma-separated.")
    ] = None
    first: Annotated[int | None, _choice_option("At most the first N inputs (or groups).")] = None
    random: Annotated[int | None, _choice_option("N inputs (or groups), chosen at random.")] = None
    correct_only: Annotated[
        bool,
        _choice_option("Only inputs that the model classifies correctly.", "--correct-only"),
    ] = False

    def files(self) -> FileOptions:
        """The same options, for the function that reads the files."""
        from surefoot.engine.devices import prepare_gpu

        prepare_gpu(self.device)
        from surefoot.study.load_files import FileOptions

        return FileOptions(**asdict(self))
