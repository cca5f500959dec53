"""The runs of `surefoot demo`: each a question, and the command that answers it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot.commands.option import Groups, option_name

if TYPE_CHECKING:
    from surefoot.commands.caller import Caller
    from surefoot.study import Result

_DATA = Path(str(files("surefoot") / "data"))
_CNN, _NEW = _DATA / "fashion_cnn.onnx", _DATA / "fashion_mlp_noise.onnx"
IMAGES = _DATA / "fashion_test.npz"
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
    options: Mapping[str, Any] = field(default_factory=dict)

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
        from surefoot.study.load_files import FileOptions

        function = getattr(import_module(f"surefoot.commands.{self.command}"), self.command)
        values = {**self.options, "store": store, "report": report}
        chosen = Groups.of(function, {"FileOptions": FileOptions}).build(values)
        if values:
            raise TypeError(f"{self.command} has no {option_name(next(iter(values)))}")
        models = [str(path) for path in self.models]
        subjects = [models if len(models) > 1 else models[0], str(IMAGES)]
        perturb = [self.perturb] if self.perturb else []
        result: Result = function(*subjects, *perturb, **chosen, caller=caller)
        return result


STEPS = {
    step.command: step
    for step in (
        Step(
            "estimate",
            "How often does random noise change the label?",
            "fashion_cnn.onnx, noise of up to 32/255 per pixel",
            options={"width": 0.05},
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
            "fashion_mlp_noise.onnx, proofs for 20 images",
            models=(_NEW,),
            perturb="",
            options={"first": 20, "correct_only": True, "quantile": 0.2},
        ),
        Step(
            "compare",
            "Does the new version fail less often than the old one?",
            "fashion_mlp_noise.onnx and fashion_cnn.onnx, noise of up to 32/255 per pixel",
            models=(_NEW, _CNN),
        ),
    )
}
"""By command, in the order of the page. `compare` measures the old network as `estimate` does, so
that its trials come from the store."""
