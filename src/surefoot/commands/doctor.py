"""`doctor`: do model and data fit together?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from surefoot.commands import options as o
from surefoot.commands.values import AnyPerturbation
from surefoot.records.options import FileOptions, Option, option

if TYPE_CHECKING:
    from surefoot.study.doctor import Checkup


@dataclass(frozen=True)
class SeedOptions:
    """The seed alone, of a command that stores nothing."""

    seed: int = option(o.SEED, "Random seed.", least=0)


def doctor(
    model: o.ModelArgument,
    data: o.DataArgument,
    perturb: Annotated[
        AnyPerturbation, Option("Also check this perturbation, for example linf:8/255.")
    ] = None,
    *,
    inputs: FileOptions,
    choice: SeedOptions,
) -> Checkup:
    """Check that model and data fit together before a run; `print` the answer.

    Model, data and perturbation as for `sf.estimate`; without a perturbation model and data alone
    are checked. The options are those of `surefoot doctor`.

    Example: print(sf.doctor("model.onnx", "test.npz", bounds=(0, 1)))
    """
    from surefoot.commands.request import read_subjects
    from surefoot.commands.values import as_perturbation
    from surefoot.study.doctor import doctor as check

    subjects = read_subjects({"": model}, data, inputs, choice.seed)
    noise = None if perturb is None else as_perturbation(perturb, subjects.inputs.frame)
    return check(subjects.models[""], subjects.inputs, noise)
