"""Runs a case and says what is wrong with how it ended."""

import os
import random
import stat
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz import code_and_options, data_files, onnx_files
from tests.fuzz.case import Case, Maker
from tests.system import forked

KINDS: dict[str, Maker] = {
    "onnx": onnx_files.make,
    "arrays": data_files.arrays,
    "images": data_files.images,
    "tables": data_files.tables,
    "options": code_and_options.options,
    "functions": code_and_options.functions,
    "torch": code_and_options.torch_files,
}
REFUTED, ERROR = 1, 3
CODES = frozenset({0, REFUTED, 2, ERROR})
"""That are documented. A signal that the case itself raises ends otherwise."""
MOST_SECONDS = 60.0
MOST_BYTES = 2 << 30


@dataclass(frozen=True)
class Verdict:
    """A case with its number, and what is wrong; empty where nothing is."""

    kind: str
    number: int
    case: Case
    problem: str
    code: int
    last_line: str


def judged(kind: str, number: int, seed: int, seconds: float = MOST_SECONDS) -> Verdict:
    """Make and run one case, which its kind, number and seed decide."""
    chance = random.Random(f"{seed} {kind} {number}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        case = KINDS[kind](chance, folder)
        before = _files(folder)
        try:
            ended = forked.run(case.words, folder, seconds, memory=MOST_BYTES)
        except subprocess.TimeoutExpired:
            return Verdict(kind, number, case, f"more than {seconds:g} s", -1, "")
        left = _files(folder) - before
        problem = _problem(case, ended, left)
    lines = ended.stderr.strip().splitlines() or [""]
    return Verdict(kind, number, case, problem, ended.returncode, lines[-1])


def _problem(case: Case, ended: forked.Ended, left: set[str]) -> str:
    said, code = ended.stderr, ended.returncode
    silent = not said.strip() and "doctor" not in case.words
    required = "--require" in " ".join(case.words)
    odd = sorted(name for name in left if not name.startswith(_expected(case)))
    wrong = {
        f"{ended.peak_bytes >> 20} MB": ended.peak_bytes > MOST_BYTES,
        f"exit code {code}": code not in CODES and "SIGTERM" not in case.note,
        "a traceback": "Traceback (most recent call last)" in said,
        "a fault in surefoot": "fault in surefoot" in said,
        "a warning of a library": "Warning" in said and "careful" not in said,
        "an error without a word": code == ERROR and silent,
        "refuted without a requirement": code == REFUTED and not required,
        f"files left behind: {odd[:3]}": bool(odd),
    }
    return next((problem for problem, there in wrong.items() if there), "")


def _expected(case: Case) -> tuple[str, ...]:
    """Names of files that a command may write: its store, what it was given, and caches."""
    named = tuple(word for word in case.words if word and not word.startswith("--"))
    return ("surefoot.db", "page.html", "report.html", "__pycache__", *named)


def _files(folder: Path) -> set[str]:
    return {
        os.path.relpath(os.path.join(place, name), folder)
        for place, _, names in os.walk(folder)
        for name in names
        if not stat.S_ISFIFO(os.lstat(os.path.join(place, name)).st_mode)
    }


def figures(verdicts: list[Verdict], seconds: float) -> str:
    """One line for all of them."""
    codes = Counter(verdict.code for verdict in verdicts)
    problems = Counter(" ".join(v.problem.split()[:3]) for v in verdicts if v.problem)
    return (
        f"cases {len(verdicts)}, problems {sum(problems.values())} {dict(problems)}, exit codes "
        f"{dict(sorted(codes.items()))}, {seconds:.0f} s"
    )
