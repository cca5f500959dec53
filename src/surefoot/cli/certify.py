"""`surefoot certify`: is the failure probability of each input at most kappa?"""

from __future__ import annotations

from typing import Any

from surefoot.cli import options as o
from surefoot.cli.output import run_command
from surefoot.commands import certify as function


@o.options_of(function.certify)
def certify(
    model: o.ModelArg,
    data: o.DataArg,
    *,
    perturb: o.PerturbOption,
    json: o.Json = False,
    **options: Any,  # noqa: ANN401  handed on as they are
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
    return run_command(function.certify, model, data, perturb, json=json, **options)
