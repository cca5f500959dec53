"""`surefoot certify`: is the failure probability of each input at most κ?"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from surefoot.cli.options import Reading, expanded
from surefoot.cli.running import Running, conclude
from surefoot.errors import InvalidArgument

_BUDGET = 200


@expanded
def certify(
    reading: Reading,
    *,
    kappa: Annotated[
        str | None, typer.Option(help="The failure probability to stay below, such as 1e-3.")
    ] = None,
    sil: Annotated[
        int | None,
        typer.Option(min=1, max=4, help="Or the low-demand limit of a SIL of IEC 61508."),
    ] = None,
    confidence: Annotated[str, typer.Option(help="How sure to be of each decision.")] = "0.95",
    method: Annotated[str, typer.Option(help="kappa-test or exact-binomial.")] = "kappa-test",
    budget: Annotated[
        int | None,
        typer.Option(min=1, help=f"Most trials an input (default: {_BUDGET}/kappa)."),
    ] = None,
    require: Annotated[
        str | None,
        typer.Option(help="Claim instead that at least this share of the population is robust."),
    ] = None,
    running: Running,
) -> int:
    """Decide for each input whether its failure probability is at most kappa.

    The claim is that every input studied is robust: exit code 0 if that is shown, 1 if it is
    refuted, 2 if the evidence does not decide it.

    Example: surefoot certify model.onnx test.npz --perturb linf:8/255 --kappa 1e-2
    """
    from surefoot.study.registry import share

    least = None if require is None else share("--require", require)
    study, source = running.study(reading, procedure_for(method, kappa, sil, confidence, budget))
    return conclude(
        study,
        source,
        running,
        lambda found: found.all_robust() if least is None else found.requires(least),
    )


def procedure_for(
    method: str, kappa: str | None, sil: int | None, confidence: str, budget: int | None
) -> Any:  # noqa: ANN401
    """The test of this name."""
    from surefoot.study.registry import TESTS, share

    if method not in TESTS:
        raise InvalidArgument(f"there is no method {method!r}: choose one of {', '.join(TESTS)}")
    limit = _kappa(kappa, sil)
    error = round(1 - share("--confidence", confidence), 12)
    return TESTS[method](limit, error, budget or max(1, round(_BUDGET / max(limit, 1e-12))))


def _kappa(kappa: str | None, sil: int | None) -> float:
    from surefoot.report.words import SIL
    from surefoot.study.registry import number

    if (kappa is None) == (sil is None):
        raise InvalidArgument("say either --kappa, such as 1e-3, or --sil 1 to 4")
    return SIL[f"SIL {sil}"] if kappa is None else number(kappa)
