"""How critical levels are proved: the graph read and checked, brackets, quantiles, examples."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.engine.drive import Journal, Progress, measure
from surefoot.engine.exhibits import png
from surefoot.engine.proving import ProvingBench, unpacked
from surefoot.errors import InvalidArgument
from surefoot.executors import cores, open_pool
from surefoot.population.lognormal import LogNormalPosterior
from surefoot.population.quantile import LevelQuantile, OrderStatistics, SpreadRanks, of_each
from surefoot.report.critical import Criticals
from surefoot.results import Bracket, Footing, Guarantee, Interval, Quantile, Undecided
from surefoot.store.records import (
    Counterexample,
    CriticalRecord,
    CriticalRow,
    Finding,
    QuantileRow,
    Source,
)
from surefoot.study.aggregate import told_apart
from surefoot.study.running import answered, environment
from surefoot.study.spec import Study

if TYPE_CHECKING:
    from surefoot.evidence import Proof
    from surefoot.verify.network import Network

_SHOWN = 8


def prove(
    study: Study,
    graph: str | Path,
    *,
    store: str | None = None,
    workers: int | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Criticals:
    """Brackets of the critical radius of every input, and quantiles of them."""
    record, _ = proved(study, graph, store, workers, watch or (lambda _: None), None)
    return Criticals({"": record})


def proved(
    study: Study,
    graph: str | Path,
    where: str | None,
    workers: int | None,
    watch: Callable[[Progress], None],
    source: Source | None,
) -> tuple[CriticalRecord, bool]:
    """The record, and whether the store had it. The graph is read and checked first."""
    if not study.proves:
        raise InvalidArgument(
            f"{type(study.procedure).__name__} proves nothing: use sf.CriticalLevel()"
        )
    network, apart = _network(study, Path(graph))

    def measured(findings: tuple[Finding, ...], journal: Journal) -> CriticalRecord:
        return _measured(study, network, apart, findings, journal, workers, watch, source)

    return answered(study, where, source, measured, CriticalRecord)


def _network(study: Study, path: Path) -> tuple[Network, float]:
    """The file as layers, compared with onnxruntime; with the normalisation before it."""
    from surefoot.verify.graph import check_reader, read_network
    from surefoot.verify.network import Layer

    signature = study.model.signature
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidArgument(f"{path} cannot be read ({error.strerror or error})") from error
    if path.suffix != ".onnx":
        raise InvalidArgument(f"{path}: proofs need an ONNX file")
    if hashlib.sha256(content).hexdigest() != signature.digest:
        raise InvalidArgument(f"{path} is not the file that the model was loaded from")
    if signature.bounds is None:
        raise InvalidArgument("proofs need the range of input values: say --bounds 0,1")
    network = read_network(content, signature.shape)
    apart = check_reader(network, content, low=signature.bounds.low, high=signature.bounds.high)
    normalise: Any = getattr(study.model, "normalise", None)
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
    network: Network,
    apart: float,
    findings: tuple[Finding, ...],
    journal: Journal,
    workers: int | None,
    watch: Callable[[Progress], None],
    source: Source | None,
) -> CriticalRecord:
    asked, inputs = study.procedure, study.fitted
    bounds = study.model.signature.bounds
    if bounds is None:
        raise InvalidArgument("proofs need the range of input values: say --bounds 0,1")
    bench = ProvingBench(
        inputs, study.references, study.model, network, bounds, asked.tolerance, asked.efforts,
        study.seed,
    )  # fmt: skip
    crew = workers or cores()
    keeper = _Keeper(journal)
    with open_pool(crew) as pool:
        found = measure(
            asked, bench, inputs.subjects(), pool=pool, journal=keeper, tray=1, in_flight=crew,
            watch=watch,
        )  # fmt: skip
    rows = tuple(_row(study, i, keeper.proofs[name], found[i]) for i, name in enumerate(inputs.ids))
    return CriticalRecord(
        digest=study.digest,
        spec=study.spec,
        rows=rows,
        quantiles=_quantiles(asked, found),
        classes=_classes(study, found) if study.by_class else (),
        examples=_examples(study, rows),
        findings=findings,
        trials=sum(row.nodes for row in rows),
        reader=apart,
        environment=environment(),
        source=source,
    )


class _Keeper:
    """A journal that also remembers what it was told: the witness is in no result."""

    def __init__(self, inner: Journal) -> None:
        self.inner = inner
        self.proofs: dict[str, Proof] = {}

    def append(self, answers: Sequence[tuple[Any, Any]]) -> None:
        """Record, and remember."""
        self.inner.append(answers)
        for task, proof in answers:
            self._add(task.subject.name, proof)

    def replay(self) -> dict[str, list[Any]]:
        """What was recorded before."""
        kept = self.inner.replay()
        for name, entries in kept.items():
            for entry in entries:
                self._add(name, entry.evidence)
        return kept

    def _add(self, name: str, proof: Proof) -> None:
        known = self.proofs.get(name)
        self.proofs[name] = proof if known is None else known + proof


def _row(study: Study, i: int, proof: Proof, bracket: Bracket) -> CriticalRow:
    labels = study.fitted.labels
    return CriticalRow(
        id=study.fitted.ids[i],
        label=None if labels is None else int(labels[i]),
        predicted=int(study.predicted[i]),
        low=bracket.low,
        high=None if math.isinf(bracket.high) else bracket.high,
        reason=bracket.reason,
        seconds=proof.seconds,
        nodes=proof.nodes,
        discarded=proof.discarded,
        witness=proof.witness,
    )


def _quantiles(asked: Any, found: Sequence[Bracket]) -> tuple[QuantileRow, ...]:  # noqa: ANN401
    """Ours first, then the distribution-free one, then the thesis' log-normal."""
    share, error = asked.quantile, asked.error
    estimators: tuple[Any, ...] = (
        SpreadRanks(share, error),
        OrderStatistics(share, error),
        LogNormalPosterior(share, error),
    )
    return tuple(
        _told("all inputs", len(found), over, over.conclude(found, error)) for over in estimators
    )


