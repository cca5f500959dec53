"""The attack beside a study, run again with the model on a share of its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from surefoot.conclude.recorded_study import method_of
from surefoot.core.procedure import Needs
from surefoot.errors import InvalidArgument, MissingPackage, ModelFailed
from surefoot.evidence.answers import Again, Check, Status, of_part
from surefoot.evidence.recompute import recorded_study
from surefoot.evidence.verify_command import verify_command
from surefoot.recheck.rebuild_study import RebuiltRun, other_difference
from surefoot.recheck.request import RerunRequest
from surefoot.recheck.trials import check_trials
from surefoot.recheck.words import ATTACKED
from surefoot.records.record import Samples

_MOST_STEPS = 100_000
"""Gradient steps for one input: 300 times the default, and a file of a stranger can ask for more
than a lifetime."""


def check_attacks(runs: Sequence[RebuiltRun], request: RerunRequest) -> Again:
    """The attacks beside these runs, or these themselves: inputs drawn from all, attacked again.

    A file has the outcome for each input and not the points: they have a name, by which the same
    search finds them again.
    """
    checks, attacks = [], []
    for run in runs:
        attack = _within_reach(run) if run.study.needs is Needs.REGION else _attack_of(run)
        if isinstance(attack, RebuiltRun):
            attacks.append(attack)
        elif attack is not None:
            checks.append(of_part(run.name, attack))
    if not attacks:
        return Again((), tuple(checks))
    try:
        again = check_trials(attacks, request, ATTACKED)
    except (InvalidArgument, MissingPackage, ModelFailed) as error:
        again = Again((), (_cannot(str(error)),))
    return replace(again, trials=(*checks, *again.trials))


def _attack_of(run: RebuiltRun) -> RebuiltRun | Check | None:
    """The attack beside a run made again, or why it cannot be; None where there is none."""
    details, attack = run.evidence.record.details, run.evidence.attack
    if not isinstance(details, Samples) or details.attack is None or not details.attack.run:
        return None
    if attack is None:
        return _cannot("its journal is not in this file")
    try:
        recorded_study(attack.record, attack.entries)
        study = replace(run.study, method=method_of(attack.study), population=None, by_class=None)
        different = other_difference(attack, study, verify_command(attack))
    except (InvalidArgument, MissingPackage, ModelFailed) as error:
        return _cannot(str(error))
    return different or _within_reach(RebuiltRun(run.name, attack, study))


def _within_reach(attack: RebuiltRun) -> RebuiltRun | Check:
    """The attack itself, unless it takes longer than anybody waits."""
    method = attack.study.method
    steps = method.starts * method.iterations * getattr(method, "targets", 1)
    if steps > _MOST_STEPS:
        return _cannot(f"it makes {steps:,} gradient steps an input, more than {_MOST_STEPS:,}")
    return attack


def _cannot(why: str) -> Check:
    return Check(Status.OPEN, f"The attack cannot be run again here: {why}.")
