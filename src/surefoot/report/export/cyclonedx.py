"""A run as a CycloneDX 1.6 bill of materials of a machine-learning model (ML-BOM)."""

from __future__ import annotations

import json
import uuid
from typing import Any

from surefoot.records.spec import StudySpec
from surefoot.report.clauses import assumptions_of
from surefoot.report.export.metrics import Metric, metrics_of
from surefoot.report.export.run import (
    ExportedRun,
    ExportOptions,
    dataset_name,
    model_name,
    not_measured,
)
from surefoot.report.export.sentence import visible
from surefoot.report.sentences import sentence

_SCHEMA = "http://cyclonedx.org/schema/bom-1.6.schema.json"
_NAMESPACE = uuid.UUID("6b0c9a52-43cf-5d0e-9f0e-0f6f3a6f4b11")
"""Of serial numbers: the same export has the same one."""
_WHOLE_FILE = ("the bytes of the ONNX file", "the bytes of the file", "the bytes of the pickle")
"""What a model's digest covers where it is the SHA-256 of one file, as `sha256sum` prints it."""


def cyclonedx(run: ExportedRun, options: ExportOptions) -> str:
    """The model as a component with its hash, and the claims as performance metrics.

    A bound that a claim does not have is left out. Assumptions, and what was not measured, are
    technical limitations.
    """
    study = run.study_of_one_model("cyclonedx")
    name = model_name(run.record, options)
    hashes = {"hashes": [{"alg": "SHA-256", "content": study.model.digest}]}
    version = run.record.environment.get("surefoot", "")
    tool = {"type": "application", "name": "surefoot"} | ({"version": version} if version else {})
    component = {
        "type": "machine-learning-model",
        "bom-ref": f"model-{study.model.digest[:16]}",
        "name": visible(name),
        **(hashes if study.model.covers in _WHOLE_FILE else {}),  # else a property has the digest
        "modelCard": _model_card(run, study, options),
        "properties": _properties(run, study),
    }
    bom = {
        "$schema": _SCHEMA,
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"tools": {"components": [tool]}},
        "components": [component],
    }
    serial = uuid.uuid5(_NAMESPACE, json.dumps(bom, sort_keys=True))
    return json.dumps({**bom, "serialNumber": f"urn:uuid:{serial}"}, indent=2) + "\n"


def _model_card(run: ExportedRun, study: StudySpec, options: ExportOptions) -> dict[str, Any]:
    parameters: dict[str, Any] = {"task": visible(options.task)} if options.task else {}
    data = {"type": "dataset", "name": visible(dataset_name(run.record, options))}
    about = f"{study.inputs.number:,} inputs: {study.inputs.selection}"
    parameters["datasets"] = [data | {"description": visible(f"Tested on {about}")}]
    claims = (*run.verdicts, *run.record.claims)
    assumed = dict.fromkeys(one for claim in claims for one in assumptions_of(claim))
    limits = [f"Assumption: {one}" for one in assumed]
    limits += [f"Not measured: {line}" for line in not_measured(run)]
    limits += run.view.cautions
    return {
        "modelParameters": parameters,
        "quantitativeAnalysis": {
            "performanceMetrics": [_metric(run, m) for m in metrics_of(run.record.claims)]
        },
        "considerations": {"technicalLimitations": [visible(line) for line in limits]},
    }


def _metric(run: ExportedRun, metric: Metric) -> dict[str, Any]:
    certain = "" if metric.error is None else f"; error probability {metric.error:g}"
    perturbation = run.perturbation(metric.claim)
    numbers = {"lowerBound": metric.low, "upperBound": metric.high}
    ends = {name: repr(end) for name, end in numbers.items() if end is not None}
    return {
        "type": visible(metric.name),
        **({} if metric.value is None else {"value": repr(metric.value)}),
        "slice": visible(f"{metric.scope}; {perturbation}{certain}"),
        **({"confidenceInterval": ends} if ends else {}),
    }


def _properties(run: ExportedRun, study: StudySpec) -> list[dict[str, str]]:
    record = run.record
    rows = [
        ("run", record.digest),
        ("model-digest", f"sha256 {study.model.digest} (covers {study.model.covers})"),
        ("inputs-digest", f"sha256 {study.inputs.digest}"),
        ("seed", str(study.seed)),
        ("trials", str(record.trials)),
        ("started", record.started),
        ("command", run.view.command),
        *(("verdict", sentence(claim)) for claim in run.verdicts),
        *(("claim", sentence(claim)) for claim in record.claims),
    ]
    return [{"name": f"surefoot:{name}", "value": visible(value)} for name, value in rows if value]
