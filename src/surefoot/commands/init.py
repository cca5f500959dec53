"""`init`: model and data checked, then a study file to begin with, and a workflow for CI."""

from __future__ import annotations

import json
import math
import os
import sys
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.commands import options as o
from surefoot.commands.run import DEFAULT_FILE
from surefoot.commands.values import Given, check_text_file, is_plain
from surefoot.errors import InvalidArgument, ReportFailed
from surefoot.records.options import FileOptions, option, option_name
from surefoot.system.whole_file import write_whole

if TYPE_CHECKING:
    from surefoot.study.run import Checkup
    from surefoot.subject.inputs import Inputs
    from surefoot.subject.protocols import Model, Perturbation

STUDY, WORKFLOW = DEFAULT_FILE, Path(".github", "workflows", "surefoot.yml")
_PRECISION = 0.02
_LESS = 0.05
"""How much below the clean accuracy the proposed requirement is, at least: a first guess."""
_SHARE = 0.05
"""Level of noise on arrays, as a share of the range of their values: visible, and seldom fatal."""


@dataclass(frozen=True)
class InitOptions:
    """What may be replaced."""

    force: bool = option(False, f"Replace {STUDY} and the workflow file.", common=True)


@dataclass(frozen=True)
class Start:
    """What the checks found, and the files written; no file where a check is bad."""

    checkup: Checkup
    files: tuple[Path, ...] = ()

    def __str__(self) -> str:
        """The checks, and what to do next."""
        return "\n".join((str(self.checkup), *self.lines))

    @property
    def lines(self) -> tuple[str, ...]:
        """What was written, and what to do next."""
        if not self.files:
            return ("nothing was written: correct what is BAD, and run the same command again",)
        study, workflow = self.files
        edit = f"surefoot run; in {workflow}, put the repository of surefoot in place of OWNER"
        return (f"{study} and {workflow} written", f"next: {edit}")


def init(
    model: o.ModelArgument,
    data: o.DataArgument,
    *,
    writing: InitOptions,
    inputs: FileOptions,
) -> Start:
    """Check model and data, then write a commented surefoot.toml that runs, and a workflow for CI.

    Both files of the current folder, the workflow where GitHub looks for it: in .github/workflows
    of the repository. What is there is replaced with `force` only. `print` the answer.

    Example: print(sf.init("model.onnx", "test.npz"))
    """
    if not isinstance(model, str | Path) or not isinstance(data, str | Path):
        raise InvalidArgument("init writes their names: give model and data as files")
    in_memory = [f.name for f in fields(inputs) if not is_plain(getattr(inputs, f.name))]
    if in_memory:
        raise InvalidArgument(f"init writes {option_name(in_memory[0])}: give it as text")
    here = Path.cwd()  # within the repository whose folder has .git, or all there is of one
    top = next((p for p in (here, *here.parents) if (p / ".git").exists()), here)
    files = (Path(STUDY), Path(os.path.relpath(top / WORKFLOW)))
    for file in files:
        _check_place(file, writing.force)

    from surefoot.commands.request import read_subjects
    from surefoot.inputs import fit
    from surefoot.study.run import doctor as check

    subjects = read_subjects({"": model}, data, inputs, o.SEED)
    x, signature = subjects.inputs.x, subjects.models[""].signature
    if subjects.inputs.frame and signature.bounds is None and x.min() >= 0 and x.max() <= 1:
        inputs = replace(inputs, bounds="0,1")
        subjects = read_subjects({"": model}, data, inputs, o.SEED)
    loaded, chosen = subjects.models[""], fit(subjects.inputs, subjects.models[""].signature.shape)
    perturbations = _perturbations(loaded, chosen)
    checkup = check(loaded, chosen, next(iter(perturbations.values())))
    if checkup.bad:
        return Start(checkup)
    required = _requirement(loaded, chosen)
    names = _beside(str(model)), _beside(str(data))
    study = _study_text(*names, inputs, tuple(perturbations), required)
    workflow = _workflow_text(str(model), here.relative_to(top))
    _write(dict(zip(files, (study, workflow), strict=True)))
    return Start(checkup, files)


