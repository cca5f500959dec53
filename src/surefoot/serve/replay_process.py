"""What the process of a replay does: a request, and the trial that it names, run again."""

from __future__ import annotations

from contextlib import chdir, closing
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.core.results import Interval
from surefoot.engine.examples import MOST_SIDE, png
from surefoot.errors import SurefootError
from surefoot.models.endpoint_connection import named_servers
from surefoot.records.record import Record, named_code
from surefoot.serve.file_limits import FileLimits
from surefoot.serve.replay import folder_of_files
from surefoot.store import open_existing
from surefoot.study.read_store import study_of
from surefoot.study.replay_trial import Replay, first_failing
from surefoot.study.study import Study
from surefoot.subject.items import item_change
from surefoot.system.user_code import raised_words

_MOST_TRIALS = 10_000
"""Among which a failing trial is looked for."""


def answer(request: dict[str, Any], own: Path | None = None) -> dict[str, Any]:
    """The trial that a request names, run again; or the sentence that says why not.

    `own`: from now on the process opens files below this folder and those of the request alone.
    """
    try:
        with closing(open_existing(request["store"], read_only=True)) as store:
            record = store.stored(request["run"])
        if record is None:
            return {"problem": f"run {request['run'][:12]} is not finished"}
        folders = tuple(map(Path, request["folders"]))
        if own is not None and not (request["trust"] and _names_code(record)):
            FileLimits(folders, own).install()
        # of this record, which may be another than the dashboard has read
        folder = Path.cwd() if record.source is None else folder_of_files(record.source, folders)
        with chdir(folder):  # relative names in the store start there
            return _replayed(record, request)
    except SurefootError as error:
        return {"problem": " ".join(str(error).split())}
    except Exception as error:  # noqa: BLE001  code of the user may raise anything
        return {"problem": f"the replay failed: {raised_words(error)}"}


def _replayed(record: Record, request: dict[str, Any]) -> dict[str, Any]:
    study = study_of(record, trust=bool(request["trust"]))
    start = int(request["start"])
    stop = min(int(request["stop"]), start + _MOST_TRIALS)
    trial = start
    if stop - start > 1:
        trial = first_failing(study, request["input"], start, stop) or start
    return _values(study, trial, study.replay(request["input"], trial))


def _names_code(record: Record) -> bool:
    """Whether the run itself is code or a server: with trust, code opens what it wants."""
    source = record.source
    models = () if source is None else source.models or (source.model,)
    return source is not None and bool(named_code(source) or named_servers(models))


def _values(study: Study, trial: int, repeated: Replay) -> dict[str, Any]:
    prop: Any = study.property
    words = [
        prop.words(output) if label is None else study.fitted.class_name(label)
        for label, output in (
            (repeated.clean_label, repeated.clean_output),
            (repeated.label, repeated.output),
        )
    ]
    values = {
        "trial": trial,
        "clean": words[0],
        "perturbed": words[1],
        "kept": bool(repeated.kept),
        "severity": float(repeated.severity),
        "limit": float(prop.limit),
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
