"""`run_studies`: every study of a file, checked together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.commands.functions import python_function
from surefoot.commands.run import DEFAULT_FILE, GateOptions, texts
from surefoot.commands.values import OUTPUTS, WRITTEN, check_distinct, check_text_file
from surefoot.errors import InvalidArgument, ReportFailed, SurefootError
from surefoot.gate import gate as g
from surefoot.gate.check_study import check_study, prepare_study
from surefoot.gate.read_gate import read_gate
from surefoot.records.options import refused, refused_value
from surefoot.system.whole_file import real_path, write_whole

if TYPE_CHECKING:
    from surefoot.commands.caller import Caller
    from surefoot.study import Result

_EVIDENCE = ".evidence.json"
"""The end of the name of a file of evidence."""


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
                file = write_evidence_of(
                    study, outcome, outcome.result, choice.evidence, choice.key
                )
                outcome = replace(outcome, evidence=file)
            except SurefootError as error:
                outcome = replace(outcome, outcome=g.Outcome.ERROR, message=str(error))
        yield outcome


def write_evidence_of(
    study: g.GateStudy,
    outcome: g.StudyOutcome,
    result: Result,
    folder: str | Path,
    key: str | Path | None,
) -> Path:
    """Write the evidence of a study: all its runs and verdicts, in one file."""
    from surefoot.evidence.write import evidence_in_store, write_statement
    from surefoot.store import reading

    try:
        Path(folder).mkdir(exist_ok=True)
    except OSError as error:
        raise ReportFailed(
            f"{folder} cannot be created ({error.strerror or error}): choose another folder"
        ) from error
    records = {name: part.record for name, part in result.parts.items()}
    with reading(study.store) as store:
        known = store.stored(result.record.digest)
        source = None if known is None else known.source
        if source is not None:  # known may have another requirement, in its command too
            source = replace(source, command=result.command)
        record = replace(result.record, source=source or result.record.source)
        evidence = evidence_in_store(record, store, records, outcome.earlier)
    return write_statement(evidence, Path(folder) / f"{study.name}{_EVIDENCE}", key)


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
    if junit is not None and junit.parent == folder and junit.name.lower().endswith(_EVIDENCE):
        raise refused_value(
            "junit", choice.junit, "is named like evidence, and in its folder: name it junit.xml"
        )
    if folder.is_dir():
        for study in chosen:
            check_text_file(folder / f"{study.name}{_EVIDENCE}")


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