def _write(texts: dict[Path, str]) -> None:
    """All files, or none where a folder cannot be made."""
    file = Path()
    try:
        for file in texts:
            file.parent.mkdir(parents=True, exist_ok=True)
        for file, text in texts.items():
            write_whole(file, text.encode())
    except (OSError, UnicodeEncodeError) as error:
        raise ReportFailed(f"{file} cannot be written ({error}): correct its folder") from None


def _check_place(file: Path, force: bool) -> None:
    """Refuse a file that is there, or that could not be written."""
    if file.exists() and not force:
        raise InvalidArgument(
            f"{file} is there already: move it away, or replace it with force (--force)",
            option="force",
            value=force,
        )
    if file.parent.is_dir():
        check_text_file(file)


def _beside(path: str) -> str:
    """A path as one writes it from this folder, where the file is inside it."""
    here = f"{Path.cwd()}{os.sep}"
    return path.removeprefix(here)


@dataclass(frozen=True)
class _Requirement:
    """When an input is kept, the share to propose, and what it is the least share of."""

    property: str
    number: float
    words: str


_OF_KIND = {
    "texts": ("typos:0.05", "swaps:0.05", "case:0.1", "ocr:0.05", "word-drop:0.1"),
    "images": ("gaussian:{level}", "blur:1", "brightness:-0.2..0.2", "rotation:-10..10"),
    "sounds": ("snr:20dB", "gain:6", "time-shift:0.1", "dropouts:0.05"),
    "rows of a table": ("table:0.1sd",),
    "arrays": ("gaussian:{level}", "linf:{level}"),
}
"""Perturbations to begin with, for each kind of data; the first that fits the data is run."""


def _kind_of(inputs: Inputs) -> str:
    from surefoot.inputs.media import READING

    if inputs.holds_items:
        if all(isinstance(item, str) for item in inputs.x):
            return "texts"
        raise InvalidArgument(
            f"{inputs.source} holds {inputs.content}, for which there is no perturbation to begin "
            "with: write a function of your own, and --perturb mine.py:f:0.1 of `surefoot estimate`"
        )
    if inputs.reading.startswith(READING):
        return "sounds"
    if inputs.frame:
        return "images"
    return "rows of a table" if inputs.x.ndim == 2 else "arrays"


def _perturbations(model: Model, inputs: Inputs) -> dict[str, Perturbation]:
    """Those of this kind of data that fit it, by their texts; refused where none does."""
    from surefoot.catalogue.parse import parse_perturbation
    from surefoot.engine.input_check import refuse_unsuited
    from surefoot.perturb.table import for_columns

    kind, bounds = _kind_of(inputs), model.signature.bounds
    width = 1.0 if bounds is None else bounds.width
    if bounds is None and not inputs.holds_items:
        width = float(inputs.largest - inputs.least)
    texts = [text.format(level=f"{_SHARE * width:.2g}") for text in _OF_KIND[kind]]
    fitting: dict[str, Perturbation] = {}
    refusal: InvalidArgument | None = None
    for text in texts:
        try:
            one = for_columns(parse_perturbation(text, inputs.frame), inputs)
            refuse_unsuited(inputs, one, bounds)
            fitting[text] = one
        except InvalidArgument as error:
            refusal = error
    if refusal is not None and not fitting:
        raise refusal
    return fitting


def _requirement(model: Model, inputs: Inputs) -> _Requirement:
    """By whether there are classes and labels, and by the clean accuracy."""
    from surefoot.engine.outputs import clean_labels
    from surefoot.subject.protocols import Scores

    if model.signature.scores is Scores.OBJECTS:
        raise InvalidArgument(
            "the model returns objects, and what counts as kept depends on their kind: run "
            "surefoot estimate with a property, such as --property boxes:0.5"
        )
    if not model.signature.classes:
        words = "least share of outputs that stay within 5 % of the clean one"
        return _Requirement("close:5%", 0.9, words)
    if inputs.labels is None:
        words = "least share of perturbed inputs that keep the label of the clean one"
        return _Requirement("same", 0.9, words)
    given, alone = clean_labels(model, inputs.x)
    accuracy = float((alone & (given == inputs.labels)).mean())
    number = max(0.0, math.floor(round((accuracy - _LESS) * 20, 6)) / 20)
    words = f"least accuracy: a first guess; clean it is {100 * accuracy:.1f} %"
    return _Requirement("true", number, words)


