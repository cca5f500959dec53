"""A run as evaluation results in the metadata of a Hugging Face model card (`model-index`)."""

from __future__ import annotations

import re
from typing import Any

from surefoot.errors import InvalidArgument
from surefoot.records.spec import StudySpec
from surefoot.report.export.metrics import Metric, metrics_of
from surefoot.report.export.run import ExportedRun, ExportOptions, dataset_name, model_name
from surefoot.report.export.yaml_text import yaml_text

_HEAD = "# For the metadata of a model card: between the two lines --- at the top of README.md.\n"
_BENCHMARK_HEAD = "# For a file of the folder .eval_results in the repository of the model.\n"
_NOT_IN_AN_ID = re.compile(r"[^a-z0-9._/]+")
_IMAGE_AXES = 3
"""Of one image: channels, height and width."""


def hugging_face(run: ExportedRun, options: ExportOptions) -> str:
    """`model-index` as the Hub and huggingface_hub read it, one metric for each number.

    The interval, its error probability and the sentence with its assumptions are in the `args` of
    a metric: the format has no field of its own for them. A bound that the claim does not have is
    left out; where a claim has an interval and no estimate, the value is the interval as text.
    """
    study = run.study_of_one_model("hugging-face")
    metrics = metrics_of(run.record.claims)
    if not metrics:
        raise InvalidArgument(
            "no claim of this run has a number: hugging-face has results with numbers only; "
            "export it to model-card"
        )
    if options.benchmark_task:
        return _BENCHMARK_HEAD + yaml_text([_benchmark_result(run, metrics[0], options)])
    dataset = dataset_name(run.record, options)
    result = {
        "task": {"type": options.task or _task(study)},
        "dataset": {
            "name": dataset,
            "type": options.dataset_id or _as_id(dataset),
            "args": _dataset_facts(run, study),
        },
        "metrics": [_metric(run, metric) for metric in metrics],
    }
    index = [{"name": model_name(run.record, options), "results": [result]}]
    return _HEAD + yaml_text({"model-index": index})


def _as_id(name: str) -> str:
    """A name as the Hub writes ids: small letters, and hyphens for whatever else there is."""
    return _NOT_IN_AN_ID.sub("-", name.lower()).strip("-") or "data"


def _benchmark_result(run: ExportedRun, metric: Metric, options: ExportOptions) -> dict[str, Any]:
    """The first number as the result of a benchmark that is registered on the Hub."""
    unused = [name for name in ("name", "dataset", "task") if getattr(options, name)]
    if unused:
        raise InvalidArgument(
            f"a result of a benchmark has no place for {unused[0]}: leave it out, or leave out "
            "benchmark_task (--benchmark-task)"
        )
    if not options.dataset_id:
        raise InvalidArgument(
            "benchmark_task (--benchmark-task) needs the benchmark it belongs to: pass its id on "
            "the Hub, dataset_id (--dataset-id)"
        )
    if metric.value is None:
        raise InvalidArgument(
            f"a result of a benchmark is one number, and {metric.name} is an interval: leave out "
            "benchmark_task (--benchmark-task)"
        )
    notes = " ".join((metric.statement, *run.view.cautions))
    started = {"date": run.record.started} if run.record.started else {}
    place = {"id": options.dataset_id, "task_id": options.benchmark_task}
    return {"dataset": place, "value": metric.value, **started, "notes": notes}


def _task(study: StudySpec) -> str:
    """The task where the run shows it: classes of images or of the rows of a table."""
    if study.model.classes and study.inputs.columns:
        return "tabular-classification"
    if study.model.classes and len(study.inputs.frame) == _IMAGE_AXES:
        return "image-classification"
    raise InvalidArgument(
        "the run does not show what the model does: pass its task, for example task="
        '"text-classification" (--task text-classification)'
    )


def _dataset_facts(run: ExportedRun, study: StudySpec) -> dict[str, Any]:
    return {
        "inputs": study.inputs.number,
        "selection": study.inputs.selection,
        "sha256": study.inputs.digest,
        "run": run.record.digest,
        "command": run.view.command,
        **({"notes": list(run.view.cautions)} if run.view.cautions else {}),
    }


def _metric(run: ExportedRun, metric: Metric) -> dict[str, Any]:
    facts: dict[str, Any] = {"perturbation": run.perturbation(metric.claim)}
    bounds = {"lower_bound": metric.low, "upper_bound": metric.high}
    known = {name: end for name, end in bounds.items() if end is not None}
    if known:
        facts["confidence_interval"] = known
    if metric.error is not None:
        facts["error_probability"] = metric.error
    facts["statement"] = metric.statement
    return {
        "type": f"surefoot-{metric.claim.kind.replace('_', '-')}",
        "value": metric.interval if metric.value is None else metric.value,
        "name": metric.name,
        "args": facts,
    }
