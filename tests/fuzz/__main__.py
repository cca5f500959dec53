"""The long form: `python -m tests.fuzz --cases 2000 --seed 1`; one line for each problem.

Exit code 0 only if no case ended with a traceback, after more than 60 s, with more than 2 GB, with
an exit code that is not documented, or with a file left behind.
"""

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from tests.fuzz.judge import KINDS, Verdict, figures, judged

_SHARES = {
    "onnx": 4,
    "arrays": 3,
    "images": 3,
    "tables": 3,
    "options": 5,
    "functions": 2,
    "torch": 1,
}
"""How many of 21 cases are of a kind: PyTorch takes seconds to import."""


def main() -> int:
    """Run the cases; print problems as they come, and the figures at the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", default=",".join(KINDS), help="comma-separated")
    parser.add_argument("--number", type=int, help="only this case of each kind")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    kinds = [kind for kind in arguments.kinds.split(",") for _ in range(_SHARES[kind])]
    numbered = [(kinds[i % len(kinds)], i) for i in range(arguments.cases)]
    if arguments.number is not None:
        numbered = [(kind, arguments.number) for kind in dict.fromkeys(kinds)]
    began = time.monotonic()

    def run(one: tuple[str, int]) -> Verdict:
        verdict = judged(*one, arguments.seed)
        if verdict.problem or arguments.number is not None:
            words = " ".join(word[:60] for word in verdict.case.words)
            print(
                f"{verdict.kind} {verdict.number}: {verdict.problem or 'fine'} ({verdict.code}) | "
                f"{verdict.case.note[:100]} | {words[:240]} | {verdict.last_line[:300]}",
                flush=True,
            )
        return verdict

    with ThreadPoolExecutor(arguments.jobs) as pool:
        verdicts = list(pool.map(run, numbered))
    print(figures(verdicts, time.monotonic() - began))
    return int(any(verdict.problem for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
