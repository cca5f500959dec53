"""`surefoot certify`: is the failure probability of each input at most κ?"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from surefoot.cli.attack_options import Attacking
from surefoot.cli.levels_option import Side, run_levels
from surefoot.cli.options import DataArg, ModelArg, Reading, expanded
from surefoot.cli.requirement_options import Requiring
from surefoot.cli.run_options import Asked, PropertyOption, Running, conclude
from surefoot.errors import InvalidArgument

_BUDGET = 200


@expanded
def certify(
    model: ModelArg,
    data: DataArg,
    *,
    reading: Reading,
    kappa: Annotated[
        str | None, typer.Option(help="The failure probability to stay below, such as 1e-3.")
    ] = None,
    sil: Annotated[
        int | None,
        typer.Option(min=1, max=4, help="Or the low-demand limit of a SIL of IEC 61508."),
    ] = None,
    confidence: Annotated[str, typer.Option(help="How sure to be of each decision.")] = "0.95",
    method: Annotated[str, typer.Option(help="kappa-test or exact-binomial.")] = "kappa-test",
    max_trials: Annotated[
        int | None,
        typer.Option(min=1, help=f"Most trials an input (default: {_BUDGET}/kappa)."),
    ] = None,
    looks: Annotated[
        int | None,
        typer.Option(min=1, help="For exact-binomial: how often to look; 1 is one fixed size."),
    ] = None,
    prop: PropertyOption = "same",
    side: Side,
    attacking: Attacking,
    requiring: Requiring,
    running: Running,
) -> int:
    """Decide for each input whether its failure probability is at most kappa.

    The claim is that every input studied is robust, or what --require says of the robust share
    instead: exit code 0 if that is shown, 1 if it is refuted, 2 if the evidence does not decide.

    With --attack the table of accuracy, attack failure rate and robust share is printed too.

    Example: surefoot certify model.onnx test.npz --perturb linf:8/255 --kappa 1e-2 --attack
    """
    requiring.check()
    side.check()
    attack = attacking.method()
    method_ = method_for(method, kappa, sil, confidence, max_trials, looks)
    asked = Asked(data, prop, method_)
    if side.levels is not None:
        return run_levels(reading, model, asked, running, side, requiring, attack)
    study, source = running.study(reading, model, asked)
    return conclude(study, source, running, requiring, attack)


def method_for(
    method: str,
    kappa: str | None,
    sil: int | None,
    confidence: str,
    max_trials: int | None,
    looks: int | None = None,
) -> Any:  # noqa: ANN401
    """The test of this name."""
    from surefoot.methods import TESTS
    from surefoot.study.registry import share

    if method not in TESTS:
        raise InvalidArgument(f"there is no method {method!r}: choose one of {', '.join(TESTS)}")
    limit = _kappa(kappa, sil)
    error = round(1 - share("--confidence", confidence), 12)
    if looks is not None and method != "exact-binomial":
        raise InvalidArgument(f"--looks is for --method exact-binomial, not for {method}")
    more = {} if looks is None else {"looks": looks}
    most = max_trials or max(1, round(_BUDGET / max(limit, 1e-12)))
    return TESTS[method](limit, error, most, **more)


def _kappa(kappa: str | None, sil: int | None) -> float:
    from surefoot.report.sampling.view import SIL
    from surefoot.study.registry import number

    if (kappa is None) == (sil is None):
        raise InvalidArgument("say either --kappa, such as 1e-3, or --sil 1 to 4")
    return SIL[f"SIL {sil}"] if kappa is None else number(kappa)
