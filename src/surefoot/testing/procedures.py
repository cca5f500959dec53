"""What every procedure of counted trials must do, and its exact behaviour by walking its paths."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any

import numpy as np

from surefoot.core.counts import Counts
from surefoot.core.procedure import Procedure, Session
from surefoot.core.results import Decision, Estimate, Result, Undecided
from surefoot.statistics.planning import simulate
from surefoot.testing.expect import expect

_MOST_QUESTIONS = 10_000
"""Questions after which a procedure is taken to ask without end; real ones ask a few hundred."""
AnyProcedure = Procedure[int, Counts, Any]


def check_procedure(procedure: AnyProcedure) -> None:
    """Frozen, restartable, asks whole positive numbers, and ends with a result that adds up."""
    expect(is_dataclass(procedure), "a procedure is a frozen dataclass")
    expect(procedure.__hash__ is not None, "a procedure is frozen, so it can be hashed")
    for p in (0.0, 1.0, 0.5, 0.97, 0.001):
        first, questions = run(procedure, p, seed=1)
        second, questions_again = run(procedure, p, seed=1)
        expect(first == second, f"two runs on the same answers differ at p = {p}")
        expect(
            questions == questions_again, f"two runs on the same answers ask differently at p = {p}"
        )
        expect(
            first.trials == sum(questions),
            f"the result claims {first.trials}, asked {sum(questions)}",
        )
        match first:
            case Estimate(value=value, interval=interval, guarantee=promise):
                expect(value in interval, f"{value} lies outside its own interval")
                expect(0 <= interval.low <= interval.high <= 1, "the interval leaves [0, 1]")
                expect(0 < promise.error < 1, f"the error is {promise.error}")
            case Decision(guarantee=promise):
                expect(0 < promise.error < 1, f"the error is {promise.error}")
            case Undecided(reason=reason):
                expect(bool(reason), "undecided without a reason")


def run(procedure: AnyProcedure, p: float, seed: int) -> tuple[Result, list[int]]:
    """One run on simulated trials that hold with probability p; its questions make sense."""
    result, questions = simulate(_Bounded(procedure), p, np.random.default_rng(seed))
    expect(all(isinstance(n, int) and n >= 1 for n in questions), f"asked for {questions} trials")
    return result, questions


@dataclass(frozen=True)
class _Bounded:
    """The procedure, stopped when it asks without end."""

    procedure: AnyProcedure

    def steps(self) -> Generator[int, Counts, Any]:
        """Pass questions and answers on."""
        steps = self.procedure.steps()
        try:
            n = next(steps)
            for _ in range(_MOST_QUESTIONS):
                n = steps.send((yield n))
        except StopIteration as stop:
            return stop.value
        raise AssertionError("asks without end")


def outcomes(
    procedure: AnyProcedure, p: float, drop: float = 0.0
) -> Iterator[tuple[float, Result]]:
    """Every way a run can end, with its probability. Answers rarer than `drop` are left out."""
    paths: list[tuple[float, tuple[int, ...]]] = [(1.0, ())]
    while paths:
        chance, path = paths.pop()
        session = _after(procedure, path)
        n = session.question
        if n is None:
            yield chance, session.result
            continue
        for kept, share in enumerate(_binomial(n, p)):
            if chance * share > drop:
                paths.append((chance * float(share), (*path, kept)))


def _after(procedure: AnyProcedure, path: Sequence[int]) -> Session[int, Counts, Any]:
    session = Session(procedure)
    for kept in path:
        session.tell(Counts(session.question or 0, kept))
    return session


def _binomial(n: int, p: float) -> np.ndarray:
    from scipy.special import betainc

    if p in (0.0, 1.0):
        certain = np.zeros(n + 1)
        certain[n if p == 1.0 else 0] = 1.0
        return certain
    k = np.arange(n)
    up_to = np.append(betainc(n - k, k + 1, 1 - p), 1.0)
    return np.diff(up_to, prepend=0.0)
