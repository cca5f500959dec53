"""Chains of steps: particles of splitting by their names, moved in the numbers behind them.

Whatever a perturbation draws, it asks a stream for uniform and normal numbers. A particle is the
normal numbers behind these, z for a normal and Φ(z) for a uniform one, so that every perturbation
which draws from its stream alone can be moved by small steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from surefoot.core.counts import Chained, Severities, Steps, step_weights
from surefoot.core.results import Particle, RareFailure
from surefoot.core.tasks import Subject, Task
from surefoot.engine import devices, streams
from surefoot.engine.devices import on_device_of
from surefoot.engine.examples import MOST_EXAMPLES, example_of
from surefoot.engine.sampling_bench import SamplingBench, draws_blocks, from_view, to_view
from surefoot.errors import OutOfMemory
from surefoot.models.scores import softmax
from surefoot.records.record import Example, InputRow
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Array, Model, Perturbation, Scores, Stream, to_host

Floats = NDArray[np.float32]
Normals = tuple[Floats, ...]
"""Behind the perturbations of a batch: an array for each call of the stream, a row for each."""

_HALF_STEP = 2.0**-25
"""Uniform numbers are multiples of 2^-24 in [0, 1): their middle has a normal quantile."""
_LARGEST_UNIFORM = np.float32(1 - 2.0**-24)
_MOST_KEPT_BYTES = 2**28
"""Of the particles whose numbers a bench keeps: a run's own, unless inputs are large; others are
made again from their names."""
_SMALLEST = 1e-45
"""The smallest probability of float32 above 0."""


@dataclass(frozen=True)
class LogitMargin:
    """A property of labels with a severity that has no steps: minus its margin in logits.

    It fails exactly where the property does. Of probabilities the logits are their logarithms.
    """

    prop: Any
    scores: Scores
    limit: float = 0.0

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever else the property says
        if name.startswith("__") or name == "prop":
            raise AttributeError(name)
        return getattr(self.prop, name)

    def severity(self, scores: Array, labels: Array) -> Array:
        """Higher is worse; 0 or more where it fails."""
        xp = array_namespace(scores)
        logits, read = scores, scores
        if self.scores is Scores.PROBABILITIES:
            logits = xp.log(xp.clip(xp.astype(scores, xp.float64), _SMALLEST, None))
        elif self.prop.needs is Scores.PROBABILITIES:
            read = softmax(scores)
        worse = -self.prop.margin(logits, labels, None)[0]
        fails = self.prop.severity(read, labels) >= self.prop.limit
        below = -float(np.finfo(np.float32).tiny)
        return xp.where(
            fails, xp.where(worse > 0, worse, 0.0), xp.where(worse < below, worse, below)
        )


def without_steps(prop: Any, scores: Scores) -> Any:  # noqa: ANN401  any property
    """The property with a severity that has no steps, where it is about labels.

    A difference of logits, which is 0 at the limit, is one already.
    """
    stepped = scores is Scores.PROBABILITIES or prop.limit != 0
    margin = hasattr(prop, "margin") and scores.of_classes
    return LogitMargin(prop, scores) if stepped and margin else prop


def moves_in_steps(perturbation: Perturbation) -> bool:
    """Whether close random numbers give close perturbations: not where they seed a generator."""
    given: Any = perturbation
    parts = (given.inner,) if hasattr(given, "inner") else getattr(given, "parts", ())
    jumps = getattr(given, "seeds_generator", False) or hasattr(given, "smoothing")
    return not jumps and all(map(moves_in_steps, parts))


@dataclass(eq=False)
class _Recorder:
    """A stream, and the normal numbers behind what it gave."""

    source: Stream
    normals: list[NDArray[np.float32]] = field(default_factory=list)

    def uniform(self, shape: tuple[int, ...]) -> Array:
        """As the stream draws them."""
        from scipy.special import ndtri

        drawn = self.source.uniform(shape)
        exact = to_host(drawn).astype(np.float64) + _HALF_STEP
        self.normals.append(ndtri(exact).astype(np.float32))
        return drawn

    def normal(self, shape: tuple[int, ...]) -> Array:
        """As the stream draws them."""
        drawn = self.source.normal(shape)
        self.normals.append(np.array(to_host(drawn), dtype=np.float32))
        return drawn


@dataclass(eq=False)
class _Given:
    """A stream that gives these numbers, call after call."""

    normals: Normals
    like: Array
    calls: int = 0

    def uniform(self, shape: tuple[int, ...]) -> Array:
        """Φ of the next ones, below 1."""
        from scipy.special import ndtr

        exact = ndtr(self._next(shape).astype(np.float64)).astype(np.float32)
        return on_device_of(self.like, np.minimum(exact, _LARGEST_UNIFORM))

    def normal(self, shape: tuple[int, ...]) -> Array:
        """The next ones."""
        return on_device_of(self.like, self._next(shape).copy())

    def _next(self, shape: tuple[int, ...]) -> NDArray[np.float32]:
        self.calls += 1
        return self.normals[self.calls - 1].reshape(shape)


def _moved(normals: Normals, noise: Normals, keep: Floats, add: Floats) -> Normals:
    """ρ·z + √(1-ρ²)·ξ, with one ρ for each row."""
    pairs = zip(normals, noise, strict=True)
    return tuple(_of_rows(keep, z) * z + _of_rows(add, z) * xi for z, xi in pairs)


def _of_rows(values: NDArray[Any], like: Floats) -> Any:  # noqa: ANN401  of the type of the values
    return values.reshape(-1, *(1,) * (like.ndim - 1))


@dataclass(frozen=True, eq=False)
class SplittingBench:
    """Answers ordinary trials by `trials`, and moves particles by chains of steps.

    What it keeps of particles saves time and changes nothing: their names say all.
    """

    model: Model
    trials: SamplingBench[Severities]

    @property
    def inputs(self) -> Inputs:
        """Those that are perturbed."""
        return self.trials.inputs

    @property
    def perturbation(self) -> Perturbation:
        """What they are perturbed by."""
        return self.trials.perturbation

    @property
    def block(self) -> int:
        """Trials whose random numbers are drawn together."""
        return self._bench.block

    def perturbed_all(self, tasks: Sequence[Task]) -> Array:
        """The perturbed inputs of ordinary trials."""
        return self._bench.perturbed_all(tasks)

    @cached_property
    def _bench(self) -> SamplingBench[Severities]:
        return replace(self.trials, model=self.model)

    @cached_property
    def _kept(self) -> dict[tuple[str, Particle], Normals]:
        return {}

    def answer(self, tasks: Sequence[Task]) -> list[Severities | Chained]:
        """The evidence of each task: trials share one forward pass, chains one for each step."""
        chains = [task for task in tasks if isinstance(task.known, Steps)]
        trials = [task for task in tasks if not isinstance(task.known, Steps)]
        try:
            with devices.memory_errors():
                ended = iter(self._run_chains(chains) if chains else ())
        except MemoryError as error:
            raise OutOfMemory(f"{chains[0]}: {error or 'no room for its particles'}") from error
        drawn = iter(self._bench.answer(trials) if trials else ())
        return [next(ended) if isinstance(t.known, Steps) else next(drawn) for t in tasks]

    def _run_chains(self, tasks: Sequence[Task]) -> list[Chained]:
        """Where the chains end: all of them step by step, in one batch."""
        asked = [task.known for task in tasks if isinstance(task.known, Steps)]
        states = [
            self.normals_of(task.subject, one.particle)
            for task, one in zip(tasks, asked, strict=True)
        ]
        normals: Normals = tuple(np.stack(parts) for parts in zip(*states, strict=True))
        above = np.array([one.above for one in asked])
        severity = np.array([one.severity for one in asked])
        accepted = np.zeros((len(tasks), tasks[0].units), dtype=np.uint8)
        single = [replace(task, stop=task.start + 1) for task in tasks]
        for step in range(tasks[0].units):
            weights = [step_weights(step, one.scale) for one in asked]
            keep, add = np.array(weights, dtype=np.float32).T
            names = [(task.subject.name, task.start + step) for task in tasks]
            proposed = _moved(normals, self._noise(names, normals), keep, add)
            x = self.perturbed_by(single, proposed)
            found = self._bench.severities_of(x, single).astype(np.float64)
            better = found > above
            normals = tuple(
                np.where(_of_rows(better, z), new, z)
                for new, z in zip(proposed, normals, strict=True)
            )
            severity = np.where(better, found, severity)
            accepted[:, step] = better
        marks = [row.tobytes().decode() for row in accepted + ord("0")]
        for i, (task, one, mark) in enumerate(zip(tasks, asked, marks, strict=True)):
            if "1" in mark:
                chain = (task.start, mark, one.scale)
                particle = Particle(one.particle.trial, (*one.particle.chains, chain))
                self._keep(task.subject, particle, tuple(part[i] for part in normals))
        return [Chained(float(s), mark) for s, mark in zip(severity, marks, strict=True)]

    def normals_of(self, subject: Subject, particle: Particle) -> Normals:
        """Behind a particle: kept from before, or made again from its name."""
        if (known := self._kept.get((subject.name, particle))) is not None:
            return known
        if not particle.chains:
            normals = self._drawn(subject, particle.trial)
        else:
            *before, (start, accepted, scale) = particle.chains
            normals = self.normals_of(subject, Particle(particle.trial, tuple(before)))
            for step in (i for i, mark in enumerate(accepted) if mark == "1"):
                keep, add = (np.array([w], dtype=np.float32) for w in step_weights(step, scale))
                rows = tuple(part[None] for part in normals)
                noise = self._noise([(subject.name, start + step)], rows)
                normals = tuple(part[0] for part in _moved(rows, noise, keep, add))
        self._keep(subject, particle, normals)
        return normals

    def _keep(self, subject: Subject, particle: Particle, normals: Normals) -> None:
        """For the next chain from here; the oldest are dropped where all take too much room."""
        self._kept[subject.name, particle] = normals
        most = max(1, _MOST_KEPT_BYTES // max(1, sum(part.nbytes for part in normals)))
        while len(self._kept) > most:
            self._kept.pop(next(iter(list(self._kept))), None)

    def _drawn(self, subject: Subject, trial: int) -> Normals:
        """Behind the perturbation of an ordinary trial."""
        bench, perturbation = self._bench, self.perturbation
        x = to_view(self.model.place(self.inputs.x[:1]), self.inputs, perturbation.view)
        kind, block = perturbation.kind, bench.block
        rows, place = trial % block + 1, trial % block
        if streams.draws_rows(x):
            base = streams.base_of(bench.seed, subject.name, kind)
            keys = streams.row_keys(base, np.array([trial], dtype=np.int64))
            recorder = _Recorder(streams.TorchRowStream(on_device_of(x, keys)))
            rows, place = 1, 0
        else:
            source = streams.stream(bench.seed, subject.name, kind, trial // block, x)
            recorder = _Recorder(source)
            rows = block if draws_blocks(perturbation) else rows
        perturbation.draw(recorder, rows, tuple(x.shape[1:]))
        return tuple(part[place].copy() for part in recorder.normals)

    def _noise(self, steps: Sequence[tuple[str, int]], like: Normals) -> Normals:
        """New normal numbers for each of these steps, by the names of subject and step."""
        kind = f"{self.perturbation.kind} step"
        blocks = [(name, number, 0, 1) for name, number in steps]
        source = streams.row_stream(self.trials.seed, blocks, kind, np.empty(0))
        return tuple(source.normal((len(steps), *part.shape[1:])) for part in like)

    def perturbed_by(self, tasks: Sequence[Task], normals: Normals) -> Array:
        """The inputs of these trials under the perturbations behind which the numbers are."""
        view, rows = self.perturbation.view, np.array([task.subject.rows[0] for task in tasks])
        x = to_view(self.model.place(self.inputs.x[rows]), self.inputs, view)
        drawn = self.perturbation.draw(_Given(normals, x), len(rows), tuple(x.shape[1:]))
        bounds = self.model.signature.bounds
        y = self.perturbation.apply(x, drawn, tasks[0].level, bounds)
        return from_view(y, self.inputs, view)

    def found_failures(self, inputs: Sequence[InputRow], level: float) -> tuple[Example, ...]:
        """Failures that splitting found, of the inputs that fail most often, confirmed.

        One of each run, so that what is common to all of them shows.
        """
        known = [
            (result.failure, row, number, run.found)
            for row, result in enumerate(one.result for one in inputs)
            if isinstance(result, RareFailure) and result.failure is not None
            for number, run in enumerate(result.runs, 1)
            if run.found is not None
        ]
        known.sort(key=lambda each: -each[0])
        subjects, examples = self.inputs.subjects(), list[Example]()
        for failure, row, number, particle in known[:MOST_EXAMPLES]:
            task = Task(subjects[row], level, particle.trial, particle.trial + 1)
            x = self.perturbed_as(particle, task)
            if self._bench.severities_of(x, [task])[0] >= self._bench.prop.limit:
                examples.append(replace(example_of(self._bench, task, failure, x), run=number))
        return tuple(examples)

    def perturbed_as(self, particle: Particle, task: Task) -> Array:
        """The input of the task under this particle."""
        normals = self.normals_of(task.subject, particle)
        return self.perturbed_by([task], tuple(part[None] for part in normals))
