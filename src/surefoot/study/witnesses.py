"""Critical levels for other tools: counterexamples as arrays, radii as VNN-LIB properties."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.engine.proving import unpacked
from surefoot.errors import ReportFailed
from surefoot.report.html import write_whole
from surefoot.results import Interval
from surefoot.store.records import CriticalRecord
from surefoot.study.spec import Study

if TYPE_CHECKING:
    from surefoot.verify.vnnlib import Property

_LONGEST = 60


def write_counterexamples(study: Study, record: CriticalRecord, path: Path) -> int:
    """Inputs, counterexamples, distances, labels and ids as .npz; how many there are."""
    rows = [row for row in record.rows if row.witness]
    shape = study.fitted.x.shape[1:]
    places = [study.fitted.ids.index(row.id) for row in rows]
    points = [unpacked(row.witness).astype(np.float32).reshape(shape) for row in rows]
    found = np.stack(points) if points else np.zeros((0, *shape), np.float32)
    file = io.BytesIO()
    np.savez_compressed(
        file,
        ids=np.array([row.id for row in rows], dtype=str),
        x=study.fitted.x[places],
        counterexample=found,
        distance=np.array([row.high for row in rows], dtype=float),
        label=study.references[places],
        predicted=_labels(study, found),
    )
    write_whole(path, file.getvalue())
    return len(rows)


def _labels(study: Study, points: np.ndarray) -> np.ndarray:
    if not len(points):
        return np.zeros(0, np.int64)
    scores = np.asarray(study.model.predict(study.model.place(points)))
    found: np.ndarray = np.argmax(scores, axis=1)
    return found


def write_properties(study: Study, record: CriticalRecord, graph: Path, folder: Path) -> int:
    """A VNN-LIB property for each end of each bracket, and instances.csv; how many there are.

    Another verifier should say unsat of `ID-proved.vnnlib` and sat of `ID-refuted.vnnlib`. Bounds
    are rounded outwards; with a normalisation outside the graph they are those the graph is given.
    """
    from surefoot.verify.vnnlib import Instance, write_instances, write_property

    bounds = study.model.signature.bounds or Interval(0.0, 1.0)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReportFailed(f"{folder} cannot be made ({error.strerror or error})") from error
    seen = os.path.relpath(graph, folder)
    names = _names([row.id for row in record.rows])
    instances = []
    for row in record.rows:
        i = study.fitted.ids.index(row.id)
        for word, radius in (("proved", row.low), ("refuted", row.high or 0.0)):
            if not 0 < radius <= bounds.width:
                continue
            name = f"{names[row.id]}-{word}.vnnlib"
            point = unpacked(row.witness) if word == "refuted" and row.witness else None
            wanted = _property(study, i, radius, bounds, point)
            write_whole(folder / name, write_property(wanted))
            instances.append(Instance(seen, name, study.procedure.seconds))
    write_whole(folder / "instances.csv", write_instances(instances))
    return len(instances)


def _property(
    study: Study, i: int, radius: float, bounds: Interval, point: np.ndarray | None
) -> Property:
    """The box, as the graph is given it; the counterexample is in it as the graph was given it."""
    from surefoot.verify.vnnlib import Property, box_property

    x, label = study.fitted.x[i], int(study.references[i])
    classes = study.model.signature.classes
    made = box_property(x, label, radius, classes, low=bounds.low, high=bounds.high)
    normalise: Any = getattr(study.model, "normalise", None)
    if normalise is None or normalise.idle:
        return made
    shape = (1, *x.shape)
    ends = [
        np.asarray(normalise(end.reshape(shape)), np.float64).reshape(-1)
        for end in (made.lower, made.upper)
    ]
    lower = np.nextafter(np.minimum(*ends), -np.inf)
    upper = np.nextafter(np.maximum(*ends), np.inf)
    if point is not None:
        single = point.astype(np.float32).reshape(shape)
        given = np.asarray(normalise(single), np.float32).astype(np.float64).reshape(-1)
        lower, upper = np.minimum(lower, given), np.maximum(upper, given)
    return Property(lower, upper, made.label, made.classes)


def _names(ids: Sequence[str]) -> dict[str, str]:
    """A file's name for each id; where two would get the same, or none, it is numbered."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for place, name in enumerate(ids):
        plain = "".join(c if c.isalnum() or c in "-_." else "_" for c in name)[-_LONGEST:]
        kept = plain if plain.strip(".") else f"input{place}"
        while kept.lower() in taken:
            kept += f"-{place}"
        taken.add(kept.lower())
        found[name] = kept
    return found
