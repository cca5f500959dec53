"""What a procedure costs beside the model: at most 20 µs of processor time for each answer.

Counts are drawn beforehand; timed are the sessions alone, begun and answered as the engine does, in
processor time, so that other work on the machine does not count. One subject is answered again and
again. The 5,000 come after a first one whose cost is printed by itself: it pays for what all of
them share, from empty caches.

    python benchmarks/procedure_time.py [--quick]        --quick: 2,000 subjects, under a minute
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from processor import print_processor
from tables import print_table

from surefoot.core.counts import Counts
from surefoot.core.procedure import Pinned, Procedure, Session
from surefoot.statistics import (
    BuSun,
    ExactBinomial,
    ExactSequential,
    FixedSize,
    KappaTest,
    Okamoto,
)

TARGET = 20.0
KAPPAS = (1e-2, 1e-3, 1e-4)
RATIOS = (0.0, 0.3, 1.0, 5.0)
FAILURES = (0.001, 0.3)
LEVEL = 1.0
Counted = Procedure[int, Counts, Any]


def cases() -> list[tuple[str, Counted, float]]:
    """What is timed: a name, a procedure, and the failure probability of its subjects."""
    fixed: list[Counted] = [
        ExactSequential(0.01, 0.01),
        ExactSequential(0.001, 0.001),
        BuSun(0.01, 0.01),
        BuSun(0.001, 0.001),
        FixedSize(0.01, 0.01),
        Okamoto(0.01, 0.01),
    ]
    cases = [(str(procedure), procedure, p) for procedure in fixed for p in FAILURES]
    for test in (KappaTest, ExactBinomial):
        for kappa in KAPPAS:
            procedure = test(kappa, 0.05, max_trials=round(200 / kappa))
            name = f"{test.__name__}(kappa={kappa:g}, error=0.05)"
            cases += [(name, procedure, ratio * kappa) for ratio in RATIOS]
    return cases


def drawn(procedure: Counted, p: float, rng: np.random.Generator) -> list[Counts]:
    """The answers to every question of one run on trials that fail with probability p."""
    session: Session[int, Counts, Any] = Session(procedure)
    answers = []
    while (n := session.question) is not None:
        answers.append(Counts(n, n - int(rng.binomial(n, p))))
        session.tell(answers[-1])
    return answers


def seconds(procedure: Counted, subjects: Sequence[list[Counts]]) -> float:
    """Processor time to begin a session a subject and to give each all its answers."""
    begun = time.process_time()
    sessions = [Session(Pinned(procedure, LEVEL)) for _ in subjects]
    for session, answers in zip(sessions, subjects, strict=True):
        for answer in answers:
            session.tell(answer)
    took = time.process_time() - begun
    assert all(session.question is None for session in sessions)
    return took


def forget() -> None:
    """Empty every cache of the statistics."""
    for name, module in list(sys.modules.items()):
        if name.startswith("surefoot.statistics"):
            for thing in vars(module).values():
                getattr(thing, "cache_clear", lambda: None)()


def compare(procedure: Counted, p: float, subjects: int) -> dict[str, float]:
    """Microseconds an answer of one subject and of many, milliseconds of the first."""
    rng = np.random.default_rng(5)
    first, *others = (drawn(procedure, p, rng) for _ in range(subjects + 1))
    firsts, many = [], []
    for _ in range(3):
        forget()
        firsts.append(seconds(procedure, [first]))
        many.append(seconds(procedure, others))
    again = [first] * max(1, 2000 // len(first))
    one = min(seconds(procedure, again) for _ in range(5))
    answered = sum(len(answers) for answers in others)
    return {
        "answers": answered / subjects,
        "one": 1e6 * one / (len(again) * len(first)),
        "many": 1e6 * min(many) / answered,
        "first": 1e3 * min(firsts),
    }


def main() -> None:
    """Print the table, then one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    subjects = 2000 if parser.parse_args().quick else 5000
    print_processor()
    rows, times = [], []
    for name, procedure, p in cases():
        taken = compare(procedure, p, subjects)
        times.append(taken)
        rows.append(
            [
                name,
                f"{p:g}",
                f"{taken['answers']:.1f}",
                f"{taken['one']:.1f}",
                f"{taken['many']:.1f}",
                f"<= {TARGET:g}",
                f"{taken['first']:.1f}",
            ]
        )
    print_table(
        ["procedure", "failure probability", "answers", "one subject (µs an answer)",
         f"{subjects:,} subjects (µs an answer)", "target", "the first one (ms in all)"],
        rows,
    )  # fmt: skip
    figures = {
        "worst_one": max(taken["one"] for taken in times),
        "worst_many": max(taken["many"] for taken in times),
        "worst_first_ms": max(taken["first"] for taken in times),
        "target": TARGET,
    }
    print(json.dumps({name: round(value, 2) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