_PROPERTIES = {
    "true": "a perturbed input must get its true label",
    "same": "the data have no labels: a perturbed input must keep the label of the clean one",
    "close:5%": "an output must stay within 5 % of the clean one",
}


def _study_text(
    model: str,
    data: str,
    reading: FileOptions,
    perturbations: tuple[str, ...],
    required: _Requirement,
) -> str:
    """The study file: one study with a requirement, and others to uncomment."""
    given = {f.name: getattr(reading, f.name) for f in fields(reading)}
    options = {f.name: given[f.name] for f in fields(reading) if given[f.name] != f.default}
    more = "".join(f"\n{n.replace('_', '-')} = {_toml(value)}" for n, value in options.items())
    first, *others = (
        f'[[study]]\nname = {_toml(text.partition(":")[0])}\ncommand = "estimate"\n'
        f"perturb = {_toml(text)}\n"
        for text in perturbations
    )
    further = "".join("\n# " + other.rstrip().replace("\n", "\n# ") + "\n" for other in others)
    return f"""\
# How robust is the model? Run it: surefoot run
# Every key is an option of the command, by the same word: surefoot estimate --help

error = 0.05            # the probability that any verdict of this file is wrong is at most this

[defaults]              # for every study, unless it says otherwise; paths are relative to this file
model = {_toml(model)}
data = {_toml(data)}{more}
property = {_toml(required.property)}       # {_PROPERTIES[required.property]}
# precision = {_PRECISION}      # half-width of the interval of the mean: the default. Written
#                       # here, --previous-model has nothing to compare: that needs each

{first}require = {required.number:g}          # {required.words}
# The answer is PASS, FAIL or UNDECIDED, and the exit code 0, 1 or 2. Change the requirement to what
# you need before you see the result; without it the run measures only.

# More perturbations: surefoot perturb --list. Remove the # to add a study.
{further}"""


def _toml(value: Given) -> str:
    """A text, a number, a truth value or a list as TOML writes it."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


_EXTRAS = {
    **dict.fromkeys((".pt", ".pt2", ".pth"), "torch"),
    **dict.fromkeys((".joblib", ".pkl", ".pickle"), "sklearn"),
}
"""What else is installed for a file that ends so."""


def _workflow_text(model: str, place: Path) -> str:
    """A workflow that runs the study file in this folder of the repository."""
    extra = "web" if "://" in model else _EXTRAS.get(Path(model).suffix.lower(), "")
    extras = f"\n          extras: {extra}" if extra else ""
    own = "" if Path("requirements.txt").is_file() else "# "
    needed = (place / "requirements.txt").as_posix()
    version = ".".join(map(str, sys.version_info[:2]))
    return f"""\
# Runs {STUDY} on every push: the job passes if every requirement is shown to hold.
# Model and data must be in the repository, or be fetched in a step of their own.
name: robustness
on: [push]
permissions:
  contents: read
jobs:
  robustness:
    runs-on: ubuntu-latest
    timeout-minutes: 60
    steps:
      - uses: actions/checkout@v4    # files of Git LFS need: with: {{ lfs: true }}
      - uses: actions/setup-python@v5
        with:
          python-version: "{version}"
      {own}- run: python -m pip install -r {json.dumps(needed)}    # what the model needs
      # EDIT the next line: OWNER/surefoot is the repository that has surefoot. It is installed from
      # there; with "version: 0.1.0" below from the package index, once it is released there.
      - uses: OWNER/surefoot@main
        with:
          study: {_toml((place / STUDY).as_posix())}
          python-version: "{version}"{extras}
"""
