"""`surefoot certify`: is the failure probability of each input at most kappa?"""

from __future__ import annotations

from typing import Annotated

import typer

from surefoot.cli import options as o
from surefoot.cli.attack_options import AttackOptions
from surefoot.cli.input_options import InputOptions
from surefoot.cli.levels_options import LevelsOptions, run_at_levels
from surefoot.cli.methods import TRIALS_TIMES_KAPPA, kappa_method
from surefoot.cli.requirement_options import DecisionRequirementOptions
from surefoot.cli.run_options import RunOptions, StudyRequest
from surefoot.errors import InvalidArgument


@o.expand_options
def certify(
    model: o.ModelArg,
    data: o.DataArg,
    *,
    inputs: InputOptions,
    perturb: o.PerturbOption,
    kappa: Annotated[
        str | None, typer.Option(help="The largest allowed failure probability, such as 1e-3.")
    ] = None,
    sil: Annotated[
        int | None,
        typer.Option(
            min=1, max=4, help="Instead of --kappa: low-demand limit of a SIL, IEC 61508."
        ),
    ] = None,
    confidence: o.ConfidenceOption = o.DEFAULT_CONFIDENCE,
    method: Annotated[str, typer.Option(help="kappa-test or exact-binomial.")] = "kappa-test",
    max_trials: Annotated[
        int | None,
        typer.Option(
            min=1, help=f"Maximum trials per input (default: {TRIALS_TIMES_KAPPA}/kappa)."
        ),
    ] = None,
    looks: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="For exact-binomial: number of interim analyses (default: 8); 1 is a fixed size.",
        ),
    ] = None,
    prop: o.PropertyOption = "same",
    levels: LevelsOptions,
    attack: AttackOptions,
    requirement: DecisionRequirementOptions,
    options: RunOptions,
) -> int:
    """Decide whether each input fails under at most a share kappa of the perturbations.

    The result counts the inputs that fail more often, those that fail at most so often, and those
    undecided. A requirement gets a verdict: --require all (every one of these inputs),
    --require-these 0.95 (a share of them) or --require 0.95 (a share of the population). Exit code
    0: it holds or there is none, 1: refuted, 2: undecided.

    With --attack a table of accuracy, the share of inputs that withstood an attack, and the robust
    share is printed too.

    Example: surefoot certify model.onnx test.npz --perturb linf:8/255 --kappa 1e-2 --attack
    """
    limit = _kappa(kappa, sil)
    request = StudyRequest(
        inputs, data, perturb, prop, kappa_method(method, limit, confidence, max_trials, looks)
    )
    return run_at_levels(request, model, options, levels, requirement, attack.method())


def _kappa(kappa: str | None, sil: int | None) -> str:
    from surefoot.report.sampling.view import SIL

    if kappa is not None and sil is None:
        return kappa
    if sil is not None and kappa is None:
        return repr(SIL[f"SIL {sil}"])
    raise InvalidArgument("give either --kappa, such as 1e-3, or --sil 1 to 4")
