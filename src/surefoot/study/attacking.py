"""The baseline beside a study's result: how often a gradient attack finds nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.engine.attacking import Attack, AttackBench, Outcome, beside
from surefoot.engine.drive import Progress
from surefoot.errors import InvalidArgument, MissingPackage, ModelFailed
from surefoot.perturb.levels import level_words
from surefoot.store.attacked import Attacked
from surefoot.store.records import Record
from surefoot.subject import Ball, Gradients

if TYPE_CHECKING:
    from surefoot.study.spec import Study

_LABELS = ("same", "true")


def with_attack(
    study: Study,
    record: Record,
    attack: Attack,
    where: str | None,
    batch: int | None,
    watch: Callable[[Progress], None],
) -> Record:
    """The record with its attack, made now unless it holds the same one; kept in the store."""
    if _is_this(record.attack, _effort(study, attack)):
        return record
    whole = replace(record, attack=attacked(study, attack, batch, watch))
    if where is None:
        return whole
    from surefoot.store.sql import SqlStore

    with closing(SqlStore(where)) as store:
        return store.finish(whole)


def _is_this(known: Attacked | None, effort: tuple[int, int, int]) -> bool:
    """Whether such an attack is known; one that could not be made is tried again."""
    if known is None or known.failure_rate is None:
        return False
    return (known.starts, known.steps, known.rivals) == effort


def attacked(
    study: Study,
    attack: Attack,
    batch: int | None = None,
    watch: Callable[[Progress], None] = lambda _: None,
) -> Attacked:
    """What the attack came to, or why there is none."""
    starts, steps, rivals = _effort(study, attack)
    blank = Attacked(starts, steps, rivals, len(study.fitted), study.perturbation.level)
    able = _able(study)
    if isinstance(able, str):
        return replace(blank, reason=able)
    ball, gradients = able
    begun = time.perf_counter()
    bench = AttackBench(
        study.fitted, study.references, study.model, gradients, study.perturbation, ball,
        study.property, study.seed,
    )  # fmt: skip
    found = bench.strike(attack, batch, watch)

    def named(*outcomes: Outcome) -> tuple[str, ...]:
        pairs = zip(study.fitted.ids, found, strict=True)
        return tuple(name for name, one in pairs if one.outcome in outcomes)

    broken = named(Outcome.UNDISTURBED, Outcome.FOUND)
    return replace(
        blank,
        ball=_said(study, ball),
        failure_rate=1 - len(broken) / len(found),
        broken=broken,
        undisturbed=len(named(Outcome.UNDISTURBED)),
        blind=len(named(Outcome.BLIND)),
        discarded=sum(one.discarded for one in found),
        seconds=round(time.perf_counter() - begun, 3),
    )


def _said(study: Study, ball: Ball) -> str:
    """What was searched."""
    bounds = study.model.signature.bounds
    within = "" if bounds is None else f" within [{bounds.low:g}, {bounds.high:g}]"
    whole = ", whole numbers only" if study.model.signature.whole_numbers else ""
    return f"{ball} ball of radius {level_words(study.perturbation.level)}{within}{whole}"


def _effort(study: Study, attack: Attack) -> tuple[int, int, int]:
    """No more rivals than there are."""
    return attack.starts, attack.steps, min(attack.rivals, study.model.signature.classes - 1)


def _able(study: Study) -> tuple[Ball, Gradients] | str:
    """The ball to search and the gradients to follow, or why there is no attack."""
    ball = getattr(study.perturbation, "ball", None)
    if not isinstance(ball, Ball):
        return (
            "an attack searches all of an L∞ or L2 ball (linf, l2), and the perturbation "
            f"{study.perturbation.kind} has none"
        )
    if study.property.kind not in _LABELS:
        return (
            "an attack looks for another label (property same or true), and the property is "
            f"{study.property.kind}"
        )
    if ball is Ball.L2 and study.model.signature.whole_numbers:
        return "the model takes whole numbers, and in an L2 ball the attack does not"
    model: Any = study.model
    if not hasattr(model, "margin_and_gradient"):
        return (
            "the model gives scores but no gradients: an attack needs a PyTorch model or an ONNX "
            "file"
        )
    x = model.place(study.fitted.x[:1])
    first, second = (beside(x, np.full(1, label)) for label in (0, 1))
    try:
        model.margin_and_gradient(x, first, second)
    except (InvalidArgument, MissingPackage, ModelFailed) as error:
        return f"the model's gradients cannot be had: {error}"
    return ball, model
