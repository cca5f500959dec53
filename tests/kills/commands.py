"""Commands in processes of their own, whose every process can be listed, and what they leave."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tests.kills.studies import SmallStudy, write_inputs
from tests.system import forked

Command = forked.Command | subprocess.Popen[str]
"""Forked from a process that has imported the package, in a tenth of the time; or anew."""
_MARK = "SUREFOOT_KILLS"
"""A variable that every process of a command inherits: orphans are recognised by it."""
_CLOCK_KEYS = {"seconds", "started", "finished"}
_CLOCK_TEXT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.+]+|\b[\d.,]+ (s|ms|seconds|minutes)\b")
_STORE_FILES = {"runs.db", "runs.db-wal", "runs.db-shm"}
_OF_OTHERS = re.compile(r"\.ses|mat-debug-\d+\.log")
"""Files that onnxruntime keeps in the folder for temporary files."""
NO_RAY = "surefoot: Ray cannot start on this machine"
"""Ray gives up where a node is not there after 30 seconds, as on a machine that is busy."""
_TRIES = 5
SECONDS_TO_END = 300.0
"""For a process to end after a signal, on a busy machine."""


class Ended(NamedTuple):
    """A command that has ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Outcome:
    """How a command ended, with times masked."""

    code: int
    record: Any
    files: dict[str, Any]


@dataclass(frozen=True)
class Place:
    """A folder with the inputs, and a store: its words on the command line."""

    folder: Path
    store: str
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def prepare(self) -> Place:
        self.folder.mkdir()
        (self.folder / "tmp").mkdir()
        write_inputs(self.folder)
        return self

    def start(self, study: SmallStudy, executor: str, anew: bool = False) -> Command:
        """The command; `anew`: in a new interpreter, as from a shell."""
        workers = "2" if executor == "threads" else "1"
        words = [*study.words, "--store", self.store, "--json"]
        words += ["--executor", executor, "--workers", workers]
        env = {_MARK: self.mark, "TMPDIR": str(self.folder / "tmp"), "OMP_NUM_THREADS": "1",
               "SUREFOOT_CACHE": str(self.folder / "cache")}  # fmt: skip
        if not anew:
            return forked.Command(words, self.folder, os.environ | env)
        return subprocess.Popen(
            [sys.executable, "-m", "surefoot", *words], cwd=self.folder, env=os.environ | env,
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, study: SmallStudy, executor: str, drivers: int = 1) -> list[Ended]:
        """Run it to its end, by one driver or by several at once; again where Ray did not start."""
        for _ in range(_TRIES):
            processes = [self.start(study, executor) for _ in range(drivers)]
            texts = [process.communicate() for process in processes]
            codes = [process.returncode for process in processes]
            ended = [Ended(code, *text) for code, text in zip(codes, texts, strict=True)]
            if not any(NO_RAY in one.err for one in ended):
                break
        return ended

    def outcome(self, study: SmallStudy, code: int, stdout: str) -> Outcome:
        try:
            record = masked(json.loads(stdout), self.store)
        except ValueError:
            record = f"no record but {stdout[-200:]!r}"
        files = {name: content(self.folder / name, self.store) for name in study.files}
        return Outcome(code, record, files)

    def left_behind(self, study: SmallStudy) -> list[str]:
        """Files that belong to nothing, after a command has ended."""
        expected = {"mine.py", "model.onnx", "test.npz", "tmp", "cache", "__pycache__"}
        names = {path.name for path in self.folder.iterdir()} - expected - {*study.files}
        if not self.processes():
            names -= _STORE_FILES - {"runs.db-journal"}
        deeper = [
            path
            for name in ("tmp", "cache", *study.files)
            for path in (self.folder / name).rglob("*")
            if name == "tmp" or path.name.startswith((".", "tmp"))
        ]
        return sorted(names) + [
            str(path.relative_to(self.folder))
            for path in deeper
            if not _OF_OTHERS.fullmatch(path.name)
        ]

    def processes(self) -> list[int]:
        """Every process of a command that was started here."""
        mark, found = f"{_MARK}={self.mark}".encode(), []
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                try:
                    if mark in (entry / "environ").read_bytes():
                        found.append(int(entry.name))
                except OSError:
                    continue
        return found

    def orphans(self) -> list[int]:
        """Processes that do not end although their driver has."""
        until = time.monotonic() + SECONDS_TO_END
        while (left := self.processes()) and time.monotonic() < until:
            time.sleep(0.05)
        return left


def named(pids: list[int], names: tuple[str, ...]) -> list[int]:
    """Of these processes the ones that go by a name, as the workers of Ray do."""
    found = []
    for pid in pids:
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        found += [pid] if any(name in words for name in names) else []
    return found


def workers_of(driver: int) -> list[int]:
    """The worker processes that a driver has by now."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if not entry.name.isdecimal():
                continue
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == driver and b"executors.worker" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def masked(value: Any, store: str) -> Any:
    """The same without what a clock decides and where the store is."""
    if isinstance(value, dict):
        return {key: masked(v, store) for key, v in value.items() if key not in _CLOCK_KEYS}
    if isinstance(value, list):
        return [masked(one, store) for one in value]
    if isinstance(value, str):
        return re.sub(
            r"--(executor|workers) \w+", "", _CLOCK_TEXT.sub("TIME", value.replace(store, "STORE"))
        )
    return value


def content(path: Path, store: str) -> Any:
    """What a file or a folder holds, with times masked."""
    if path.is_dir():
        return {one.name: content(one, store) for one in path.iterdir()}
    if not path.exists():
        return None
    if path.suffix == ".npz":
        import numpy as np

        with np.load(path) as stored:
            return {name: stored[name].tolist() for name in stored}
    return masked(path.read_text(encoding="utf-8"), store)
