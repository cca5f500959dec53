"""What a store keeps beside single runs: comparisons of them, and what was required."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace

from surefoot.errors import StoreDamaged, StoreFailed
from surefoot.records.record import (
    MARGINS,
    Comparison,
    EarlierModel,
    Finding,
    Record,
    Source,
    model_under,
)
from surefoot.records.spec import ComparisonSpec, ModelSpec, StudySpec
from surefoot.store import Store, open_existing, reading
from surefoot.store.locations import is_sealed, public_location
from surefoot.store.runs import RunCheck, RunSummary

_ASKED = ("required", "verdicts", "source", "findings")
"""What the last command changes in the record of a run."""


def keep_outcome(
    record: Record, parts: Mapping[str, Record], where: str | None, command: str = ""
) -> None:
    """Keep a comparison as a run of its own, and the verdicts of either in its record.

    The evidence of a comparison is that of its parts, which are in the store already. The last
    requirement counts, and the command that made it is kept with it: a command without one leaves
    it, as the earlier model of a gate, as long as the claims are the same. Nothing is written where
    the store holds the same, or can only be read.
    """
    studies = parts.values() or (record,)
    if where is None or not all(isinstance(one.spec, StudySpec) for one in studies):
        return
    if is_sealed(where) or not (parts or record.required):  # a run is there as it ended
        return
    with closing(open_existing(where)) as store:
        known = store.stored(record.digest)
        if not parts:
            if known is not None and record.required != known.required:
                asked = {name: getattr(record, name) for name in _ASKED}
                store.finish(replace(known, **asked))
            return
        source = _source(record, parts, command)
        whole = replace(record, source=source)
        if known is None:
            store.begin(record.digest, record.study, source, record.environment)
        else:
            same = whole
            if whole.required is None and known.required is not None:
                same = replace(whole, **{name: getattr(known, name) for name in _ASKED})
            if same == replace(known, started=whole.started, seconds=whole.seconds):
                return
        store.finish(whole)


_Comparison = tuple[Record, Record | None, EarlierModel]
"""A model that must not be worse, the other one where its run is known, and by which margin."""


def with_chain(
    record: Record,
    parts: Mapping[str, Record],
    where: str | None,
    before: EarlierModel | None = None,
) -> Record:
    """The record, with a note where the other model was itself allowed to be worse than another.

    Release over release such margins add up, which no single verdict says. `before`: how the file
    of the earlier model says that it was compared.
    """
    required = record.required
    if where is None or required is None or not (required.earlier or required.not_worse):
        return record
    with reading(where) as store:
        runs = store.finished()
    known = {run.digest: run for run in (*runs, *parts.values())}
    every = [one for run in reversed(runs) for one in _comparisons(run, known)]
    for mine, compared, first in _comparisons(record, known):
        own = compared if before is None else known.get(before.run)
        chain = [
            first,
            *([] if before is None else [before]),
            *_onwards(own, every, [mine.study.model]),
        ]
        if len(chain) > 1:
            text = (
                f"{first.names[1]} was itself allowed to be worse than {chain[1].names[1]}: "
                f"{len(chain)} margins add up to {sum(one.margin for one in chain):g}; compare "
                f"every release with one fixed baseline, such as {chain[-1].names[1]}"
            )
            return replace(record, findings=(*record.findings, Finding(MARGINS, "warning", text)))
    return record


def _onwards(
    run: Record | None, every: Sequence[_Comparison], models: list[ModelSpec]
) -> Iterator[EarlierModel]:
    """How the model of a run was itself compared, and so on; never back to one of `models`."""
    while run is not None:
        models.append(run.study.model)
        for mine, other, of in every:
            back = other is not None and other.study.model in models
            if not back and _question(mine) == _question(run):
                yield of
                run = other
                break
        else:
            return


def _comparisons(run: Record, known: Mapping[str, Record]) -> Iterator[_Comparison]:
    required, details = run.required, run.details
    if required is not None and required.earlier is not None:
        yield run, known.get(required.earlier.run), required.earlier
    if required is None or required.not_worse is None or not isinstance(details, Comparison):
        return
    name, margin = required.not_worse
    members = {one.name: known[one.digest] for one in details.members if one.digest in known}
    for first, mine in members.items():
        if name not in (first, model_under(first)[0]):
            continue
        for second, other in members.items():
            if _question(mine)[1:] == _question(other)[1:] and first != second:
                yield mine, other, EarlierModel(other.digest, (first, second), margin, 0.0)


def _question(run: Record) -> tuple[object, ...]:
    spec = run.study
    return spec.model, spec.perturbation, spec.property


def stored_parts(record: Record, store: Store) -> dict[str, Record]:
    """The records that a stored comparison is made of, in their order, each without verdicts."""
    details, spec = record.details, record.spec
    if not isinstance(details, Comparison) or not isinstance(spec, ComparisonSpec):
        return {}
    digests = {member.name: member.digest for member in details.members}
    parts = {}
    for name in spec.names:
        part = store.stored(digests[name])
        if part is None:
            raise StoreFailed(
                f"run {digests[name][:12]}, a part of the comparison {record.digest[:12]}, is not "
                "in the store: run the same command again"
            )
        parts[name] = part.unrequired
    return parts


def _source(record: Record, parts: Mapping[str, Record], command: str) -> Source | None:
    """That of the first part, under the names of all models."""
    first = next(iter(parts.values())).source
    if first is None or any(part.source is None for part in parts.values()):
        return None
    models = {part.source.model for part in parts.values() if part.source is not None}
    model = ", ".join(parts) if len(models) > 1 else first.model
    return replace(first, model=model, command=command or first.command)


def runs(store: str) -> list[RunSummary]:
    """All runs of a store, the oldest first, finished or not.

    `store`: a file, or a postgresql:// address. Example: sf.runs("surefoot.db")[-1].digest
    """
    with reading(store) as opened:
        return opened.runs()


def check_store(store: str) -> list[RunCheck]:
    """Read every run of a store, with its journal and record: what is sound, and what is wrong.

    As `surefoot show --check`; nothing is changed. `repair_run` keeps what is sound of a run. Where
    the file as a whole is damaged, that is the one answer: `rescue_runs` saves what can be read.
    """
    from surefoot.store.rescue import file_problem

    problem = file_problem(store)
    if problem:
        return [RunCheck("", 0, 0, problem, readable=False, whole_file=True)]
    with reading(store) as opened:
        return opened.check()


def repair_run(store: str, run: str) -> RunCheck:
    """Keep of a damaged run the rows before the first damaged one; what was wrong with it.

    Its record is removed: the same study then goes on from these rows, to the same result. A run
    that cannot be read at all is removed. A sound run stays as it is. Where the file as a whole is
    damaged, nothing is changed in it: `rescue_runs` saves what can be read.
    """
    from surefoot.store.rescue import file_problem

    problem = file_problem(store)
    if problem:
        raise StoreDamaged(public_location(store), problem)
    with closing(open_existing(store)) as opened:
        return opened.repair(run)
