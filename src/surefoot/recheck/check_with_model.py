"""The rest of a check of an evidence file, for who has models and data: trials run again."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence
from dataclasses import replace

from surefoot.conclude.curves import WHOLE
from surefoot.core.procedure import Needs
from surefoot.engine.outputs import ROUNDING
from surefoot.engine.preflight import BOUNDS, COPIES, HOW_RUN
from surefoot.errors import InvalidArgument
from surefoot.evidence.answers import Again, Check, EvidenceCheck, Status, any_is, of_part
from surefoot.evidence.check import not_covered
from surefoot.evidence.check_words import check_rebuilt_words
from surefoot.evidence.statement import Evidence
from surefoot.recheck.radii import check_radii
from surefoot.recheck.rebuild_study import RebuiltRun, RerunRequest, rebuild
from surefoot.recheck.trials import check_attacks, check_trials, why_else
from surefoot.records.record import CLEAN, Curves, Finding, InputRow, Samples
from surefoot.report.reasons import reason_words
from surefoot.study.measure import clean_loss, subjects_of
from surefoot.study.run import environment, preflight
from surefoot.study.study import Study


def compare_inputs(study: Study, evidence: Evidence) -> Check:
    """Whether the rows of a file have the labels and groups of the data, and what the model says.

    Of a curve, which has no rows of inputs: whether its classes are those of the data.
    """
    details = evidence.record.details
    if isinstance(details, Curves):
        named = [(n, len(s.rows)) for n, s in subjects_of(study).items() if n != WHOLE]
        if named != [(row.name, row.inputs) for row in details.classes]:
            return Status.REFUTED.of("No: the classes of the file are not those of the data.")
        of = f"the {len(named):,} classes and all inputs" if named else "all inputs"
        return Status.FOLLOWS.of(f"The curves are those of {of} of these data.")
    rows = evidence.record.inputs
    places = {name: i for i, name in enumerate(study.fitted.ids)}
    strange = [row.id for row in rows if not _is_of_data(study, row, places.get(row.id))]
    if strange:
        return Status.REFUTED.of(
            f"No: {len(strange):,} of {len(rows):,} inputs of the file have another label or group "
            f"in the data, or are not in them; the first is {strange[0]}.",
        )
    other = [row.id for row in rows if not _is_of_model(study, row, places[row.id])]
    if other:
        return Status.REFUTED.of(
            f"No: of {len(other):,} of {len(rows):,} clean inputs the model says something else "
            f"than the file, the first is {other[0]}.",
            why_else(evidence),
        )
    if _is_other_loss(study, evidence):
        words = "No: the clean loss of the model is another than in the file."
        return Status.REFUTED.of(words, why_else(evidence))
    return Status.FOLLOWS.of(
        f"Of all {len(rows):,} clean inputs the model says what the file says that it does.",
    )


def _is_other_loss(study: Study, evidence: Evidence) -> bool:
    """Whether the file states a clean loss that rounding does not explain."""
    details = evidence.record.details
    stated = details.clean_loss if isinstance(details, Samples) else None
    if stated is None:
        return False
    here = clean_loss(study)
    if here is None or (here.inputs, here.infinite) != (stated.inputs, stated.infinite):
        return True
    if here.mean is None or stated.mean is None:
        return here.mean is not stated.mean
    return not math.isclose(here.mean, stated.mean, rel_tol=ROUNDING, abs_tol=ROUNDING)


def _is_of_data(study: Study, row: InputRow, place: int | None) -> bool:
    if place is None:
        return False
    labels, groups = study.fitted.labels, study.fitted.groups
    label = None if labels is None else int(labels[place])
    return (row.label, row.group) == (label, groups[place] if groups else "")


def _is_of_model(study: Study, row: InputRow, place: int) -> bool:
    labelled = study.has_classes and row.predicted is not None
    if labelled and row.predicted != int(study.predicted[place]):
        return False
    return row.clean_kept is None or row.clean_kept == bool(study.clean_kept[place])


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
    inputs += [of_part(run.name, one) for run in rebuilt.runs for one in compare_findings(run)]
    # With other labels or answers every trial may come out otherwise: that would tell nothing new.
    others = [] if any_is(Status.REFUTED, inputs) else _run_again(rebuilt.runs, request)
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
        () if any_is(Status.REFUTED, checks) else tuple(dict.fromkeys(forger)),
        ", and ".join(other.sample for other in others if other.sample),
    )
    whole = len(rebuilt.runs) == len(evidence.members)
    return replace(check, again=again, not_covered=not_covered(evidence, with_model=whole))


_MEASURED = re.compile(
    r"\b(from|to|over|within|about|factor of) -?\d([\d.,]*\d)?(e[-+]?\d+)?"
    r"|-?\d+\.\d+(e[-+]?\d+)?|-?\de[-+]?\d+"
)
"""Numbers of a finding that another processor may round otherwise; counts are whole numbers."""
_OF_DATA = (COPIES, BOUNDS, CLEAN)
"""Checks whose words are counts and values of the data: no processor rounds them."""
_OF_MACHINE = (HOW_RUN, "real arithmetic")
"""Checks that say how a model is run, and where it rounds most: elsewhere that is another place."""


def compare_findings(run: RebuiltRun) -> list[Check]:
    """Whether the checks before the run end here as the file says that they did.

    What is left out, and what is counted, is refuted; what a machine can decide otherwise is open.
    """
    record = run.evidence.record
    try:
        found = preflight(run.study)
    except InvalidArgument as error:  # a model that no run would begin with
        return [Status.OPEN.of("The checks before the run do not pass here.", str(error))]
    blocks = next((one.blocks for one in found if one.blocks is not None), None)
    if blocks is not None and record.blocks is None:
        return [Status.REFUTED.of("No: nothing may pass.", reason_words(blocks))]
    same = record.environment.get("surefoot") == environment().get("surefoot")
    refuted = Status.REFUTED if same else Status.OPEN
    stated = [*record.findings]
    pairs, missing = list[tuple[Finding, Finding]](), list[Finding]()
    for one in found:  # several parts of a perturbation have checks of one name, in their order
        there = next((other for other in stated if other.name == one.name), None)
        if there is not None:
            stated.remove(there)
            pairs.append((one, there))
        elif one.name != HOW_RUN or one.is_warning:  # another device may have nothing to say
            missing.append(one)
    if missing:
        words = f"lacks {len(missing)} checks before the run; the first is {missing[0].name}"
        return [refuted.of(f"The file {words}: {missing[0].finding}.")]
    # First those of the data: an open answer would hide one that is refuted.
    for one, there in sorted(pairs, key=lambda pair: pair[0].name not in _OF_DATA):
        if (one.status, _compared(one)) != (there.status, _compared(there)):
            words = (
                f"A check before the run, {one.name}, says here: {one.finding} ({one.status}); "
                f"the file: {there.finding} ({there.status})."
            )
            if one.name in _OF_DATA:
                counted = _counts(one) != _counts(there)
                return [(Status.REFUTED if counted else refuted).of(words)]
            return [Status.OPEN.of(words, why_else(run.evidence))]
    return [
        Status.FOLLOWS.of(
            "The checks before the run end here as the file says; measured numbers, which another "
            "machine may round otherwise, were not compared."
        )
    ]


def _counts(finding: Finding) -> tuple[int, int] | None:
    return None if finding.clean is None else (finding.clean.right, finding.clean.inputs)


def _compared(finding: Finding) -> tuple[object, ...]:
    """The words of a finding as far as they are the same on every machine."""
    doubt = finding.doubt if finding.clean is None else finding.clean.doubt
    why = "" if doubt is None else str(doubt.why)
    if finding.name in _OF_MACHINE:
        return (why,)
    exact, _, rest = finding.finding.partition("; " if doubt else "\n")
    if finding.name not in _OF_DATA:
        exact = _MEASURED.sub("", exact)
    return _counts(finding), why, exact, _MEASURED.sub("", rest)


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
