"""What the process of a replay does: a request, and the trial that it names, run again."""

from __future__ import annotations

import errno
import os
import stat
import sys
import sysconfig
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.commands.stored import output_words
from surefoot.core.results import Interval
from surefoot.engine.examples import MOST_SIDE, png
from surefoot.errors import SurefootError
from surefoot.models.endpoint_connection import named_servers
from surefoot.records.record import Record, named_code
from surefoot.serve.replay import folder_of_files
from surefoot.store import reading
from surefoot.study.read_store import study_of
from surefoot.study.study import Replay, Study, first_failing
from surefoot.subject.items import item_change
from surefoot.system.user_code import raised_words

REFUSAL = "this file is not in a folder that --replay names, or is no plain file"
_CODE = (".py", ".pyc", ".so", ".pyd", ".dylib")
"""Of a folder that modules are imported from but that may hold files of the user too."""
_PACKAGES = ("site-packages", "dist-packages")
_DEVICES = (os.devnull, "/dev/urandom")
_SYSTEM = ("/sys/devices/system", "/sys/fs/cgroup", "/usr/share/zoneinfo", "/usr/lib", "/lib")
"""What libraries read of the machine: processors, limits of memory, time zones."""
_ABOUT_MACHINE = ("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/etc/localtime")
_ABOUT_PROCESS = ("statm", "status", "cgroup", "maps")
"""In /proc/self: nothing of the environment, which may hold a token."""
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class FileLimits:
    """Files below `folders` may be read, those below `own` written too; Python's may be read."""

    def __init__(self, folders: Sequence[Path], own: Path) -> None:
        self._own = os.path.realpath(own)
        package = Path(__file__).parents[1]
        paths = sysconfig.get_paths()
        libraries = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
        places = [p for p in sys.path if p]
        libraries += [p for p in places if Path(p).name in _PACKAGES]
        readable = [*map(str, (*folders, package)), *libraries, *_SYSTEM]
        self._readable = tuple({os.path.realpath(place) for place in readable} | {self._own})
        self._code = tuple(os.path.realpath(place) for place in places)

    def install(self) -> None:
        """From now on, and until the process ends, every other file is refused."""
        sys.dont_write_bytecode = True
        sys.addaudithook(self._hook)

    def allows(self, path: str, writes: bool = False) -> bool:
        """Whether this file may be opened, by where it really lies and what it is."""
        real = os.path.realpath(path)
        if real in _DEVICES:
            return True
        if not _is_plain(real):
            return False
        if writes:
            return _is_below(real, (self._own,))
        if real in _ABOUT_MACHINE or real in {f"/proc/{os.getpid()}/{n}" for n in _ABOUT_PROCESS}:
            return True
        is_code = real.endswith(_CODE) and _is_below(real, self._code)
        return is_code or _is_below(real, self._readable)

    def _hook(self, event: str, values: tuple[Any, ...]) -> None:
        if event != "open" or isinstance(values[0], int):  # a number: opened already
            return
        path, mode, flags = os.fsdecode(values[0]), values[1], values[2]
        writes = any(letter in mode for letter in "wax+") if mode else bool((flags or 0) & _WRITES)
        if not self.allows(path, writes):
            raise PermissionError(errno.EACCES, REFUSAL, path)


def _is_plain(real: str) -> bool:
    """Whether it is a file or a folder, or is not there: no pipe that waits, no device."""
    try:
        kind = os.stat(real).st_mode
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(kind) or stat.S_ISDIR(kind)


def _is_below(real: str, places: Sequence[str]) -> bool:
    return any(real == place or real.startswith(place.rstrip(os.sep) + os.sep) for place in places)


_MOST_TRIALS = 10_000
"""Among which a failing trial is looked for."""


def answer(request: dict[str, Any], own: Path | None = None) -> dict[str, Any]:
    """The trial that a request names, run again; or the sentence that says why not.

    `own`: from now on the process opens files below this folder and those of the request alone.
    """
    try:
        with reading(request["store"]) as store:
            record = store.stored(request["run"])
        if record is None:
            return {"problem": f"run {request['run'][:12]} is not finished"}
        folders = tuple(map(Path, request["folders"]))
        if own is not None and not (request["trust"] and _names_code(record)):
            FileLimits(folders, own).install()
        # of this record, which may be another than the dashboard has read
        folder = Path.cwd() if record.source is None else folder_of_files(record.source, folders)
        with chdir(folder):  # relative names in the store start there
            study = study_of(record, trust=bool(request["trust"]))
            start = trial = int(request["start"])
            stop = min(int(request["stop"]), start + _MOST_TRIALS)
            if stop - start > 1:
                trial = first_failing(study, request["input"], start, stop) or start
            return _values(study, trial, study.replay(request["input"], trial))
    except SurefootError as error:
        return {"problem": " ".join(str(error).split())}
    except Exception as error:  # noqa: BLE001  code of the user may raise anything
        return {"problem": f"the replay failed: {raised_words(error)}"}


def _names_code(record: Record) -> bool:
    """Whether the run itself is code or a server: with trust, code opens what it wants."""
    source = record.source
    models = () if source is None else source.models or (source.model,)
    return source is not None and bool(named_code(source) or named_servers(models))


def _values(study: Study, trial: int, repeated: Replay) -> dict[str, Any]:
    values = {
        "trial": trial,
        "clean": output_words(study, repeated.clean_label, repeated.clean_output),
        "perturbed": output_words(study, repeated.label, repeated.output),
        "kept": bool(repeated.kept),
        "severity": float(repeated.severity),
        "limit": repeated.limit,
    }
    if study.fitted.holds_items:
        change = item_change(repeated.clean, repeated.perturbed)
        shown = {"before": change.before, "after": change.after}
        return values | shown | {"image": change.image, "perturbed_image": change.perturbed}
    if study.fitted.frame:
        pair = [np.asarray(x) for x in (repeated.clean, repeated.perturbed)]
        bounds = study.model.signature.bounds or Interval(
            float(pair[0].min()), float(pair[0].max())
        )
        images = [png(x, study.fitted.frame, bounds, most_side=MOST_SIDE) for x in pair]
        return values | {"image": images[0], "perturbed_image": images[1]}
    return values
