"""How model and data are read, and which inputs are chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from surefoot.input_set import Inputs
    from surefoot.store.records import Source
    from surefoot.subject import Model, Scores

_READING_PANEL, _CHOICE_PANEL = "Reading model and data", "Choosing inputs"


def _reading_option(text: str, name: str | None = None) -> Any:  # noqa: ANN401
    return typer.Option(*filter(None, [name]), help=text, rich_help_panel=_READING_PANEL)


def _choice_option(text: str, name: str | None = None) -> Any:  # noqa: ANN401
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
    output: Annotated[str | None, _reading_option("Name of the output of an ONNX file.")] = None
    labels: Annotated[str | None, _reading_option("File with the labels for x.npy.")] = None
    scale: Annotated[
        float | None,
        _reading_option("Divide the data by this (default: 255 for uint8 data, else 1)."),
    ] = None
    size: Annotated[str | None, _reading_option("Resize images to HEIGHTxWIDTH.")] = None
    class_names: Annotated[
        str | None, _reading_option("Names of the classes, comma-separated.")
    ] = None
    device: Annotated[str | None, _reading_option("For PyTorch models: cpu or cuda.")] = None
    half: Annotated[
        bool,
        _reading_option("Run a PyTorch model in half precision; labels may change.", "--half"),
    ] = False
    trust: Annotated[
        bool, _reading_option("Read model files that can execute code (pickles).", "--trust")
    ] = False
    classes: Annotated[
        str | None, _choice_option("Only these classes: numbers or names, comma-separated.")
    ] = None
    first: Annotated[int | None, _choice_option("At most the first N inputs.")] = None
    random: Annotated[int | None, _choice_option("N inputs, chosen at random.")] = None
    correct_only: Annotated[
        bool,
        _choice_option("Only inputs that the model classifies correctly.", "--correct-only"),
    ] = False

    def source(self, model: str, data: str, **more: Any) -> Source:  # noqa: ANN401
        """Where model and data came from, for the record."""
        from surefoot.store.records import Source

        options = {k: v for k, v in asdict(self).items() if v is not None}
        return Source(model, data, options, **more)

    def load(self, name: str, data: str, seed: int = 1) -> tuple[Model, Inputs]:
        """Model and chosen inputs; the seed is for a random choice."""
        models, inputs = self.load_all([name], data, seed)
        return models[0], inputs

    def load_all(
        self, paths: Sequence[str], data: str, seed: int = 1, needs: Scores | None = None
    ) -> tuple[list[Model], Inputs]:
        """Models, and the inputs chosen for all of them; `needs` is what the property reads."""
        from surefoot.study.load_files import FileOptions

        return FileOptions(**asdict(self)).load(paths, data, seed, needs)
