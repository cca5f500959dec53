"""What a store holds: its runs, their results, and the studies to run trials of again."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

from surefoot.errors import InvalidArgument, StoreFailed
from surefoot.methods import METHODS
from surefoot.models.endpoint_address import named_servers
from surefoot.procedure import Needs
from surefoot.store import RunCheck, RunSummary, open_existing, public_location
from surefoot.store.named_code import named_code
from surefoot.store.records import Record
from surefoot.study.load_files import recorded_options
from surefoot.study.parse_perturbation import parse_perturbation
from surefoot.study.registry import parse_property
from surefoot.study.result import Result
from surefoot.study.study import Study

LATEST = "latest"


def runs(store: str) -> list[RunSummary]:
    """All runs of a store, the oldest first, finished or not."""
    with closing(open_existing(store)) as opened:
        return opened.runs()


def check_store(store: str) -> list[RunCheck]:
    """Read every run of a store, with its journal and record: what is sound, and what is wrong."""
    with closing(open_existing(store)) as opened:
        return opened.check()


def repair_run(store: str, run: str) -> RunCheck:
    """Keep of a damaged run the rows before the first damaged one; what was wrong with it.

    Its record is removed: the same study then goes on from these rows, to the same result. A run
    that cannot be read at all is removed. A sound run stays as it is.
    """
    with closing(open_existing(store)) as opened:
        return opened.repair(run)


def read_result(store: str, run: str = LATEST) -> Result:
    """The result of a finished run, as it was when the run ended.

    `run` is the beginning of the run's digest; "latest" is the run that finished last.
    """
    record = _read_record(store, run)
    command = "" if record.source is None else record.source.command
    where = public_location(store)
    again = command or f"surefoot show {record.digest[:12]} --store {where}"
    return Result(record, from_store=True, command=again, store=where)


def read_study(store: str, run: str = LATEST, *, trust: bool = False) -> Study:
    """The study of a finished run, from the same files: `replay` its trials.

    Only for runs on files that sample at one level; refused if the files have changed.
    `trust`: allow running code that the store names, Python functions and pickles, and sending
    inputs to a server that it names.
    """
    record = _read_record(store, run)
    if record.source is None:
        raise InvalidArgument(
            "this run was made in Python, from a model in memory: use study.replay(…) there"
        )
    spec, source = record.study, record.source
    if METHODS[spec.method.kind].needs not in (Needs.SAMPLES, Needs.MEAN):
        raise InvalidArgument(
            f"run {record.digest[:12]} is a curve or a proof: it has no single trials to replay"
        )
    models = source.models or (source.model,)
    _refuse_code(record, trust)
    prop = parse_property(source.property)
    options = replace(recorded_options(source), trust=trust)
    loaded, inputs = options.load(models, source.data, spec.seed, prop.needs)
    fields = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in spec.method.options.items()
    }
    study = Study(
        loaded[models.index(source.model)],
        inputs,
        parse_perturbation(source.perturb, inputs.frame),
        METHODS[spec.method.kind](**fields),
        property=prop,
        seed=spec.seed,
    )
    if study.digest != record.digest:
        raise StoreFailed(
            f"{source.model} or {source.data} is not what run {record.digest[:12]} was made with: "
            "the digests differ"
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
    named = named_code(source)
    if not named:
        return
    raise InvalidArgument(
        f"run {record.digest[:12]} names code to run ({', '.join(named)}): pass "
        "--trust (trust=True) if you trust the store and this code"
    )


def _read_record(store: str, run: str) -> Record:
    with closing(open_existing(store)) as opened:
        return opened.record("" if run == LATEST else run)
