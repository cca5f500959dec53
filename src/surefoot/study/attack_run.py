"""An attack: the ball around each input searched for a point that fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from surefoot.conclude.radii import robust_accuracy_claim
from surefoot.conclude.recorded_study import RecordedStudy
from surefoot.core.procedure import Pinned
from surefoot.core.results import Bracket
from surefoot.engine.attack_bench import AttackBench
from surefoot.engine.devices import on_device_of
from surefoot.errors import InvalidArgument, MissingPackage, ModelFailed
from surefoot.records.record import AttackSummary, RecordBody
from surefoot.region.attack_method import (
    FOUND,
    NO_GRADIENT,
    PGD,
    WRONG_CLEAN,
    AnyAttack,
    AttackFunction,
)
from surefoot.study.measurement import Measurement
from surefoot.study.sampling_run import input_rows, workers_for
from surefoot.study.setup import Setup
from surefoot.system.text import level_words


def measurement(study: Setup, workers: int | None, batch: int | None) -> Measurement:
    """One search an input."""
    model: Any = study.model
    perturbation: Any = study.perturbation
    own_function = isinstance(study.method, AttackFunction)
    if not own_function:
        _try_gradients(study)
    bench = AttackBench(
        study.fitted, study.references, study.model, model, perturbation, perturbation.ball,
        study.property, study.method, study.seed,
    )  # fmt: skip
    pinned: Any = Pinned(study.method, study.level)
    return Measurement(
        subjects=study.fitted.subjects(),
        procedures=dict.fromkeys(study.fitted.ids, pinned),
        bench=bench,
        batch=min(batch or bench.batch_size(), len(study.fitted)),
        # functions draw from the global random numbers, which threads share
        workers=1 if own_function else workers_for(study, workers),
        conclude=lambda local: conclude(study, local, _in_this_ball(study)),
        doing="attacking",
        unit="inputs",
        requested=own_function or workers is not None,
    )


def _try_gradients(study: Setup) -> None:
    """Refuse a model whose gradients cannot be had, before anything is run."""
    model: Any = study.model
    x = model.place(study.fitted.x[:1])
    first, second = (on_device_of(x, np.full(1, label)) for label in (0, 1))
    try:
        model.margin_and_gradient(x, first, second)
    except (InvalidArgument, MissingPackage, ModelFailed) as error:
        raise InvalidArgument(f"the model's gradients cannot be had: {error}") from error


def _in_this_ball(study: Setup) -> AttackSummary:
    """What the attack is, and the ball that it searches."""
    perturbation: Any = study.perturbation
    bounds = study.model.signature.bounds
    within = "" if bounds is None else f" within [{bounds.low:g}, {bounds.high:g}]"
    whole = ", whole numbers only" if study.model.signature.whole_numbers else ""
    ball = f"{perturbation.ball} ball of radius {level_words(study.level)}{within}{whole}"
    return replace(summary_of(study, study.method), ball=ball)


def conclude(
    study: Setup | RecordedStudy, local: Sequence[Bracket], attack: AttackSummary
) -> RecordBody:
    """What follows from the searches, without a model."""

    def count(*outcomes: str) -> int:
        return sum(one.reason in outcomes for one in local)

    n, broken = len(local), count(FOUND, WRONG_CLEAN)
    summary = replace(
        attack,
        failure_rate=1 - broken / n,
        broken=broken,
        clean=count(WRONG_CLEAN),
        blind=count(NO_GRADIENT),
        discarded=sum(one.discarded for one in local),
    )
    claim = robust_accuracy_claim(study.level, 0, broken, n)
    return RecordBody(input_rows(study, local), summary, (claim,), n)


def summary_of(study: Setup, attack: AnyAttack, reason: str = "") -> AttackSummary:
    """What the attack is, before anything is known of its outcome."""
    shared: dict[str, Any] = {"inputs": len(study.fitted), "level": study.level, "reason": reason}
    match attack:
        case PGD():
            return AttackSummary(
                attack.starts, attack.iterations, 0, **shared,
                method="pgd", step=level_words(attack.step_at(study.level)),
            )  # fmt: skip
        case AttackFunction():
            return AttackSummary(0, 0, 0, **shared, method="function", name=attack.name)
        case _:
            targets = min(attack.targets, max(study.model.signature.classes - 1, 0))
            return AttackSummary(attack.starts, attack.iterations, targets, **shared)
