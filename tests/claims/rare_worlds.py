"""Worlds of rare failures in numbers alone, and a fast bench for many procedures at once.

What a particle is, and how it is moved, is as in the product; only its numbers are kept, and all
procedures go on together, so that hundreds of runs take seconds.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from surefoot.core.counts import Chained, Severities, step_weights
from surefoot.core.procedure import Session
from surefoot.core.results import Particle

Floats = np.ndarray


@dataclass(frozen=True)
class RareWorld:
    """A severity of normal numbers, the limit, and the probability to reach it."""

    severity: Callable[[Floats], Floats]
    dimensions: int
    limit: float
    failing: float


def linear(failing: float) -> RareWorld:
    """A linear model under Gaussian noise: its margin alone is random."""
    return RareWorld(lambda z: z[:, 0], 1, float(-ndtri(failing)), failing)


def corner(failing: float, dimensions: int = 8) -> RareWorld:
    """A linear model under L∞ noise that fails in a corner: a simplex of this volume."""
    reach = (failing * math.factorial(dimensions)) ** (1 / dimensions)
    if reach > 1:
        raise ValueError(f"{failing} is no corner of {dimensions} dimensions")
    return RareWorld(lambda z: -ndtr(-z).sum(axis=1), dimensions, -reach, failing)


def decoy(far: float = 4.75) -> RareWorld:
    """One mode rises faster and comes to an end below the limit; failures lie along another."""

    def severity(z: Floats) -> Floats:
        rising = 2 * z[:, 0]
        ends = np.where(rising > 8, 8 + 1.5 * np.tanh((rising - 8) / 4), rising)
        return np.maximum(ends, 10 * (z[:, 1] / far) ** 3)

    return RareWorld(severity, 2, 10.0, float(ndtr(-far)))


def hidden(far: float = 4.75) -> RareWorld:
    """Failures that all runs reach; a thousand times as many others begin all at once."""

    def severity(z: Floats) -> Floats:
        return np.maximum(z[:, 0], 6.0 + 40 * (z[:, 1] - far))

    return RareWorld(severity, 2, 6.0, float(ndtr(-far)))


def run_together(world: RareWorld, procedures: Sequence[Any], seed: int) -> list[Any]:
    """What each procedure concludes of its own particles."""
    random = np.random.default_rng([seed, 35])
    sessions = [Session(procedure) for procedure in procedures]
    states: list[dict[tuple[int, int], Floats]] = [{} for _ in sessions]
    while open_ := [(i, s) for i, s in enumerate(sessions) if s.question is not None]:
        chains = []
        for i, session in open_:
            if session.question[0].known is not None:
                chains += [(i, ask) for ask in session.question]
                continue
            [ask] = session.question
            z = random.standard_normal((ask.units, world.dimensions))
            if ask.start == 0:
                states[i] = {(trial, -1): row for trial, row in enumerate(z)}
            values = world.severity(z)
            session.tell([Severities(tuple(values.tolist()), world.limit)])
        answers = _run_chains(world, chains, states, random) if chains else {}
        for i, own in answers.items():
            sessions[i].tell(own)
    return [session.result for session in sessions]


def _name(particle: Particle) -> tuple[int, int]:
    return particle.trial, particle.chains[-1][0] if particle.chains else -1


def _run_chains(
    world: RareWorld, chains: Sequence[Any], states: Sequence[Any], random: np.random.Generator
) -> dict[int, list[Chained]]:
    z = np.stack([states[i][_name(ask.known.particle)] for i, ask in chains])
    above = np.array([ask.known.above for _, ask in chains])
    severity = np.array([ask.known.severity for _, ask in chains])
    scales = np.array([ask.known.scale for _, ask in chains])
    different, which = np.unique(scales, return_inverse=True)
    units = chains[0][1].units
    accepted = np.zeros((len(chains), units), np.uint8)
    for step in range(units):
        keep, add = np.array([step_weights(step, s) for s in different.tolist()])[which].T
        proposed = keep[:, None] * z + add[:, None] * random.standard_normal(z.shape)
        found = world.severity(proposed)
        better = found > above
        z = np.where(better[:, None], proposed, z)
        severity = np.where(better, found, severity)
        accepted[:, step] = better
    answers: dict[int, list[Chained]] = {}
    for (i, ask), row, value, bits in zip(chains, z, severity.tolist(), accepted + 48, strict=True):
        marks = bits.tobytes().decode()
        if "1" in marks:
            states[i][ask.known.particle.trial, ask.start] = row
        answers.setdefault(i, []).append(Chained(value, marks))
    return answers
