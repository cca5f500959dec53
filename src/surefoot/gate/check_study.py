"""The studies of a file checked and run, one after the other, and their requirements decided."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.commands.caller import Caller, Watch, ignore
from surefoot.commands.functions import python_function
from surefoot.commands.run import DEFAULT_FILE, GateOptions, texts
from surefoot.commands.values import (
    OUTPUTS,
    WRITTEN,
    Given,
    check_distinct,
    check_text_file,
    error_from,
)
from surefoot.conclude.not_worse import (
    check_curve_errors,
    different_names,
    not_worse_than,
    share_claims,
)
from surefoot.core.claims import Claim, Verdict
from surefoot.core.results import exceeds
from surefoot.engine.devices import prepare_gpu
from surefoot.errors import EvidenceFailed, InvalidArgument, ReportFailed, SurefootError
from surefoot.evidence.answers import Status
from surefoot.evidence.check import check_statement
from surefoot.evidence.envelope import read_envelope
from surefoot.evidence.packed import failures_name
from surefoot.evidence.statement import Evidence, read_statement
from surefoot.gate import gate as g
from surefoot.gate.read_gate import (
    COMMANDS,
    EVIDENCE,
    OF_CLEAN,
    comparison_error,
    confidence_for,
    is_requirement,
    read_gate,
    shell_command,
)
from surefoot.records.options import refused, refused_value
from surefoot.records.record import Curves, EarlierModel, Record, Requirements
from surefoot.report.clauses import by_scope
from surefoot.report.page import write_page
from surefoot.report.sentences import measured_words
from surefoot.store.locations import without_passwords
from surefoot.store.outcomes import keep_outcome, with_chain
from surefoot.system.user_code import raised_words
from surefoot.system.whole_file import real_path, write_whole

if TYPE_CHECKING:
    from surefoot.study import Result


@dataclass(frozen=True)
class EarlierRun:
    """The run of an earlier model: how a sentence names it, and its record.

    `evidence` is what its file holds; None where the run is in the store. `recorded`: no trial of
    it was run now. `compared`: with which model its file says that it was compared.
    """

    name: str
    record: Record
    evidence: Evidence | None = None
    recorded: bool = True
    compared: EarlierModel | None = None


def earlier_run(path: str) -> EarlierRun:
    """The run of an evidence file, whose results must follow from its journal."""
    with failures_name(path):
        evidence = read_statement(read_envelope(path).payload)
    check = check_statement(evidence)
    wrong = [one for one in check.checks if one.status is Status.REFUTED]
    if wrong:
        raise EvidenceFailed(
            f"{path}: its results do not follow from its journal ({wrong[0]}): use the file that "
            "the run wrote"
        )
    unknown = [one for one in check.results if one.status is not Status.FOLLOWS]
    if unknown:
        raise EvidenceFailed(
            f"{path}: its results were not recomputed ({unknown[0]}): measure the earlier model "
            "again (previous-model)"
        )
    record = evidence.record.unrequired
    part = replace(evidence, record=record, earlier=None)
    required = evidence.record.required
    compared = None if required is None else required.earlier
    name = f"{evidence.model} of {Path(path).name}"
    return EarlierRun(name, record, part, compared=compared)


QUIET = Caller(on_workers=ignore)
"""Shows and says nothing."""


class _Ready(Exception):
    """Everything was read and checked; the next thing would be the first trial."""


class BudgetExceeded(SurefootError):
    """A verdict would spend more of the error than its study has."""


def prepare_study(study: g.GateStudy) -> None:
    """Load model and data as the study does and check its options; no trial is run.

    Raises what running it would raise for a file or an option that cannot be used.
    """

    @contextmanager
    def stop_here(_unit: str) -> Iterator[Watch]:
        raise _Ready
        yield

    caller = Caller(display=stop_here, on_workers=ignore)
    regression = study.regression
    values = [_values(study)]
    if regression is not None and regression.model is not None:
        values.append(_of_earlier_model(study, regression.model))
    if regression is not None and regression.evidence is not None:
        earlier = earlier_run(regression.evidence)
        if study.compares_curves and isinstance(earlier.record.details, Curves):
            own = error_from(values[0]["confidence"]) if _takes_confidence(study) else 0.0
            check_curve_errors(own, earlier.record, earlier.name, comparison_error(study))
    for one in values:
        prepare_gpu(one.get("device"))
        try:
            COMMANDS[study.command].call(one, caller)
        except _Ready:
            continue


def check_study(gate: g.Gate, study: g.GateStudy, caller: Caller = QUIET) -> g.StudyOutcome:
    """Run the study, or take what its store has, and decide its requirements.

    An error is an outcome, so that the other studies of the file are run. With `prepare_study`
    before, hardly anything but the model itself can fail here.
    """
    began = time.monotonic()
    # for who has no study file: the command that measures the same
    command = shell_command(COMMANDS[study.command], _values(study))
    caller = replace(caller, command=command, study=study.name)
    try:
        result, earlier = _run(gate, study, caller)
    except SurefootError as error:
        return _failed(study, str(error), began)
    except SystemExit as error:
        words = f"code that surefoot ran called sys.exit({error.code!r}): remove that"
        return _failed(study, words, began)
    except Exception as error:  # noqa: BLE001  the other studies are still to be run
        words = f"a fault in surefoot, please report it: {raised_words(error)}"
        return _failed(study, words, began)
    claims = (*result.claims, *_claims_by_name(result.record, earlier))
    verdicts, of_classes = (
        tuple(g.GateVerdict(claim, measured_words(claim, claims)) for claim in some)
        for some in by_scope(result.verdicts)
    )
    return g.StudyOutcome(
        study.name,
        g.worst([verdict.outcome for verdict in verdicts]),
        verdicts,
        of_classes,
        result,
        recorded=all(part.from_store for part in result.parts.values() or [result])
        and (earlier is None or earlier.recorded),
        seconds=time.monotonic() - began,
        earlier=None if earlier is None else earlier.evidence,
    )


def _failed(study: g.GateStudy, message: str, began: float) -> g.StudyOutcome:
    words = without_passwords(message, str(study.options["store"]))
    seconds = time.monotonic() - began
    return g.StudyOutcome(study.name, g.Outcome.ERROR, message=words, seconds=seconds)


def _run(gate: g.Gate, study: g.GateStudy, caller: Caller) -> tuple[Result, EarlierRun | None]:
    """The result with all verdicts, and the run of an earlier model; the page is written then.

    The earlier model goes first, so that the latest run of the store is the one of this study.
    """
    values = _values(study)
    prepare_gpu(values.get("device"))
    page = values.pop("report", None)
    earlier = None if study.regression is None else _earlier(study, study.regression, caller)
    result = COMMANDS[study.command].call(values, caller)
    if earlier is not None and study.regression is not None:
        result = _compared(study, study.regression, result, earlier)
    _check_spending(study, result)
    if earlier is not None:
        record = with_chain(result.record, {}, study.store, earlier.compared)
        result = replace(result, record=record)
        keep_outcome(record, {}, study.store)
    if page is not None:
        facts = (*result.view.facts, gate.budget)
        write_page(replace(result.view, facts=facts), Path(page))
    return result, earlier


def _earlier(study: g.GateStudy, regression: g.Regression, caller: Caller) -> EarlierRun:
    """The run of the earlier model: of its evidence file, or measured, or in the store."""
    if regression.evidence is not None:
        return earlier_run(regression.evidence)
    caller.announce(f"{study.name}: the earlier model {regression.model}")
    values, command = _of_earlier_model(study, regression.model), COMMANDS[study.command]
    caller = replace(caller, command=shell_command(command, values))
    old = command.call(values, caller)
    return EarlierRun(str(regression.model), old.record, recorded=old.from_store)


def _compared(
    study: g.GateStudy, regression: g.Regression, result: Result, earlier: EarlierRun
) -> Result:
    """The result with the verdicts on the comparison, and its record that these were required."""
    required = EarlierModel(
        earlier.record.digest,
        different_names(str(study.options["model"]), earlier.name),
        regression.margin,
        comparison_error(study),
    )
    accepted = bool(study.options.get("accept_clean_accuracy"))
    claims = not_worse_than(result.record, earlier.record, required, accepted=accepted)
    verdicts = (*result.verdicts, *claims)
    demanded = result.record.required or Requirements(accept_clean_accuracy=accepted)
    every = replace(demanded, earlier=required)
    record = replace(result.record, required=every, verdicts=verdicts)
    return replace(result, record=record, verdicts=verdicts)


def _claims_by_name(record: Record, earlier: EarlierRun | None) -> tuple[Claim, ...]:
    """What is claimed of this model and of an earlier one by name, where they are compared."""
    if earlier is None or record.required is None or record.required.earlier is None:
        return ()
    named = zip(record.required.earlier.names, (record, earlier.record), strict=True)
    return tuple(
        one.saying(names=(name,))
        for name, part in named
        for one in (share_claims(part) if isinstance(part.details, Curves) else part.claims)
    )


def _values(study: g.GateStudy) -> dict[str, Given]:
    """Every option of the command; its confidence is what its part of the error leaves."""
    confidence = confidence_for(study)
    values = dict(study.options)
    if confidence is not None and _takes_confidence(study):
        values["confidence"] = confidence
    return values


def _takes_confidence(study: g.GateStudy) -> bool:
    """Whether the method has an error: a curve by another method than ours has none."""
    return study.command != "curve" or study.options.get("method", "sequential") == "sequential"


def _of_earlier_model(study: g.GateStudy, model: str | None) -> dict[str, Given]:
    """The same of the earlier model: nothing is required of it, and no file is written."""
    left_out = ("report", "figure", "counterexamples", "vnnlib", *OF_CLEAN)
    values = {n: v for n, v in _values(study).items() if not (n in left_out or is_requirement(n))}
    return {**values, "model": model}


def _check_spending(study: g.GateStudy, result: Result) -> None:
    """Refuse verdicts at a larger error than the study has: the sum would exceed the file's."""
    most = max(study.error, study.share if study.regression is not None else 0.0)
    decided = (c for c in result.verdicts if c.verdict is not Verdict.UNDECIDED)
    for claim in decided:
        if exceeds(claim.guarantee.error, most):
            raise BudgetExceeded(
                f"a verdict of study {study.name} holds with an error of {claim.guarantee.error:g},"
                f" and its part of the file's error is {most:g}: use a method that takes a "
                "confidence"
            )


