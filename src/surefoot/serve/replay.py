"""Replay of a trial on demand, in a process of its own: one at a time, and not for long."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from surefoot.errors import InvalidArgument
from surefoot.records.record import Source
from surefoot.serve.settings import Settings
from surefoot.store.runs import FirstFailure

_MOST_SECONDS = 120.0
"""For one replay, with loading model and data: then its process is ended."""
_MOST_NAME = 300
"""Characters of a name in a sentence."""
_CODE_FILE = re.compile(r"[^+|@\s]+\.py(?=\s*:)")
"""Files in a perturbation or a property such as mine.py:halve:0.5."""


@dataclass(frozen=True)
class ReplayedTrial:
    """What a replay shows: the outputs in words, and images or texts where there are some."""

    trial: int
    clean: str
    perturbed: str
    kept: bool
    severity: float
    limit: float
    image: str = ""
    perturbed_image: str = ""
    before: str = ""
    after: str = ""


class Replayer:
    """Replays trials of stored runs, whose files must lie in the folders that the user allows."""

    def __init__(self, settings: Settings) -> None:
        self._folders, self._trust = settings.folders, settings.trust
        self._one_at_a_time = Lock()

    @property
    def is_on(self) -> bool:
        """Whether the dashboard was started with folders."""
        return bool(self._folders)

    def replay(
        self, where: str, digest: str, source: Source | None, subject: str, among: FirstFailure
    ) -> ReplayedTrial:
        """The first trial among these that fails, or else the first of them."""
        if not self.is_on:
            raise InvalidArgument(
                "this dashboard opens no models: start it with --replay FOLDER, the folder of "
                "model and data"
            )
        if source is None:
            raise InvalidArgument(
                "this run was made in Python, from a model in memory: use study.replay(…) there"
            )
        folder_of_files(source, self._folders)
        if not self._one_at_a_time.acquire(blocking=False):
            raise InvalidArgument("another trial is being replayed: try again in a moment")
        try:
            return self._run(where, digest, subject, among)
        finally:
            self._one_at_a_time.release()

    def _run(self, where: str, digest: str, subject: str, among: FirstFailure) -> ReplayedTrial:
        request = {
            "store": where,
            "run": digest,
            "input": subject,
            "start": among.start,
            "stop": among.stop,
            "trust": self._trust,
            "folders": [str(folder.resolve()) for folder in self._folders],
            "seconds": _MOST_SECONDS,
            "parent": os.getpid(),
        }
        with TemporaryDirectory() as folder:
            answer = Path(folder) / "answer.json"
            # -P: no file of the current folder is taken for a module of ours
            command = [sys.executable, "-P", "-m", "surefoot.serve.replay_start", str(answer)]
            try:
                subprocess.run(  # noqa: S603  our own module
                    command,
                    input=json.dumps(request).encode(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    timeout=_MOST_SECONDS,
                    env={**os.environ, "TMPDIR": folder},  # what is written stays in there
                    check=False,
                )
            except subprocess.TimeoutExpired:
                raise InvalidArgument(
                    f"the replay took more than {_MOST_SECONDS:.0f} s and was ended: use surefoot "
                    "replay on a terminal"
                ) from None
            if not answer.exists():
                raise InvalidArgument(
                    "the replay ended without an answer: surefoot replay on a terminal says why"
                )
            values = json.loads(answer.read_text("utf-8"))
        if "problem" in values:
            raise InvalidArgument(str(values["problem"]))
        return ReplayedTrial(**values)


def folder_of_files(source: Source, folders: tuple[Path, ...]) -> Path:
    """The folder that the relative names of a run start from: an allowed one, or the current one.

    It is the first that has all of the files. A file that lies outside every allowed folder, also
    by a link, is refused: a store may name any file of this machine.
    """
    allowed = [folder.resolve() for folder in folders]
    starts, outside = [], []
    for start in (*allowed, Path.cwd()):
        names = list(_named_files(source, start))
        strange = [name for name in names if not _is_inside(start / name, allowed)]
        outside += strange
        if not strange:
            starts.append(start)
            if all(os.path.exists(start / name) for name in names):
                return start
    if not starts:
        raise InvalidArgument(
            f"{_short(outside[0])} is not in a folder that --replay names: start the dashboard "
            "with the folder that holds it"
        )
    return starts[0]


def _is_inside(path: Path, allowed: list[Path]) -> bool:
    try:
        real = path.resolve()
    except (OSError, ValueError):  # no name of a file
        return False
    return any(real.is_relative_to(folder) for folder in allowed)


def _named_files(source: Source, start: Path) -> Iterator[str]:
    """Every file that reading the model and data of a run from this folder would open."""
    # readers of models: not for the list
    from surefoot.models.endpoint_connection import is_address

    for model in source.models or (source.model,):
        if not is_address(model):
            yield _file_of_code(model)
    yield source.data
    for text in (source.perturb, source.property):
        yield from _CODE_FILE.findall(text)
    for value in source.reading.values():
        if isinstance(value, str) and ({"/", "\\"} & set(value) or os.path.exists(start / value)):
            yield _file_of_code(value)


def _short(name: str) -> str:
    return name if name.isprintable() and len(name) <= _MOST_NAME else repr(name[:_MOST_NAME])


def _file_of_code(name: str) -> str:
    """The file in names such as mymodel.py:scores."""
    head, code, _ = name.partition(".py:")
    return f"{head}.py" if code else name
