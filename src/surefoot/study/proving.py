"""How critical levels are proved: the graph read and checked, brackets, quantiles, examples."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.engine.drive import Journal, Progress, measure
from surefoot.engine.proving import OtherProver, OwnProver, Prover, ProvingBench
from surefoot.errors import InvalidArgument
from surefoot.evidence import Proof
from surefoot.executors import cores, open_pool
from surefoot.population import CriticalQuantile, Settled
from surefoot.report.critical import Criticals
from surefoot.results import Bracket, Interval, Quantile, Undecided
from surefoot.search.critical import bracket_of
from surefoot.store.records import CriticalRecord, Finding, Shaken, Source
from surefoot.study.bracketed import classes_of, examples_of, quantiles_of, row_of
from surefoot.study.running import answered, environment
from surefoot.study.shaken import shaken
from surefoot.study.spec import Study
from surefoot.study.tracing import WHOLE, shuffled
from surefoot.subject import Signature, Subject

if TYPE_CHECKING:
    from surefoot.verify.network import Network

NOTHING = Proof(0.0, None, "", "not reached", 0, 0.0)
_Samples = Mapping[int, tuple[Shaken, ...]]


def prove(
    study: Study,
    graph: str | Path,
    *,
    store: str | None = None,
    workers: int | None = None,
    watch: Callable[[Progress], None] | None = None,
    early: Callable[[Criticals], None] | None = None,
) -> Criticals:
    """Brackets of the critical radius of every input, and quantiles of them.

    Where it is interrupted, `early` is given what was reached.
    """
    tell = early or (lambda _: None)
    record, _ = proved(
        study, graph, store, workers, watch or (lambda _: None), None,
        lambda reached: tell(Criticals({"": reached})),
    )  # fmt: skip
    return Criticals({"": record})


def proved(
    study: Study,
    graph: str | Path,
    where: str | None,
    workers: int | None,
    watch: Callable[[Progress], None],
    source: Source | None,
    early: Callable[[CriticalRecord], None] = lambda _: None,
) -> tuple[CriticalRecord, bool]:
    """The record, and whether the store had it. The graph is read and checked first.

    `early` is given the brackets reached when the run is stopped.
    """
    if not study.proves:
        raise InvalidArgument(
            f"{type(study.procedure).__name__} proves nothing: use sf.CriticalLevel()"
        )
    if study.by_class and getattr(study.procedure, "width", None) is not None:
        raise InvalidArgument(
            f"to ± {study.procedure.width:g} it takes as many inputs as the whole needs, which "
            "would spoil the error of a class: leave out --within or --by-class"
        )
    prover, apart = _prover(study, Path(graph))

    def measured(findings: tuple[Finding, ...], journal: Journal) -> CriticalRecord:
        return _measured(study, prover, apart, findings, journal, workers, watch, source, early)

    return answered(study, where, source, measured, CriticalRecord)


def _prover(study: Study, path: Path) -> tuple[Prover, float | None]:
    """Who proves: ours on the network read, and how far that is from the model; or another."""
    signature, normalise = study.model.signature, getattr(study.model, "normalise", None)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidArgument(f"{path} cannot be read ({error.strerror or error})") from error
    if path.suffix != ".onnx":
        raise InvalidArgument(f"{path}: proofs need an ONNX file")
    if hashlib.sha256(content).hexdigest() != signature.digest:
        raise InvalidArgument(
            f"{path} is not the file that the model was loaded from, or keeps its weights in "
            "another file: proofs need them inside"
        )
    if signature.bounds is None:
        raise InvalidArgument("proofs need the range of input values: say --bounds 0,1")
    command = getattr(study.procedure, "verifier", "")
    if not command:
        network, apart = _network(content, signature, normalise)
        return OwnProver(network), apart
    from surefoot.verify.external import External

    if not (normalise is None or normalise.idle):
        raise InvalidArgument(
            f"--verifier {command}: it reads the file, and these inputs are normalised before it; "
            "export a file that normalises by itself"
        )
    return OtherProver(External(command), path, signature.classes), None


def _network(
    content: bytes,
    signature: Signature,
    normalise: Any,  # noqa: ANN401  that of the model, if it has one
) -> tuple[Network, float]:
    """The file as layers, compared with onnxruntime; with the normalisation before it."""
    from surefoot.verify.graph import check_reader, read_network
    from surefoot.verify.network import Layer

    network = read_network(content, signature.shape)
    bounds = signature.bounds or Interval(0.0, 1.0)
    apart = check_reader(network, content, low=bounds.low, high=bounds.high)
    if normalise is None or normalise.idle:
        return network, apart
    shape = (1, *signature.shape)
    shift = np.asarray(normalise(np.zeros(shape)), dtype=np.float64).reshape(-1)
    scale = np.asarray(normalise(np.ones(shape)), dtype=np.float64).reshape(-1) - shift
    first = network.layers[0]
    before = Layer(first.weights * scale, first.bias + first.weights @ shift, first.slope)
    return replace(network, layers=(before, *network.layers[1:])), apart


def _measured(
    study: Study,
    prover: Prover,
    apart: float | None,
    findings: tuple[Finding, ...],
    journal: Journal,
    workers: int | None,
    watch: Callable[[Progress], None],
    source: Source | None,
    early: Callable[[CriticalRecord], None],
) -> CriticalRecord:
    asked, inputs = study.procedure, study.fitted
    bounds = study.model.signature.bounds
    if bounds is None:
        raise InvalidArgument("proofs need the range of input values: say --bounds 0,1")
    subjects, procedure = _subjects(study, bounds.width)
    keeper = _Keeper(journal, subjects)
    bench = ProvingBench(
        inputs, study.references, study.model, prover, bounds, asked.tolerance, asked.efforts,
        study.seed, keeper.proofs,
    )  # fmt: skip
    crew = workers or cores()

    def record(
        brackets: dict[int, Bracket], settled: Quantile | Undecided | None, samples: _Samples
    ) -> CriticalRecord:
        ordered = sorted(brackets)
        found = [brackets[i] for i in ordered]
        rows = tuple(
            row_of(study, i, keeper.proofs.get(i, NOTHING), brackets[i], samples.get(i, ()))
            for i in ordered
        )
        return CriticalRecord(
            digest=study.digest,
            spec=study.spec,
            rows=rows,
            quantiles=quantiles_of(asked, found, settled),
            classes=classes_of(study, ordered, found) if study.by_class else (),
            examples=examples_of(study, rows),
            findings=findings,
            trials=sum(row.nodes for row in rows),
            reader=apart,
            environment=environment(),
            source=source,
        )

    try:
        with open_pool(crew) as pool:
            found = measure(
                procedure, bench, subjects, pool=pool, journal=keeper, tray=1, in_flight=crew,
                watch=watch,
            )  # fmt: skip
    except BaseException as ended:
        if keeper.proofs and not isinstance(ended, Exception):  # stopped, not failed
            reached = {i: bracket_of(keeper.proofs.get(i, NOTHING)) for i in range(len(inputs))}
            early(record(reached, None, {}))
        raise
    settled = found[0].quantile if isinstance(found[0], Settled) else None
    brackets = (
        dict(zip(subjects[0].rows, found[0].brackets, strict=False))
        if isinstance(found[0], Settled)
        else dict(enumerate(found))
    )
    around = {i: bracket.interval for i, bracket in brackets.items()}
    return record(brackets, settled, shaken(study, around, workers))


def _subjects(study: Study, width: float) -> tuple[Sequence[Subject], Any]:
    """Every input by itself; or all of them, in a random order, where one search asks for each."""
    asked, inputs = study.procedure, study.fitted
    if not isinstance(asked, CriticalQuantile):
        return inputs.subjects(), asked
    return [Subject(WHOLE, shuffled(study))], replace(asked, size=len(inputs), top=width)


class _Keeper:
    """A journal that also remembers, by row, what it was told: the witness is in no result."""

    def __init__(self, inner: Journal, subjects: Sequence[Subject]) -> None:
        self.inner = inner
        self.rows = {subject.name: subject.rows for subject in subjects}
        self.proofs: dict[int, Proof] = {}

    def append(self, answers: Sequence[tuple[Any, Any]]) -> None:
        """Record, and remember."""
        self.inner.append(answers)
        for task, proof in answers:
            self._add(task.subject.name, task.start, proof)

    def replay(self) -> dict[str, list[Any]]:
        """What was recorded before."""
        kept = self.inner.replay()
        for name, entries in kept.items():
            for entry in entries:
                self._add(name, entry.start, entry.evidence)
        return kept

    def _add(self, name: str, trial: int, proof: Proof) -> None:
        rows = self.rows.get(name, ())
        if rows:
            row = rows[trial % len(rows)]
            known = self.proofs.get(row)
            self.proofs[row] = proof if known is None else known + proof
