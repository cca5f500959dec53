"""Critical levels for other tools: counterexamples as arrays, radii as VNN-LIB properties."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from surefoot.core.results import Interval
from surefoot.engine.proof_bench import decode_point
from surefoot.errors import ReportFailed
from surefoot.records.record import Record
from surefoot.region.critical_level import DEFAULT_SECONDS
from surefoot.report.views.radii_tables import brackets_of
from surefoot.study.parts import StudyParts
from surefoot.study.prove import graph_of, scores_of
from surefoot.system.whole_file import write_whole

if TYPE_CHECKING:
    from surefoot.verify.vnnlib import BoxProperty

_MOST_NAME_CHARACTERS = 60
"""Of an id in a file name: file systems allow 255 bytes with suffixes."""


def write_counterexamples(study: StudyParts, record: Record, path: Path) -> int:
    """Inputs, counterexamples, distances, labels and ids as .npz; how many there are."""
    rows = [(row.id, b) for row, b in brackets_of(record) if b.witness]
    shape = study.fitted.x.shape[1:]
    places = [study.fitted.ids.index(name) for name, _ in rows]
    points = [decode_point(b.witness).astype(np.float32).reshape(shape) for _, b in rows]
    counterexamples = np.stack(points) if points else np.zeros((0, *shape), np.float32)
    file = io.BytesIO()
    np.savez_compressed(
        file,
        ids=np.array([name for name, _ in rows], dtype=str),
        x=study.fitted.x[places],
        counterexample=counterexamples,
        distance=np.array([b.high for _, b in rows], dtype=float),
        label=study.references[places],
        predicted=scores_of(study, counterexamples).argmax(axis=1) if rows else np.zeros(0, int),
    )
    write_whole(path, file.getvalue())
    return len(rows)


def write_properties(study: StudyParts, record: Record, graph: Path, folder: Path) -> int:
    """A VNN-LIB property for each end of each bracket, and instances.csv; how many there are.

    Another verifier should say unsat of `ID-proved.vnnlib` and sat of `ID-refuted.vnnlib`. Bounds
    are rounded outwards; with a normalisation outside the graph they are those the graph is given.
    """
    from surefoot.verify.vnnlib import Instance, write_instances, write_property

    bounds = study.model.signature.bounds or Interval(0.0, 1.0)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReportFailed(
            f"{folder} cannot be created ({error.strerror or error}): choose another folder"
        ) from error
    graph_path = os.path.relpath(graph, folder)
    names = _names([row.id for row in record.inputs])
    seconds = study.method.seconds_per_input or DEFAULT_SECONDS
    instances = []
    for row, bracket in brackets_of(record):
        i = study.fitted.ids.index(row.id)
        for word, radius in (("proved", bracket.low), ("refuted", bracket.high)):
            if not 0 < radius <= bounds.width:
                continue
            name = f"{names[row.id]}-{word}.vnnlib"
            point = decode_point(bracket.witness) if word == "refuted" and bracket.witness else None
            prop = _property(study, i, radius, bounds, point)
            write_whole(folder / name, write_property(prop))
            instances.append(Instance(graph_path, name, seconds))
    write_whole(folder / "instances.csv", write_instances(instances))
    return len(instances)


def _property(
    study: StudyParts, i: int, radius: float, bounds: Interval, point: np.ndarray | None
) -> BoxProperty:
    """The box, as the graph is given it; the counterexample is in it as the graph was given it."""
    from surefoot.verify.vnnlib import BoxProperty, box_property

    x, label = study.fitted.x[i], int(study.references[i])
    classes = study.model.signature.classes
    box = box_property(x, label, radius, classes, low=bounds.low, high=bounds.high)
    graph = graph_of(study)
    if graph.plain:
        return box
    shape = (1, *x.shape)
    ends = [
        np.asarray(graph.prepared(end.reshape(shape)), np.float64).reshape(-1)
        for end in (box.lower, box.upper)
    ]
    lower = np.nextafter(np.minimum(*ends), -np.inf)
    upper = np.nextafter(np.maximum(*ends), np.inf)
    if point is not None:
        single = point.astype(np.float32).reshape(shape)
        prepared = np.asarray(graph.prepared(single), np.float32).astype(np.float64).reshape(-1)
        lower, upper = np.minimum(lower, prepared), np.maximum(upper, prepared)
    return BoxProperty(lower, upper, box.label, box.classes)


def _names(ids: Sequence[str]) -> dict[str, str]:
    """A file's name for each id; where two would get the same, or none, it is numbered."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for place, name in enumerate(ids):
        plain = "".join(c if c.isalnum() or c in "-_." else "_" for c in name)[
            -_MOST_NAME_CHARACTERS:
        ]
        file_name = plain if plain.strip(".") else f"input{place}"
        while file_name.lower() in taken:
            file_name += f"-{place}"
        taken.add(file_name.lower())
        names[name] = file_name
    return names
