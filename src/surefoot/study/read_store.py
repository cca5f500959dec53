"""What finished runs of a store hold: their results, and the studies to run trials of again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from surefoot.catalogue.methods import METHODS
from surefoot.catalogue.parse import parse_perturbation
from surefoot.catalogue.registry import parse_property, perturbation_of
from surefoot.errors import EvidenceFailed, InvalidArgument, StoreFailed
from surefoot.evidence.answers import Status
from surefoot.evidence.check import read_and_check
from surefoot.evidence.check_words import with_marks
from surefoot.models.endpoint_connection import named_servers
from surefoot.records.options import FileOptions
from surefoot.records.record import Record, Source, named_code
from surefoot.records.spec import ComparisonSpec
from surefoot.store import reading
from surefoot.store.locations import public_location
from surefoot.store.outcomes import stored_parts
from surefoot.study.load_files import load_files
from surefoot.study.result import Result
from surefoot.study.study import WITH_TRIALS, Study

LATEST = "latest"


def read_result(store: str, run: str = LATEST) -> Result:
    """The result of a finished run, as it was when the run ended.

    `run` is the beginning of the run's digest; "latest" is the run that finished last.
    """
    with reading(store) as opened:
        record = opened.record("" if run == LATEST else run)
        return result_of(record, store, stored_parts(record, opened))


def result_of(record: Record, store: str, parts: Mapping[str, Record] | None = None) -> Result:
    """The result that a record of this store holds; `parts`: the runs that it compares."""
    where = public_location(store)
    command = "" if record.source is None else record.source.command
    again = command or f"surefoot show {record.digest[:12]} --store {where}"
    results = {
        name: Result(part, from_store=True, store=where) for name, part in (parts or {}).items()
    }
    return Result(record, results, record.verdicts, from_store=True, command=again, store=where)


def read_study(store: str, run: str = LATEST, *, trust: bool = False) -> Study:
    """The study of a finished run, from the same files: `replay` its trials.

    Only for runs on files that sample at one level; refused if the files have changed.
    `trust`: allow running code that the store names, Python functions and pickles, and sending
    inputs to a server that it names.
    """
    with reading(store) as opened:
        record = opened.record("" if run == LATEST else run)
    return study_of(record, trust=trust)


def study_of(record: Record, *, trust: bool = False) -> Study:
    """The study of a record, from the files that it names, as `read_study` reads them."""
    if isinstance(record.spec, ComparisonSpec):
        raise InvalidArgument(
            f"run {record.digest[:12]} compares several runs: name one of them, which surefoot "
            "show --list lists"
        )
    if record.source is None:
        raise InvalidArgument(
            "this run was made in Python, from a model in memory: use study.replay(…) there"
        )
    spec, source = record.study, record.source
    if METHODS[spec.method.kind].needs not in WITH_TRIALS:
        raise InvalidArgument(
            f"run {record.digest[:12]} is a curve or a proof: it has no single trials to replay; "
            "replay a run of estimate or certify"
        )
    models = source.models or (source.model,)
    _refuse_code(record, trust)
    prop = parse_property(source.property)
    options = replace(FileOptions(**source.reading), trust=trust)
    loaded, inputs = load_files(options, models, source.data, spec.seed, prop.needs)
    fields = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in spec.method.options.items()
    }
    study = Study(
        loaded[models.index(source.model)],
        inputs,
        parse_perturbation(source.perturb, inputs.frame)
        if source.perturb
        else perturbation_of(spec.perturbation.kind, spec.perturbation.options),
        METHODS[spec.method.kind](**fields),
        property=prop,
        seed=spec.seed,
    )
    if study.digest != record.digest:
        raise StoreFailed(
            f"{source.model} or {source.data} is not what run {record.digest[:12]} was made with: "
            "the digests differ; restore the files of that run, or run the study again"
        )
    return study


def _refuse_code(record: Record, trust: bool) -> None:
    """Never run code, or send a token, because a store names it: only with `trust`."""
    if trust or record.source is None:
        return
    source = record.source
    servers = named_servers(source.models or (source.model,))
    if servers:
        raise InvalidArgument(
            f"run {record.digest[:12]} names a server that inputs and a token would be sent to "
            f"({', '.join(servers)}): pass --trust (trust=True) if you trust the store and this "
            "server"
        )
    if named := named_code(source):
        raise InvalidArgument(
            f"run {record.digest[:12]} names code to run ({', '.join(named)}): pass "
            "--trust (trust=True) if you trust the store and this code"
        )


_ENDING = ".json"
"""How the name of an evidence file ends; that of a run has no dot."""


def read_run(run: str, store: str) -> Result:
    """The result of a finished run: the beginning of its name, "latest", or an evidence file.

    An evidence file is checked first, as `surefoot verify` does: one of which a claim does not
    follow, or was not recomputed, is refused. Who signed it is not checked.
    """
    return read_evidence(run) if run.endswith(_ENDING) else read_result(store, run)


def read_evidence(path: str | Path) -> Result:
    """The result in an evidence file; refused where a claim is not shown to follow from it."""
    check, evidence = read_and_check(path)
    if check.exit_code or evidence is None:
        first = next(c for c in check.checks[1:] if c.status is not Status.FOLLOWS)
        raise EvidenceFailed(
            f"{path}: not all that it says is shown to follow from it ({first}): see surefoot "
            f"verify {path}, or export the run where its store is"
        )
    source = Source(evidence.model, evidence.data, command=evidence.command)
    parts = {
        name: Result(replace(with_marks(one), source=Source(one.model, one.data)), from_store=True)
        for name, one in evidence.parts.items()
    }
    record = replace(with_marks(evidence), source=source)
    return Result(record, parts, record.verdicts, from_store=True, command=source.command)
