"""`demo`: every method on two small networks and 300 images that come with the package."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.commands.caller import Answer, Caller
from surefoot.commands.option import Groups
from surefoot.commands.values import Given
from surefoot.errors import InvalidArgument, MissingPackage
from surefoot.records.options import option, option_name

if TYPE_CHECKING:
    from surefoot.study import Result

_TITLE = "How robust are two small image classifiers?"
_LINES = (
    "The data: 300 test images of Fashion-MNIST, the first 30 of each of 10 classes of clothes.",
    "The models: fashion_cnn.onnx, a convolutional network (90 % of the 10,000 test images right), "
    "and fashion_mlp_noise.onnx, its new version: smaller, trained on noisy images (86 % right).",
)
_CLOSING = (
    ("The files of these commands, for any folder:", "surefoot demo --files ."),
    ("On your own files: put the names of your model and your data in their place. First check "
     "that they fit together:", "surefoot doctor model.onnx test.npz"),
)  # fmt: skip


_EMBEDDED = Path(str(files("surefoot") / "data"))
_CNN, _NEW = _EMBEDDED / "fashion_cnn.onnx", _EMBEDDED / "fashion_mlp_noise.onnx"
IMAGES = _EMBEDDED / "fashion_test.npz"
"""300 test images of Fashion-MNIST, the first 30 of each class."""
_NOISE = "linf:32/255"
FILES = (_CNN, _NEW, IMAGES)
"""The files that the commands of all steps name."""


@dataclass(frozen=True)
class Step:
    """One command on the embedded files, with its options as in Python, and what it answers."""

    command: str
    question: str
    about: str
    models: tuple[Path, ...] = (_CNN,)
    perturb: str = _NOISE
    options: Mapping[str, Given] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """The command as it is typed in a folder that has the files."""
        words = ["surefoot", self.command, *(path.name for path in (*self.models, IMAGES))]
        words += ["--perturb", self.perturb] if self.perturb else []
        for name, value in self.options.items():
            words.append("--" + name.replace("_", "-"))
            words += [] if value is True else [str(value)]
        return shlex.join(words)

    def run(self, store: str, caller: Caller, report: str | None = None) -> Result:
        """The result, from the store where the run is finished already."""
        function = getattr(import_module(f"surefoot.commands.{self.command}"), self.command)
        values = {**self.options, "store": store, "report": report}
        chosen = Groups.of(function).build(values)
        if values:
            raise TypeError(f"{self.command} has no {option_name(next(iter(values)))}")
        models = [str(path) for path in self.models]
        subjects = [models if len(models) > 1 else models[0], str(IMAGES)]
        perturb = [self.perturb] if self.perturb else []
        own = Caller(self.line, caller.display, remark=caller.remark)
        result: Result = function(*subjects, *perturb, **chosen, caller=own)
        return result


STEPS = {
    step.command: step
    for step in (
        Step(
            "estimate",
            "How accurate is the model under random noise?",
            "fashion_cnn.onnx, noise of up to 32/255 per pixel",
        ),
        Step(
            "certify",
            "How many images fail under more than 1 in 10 random perturbations?",
            "fashion_cnn.onnx, noise of up to 32/255 per pixel",
            options={"kappa": 0.1, "first": 100},
        ),
        Step(
            "tail",
            "How rare are confident mistakes?",
            "fashion_cnn.onnx, noise of up to 32/255 per pixel; a trial fails if another label "
            "gets a confidence of 0.6 or more",
            options={"limit": 0.6, "first": 20},
        ),
        Step(
            "curve",
            "Up to which blur are 80 % of the images classified correctly?",
            "fashion_cnn.onnx, blur of 0 to 2 pixels",
            perturb="blur:0..2",
            options={"threshold": 0.8},
        ),
        Step(
            "critical",
            "Up to which size is no perturbation a failure, for all but 20 % of such images?",
            "fashion_mlp_noise.onnx, which is small enough to prove for 20 images in seconds",
            models=(_NEW,),
            perturb="",
            options={"first": 20, "correct_only": True, "quantile": 0.2},
        ),
        Step(
            "compare",
            "Is the new version shown to be more accurate under noise than the old one?",
            "fashion_mlp_noise.onnx and fashion_cnn.onnx, noise of up to 32/255 per pixel",
            models=(_NEW, _CNN),
        ),
    )
}
"""By command, in the order of the page. `compare` measures the old network as `estimate` does, so
that its trials come from the store."""


@dataclass(frozen=True)
class DemoOptions:
    """Which methods are run, and where the files go."""

    out: str = option(".", "Folder for report.html and the store.")
    only: str | None = option(
        None, "One method: estimate, certify, tail, curve, critical or compare."
    )
    files: str | None = option(
        None, "Only copy the networks and images of the demo into this folder."
    )

    def folder(self) -> Path:
        """The folder that is written into; what makes no sense is refused."""
        if self.only is not None and self.only not in STEPS:
            raise InvalidArgument(f"--only {self.only}: choose one of {', '.join(STEPS)}")
        path = self.out if self.files is None else self.files
        if not Path(path).is_dir():
            raise InvalidArgument(f"there is no folder {path}: create it first")
        return Path(path)


def copy_files(folder: Path) -> Answer:
    """Copy the files; one of the same name with another content is not touched."""
    for path in FILES:
        place = folder / path.name
        if place.exists() and place.read_bytes() != path.read_bytes():
            raise InvalidArgument(f"{place} exists already and is another file: move it first")
    for path in FILES:
        shutil.copyfile(path, folder / path.name)
    return Answer([f"written: {folder / path.name}" for path in FILES])


def run_steps(store: str, report: str, caller: Caller) -> dict[str, Result]:
    """Every method, but for those whose package is missing; and the page with a section of each."""
    from surefoot.report.page import Chapter, Collection, write_page

    results = {}
    for place, step in enumerate(STEPS.values(), 1):
        caller.remark(f"{place} of {len(STEPS)}, {step.command}: {step.question}")
        try:
            results[step.command] = step.run(store, caller)
        except MissingPackage as error:
            caller.remark(f"{step.command} is left out: {error}")
    chapters = [
        Chapter(name, STEPS[name].question, result.view, STEPS[name].about)
        for name, result in results.items()
    ]
    write_page(Collection(_TITLE, _LINES, tuple(chapters), _CLOSING), Path(report))
    return results
