"""The rest of a check of an evidence file, for who has model and data: trials run again."""

from __future__ import annotations

from dataclasses import replace

from surefoot.evidence_file.statement import Evidence
from surefoot.procedure import Needs
from surefoot.store.records import Samples
from surefoot.study.check_evidence import not_covered
from surefoot.study.check_words import check_rebuilt_words
from surefoot.study.compare_inputs import compare_inputs
from surefoot.study.evidence_answers import Again, Check, EvidenceCheck, Status
from surefoot.study.rebuild_study import RerunRequest, rebuild
from surefoot.study.rerun_radii import check_radii
from surefoot.study.rerun_trials import check_trials
from surefoot.study.study import Study

_SEEDS = (
    "Run the study with many seeds or on many data sets, and hand over the best run alone: nothing "
    "in a file can show that. Choose the seed and the data yourself where it matters."
)


def check_with_model(
    check: EvidenceCheck, evidence: Evidence, request: RerunRequest
) -> EvidenceCheck:
    """The same check, with model and data compared and some trials run again.

    Nothing is run where something is refuted already.
    """
    if check.exit_code == 1:
        return check
    rebuilt = rebuild(evidence, request)
    if rebuilt.study is None:
        return replace(check, again=Again(rebuilt.checks))
    again = _run_again(rebuilt.study, evidence, request)
    words = check_rebuilt_words(evidence, rebuilt.study.spec.words)
    again = replace(again, trials=(*again.trials, *words))
    refuted = any(one.status is Status.REFUTED for one in again.trials)
    forger = again.forger if refuted else (*again.forger, _SEEDS)
    return replace(
        check,
        again=replace(again, subjects=rebuilt.checks, forger=forger),
        not_covered=not_covered(evidence, with_model=True),
    )


def _run_again(study: Study, evidence: Evidence, request: RerunRequest) -> Again:
    inputs = compare_inputs(study, evidence)
    if inputs.status is Status.REFUTED:
        return Again((), (inputs,))
    run = check_radii if study.needs is Needs.RADII else check_trials
    again = run(study, evidence, request)
    own = again.trials
    details = evidence.record.details
    if isinstance(details, Samples) and details.attack is not None:
        words = "The attack beside it was not run again: it is a run of its own."
        own = (*own, Check(Status.OPEN, words))
    return replace(again, trials=(inputs, *own))
