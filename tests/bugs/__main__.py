"""`python -m tests.bugs`: how many of the bugs do the nearest tests catch, and the fast tier?

Each bug gets a copy of the tree of its own. A test that fails in a clean copy too does not count. A
line for each bug, and one of shares as JSON at the end; `--write FILE` keeps the outcomes.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.bugs.list import BUGS, SOURCE, Bug
from tests.conftest import SLOW_FOLDERS

ROOT = Path(__file__).parents[2]
NEAREST, FAST_TIER, SURVIVED, LATE = "nearest", "fast tier", "survived", "no answer in time"
_LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", "site", "dist")
_MOST_SECONDS = 1800.0
"""For one run of pytest: a bug that lets the tests wait for ever is not counted as caught."""
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+::.+?)(?: - .*)?$", re.MULTILINE)
_SLOW = re.compile(r"mark\.slow|\btorch\b")
"""In the text of a file of which the fast tier leaves out some tests."""
_FINE = (0, 5)
"""Exit codes of pytest: all passed, or there was none."""


@contextmanager
def copy_of_tree(bug: Bug | None) -> Iterator[Path]:
    """A temporary copy, with the bug in it."""
    with tempfile.TemporaryDirectory(prefix="surefoot-bug-") as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, symlinks=True, ignore=_LEFT_OUT)
        if bug is not None:
            path, text = bug.apply(tree)
            path.write_text(text, encoding="utf-8")
        yield tree


def run_tests(tree: Path, words: Sequence[str]) -> tuple[int, str]:
    """Exit code and output of pytest in the tree, on its own source; TimeoutExpired if no end."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rfE", *words]
    source = tree / SOURCE.parent
    environment = {**os.environ, "PYTHONPATH": str(source), "TMPDIR": str(tree.parent)}
    with subprocess.Popen(
        command, cwd=tree, env=environment, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True,  # some tests send signals to all processes of their session
    ) as process:  # fmt: skip
        try:
            output, _ = process.communicate(timeout=_MOST_SECONDS)
            return process.returncode, output
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise


def plans(files: Sequence[str]) -> list[list[str]]:
    """The runs of these files: without slow tests, then with them where there are some."""
    slow = [
        file
        for file in files
        if Path(file).parts[1] in SLOW_FOLDERS or _SLOW.search((ROOT / file).read_text("utf-8"))
    ]
    return [["--fast", *files], *([slow] if slow else [])]


def failures(tree: Path, clean: Path, words: Sequence[str]) -> str:
    """The first test that fails because of the bug; empty where none does.

    One that fails in the clean tree too is left out.
    """
    left_out: list[str] = []
    while True:
        code, output = run_tests(tree, ["-x", *left_out, *words])
        if code in _FINE:
            return ""
        failed = _FAILED.search(output)
        alone = [word for word in words if word == "--fast"] + [failed[1]] if failed else words
        if run_tests(clean, alone)[0] in _FINE:
            return failed[1] if failed else "the tests cannot be collected"
        if failed is None:
            raise SystemExit(f"the tests do not run without a bug: {output[-2000:]}")
        left_out += ["--deselect", failed[1]]


def outcome(bug: Bug, clean: Path, options: argparse.Namespace) -> tuple[str, str]:
    """By which tests the bug is caught, and the first of them."""
    runs = [] if options.fast_tier_only else [(NEAREST, words) for words in plans(bug.nearest)]
    if options.fast_tier or options.fast_tier_only:
        every = ["--fast", "-n", str(options.workers), "--ignore=tests/bugs"]
        runs.append((FAST_TIER, every))  # all of it but the test that this edit can be made
    with copy_of_tree(bug) as tree:
        for caught, words in runs:
            try:
                if first := failures(tree, clean, words):
                    return caught, first
            except subprocess.TimeoutExpired:
                return LATE, ""
    return SURVIVED, ""


def main() -> int:
    """Measure; exit code 0 whatever is caught."""
    parser = argparse.ArgumentParser("python -m tests.bugs", description=__doc__)
    parser.add_argument("--only", help="comma-separated names")
    parser.add_argument("--jobs", type=int, default=1, help="bugs side by side")
    parser.add_argument("--fast-tier", action="store_true", help="where the nearest tests pass")
    parser.add_argument("--fast-tier-only", action="store_true", help="not the nearest tests")
    parser.add_argument("--workers", type=int, default=2, help="of pytest, for the fast tier")
    parser.add_argument("--write", type=Path, help="a file that the outcomes are put into")
    options = parser.parse_args()
    names = set(options.only.split(",")) if options.only else {bug.name for bug in BUGS}
    bugs = [bug for bug in BUGS if bug.name in names]

    def judge(bug: Bug) -> tuple[str, str]:
        found, test = outcome(bug, clean, options)
        print(f"{bug.room:14} {bug.name:32} {found:10} {test}", flush=True)
        return bug.name, found

    with copy_of_tree(None) as clean, ThreadPoolExecutor(options.jobs) as pool:
        found = dict(pool.map(judge, bugs))
    if options.write is not None:
        by_outcome = json.loads(options.write.read_text("utf-8")) if options.write.exists() else {}
        known = {name: one for one, names in by_outcome.items() for name in names} | found
        lines = (
            f"{json.dumps(one)}: {json.dumps([name for name in known if known[name] == one])}"
            for one in (NEAREST, FAST_TIER, SURVIVED, LATE)
        )
        options.write.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    counts = {word: list(found.values()).count(word) for word in (NEAREST, FAST_TIER)}
    shares = {word: round(count / len(bugs), 3) for word, count in counts.items()}
    survivors = [name for name, one in found.items() if one not in counts]
    print(json.dumps({"bugs": len(bugs), **shares, "survivors": survivors}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
