"""Options, each declared once for shell, Python, study file and record: default, help, limits.

Nothing heavy is imported here: the command line reads every help text from these declarations.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from surefoot.core.claims import UndecidedAs
from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument

_READING, _CHOICE = "Reading model and data", "Choosing inputs"

PRECISION = 0.02
"""Of a mean, where nothing is said."""


@dataclass(frozen=True)
class Option:
    """One line of help, the least and the greatest integer, the heading under which it stands.

    On the command line: `repeats`, it may be given several times; `metavar`, what stands for its
    value; `names`, where it is called otherwise than its field; `argument`, it is given by its
    place; `last`, of several values the last one is the argument of this name; `common`, the short
    help of a command has it too.
    """

    text: str
    least: int | None = None
    most: int | None = None
    panel: str | None = None
    repeats: bool = False
    metavar: str | None = None
    names: tuple[str, ...] = ()
    argument: bool = False
    last: str = ""
    common: bool = False


def option(default: Any, text: str, **more: Any) -> Any:  # noqa: ANN401  a dataclass field
    """A field of a class of options, with its default and its help."""
    return field(default=default, metadata={"option": Option(text, **more)})


def same_option(kind: type[Any], name: str) -> Any:  # noqa: ANN401  a dataclass field
    """A field like the option of this name in another class: its default and its help."""
    (known,) = (f for f in fields(kind) if f.name == name)
    return field(default=known.default, metadata=known.metadata)


def _reading(default: Any, text: str, **more: Any) -> Any:  # noqa: ANN401  a dataclass field
    return option(default, text, panel=_READING, **more)


def _choosing(default: Any, text: str, **more: Any) -> Any:  # noqa: ANN401  a dataclass field
    return option(default, text, panel=_CHOICE, **more)


def option_name(name: str) -> str:
    """How an error names an option, for Python and for a shell: `not_worse (--not-worse)`."""
    return f"{name} (--{name.replace('_', '-')})"


def refused(name: str, value: Any, words: str) -> InvalidArgument:  # noqa: ANN401  what a user gives
    """The refusal of an option's value, to be raised: its name stands before the words."""
    return InvalidArgument(f"{option_name(name)} {words}", option=name, value=value)


def refused_value(name: str, value: Any, words: str) -> InvalidArgument:  # noqa: ANN401  what a user gives
    """The same, with the value before the words too."""
    return refused(name, value, f"{value} {words}")


_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
_DURATION = re.compile(r"(\d+\.?\d*|\.\d+) ?([smh]?)")


def duration(name: str, given: Any) -> float:  # noqa: ANN401  what a user gives
    """Seconds, from the value of the option `name`: 60, 90s, 10m or 1h."""
    seconds = 0.0
    if isinstance(given, str):
        written = _DURATION.fullmatch(given.strip())
        seconds = float(written[1]) * _SECONDS[written[2]] if written else 0.0
    elif isinstance(given, int | float) and not isinstance(given, bool):
        seconds = float(given)
    if 0 < seconds < math.inf:
        return seconds
    raise refused(name, given, f"is a number of seconds above 0, got {given}: write 60, 90s or 10m")


@dataclass(frozen=True)
class FileOptions:
    """How files are read and which inputs are chosen; kept with the run, so it can be replayed.

    As text, the way a person writes it, or as Python values: bounds "0,1" or (0, 1).
    """

    bounds: str | Sequence[float] | Interval | None = _reading(
        None, "Valid range of input values, for example 0,1."
    )
    mean: str | float | Sequence[float] | None = _reading(
        None, "Mean for normalisation: one number, or one per channel: 0.485,0.456,0.406"
    )
    std: str | float | Sequence[float] | None = _reading(
        None, "Standard deviation for normalisation, like --mean."
    )
    normalise: str | None = _reading(
        None, "In place of --mean and --std: imagenet, cifar10, or MEAN/STD as in 0.5/0.5"
    )
    scores: str | None = _reading(
        None,
        "What the model returns, if unclear: logits, probabilities, values (no class scores), "
        "objects (boxes).",
    )
    shape: str | Sequence[int] | None = _reading(
        None, "Shape of one input, if the model does not say: 1,28,28"
    )
    output: str | None = _reading(None, "Name of the output of an ONNX file or an HTTP model.")
    labels: str | Any = _reading(
        None,
        "Column of a table with the labels, file with the labels for x.npy, or none.",
        common=True,
    )
    label_pattern: str | None = _reading(
        None, r'Labels from file names, by a pattern: "(?P<label>.+)_\d+"'
    )
    scale: float | None = _reading(
        None, "Divide the data by this (default: 255 for uint8 data, else 1)."
    )
    size: str | Sequence[int] | None = _reading(
        None, "Resize images to HEIGHTxWIDTH (default: the size the model takes)."
    )
    length: float | None = _reading(
        None, "Cut sounds to this many seconds, or fill them up with silence."
    )
    class_names: str | Sequence[str] | None = _reading(
        None, "Names of the classes: a file (one a line, or JSON), or comma-separated."
    )
    read_as: str | None = _reading(None, "Read every file of a folder as one input: bytes or text.")
    group: str | Sequence[Any] | None = _reading(
        None,
        "Column (CSV) or array (.npz) that names the group of each input, such as a patient; or "
        "pattern:REGEX for file names. Then groups are the sample.",
    )
    device: str | None = _reading(
        None, "PyTorch models and ONNX files: cpu, cuda (every GPU), or GPUs by number: cuda:0,2"
    )
    half: bool = _reading(
        False,
        "Run a PyTorch model, or an ONNX file on a GPU, in half precision; labels may change.",
    )
    trust: bool = _reading(False, "Read model files that can execute code (pickles).")
    token_variable: str | None = _reading(
        None,
        "Environment variable with the bearer token of an HTTP model (default: SUREFOOT_TOKEN).",
    )
    call_limit: str | float | None = _reading(
        None, "Give up where one prediction takes longer: 60, 90s, 10m (default: 10m)."
    )
    classes: str | Sequence[int | str] | None = _choosing(
        None, "Only these classes: numbers or names, comma-separated."
    )
    first: int | None = _choosing(None, "At most the first N inputs (or groups).", common=True)
    random: int | None = _choosing(None, "N inputs (or groups), chosen at random.")
    correct_only: bool = _choosing(False, "Only inputs that the model classifies correctly.")


IntervalsAs = Literal["range", "plus-minus"]


@dataclass(frozen=True)
class DocumentOptions:
    """What a document needs and a run does not know; empty where the run's own name serves."""

    name: str = option("", "Name of the model (default: that of its file).", common=True)
    dataset: str = option("", "Name of the data (default: that of the file).", common=True)
    dataset_id: str = option(
        "", "Id of the data on the Hugging Face Hub (default: made of their name)."
    )
    task: str = option("", "What the model does: image-classification (default: if shown).")
    benchmark_task: str = option("", "Task of a Hub benchmark: write its result (.eval_results).")
    table: str = option(
        "", "Of csv and latex: which table of the report (default: claims).", common=True
    )
    intervals: IntervalsAs | None = option(
        None, "Of csv and latex: intervals as ranges (default), or as numbers behind ±."
    )
    undecided: UndecidedAs | None = option(
        None, "What an undecided requirement does in JUnit (default: fail).", common=True
    )