@python_function
def run_studies(
    path: str | Path = DEFAULT_FILE, *, choice: GateOptions, caller: Caller
) -> g.GateOutcome:
    """Run every study of a file and decide its requirements, which share one error.

    The options are those of `surefoot run`. All studies are checked before the first trial is run.
    A study that fails with an error does not keep the others from running.

    Example: print(sf.run_studies("study.toml"))
    """
    gate, chosen = open_gate(path, choice)
    outcomes = tuple(each_outcome(gate, chosen, choice, caller))
    write_cases(outcomes, choice)
    return g.GateOutcome(gate, outcomes)


def open_gate(path: str | Path, choice: GateOptions) -> tuple[g.Gate, tuple[g.GateStudy, ...]]:
    """The file and the studies to run, all of them loaded once to see that they can be run."""
    choice.check()
    gate = read_gate(path, choice)
    chosen = _chosen(gate, texts(choice.only))
    _check_outputs(gate, chosen, choice)
    problems = []
    for study in chosen:
        try:
            prepare_study(study)
        except SurefootError as error:
            problems.append(f"study {study.name}: {error}")
    if problems:
        raise InvalidArgument(f"{gate.path} was not run: {'; '.join(problems)}")
    return gate, chosen


def each_outcome(
    gate: g.Gate, chosen: Sequence[g.GateStudy], choice: GateOptions, caller: Caller
) -> Iterator[g.StudyOutcome]:
    """The outcome of one study after the other, its evidence written."""
    for place, study in enumerate(chosen, 1):
        caller.announce(f"study {study.name} ({place} of {len(chosen)})")
        outcome = check_study(gate, study, caller)
        if choice.evidence is not None and outcome.result is not None:
            try:
                file = _write_evidence(outcome, outcome.result, study.store, choice)
                outcome = replace(outcome, evidence=file)
            except SurefootError as error:
                outcome = replace(outcome, outcome=g.Outcome.ERROR, message=str(error))
        yield outcome


