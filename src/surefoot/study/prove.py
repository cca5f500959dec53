"""Critical radii: who proves, the search for each input, and points drawn to check the proofs.

Within the proved radius no drawn point may fail: one that does means that proof, reader, arithmetic
or model is wrong, and it is reported as a contradiction. Beyond the nearest counterexample they
show how often a perturbation fails, which is often far less than the counterexample suggests.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from surefoot.conclude.radii import brackets_of, conclude_radii, searches
from surefoot.core.assumptions import Arithmetic
from surefoot.core.counts import Counts, Proof
from surefoot.core.procedure import Ask
from surefoot.core.results import Bracket, Interval, PointsDrawn, Quantile, Undecided
from surefoot.core.tasks import Subject
from surefoot.engine.examples import png, winning_class
from surefoot.engine.proof_bench import (
    BuiltInProver,
    ExternalProver,
    ProofBench,
    Prover,
    decode_point,
)
from surefoot.engine.sampling_bench import SamplingBench
from surefoot.errors import InvalidArgument
from surefoot.executors.pool import cores
from surefoot.models.torch_modules import device_names
from surefoot.perturb._ops.arrays import at_level
from surefoot.properties import GivenLabel
from surefoot.records.record import Counterexample, Finding, InputRow, RecordBody
from surefoot.region.critical_level import NOT_REACHED, bracket_of
from surefoot.store import Journal, MemoryJournal
from surefoot.study.measure import Measurement, batch_size, run_measurement, workers_for
from surefoot.study.parts import StudyParts
from surefoot.subject.protocols import CPU, Ball, Graph, to_host

if TYPE_CHECKING:
    from surefoot.graph.network import Network
    from surefoot.verify.ball import InputSpace

_MOST_EXAMPLES = 8
"""Counterexamples with their images in a record: a row of a page."""


def radii_measurement(study: StudyParts, workers: int | None, batch: int | None) -> Measurement:
    """Every input by itself; or all of them, in a random order, where one search asks for each."""
    inputs, method = study.fitted, study.method
    prover, read = prover_for(study)
    network, reader = read or (None, None)
    bench = ProofBench(
        inputs, study.references, study.model, prover, radius_space(study), method.tolerance,
        method.efforts, study.seed, radius_rank(study),
    )  # fmt: skip
    subjects, procedures = searches(study.facts, inputs.subjects())

    def body(brackets: Mapping[int, Bracket], searched: Quantile | Undecided | None) -> RecordBody:
        rows = tuple(study.row(i, brackets[i]) for i in sorted(brackets))
        return conclude_radii(study.facts, rows, searched, reader, _examples(study, rows))

    def conclude(answers: Sequence[Any]) -> RecordBody:
        brackets, searched = brackets_of(subjects, answers)
        drawn = points_drawn(study, brackets, network, workers)
        return body(
            {i: replace(b, sampled=drawn.get(i, ())) for i, b in brackets.items()}, searched
        )

    def conclude_early(journal: Journal) -> RecordBody | None:
        proofs = _proofs(subjects, journal)
        if not proofs:
            return None
        assumed = method.assumption
        brackets = {i: bracket_of(proofs.get(i, NOT_REACHED), assumed) for i in range(len(inputs))}
        return body(brackets, None)

    return Measurement(
        subjects,
        procedures,
        bench,
        min(bench.batch_size(), -(-len(inputs) // (workers or cores()))),
        workers or cores(),
        conclude,
        "proving",
        "questions",
        conclude_early,
        "" if network is None else "the prover is written in Python",
        workers is not None,
    )


def _proofs(subjects: Sequence[Subject], journal: Journal) -> dict[int, Proof]:
    """What a journal that ends early holds, by row."""
    rows = {subject.name: subject.rows for subject in subjects}
    proofs: dict[int, Proof] = {}
    for name, entries in journal.replay().items():
        for entry in entries:
            row = rows[name][entry.start % len(rows[name])]
            if isinstance(proof := entry.evidence, Proof):
                proofs[row] = proofs[row] + proof if row in proofs else proof
    return proofs


def _examples(study: StudyParts, rows: Sequence[InputRow]) -> tuple[Counterexample, ...]:
    """The inputs with the nearest counterexamples, beside them, whose labels the model gives."""
    inputs, bounds = study.fitted, study.facts.bounds
    known = [
        (row.result.high, row.id, row.result)
        for row in rows
        if isinstance(row.result, Bracket) and row.result.witness and row.result.high > 0
    ]
    examples = []
    for distance, name, bracket in sorted(known, key=lambda one: one[:2])[:_MOST_EXAMPLES]:
        i = inputs.ids.index(name)
        x = inputs.x[i]
        y = decode_point(bracket.witness).astype(np.float32).reshape(x.shape)
        scores = scores_of(study, y[None])[0]
        examples.append(
            Counterexample(
                name,
                distance,
                inputs.class_name(int(study.predicted[i])),
                winning_class(scores, inputs.class_name),
                png(x, inputs.frame, bounds) if inputs.frame else "",
                png(y, inputs.frame, bounds) if inputs.frame else "",
            )
        )
    return tuple(examples)


def scores_of(study: StudyParts, points: NDArray[np.float32]) -> NDArray[np.floating]:
    """What the model gives for these points, as it is run."""
    return to_host(study.model.predict(study.model.place(points)))


def graph_of(study: StudyParts) -> Graph:
    """The graph of the model."""
    model: Any = study.model  # that it has one is checked by the study
    graph: Graph = model.graph
    return graph


def radius_space(study: StudyParts) -> InputSpace:
    """The space in which the radii of a study are measured."""
    from surefoot.verify.ball import space_of

    return space_of(study.perturbation, study.facts.bounds)


def radius_rank(study: StudyParts) -> int:
    """Among how many of the best the label must stay."""
    return int(getattr(study.property, "rank", 1))


def _plain_box(study: StudyParts) -> bool:
    """Whether a radius is that of an L∞ ball in which no other label wins."""
    return getattr(study.perturbation, "ball", None) is Ball.LINF and radius_rank(study) == 1


def prover_for(study: StudyParts) -> tuple[Prover, tuple[Network, float] | None]:
    """The prover; and the network as `read_checked_network` has it, where it is ours."""
    graph, command = graph_of(study), getattr(study.method, "verifier", "")
    if not command:
        arithmetic = study.method.arithmetic
        if arithmetic is Arithmetic.FLOAT32:
            _refuse_reduced(study)
        read = read_checked_network(study)
        return BuiltInProver(read[0], arithmetic, _where_to_prove(study)), read
    from surefoot.verify.external_verifier import ExternalVerifier

    if study.prove_on:
        raise InvalidArgument(
            f"prove_on (--prove-on) {study.prove_on}: {command!r} decides itself where it runs: "
            "leave it out"
        )
    if not graph.plain:
        raise InvalidArgument(
            f"verifier (--verifier) {command} reads the file alone, but mean and std normalise the "
            "inputs before it: export a file that normalises by itself"
        )
    if not _plain_box(study):
        raise InvalidArgument(
            f"verifier (--verifier) {command} is given boxes in which no other label may win, not "
            f"{study.perturbation.kind} and '{study.property.kind}': use linf and true or same, or "
            "leave out the verifier"
        )
    return ExternalProver(
        ExternalVerifier(command), graph.path, study.model.signature.classes
    ), None


def _where_to_prove(study: StudyParts) -> str:
    """Where bounds are made: where the study says, else beside the model, where PyTorch can."""
    if not study.prove_on:
        where = str(getattr(study.model, "device", None) or CPU)
        return where if where.startswith("cuda") and find_spec("torch") else CPU
    try:
        return device_names(study.prove_on)[0]
    except InvalidArgument as error:
        raise InvalidArgument(
            f"prove_on (--prove-on) {study.prove_on}: {error}, or leave out prove_on",
            option="prove_on",
            value=study.prove_on,
        ) from error


def _refuse_reduced(study: StudyParts) -> None:
    """Refuse to speak of float32 where the model may compute in less."""
    model: Any = study.model
    device = getattr(model, "device", None)
    half, session = getattr(model, "full", None) is not None, getattr(model, "session", None)
    away = getattr(device, "type", "cpu") != "cpu"
    if session is not None and session.get_providers() != ["CPUExecutionProvider"]:
        device, away = session.get_providers()[0], True
    if half or away:
        where = "in half precision" if half else f"on {device}, where sums may be in TF32"
        raise InvalidArgument(
            f"arithmetic (--arithmetic) float32: this model runs {where}; to search proofs on a "
            "GPU write prove_on cuda (--prove-on cuda) in place of device (--device) and half "
            "(--half), or use arithmetic real",
            option="arithmetic",
            value=Arithmetic.FLOAT32,
        )


def read_checked_network(study: StudyParts) -> tuple[Network, float]:
    """The file as layers, with the normalisation before it; how far it is from onnxruntime."""
    from surefoot.graph.network import with_normalisation
    from surefoot.graph.read_network import read_network, with_one_output
    from surefoot.graph.reader_check import check_reader
    from surefoot.verify.bracket import one_blas_thread

    graph, bounds = graph_of(study), study.facts.bounds
    shape = study.model.signature.shape
    with one_blas_thread():
        content = with_one_output(graph.content, graph.output)
        network = read_network(content, shape)
        difference = check_reader(network, content, low=bounds.low, high=bounds.high)
    if graph.plain:
        return network, difference
    none, one = (np.full((1, *shape), value) for value in (0.0, 1.0))
    shift = np.asarray(graph.prepared(none), dtype=np.float64).reshape(-1)
    scale = np.asarray(graph.prepared(one), dtype=np.float64).reshape(-1) - shift
    return with_normalisation(network, scale, shift), difference


BEYOND = (1.0, 1.5, 2.0, 4.0)
"""Radii beyond the counterexample, as multiples of its distance."""
_INWARDS_FACTOR = 1 - 1e-6
"""On the proved radius, so that rounding of a drawn point to float32 does not leave the ball."""
_NEAR_TIE_POINTS = 128
"""Points near ties of each input: enough to find most networks built to fail in float32."""


@dataclass(frozen=True)
class _AtEach:
    """So many trials at each of some levels."""

    levels: tuple[float, ...]
    trials: int

    def steps(self) -> Generator[tuple[Ask, ...], list[Counts], tuple[PointsDrawn, ...]]:
        """Ask for all levels at once."""
        answers = yield tuple(Ask(level, self.trials) for level in self.levels)
        return tuple(
            PointsDrawn(level, counts.trials, counts.failed)
            for level, counts in zip(self.levels, answers, strict=True)
        )


def points_drawn(
    study: StudyParts, brackets: Mapping[int, Bracket], network: Network | None, workers: int | None
) -> dict[int, tuple[PointsDrawn, ...]]:
    """For each row, points within its proved radius and within multiples of its refuted one.

    Where the network was read here, points near ties are tried as well.
    """
    even = _drawn_evenly(study, brackets, workers)
    if network is None or not study.method.samples or not _plain_box(study):
        return even
    near = {row: _near_tie(study, network, row, b.low) for row, b in brackets.items() if b.low > 0}
    return {row: (*even.get(row, ()), *((near[row],) if row in near else ())) for row in brackets}


def _near_tie(study: StudyParts, network: Network, row: int, radius: float) -> PointsDrawn:
    """Whether a point near a tie, within the proved radius, gets another label as run."""
    from surefoot.verify.float32 import find_contradiction

    def labels(points: NDArray[np.float32]) -> NDArray[np.int64]:
        return np.asarray(scores_of(study, points).argmax(axis=1), dtype=np.int64)

    x, label = study.fitted.x[row], int(study.references[row])
    point = find_contradiction(
        network, labels, x, label, radius, study.facts.bounds, study.seed, _NEAR_TIE_POINTS
    )
    return PointsDrawn(radius, _NEAR_TIE_POINTS, int(point is not None), near_ties=True)


def _drawn_evenly(
    study: StudyParts, brackets: Mapping[int, Bracket], workers: int | None
) -> dict[int, tuple[PointsDrawn, ...]]:
    inputs, space, noise = study.fitted, radius_space(study), study.perturbation
    widest, every = space.widest(inputs.x.shape[1:]), inputs.subjects()
    # a point that is rounded to float32 moves by half a unit in each value, in any norm
    lost = space.distance(np.full(inputs.x[0].size, np.abs(inputs.x).max() * 2.0**-24))
    lost = 0.0 if space.norm is Ball.LINF else lost
    radii = {row: _radii(bracket.interval, lost, widest) for row, bracket in brackets.items()}
    rows = [row for row, levels in radii.items() if levels]
    if not rows or not study.method.samples:
        return {}
    bench: SamplingBench[Any] = SamplingBench(
        inputs,
        study.references,
        study.model,
        at_level(noise.drawn_within() if hasattr(noise, "drawn_within") else noise, widest),
        GivenLabel() if radius_rank(study) == 1 else study.property,
        Counts,
        study.seed,
    )
    subjects = [every[row] for row in rows]
    measurement = Measurement(
        subjects=subjects,
        procedures={every[r].name: _AtEach(radii[r], study.method.samples) for r in rows},
        bench=bench,
        batch=batch_size(study, bench, subjects[0], widest),
        workers=workers_for(study, workers),
        conclude=_nothing,
    )
    return dict(zip(rows, run_measurement(measurement, MemoryJournal()), strict=True))


def _nothing(_: object) -> NoReturn:
    raise NotImplementedError("points drawn for a check conclude nothing by themselves")


def _radii(around: Interval, lost: float, most: float) -> tuple[float, ...]:
    within = around.low * _INWARDS_FACTOR - lost
    inside = [within] if within > 0 else []
    beyond = [around.high * factor for factor in BEYOND if 0 < around.high * factor <= most]
    return tuple(dict.fromkeys([*inside, *(r for r in beyond if np.isfinite(r))]))


_INPUTS = 8
"""Inputs around which margins are compared. Chosen by hand; it is information only."""
_RADIUS_SHARE = 0.01
"""Radius as a share of the range of values: about where radii of image classifiers lie."""


def real_arithmetic(study: StudyParts) -> Finding:
    """Margins as run against margins in real arithmetic, around some of the inputs."""
    from surefoot.verify.float32 import margin_difference

    bounds = study.facts.bounds
    some = study.fitted.x[:: max(1, len(study.fitted) // _INPUTS)][:_INPUTS]
    difference = margin_difference(
        read_checked_network(study)[0],
        partial(scores_of, study),
        some,
        _RADIUS_SHARE * bounds.width,
        bounds,
        seed=study.seed,
    )
    return Finding("real arithmetic", "warning" if difference.labels else "ok", difference.sentence)
