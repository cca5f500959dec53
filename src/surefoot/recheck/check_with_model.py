"""The rest of a check of an evidence file, for who has models and data: trials run again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from surefoot.core.procedure import Needs
from surefoot.evidence.answers import Again, Check, EvidenceCheck, Status, of_part
from surefoot.evidence.check import not_covered
from surefoot.evidence.check_words import check_rebuilt_words
from surefoot.evidence.statement import Evidence
from surefoot.recheck.attack import check_attacks
from surefoot.recheck.compare_inputs import compare_inputs
from surefoot.recheck.radii import check_radii
from surefoot.recheck.rebuild_study import RebuiltRun, rebuild
from surefoot.recheck.request import RerunRequest
from surefoot.recheck.trials import check_trials

_SEEDS = (
    "Run the study with many seeds or on many data sets, and hand over the best run alone: nothing "
    "in a file can show that. Choose the seed and the data yourself where it matters."
)
_REQUIREMENT = (
    "State a requirement after looking at the result: a file does not show when it was stated. "
    "State it yourself, before the run."
)


def check_with_model(
    check: EvidenceCheck, evidence: Evidence, request: RerunRequest
) -> EvidenceCheck:
    """The same check, with models and data compared and some trials run again.

    Nothing is run where something is refuted already.
    """
    if check.exit_code == 1:
        return check
    rebuilt = rebuild(evidence, request)
    if not rebuilt.runs:
        return replace(check, again=Again(rebuilt.checks))
    inputs = [of_part(run.name, compare_inputs(run.study, run.evidence)) for run in rebuilt.runs]
    others = [] if _refuted(inputs) else _run_again(rebuilt.runs, request)
    words = [
        of_part(run.name, one)
        for run in rebuilt.runs
        for one in check_rebuilt_words(run.evidence, run.study.spec.words)
    ]
    checks = (*inputs, *(one for other in others for one in other.trials), *words)
    forger = (*(line for other in others for line in other.forger), _SEEDS, _REQUIREMENT)
    again = Again(
        rebuilt.checks,
        checks,
        () if _refuted(checks) else tuple(dict.fromkeys(forger)),
        ", and ".join(other.sample for other in others if other.sample),
    )
    whole = len(rebuilt.runs) == len(evidence.members)
    return replace(check, again=again, not_covered=not_covered(evidence, with_model=whole))


def _refuted(checks: Sequence[Check]) -> bool:
    return any(one.status is Status.REFUTED for one in checks)


def _run_again(runs: Sequence[RebuiltRun], request: RerunRequest) -> list[Again]:
    """The trials of all runs, then the attacks beside them; of radii each run by itself."""
    begun, needs = time.monotonic(), runs[0].study.needs
    if needs is not Needs.RADII:
        trials = [] if needs is Needs.REGION else [check_trials(runs, request)]
        return [*trials, check_attacks(runs, request.since(begun))]
    radii = []
    for run in runs:
        own = check_radii(run.study, run.evidence, request)
        named = tuple(of_part(run.name, one) for one in own.trials)
        head = f"{run.name}: " if run.name else ""
        radii.append(replace(own, trials=named, forger=tuple(head + one for one in own.forger)))
    return radii