def _write_evidence(
    outcome: g.StudyOutcome, result: Result, place: str, choice: GateOptions
) -> Path:
    """Write the evidence of a study: all its runs and verdicts, in one file."""
    from surefoot.evidence.write import evidence_in_store, write_statement
    from surefoot.store import reading

    folder = Path(choice.evidence or "")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise ReportFailed(
            f"{folder} cannot be created ({error.strerror or error}): choose another folder"
        ) from error
    records = {name: part.record for name, part in result.parts.items()}
    with reading(place) as store:
        known = store.stored(result.record.digest)
        source = None if known is None else known.source
        if source is not None:  # known may have another requirement, in its command too
            source = replace(source, command=result.command)
        record = replace(result.record, source=source or result.record.source)
        evidence = evidence_in_store(record, store, records, outcome.earlier)
    return write_statement(evidence, folder / f"{outcome.name}{EVIDENCE}", choice.key)


def _check_outputs(gate: g.Gate, chosen: Sequence[g.GateStudy], choice: GateOptions) -> None:
    """Refuse to write over what a study reads or writes."""
    values = [pair for study in gate.studies for pair in study.options.items()]
    models = [s.regression.model for s in gate.studies if s.regression is not None]
    read = [gate.path, *models, *(value for name, value in values if name not in OUTPUTS)]
    stores = [study.store for study in gate.studies]
    outputs = [("junit", choice.junit), *(pair for pair in values if pair[0] in OUTPUTS)]
    for place, (name, path) in enumerate(outputs):
        others = [path for _, path in (*outputs[:place], *outputs[place + 1 :])]
        check_distinct({name: path, WRITTEN: [*stores, *others], "read": read})
    if choice.evidence is None:
        return
    folder = real_path(choice.evidence)
    junit = None if choice.junit is None else real_path(choice.junit)
    if junit is not None and junit.parent == folder and junit.name.lower().endswith(EVIDENCE):
        raise refused_value(
            "junit", choice.junit, "is named like evidence, and in its folder: name it junit.xml"
        )
    if folder.is_dir():
        for study in chosen:
            check_text_file(folder / f"{study.name}{EVIDENCE}")


def write_cases(outcomes: Sequence[g.StudyOutcome], choice: GateOptions) -> None:
    """Write the requirements as test cases, where that is asked for."""
    from surefoot.report.junit import junit_xml

    if choice.junit is not None:
        text = junit_xml(g.junit_cases(outcomes), choice.undecided_as)
        write_whole(Path(choice.junit), text)


def _chosen(gate: g.Gate, only: Sequence[str]) -> tuple[g.GateStudy, ...]:
    """The studies to run; the shares stay those of the whole file."""
    names = [study.name for study in gate.studies]
    for name in only:
        if name not in names:
            near = get_close_matches(name, names, n=3) or names
            raise refused(
                "only",
                name,
                f"{name}: {gate.path} has no study of that name; do you mean {' or '.join(near)}?",
            )
    return tuple(study for study in gate.studies if study.name in (only or names))