def _classes(study: Study, found: Sequence[Bracket]) -> tuple[QuantileRow, ...]:
    asked, inputs = study.procedure, study.fitted
    labels = study.predicted if inputs.labels is None else inputs.labels
    names = told_apart(sorted({int(label) for label in labels}), inputs.class_name)
    groups = {
        name: [b for b, own in zip(found, labels, strict=True) if own == label]
        for label, name in names.items()
    }
    over = SpreadRanks(asked.quantile, asked.error)
    each = of_each(over, groups, asked.error)
    return tuple(_told(name, len(groups[name]), over, one) for name, one in each.items())


def _told(name: str, inputs: int, over: LevelQuantile, found: Quantile | Undecided) -> QuantileRow:
    kind = str(getattr(over, "kind", type(over).__name__))
    if isinstance(found, Undecided):
        none = Guarantee(Footing.NONE, 1.0, found.reason)
        return QuantileRow(name, inputs, kind, over.share, 0.0, 0.0, None, none, found.reason)
    high = None if math.isinf(found.interval.high) else found.interval.high
    return QuantileRow(
        name, inputs, kind, found.share, found.value, found.interval.low, high, found.guarantee,
        found.note, found.fit,
    )  # fmt: skip


def _examples(study: Study, rows: Sequence[CriticalRow]) -> tuple[Counterexample, ...]:
    """The inputs with the nearest counterexamples, beside them."""
    inputs, bounds = study.fitted, study.model.signature.bounds or Interval(0.0, 1.0)
    if not inputs.frame:
        return ()
    known = [
        (row.high, row) for row in rows if row.witness and row.high is not None and row.high > 0
    ]
    shown = []
    for distance, row in sorted(known, key=lambda pair: (pair[0], pair[1].id))[:_SHOWN]:
        x = inputs.x[inputs.ids.index(row.id)]
        y = unpacked(row.witness).astype(np.float32).reshape(x.shape)
        label = int(np.argmax(np.asarray(study.model.predict(study.model.place(y[None])))[0]))
        shown.append(
            Counterexample(
                row.id,
                distance,
                inputs.class_name(row.predicted),
                inputs.class_name(label),
                png(x, inputs.frame, bounds),
                png(y, inputs.frame, bounds),
            )
        )
    return tuple(shown)
